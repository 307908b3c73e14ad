"""Audio for the codec and the chroma: nothing recorded can be had where the tests are made."""

import math

import torch


def melodic_audio(samples: int, rate: int, seed: int, note_seconds: float = 0.15) -> torch.Tensor:  # [samples]
    """A random tune: notes that start and fade, each with three overtones, over a little noise; rms 0.15."""
    generator = torch.Generator().manual_seed(seed)

    def draw() -> float:
        return torch.rand((), generator=generator, dtype=torch.float64).item()

    length = max(1, round(note_seconds * rate))
    audio = 0.02 * torch.randn(samples, generator=generator, dtype=torch.float64)
    for start in range(0, samples, length):
        time = torch.arange(min(3 * length, samples - start), dtype=torch.float64) / rate
        pitch = 0.006 * rate * 2 ** (3 * draw())  # the lowest is 12 Hz at a rate of 2 kHz, 192 Hz at 32 kHz
        loudness = 0.3 + draw()
        envelope = loudness * (1 - torch.exp(-80 * time)) * torch.exp(-6 * time)
        for overtone in range(1, 5):
            audio[start : start + len(time)] += envelope / overtone * torch.sin(
                2 * math.pi * (overtone * pitch * time + draw()))
    return (audio * (0.15 / audio.square().mean().sqrt())).float()
