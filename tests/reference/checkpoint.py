"""Writes a model folder as it is found on the hub, and proves that transformers reads the same model from it."""

import shutil
import tempfile
from pathlib import Path

import safetensors.torch
import torch
from transformers import AutoTokenizer, MusicgenForConditionalGeneration, PreTrainedModel, T5Tokenizer

import spiece
from shapes import Shape

_PUBLISHED = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}


def published_name(name: str) -> str:
    """Weight norm is weight_g / weight_v in every published file, but parametrizations.* in what transformers 5 saves."""
    for new, old in _PUBLISHED.items():
        name = name.replace(new, old)
    return name


def use_published_names(file: Path) -> None:
    renamed = {published_name(name): tensor for name, tensor in safetensors.torch.load_file(file).items()}
    safetensors.torch.save_file(renamed, file, metadata={"format": "pt"})


def save(model: PreTrainedModel, shape: Shape, folder: Path, spiece_file: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, max_shard_size="50GB")
    file = folder / "model.safetensors"
    if shape.published_names:
        use_published_names(file)
    file.chmod(0o644)  # transformers leaves it readable to the owner only

    # transformers 5 saves tokenizer.json and no spiece.model. The normaliser's table alone takes 320 kB in there, so
    # the folder holds spiece.model (as the published ones also do), which transformers reads to the same ids.
    shutil.copyfile(spiece_file, folder / "spiece.model")
    with tempfile.TemporaryDirectory() as saved:
        spiece.load_tokenizer(folder).save_pretrained(saved)
        shutil.copyfile(Path(saved) / "tokenizer_config.json", folder / "tokenizer_config.json")


def load(folder: Path, kind: type = MusicgenForConditionalGeneration) -> tuple[PreTrainedModel, T5Tokenizer]:
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder)


def assert_same(a: PreTrainedModel, b: PreTrainedModel) -> None:
    left, right = a.state_dict(), b.state_dict()
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


def kilobytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) // 1000
