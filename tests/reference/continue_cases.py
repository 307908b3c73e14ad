"""Goldens of continuation: an audio prompt, then the codes that follow it.

One request at a time and a prompt of whole frames. transformers pads a batch of unequal prompts on the left with
silence, which is then music like any other; and it returns the prompt's reconstruction before the new part.
"""

import random
from pathlib import Path

import numpy as np
import torch
from transformers import MusicgenForConditionalGeneration, T5Tokenizer

import codec_cases
import music_cases
import spiece
import texts

FRAMES = 28  # in all


def by_hand(model: MusicgenForConditionalGeneration, condition: dict, guidance: float, prompt: torch.Tensor,
            frames: int) -> torch.Tensor:
    """The same without generate() and without a cache, as a proof of how continuation goes: the first column computed is
    1 + prompt frames; the late codebooks of the columns after it are still the prompt's. [codebooks, frames]."""
    special, late = model.config.decoder.vocab_size, music_cases.delays(model)
    codes = torch.full((len(late), frames), -1)
    codes[:, : prompt.shape[1]] = prompt
    null = music_cases.null_inputs(model)
    for column in range(1 + prompt.shape[1], 1 + frames + max(late)):
        seen = music_cases.delayed(codes, late, special)[:, :column]
        assert (seen >= 0).all()
        logits = model(**condition, decoder_input_ids=seen).logits[:, -1]
        if guidance > 1:
            without = model(**null, decoder_input_ids=seen).logits[:, -1]
            logits = without + guidance * (logits - without)
        for k, delay in enumerate(late):
            frame = column - 1 - delay
            if prompt.shape[1] <= frame < frames:
                codes[k, frame] = logits[k].argmax()
    return codes


def continue_cases(model: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, out: Path,
                   encoded: list[dict]) -> list[dict]:
    """`encoded`: the cases of encode.json; the prompt is the one of whole frames."""
    source = next(case for case in encoded if case["name"] == "exact")
    channels = model.config.decoder.audio_channels
    audio = torch.from_numpy(np.load(out / source["audio"])).view(1, channels, -1)
    prompt = torch.from_numpy(np.load(out / source["codes"]))
    kept = prompt.shape[1] * model.audio_encoder.config.hop_length

    def run(name: str, text: str | None, guidance: float) -> dict:
        condition = music_cases.null_inputs(model) if text is None else dict(tokenizer(text, return_tensors="pt"))
        result = music_cases.greedy(model, {**condition, "input_values": audio}, guidance, FRAMES, prompt.shape[1])
        music_cases.check_usable(f"continue {name}", result)
        codes = result.codes[0]
        assert torch.equal(codes[:, : prompt.shape[1]], prompt)
        assert torch.equal(codes, by_hand(model, condition, guidance, prompt, FRAMES)), "continuation is not as described"
        assert torch.equal(result.audio[0], codec_cases.decode(model.audio_encoder, codes, channels))
        np.save(out / f"continue_{name}_codes.npy", codes.numpy())
        new = result.audio[0, :, kept:]
        np.save(out / f"continue_{name}_audio.npy", (new if channels > 1 else new[0]).numpy())
        return {"name": name, "prompt": text, "guidance": guidance, "audio_prompt": source["audio"],
                "prompt_codes": source["codes"], "prompt_frames": prompt.shape[1], "frames": FRAMES,
                "codes": f"continue_{name}_codes.npy", "audio": f"continue_{name}_audio.npy",
                "samples": new.shape[1], "min_gap": round(result.min_gap, 5)}

    lines = [texts.MEDIUM, texts.SHORT] + random.Random(9).sample(spiece.corpus(), 20)
    reasons = []
    for text in lines:
        try:
            return [run("prompted", text, 3.0), run("unconditional", None, 1.0)]
        except music_cases.Unusable as reason:
            reasons.append(str(reason))
    raise music_cases.Unusable("; ".join(reasons))
