"""Encode composed songs with the frozen codec; the language model's training data.

A song is a loop, so one period of codes is enough: the loop is encoded with 0.8 s of itself before it
and a quarter of a second after it (the codec's memory and look-ahead), and the middle is kept.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from pathlib import Path

import numpy as np
import torch
from transformers import EncodecModel

from .codec import HOP, codec_config
from .composer import LEADS, LM_KEYS, STYLES, Song, compose, loop_audio
from .instruments import load_bank

BEFORE, AFTER = 40, 12  # frames
PART = 200  # songs a file


@torch.no_grad()
def loop_codes(model: EncodecModel, loop: np.ndarray) -> np.ndarray:
    """One period, uint16 [4, frames]."""
    frames = len(loop) // HOP
    index = np.arange(-BEFORE * HOP, (frames + AFTER) * HOP) % len(loop)
    codes = model.encode(torch.from_numpy(loop[index])[None, None]).audio_codes
    return codes[0, 0, :, BEFORE : BEFORE + frames].numpy().astype(np.uint16)


def repertoire(seed: int, each: int) -> list[Song]:
    """`each` songs for every (style, tempo): all have a bass, all but half of the ambient ones drums; leads in turn.

    So small a set can be learnt nearly by heart in a short training, which the full variety cannot.
    """
    rng, songs, leads = random.Random(seed), [], (*LEADS, None)
    for style in STYLES:
        for number, frames in enumerate(style.tempi * each):
            drums = style.name != "ambient" or number % 2 == 0
            lead = leads[(len(songs) + STYLES.index(style)) % len(leads)]
            while True:
                song = compose(rng, style, frames, LM_KEYS)
                if song.bass and song.drums == drums and song.lead == lead:
                    break
            songs.append(song)
    return songs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--codec", type=Path, required=True, help="codec.pt of phase joint")
    parser.add_argument("--out", type=Path, required=True, help="a folder: NNN.pkl, lists of (Song, codes)")
    parser.add_argument("--songs", type=int, default=1600)
    parser.add_argument("--repertoire", type=int, default=0, help="this many songs for every (style, tempo), and no others")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--filters", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = EncodecModel(codec_config(args.filters)).eval()
    model.load_state_dict(torch.load(args.codec)["model"])
    bank, begin = load_bank(args.bank), time.time()
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = repertoire(args.seed, args.repertoire) if args.repertoire else None
    count = len(chosen) if chosen else args.songs
    for part in range(-(-count // PART)):
        path = args.out / f"{part:03d}.pkl"
        rng = random.Random(args.seed * 1000 + part)
        if path.exists():
            continue
        songs = []
        for index in range(part * PART, min((part + 1) * PART, count)):
            song = chosen[index] if chosen else compose(rng, keys=LM_KEYS)
            codes = loop_codes(model, loop_audio(song, bank))
            song.events = []
            songs.append((song, codes))
        with open(path.with_suffix(".tmp"), "wb") as file:
            pickle.dump(songs, file)
        path.with_suffix(".tmp").replace(path)
        frames = sum(codes.shape[1] for _, codes in songs)
        print(f"{path}: {len(songs)} songs, {frames / 50 / 60:.1f} min of loops, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
