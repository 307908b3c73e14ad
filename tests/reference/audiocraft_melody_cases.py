"""Melody models in audiocraft's own files, and models whose conditions are as wide as their decoder: written and run by audiocraft.

transformers gives the same prefix and the same codes on the same tensors, except for conditions as wide as the decoder: there it
has no projection, and such a checkpoint has no twin.
"""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

import audiocraft_cases
import audiocraft_import
import audiocraft_models
import audiocraft_names
import checkpoint
import chroma_cases
import manifest
import melody_cases
import music_cases
import texts
from shapes import (AUDIOCRAFT_EVEN, AUDIOCRAFT_EVEN_MELODY, AUDIOCRAFT_MELODY, AUDIOCRAFT_STEREO_MELODY, Shape)
from weights import random_model

FOLDER = "audiocraft-melody"
_SECONDS = 19  # of the trained window: the least that audiocraft's own defaults accept
_CODEC = Path(audiocraft_cases.FOLDER) / "mono-f16" / "compression_state_dict.bin"

_NOTES = [
    "Language models as audiocraft.utils.export writes them, in half precision; their codec is the compression_state_dict.bin of "
    "codec_folder, and the text encoder text_folder, as in ../audiocraft. The numbers are audiocraft's, computed in float.",
    "chroma, prefix, greedy: as in ../melody/golden.json, at the rate of the codec. Demucs, which would take drums and bass out "
    "of the melody first, is replaced by a separator that finds neither.",
    "melody and stereo-melody: transformers gives the same prefix and codes. even's text and even-melody's chroma are as wide as "
    "the decoder: audiocraft projects them all the same, transformers does not, so they have no twin there.",
]


@dataclass(frozen=True)
class _Model:
    shape: Shape
    exponent: int = 0  # of the samples of a spectrum: 10 at 2 kHz makes spectra as long as 14 at 32 kHz
    cases: tuple = ()  # name, text, chroma case, guidance

    @property
    def projects_always(self) -> bool:
        width = self.shape.decoder["hidden_size"]
        return width == self.shape.text["d_model"] or (self.shape.chroma_length > 0 and width == 12)


_MODELS = (
    _Model(AUDIOCRAFT_MELODY, 10, (("melody_g3", texts.MEDIUM, "plain", 3.0), ("cut_g1", texts.SHORT, "too_long", 1.0),
                                   ("text_g3", texts.MEDIUM, None, 3.0), ("melody_only_g3", None, "plain", 3.0))),
    _Model(AUDIOCRAFT_STEREO_MELODY, 11, (("melody_g3", texts.MEDIUM, "stereo", 3.0), ("text_g3", texts.MEDIUM, None, 3.0))),
    _Model(AUDIOCRAFT_EVEN, 0, (("text_g3", texts.MEDIUM, None, 3.0),)),
    _Model(AUDIOCRAFT_EVEN_MELODY, 10, (("melody_g3", texts.MEDIUM, "plain", 3.0),)))


def _config(twin: PreTrainedModel, exponent: int):
    """audiocraft's, for solver=musicgen/musicgen_melody_32khz where there is a melody."""
    music, _ = audiocraft_models.configs(twin)
    music.merge_with({"dataset": {"segment_duration": _SECONDS}})
    if exponent:
        music.merge_with({
            "classifier_free_guidance": {"training_dropout": 0.2},
            "attribute_dropout": {"args": {"active_on_eval": False}, "text": {}, "wav": {"self_wav": 0.5}},
            "fuser": {"cross": [], "prepend": ["self_wav", "description"]},
            "conditioners": {"self_wav": {"model": "chroma_stem", "chroma_stem": {
                "sample_rate": "${sample_rate}", "n_chroma": 12, "radix2_exp": exponent, "argmax": True,
                "match_len_on_eval": False, "eval_wavs": None, "n_eval_wavs": 100, "cache_path": None}}}})
    return music


def _tensors(twin: PreTrainedModel, seed: int) -> dict[str, torch.Tensor]:
    tensors = audiocraft_names.language_model(twin)
    generator = torch.Generator().manual_seed(seed)
    width = twin.config.decoder.hidden_size
    conditions = {"description": twin.config.text_encoder.d_model}
    if hasattr(twin.config, "num_chroma"):
        conditions["self_wav"] = twin.config.num_chroma
    for name, inputs in conditions.items():
        projection = f"condition_provider.conditioners.{name}.output_proj."
        if projection + "weight" not in tensors:
            gain = inputs**-0.5 if name == "description" else 1.5  # as random_model does
            tensors[projection + "weight"] = gain * torch.randn(width, inputs, generator=generator)
            tensors[projection + "bias"] = 0.3 * torch.randn(width, generator=generator)
    return tensors


