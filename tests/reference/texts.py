"""The prompts of the goldens."""

import random

from spiece import corpus

SHORT = "warm jazz piano"
MEDIUM = "80s pop track with bassy drums, a gritty synthesizer and a café choir"
# Over 150 tokens, so that every relative-position bucket of T5 is met (the last begins at a distance of 91).
LONG = ("A slow and smoky tango for accordion, violin and bandoneon. It starts with a lonely whistle in an empty "
        "cathedral; then the drums come in, 124 bpm, and the strings take over the whole melody. After 30 seconds the "
        "choir answers the trumpet, the bassline walks down from Bb minor to F# major, and the saxophone plays a "
        "mellow solo over brooding pads. Towards the end everything slows down: harp, xylophone, vibraphone and a "
        "distant train at night, until only the rain on a tin roof remains, soft, warm and very, very quiet.")


def very_long(words: int = 400) -> str:
    """Several hundred words: continuo must not cut a prompt at 512 tokens, nor anywhere else."""
    rng = random.Random(7)
    lines = corpus(seed=8)
    text: list[str] = []
    while len(text) < words:
        text += rng.choice(lines).split()
    return " ".join(text[:words])


# (name, text), tokenised by transformers
PLAIN = [
    ("ascii", SHORT),
    ("accents", "Café déjà vu, Señor Núñez über São Paulo, façade naïve"),
    ("accent_as_combining_mark", "Cafe\u0301 sen\u0303or"),
    ("empty", ""),
    ("only_spaces", "   "),
    ("emoji", "happy \U0001F3B5 music \U0001F600"),
    ("chinese", "\u4e2d\u56fd\u97f3\u4e50 with piano"),
    ("very_long", very_long()),
    ("spaces", "  slow   dark  techno   "),
    ("tabs_and_newlines", "slow\tdark\n\ntechno\r\nbeat\n"),
    ("other_spaces", "slow\u00a0dark\u3000techno\u2009beat"),
    ("punctuation", "Wow!!! (really?) - \"yes\"; it's 4/4: a & b, c... #1 @home {x} [y] ~ ^ % $ \u2014 \u2026 \u201cq\u201d"),
    ("digits", "120 bpm in 1985, 44100 Hz, 3.14 and 007"),
    ("unknown_alone", "\u3042"),
    ("unknown_run", "piano \u3042\u3044\u3046\u3048 violin"),
    ("unknown_runs_apart", "\u3042\u3044 \u3046 \u3048\u304a"),
    ("unknown_inside_word", "pi\u3042\u3044ano"),
    ("uppercase", "HEAVY METAL WITH LOUD GUITARS"),
    ("full_width_and_ligatures", "\uff4a\uff41\uff5a\uff5a \ufb01ne \u2460 \u00bd \u2122"),
    ("zero_width_and_soft_hyphen", "soft\u00adly zero\u200bwidth \ufeffmark"),
    ("control_characters", "bell\u0007 and \u007f delete"),
    ("meta_symbol", "a\u2581b \u2581 c"),
]

# transformers takes these strings for special tokens wherever they stand. A prompt is text: SentencePiece is right.
TYPED_SPECIAL = [
    ("typed_end", "jazz </s> rock"),
    ("typed_extra_id", "<extra_id_0> jazz"),
    ("typed_pad_and_unk", "<pad> and <unk> in a song"),
]
