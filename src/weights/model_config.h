// What a model is, as numbers: everything the networks need besides their tensors. Read from a GGUF file's keys
// (docs/gguf.md) or from a checkpoint's config.json and tensors; never guessed from a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/network.h"

namespace continuo::weights {

using continuo::Activation;
using continuo::PadMode;

/// T5 encoder (Raffel et al., 2020; transformers' T5EncoderModel).
struct T5Config {
  int width = 0;  // d_model
  int layers = 0;
  int heads = 0;
  int head_width = 0;    // d_kv; heads * head_width need not equal width
  int feed_forward = 0;  // d_ff
  int vocabulary = 0;    // rows of the embedding table; may exceed the tokenizer's pieces
  int relative_buckets = 32;
  int relative_max_distance = 128;
  bool gated = false;  // T5 v1.1: act(x W_gate) * (x W_up)
  Activation activation = Activation::relu;
  float norm_epsilon = 1e-6F;
};

/// MusicGen's decoder (Copet et al., 2023).
struct DecoderConfig {
  int width = 0;  // hidden size d
  int layers = 0;
  int heads = 0;  // head width is width / heads
  int feed_forward = 0;
  Activation activation = Activation::gelu_erf;
  int codebooks = 0;
  int codebook_size = 0;         // entries a head can choose; embedding tables have one more row
  int special_id = 0;            // start and not-yet, = codebook_size
  std::vector<int> delays;       // per codebook, in steps
  int max_frames = 1500;         // the trained window
  int audio_channels = 1;        // 2: codebooks of left and right take turns
  float embedding_scale = 1.0F;  // sqrt(d) where the checkpoint scales embeddings
  float norm_epsilon = 1e-5F;
};

/// EnCodec (Défossez et al., 2022), the SEANet form of transformers' EncodecModel.
struct CodecConfig {
  int sample_rate = 0;
  int filters = 0;          // channels at the sample rate
  int width = 0;            // latent channels = codebook dimension
  std::vector<int> ratios;  // decoder order (8, 5, 4, 4); the encoder uses them reversed
  int kernel = 7;
  int last_kernel = 7;
  int residual_kernel = 3;
  int residual_layers = 1;
  int dilation_growth = 2;
  int compress = 2;
  int lstm_layers = 2;
  int codebooks = 0;  // of one channel: a stereo decoder has twice as many
  int codebook_size = 0;
  bool causal = false;
  bool conv_shortcut = false;  // 1x1 convolution around a residual block instead of the identity
  PadMode pad_mode = PadMode::reflect;
  float trim_right_ratio = 1.0F;

  int hop() const;            // samples a frame
  double frame_rate() const;  // frames a second
};

/// What a melody model hears in front of its codes: one-hot chroma rows of a recording, then the text (transformers'
/// MusicgenMelodyForConditionalGeneration). It has no cross-attention. Other models have no bins.
struct MelodyConfig {
  int bins = 0;       // pitch classes
  int length = 235;   // chroma rows in the prefix; shorter melodies are repeated, longer ones cut
  int n_fft = 16384;  // samples of a spectrum, at the codec's rate
  int hop = 4096;     // samples from one spectrum to the next
};

struct GenerationDefaults {
  float guidance = 3.0F;
  float temperature = 1.0F;
  int top_k = 250;
  float top_p = 0.0F;
};

struct TokenizerConfig {
  std::string model_proto;  // a serialised SentencePiece ModelProto
  int pad_id = 0;
  int end_id = 1;
  int unknown_id = 2;
};

struct ModelConfig {
  std::string name;     // for people
  std::string license;  // "CC-BY-NC-4.0", ...
  std::string source;   // where it came from
  std::string description;
  T5Config text;
  DecoderConfig decoder;
  CodecConfig codec;
  MelodyConfig melody;
  TokenizerConfig tokenizer;
  GenerationDefaults defaults;
  // Text and chroma go through a linear layer even where they are as wide as the decoder: audiocraft always has one,
  // transformers only where the widths differ.
  bool always_projects = false;

  bool is_melody() const { return melody.bins > 0; }
};

/// MusicGen's pattern: each codebook a step later than the one before it; of a stereo model, each pair.
std::vector<int> default_delays(int codebooks, int audio_channels);

}  // namespace continuo::weights
