"""audiocraft's own networks with the tensors of a transformers model: built, exported and run."""

import copy
from collections import OrderedDict
from pathlib import Path
from unittest import mock

import torch
from transformers import MusicgenForConditionalGeneration, PreTrainedModel, T5EncoderModel

import audiocraft_names
import music_cases
import spiece

_CONFIGS = Path(__file__).resolve().parent / "audiocraft_config"


def configs(twin: PreTrainedModel) -> tuple:
    """The yaml of both files: the one of musicgen-small and its codec with the sizes of `twin`."""
    from omegaconf import OmegaConf
    decoder, codec = twin.config.decoder, twin.config.audio_encoder
    stereo = decoder.audio_channels == 2
    music, compression = OmegaConf.load(_CONFIGS / "musicgen.yaml"), OmegaConf.load(_CONFIGS / "encodec.yaml")
    music.merge_with({
        "sample_rate": codec.sampling_rate, "channels": decoder.audio_channels,
        "interleave_stereo_codebooks": {"use": stereo},
        "codebooks_pattern": {"delay": {"delays": music_cases.delays(twin)}},
        "transformer_lm": {"dim": decoder.hidden_size, "num_heads": decoder.num_attention_heads,
                           "num_layers": decoder.num_hidden_layers, "hidden_scale": decoder.ffn_dim / decoder.hidden_size,
                           "n_q": decoder.num_codebooks, "card": decoder.vocab_size}})
    compression.merge_with({
        "sample_rate": codec.sampling_rate,
        "encodec": {"causal": codec.use_causal_conv},
        "seanet": {"dimension": codec.hidden_size, "n_filters": codec.num_filters, "ratios": codec.upsampling_ratios,
                   "n_residual_layers": codec.num_residual_layers, "kernel_size": codec.kernel_size,
                   "last_kernel_size": codec.last_kernel_size, "residual_kernel_size": codec.residual_kernel_size,
                   "dilation_base": codec.dilation_growth_rate, "pad_mode": codec.pad_mode, "compress": codec.compress,
                   "true_skip": not codec.use_conv_shortcut, "lstm": codec.num_lstm_layers,
                   "decoder": {"trim_right_ratio": codec.trim_right_ratio}},
        "rvq": {"n_q": 4, "bins": codec.codebook_size}})
    return music, compression


def _as_half(state: OrderedDict) -> OrderedDict:
    half = OrderedDict((name, tensor.half()) for name, tensor in state.items())
    half._metadata = state._metadata  # pickled beside the tensors
    return half


def export(config, tensors: dict[str, torch.Tensor], folder: Path, half: bool) -> None:
    """Builds the network that the yaml describes, loads the tensors strictly and calls audiocraft's export: state_dict.bin or
    compression_state_dict.bin in `folder`."""
    from audiocraft.models import builders
    from audiocraft.utils import export as exporter
    language = "lm_model" in config
    here = copy.deepcopy(config)
    here.device = "cpu"
    network = (builders.get_lm_model if language else builders.get_compression_model)(here)
    if language:  # the window of the chroma's spectra is in the file, but not among our tensors
        tensors = {name: tensor for name, tensor in network.state_dict().items() if ".chroma.spec." in name} | tensors
    network.load_state_dict(tensors)
    state = network.state_dict()
    package = {"best_state": {"model": _as_half(state) if half else state}, "fsdp_best_state": {}, "xp.cfg": config}
    write, file = ((exporter.export_lm, "state_dict.bin") if language
                   else (exporter.export_encodec, "compression_state_dict.bin"))
    with mock.patch("torch.load", return_value=package):  # export reads a training checkpoint: this one
        write("", folder / file)


def write(twin: MusicgenForConditionalGeneration, folder: Path, half: bool) -> None:
    folder.mkdir(parents=True)
    music, compression = configs(twin)
    export(music, audiocraft_names.language_model(twin), folder, half)
    export(compression, audiocraft_names.codec(twin.audio_encoder), folder, half)


class TextEncoder:
    """audiocraft knows T5 by its name only, and its width from a table: t5-base is the one in our folder meanwhile."""

    def __init__(self, folder: Path, width: int):
        from audiocraft.modules import conditioners
        tokenizer, encoder = spiece.load_tokenizer(folder), T5EncoderModel.from_pretrained(folder).eval()
        self._patches = [
            mock.patch.object(conditioners.T5Tokenizer, "from_pretrained", return_value=tokenizer),
            mock.patch.object(conditioners.T5EncoderModel, "from_pretrained", return_value=encoder),
            mock.patch.dict(conditioners.T5Conditioner.MODELS_DIMS, {"t5-base": width})]

    def __enter__(self) -> None:
        for patch in self._patches:
            patch.start()

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()


def rounded(twin: PreTrainedModel) -> PreTrainedModel:
    """All but the text encoder through half precision; weight_g and weight_v, not their product, as in the file."""
    twin = copy.deepcopy(twin)
    for name, tensor in twin.state_dict().items():
        if not name.startswith("text_encoder."):
            tensor.copy_(tensor.half())
    return twin
