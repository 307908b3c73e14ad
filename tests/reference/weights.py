"""Random weights under which a MusicGen behaves like a trained one, so that a wrong number shows.

Left to transformers' own initialisation a tiny model is nearly linear, its norms are all ones, its biases zero, its
codebooks zero (EnCodec), and its greedy codes repeat one value: most mistakes would then pass. Here every tensor is
random, activations are of order 1 in every layer, and logits spread by almost 2.
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from transformers import GenerationConfig, MusicgenForConditionalGeneration, MusicgenMelodyForConditionalGeneration
from transformers.models.encodec.modeling_encodec import EncodecConv1d, EncodecConvTranspose1d

from shapes import Shape

_AUDIO_RMS = 0.15


class _Filler:
    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, tensor: torch.Tensor, std: float) -> None:
        tensor.copy_(torch.randn(tensor.shape, generator=self._generator) * std)

    def uniform(self, tensor: torch.Tensor, low: float, high: float) -> None:
        tensor.copy_(torch.rand(tensor.shape, generator=self._generator) * (high - low) + low)

    def linear(self, weight: torch.Tensor, gain: float = 1.0) -> None:
        """Output rms = gain x input rms."""
        self.normal(weight, gain / math.sqrt(weight.shape[1]))


def _fill_text(text: nn.Module, fill: _Filler) -> None:
    for name, tensor in text.named_parameters():
        if "layer_norm" in name:
            fill.uniform(tensor, 0.6, 1.4)
        elif "relative_attention_bias" in name or "shared" in name:
            fill.normal(tensor, 1.0)
        elif name.endswith("SelfAttention.q.weight"):
            # T5 does not scale its scores, so the trained queries are small: a score's spread is 1.5 here.
            fill.linear(tensor, 1.5 / math.sqrt(text.config.d_kv))
        else:
            fill.linear(tensor)


def _fill_decoder(decoder: nn.Module, fill: _Filler) -> None:
    # What a layer adds, so that many layers together still do not drown the embeddings.
    depth = min(1.0, math.sqrt(3 / decoder.config.num_hidden_layers))
    for name, tensor in decoder.named_parameters():
        if "layer_norm" in name:
            if name.endswith("bias"):
                fill.normal(tensor, 0.2)
            else:
                fill.uniform(tensor, 0.6, 1.4)
        elif "embed_tokens" in name:
            # Four are summed: large beside what attention adds, or the prompt, which guidance multiplies, would lock
            # greedy choices on one code.
            fill.normal(tensor, 1.0)
        elif "lm_heads" in name:
            fill.linear(tensor, 1.8)
        elif "encoder_attn" in name and name.endswith(("q_proj.weight", "k_proj.weight")):
            fill.linear(tensor, 2.2)  # sharp, so that steps read different tokens of the prompt
        elif name.endswith(("q_proj.weight", "k_proj.weight")):
            fill.linear(tensor, 1.3)
        elif "encoder_attn.out_proj" in name:
            fill.linear(tensor, 0.7 * depth)
        elif name.endswith(("self_attn.out_proj.weight", "fc2.weight")):
            fill.linear(tensor, depth)
        else:
            fill.linear(tensor)


def _quiet_start(decoder: nn.Module, fill: _Filler) -> None:
    """Positions add sines and cosines of size 1 everywhere, beside which an epsilon of 1e-5 or 1e-6 is nothing. Here the
    special id's embeddings cancel position 0 (cosines 1, then sines 0) but for a hundredth."""
    tables = decoder.model.decoder.embed_tokens
    for table in tables:
        special = table.weight[-1]
        fill.normal(special, 0.01)
        special[: special.shape[0] // 2] -= 1.0 / len(tables)


def _calibrate(codec: nn.Module, run: Callable[[], object]) -> None:
    """Scales each convolution so that its output has an rms of 1, in one pass: a hook sees what the layers before,
    already scaled, give it. Factors keep two digits, so that a machine's rounding does not get into the weights."""
    def scale(layer: nn.Module, _inputs: tuple, output: torch.Tensor) -> torch.Tensor:
        factor = float(f"{1.0 / output.square().mean().sqrt().item():.2g}")
        layer.conv.parametrizations.weight.original0.mul_(factor)
        layer.conv.bias.mul_(factor)
        return output * factor

    hooks = [layer.register_forward_hook(scale) for layer in codec.modules()
             if isinstance(layer, (EncodecConv1d, EncodecConvTranspose1d))]
    run()
    for hook in hooks:
        hook.remove()


def chord_audio(samples: int, rate: int, seed: int) -> torch.Tensor:  # [1, 1, samples]
    """A chord that comes and goes, over noise, at a musical level."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(samples, dtype=torch.float64) / rate
    tones = [torch.sin(2 * math.pi * share * rate * time) * (0.6 + 0.4 * torch.sin(2 * math.pi * wobble * time))
             for share, wobble in ((0.011, 1.7), (0.0273, 2.9), (0.071, 0.8))]
    audio = sum(tones) + 0.3 * torch.randn(samples, generator=generator, dtype=torch.float64)
    return (audio * (_AUDIO_RMS / audio.square().mean().sqrt())).float()[None, None]


def _fill_codec(codec: nn.Module, fill: _Filler, seed: int) -> None:
    for name, tensor in codec.named_parameters():
        if "lstm" in name:
            bound = 1.5 / math.sqrt(tensor.shape[0] // 4)
            fill.uniform(tensor, -bound, bound)
        elif name.endswith("original0"):  # the norms; _calibrate sets their level
            fill.uniform(tensor, 0.5, 1.5)
        elif name.endswith("original1"):  # the directions
            fill.normal(tensor, 1.0)
        else:
            fill.normal(tensor, 0.15)  # biases
    codebooks = [layer.codebook for layer in codec.quantizer.layers]
    for index, codebook in enumerate(codebooks):
        fill.normal(codebook.embed, 0.8 * 0.7**index)  # each refines what the ones before left over
        fill.normal(codebook.embed_avg, 1.0)  # of training only: must be ignored
        fill.uniform(codebook.cluster_size, 1.0, 9.0)

    hop, size = codec.config.hop_length, codec.config.codebook_size
    generator = torch.Generator().manual_seed(seed)
    frames = max(20, min(200, 64000 // hop))
    codes = torch.randint(size, (1, 1, len(codebooks), frames), generator=generator)
    _calibrate(codec.decoder, lambda: codec.decode(codes, [None]))
    last = codec.decoder.layers[-1].conv
    for tensor in (last.parametrizations.weight.original0, last.bias):
        tensor.mul_(_AUDIO_RMS)
    audio = chord_audio(frames * hop, codec.config.sampling_rate, seed)
    _calibrate(codec.encoder, lambda: codec.encoder(audio))


@torch.no_grad()
def random_model(shape: Shape, seed: int) -> MusicgenForConditionalGeneration | MusicgenMelodyForConditionalGeneration:
    kind = MusicgenMelodyForConditionalGeneration if shape.chroma_length else MusicgenForConditionalGeneration
    model = kind(shape.config()).eval()
    fill = _Filler(seed)
    _fill_text(model.text_encoder, fill)
    _fill_decoder(model.decoder, fill)
    if shape.quiet_start:
        _quiet_start(model.decoder, fill)
    _fill_codec(model.audio_encoder, fill, seed)
    width = shape.decoder["hidden_size"]  # a condition of the same width is not projected
    if width != shape.text["d_model"]:
        fill.linear(model.enc_to_dec_proj.weight)
        fill.normal(model.enc_to_dec_proj.bias, 0.3)
    if shape.chroma_length and width != model.config.num_chroma:  # its input is a single one in twelve
        fill.normal(model.audio_enc_to_dec_proj.weight, 1.5)
        fill.normal(model.audio_enc_to_dec_proj.bias, 0.3)
    vocab = shape.decoder["vocab_size"]
    model.generation_config = GenerationConfig(  # as published with musicgen-small
        bos_token_id=vocab, decoder_start_token_id=vocab, pad_token_id=vocab, do_sample=True, guidance_scale=3.0,
        max_length=1500)
    return model
