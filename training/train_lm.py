"""Train the text encoder and the decoder together on codes of whole 10 s windows.

Progress is measured in time, as in train_codec.py: `--minutes` is the whole training over all resumed runs.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import sentencepiece
import torch

from .captions import caption
from .composer import LEADS
from .language_model import LanguageModel, corrupt
from .threads import AdaptiveThreads

FRAMES = 500


class Windows:
    """Random windows of songs, each starting on a bar, with a fresh caption."""

    def __init__(self, folder: Path, tokenizer: sentencepiece.SentencePieceProcessor, seed: int) -> None:
        self.folder, self.read, self.songs = folder, set(), []
        self.from_start = False  # windows begin on the loop's first bar only
        self.tokenizer, self.rng = tokenizer, random.Random(seed)
        self.refresh()

    def refresh(self) -> None:
        """Read the parts that make_codes has written since."""
        for path in sorted(set(self.folder.glob("*.pkl")) - self.read):
            with open(path, "rb") as file:
                self.songs += pickle.load(file)
            self.read.add(path)

    def batch(self, size: int, frames: int = FRAMES) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """ids [size, tokens], mask, codes [size, 4, frames]."""
        texts, codes = [], []
        for _ in range(size):
            song, loop = self.rng.choice(self.songs)
            bars = 1 if self.from_start else song.bars
            start = self.rng.randrange(bars) * song.style.beats * song.frames
            codes.append(loop[:, (start + np.arange(frames)) % loop.shape[1]].astype(np.int64))
            if self.from_start and self.rng.random() < 0.65:
                # In so small a set each lead, chord instrument and mood points at a few tempi; the text must not
                # rely on that: style and bpm decide, the rest may be wrong.
                song = replace(song, lead=self.rng.choice((*LEADS, None)), chord=self.rng.choice(song.style.chords),
                               major=self.rng.random() < 0.5)  # fmt: skip
            full = self.from_start and self.rng.random() < 0.5
            texts.append(self.tokenizer.encode(caption(song, self.rng, full)) + [1])
        length = max(map(len, texts))
        ids = torch.tensor([t + [0] * (length - len(t)) for t in texts])
        return ids, (ids != 0).long(), torch.from_numpy(np.stack(codes))


@torch.no_grad()
def evaluate(model: LanguageModel, windows: Windows, batches: int = 2) -> tuple[list[float], list[float]]:
    """Held-out cross-entropy by codebook, with text and without."""
    model.eval()
    windows.rng.seed(9)
    with_text, without = [], []
    for _ in range(batches):
        ids, mask, codes = windows.batch(8)
        with torch.autocast("cpu", torch.bfloat16):
            with_text.append(model(ids, mask, torch.ones(8, dtype=torch.long), codes))
            without.append(model(ids, mask, torch.zeros(8, dtype=torch.long), codes))
    model.train()
    return tuple([round(x, 3) for x in torch.stack(l).mean(0).tolist()] for l in (with_text, without))


def make_optimisers(model: LanguageModel, lr: float, muon: float) -> list[torch.optim.Optimizer]:
    """AdamW for everything, or Muon for the matrices inside layers and AdamW for the rest."""
    inner = lambda name, p: p.dim() == 2 and (".layers." in name or ".block." in name) and "bias" not in name
    matrices = [p for n, p in model.named_parameters() if inner(n, p)]
    tables = [p for n, p in model.named_parameters() if p.dim() > 1 and not inner(n, p)]
    vectors = [p for n, p in model.named_parameters() if p.dim() <= 1]
    groups = [{"params": tables, "weight_decay": 0.03}, {"params": vectors, "weight_decay": 0.0}]
    if not muon:
        groups[0]["params"] = tables + matrices
    optimisers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=True)]
    if muon:
        optimisers.append(torch.optim.Muon(matrices, lr=muon, weight_decay=0.03, momentum=0.95, nesterov=True,
                                           adjust_lr_fn="match_rms_adamw"))  # fmt: skip
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["base_lr"] = group["lr"]
    return optimisers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codes", type=Path, required=True, help="folder written by make_codes; may still be growing")
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=75)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--muon", type=float, default=0.0, help="learning rate of Muon for the layers' matrices; 0: AdamW")
    parser.add_argument("--warmup", type=int, default=150, help="steps")
    parser.add_argument("--short", type=float, default=0.5, help="share of the time with windows of 320 frames")
    parser.add_argument("--log-seconds", type=float, default=120)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path, help="a checkpoint to take the weights from (a second stage)")
    parser.add_argument("--corrupt", type=float, default=0.0, help="largest usual share of corrupted history")
    parser.add_argument("--openings", type=int, default=0, help="rows of 24 frames beside each batch of windows")
    parser.add_argument("--from-start", action="store_true", help="windows begin on the loop's first bar only")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    threads = AdaptiveThreads(args.threads, period=40, trial=2)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "lm.pt"
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(args.tokenizer))
    train = Windows(args.codes, tokenizer, int(time.time()))
    held_out = Windows(args.held_out, tokenizer, 9)
    model = LanguageModel(len(tokenizer))
    optimisers = make_optimisers(model, args.lr, args.muon)
    if args.start:
        model.load_state_dict(torch.load(args.start)["model"])
    train.from_start = held_out.from_start = args.from_start
    elapsed, step = 0.0, 0
    if args.resume and checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        for optimiser, saved_state in zip(optimisers, state["optimisers"]):
            optimiser.load_state_dict(saved_state)
        elapsed, step = state["elapsed"], state["step"]
    begin, saved = time.time() - elapsed, time.time()
    losses: list[torch.Tensor] = []
    special = model.decoder.config.vocab_size
    model.train()

    def save() -> None:
        state = {"model": model.state_dict(), "optimisers": [o.state_dict() for o in optimisers],
                 "elapsed": time.time() - begin, "step": step}  # fmt: skip
        torch.save(state, checkpoint.with_suffix(".tmp"))
        checkpoint.with_suffix(".tmp").replace(checkpoint)

    while (progress := (time.time() - begin) / (60 * args.minutes)) < 1:
        rate = min(1.0, (step + 1) / args.warmup) * max(0.5 * (1 + math.cos(math.pi * progress)), 0.02)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group["base_lr"]
        # Shorter windows first: they hold a whole loop and its repetition, and attention costs less.
        short = progress < args.short
        ids, mask, codes = train.batch(args.batch * 3 // 2 if short else args.batch, 320 if short else FRAMES)
        kept = (torch.rand(len(ids)) > 0.1).long()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(ids, mask, kept, codes, corrupt(codes, special, args.corrupt, 0.1) if args.corrupt else None)
        total = loss.mean()
        if args.openings:
            # The first half second of many songs: there the text alone decides, and later the history tells.
            ids, mask, codes = train.batch(args.openings, 24)
            kept = (torch.rand(len(ids)) > 0.05).long()
            with torch.autocast("cpu", torch.bfloat16):
                total = total + model(ids, mask, kept, codes, corrupt(codes, special, 0.2, 0.1)).mean()
        for optimiser in optimisers:
            optimiser.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser in optimisers:
            optimiser.step()
        step += 1
        threads.tick()
        losses.append(loss.detach())
        if time.time() - saved > args.log_seconds:
            with_text, without = evaluate(model, held_out)
            record = {"step": step, "minutes": round((time.time() - begin) / 60, 2), "threads": torch.get_num_threads(), "songs": len(train.songs),
                      "train": [round(x, 3) for x in torch.stack(losses).mean(0).tolist()],
                      "held_out": with_text, "held_out_no_text": without}  # fmt: skip
            with open(args.out / "log.jsonl", "a") as log:
                log.write(json.dumps(record) + "\n")
            losses = []
            train.refresh()
            save()
            saved = time.time()
    save()


if __name__ == "__main__":
    main()
