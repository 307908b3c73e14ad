"""Goldens of EnCodec."""

from pathlib import Path

import numpy as np
import torch
from transformers import EncodecModel


def decode_cases(codec: EncodecModel, out: Path, seed: int) -> list[dict]:
    """Random codes -> audio. The short ones meet the rule for reflection of inputs no longer than the padding:
    zeros are put after the input first (padding - length + 1 of them), and as many samples cut off at the end."""
    generator = torch.Generator().manual_seed(seed)
    cases = []
    for frames in (24, 1, 2, 5):
        codes = torch.randint(codec.config.codebook_size, (4, frames), generator=generator)
        audio = codec.decode(codes[None, None], [None]).audio_values[0, 0]
        rms, peak = audio.square().mean().sqrt().item(), audio.abs().max().item()
        assert audio.shape[0] == frames * codec.config.hop_length and 0.05 < rms < 0.5 and peak < 1, (rms, peak)
        np.save(out / f"codes_{frames}.npy", codes.numpy())
        np.save(out / f"audio_{frames}.npy", audio.numpy())
        cases.append({"frames": frames, "codes": f"codes_{frames}.npy", "audio": f"audio_{frames}.npy",
                      "samples": audio.shape[0], "rms": round(rms, 4), "peak": round(peak, 4)})
    return cases
