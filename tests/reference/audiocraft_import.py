"""Imports audiocraft without the dozen packages that only its training, its datasets and its audio files need.

Its networks, its generation and its checkpoint loading are the originals; only what they import beside torch is replaced. Two
of the replacements compute: librosa's chroma filter bank is transformers' port of it, and Demucs, which takes drums and bass out
of a melody, is a separator that finds nothing but melody.
"""

import importlib.machinery
import sys
import types
from unittest import mock

import numpy as np
import torch
from transformers import EncodecModel, RobertaTokenizer, T5EncoderModel, T5Tokenizer  # noqa: F401  before the stand-ins
from transformers.audio_utils import chroma_filter_bank

_AT_IMPORT = ("av", "dora", "flashy", "flashy.distrib", "librosa", "librosa.filters", "num2words", "spacy",
              "audiocraft.models.multibanddiffusion")  # the last would bring in the solvers, and they the rest
_AT_RUN = ("xformers", "xformers.ops",  # its attention goes to torch's own by default
           "demucs", "demucs.pretrained", "demucs.apply", "demucs.audio")


def _stand_in(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__getattr__ = lambda attribute: mock.MagicMock(name=attribute)  # type: ignore[method-assign]
    sys.modules[name] = module
    return module


class _Separator:
    """All that it is given is the stem "other"."""
    samplerate, audio_channels = None, None
    sources = ("drums", "bass", "other", "vocals")

    def to(self, _device: str) -> "_Separator":
        return self

    @staticmethod
    def apply(model: "_Separator", wav: torch.Tensor, device: str) -> torch.Tensor:  # [batch, stems, channels, samples]
        assert model.sources[2] == "other", device
        return torch.stack([torch.zeros_like(wav)] * 2 + [wav, torch.zeros_like(wav)], dim=1)


def _put_separator() -> None:
    demucs = {name: sys.modules[f"demucs.{name}"] for name in ("pretrained", "apply", "audio")}
    for name, module in demucs.items():
        setattr(sys.modules["demucs"], name, module)
    demucs["pretrained"].get_model = lambda _name: _Separator()
    demucs["apply"].apply_model = _Separator.apply
    demucs["audio"].convert_audio = lambda wav, _from, _to, _channels: wav  # it works at any rate, on one channel


def _filter_bank(sr: int, n_fft: int, tuning: float, n_chroma: int) -> np.ndarray:
    """[n_chroma, n_fft / 2 + 1], as librosa.filters.chroma."""
    bank = chroma_filter_bank(sampling_rate=sr, num_frequency_bins=n_fft, tuning=tuning, num_chroma=n_chroma)
    return bank.astype(np.float32)


def load() -> types.ModuleType:
    """Raises ImportError when audiocraft itself, einops, omegaconf or torchaudio are not installed."""
    if "audiocraft" not in sys.modules:
        for name in _AT_IMPORT + _AT_RUN:
            _stand_in(name)
        operations = sys.modules["xformers"].ops = sys.modules["xformers.ops"]  # type: ignore[attr-defined]
        operations.unbind = torch.unbind  # all that is called
        filters = sys.modules["librosa"].filters = sys.modules["librosa.filters"]  # type: ignore[attr-defined]
        filters.chroma = _filter_bank
        _put_separator()
        try:
            import audiocraft.models.loaders
            import audiocraft.models.musicgen
        finally:
            for name in _AT_IMPORT:
                del sys.modules[name]
    return sys.modules["audiocraft"]
