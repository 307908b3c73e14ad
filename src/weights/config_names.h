// The words that stand for choices in a model file (docs/gguf.md).
#pragma once

#include <optional>
#include <string_view>

#include "weights/model_config.h"

namespace continuo::weights {

std::string_view name_of(Activation activation);
std::optional<Activation> activation_from_name(std::string_view name);
std::string_view name_of(PadMode mode);
std::optional<PadMode> pad_mode_from_name(std::string_view name);

}  // namespace continuo::weights