def _chroma(music, name: str, seconds: float, channels: int, seed: int) -> tuple[dict, torch.Tensor]:
    """A tune and what audiocraft hears of it, [channels, samples]."""
    rate = music.sample_rate
    extractor = music.lm.condition_provider.conditioners["self_wav"].chroma
    samples = round(seconds * rate)
    for attempt in range(1000 * seed, 1000 * seed + 500):
        notes = [chroma_cases.tune(seconds, rate, 2 * attempt + channel) for channel in range(channels)]
        audio = torch.stack([chroma_cases.play(part, samples, rate) for part in notes])
        extractor.argmax = False
        levels = extractor(audio.mean(0, keepdim=True))[0].sort(dim=-1, descending=True).values  # [frames, 12]
        extractor.argmax = True
        margin = (levels[:, 0] - levels[:, 1]).min().item()
        if margin > chroma_cases.MIN_MARGIN:
            break
    else:
        raise SystemExit(f"chroma {name}: no usable tune")
    hot = extractor(audio.mean(0, keepdim=True))[0]
    return {"name": name, "sampling_rate": rate, "samples": samples, "notes": notes, "frames": len(hot),
            "classes": hot.argmax(-1).tolist(), "min_margin": round(margin, 4)}, audio


@dataclass
class _Result:
    codes: torch.Tensor  # [1, codebooks, frames]
    min_gap: float
    prefix: torch.Tensor | None  # [2, rows, d]: with the conditions, and without


def _generate(music, text: str | None, melody: torch.Tensor | None, guidance: float) -> _Result:
    """As MusicGen.generate_with_chroma; what its networks see is looked at on the way."""
    frames, lm = music_cases.FRAMES, music.lm
    music.set_generation_params(use_sampling=False, cfg_coef=guidance, duration=(frames + 0.5) / music.frame_rate)
    late = lm.pattern_provider.delays
    prefixes, logits = [], []
    fuse, forward = lm.fuser.forward, lm.forward

    def fuser(steps: torch.Tensor, conditions: dict):
        result = fuse(steps.clone(), conditions)
        prefixes.append(result[0][:, : result[0].shape[1] - steps.shape[1]].clone())
        return result

    def language_model(*args, **kwargs):
        result = forward(*args, **kwargs)
        given, null = result[:, :, -1].split(1)
        logits.append((null + guidance * (given - null))[0])  # [codebooks, entries]
        return result

    lm.fuser.forward, lm.forward = fuser, language_model
    try:
        attributes, codes = music._prepare_tokens_and_attributes([text], None, [melody] if melody is not None else None)
        codes = music._generate_tokens(attributes, codes)
    finally:
        del lm.fuser.forward, lm.forward
    gaps = []
    for step, scores in enumerate(logits):
        top = scores.topk(2).values
        gaps += [(top[k, 0] - top[k, 1]).item() for k, delay in enumerate(late) if 0 <= step - delay < frames]
    assert all(not prefix.shape[1] for prefix in prefixes[1:])
    return _Result(codes, min(gaps), prefixes[0] if prefixes[0].shape[1] else None)


def _check_twin(twin: PreTrainedModel, tokenizer, text: str | None, classes: list[int] | None, guidance: float,
                result: _Result) -> None:
    heard = None if classes is None else torch.nn.functional.one_hot(torch.tensor(classes), 12).float()[None]
    inputs = melody_cases.model_inputs(tokenizer, text, heard)
    theirs = melody_cases.prefix(twin, inputs)
    assert theirs.shape == result.prefix.shape and (theirs - result.prefix).abs().max() < 1e-5, "prefix"
    assert torch.equal(music_cases.greedy(twin, inputs, guidance).codes, result.codes), "greedy codes"


