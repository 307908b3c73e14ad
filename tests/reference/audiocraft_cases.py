"""Checkpoints in audiocraft's own layout, written and run by audiocraft itself; a transformers twin of each proves them."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import MusicgenForConditionalGeneration, T5Config, T5EncoderModel, T5ForConditionalGeneration, T5Tokenizer

import audiocraft_import
import audiocraft_models
import checkpoint
import codec_cases
import continue_cases
import manifest
import music_cases
import texts
from shapes import AUDIOCRAFT
from weights import random_model

FOLDER = "audiocraft"

_NOTES = [
    "Folders as audiocraft.utils.export writes them: state_dict.bin and compression_state_dict.bin, each a torch zip with "
    "best_state, xp.cfg (yaml), version, exported. The text encoder is not in them: it is text_folder, in transformers' "
    "layout, with a decoder that is not wanted.",
    "mono-f16 holds mono's tensors in half precision, as the published language models do; the numbers are of those, "
    "computed in float. stereo holds the tensors of ../stereo/model, its twin: a conversion of both gives the same "
    "tensors, and the twin's goldens are its own.",
    "pretrained holds a compression_state_dict.bin that only names the codec, as audiocraft also exports it.",
    "greedy, continue, encode, decode: from audiocraft itself, and transformers gives the same on the same tensors. Forms "
    "as in the other models' golden.json, encode.json and continue.json; prompt_codes are encode's.",
]


def _text_encoder(twin: MusicgenForConditionalGeneration, source: Path, folder: Path) -> None:
    """A folder like t5-base's: the whole T5, of which audiocraft uses the encoder."""
    config = T5Config(**{**twin.config.text_encoder.to_dict(), "num_decoder_layers": 1, "is_encoder_decoder": True,
                         "use_cache": True, "architectures": None})
    whole = T5ForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(1)
    for parameter in whole.decoder.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))
    missing, unexpected = whole.load_state_dict(twin.text_encoder.state_dict(), strict=False)
    assert not unexpected and all(name.startswith(("decoder.", "lm_head.")) for name in missing), (missing, unexpected)
    whole.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in ("spiece.model", "tokenizer_config.json"):
        shutil.copyfile(source / file, folder / file)
    encoder = T5EncoderModel.from_pretrained(folder)
    for name, tensor in twin.text_encoder.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], tensor), name


def _generate(music, text: str, guidance: float, frames: int, prompt: torch.Tensor | None = None) -> torch.Tensor:
    """[codebooks, frames]. A prompt is audio [channels, samples]."""
    attributes, codes = music._prepare_tokens_and_attributes([text], None if prompt is None else prompt[None])
    music.set_generation_params(use_sampling=False, cfg_coef=guidance, duration=(frames + 0.5) / music.frame_rate)
    return music._generate_tokens(attributes, codes)[0]


