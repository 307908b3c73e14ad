"""The note bank: every (program, pitch) the composer uses, rendered once with FluidSynth.

Notes are mixed later in numpy with their onsets on frame boundaries (640 samples at 32 kHz).
A bar played twice is then equal sample for sample, which makes its codes repeat too; that
repetition is what a small decoder can learn.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import butter, sosfiltfilt

SAMPLE_RATE = 32_000
FRAME = 640  # samples per codec frame
SLOT_SECONDS = 6.0  # one note every slot in the rendered file
HOLD_SECONDS = 4.2
TICKS_PER_SECOND = 960  # division 480 at 120 quarter notes a minute


@dataclass(frozen=True)
class Instrument:
    """One General MIDI program with the pitches we render and its place in the mix."""

    name: str
    program: int
    pitches: tuple[int, ...]
    velocity: int
    rms: float  # root mean square of the loudest 100 ms after scaling
    release: float  # seconds of the exponential release applied in the mix
    drums: bool = False


# Pitch classes of C, F and G major: few keys, so a small codec hears every note often.
_CLASSES = {0, 2, 4, 5, 6, 7, 9, 10, 11}


def _range(low: int, high: int) -> tuple[int, ...]:
    return tuple(p for p in range(low, high + 1) if p % 12 in _CLASSES)


KICK, STICK, SNARE, CLAP, HAT, OPEN_HAT, RIDE, SHAKER = 36, 37, 38, 39, 42, 46, 51, 70

_CHORD = _range(52, 69)
_LEAD = _range(60, 77)
INSTRUMENTS: dict[str, Instrument] = {
    i.name: i
    for i in [
        Instrument("drums", 0, (KICK, STICK, SNARE, HAT, OPEN_HAT, RIDE, SHAKER), 110, 0.16, 0.2, True),
        Instrument("808", 25, (KICK, STICK, SNARE, CLAP, HAT, OPEN_HAT, SHAKER), 110, 0.16, 0.2, True),
        Instrument("finger_bass", 33, _range(36, 48), 100, 0.11, 0.05),
        Instrument("synth_bass", 38, _range(36, 48), 100, 0.11, 0.04),
        Instrument("upright_bass", 32, _range(36, 48), 100, 0.11, 0.06),
        Instrument("electric_piano", 4, _CHORD, 80, 0.040, 0.08),
        Instrument("piano", 0, tuple(sorted(set(_CHORD + _LEAD))), 95, 0.042, 0.08),
        Instrument("pad", 89, _CHORD, 90, 0.034, 0.15),
        Instrument("strings", 48, _CHORD, 90, 0.034, 0.12),
        Instrument("nylon_guitar", 24, _CHORD, 90, 0.042, 0.06),
        Instrument("overdriven_guitar", 29, tuple(sorted(set(_range(43, 62) + _LEAD))), 90, 0.045, 0.05),
        Instrument("square", 80, tuple(sorted(set(_CHORD + _LEAD))), 90, 0.036, 0.03),
        Instrument("flute", 73, _LEAD, 100, 0.09, 0.06),
        Instrument("saw", 81, _LEAD, 90, 0.075, 0.05),
        Instrument("violin", 40, _LEAD, 100, 0.085, 0.07),
    ]
}
# Drum pieces relative to the kick (the kick carries the beat).
DRUM_GAIN = {KICK: 0.85, SNARE: 0.75, CLAP: 0.75, STICK: 0.55, HAT: 0.30, OPEN_HAT: 0.34, RIDE: 0.32, SHAKER: 0.28}


def _variable_length(value: int) -> bytes:
    """A MIDI variable-length quantity."""
    out = [value & 0x7F]
    while value := value >> 7:
        out.append(0x80 | (value & 0x7F))
    return bytes(reversed(out))


def midi_file(instrument: Instrument) -> bytes:
    """A format-0 file that plays each pitch of `instrument` at the start of its own slot."""
    channel = 9 if instrument.drums else 0
    track = bytearray(b"\x00" + bytes([0xC0 | channel, instrument.program]))
    slot, hold = int(SLOT_SECONDS * TICKS_PER_SECOND), int(HOLD_SECONDS * TICKS_PER_SECOND)
    gap = slot  # the first slot is silent, so that the program change is long past
    for pitch in instrument.pitches:
        track += _variable_length(gap) + bytes([0x90 | channel, pitch, instrument.velocity])
        track += _variable_length(hold) + bytes([0x80 | channel, pitch, 0])
        gap = slot - hold
    track += _variable_length(slot) + b"\xff\x2f\x00"
    header = b"MThd" + (6).to_bytes(4, "big") + b"\x00\x00\x00\x01" + (480).to_bytes(2, "big")
    return bytes(header + b"MTrk" + len(track).to_bytes(4, "big") + track)


def _loudest_rms(note: np.ndarray) -> float:
    window = SAMPLE_RATE // 10
    power = np.convolve(note**2, np.ones(window) / window, mode="valid")
    return float(np.sqrt(power[: 2 * SAMPLE_RATE].max())) + 1e-9


def render_instrument(instrument: Instrument, soundfont: str) -> dict[int, np.ndarray]:
    """Mono notes, low-passed, onset-aligned and scaled; {pitch: float32 [samples]}."""
    with tempfile.TemporaryDirectory() as folder:
        midi, wav = Path(folder) / "notes.mid", Path(folder) / "notes.wav"
        midi.write_bytes(midi_file(instrument))
        subprocess.run(
            ["fluidsynth", "-ni", "-q", "-R", "0", "-C", "0", "-g", "0.4", "-r", str(SAMPLE_RATE), "-O", "float"]
            + ["-F", str(wav), soundfont, str(midi)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        audio = soundfile.read(wav, dtype="float32")[0].mean(axis=1)
    audio = sosfiltfilt(butter(3, 7_500, fs=SAMPLE_RATE, output="sos"), audio)
    notes: dict[int, np.ndarray] = {}
    for index, pitch in enumerate(instrument.pitches):
        start = int((index + 1) * SLOT_SECONDS * SAMPLE_RATE)
        slot = audio[start - 320 : start + int(HOLD_SECONDS * SAMPLE_RATE)]
        if np.abs(slot).max() < 1e-4:
            raise RuntimeError(f"{instrument.name} pitch {pitch} is silent: is the sound font General MIDI?")
        # Onset: first sample above 2% of the peak; keep 1 ms before it, faded in.
        onset = max(int(np.argmax(np.abs(slot) > 0.02 * np.abs(slot).max())) - 32, 0)
        note = slot[onset:].copy()
        note[:32] *= np.linspace(0, 1, 32)
        note *= instrument.rms / _loudest_rms(note)
        if instrument.drums:
            note = note[: int(0.9 * SAMPLE_RATE)] * DRUM_GAIN[pitch]
            note[-3200:] *= np.linspace(1, 0, 3200)
        notes[pitch] = note.astype(np.float32)
    return notes


def render_bank(soundfont: str, path: Path) -> None:
    """Render every instrument into one .npz with keys `name/pitch`."""
    arrays = {}
    for instrument in INSTRUMENTS.values():
        for pitch, note in render_instrument(instrument, soundfont).items():
            arrays[f"{instrument.name}/{pitch}"] = note
    np.savez(path, **arrays)


def load_bank(path: Path) -> dict[tuple[str, int], np.ndarray]:
    """{(instrument name, pitch): float32 [samples]}."""
    with np.load(path) as file:
        return {(k.split("/")[0], int(k.split("/")[1])): file[k] for k in file.files}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soundfont", default="/usr/share/sounds/sf3/FluidR3Mono_GM.sf3")
    parser.add_argument("--out", type=Path, required=True, help="the note bank (.npz)")
    arguments = parser.parse_args()
    render_bank(arguments.soundfont, arguments.out)
