"""One small model in every kind of file that transformers has written: safetensors or torch, whole or in shards."""

import json
import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path

import huggingface_hub
import torch
from transformers import MusicgenForConditionalGeneration

import checkpoint
import manifest
import spiece
from shapes import TINY_D
from weights import random_model

FOLDER = "sharded"
_SHARD = 8_000  # bytes

_NOTES = [
    "The same model in four kinds of files; every tensor of the others equals the one of `single`. Weight norm is weight_g "
    "and weight_v in all, as published.",
    "safetensors: shards with model.safetensors.index.json. bin: pytorch_model.bin, a torch zip; bin_sharded: such shards "
    "with pytorch_model.bin.index.json.",
    "The .bin files hold the text embedding under two names with one storage, as published ones do, and the LSTM weights as "
    "parts of one storage, as they are that were on a GPU: storage offsets are not zero.",
]


def _torch_state(model: MusicgenForConditionalGeneration) -> OrderedDict[str, torch.Tensor]:
    """As a published pytorch_model.bin has it."""
    original = model.state_dict()
    state = OrderedDict((checkpoint.published_name(name), tensor) for name, tensor in original.items())
    state._metadata = original._metadata  # pickled beside the tensors
    assert state["text_encoder.encoder.embed_tokens.weight"].data_ptr() == state["text_encoder.shared.weight"].data_ptr()
    for part in ("encoder", "decoder"):
        names = [name for name in state if name.startswith(f"audio_encoder.{part}.") and ".lstm." in name]
        flat = torch.cat([state[name].flatten() for name in names])
        pieces = flat.split([state[name].numel() for name in names])
        state.update((name, piece.view(state[name].shape)) for name, piece in zip(names, pieces, strict=True))
    return state


def _save_safetensors_shards(model: MusicgenForConditionalGeneration, folder: Path) -> None:
    model.save_pretrained(folder, max_shard_size=_SHARD)
    index = folder / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    content["weight_map"] = {checkpoint.published_name(name): file for name, file in content["weight_map"].items()}
    index.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    for file in folder.glob("model-*.safetensors"):
        checkpoint.use_published_names(file)
        file.chmod(0o644)


def _save_bin_shards(state: OrderedDict[str, torch.Tensor], folder: Path) -> None:
    split = huggingface_hub.split_torch_state_dict_into_shards(
        state, filename_pattern="pytorch_model{suffix}.bin", max_shard_size=_SHARD)
    for file, names in split.filename_to_tensors.items():
        torch.save({name: state[name] for name in names}, folder / file)
    index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def make(seed: int, out: Path) -> dict:
    model = random_model(TINY_D, seed)
    with tempfile.TemporaryDirectory() as scratch:
        pieces = Path(scratch) / "spiece.model"
        spiece.train(pieces, TINY_D.pieces, TINY_D.plain_text)
        checkpoint.save(model, TINY_D, out / "single", pieces)
    state = _torch_state(model)
    for kind in ("safetensors", "bin", "bin_sharded"):
        (out / kind).mkdir()
        if kind == "safetensors":
            _save_safetensors_shards(model, out / kind)
        elif kind == "bin":
            torch.save(state, out / kind / "pytorch_model.bin")
        else:
            _save_bin_shards(state, out / kind)
        for file in (out / "single").iterdir():
            if file.name != "model.safetensors":
                shutil.copyfile(file, out / kind / file.name)
    kinds = []
    for kind in ("single", "safetensors", "bin", "bin_sharded"):
        loaded, _ = checkpoint.load(out / kind)
        checkpoint.assert_same(model, loaded)
        kinds.append({"name": kind, "folder": kind, "files": sorted(
            file.name for file in (out / kind).iterdir() if file.suffix in (".safetensors", ".bin"))})
    manifest.write(out / "golden.json", {"model": TINY_D.name, "seed": seed, "made_with": manifest.made_with(),
                                         "notes": _NOTES, "unsharded": "single", "kinds": kinds})
    return {"seed": seed, "kB": checkpoint.kilobytes(out)}
