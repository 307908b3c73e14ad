"""Train the SentencePiece model: captions, numbers, and enough general English that any text tokenises.

Ids are T5's: 0 pad, 1 </s>, 2 unknown. Case is kept, as T5's tokenizer keeps it.
"""

from __future__ import annotations

import argparse
import random
import string
from pathlib import Path

import sentencepiece

from .captions import caption
from .composer import compose

# General words: function words and the vocabulary of music that the captions lack.
GENERAL = """the of and a to in is it you that he was for on are with as his they be at one have this from or had by
not but what some we can out other were all there when up use your how said each she which do their time if will way
about many then them would like so these her long make thing see him two has look more day could go come did my sound
no most number who over know water than call first people may down side been now find any new work part take get place
made live where after back little only round man year came show every good me give our under name very through just
form great think say help low line before turn cause same mean differ move right boy old too does tell sentence set
three want air well also play small end put home read hand port large spell add even land here must big high such
follow act why ask men change went light kind off need house picture try us again animal point mother world near build
self earth father jazz blues funk soul reggae country metal pop hip hop rap trap drum bass guitar piano violin cello
trumpet saxophone organ synth choir vocal voice singer orchestra symphony epic cinematic soundtrack movie film trailer
battle love heart night summer winter spring autumn ocean forest rain storm sun moon star space dream sleep study focus
party dance club festival beach city street train road drive fire ice dark bright deep soft loud quiet gentle hard heavy
slow fast happy sad angry calm relaxing energetic romantic mysterious beautiful simple complex modern vintage retro 80s
70s 60s 90s acoustic electric analog digital ambient noise lofi chill melody harmony rhythm chord progression minor
major key tempo beat groove swing shuffle loop intro verse chorus bridge outro solo riff hook theme""".split()


def corpus(captions: int, seed: int) -> list[str]:
    """Lines to train on: captions, general words (in lower case and capitalised), numbers, characters."""
    rng = random.Random(seed)
    lines = [caption(compose(rng), rng) for _ in range(captions)]
    for _ in range(captions // 4):
        words = rng.choices(GENERAL, k=8)
        lines.append(" ".join(w.capitalize() if rng.random() < 0.1 else w for w in words))
    for _ in range(captions // 100):
        lines += [f"{n} bpm" for n in range(40, 200)]
    lines += [" ".join(string.printable[:94])] * 20
    return lines


def train(path: Path, captions: int = 20_000, pieces: int = 900) -> None:
    """Write `path` (spiece.model)."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus(captions, 5)), model_prefix=str(path.with_suffix("")), vocab_size=pieces,
        model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>", eos_piece="</s>",
        unk_piece="<unk>", normalization_rule_name="nmt_nfkc", character_coverage=1.0, hard_vocab_limit=False,
        num_threads=1, minloglevel=1,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the .model file")
    train(parser.parse_args().out)
