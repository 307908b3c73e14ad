"""Goldens of the melody model: the rows before the codes, logits, greedy codes."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import MusicgenMelodyFeatureExtractor, MusicgenMelodyForConditionalGeneration, T5Tokenizer

import checkpoint
import chroma_cases
import codec_cases
import manifest
import music_cases
import spiece
import texts
from shapes import Shape
from weights import random_model

_NOTES = [
    "All .npy files are C order, float32 or int64.",
    "chroma: the audio is a sum of notes, one list a channel: amplitude * sin(pi (n + 0.5) / samples) * sin(2 pi hz n / "
    "sampling_rate) from `start` on, n = 0 .. samples - 1. levels [frames, 12] is the chroma relative to each frame's "
    "loudest class (0 where it is silent), classes its arg-max. At 32 kHz, other rates resampled first, cut after 30 s.",
    "prefix: [2, rows, d], the rows before the codes, of the conditional and of guidance's null pass: chroma_length chroma "
    "rows, then the text's. Without melody every chroma row is class 0, without text there is one zero row; the null pass "
    "has class 0 and as many zero rows as the text. Nothing is masked; positions count from the first row of the prefix.",
    "logits, greedy: as in the other models' golden.json, `melody` naming the chroma case or null. Logits are of the codes' "
    "steps only. encode, decode: as in the other models' encode.json and golden.json.",
]


def model_inputs(tokenizer: T5Tokenizer, text: str | None, chroma: torch.Tensor | None) -> dict:
    inputs = dict(tokenizer(text or "", return_tensors="pt"))
    if text is None:  # transformers' unconditional input: the empty prompt with a mask of zero
        inputs["attention_mask"] = torch.zeros_like(inputs["attention_mask"])
    return inputs if chroma is None else inputs | {"input_features": chroma}


def prefix(model: MusicgenMelodyForConditionalGeneration, inputs: dict) -> torch.Tensor:
    """[2, rows, d] as generate() makes it with guidance."""
    seen: list[torch.Tensor] = []
    decode = model.decoder.forward

    def spy(*args, **kwargs):
        seen.append(kwargs["encoder_hidden_states"])
        return decode(*args, **kwargs)

    model.decoder.forward = spy
    try:
        model.generate(**inputs, do_sample=False, guidance_scale=3.0, max_new_tokens=8)
    finally:
        del model.decoder.forward
    assert seen[1] is None  # later steps have it in the cache
    return seen[0]


def _by_hand(model: MusicgenMelodyForConditionalGeneration, rows: torch.Tensor, guidance: float,
             frames: int) -> torch.Tensor:
    """Greedy codes without generate() and without a cache; rows as of prefix(). transformers once forgot the prefix."""
    special, late = model.config.decoder.vocab_size, music_cases.delays(model)
    codes = torch.full((len(late), frames), -1)
    for column in range(1, 1 + frames + max(late)):
        ids = music_cases.delayed(codes, late, special)[:, :column]
        given, null = (model.decoder(input_ids=ids, encoder_hidden_states=row[None]).logits[:, -1] for row in rows)
        logits = null + guidance * (given - null)
        for k, delay in enumerate(late):
            if 0 <= column - 1 - delay < frames:
                codes[k, column - 1 - delay] = logits[k].argmax()
    return codes


def make(shape: Shape, seed: int, out: Path) -> dict:
    """One attempt; raises music_cases.Unusable."""
    built = random_model(shape, seed)
    with tempfile.TemporaryDirectory() as scratch:
        pieces = Path(scratch) / "spiece.model"
        spiece.train(pieces, shape.pieces, shape.plain_text)
        checkpoint.save(built, shape, out / "model", pieces)
    MusicgenMelodyFeatureExtractor().save_pretrained(out / "model")
    model, tokenizer = checkpoint.load(out / "model", MusicgenMelodyForConditionalGeneration)
    checkpoint.assert_same(built, model)
    extractor = MusicgenMelodyFeatureExtractor.from_pretrained(out / "model")

    stereo = shape.channels == 2
    chroma = chroma_cases.chroma_cases(extractor, out, ("plain", "silent_end") if stereo else ())
    heard = {case["name"]: torch.nn.functional.one_hot(torch.tensor(case["classes"]), 12).float()[None] for case in chroma}
    melodies = {"plain": heard["plain"], "silent_end": heard["silent_end"]}
    assert heard["plain"].shape[1] < shape.chroma_length < heard["silent_end"].shape[1]  # repeated, and cut

    def save(file: str, tensor: torch.Tensor) -> str:
        np.save(out / file, tensor.numpy())
        return file

    prefixes, logits, greedy = [], [], []
    late, vocab = music_cases.delays(model), model.config.decoder.vocab_size
    generator = torch.Generator().manual_seed(seed)
    ids = music_cases.delayed(torch.randint(vocab, (len(late), 20), generator=generator), late, vocab)
    save("logits_input.npy", ids)
    results = {}
    for name, text, melody, guidance in (
            ("melody_g3", texts.MEDIUM, "plain", 3.0), ("cut_g1", texts.SHORT, "silent_end", 1.0),
            ("text_g3", texts.MEDIUM, None, 3.0), ("melody_only_g3", None, "plain", 3.0),
            ("unconditional", None, None, 1.0)):
        if stereo and name not in ("melody_g3", "text_g3"):
            continue
        inputs = model_inputs(tokenizer, text, melodies.get(melody))
        rows = prefix(model, inputs)
        result = music_cases.greedy(model, inputs, guidance)
        music_cases.check_usable(name, result)
        assert torch.equal(result.codes[0], _by_hand(model, rows, guidance, music_cases.FRAMES)), name
        results[name] = result.codes[0]
        case = {"name": name, "text": text, "melody": melody}
        prefixes.append(case | {"prefix": save(f"prefix_{name}.npy", rows), "shape": list(rows.shape)})
        greedy.append(case | {"guidance": guidance, "frames": music_cases.FRAMES, "min_gap": round(result.min_gap, 5),
                              "codes": save(f"greedy_{name}.npy", result.codes[0])})
        if name == "melody_g3":
            scores = model(**inputs, decoder_input_ids=ids).logits[:, -ids.shape[1] :]
            logits.append(case | {"input_ids": "logits_input.npy", "logits": save(f"logits_{name}.npy", scores),
                                  "shape": list(scores.shape), "std": round(scores.std().item(), 3)})
    for other in results.keys() & {"text_g3", "melody_only_g3"}:
        if (results["melody_g3"] == results[other]).float().mean() > 0.5:
            raise music_cases.Unusable("melody or text make little difference")

    codec = {} if stereo else {
        "encode": codec_cases.encode_cases(model.audio_encoder, out, only=("partial", "short")),
        "decode": codec_cases.decode_cases(model.audio_encoder, out, seed, lengths=(5, 1))}
    manifest.write(out / "golden.json", {
        "model": shape.name, "seed": seed, "made_with": manifest.made_with(), "folder": "model", "special_id": vocab,
        "delays": late, "chroma_length": shape.chroma_length, "notes": _NOTES, "chroma": chroma, "prefix": prefixes,
        "logits": logits, "greedy": greedy} | codec)
    return {"seed": seed, "logits std": logits[0]["std"], "min gap": min(case["min_gap"] for case in greedy),
            "kB": checkpoint.kilobytes(out)}
