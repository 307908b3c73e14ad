#!/usr/bin/env python3
"""Songs that training/make_codes.py encoded, as a list for quality_tool: ten seconds of each, with a caption of its own.

    tests/quality/make_pieces.py --songs FOLDER --out FOLDER [--flaws 0.3]

FOLDER/pieces.jsonl and one NPY file a song. Windows begin on the loop's first bar, and the captions name style, tempo and instruments, as
they did when the model learned its repertoire. With --flaws, that share of the codes that the
model is let hear is random, as in its training (corrupt in training/language_model.py). Deterministic; needs what training/ needs.
"""
import argparse
import json
import pickle
import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from training.captions import caption  # noqa: E402

FRAMES = 500


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--songs", type=Path, required=True, help="a folder of make_codes.py: NNN.pkl")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--flaws", type=float, default=0.0)
    parser.add_argument("--codebook-size", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    rng, dice = random.Random(args.seed), np.random.default_rng(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    lines = []
    for path in sorted(args.songs.glob("*.pkl")):
        with open(path, "rb") as file:
            songs = pickle.load(file)
        for song, loop in songs:
            name = f"{len(lines):03d}.npy"
            codes = loop[:, np.arange(args.frames) % loop.shape[1]]
            np.save(args.out / name, np.ascontiguousarray(codes.astype(np.int32)))
            entry = {"prompt": caption(song, rng, True), "codes": name}
            if args.flaws > 0:
                flawed = np.where(dice.random(codes.shape) < args.flaws, dice.integers(args.codebook_size, size=codes.shape), codes)
                entry["heard"] = f"heard-{name}"
                np.save(args.out / entry["heard"], np.ascontiguousarray(flawed.astype(np.int32)))
            lines.append(json.dumps(entry))
    (args.out / "pieces.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} pieces of {args.frames} frames")


if __name__ == "__main__":
    main()
