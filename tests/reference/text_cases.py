"""Goldens of the tokenizer and of the T5 encoder."""

from pathlib import Path

import numpy as np
import sentencepiece
import torch
from transformers import MusicgenForConditionalGeneration, T5Tokenizer

import texts


def token_cases(tokenizer: T5Tokenizer, spiece: Path) -> list[dict]:
    """Ids with the final </s>. transformers is the truth, except for typed special tokens."""
    plain = sentencepiece.SentencePieceProcessor(model_file=str(spiece))
    cases = []
    for name, text in texts.PLAIN:
        ids, ours = tokenizer(text).input_ids, plain.encode(text) + [1]
        case = {"name": name, "text": text, "ids": ids, "from": "transformers"}
        if ids != ours:
            case |= {"sentencepiece_ids": ours, "note": "transformers and SentencePiece differ here"}
            print(f"  tokens of {name!r} differ:\n    transformers  {ids}\n    sentencepiece {ours}")
        cases.append(case)
    for name, text in texts.TYPED_SPECIAL:
        case = {"name": name, "text": text, "ids": plain.encode(text) + [1], "from": "sentencepiece",
                "transformers_ids": tokenizer(text).input_ids}
        assert case["ids"] != case["transformers_ids"], name
        cases.append(case)
    return cases


def hidden_cases(model: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, out: Path) -> list[dict]:
    """T5's last hidden state, before enc_to_dec_proj: [tokens, d]."""
    cases = []
    for name, text in (("short", texts.SHORT), ("medium", texts.MEDIUM), ("long", texts.LONG)):
        inputs = tokenizer(text, return_tensors="pt")
        hidden = model.text_encoder(**inputs).last_hidden_state[0]
        file = f"hidden_{name}.npy"
        np.save(out / file, hidden.numpy())
        cases.append({"name": name, "text": text, "ids": inputs.input_ids[0].tolist(), "hidden": file,
                      "shape": list(hidden.shape), "rms": round(hidden.square().mean().sqrt().item(), 3)})
    assert cases[-1]["shape"][0] > 150
    return cases
