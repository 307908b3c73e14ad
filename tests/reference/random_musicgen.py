"""Writes a random MusicGen of a true size as a Hugging Face folder (small: 2.3 GB), for timing and end-to-end checks.

The weights are noise of sane scale: nothing musical comes out, but every number of work and memory is the real one.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch
import transformers

import checkpoint
import spiece
from shapes import MEDIUM, SMALL, TINY
from weights import random_model

_SHAPES = {"small": SMALL, "medium": MEDIUM, **TINY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=list(_SHAPES), default="small")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    shape = _SHAPES[arguments.shape]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        pieces = Path(scratch) / "spiece.model"
        spiece.train(pieces, shape.pieces)
        checkpoint.save(random_model(shape, arguments.seed), shape, arguments.out, pieces)
    size = (arguments.out / "model.safetensors").stat().st_size
    print(f"{arguments.out}: {size / 1e9:.2f} GB in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
