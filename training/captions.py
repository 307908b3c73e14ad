"""Captions for composed songs, in the manner of the prompts people type, with varied wording.

Tempo: the number in a caption is the song's bpm or any whole number for which the song's tempo is the
nearest on the grid, so that "120 bpm" means something although 120 is not on the grid.
"""

from __future__ import annotations

import random

from .composer import TEMPI, Song

STYLE_WORDS = {
    "lofi": ("lo-fi hip hop", "lofi hip hop", "lo-fi", "lofi", "chillhop", "lo-fi study", "lofi chill"),
    "house": ("house", "deep house", "dance", "electronic dance", "club", "edm", "techno house", "disco house"),
    "rock": ("rock", "indie rock", "pop rock", "classic rock", "hard rock", "90s rock", "punk rock"),
    "waltz": ("waltz", "classical waltz", "ballroom waltz", "folk waltz", "3/4 waltz", "waltz in three"),
    "ambient": ("ambient", "ambient soundscape", "new age", "meditation", "atmospheric ambient", "cinematic ambient"),
    "chiptune": ("chiptune", "8-bit", "8 bit video game", "retro game", "video game", "arcade", "nes style"),
    "bossa": ("bossa nova", "bossa", "latin jazz", "brazilian bossa nova", "samba", "jazz bossa"),
}
NOUNS = ("track", "song", "tune", "piece", "music", "groove", "loop", "instrumental")
BEAT_NOUNS = ("beat", "groove", "track", "song", "music", "tune")
MOODS = {
    ("lofi", True): ("chill", "mellow", "relaxed", "laid-back", "warm", "cozy"),
    ("lofi", False): ("melancholic", "chill", "nostalgic", "mellow", "rainy", "sad"),
    ("house", True): ("uplifting", "happy", "energetic", "feel-good", "upbeat"),
    ("house", False): ("dark", "driving", "hypnotic", "energetic", "groovy", "upbeat"),
    ("rock", True): ("energetic", "upbeat", "bright", "powerful", "anthemic"),
    ("rock", False): ("dark", "heavy", "powerful", "aggressive", "driving"),
    ("waltz", True): ("elegant", "graceful", "happy", "romantic", "charming"),
    ("waltz", False): ("sad", "romantic", "melancholic", "elegant", "wistful"),
    ("ambient", True): ("calm", "peaceful", "dreamy", "soothing", "floating"),
    ("ambient", False): ("dark", "mysterious", "calm", "dreamy", "melancholic"),
    ("chiptune", True): ("happy", "playful", "cheerful", "upbeat", "fun"),
    ("chiptune", False): ("tense", "adventurous", "energetic", "dark", "playful"),
    ("bossa", True): ("sunny", "relaxed", "smooth", "warm", "romantic"),
    ("bossa", False): ("smooth", "melancholic", "relaxed", "romantic", "jazzy"),
}
CHORD_WORDS = {
    "electric_piano": ("electric piano", "mellow electric piano", "rhodes", "electric piano chords", "soft keys"),
    "piano": ("piano chords", "piano", "house piano", "warm piano chords"),
    "pad": ("synth pad", "warm pads", "pads", "lush synth pads"),
    "strings": ("strings", "string ensemble", "lush strings", "orchestral strings"),
    "nylon_guitar": ("acoustic guitar", "nylon guitar", "soft acoustic guitar", "classical guitar"),
    "overdriven_guitar": ("distorted guitars", "power chords", "crunchy electric guitars", "loud guitars"),
    "square": ("square wave arpeggios", "8-bit arpeggio", "chip arpeggios", "bleepy arpeggios"),
}
LEAD_WORDS = {
    "piano": ("a piano melody", "a piano lead", "piano melody", "a gentle piano melody"),
    "flute": ("a flute melody", "flute", "a flute lead", "an airy flute"),
    "overdriven_guitar": ("an electric guitar melody", "a guitar lead", "lead guitar", "an electric guitar solo"),
    "saw": ("a synth lead", "synth melody", "a bright synth lead", "a synthesizer melody"),
    "violin": ("a violin melody", "violin", "a violin lead", "an expressive violin"),
}
DRUM_WORDS = {
    "lofi": ("soft drums", "dusty drums", "drums", "a laid-back drum beat", "boom bap drums"),
    "house": ("four on the floor drums", "a four-on-the-floor kick", "drums", "claps and hi-hats", "an 808 beat"),
    "rock": ("loud drums", "heavy drums", "drums", "a rock drum beat", "drum kit"),
    "waltz": ("light drums", "soft percussion", "drums", "brushed drums"),
    "ambient": ("soft percussion", "light shaker", "gentle drums", "sparse drums"),
    "chiptune": ("electronic drums", "8-bit drums", "drums", "a drum machine"),
    "bossa": ("light percussion", "soft drums", "drums", "shaker and rim clicks", "brazilian percussion"),
}
BASS_WORDS = {
    "finger_bass": ("electric bass", "bass guitar", "bass", "a deep bass"),
    "synth_bass": ("synth bass", "a deep synth bass", "bass", "bassline"),
    "upright_bass": ("upright bass", "double bass", "bass", "acoustic bass"),
}
TEMPO_WORDS = (  # up to this many bpm
    (80, ("slow", "slow tempo", "slow paced", "downtempo")),
    (112, ("medium tempo", "mid-tempo", "moderate tempo", "walking pace")),
    (200, ("fast", "fast tempo", "upbeat tempo", "quick", "high tempo")),
)


