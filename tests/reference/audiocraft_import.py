"""Imports audiocraft without the dozen packages that only its training, its datasets and its audio files need.

Its networks, its generation and its checkpoint loading are the originals; only what they import beside torch is replaced.
"""

import importlib.machinery
import sys
import types
from unittest import mock

import torch
from transformers import EncodecModel, RobertaTokenizer, T5EncoderModel, T5Tokenizer  # noqa: F401  before the stand-ins

_AT_IMPORT = ("av", "dora", "flashy", "flashy.distrib", "librosa", "num2words", "spacy",
              "audiocraft.models.multibanddiffusion")  # the last would bring in the solvers, and they the rest
_AT_RUN = ("xformers", "xformers.ops")  # its attention goes to torch's own by default


def _stand_in(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__getattr__ = lambda attribute: mock.MagicMock(name=attribute)  # type: ignore[method-assign]
    sys.modules[name] = module
    return module


def load() -> types.ModuleType:
    """Raises ImportError when audiocraft itself, einops, omegaconf or torchaudio are not installed."""
    if "audiocraft" not in sys.modules:
        for name in _AT_IMPORT + _AT_RUN:
            _stand_in(name)
        operations = sys.modules["xformers"].ops = sys.modules["xformers.ops"]  # type: ignore[attr-defined]
        operations.unbind = torch.unbind  # all that is called
        try:
            import audiocraft.models.loaders
            import audiocraft.models.musicgen
        finally:
            for name in _AT_IMPORT:
                del sys.modules[name]
    return sys.modules["audiocraft"]