def _proven(name: str, twin: MusicgenForConditionalGeneration, tokenizer: T5Tokenizer, folder: Path, out: Path) -> dict:
    """audiocraft's numbers, each the same from the twin."""
    from audiocraft.models.musicgen import MusicGen
    music = MusicGen.get_pretrained(str(folder), device="cpu")
    channels = twin.config.decoder.audio_channels
    inputs = dict(tokenizer(texts.MEDIUM, return_tensors="pt"))

    def save(what: str, tensor: torch.Tensor) -> str:
        np.save(out / f"{name}_{what}.npy", tensor.numpy())
        return f"{name}_{what}.npy"

    greedy = music_cases.greedy(twin, inputs, 3.0)
    music_cases.check_usable(f"{name} greedy", greedy)
    codes = _generate(music, texts.MEDIUM, 3.0, music_cases.FRAMES)
    assert torch.equal(codes, greedy.codes[0]), "greedy codes"
    audio = music.generate_audio(codes[None])[0]
    assert (audio - greedy.audio[0]).abs().max() < 1e-5, "audio"

    encoded = codec_cases.encode_cases(twin.audio_encoder, out, channels, prefix=f"{name}_", only=("exact", "partial"))
    sounds = [torch.from_numpy(np.load(out / case["audio"])).view(channels, -1) for case in encoded]
    for case, sound in zip(encoded, sounds, strict=True):
        theirs = music.compression_model.encode(sound[None])[0][0]
        assert np.array_equal(theirs.numpy(), np.load(out / case["codes"])), "encoded codes"

    frames = encoded[0]["frames"]
    continued = music_cases.greedy(twin, {**inputs, "input_values": sounds[0][None]}, 3.0, continue_cases.FRAMES, frames)
    music_cases.check_usable(f"{name} continue", continued)
    assert torch.equal(_generate(music, texts.MEDIUM, 3.0, continue_cases.FRAMES, sounds[0]), continued.codes[0]), "continue"

    mark = {"checkpoint": name}
    greedy_file = save("greedy", codes)
    return {
        "greedy": [mark | {"prompts": [texts.MEDIUM], "guidance": 3.0, "frames": music_cases.FRAMES, "codes": greedy_file,
                           "min_gap": round(greedy.min_gap, 5)}],
        "continue": [mark | {"prompt": texts.MEDIUM, "guidance": 3.0, "audio_prompt": encoded[0]["audio"],
                             "prompt_codes": encoded[0]["codes"], "prompt_frames": frames,
                             "frames": continue_cases.FRAMES, "codes": save("continue", continued.codes[0]),
                             "min_gap": round(continued.min_gap, 5)}],
        "encode": [mark | case for case in encoded],
        "decode": [mark | {"codes": greedy_file, "audio": save("audio", audio if channels > 1 else audio[0]),
                           "samples": audio.shape[1]}]}


def make(seed: int, out: Path, goldens: Path) -> dict:
    """One attempt; goldens has the folder of the stereo model. Raises music_cases.Unusable."""
    audiocraft = audiocraft_import.load()
    stereo, tokenizer = checkpoint.load(goldens / "stereo" / "model")
    mono = random_model(AUDIOCRAFT, seed)
    mono.text_encoder.load_state_dict(stereo.text_encoder.state_dict())
    _text_encoder(stereo, goldens / "stereo" / "model", out / "t5")

    cases: dict[str, list[dict]] = {}
    with audiocraft_models.TextEncoder(out / "t5", stereo.config.text_encoder.d_model):
        for name, twin in (("mono", mono), ("mono-f16", audiocraft_models.rounded(mono)), ("stereo", stereo)):
            audiocraft_models.write(twin, out / name, half=name == "mono-f16")
            with tempfile.TemporaryDirectory() as scratch:
                kept = out if name != "stereo" else Path(scratch)
                proven = _proven(name, twin, tokenizer, out / name, kept)
                if name == "stereo":
                    for file, twins in (("stereo_greedy.npy", "greedy_medium_g3.npy"),
                                        ("stereo_continue.npy", "continue_prompted_codes.npy"),
                                        ("stereo_encode_partial_codes.npy", "encode_partial_codes.npy")):
                        assert np.array_equal(np.load(kept / file), np.load(goldens / "stereo" / twins)), file
                else:
                    for kind, rows in proven.items():
                        cases.setdefault(kind, []).extend(rows)
    (out / "pretrained").mkdir()
    audiocraft.utils.export.export_pretrained_compression_model(
        "facebook/encodec_32khz", out / "pretrained" / "compression_state_dict.bin")

    manifest.write(out / "golden.json", {
        "model": FOLDER, "seed": seed, "made_with": manifest.made_with() | {"audiocraft": audiocraft.__version__},
        "text_folder": "t5", "special_id": AUDIOCRAFT.decoder["vocab_size"], "notes": _NOTES,
        "checkpoints": [{"name": "mono", "folder": "mono", "dtype": "float32", "channels": 1},
                        {"name": "mono-f16", "folder": "mono-f16", "dtype": "float16", "channels": 1},
                        {"name": "stereo", "folder": "stereo", "dtype": "float32", "channels": 2,
                         "twin": "../stereo/model", "goldens": "../stereo"}],
        **cases})
    return {"seed": seed, "min gap": min(case["min_gap"] for case in cases["greedy"] + cases["continue"]),
            "encode margin": min(case["min_margin"] for case in cases["encode"]),
            "kB": checkpoint.kilobytes(out)}
