"""Where the tensors of a transformers MusicGen stand in audiocraft's files.

The inverse of what transformers' own conversion script does; that audiocraft loads the result strictly, and then generates
the same codes, proves it.
"""

import re

import torch
from transformers import EncodecModel, PreTrainedModel
from transformers.models.encodec.modeling_encodec import EncodecConvTranspose1d

_CONDITIONERS = "condition_provider.conditioners"
_LAYER = {"self_attn.out_proj": "self_attn.out_proj", "encoder_attn.out_proj": "cross_attention.out_proj",
          "self_attn_layer_norm": "norm1", "encoder_attn_layer_norm": "norm_cross", "final_layer_norm": "norm2",
          "fc1": "linear1", "fc2": "linear2"}


def language_model(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Without the projection of a condition that is as wide as the decoder, which audiocraft has and transformers has not."""
    source = model.state_dict()
    out = {f"{_CONDITIONERS}.{name}.output_proj.{kind}": source[f"{projection}.{kind}"]
           for name, projection in (("description", "enc_to_dec_proj"), ("self_wav", "audio_enc_to_dec_proj"))
           for kind in ("weight", "bias") if f"{projection}.{kind}" in source}
    for k in range(model.decoder.num_codebooks):
        out[f"emb.{k}.weight"] = source[f"decoder.model.decoder.embed_tokens.{k}.weight"]
        out[f"linears.{k}.weight"] = source[f"decoder.lm_heads.{k}.weight"]
    for i in range(model.config.decoder.num_hidden_layers):
        theirs, ours = f"transformer.layers.{i}.", f"decoder.model.decoder.layers.{i}."
        for attention, name in (("self_attn", "self_attn"), ("encoder_attn", "cross_attention")):
            if f"{ours}{attention}.q_proj.weight" not in source:
                continue  # a melody model
            out[f"{theirs}{name}.in_proj_weight"] = torch.cat(
                [source[f"{ours}{attention}.{part}_proj.weight"] for part in "qkv"])
        for name, tensor in source.items():
            module, _, kind = name.removeprefix(ours).rpartition(".")
            if name.startswith(ours) and module in _LAYER:
                out[f"{theirs}{_LAYER[module]}.{kind}"] = tensor
    for kind in ("weight", "bias"):
        out[f"out_norm.{kind}"] = source[f"decoder.model.decoder.layer_norm.{kind}"]
    return out


def codec(model: EncodecModel) -> dict[str, torch.Tensor]:
    transposed = {name for name, module in model.named_modules() if isinstance(module, EncodecConvTranspose1d)}
    out = {}
    for name, tensor in model.state_dict().items():
        name = name.replace("parametrizations.weight.original0", "weight_g")
        name = name.replace("parametrizations.weight.original1", "weight_v")
        if at := re.fullmatch(r"(.*)\.conv\.(weight_g|weight_v|bias)", name):
            kind = "convtr" if at[1] in transposed else "conv"
            name = f"{at[1]}.{kind}.{kind}.{at[2]}"
        name = re.sub(r"^(encoder|decoder)\.layers\.", r"\1.model.", name)
        out[re.sub(r"^quantizer\.layers\.(\d+)\.codebook\.", r"quantizer.vq.layers.\1._codebook.", name)] = tensor
    return out
