"""Goldens of EnCodec."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import EncodecModel

from sounds import melodic_audio

_MIN_MARGIN = 3e-4  # transformers in f32 and f64 give distances that differ by 1e-6 of their size


def decode(codec: EncodecModel, codes: torch.Tensor, channels: int) -> torch.Tensor:
    """[codebooks, frames] -> [channels, samples]: a stereo model's codebooks are left and right by turns."""
    return torch.cat([codec.decode(codes[None, None, channel::channels], [None]).audio_values[0]
                      for channel in range(channels)])


def decode_cases(codec: EncodecModel, out: Path, seed: int, channels: int = 1,
                 lengths: tuple[int, ...] = (24, 1, 2, 5)) -> list[dict]:
    """Random codes -> audio. The short ones meet the rule for reflection of inputs no longer than the padding:
    zeros are put after the input first (padding - length + 1 of them), and as many samples cut off at the end."""
    generator = torch.Generator().manual_seed(seed)
    cases = []
    for frames in lengths:
        codes = torch.randint(codec.config.codebook_size, (4 * channels, frames), generator=generator)
        audio = decode(codec, codes, channels)
        rms, peak = audio.square().mean().sqrt().item(), audio.abs().max().item()
        assert audio.shape[1] == frames * codec.config.hop_length and 0.05 < rms < 0.5 and peak < 1, (rms, peak)
        np.save(out / f"codes_{frames}.npy", codes.numpy())
        np.save(out / f"audio_{frames}.npy", (audio if channels > 1 else audio[0]).numpy())
        cases.append({"frames": frames, "codes": f"codes_{frames}.npy", "audio": f"audio_{frames}.npy",
                      "samples": audio.shape[1], "rms": round(rms, 4), "peak": round(peak, 4)})
    return cases


def encode(codec: EncodecModel, audio: torch.Tensor) -> torch.Tensor:
    """[channels, samples] -> [codebooks, frames], each channel encoded alone, as transformers does in stereo."""
    codes = [codec.encode(channel[None, None]).audio_codes[0, 0] for channel in audio]
    return torch.stack(codes, dim=1).flatten(0, 1)


def _margin(quantizer: nn.Module, latents: torch.Tensor, codes: torch.Tensor) -> float:
    """The closest call: the least (second distance - best distance) / second distance. `latents` [width, frames]."""
    rest, least = latents.T.double(), 1.0
    for layer, chosen in zip(quantizer.layers, codes, strict=True):
        table = layer.codebook.embed.double()
        distances = (rest[:, None] - table[None]).square().sum(-1)
        best, second = distances.topk(2, largest=False).values.unbind(-1)
        assert torch.equal(distances.argmin(-1), chosen)
        least = min(least, ((second - best) / second).min().item())
        rest = rest - table[chosen]
    return least


def encode_cases(codec: EncodecModel, out: Path, channels: int = 1, prefix: str = "",
                 only: tuple[str, ...] = ()) -> list[dict]:
    """prefix: of the files' names; only: some of the lengths."""
    hop, rate = codec.config.hop_length, codec.config.sampling_rate
    lengths = {"exact": 12 * hop, "partial": 7 * hop + (2 * hop) // 5, "short": (3 * hop) // 5, "one_sample": 1,
               "long": 97 * hop + 1}
    cases = []
    for name, samples in lengths.items():
        if only and name not in only:
            continue
        for seed in range(1, 100):
            audio = torch.stack([melodic_audio(samples, rate, 10 * seed + channel) for channel in range(channels)])
            latents = torch.cat([codec.encoder(channel[None, None]) for channel in audio])  # [channels, width, frames]
            codes = encode(codec, audio)
            margin = min(_margin(codec.quantizer, latents[c], codes[c::channels]) for c in range(channels))
            if margin > _MIN_MARGIN:
                break
        else:
            raise SystemExit(f"encode {name}: no usable seed")
        assert codes.shape == (4 * channels, -(-samples // hop))
        files = {"audio": audio, "latents": latents, "codes": codes}
        for what, tensor in files.items():
            kept = tensor if channels > 1 or what == "codes" else tensor[0]
            np.save(out / f"{prefix}encode_{name}_{what}.npy", kept.numpy())
        cases.append({"name": name, "samples": samples, "frames": codes.shape[1],
                      **{what: f"{prefix}encode_{name}_{what}.npy" for what in files}, "audio_seed": seed,
                      "min_margin": round(margin, 6), "distinct": [len(row.unique()) for row in codes]})
    return cases
