"""Goldens of block types: a decoder 256 wide, whose weights a formula makes, and its logits with the weights of each type.

transformers computes with the weights that the blocks stand for. continuo also quantises the activations that meet blocks, to 8
bits (to 16 where avx2 meets q8_0), per row and 32 values; the same is done here before each such product, which shows how far the
logits move for that reason alone, and where to.
"""

import copy
import math
import tempfile
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from transformers import MusicgenForConditionalGeneration

import checkpoint
import ggml_blocks
import manifest
import music_cases
import spiece
import texts
from shapes import WIDE
from weights import random_model

FOLDER = WIDE.name
_FRAMES = 8
_SPREAD = 65535 / math.sqrt(3)  # of the sum of four whole numbers below 65536

_NOTES = [
    "model holds no weights: value i of a tensor is shift + scale x (a + b + c + d - 131070), a to d the 16-bit words of "
    "splitmix64's output number i, counted from 0, whose seed is the 64-bit FNV-1a of the tensor's name. tensors lists them as "
    "model.safetensors has them.",
    "logits: teacher forcing without guidance, as in the other models' golden.json. type f32: the weights as they are. Others: as "
    "ggml's blocks hold them, types saying which tensors are in which; logits by transformers with float activations, logits_8 "
    "with those that meet blocks in 8 bits. error_8: rms of their distance over the rms of logits; error_16: the same with 16 bits "
    "where the blocks are q8_0. weights_error: the same between logits and those of type f32.",
]


def _seed(name: str) -> int:
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def formula(name: str, shape: list[int], scale: float, shift: float) -> torch.Tensor:
    with np.errstate(over="ignore"):
        z = np.uint64(_seed(name)) + np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    total = sum((z >> np.uint64(16 * part)) & np.uint64(0xFFFF) for part in range(4)).astype(np.int64) - 131070
    return torch.from_numpy((shift + scale * total).astype(np.float32).reshape(shape))


