"""Goldens of the decoder: logits by teacher forcing, and greedy codes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import MusicgenForConditionalGeneration, T5Tokenizer

import texts

FRAMES = 24
_MIN_GAP = 1e-3


def delays(model: MusicgenForConditionalGeneration) -> list[int]:
    """By how many steps each codebook is late: 0 1 2 3, in stereo 0 0 1 1 2 2 3 3."""
    decoder = model.config.decoder
    return [k // decoder.audio_channels for k in range(decoder.num_codebooks)]


def delayed(codes: torch.Tensor, late: list[int], special: int) -> torch.Tensor:
    """[codebooks, frames] -> [codebooks, 1 + frames + the largest delay]: a start column, then each codebook late."""
    codebooks, frames = codes.shape
    out = torch.full((codebooks, 1 + frames + max(late)), special)
    for k in range(codebooks):
        out[k, 1 + late[k] : 1 + late[k] + frames] = codes[k]
    return out


def null_inputs(model: MusicgenForConditionalGeneration) -> dict:
    """transformers' null condition: hidden states of zero and a mask of zero."""
    return {"encoder_outputs": (torch.zeros(1, 1, model.config.text_encoder.hidden_size),),
            "attention_mask": torch.zeros(1, 1, dtype=torch.long)}


def logits_cases(model: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, out: Path, seed: int) -> list[dict]:
    vocab = model.config.decoder.vocab_size
    generator = torch.Generator().manual_seed(seed)
    late = delays(model)
    ids = delayed(torch.randint(vocab, (len(late), 36), generator=generator), late, vocab)
    np.save(out / "logits_input.npy", ids.numpy())
    cases = []
    for name, text in (("conditional", texts.MEDIUM), ("null", None)):
        condition = null_inputs(model) if text is None else tokenizer(text, return_tensors="pt")
        logits = model(**condition, decoder_input_ids=ids).logits
        assert torch.isfinite(logits).all()
        np.save(out / f"logits_{name}.npy", logits.numpy())
        cases.append({"name": name, "text": text, "input_ids": "logits_input.npy", "logits": f"logits_{name}.npy",
                      "shape": list(logits.shape), "std": round(logits.std().item(), 3)})
    apart = (torch.from_numpy(np.load(out / "logits_conditional.npy")) - logits).square().mean().sqrt().item()
    assert apart > 0.1, "the prompt is not heard"
    return cases


@dataclass
class Greedy:
    codes: torch.Tensor  # [prompts, codebooks, frames], those of an audio prompt included
    min_gap: float  # the closest call of all arg-maxes that reached the codes
    audio: torch.Tensor  # [prompts, channels, samples]


def greedy(model: MusicgenForConditionalGeneration, inputs: dict, guidance: float, frames: int = FRAMES,
           prompt_frames: int = 0) -> Greedy:
    """generate() returns audio only; the codes are taken where it hands them to the codec. `frames` is the length in
    all, prompt_frames that of the audio prompt in inputs["input_values"]."""
    taken: list[torch.Tensor] = []
    late = delays(model)
    decode = model.audio_encoder.decode

    def spy(codes: torch.Tensor, *args, **kwargs):
        taken.append(codes[0].clone())
        return decode(codes, *args, **kwargs)

    model.audio_encoder.decode = spy
    try:
        result = model.generate(**inputs, do_sample=False, guidance_scale=guidance,
                                max_new_tokens=frames - prompt_frames + max(late), return_dict_in_generate=True, output_scores=True)
    finally:
        del model.audio_encoder.decode  # the class's own shows again
    # In stereo the codec is called for the left channel (codebooks 0, 2, ...) and then for the right one (1, 3, ...).
    codes = torch.stack(taken, dim=2).flatten(1, 2)
    assert codes.shape[1:] == (len(late), frames), codes.shape

    gaps = []
    for step, scores in enumerate(result.scores):  # after guidance: [prompts * codebooks, vocab]
        top = scores.view(-1, len(late), scores.shape[-1]).topk(2).values
        for k, delay in enumerate(late):
            # Elsewhere the pattern's special id, or a code of the prompt, replaces what was chosen.
            if prompt_frames <= prompt_frames + step - delay < frames:
                gaps.append((top[:, k, 0] - top[:, k, 1]).min().item())
    return Greedy(codes, min(gaps), result.sequences)


def lively(codes: torch.Tensor) -> bool:
    """No short loop and no constant: most frames differ from every other, in each codebook several values."""
    frames = codes.shape[-1]
    return (len({tuple(column) for column in codes.T.tolist()}) >= 0.75 * frames
            and all(len(row.unique()) >= frames // 5 for row in codes))


class Unusable(Exception):
    """Another seed has to be tried."""


def check_usable(name: str, result: Greedy) -> None:
    if result.min_gap <= _MIN_GAP:
        raise Unusable(f"{name}: two logits are {result.min_gap:.1e} apart")
    if not all(lively(codes) for codes in result.codes):
        raise Unusable(f"{name}: the codes repeat")


def _greedy_case(name: str, given: list[str | None], guidance: float, result: Greedy, out: Path) -> dict:
    check_usable(name, result)
    codes = result.codes if len(given) > 1 else result.codes[0]
    np.save(out / f"greedy_{name}.npy", codes.numpy())
    return {"name": name, "prompts": given, "guidance": guidance, "frames": result.codes.shape[-1],
            "codes": f"greedy_{name}.npy", "shape": list(codes.shape), "min_gap": round(result.min_gap, 5)}


def few_greedy_cases(model: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, out: Path) -> list[dict]:
    prompted = greedy(model, dict(tokenizer(texts.MEDIUM, return_tensors="pt")), 3.0)
    return [_greedy_case("medium_g3", [texts.MEDIUM], 3.0, prompted, out),
            _greedy_case("unconditional", [None], 1.0, greedy(model, null_inputs(model), 1.0), out)]


def greedy_cases(model: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, out: Path) -> list[dict]:
    prompts = {"short": texts.SHORT, "medium": texts.MEDIUM, "long": texts.LONG}
    cases: list[dict] = []

    def add(name: str, given: list[str | None], guidance: float, result: Greedy) -> None:
        cases.append(_greedy_case(name, given, guidance, result, out))

    for guidance in (3.0, 1.0):
        alone = []
        for name, text in prompts.items():
            result = greedy(model, dict(tokenizer(text, return_tensors="pt")), guidance)
            add(f"{name}_g{guidance:g}", [text], guidance, result)
            alone.append(result.codes[0])
        if (alone[0] == alone[1]).float().mean() > 0.5:
            raise Unusable("the prompts make no difference")
        # The mask is given explicitly: left out, generate() makes one from the decoder's special id, which no
        # padding has, and a short prompt beside a long one then attends to its own padding.
        batch = greedy(model, dict(tokenizer(list(prompts.values()), return_tensors="pt", padding=True)), guidance)
        if not torch.equal(batch.codes, torch.stack(alone)):
            raise Unusable(f"guidance {guidance}: the batch differs from its prompts alone")
        add(f"batch_g{guidance:g}", list(prompts.values()), guidance, batch)
    add("unconditional", [None], 1.0, greedy(model, null_inputs(model), 1.0))
    return cases
