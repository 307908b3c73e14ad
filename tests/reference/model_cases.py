"""A tiny model as a folder, and all that transformers computes with it: golden.json, encode.json, continue.json."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import MusicgenForConditionalGeneration

import checkpoint
import codec_cases
import continue_cases
import manifest
import music_cases
import spiece
import text_cases
import texts
from shapes import Shape
from weights import chord_audio, random_model

_NOTES = {
    "files": "All .npy files are C order, float32 or int64. null means no prompt: hidden states and mask of zero.",
    "tokens": "tokens: ids with the final </s>; from names the truth: transformers, or for typed special tokens "
              "sentencepiece.",
    "hidden": "hidden: T5's last hidden state before enc_to_dec_proj, [tokens, d].",
    "logits": "logits: teacher forcing without guidance; input_ids [codebooks, steps] are delayed, special_id at both "
              "ends; logits [codebooks, steps, vocab], those at step t follow ids 0..t.",
    "greedy": "greedy: argmax after guidance, un-delayed [codebooks, frames]; several prompts: [prompts, codebooks, "
              "frames], padding masked, each equal to its prompt alone; min_gap: the least distance of the two best "
              "logits.",
    "end": "greedy, the end: a codebook that has all its frames is fed special_id while the later ones finish, so codes "
           "(2, N-1), (3, N-2), (3, N-1) of N frames are not those of a longer run.",
    "decode": "decode: codes [codebooks, frames] -> audio [frames * hop]. Reflection of an input no longer than the "
              "padding: padding - length + 1 zeros are put after it, it is reflected, as many samples are cut off at the "
              "end.",
    "stereo": "stereo: codebooks 0, 2, 4, 6 are the left channel, 1, 3, 5, 7 the right one; both of a pair are equally "
              "late, and each channel goes through the mono codec alone. Audio is [2, samples].",
    "encode": "encode: audio [samples] -> latents [width, frames], the encoder's output -> codes [codebooks, frames], "
              "frames = ceil(samples / hop). In stereo audio [2, samples], latents [2, width, frames], codes of left and "
              "right by turns. min_margin: the least (second distance - best) / second of all choices.",
    "continue": "continue: audio_prompt (of whole frames) and its codes, as in encode.json, then greedy codes to `frames` "
                "in all; codes [codebooks, frames] begin with prompt_codes. Column 1 + prompt_frames is the first "
                "computed; in the columns after it the late codebooks are still the prompt's, for both rows of guidance.",
    "continue_audio": "continue, audio: the end of the decoded whole, from sample prompt_frames * hop on: [samples], in "
                      "stereo [2, samples]. The new codes decoded alone would begin otherwise.",
}


def activations(model: MusicgenForConditionalGeneration, inputs: dict) -> dict[str, float]:
    """rms after each part's layers (the smallest and the largest), for the summary."""
    seen: dict[str, list[float]] = {}

    def watch(part: str) -> Callable[..., None]:
        def hook(_module: torch.nn.Module, _inputs: tuple, output) -> None:
            tensor = output[0] if isinstance(output, tuple) else output
            seen.setdefault(part, []).append(tensor.square().mean().sqrt().item())
        return hook

    hooks = [layer.register_forward_hook(watch(part)) for part, layers in (
        ("t5", model.text_encoder.encoder.block), ("decoder", model.decoder.model.decoder.layers),
        ("codec decoder", model.audio_encoder.decoder.layers[:-1]), ("codec encoder", model.audio_encoder.encoder.layers)
    ) for layer in layers]
    codec = model.audio_encoder
    generator = torch.Generator().manual_seed(1)
    codes = torch.randint(codec.config.codebook_size, (model.decoder.num_codebooks, 40), generator=generator)
    model(**inputs, decoder_input_ids=codes)
    codec.decode(codes[None, None, :4], [None])
    audio = chord_audio(40 * codec.config.hop_length, codec.config.sampling_rate, seed=2)
    distinct = [len(row.unique()) for row in codec.encode(audio).audio_codes[0, 0]]
    for hook in hooks:
        hook.remove()
    table = {part: f"{min(values):.2f}..{max(values):.2f}" for part, values in seen.items()}
    return table | {"codes of 40 frames": "/".join(map(str, distinct))}


def make(shape: Shape, seed: int, out: Path) -> dict:
    """One attempt with one seed; raises music_cases.Unusable when greedy choices are too close to call."""
    with tempfile.TemporaryDirectory() as scratch:
        pieces = Path(scratch) / "spiece.model"
        spiece.train(pieces, shape.pieces, shape.plain_text)
        built = random_model(shape, seed)
        checkpoint.save(built, shape, out / "model", pieces)
    # The goldens come from the files as they lie there, not from the model that wrote them.
    model, tokenizer = checkpoint.load(out / "model")
    checkpoint.assert_same(built, model)

    def write(file: str, notes: list[str], cases: dict) -> None:
        head = {"model": shape.name, "seed": seed, "made_with": manifest.made_with(), "folder": "model"}
        special = {"special_id": shape.decoder["vocab_size"]} if "logits" in cases else {}
        manifest.write(out / file, head | special | {"notes": [_NOTES[note] for note in notes]} | cases)

    stereo = shape.channels == 2
    music = {
        "logits": music_cases.logits_cases(model, tokenizer, out, seed),
        "greedy": (music_cases.few_greedy_cases if stereo else music_cases.greedy_cases)(model, tokenizer, out),
        "decode": codec_cases.decode_cases(model.audio_encoder, out, seed, shape.channels)}
    if stereo:
        write("golden.json", ["files", "logits", "greedy", "decode", "stereo"],
              {"delays": music_cases.delays(model)} | music)
    else:
        text = {"tokens": text_cases.token_cases(tokenizer, out / "model" / "spiece.model"),
                "hidden": text_cases.hidden_cases(model, tokenizer, out)}
        write("golden.json", ["files", "tokens", "hidden", "logits", "greedy", "end", "decode"], text | music)
    encoded = codec_cases.encode_cases(model.audio_encoder, out, shape.channels)
    write("encode.json", ["files", "encode"], {"encode": encoded})
    if shape.continued:
        write("continue.json", ["files", "continue", "continue_audio"],
              {"continue": continue_cases.continue_cases(model, tokenizer, out, encoded)})

    return {"seed": seed, **activations(model, dict(tokenizer(texts.MEDIUM, return_tensors="pt"))),
            "logits std": "/".join(str(case["std"]) for case in music["logits"]),
            "min gap": min(case["min_gap"] for case in music["greedy"]),
            "encode margin": min(case["min_margin"] for case in encoded),
            "audio rms, peak": f"{music['decode'][0]['rms']}, {music['decode'][0]['peak']}",
            "kB": checkpoint.kilobytes(out)}
