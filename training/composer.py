"""A procedural composer: short exact loops in seven styles, with captions.

Tempi lie on the codec's frame grid (`frames` whole frames a beat, bpm = 3000 / frames) and
every onset is rounded to a frame, so that a loop repeats exactly in audio and nearly so in codes.
Style, lead instrument and tempo are drawn independently within what a style allows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from scipy.signal import lfilter

from .instruments import CLAP, FRAME, HAT, INSTRUMENTS, KICK, OPEN_HAT, RIDE, SAMPLE_RATE, SHAKER, SNARE, STICK

FRAMES_PER_SECOND = SAMPLE_RATE // FRAME
TEMPI = (20, 22, 24, 26, 28, 30, 32, 36, 40, 48)  # frames a beat: 150 ... 62.5 bpm
LEADS = ("piano", "flute", "overdriven_guitar", "saw", "violin")
LEAD_GAIN = {"piano": 2.2, "overdriven_guitar": 1.9}
TARGET_LUFS = -17.0

# Keys with at most one accidental: semitone of the tonic, and whether the mode is major.
KEYS = ((0, True), (5, True), (7, True), (9, False), (2, False), (4, False))
LM_KEYS = ((0, True), (5, True), (9, False), (2, False))  # what the language model is taught
MAJOR, MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10)


@dataclass(frozen=True)
class Style:
    """What a style allows. Patterns are strings, one character a sixteenth, `x` an onset."""

    name: str
    tempi: tuple[int, ...]
    beats: int  # beats a bar
    kit: str
    drums: tuple[dict[int, str], ...]  # alternatives: {drum: pattern}
    bass: str
    bass_patterns: tuple[str, ...]  # r root, f fifth, o octave
    chords: tuple[str, ...]  # chord instruments
    chord_patterns: tuple[str, ...]  # x a chord held until the next one, . continues, - rest; a arpeggio
    progressions: tuple[tuple[int, ...], ...]  # scale degrees from 0, equal shares of the loop
    modes: tuple[bool, ...] = (True, False)
    sevenths: bool = False
    drums_probability: float = 0.95
    power: bool = False  # root and fifth only


_POP = ((0, 4, 5, 3), (5, 3, 0, 4), (0, 5, 3, 4), (0, 3))
_MINOR = ((0, 5, 2, 6), (0, 3), (0, 6, 5, 6), (0, 5))
STYLES: tuple[Style, ...] = (
    Style("lofi", (30, 32, 36, 40, 48), 4, "808",
          ({KICK: "x.........x.....", SNARE: "....x.......x...", HAT: "x.x.x.x.x.x.x.x."},
           {KICK: "x.....x.x.......", SNARE: "....x.......x...", HAT: "x.x.x.x.x.x.x.x."}),
          "finger_bass", ("r.........r.....", "r.....r.r......."),
          ("electric_piano", "piano"), ("x...............", "x.......x.......", "x.....x........."),
          ((0, 3), (3, 2), (1, 4), (0, 5, 1, 4)), sevenths=True),
    Style("house", (22, 24, 26), 4, "808",
          ({KICK: "x...x...x...x...", CLAP: "....x.......x...", OPEN_HAT: "..x...x...x...x."},
           {KICK: "x...x...x...x...", CLAP: "....x.......x...", HAT: "x.x.x.x.x.x.x.x."}),
          "synth_bass", ("..r...r...r...r.", "r.r.r.r.r.r.r.r.", "..r...o...r...o."),
          ("piano", "pad"), ("..x-..x-..x-..x-", "x...............", "x-....x-....x-.."),
          _POP + _MINOR, modes=(False, True)),
    Style("rock", (20, 22, 24, 26, 28, 30), 4, "drums",
          ({KICK: "x.....x.x.......", SNARE: "....x.......x...", HAT: "x.x.x.x.x.x.x.x."},
           {KICK: "x.......x.x.....", SNARE: "....x.......x...", RIDE: "x...x...x...x..."}),
          "finger_bass", ("r.r.r.r.r.r.r.r.", "r.....r.r......."),
          ("overdriven_guitar",), ("x...............", "x.......x.......", "x.....x.x......."),
          _POP + ((0, 6, 3, 0),), power=True),
    Style("waltz", (20, 22, 24, 28, 32, 36), 3, "drums",
          ({KICK: "x...........", STICK: "....x...x..."},
           {KICK: "x...........", RIDE: "....x...x..."}),
          "upright_bass", ("r...........",),
          ("piano", "strings", "nylon_guitar"), ("....x-..x-..", "....x...x-.."),
          ((0, 3, 4, 0), (0, 5, 1, 4), (0, 4)), drums_probability=0.8),
    Style("ambient", (36, 40, 48), 4, "drums",
          ({KICK: "x.......x.......", SHAKER: "..x...x...x...x."},
           {KICK: "x...............", SHAKER: "x...x...x...x..."}),
          "upright_bass", ("r...............",),
          ("pad", "strings"), ("x...............",),
          ((0, 3), (0, 5), (3, 0)), sevenths=True, drums_probability=0.4),
    Style("chiptune", (20, 22, 24, 26, 28), 4, "808",
          ({KICK: "x.....x.x.......", SNARE: "....x.......x...", HAT: "x.x.x.x.x.x.x.x."},
           {KICK: "x...x...x...x...", SNARE: "....x.......x..."}),
          "synth_bass", ("r.o.r.o.r.o.r.o.", "r.r.r.r.r.r.r.r."),
          ("square",), ("a.a.a.a.a.a.a.a.",),
          _POP + _MINOR),
    Style("bossa", (22, 24, 26, 28, 30, 32), 4, "drums",
          ({KICK: "x.....x.x.....x.", STICK: "x.....x.....x...", SHAKER: "x.x.x.x.x.x.x.x."},
           {KICK: "x.......x.......", STICK: "x.....x...x.....", RIDE: "x.x.x.x.x.x.x.x."}),
          "upright_bass", ("r.....f.f.....r.", "r.....f.f......."),
          ("nylon_guitar", "electric_piano"), ("x.....x-..x-....", "x..-..x...x-...."),
          ((0, 1), (1, 4), (0, 5, 1, 4), (0, 3)), sevenths=True),
)  # fmt: skip
STYLE_BY_NAME = {s.name: s for s in STYLES}

# Lead rhythms over one bar, sparse; digits are only onset marks, lengths run to the next onset.
_LEAD_RHYTHMS = {
    4: ("x.......x.......", "x.....x.....x...", "x...x...x.......", "....x...x...x...", "x...x.x.x......."),
    3: ("x...........", "x.......x...", "x...x...x...", "x.....x.x..."),
}


@dataclass
class Song:
    """One loop and everything its caption may mention."""

    style: Style
    frames: int  # a beat
    bars: int  # in the loop
    tonic: int
    major: bool
    drums: bool
    bass: bool
    chord: str
    lead: str | None
    events: list[tuple[str, str, int, int, int]] = field(default_factory=list)  # role, instrument, pitch, frame, length

    @property
    def bpm(self) -> float:
        return 60 * FRAMES_PER_SECOND / self.frames

    @property
    def loop_frames(self) -> int:
        return self.bars * self.style.beats * self.frames


def _onsets(pattern: str) -> list[tuple[int, int]]:
    """(start, length) of each note in sixteenths; a note lasts until the next letter or rest."""
    starts = [i for i, c in enumerate(pattern) if c not in ".-"]
    ends = [next((j for j in range(i + 1, len(pattern)) if pattern[j] != "."), len(pattern)) for i in starts]
    return [(i, j - i) for i, j in zip(starts, ends)]


def _degree(song: Song, degree: int, low: int) -> int:
    """The scale degree as the lowest MIDI pitch not below `low`."""
    scale = MAJOR if song.major else MINOR
    pitch = song.tonic + scale[degree % 7]
    return low + (pitch - low) % 12


def _chord(song: Song, root: int, bank: set[int]) -> list[int]:
    """A close voicing within one octave, pitches the bank holds."""
    if song.style.power:
        low = _degree(song, root, 45)
        return [p for p in (low, low + 7) if p in bank]
    steps = (0, 2, 4, 6) if song.style.sevenths else (0, 2, 4)
    pitches = [_degree(song, root + s, 55) for s in steps]
    if song.style.sevenths:
        pitches = pitches[1:]  # the bass has the root
    return sorted(p for p in pitches if p in bank)


def compose(rng: random.Random, style: Style | None = None, frames: int | None = None, keys=KEYS) -> Song:
    """Draw a song; `style` and `frames` (a beat) may be fixed by the caller, `keys` narrowed."""
    style = style or rng.choice(STYLES)
    frames = frames or rng.choice(style.tempi)
    tonic, major = rng.choice([k for k in keys if k[1] in style.modes])
    lead = rng.choice(LEADS) if rng.random() < 0.75 else None
    song = Song(style, frames, 2 if style.beats * frames <= 112 else 1, tonic, major,
                rng.random() < style.drums_probability, rng.random() < 0.93, rng.choice(style.chords), lead)  # fmt: skip
    bar, loop = 4 * style.beats, 4 * style.beats * song.bars  # in sixteenths
    progression = rng.choice(style.progressions)
    share = loop // len(progression) if loop % len(progression) == 0 else loop
    if share < bar // 2:  # at most two chords a bar
        progression, share = progression[:2], loop // 2
    root_at = lambda step: progression[min(step // share, len(progression) - 1)]

    def add(role: str, name: str, pitch: int, step: int, steps: int) -> None:
        start, end = round(step * frames / 4), round((step + steps) * frames / 4)
        song.events.append((role, name, pitch, start, end - start))

    drums, bass = rng.choice(style.drums), rng.choice(style.bass_patterns)
    comping = rng.choice(style.chord_patterns)
    available = set(INSTRUMENTS[song.chord].pitches)
    for first in range(0, loop, bar):
        if song.drums:
            for drum, pattern in drums.items():
                for step, _ in _onsets(pattern):
                    add("drums", style.kit, drum, first + step, 4)
        if song.bass:
            changes = "".join("r" if c == "." and i and root_at(first + i) != root_at(first + i - 1) else c
                              for i, c in enumerate(bass))  # fmt: skip
            for step, steps in _onsets(changes):
                low = _degree(song, root_at(first + step), 36)
                interval = {"f": 7, "o": 12}.get(changes[step], 0)
                pitch = low + interval if low + interval <= 48 else low
                if pitch not in INSTRUMENTS[style.bass].pitches:  # a flat fifth outside the keys
                    pitch = low
                add("bass", style.bass, pitch, first + step, steps)
        changes = "".join("x" if c == "." and i and root_at(first + i) != root_at(first + i - 1) else c
                          for i, c in enumerate(comping))  # fmt: skip
        for number, (step, steps) in enumerate(_onsets(changes)):
            voicing = _chord(song, root_at(first + step), available)
            if changes[step] == "a":
                add("chords", song.chord, voicing[(0, 1, 2, 1)[number % 4] % len(voicing)], first + step, steps)
            else:
                for pitch in voicing:
                    add("chords", song.chord, pitch, first + step, steps)
    if song.lead:
        _add_lead(rng, song, bar, root_at, add)
    return song


def _add_lead(rng: random.Random, song: Song, bar: int, root_at, add) -> None:
    """A sparse motif: chord tones on the strong beats, neighbours elsewhere, the same rhythm in each bar."""
    rhythm = rng.choice(_LEAD_RHYTHMS[song.style.beats])
    scale = MAJOR if song.major else MINOR
    ladder = [p for p in INSTRUMENTS[song.lead].pitches if (p - song.tonic) % 12 in {s % 12 for s in scale}]
    position = rng.randrange(len(ladder) // 4, 3 * len(ladder) // 4)
    for first in range(0, bar * song.bars, bar):
        for step, steps in _onsets(rhythm):
            position = min(max(position + rng.choice((-2, -1, 1, 2)), 0), len(ladder) - 1)
            root = root_at(first + step)
            tones = {(song.tonic + scale[(root + k) % 7]) % 12 for k in (0, 2, 4)}
            if step % 8 == 0:  # the nearest chord tone
                position = min(range(len(ladder)), key=lambda i: (ladder[i] % 12 not in tones, abs(i - position)))
            add("lead", song.lead, ladder[position], first + step, min(steps, 8))


def loop_audio(song: Song, bank: dict[tuple[str, int], np.ndarray]) -> np.ndarray:
    """One exact loop, float32 [loop_frames * 640]; tails wrap around its end."""
    size = song.loop_frames * FRAME
    mix = np.zeros(size, np.float64)
    for role, name, pitch, start, length in song.events:
        instrument, note = INSTRUMENTS[name], bank[name, pitch]
        if not instrument.drums:
            held = min(length * FRAME, len(note))
            tail = min(int(4 * instrument.release * SAMPLE_RATE), len(note) - held)
            note = note[: held + tail].copy()
            note[held:] *= np.exp(-np.arange(tail) / (instrument.release * SAMPLE_RATE))
        note = note[:size]  # never over itself more than once
        if role == "lead":  # the shared instruments are scaled for chords in the bank
            note = note * LEAD_GAIN.get(name, 1.0)
        at = (start * FRAME) % size
        first = min(size - at, len(note))
        mix[at : at + first] += note[:first]
        mix[: len(note) - first] += note[first:]
    return (mix * _gain(mix)).astype(np.float32)


def loudness(audio: np.ndarray) -> float:
    """Ungated K-weighted loudness in LUFS (ITU-R BS.1770 filters, re-derived for 32 kHz by bilinear transform)."""
    shelf = _biquad_shelf(1681.97, 3.99984, 0.7071752)
    high = _biquad_highpass(38.1355, 0.5003270)
    weighted = lfilter(*high, lfilter(*shelf, audio))
    return float(-0.691 + 10 * np.log10(np.mean(weighted**2) + 1e-12))


def _biquad_shelf(f0: float, gain_db: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    k, vh = np.tan(np.pi * f0 / SAMPLE_RATE), 10 ** (gain_db / 20)
    vb, a0 = vh**0.4996667741545416, 1 + np.tan(np.pi * f0 / SAMPLE_RATE) / q + np.tan(np.pi * f0 / SAMPLE_RATE) ** 2
    b = np.array([vh + vb * k / q + k * k, 2 * (k * k - vh), vh - vb * k / q + k * k]) / a0
    return b, np.array([1, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0])


def _biquad_highpass(f0: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    k = np.tan(np.pi * f0 / SAMPLE_RATE)
    a0 = 1 + k / q + k * k
    return np.array([1.0, -2.0, 1.0]), np.array([1, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0])


def _gain(mix: np.ndarray) -> float:
    """To the target loudness in whole decibels (few distinct gains are easier to code), peaks below 0.9."""
    decibels = round(TARGET_LUFS - loudness(np.tile(mix, 2)[-len(mix) :]))
    peak = np.abs(mix).max() + 1e-9
    while peak * 10 ** (decibels / 20) > 0.9:
        decibels -= 1
    return 10 ** (decibels / 20)


def performance(song: Song, bank: dict[tuple[str, int], np.ndarray], frames: int, first_beat: int = 0) -> np.ndarray:
    """`frames` codec frames of the loop repeated, starting on beat `first_beat`; float32 [frames * 640]."""
    loop = loop_audio(song, bank)
    start = first_beat * song.frames * FRAME
    return loop[(start + np.arange(frames * FRAME)) % len(loop)]
