"""Goldens of the chroma that the melody model hears, from transformers' feature extractor.

The audio is a formula, so that half a minute of it takes a line of JSON. Its notes are so clear that another good resampler
gives the same classes.
"""

import math
import random
from pathlib import Path

import numpy as np
import torch
from transformers import MusicgenMelodyFeatureExtractor

MIN_MARGIN = 0.05  # of the second class behind the first: neither rounding nor a resampler makes up for it


def tune(seconds: float, rate: int, seed: int, first: float = 110.0) -> list[dict]:
    """Notes of half a second and longer, some of them two at a time."""
    rng = random.Random(seed)
    notes, start, end = [], 0, round(seconds * rate)
    while start < end:
        length = min(round(rng.choice((0.5, 0.6, 0.8)) * rate), end - start)
        for loudness in (0.4, 0.15)[: rng.choice((1, 1, 2))]:
            notes.append({"start": start, "samples": length, "amplitude": loudness,
                          "hz": round(first * 2 ** (rng.randrange(30) / 12), 3)})
        start += length
    return notes


def play(notes: list[dict], samples: int, rate: int) -> torch.Tensor:  # [samples]
    audio = torch.zeros(samples, dtype=torch.float64)
    for note in notes:
        n = torch.arange(note["samples"], dtype=torch.float64)
        audio[note["start"] : note["start"] + note["samples"]] += (
            note["amplitude"] * torch.sin(math.pi * (n + 0.5) / note["samples"])
            * torch.sin(2 * math.pi * note["hz"] * n / rate))
    return audio.float()


def _levels(extractor: MusicgenMelodyFeatureExtractor, audio: torch.Tensor, rate: int) -> torch.Tensor:
    """What the extractor takes the arg-max of, [frames, 12]: chroma relative to the loudest class of the frame."""
    seen: list[torch.Tensor] = []
    normalize = torch.nn.functional.normalize

    def spy(chroma: torch.Tensor, **options) -> torch.Tensor:
        seen.append(normalize(chroma, **options))
        return seen[-1].clone()  # overwritten by the caller

    torch.nn.functional.normalize = spy
    try:
        extractor(audio, sampling_rate=rate, return_tensors="pt")
    finally:
        torch.nn.functional.normalize = normalize
    return seen[0][0].T


def features(extractor: MusicgenMelodyFeatureExtractor, audio: torch.Tensor, rate: int) -> torch.Tensor:
    """[1, frames, 12] for audio [channels, samples]."""
    given = audio[0] if len(audio) == 1 else audio[None]  # [2, samples] would be a batch of two
    return extractor(given, sampling_rate=rate, return_tensors="pt").input_features


def chroma_cases(extractor: MusicgenMelodyFeatureExtractor, out: Path, only: tuple[str, ...] = ()) -> list[dict]:
    half = extractor.n_fft // 2
    cases = []
    for number, (name, rate, samples, channels, seconds) in enumerate((
            ("plain", 32000, 70000, 1, 70000 / 32000), ("whole_hops", 32000, 16 * 4096, 1, 16 * 4096 / 32000),
            ("cd_rate", 44100, 90001, 1, 90001 / 44100), ("speech_rate", 16000, 30000, 1, 30000 / 16000),
            ("stereo", 32000, 50000, 2, 50000 / 32000), ("short", 32000, half + 501, 1, (half + 501) / 32000),
            ("silent", 32000, 20000, 1, 0.0), ("silent_end", 32000, 90000, 1, 1.0),
            ("too_long", 32000, 31 * 32000, 1, 31.0))):
        if only and name not in only:
            continue
        for seed in range(1000 * number, 1000 * number + 500):
            notes = [tune(seconds, rate, 2 * seed + channel) for channel in range(channels)]
            audio = torch.stack([play(part, samples, rate) for part in notes])
            given = audio[0] if channels == 1 else audio[None]
            levels = _levels(extractor, given, rate)
            sorted_levels = levels.sort(dim=-1, descending=True).values
            sounding = sorted_levels[:, 0] > 0
            margin = (sorted_levels[:, 0] - sorted_levels[:, 1])[sounding]
            if len(margin) == 0 or margin.min() > MIN_MARGIN:
                break
        else:
            raise SystemExit(f"chroma {name}: no usable tune")
        hot = features(extractor, audio, rate)[0]
        classes = hot.argmax(-1)
        assert torch.equal(hot, torch.nn.functional.one_hot(classes, 12).float())
        assert (classes[~sounding] == 0).all() and torch.equal(classes, levels.argmax(-1))
        np.save(out / f"chroma_{name}.npy", np.ascontiguousarray(levels.numpy()))
        cases.append({"name": name, "sampling_rate": rate, "samples": samples, "notes": notes, "frames": len(classes),
                      "classes": classes.tolist(), "levels": f"chroma_{name}.npy",
                      "min_margin": round(margin.min().item(), 4) if len(margin) else None})
    return cases
