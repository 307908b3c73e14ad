"""A small T5-like SentencePiece model, trained on text that this file writes itself.

No published vocabulary can be downloaded where the tests are made, and a vocabulary of our own is small
enough to commit. It has T5's layout (pad 0, </s> 1, <unk> 2, no <s>, unigram, nmt_nfkc, no byte fallback), so
the normaliser's table inside the file is the genuine one and everything but the pieces is as in t5-base.
"""

import io
import random
from pathlib import Path

import sentencepiece
from transformers import T5Tokenizer

# The vocabulary ends with these in transformers (t5-base has 100); SentencePiece does not know them.
EXTRA_IDS = 4

_MOODS = """warm bright dark gentle dreamy driving mellow tense hopeful lonely playful solemn nostalgic brooding
ethereal energetic soothing haunting triumphant groovy smoky lo-fi cinematic minimal lush raw airy gritty""".split()
_GENRES = """jazz rock pop techno house ambient folk blues reggae funk soul disco metal punk trance dubstep baroque
waltz tango bossa-nova samba flamenco hip-hop drum-and-bass trip-hop country gospel ska swing klezmer fado
synthwave chiptune orchestral opera""".split()
_SOUNDS = """piano guitar violin cello flute clarinet oboe trumpet trombone saxophone harpsichord organ synthesizer
bassline drums percussion handclaps strings choir vocals whistle accordion banjo mandolin marimba vibraphone
xylophone tabla sitar kalimba harp timpani cymbals hi-hats snare kick sub-bass arpeggios pads chords melody""".split()
_PLACES = ["a café in Paris", "a beach at sunset", "an empty cathedral", "the señorita's garden", "a rainy street",
           "the über-cool club", "a déjà vu", "Señor Núñez's bar", "the old naïve cinema", "a spaceship", "the forest",
           "a 1980s arcade", "Köln", "a train at night", "Saint-Rémy", "the kitchen", "a façade in São Paulo"]
_FORMS = [
    "A {mood} {genre} track with {sound} and {sound2}.",
    "{mood}, {mood2} {genre}; {sound}, {sound2} & {sound3}",
    "{bpm} bpm {genre} song in {key}, with a {mood} {sound} solo",
    "An {mood} piece for {sound} and {sound2} (like {place})",
    "{genre} meets {genre2}: {mood} {sound}, no vocals!",
    "Slow {sound} over {mood} {sound2}, recorded in {place}",
    "Why is the {sound} so {mood}? Because it's {genre}.",
    "\"{genre}\" - {bpm} BPM / {key} / {mood} / 4/4 time",
    "{decade}s {genre} with {mood} {sound} and heavy {sound2}",
    "It starts with {sound}, then the {sound2} comes in, and finally {sound3} takes over the whole {genre} piece",
    "fast and {mood} {genre} for running, cooking, studying and sleeping in {place}",
]
_KEYS = [f"{note}{kind}" for note in "C C# D Eb E F F# G Ab A Bb B".split() for kind in (" major", " minor", "m7")]


def corpus(lines: int = 6000, seed: int = 20) -> list[str]:
    """Prompts as people write them; repeatable, as random.Random is the same in every Python 3."""
    rng = random.Random(seed)
    out = []
    for _ in range(lines):
        text = rng.choice(_FORMS).format(
            mood=rng.choice(_MOODS), mood2=rng.choice(_MOODS), genre=rng.choice(_GENRES), genre2=rng.choice(_GENRES),
            sound=rng.choice(_SOUNDS), sound2=rng.choice(_SOUNDS), sound3=rng.choice(_SOUNDS),
            place=rng.choice(_PLACES), bpm=rng.randrange(60, 200), key=rng.choice(_KEYS),
            decade=rng.randrange(195, 203) * 10)
        out.append(text.upper() if rng.random() < 0.03 else text)
    return out


def train(path: Path, pieces: int, plain: bool = False) -> None:
    """Writes a SentencePiece model of `pieces` pieces, byte for byte the same in every run. A plain one does not
    normalise: 5 kB instead of 245, but transformers, which does, then gives other ids for tabs and odd spaces."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, model_type="unigram", vocab_size=pieces,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>", eos_piece="</s>", unk_piece="<unk>",
        normalization_rule_name="identity" if plain else "nmt_nfkc", byte_fallback=False, character_coverage=1.0,
        # One thread, no shuffling: sums in another order give other scores, and then other files.
        num_threads=1, shuffle_input_sentence=False, minloglevel=2)
    path.write_bytes(model.getvalue())


def load_tokenizer(folder: Path) -> T5Tokenizer:
    """The tokenizer that transformers makes of folder/spiece.model.

    transformers 5 reads spiece.model only in from_pretrained; given as T5Tokenizer(vocab_file=...) it is silently
    ignored and every word becomes <unk>.
    """
    return T5Tokenizer.from_pretrained(folder, extra_ids=EXTRA_IDS)
