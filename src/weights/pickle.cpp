#include "weights/pickle.h"

#include "weights/element_count.h"
#include "weights/pickle_machine.h"
#include "weights/text_check.h"

namespace continuo::weights {

std::int64_t TorchTensor::elements() const {
  return element_count(shape).value_or(0);  // tensor_of() refused what has no count
}

bool TorchTensor::contiguous() const {
  if (elements() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

Result<Pickle> Pickle::parse(std::vector<char> bytes) {
  Pickle pickle;
  pickle.bytes_ = std::move(bytes);
  PickleMachine machine(pickle);
  CONTINUO_TRY(pickle.root_, machine.run());
  return pickle;
}

std::optional<PickleId> Pickle::find(PickleId id, std::string_view key) const {
  const auto* dict = get<PickleDict>(id);
  if (dict == nullptr) return std::nullopt;
  for (auto item = dict->items.rbegin(); item != dict->items.rend(); ++item) {
    const auto* text = get<std::string_view>(item->first);
    if (text != nullptr && *text == key) return item->second;
  }
  return std::nullopt;
}

Result<std::map<std::string, std::size_t, std::less<>>> Pickle::named_tensors(PickleId id) const {
  const auto* dict = get<PickleDict>(id);
  if (dict == nullptr) return fail(ErrorCode::corrupt_file, "it does not hold a dictionary of tensors");
  std::map<std::string, std::size_t, std::less<>> named;
  for (const auto& [key, value] : dict->items) {
    const auto* name = get<std::string_view>(key);
    if (name == nullptr) return fail(ErrorCode::corrupt_file, "a tensor's name is not a text");
    const auto* tensor = get<PickleTensor>(value);
    if (tensor == nullptr) return fail(ErrorCode::corrupt_file, "'{}' is not a tensor", printable(*name));
    if (!named.emplace(*name, tensor->index).second) {
      return fail(ErrorCode::corrupt_file, "tensor '{}' occurs twice", printable(*name));
    }
  }
  return named;
}

}  // namespace continuo::weights
