"""Makes tests/goldens: tiny random MusicGen checkpoints and what transformers computes with them. See README.md."""

import argparse
import json
import platform
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers
from transformers import MusicgenForConditionalGeneration

import checkpoint
import codec_cases
import music_cases
import spiece
import text_cases
from shapes import TINY, Shape
from weights import random_model, chord_audio


def write_manifest(path: Path, manifest: dict) -> None:
    """JSON with a line for each case, so that a changed golden shows in a diff."""
    lines = []
    for key, value in manifest.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("    " + json.dumps(case, ensure_ascii=False) for case in value)
            lines.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def activations(model: MusicgenForConditionalGeneration, inputs: dict) -> dict[str, float]:
    """rms after each part's layers (the smallest and the largest), for the summary."""
    seen: dict[str, list[float]] = {}

    def watch(part: str) -> Callable[..., None]:
        def hook(_module: torch.nn.Module, _inputs: tuple, output) -> None:
            tensor = output[0] if isinstance(output, tuple) else output
            seen.setdefault(part, []).append(tensor.square().mean().sqrt().item())
        return hook

    hooks = [layer.register_forward_hook(watch(part)) for part, layers in (
        ("t5", model.text_encoder.encoder.block), ("decoder", model.decoder.model.decoder.layers),
        ("codec decoder", model.audio_encoder.decoder.layers[:-1]), ("codec encoder", model.audio_encoder.encoder.layers)
    ) for layer in layers]
    codec = model.audio_encoder
    generator = torch.Generator().manual_seed(1)
    codes = torch.randint(codec.config.codebook_size, (4, 40), generator=generator)
    model(**inputs, decoder_input_ids=codes)
    codec.decode(codes[None, None], [None])
    audio = chord_audio(40 * codec.config.hop_length, codec.config.sampling_rate, seed=2)
    distinct = [len(row.unique()) for row in codec.encode(audio).audio_codes[0, 0]]
    for hook in hooks:
        hook.remove()
    table = {part: f"{min(values):.2f}..{max(values):.2f}" for part, values in seen.items()}
    return table | {"codes of 40 frames": "/".join(map(str, distinct))}


def make(shape: Shape, seed: int, out: Path) -> dict:
    """One attempt with one seed; raises music_cases.Unusable when greedy choices are too close to call."""
    with tempfile.TemporaryDirectory() as scratch:
        pieces = Path(scratch) / "spiece.model"
        spiece.train(pieces, shape.pieces)
        built = random_model(shape, seed)
        checkpoint.save(built, shape, out / "model", pieces)
    # The goldens come from the files as they lie there, not from the model that wrote them.
    model, tokenizer = checkpoint.load(out / "model")
    checkpoint.assert_same(built, model)

    manifest = {
        "model": shape.name,
        "seed": seed,
        "made_with": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                      "tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__,
                      "numpy": np.__version__, "machine": platform.machine()},
        "folder": "model",
        "special_id": shape.decoder["vocab_size"],
        "notes": [
            "All .npy files are C order, float32 or int64. null means no prompt: hidden states and mask of zero.",
            "tokens: ids with the final </s>; from names the truth: transformers, or for typed special tokens sentencepiece.",
            "hidden: T5's last hidden state before enc_to_dec_proj, [tokens, d].",
            "logits: teacher forcing without guidance; input_ids [codebooks, steps] are delayed, special_id at both ends; "
            "logits [codebooks, steps, vocab], those at step t follow ids 0..t.",
            "greedy: argmax after guidance, un-delayed [codebooks, frames]; several prompts: [prompts, codebooks, frames], "
            "padding masked, each equal to its prompt alone; min_gap: the least distance of the two best logits.",
            "greedy, the end: a codebook that has all its frames is fed special_id while the later ones finish, so codes "
            "(2, N-1), (3, N-2), (3, N-1) of N frames are not those of a longer run.",
            "decode: codes [codebooks, frames] -> audio [frames * hop]. Reflection of an input no longer than the padding: "
            "padding - length + 1 zeros are put after it, it is reflected, as many samples are cut off at the end.",
        ],
        "tokens": text_cases.token_cases(tokenizer, out / "model" / "spiece.model"),
        "hidden": text_cases.hidden_cases(model, tokenizer, out),
        "logits": music_cases.logits_cases(model, tokenizer, out, seed),
        "greedy": music_cases.greedy_cases(model, tokenizer, out),
        "decode": codec_cases.decode_cases(model.audio_encoder, out, seed),
    }
    write_manifest(out / "golden.json", manifest)
    text = tokenizer(manifest["hidden"][1]["text"], return_tensors="pt")
    return {"seed": seed, **activations(model, dict(text)),
            "logits std": "/".join(str(case["std"]) for case in manifest["logits"]),
            "min gap": min(case["min_gap"] for case in manifest["greedy"]),
            "audio rms, peak": f"{manifest['decode'][0]['rms']}, {manifest['decode'][0]['peak']}",
            "kB": sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) // 1000}


def make_usable(shape: Shape, first_seed: int, goldens: Path) -> dict:
    for seed in range(first_seed, first_seed + 100):
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / shape.name
            out.mkdir()
            try:
                row = make(shape, seed, out)
            except music_cases.Unusable as reason:
                print(f"{shape.name}: seed {seed} will not do: {reason}")
                continue
            shutil.rmtree(goldens / shape.name, ignore_errors=True)
            shutil.copytree(out, goldens / shape.name)
            return row
    raise SystemExit(f"{shape.name}: no usable seed")


def make_tokenizer_json(goldens: Path) -> None:
    """Some published folders hold tokenizer.json and no spiece.model: tiny-a's, once, to test such a folder with."""
    out = goldens / "tokenizer-json"
    shutil.rmtree(out, ignore_errors=True)
    spiece.load_tokenizer(goldens / "tiny-a" / "model").save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "goldens")
    parser.add_argument("--only", choices=list(TINY), help="one of the models")
    parser.add_argument("--seed", type=int, default=1, help="the first seed to try")
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)  # one order of summation
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = {name: make_usable(shape, arguments.seed, arguments.out) for name, shape in TINY.items()
            if arguments.only in (None, name)}
    if "tiny-a" in rows:
        make_tokenizer_json(arguments.out)

    width = max(len(key) for row in rows.values() for key in row) + 2
    print("rms of activations (smallest and largest of the layers) and more\n" + " " * width
          + "".join(f"{name:>18}" for name in rows))
    for key in next(iter(rows.values())):
        print(f"{key:<{width}}" + "".join(f"{row[key]!s:>18}" for row in rows.values()))


if __name__ == "__main__":
    main()