def _short(value: float) -> float:
    """8 significant bits, so that the products of the formula are exact in double precision."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 256), exponent - 8)


def _describe(tensors: dict[str, torch.Tensor]) -> list[dict]:
    """The formula that gives each tensor about the mean and the spread that it has."""
    rows = []
    for name, tensor in sorted(tensors.items()):
        assert tensor.dtype == torch.float32, name
        spread = tensor.std(correction=0).item() if tensor.numel() > 1 else 0.0
        mean = tensor.mean().item()
        centred = "norm" not in name and not name.endswith(("original0", "cluster_size"))
        rows.append({"name": name, "shape": list(tensor.shape), "scale": _short(spread / _SPREAD),
                     "shift": 0.0 if centred else _short(mean)})
    return rows


def _stored(name: str, weight: torch.Tensor, kind: str) -> str:
    """What docs/gguf.md says of a weight of the text encoder or the decoder in a file of that type."""
    if weight.dim() < 2 or "relative_attention_bias" in name:
        return "f32"
    if "embed_tokens" in name or "shared" in name or name.startswith("enc_to_dec_proj"):
        return "f16"
    for choice in ("q8_0",) if "lm_heads" in name else (kind, "q8_0"):
        if ggml_blocks.fits(choice, weight):
            return choice
    return "f16"


def _in_blocks(model: MusicgenForConditionalGeneration, kind: str) -> tuple[MusicgenForConditionalGeneration, dict[str, str]]:
    model = copy.deepcopy(model)
    types = {}
    for name, weight in model.named_parameters():
        if name.startswith("audio_encoder."):
            continue
        types[name] = stored = _stored(name, weight, kind)
        if stored == "f16":
            weight.copy_(weight.half())
        elif stored != "f32":
            weight.copy_(ggml_blocks.through(stored, weight))
    return model, types


def _rounded(x: torch.Tensor, bits: int) -> torch.Tensor:
    limit = 2.0 ** (bits - 1) - 1
    blocks = x.view(*x.shape[:-1], -1, 32)
    largest = blocks.abs().amax(-1, keepdim=True)
    inverse = torch.where(largest > 0, limit / largest, torch.zeros(()))
    return ((blocks * inverse).round() * (largest / limit)).view(x.shape)


def _logits(model: MusicgenForConditionalGeneration, inputs: dict, ids: torch.Tensor, types: dict[str, str],
            bits: dict[str, int]) -> torch.Tensor:
    """bits: of the activations that meet weights of a type."""
    hooks = [module.register_forward_pre_hook(lambda _, args, bits=bits[types[f"{name}.weight"]]: (_rounded(args[0], bits),))
             for name, module in model.named_modules()
             if isinstance(module, torch.nn.Linear) and types.get(f"{name}.weight") in bits]
    try:
        return model(**inputs, decoder_input_ids=ids).logits
    finally:
        for hook in hooks:
            hook.remove()


def make(seed: int, out: Path) -> dict:
    (out / "model").mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        pieces, folder = Path(scratch) / "spiece.model", Path(scratch) / "model"
        spiece.train(pieces, WIDE.pieces, WIDE.plain_text)
        checkpoint.save(random_model(WIDE, seed), WIDE, folder, pieces)
        file = folder / "model.safetensors"
        described = _describe(safetensors.torch.load_file(file))
        safetensors.torch.save_file({row["name"]: formula(**row) for row in described}, file, metadata={"format": "pt"})
        model, tokenizer = checkpoint.load(folder)
        file.unlink()
        for rest in folder.iterdir():
            rest.rename(out / "model" / rest.name)

    late, vocab = music_cases.delays(model), WIDE.decoder["vocab_size"]
    generator = torch.Generator().manual_seed(seed)
    ids = music_cases.delayed(torch.randint(vocab, (len(late), _FRAMES), generator=generator), late, vocab)
    np.save(out / "input.npy", ids.numpy())
    inputs = dict(tokenizer(texts.MEDIUM, return_tensors="pt"))

    def save(name: str, logits: torch.Tensor) -> str:
        np.save(out / f"{name}.npy", logits.numpy())
        return f"{name}.npy"

    plain = _logits(model, inputs, ids, {}, {})
    case = {"text": texts.MEDIUM, "input_ids": "input.npy"}
    cases = [{"type": "f32"} | case | {"logits": save("f32", plain), "std": round(plain.std().item(), 3)}]
    for kind in ("q8_0", "q4_0", "q4_k"):
        blocks, types = _in_blocks(model, kind)
        exact = _logits(blocks, inputs, ids, types, {})
        row = {"type": kind} | case | {"logits": save(kind, exact)}
        for bits in (8, 16):
            rounded = _logits(blocks, inputs, ids, types, {"q8_0": bits, "q4_0": 8, "q4_k": 8})
            error = ((rounded - exact).square().mean() / exact.square().mean()).sqrt().item()
            row |= {f"error_{bits}": float(f"{error:.3g}")}
            if bits == 8:  # with 16, float rounding decides too often which way a value goes
                row |= {"logits_8": save(f"{kind}_8", rounded)}
        row["weights_error"] = float(f"{((exact - plain).square().mean() / plain.square().mean()).sqrt().item():.3g}")
        row["types"] = {stored: sorted(name for name in types if types[name] == stored and "layers.1." not in name)
                        for stored in sorted(set(types.values()) - {"f32", "f16"})}
        cases.append(row)
    manifest.write(out / "golden.json", {
        "model": FOLDER, "seed": seed, "made_with": manifest.made_with(), "folder": "model", "special_id": vocab, "notes": _NOTES,
        "logits": cases, "tensors": described})
    return {"seed": seed, "logits std": cases[0]["std"],
            **{f"{row['type']} {key}": row[key] for row in cases[1:] for key in ("error_8", "error_16", "weights_error")},
            "kB": checkpoint.kilobytes(out)}