def nearest_tempo(bpm: float) -> int:
    """The grid tempo (frames a beat) nearest to `bpm`."""
    return min(TEMPI, key=lambda frames: abs(3000 / frames - bpm))


_NUMBERS = {f: [n for n in range(56, 166) if nearest_tempo(n) == f] for f in TEMPI}


def _list(rng: random.Random, items: list[str]) -> str:
    rng.shuffle(items)
    if len(items) < 2 or rng.random() < 0.3:
        return ", ".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def caption(song: Song, rng: random.Random, full: bool = False) -> str:
    """One caption of `song`; `full` always names the instruments and the bpm."""
    name = song.style.name
    style, noun = rng.choice(STYLE_WORDS[name]), rng.choice(BEAT_NOUNS if song.drums else NOUNS)
    mood = rng.choice(MOODS[name, song.major])
    number = rng.choice(_NUMBERS[song.frames]) if rng.random() < 0.45 else round(song.bpm)
    bpm = rng.choice((f"{number} bpm", f"{number} bpm", f"{number} BPM", f"at {number} bpm", f"bpm {number}"))
    word = rng.choice(next(words for limit, words in TEMPO_WORDS if song.bpm <= limit))
    parts = [rng.choice(CHORD_WORDS[song.chord])]
    if song.drums:
        parts.append(rng.choice(DRUM_WORDS[name]))
    if song.bass:
        parts.append(rng.choice(BASS_WORDS[song.style.bass]))
    if song.lead:
        parts.append(rng.choice(LEAD_WORDS[song.lead]))
    draw = rng.random()
    if full or draw < 0.45:
        if not full and rng.random() < 0.5:
            parts = rng.sample(parts, rng.randint(1, len(parts)))
            if not song.drums and rng.random() < 0.5:
                parts.append("no drums")
        head = f"{mood} {style} {noun}" if rng.random() < 0.8 else f"{style} {noun}"
        if rng.random() < 0.6:
            head = ("an " if head[0] in "aeiou8" else "a ") + head if noun != "music" else head
        tempo = f"{word}, {bpm}" if rng.random() < 0.5 else bpm
        text = f"{head} with {_list(rng, parts)}, {tempo}"
    elif draw < 0.65:  # a list of tags
        tags = [style, mood, *rng.sample(parts, rng.randint(1, len(parts)))]
        if rng.random() < 0.7:
            tags.append(bpm)
        if rng.random() < 0.4:
            tags.append(word)
        rng.shuffle(tags)
        text = ", ".join(tags)
    elif draw < 0.75:
        text = f"{mood} {style}" if rng.random() < 0.6 else style
    elif draw < 0.87:
        text = f"{mood} {style} {noun}, {bpm}" if rng.random() < 0.6 else f"{style} {bpm}"
    elif draw < 0.95 and song.lead:
        text = f"{style} {noun} with {rng.choice(LEAD_WORDS[song.lead])}" + (f", {bpm}" if rng.random() < 0.6 else "")
    else:
        text = f"{word} {style} {noun}" + (f" with {parts[-1]}" if rng.random() < 0.5 else "")
    draw = rng.random()
    return text.capitalize() if draw < 0.15 else text + "." if draw < 0.2 else text
