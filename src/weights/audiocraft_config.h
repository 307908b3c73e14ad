// The settings of an audiocraft checkpoint, as a ModelConfig.
//
// They stand in the yaml that audiocraft keeps beside the tensors (xp.cfg); what is absent there has the default of audiocraft's
// own classes (LMModel, StreamingTransformer, SEANetEncoder of audiocraft 1.3). What this version cannot run is refused in one
// sentence that names what was found.
#pragma once

#include <string>

#include "base/error.h"
#include "weights/model_config.h"
#include "weights/yaml_text.h"

namespace continuo::weights {

/// The language model's: decoder and melody. Returns the name of the text encoder that it was trained with ("t5-base").
Result<std::string> read_audiocraft_decoder(YamlFields& fields, ModelConfig& config);

/// The compression model's.
Status read_audiocraft_codec(YamlFields& fields, CodecConfig& codec);

/// What follows from both: codebooks a channel, frames of the trained window, length of a melody's prefix. The rest of `config`
/// is complete; the result has passed check_config.
Status join_audiocraft_parts(YamlFields& decoder_fields, ModelConfig& config);

}  // namespace continuo::weights
