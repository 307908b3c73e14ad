"""The tiny models of the goldens, and the true shape of musicgen-small.

The tiny sizes are odd on purpose: no width is a multiple of a vector register or of a kernel's block, so every
remainder loop runs. Two limits are transformers' own: EnCodec's codebook_size must be a power of two, and the
number of codec codebooks follows from target_bandwidths (bits per second / (frames per second x bits)).
"""

from dataclasses import dataclass, replace

from transformers import (EncodecConfig, MusicgenConfig, MusicgenDecoderConfig, MusicgenMelodyConfig,
                          MusicgenMelodyDecoderConfig, T5Config)

from spiece import EXTRA_IDS


@dataclass(frozen=True)
class Shape:
    name: str
    pieces: int  # of the SentencePiece model; the embedding table has a few rows more, as in t5-base
    text: dict
    codec: dict
    decoder: dict
    published_names: bool = False  # weight_g / weight_v, as in the files on the hub; transformers 5 writes otherwise
    channels: int = 1  # 2: twice the codebooks, left and right by turns; the codec stays mono
    continued: bool = False  # has goldens of continuation
    chroma_length: int = 0  # a melody model, with as many chroma rows before the text
    quiet_start: bool = False  # the first step's input is small, so that the epsilon of its LayerNorm shows
    plain_text: bool = False  # a SentencePiece model of 5 kB without the normaliser's table of 240 kB

    def config(self) -> MusicgenConfig | MusicgenMelodyConfig:
        vocab = self.decoder["vocab_size"]
        decoder_config = MusicgenMelodyDecoderConfig if self.chroma_length else MusicgenDecoderConfig
        decoder = decoder_config(**self.decoder, num_codebooks=4 * self.channels, audio_channels=self.channels,
                                 pad_token_id=vocab, bos_token_id=vocab)
        codec = EncodecConfig(**self.codec, codebook_size=vocab)
        assert codec.num_quantizers == 4, codec.num_quantizers
        parts = dict(text_encoder=T5Config(**self.text).to_dict(), audio_encoder=codec.to_dict(), decoder=decoder.to_dict())
        if self.chroma_length:
            return MusicgenMelodyConfig(**parts, chroma_length=self.chroma_length)
        return MusicgenConfig(**parts)


def _rows(pieces: int) -> int:
    return pieces + EXTRA_IDS + 7


# Like the published models: identity shortcut, two LSTM layers, 32 kHz in four steps, original T5.
TINY_A = Shape(
    name="tiny-a", pieces=420, continued=True,
    text=dict(vocab_size=_rows(420), d_model=30, d_kv=7, num_heads=3, d_ff=50, num_layers=2, feed_forward_proj="relu"),
    codec=dict(sampling_rate=32000, target_bandwidths=[1.2], num_filters=2, hidden_size=20,
               upsampling_ratios=[8, 5, 4, 4], use_causal_conv=False, pad_mode="reflect", use_conv_shortcut=False,
               num_lstm_layers=2),
    decoder=dict(vocab_size=64, hidden_size=36, num_attention_heads=3, ffn_dim=70, num_hidden_layers=3))

