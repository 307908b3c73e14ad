"""The language model: T5 encoder, projection and MusicGen decoder, with the delay pattern and the loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import MusicgenForCausalLM, T5Config, T5EncoderModel
from transformers.models.musicgen import MusicgenDecoderConfig

CODEBOOKS = 4


def decoder_config(codes: int = 1024, width: int = 256, layers: int = 4, feed_forward: int = 1024, heads: int = 4) -> MusicgenDecoderConfig:
    """`codes` is the codebook size; id `codes` is the special one (start, and not yet in the delay pattern)."""
    return MusicgenDecoderConfig(
        vocab_size=codes, hidden_size=width, num_hidden_layers=layers, ffn_dim=feed_forward,
        num_attention_heads=heads, num_codebooks=CODEBOOKS, audio_channels=1, max_position_embeddings=2048,
        activation_function="gelu", dropout=0.0, scale_embedding=False, pad_token_id=codes, bos_token_id=codes,
        add_cross_attention=True, is_decoder=True,
    )  # fmt: skip


def text_config(pieces: int, width: int = 128, layers: int = 2) -> T5Config:
    return T5Config(
        vocab_size=pieces, d_model=width, d_kv=32, num_heads=width // 32, d_ff=4 * width, num_layers=layers,
        num_decoder_layers=0, feed_forward_proj="relu", dropout_rate=0.0, is_encoder_decoder=False, use_cache=False,
        pad_token_id=0, eos_token_id=1, tie_word_embeddings=False,
    )  # fmt: skip


class LanguageModel(nn.Module):
    """The trained parts of MusicgenForConditionalGeneration, under its parameter names."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.text_encoder = T5EncoderModel(text_config(pieces))
        self.decoder = MusicgenForCausalLM(decoder_config())
        self.enc_to_dec_proj = nn.Linear(self.text_encoder.config.d_model, self.decoder.config.hidden_size)
        # Positions have a deviation of 0.7; codes must be heard beside them from the start.
        for table in self.decoder.model.decoder.embed_tokens:
            nn.init.normal_(table.weight, std=0.3)

    def encode_text(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask [batch, tokens] -> [batch, tokens, width]; rows with an empty mask become zero."""
        states = self.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.enc_to_dec_proj(states) * mask[..., None]

    def forward(self, ids: Tensor, mask: Tensor, kept: Tensor, codes: Tensor, heard: Tensor | None = None) -> Tensor:
        """Cross-entropy of each codebook, [4].

        heard [batch, 4, frames]: what the decoder sees of the past, if that differs from codes.

        kept [batch] is 0 where the text is dropped (then as in guidance: zero states, zero mask);
        codes [batch, 4, frames].
        """
        mask = mask * kept[:, None]
        # T5 itself sees the text even when it is dropped: an empty mask would give undefined attention.
        states = self.encode_text(ids, mask.new_ones(mask.shape) * (ids != 0)) * mask[..., None]
        delayed = delay(codes if heard is None else heard, self.decoder.config.vocab_size)  # [batch, 4, frames + 4]
        hidden = self.decoder.model(
            delayed[..., :-1].reshape(-1, delayed.shape[-1] - 1), encoder_hidden_states=states,
            encoder_attention_mask=None if bool(kept.all()) and bool(mask.all()) else _safe(mask), use_cache=False,
        ).last_hidden_state  # fmt: skip
        losses = []
        for book, head in enumerate(self.decoder.lm_heads):
            # Column c predicts column c + 1; book k has codes in columns k + 1 ... k + frames.
            logits = head(hidden[:, book : book + codes.shape[-1]])
            losses.append(F.cross_entropy(logits.float().flatten(0, 1), codes[:, book].flatten()))
        return torch.stack(losses)


def corrupt(codes: Tensor, size: int, most: float, lost: float) -> Tensor:
    """What the decoder is let see of the past: codes with flaws. codes [batch, 4, frames].

    A decoder that has only ever seen flawless history leans on it alone, and one unlucky sample derails
    it for good; so it learns here to find its way back from the text and the position. A share of the
    codes, drawn for each row up to `most` (nearly all with probability `lost`), becomes random.
    """
    rows = len(codes)
    share = torch.rand(rows, 1, 1) * most
    share = torch.where(torch.rand(rows, 1, 1) < lost, torch.full_like(share, 0.95), share)
    return torch.where(torch.rand(codes.shape) < share, torch.randint_like(codes, size), codes)


def _safe(mask: Tensor) -> Tensor:
    """Dropped rows attend to their zero states, which gives the same zero and never NaN."""
    return torch.where(mask.any(1, keepdim=True), mask, torch.ones_like(mask))


def delay(codes: Tensor, special: int) -> Tensor:
    """[batch, 4, frames] -> [batch, 4, frames + 4]: a start column, then book k delayed by k columns."""
    batch, books, frames = codes.shape
    out = codes.new_full((batch, books, frames + books), special)
    for book in range(books):
        out[:, book, book + 1 : book + 1 + frames] = codes[:, book]
    return out
