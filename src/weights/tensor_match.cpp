#include "weights/tensor_match.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "weights/text_check.h"
#include "weights/weight_norm.h"

namespace continuo::weights {

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

Result<TensorMatch> TensorMatch::match(CheckpointTensors tensors, const std::string& where, const std::string& config,
                                       const std::vector<TensorSpec>& specs, const SourceNames& names,
                                       const std::function<bool(std::string_view)>& leftover) {
  TensorMatch match;
  match.tensors_ = std::move(tensors);
  match.where_ = where;
  match.config_ = config;
  Unused unused;
  for (const auto& [name, entry] : match.tensors_.entries()) unused.emplace(name, &entry);
  for (const TensorSpec& spec : specs) {
    const auto source = names.find(spec.name);
    if (source == names.end()) continue;
    CONTINUO_TRY(Place place, match.find(spec, source->second, unused));
    match.places_.emplace(spec.name, std::move(place));
  }
  std::string_view stranger;  // the first by name, so that the message is the same every time
  for (const auto& [name, entry] : unused) {
    if (!leftover(name) && (stranger.empty() || name < stranger)) stranger = name;
  }
  if (stranger.empty()) return match;
  return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is not part of the model that {} describes", where, printable(stranger),
              config);
}

/// True if the tensor is there. A fused tensor is used once for each of its parts.
bool TensorMatch::use(const std::string& name, Unused& unused) const {
  unused.erase(name);
  return tensors_.entries().contains(name);
}

Result<TensorMatch::Place> TensorMatch::find(const TensorSpec& spec, const SourceTensor& source, Unused& unused) const {
  if (source.weight_norm && !use(source.name + ".weight", unused)) return find_normed(spec, source, unused);
  Place place;
  place.name = source.weight_norm ? source.name + ".weight" : source.name;
  if (!use(place.name, unused)) {
    if (source.other_name.empty() || !use(source.other_name, unused)) {
      return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is missing, which {} demands", where_, place.name, config_);
    }
    place.name = source.other_name;
  }
  Shape whole = spec.shape;
  whole.dims[0] *= source.parts;
  CONTINUO_CHECK(expect(place.name, whole));
  place.count = static_cast<std::uint64_t>(spec.shape.elements());
  place.first = place.count * static_cast<std::uint64_t>(source.part);
  return place;
}

Result<TensorMatch::Place> TensorMatch::find_normed(const TensorSpec& spec, const SourceTensor& source, Unused& unused) const {
  static constexpr std::array<std::pair<const char*, const char*>, 2> forms = {
      {{".weight_v", ".weight_g"}, {".parametrizations.weight.original1", ".parametrizations.weight.original0"}}};
  for (const auto& [v, g] : forms) {
    if (!use(source.name + v, unused)) continue;
    const Place place{source.name + v, source.name + g};
    if (!use(place.gain, unused)) return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is missing", where_, place.gain);
    CONTINUO_CHECK(expect(place.gain, Shape{spec.shape[0], 1, 1}));
    CONTINUO_CHECK(expect(place.name, spec.shape));
    return place;
  }
  return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is missing, which {} demands", where_, source.name + ".weight", config_);
}

Status TensorMatch::expect(const std::string& name, const Shape& shape) const {
  const CheckpointEntry& entry = tensors_.entries().find(name)->second;
  const std::vector<std::int64_t> wanted(shape.dims.begin(), shape.dims.begin() + shape.rank);
  if (entry.shape != wanted) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' has the shape {}, but {} demands {}", where_, name,
                shape_text(entry.shape), config_, shape.to_string());
  }
  if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16") {
    return fail(ErrorCode::unsupported, "{}: tensor '{}' has the type {}; F32, F16 and BF16 are supported", where_, name,
                entry.dtype);
  }
  return {};
}

Status TensorMatch::stream(const TensorSpec& spec, const CheckpointTensors::Sink& sink) const {
  const auto found = places_.find(spec.name);
  assert(found != places_.end());
  const Place& place = found->second;
  const CheckpointTensors::Sink checked = [&](std::span<const float> values) -> Status {
    if (finite(values)) return sink(values);
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' holds values that are not finite numbers", where_, place.name);
  };
  if (place.gain.empty()) return tensors_.stream(place.name, place.first, place.count, checked);
  CONTINUO_TRY(auto values, tensors_.read(place.name));
  CONTINUO_TRY(const auto gains, tensors_.read(place.gain));
  fold_weight_norm(values, gains);
  return checked(values);
}

}  // namespace continuo::weights