# What audiocraft's own files may hold: constant padding, convolution shortcuts; T5 v1.1 (gated) for the text.
TINY_B = Shape(
    name="tiny-b", pieces=450,
    text=dict(vocab_size=_rows(450), d_model=26, d_kv=9, num_heads=2, d_ff=38, num_layers=3,
              feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    codec=dict(sampling_rate=2000, target_bandwidths=[1.0], num_filters=3, hidden_size=19, upsampling_ratios=[5, 4, 2],
               use_causal_conv=False, pad_mode="constant", use_conv_shortcut=True, num_lstm_layers=1, kernel_size=5,
               last_kernel_size=3, residual_kernel_size=5, compress=3),
    decoder=dict(vocab_size=32, hidden_size=44, num_attention_heads=4, ffn_dim=100, num_hidden_layers=2))

# Causal, as the 24 kHz EnCodec is; a second residual layer brings in dilation 2, and a ratio of 3 odd trimming.
TINY_C = Shape(
    name="tiny-c", pieces=400, published_names=True,
    text=dict(vocab_size=_rows(400), d_model=22, d_kv=5, num_heads=4, d_ff=46, num_layers=2, feed_forward_proj="relu"),
    codec=dict(sampling_rate=3000, target_bandwidths=[1.2], num_filters=3, hidden_size=21, upsampling_ratios=[4, 5, 3],
               use_causal_conv=True, trim_right_ratio=1.0, pad_mode="reflect", use_conv_shortcut=False,
               num_lstm_layers=1, num_residual_layers=2, dilation_growth_rate=2),
    decoder=dict(vocab_size=64, hidden_size=28, num_attention_heads=2, ffn_dim=60, num_hidden_layers=2))

# musicgen-stereo-*: 8 codebooks for two channels. Its codec has the padding that no other model here has.
STEREO = Shape(
    name="stereo", pieces=300, channels=2, continued=True, quiet_start=True, plain_text=True,
    text=dict(vocab_size=_rows(300), d_model=18, d_kv=6, num_heads=3, d_ff=34, num_layers=2, feed_forward_proj="relu"),
    codec=dict(sampling_rate=2000, target_bandwidths=[1.0], num_filters=2, hidden_size=17, upsampling_ratios=[5, 4, 2],
               use_causal_conv=False, pad_mode="replicate", use_conv_shortcut=False, num_lstm_layers=1),
    decoder=dict(vocab_size=32, hidden_size=30, num_attention_heads=3, ffn_dim=54, num_hidden_layers=2))

# In audiocraft's own files, with STEREO's text encoder: what its config can say and transformers' default is not.
AUDIOCRAFT = Shape(
    name="audiocraft", pieces=300, plain_text=True, text=STEREO.text,
    codec=dict(sampling_rate=2000, target_bandwidths=[1.0], num_filters=2, hidden_size=13, upsampling_ratios=[5, 4, 2],
               use_causal_conv=False, pad_mode="constant", use_conv_shortcut=True, num_lstm_layers=2),
    decoder=dict(vocab_size=32, hidden_size=20, num_attention_heads=2, ffn_dim=60, num_hidden_layers=2))

# musicgen-melody (235 chroma rows) and musicgen-stereo-melody. The codec: causal with zeros, trimmed on both sides.
MELODY = Shape(
    name="melody", pieces=200, chroma_length=20, plain_text=True,
    text=dict(vocab_size=_rows(200), d_model=14, d_kv=5, num_heads=2, d_ff=22, num_layers=1, feed_forward_proj="relu"),
    codec=dict(sampling_rate=32000, target_bandwidths=[1.0], num_filters=2, hidden_size=11, upsampling_ratios=[32, 20],
               use_causal_conv=True, trim_right_ratio=0.5, pad_mode="constant", use_conv_shortcut=False,
               num_lstm_layers=1),
    decoder=dict(vocab_size=32, hidden_size=26, num_attention_heads=2, ffn_dim=42, num_hidden_layers=2))
STEREO_MELODY = replace(MELODY, name="stereo-melody", channels=2)

# Melody models in audiocraft's own files, of one channel and of two, with AUDIOCRAFT's codec.
AUDIOCRAFT_MELODY = replace(
    AUDIOCRAFT, name="melody", chroma_length=149,
    decoder=dict(vocab_size=32, hidden_size=20, num_attention_heads=2, ffn_dim=36, num_hidden_layers=2))
AUDIOCRAFT_STEREO_MELODY = replace(
    AUDIOCRAFT, name="stereo-melody", chroma_length=75, channels=2,
    decoder=dict(vocab_size=32, hidden_size=24, num_attention_heads=3, ffn_dim=40, num_hidden_layers=1))
# As wide as the text, and as many classes of pitch.
AUDIOCRAFT_EVEN = replace(
    AUDIOCRAFT, name="even",
    decoder=dict(vocab_size=32, hidden_size=18, num_attention_heads=3, ffn_dim=36, num_hidden_layers=1))
AUDIOCRAFT_EVEN_MELODY = replace(
    AUDIOCRAFT, name="even-melody", chroma_length=149,
    decoder=dict(vocab_size=32, hidden_size=12, num_attention_heads=2, ffn_dim=36, num_hidden_layers=2))

# Wide enough for every type of blocks: 256 weights to a row in the decoder, 32 and 64 in the text encoder.
WIDE = Shape(
    name="wide", pieces=200, plain_text=True,
    text=dict(vocab_size=_rows(200), d_model=32, d_kv=16, num_heads=2, d_ff=64, num_layers=1, feed_forward_proj="relu"),
    codec=dict(sampling_rate=200, target_bandwidths=[1.0], num_filters=2, hidden_size=5, upsampling_ratios=[2, 2],
               use_causal_conv=True, trim_right_ratio=0.5, pad_mode="constant", use_conv_shortcut=False,
               num_lstm_layers=1, kernel_size=3, last_kernel_size=3),
    decoder=dict(vocab_size=32, hidden_size=256, num_attention_heads=4, ffn_dim=512, num_hidden_layers=2))

# As small as it goes, to be committed in several kinds of files.
TINY_D = Shape(
    name="tiny-d", pieces=200, plain_text=True, published_names=True,
    text=dict(vocab_size=_rows(200), d_model=6, d_kv=4, num_heads=2, d_ff=10, num_layers=1, feed_forward_proj="relu"),
    codec=dict(sampling_rate=200, target_bandwidths=[0.6], num_filters=2, hidden_size=5, upsampling_ratios=[2, 2],
               use_causal_conv=True, trim_right_ratio=0.5, pad_mode="constant", use_conv_shortcut=False,
               num_lstm_layers=1, kernel_size=3, last_kernel_size=3),
    decoder=dict(vocab_size=8, hidden_size=10, num_attention_heads=2, ffn_dim=14, num_hidden_layers=1))

# facebook/musicgen-small as its config has it; t5-base's table has 32,128 rows, of which the vocabulary uses fewer.
SMALL = Shape(
    name="small", pieces=500,
    text=dict(vocab_size=32128, d_model=768, d_kv=64, num_heads=12, d_ff=3072, num_layers=12, feed_forward_proj="relu"),
    codec=dict(sampling_rate=32000, target_bandwidths=[2.2], num_filters=64, hidden_size=128,
               upsampling_ratios=[8, 5, 4, 4], use_causal_conv=False, pad_mode="reflect", use_conv_shortcut=False,
               num_lstm_layers=2),
    decoder=dict(vocab_size=2048, hidden_size=1024, num_attention_heads=16, ffn_dim=4096, num_hidden_layers=24))

# facebook/musicgen-medium: the same text encoder and codec.
MEDIUM = replace(SMALL, name="medium", decoder=dict(vocab_size=2048, hidden_size=1536, num_attention_heads=24, ffn_dim=6144,
                                                    num_hidden_layers=48))

TINY = {shape.name: shape for shape in (TINY_A, TINY_B, TINY_C)}