def _cases_of(model: _Model, twin: PreTrainedModel, tokenizer, folder: Path, out: Path, seed: int) -> dict[str, list[dict]]:
    from audiocraft.models.musicgen import MusicGen
    music = MusicGen.get_pretrained(str(folder), device="cpu")
    name = model.shape.name
    chroma, audio = {}, {}
    for number, (kind, seconds, channels) in enumerate((("plain", 2.2, 1), ("too_long", 21.0, 1), ("stereo", 1.6, 2))):
        if any(case[2] == kind for case in model.cases):
            chroma[kind], audio[kind] = _chroma(music, kind, seconds, channels, 10 * seed + number)
    if "plain" in chroma and "too_long" in chroma:
        assert chroma["plain"]["frames"] < model.shape.chroma_length < chroma["too_long"]["frames"]  # repeated, and cut
    found: dict[str, list[dict]] = {"prefix": [], "greedy": [], "chroma": [{"checkpoint": name} | case for case in chroma.values()]}
    results = {}
    for kind, text, melody, guidance in model.cases:
        result = results[kind] = _generate(music, text, audio.get(melody), guidance)
        music_cases.check_usable(f"{name} {kind}", result)
        if not model.projects_always:
            _check_twin(twin, tokenizer, text, chroma[melody]["classes"] if melody else None, guidance, result)
        case = {"checkpoint": name, "name": kind, "text": text, "melody": melody}
        np.save(out / f"{name}_{kind}.npy", result.codes[0].numpy())
        found["greedy"].append(case | {"guidance": guidance, "frames": music_cases.FRAMES, "codes": f"{name}_{kind}.npy",
                                       "min_gap": round(result.min_gap, 5)})
        if kind == "melody_g3":
            np.save(out / f"{name}_prefix.npy", result.prefix.numpy())
            found["prefix"].append(case | {"prefix": f"{name}_prefix.npy", "shape": list(result.prefix.shape)})
    for other in results.keys() - {"melody_g3", "cut_g1"}:
        if "melody_g3" in results and (results["melody_g3"].codes == results[other].codes).float().mean() > 0.5:
            raise music_cases.Unusable(f"{name}: melody or text make little difference")
    return found


def _check_chroma(goldens: Path) -> None:
    """audiocraft hears at the published settings what transformers' extractor does."""
    from audiocraft.modules.chroma import ChromaExtractor
    extractor = ChromaExtractor(sample_rate=32000, n_chroma=12, radix2_exp=14, argmax=True)
    for case in json.loads((goldens / "melody" / "golden.json").read_text())["chroma"]:
        if case["sampling_rate"] == 32000 and case["name"] != "too_long":  # transformers cuts the sound, audiocraft the chroma
            audio = torch.stack([chroma_cases.play(part, case["samples"], 32000) for part in case["notes"]])
            assert extractor(audio.mean(0, keepdim=True))[0].argmax(-1).tolist() == case["classes"], case["name"]


def make(seed: int, out: Path, goldens: Path) -> dict:
    """One attempt; goldens has the folders of the stereo, the melody and audiocraft's models. Raises music_cases.Unusable."""
    audiocraft = audiocraft_import.load()
    stereo, tokenizer = checkpoint.load(goldens / "stereo" / "model")
    text_folder = goldens / audiocraft_cases.FOLDER / "t5"
    _check_chroma(goldens)
    lists: dict[str, list[dict]] = {}
    with audiocraft_models.TextEncoder(text_folder, stereo.config.text_encoder.d_model), tempfile.TemporaryDirectory() as scratch:
        for model in _MODELS:
            twin = random_model(model.shape, seed)
            twin.text_encoder.load_state_dict(stereo.text_encoder.state_dict())
            twin = audiocraft_models.rounded(twin)
            kept, whole = out / model.shape.name, Path(scratch) / model.shape.name
            kept.mkdir()
            audiocraft_models.export(_config(twin, model.exponent), _tensors(twin, seed), kept, half=True)
            shutil.copytree(kept, whole)
            shutil.copyfile(goldens / _CODEC, whole / _CODEC.name)
            for kind, rows in _cases_of(model, twin, tokenizer, whole, out, seed).items():
                lists.setdefault(kind, []).extend(rows)
    manifest.write(out / "golden.json", {
        "model": FOLDER, "seed": seed, "made_with": manifest.made_with() | {"audiocraft": audiocraft.__version__},
        "text_folder": "../audiocraft/t5", "codec_folder": "../audiocraft/mono-f16", "notes": _NOTES,
        "checkpoints": [{"name": model.shape.name, "channels": model.shape.channels, "chroma_length": model.shape.chroma_length,
                         "twin": not model.projects_always} for model in _MODELS],
        **lists})
    return {"seed": seed, "min gap": min(case["min_gap"] for case in lists["greedy"]), "kB": checkpoint.kilobytes(out)}
