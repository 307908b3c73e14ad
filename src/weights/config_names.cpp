#include "weights/config_names.h"

namespace continuo::weights {

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::relu: return "relu";
    case Activation::gelu_erf: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::none:
    case Activation::elu: break;  // not a choice that a file has
  }
  return "unknown";
}

std::optional<Activation> activation_from_name(std::string_view name) {
  for (const Activation value : {Activation::relu, Activation::gelu_erf, Activation::gelu_tanh}) {
    if (name_of(value) == name) return value;
  }
  return std::nullopt;
}

std::string_view name_of(PadMode mode) {
  switch (mode) {
    case PadMode::constant: return "constant";
    case PadMode::reflect: return "reflect";
    case PadMode::replicate: return "replicate";
  }
  return "unknown";
}

std::optional<PadMode> pad_mode_from_name(std::string_view name) {
  for (const PadMode value : {PadMode::constant, PadMode::reflect, PadMode::replicate}) {
    if (name_of(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace continuo::weights
