// A small checkpoint in audiocraft's layout, the twin of SmallCheckpoint, which a test may change before it is written.
#pragma once

#include <string>
#include <vector>

#include "weights/checkpoint_model.h"
#include "weights/torch_fixtures_test.h"

namespace continuo::weights::testing {

struct SmallAudiocraft {
  std::string decoder_yaml, codec_yaml;
  Tensors decoder, codec;
  SmallCheckpoint twin;  // its text encoder is the T5 folder

  /// Of small_config(), or a variation of it; the settings (yaml) are always small_config()'s.
  explicit SmallAudiocraft(const ModelConfig& config = small_config());
  /// The two files in `folder`, the text encoder in `folder`/t5.
  void write(const std::string& folder) const;
};

/// A file {"best_state": tensors, "xp.cfg": yaml}.
std::string audiocraft_file(const Tensors& tensors, const std::string& yaml);

/// Twelve classes of pitch in front of the codes, from spectra of 256 samples.
void make_melody(SmallAudiocraft& checkpoint);

/// A tensor of the model that somebody opened.
std::vector<float> values_of(const CheckpointModel& model, const TensorSpec& spec);

/// Replaces a piece of text that must be there.
void replace_in(std::string& text, const std::string& from, const std::string& to);

}  // namespace continuo::weights::testing
