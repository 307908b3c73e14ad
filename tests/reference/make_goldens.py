"""Makes tests/goldens: tiny random checkpoints and what transformers and audiocraft compute with them. See README.md."""

import argparse
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

import audiocraft_cases
import audiocraft_melody_cases
import checkpoint
import manifest
import melody_cases
import model_cases
import music_cases
import sharded_cases
import spiece
import texts
import wide_cases
from shapes import MELODY, STEREO, STEREO_MELODY, TINY


def make_tokenizer_json(_seed: int, out: Path, goldens: Path) -> dict:
    """Some published folders hold tokenizer.json and no spiece.model: tiny-a's, once, to test such a folder with."""
    model = goldens / "tiny-a" / "model"
    spiece.load_tokenizer(model).save_pretrained(out)
    reader, original = (transformers.AutoTokenizer.from_pretrained(folder) for folder in (out, model))
    cases = [{"name": name, "text": text, "ids": reader(text).input_ids} for name, text in texts.PLAIN]
    assert all(case["ids"] == original(case["text"]).input_ids for case in cases)
    manifest.write(out / "golden.json", {
        "model": "tokenizer-json", "made_with": manifest.made_with(),
        "notes": ["tokens: from tokenizer.json alone; the same as tiny-a's, which has a longer prompt besides."],
        "tokens": [case for case in cases if case["name"] != "very_long"]})
    return {"kB": checkpoint.kilobytes(out)}


# In this order: some read what earlier ones wrote. Each gets (seed, an empty folder, the goldens), gives a row of the
# summary and raises music_cases.Unusable for a seed that will not do, ImportError for what requirements-audiocraft.txt
# lists.
_MAKERS: dict[str, Callable[[int, Path, Path], dict]] = {
    **{shape.name: lambda seed, out, _, shape=shape: model_cases.make(shape, seed, out)
       for shape in (*TINY.values(), STEREO)},
    "tokenizer-json": make_tokenizer_json,
    sharded_cases.FOLDER: lambda seed, out, _: sharded_cases.make(seed, out),
    wide_cases.FOLDER: lambda seed, out, _: wide_cases.make(seed, out),
    **{shape.name: lambda seed, out, _, shape=shape: melody_cases.make(shape, seed, out)
       for shape in (MELODY, STEREO_MELODY)},
    audiocraft_cases.FOLDER: audiocraft_cases.make,
    audiocraft_melody_cases.FOLDER: audiocraft_melody_cases.make,
}


def make_usable(name: str, first_seed: int, goldens: Path) -> dict:
    for seed in range(first_seed, first_seed + 100):
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / name
            out.mkdir()
            try:
                row = _MAKERS[name](seed, out, goldens)
            except music_cases.Unusable as reason:
                print(f"{name}: seed {seed} will not do: {reason}")
                continue
            shutil.rmtree(goldens / name, ignore_errors=True)
            shutil.copytree(out, goldens / name)
            return row
    raise SystemExit(f"{name}: no usable seed")


def print_summary(rows: dict[str, dict]) -> None:
    keys = list(dict.fromkeys(key for row in rows.values() for key in row))
    width = max(map(len, keys)) + 2
    print("rms of activations (smallest and largest of the layers) and more\n" + " " * width
          + "".join(f"{name:>18}" for name in rows))
    for key in keys:
        print(f"{key:<{width}}" + "".join(f"{row.get(key, '')!s:>18}" for row in rows.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "goldens")
    parser.add_argument("--only", choices=list(_MAKERS), help="one of the folders; the ones it needs are there already")
    parser.add_argument("--seed", type=int, default=1, help="the first seed to try")
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", "`torch.nn.utils.weight_norm` is deprecated")  # audiocraft's
    torch.set_num_threads(1)  # one order of summation
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = {}
    for name in _MAKERS:
        if arguments.only in (None, name):
            try:
                rows[name] = make_usable(name, arguments.seed, arguments.out)
            except ImportError as missing:
                print(f"{name} is not made: {missing} (requirements-audiocraft.txt)")
    if rows:
        print_summary(rows)


if __name__ == "__main__":
    main()
