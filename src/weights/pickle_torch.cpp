#include "weights/pickle_torch.h"

#include <algorithm>
#include <array>
#include <limits>

#include "weights/element_count.h"

namespace continuo::weights {

namespace {

using Role = TorchGlobal::Role;

constexpr std::size_t rank_max = 8;
constexpr std::size_t key_bytes_max = 64;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

constexpr std::array<TorchGlobal, 14> globals = {{
    {"collections", "OrderedDict", Role::ordered_dict},
    {"torch._utils", "_rebuild_tensor", Role::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v2", Role::rebuild_tensor},
    {"torch._utils", "_rebuild_parameter", Role::rebuild_parameter},
    {"torch", "FloatStorage", Role::storage, "F32", 4},
    {"torch", "HalfStorage", Role::storage, "F16", 2},
    {"torch", "BFloat16Storage", Role::storage, "BF16", 2},
    {"torch", "DoubleStorage", Role::storage, "F64", 8},
    {"torch", "LongStorage", Role::storage, "I64", 8},
    {"torch", "IntStorage", Role::storage, "I32", 4},
    {"torch", "ShortStorage", Role::storage, "I16", 2},
    {"torch", "CharStorage", Role::storage, "I8", 1},
    {"torch", "ByteStorage", Role::storage, "U8", 1},
    {"torch", "BoolStorage", Role::storage, "BOOL", 1},
}};

tl::unexpected<Error> damaged(const char* what) { return fail(ErrorCode::corrupt_file, "{}", what); }

/// A tuple of numbers that are not negative.
std::optional<std::vector<std::int64_t>> sizes_of(const Pickle& pickle, PickleId id) {
  const auto* tuple = pickle.get<PickleTuple>(id);
  if (tuple == nullptr || tuple->items.size() > rank_max) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const PickleId item : tuple->items) {
    const auto* size = pickle.get<std::int64_t>(item);
    if (size == nullptr || *size < 0) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

/// Where the last element stands, in elements of the storage, or nullopt where that overflows. The tensor has elements.
std::optional<std::int64_t> last_position(const TorchTensor& tensor) {
  std::int64_t position = tensor.offset;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::int64_t steps = tensor.shape[i] - 1;
    if (steps == 0 || tensor.stride[i] == 0) continue;
    if (tensor.stride[i] > largest / steps || tensor.stride[i] * steps > largest - position) return std::nullopt;
    position += tensor.stride[i] * steps;
  }
  return position;
}

}  // namespace

std::optional<PickleGlobal> find_torch_global(std::string_view module, std::string_view name) {
  for (std::size_t i = 0; i < globals.size(); ++i) {
    if (globals[i].module == module && globals[i].name == name) return PickleGlobal{i};
  }
  return std::nullopt;
}

const TorchGlobal& torch_global(PickleGlobal global) { return globals[global.index]; }

Result<TorchStorage> storage_of(const Pickle& pickle, PickleId persistent_id) {
  const auto* tuple = pickle.get<PickleTuple>(persistent_id);
  if (tuple == nullptr || tuple->items.size() != 5) return damaged("a persistent id is not a tuple of five");
  const auto* word = pickle.get<std::string_view>(tuple->items[0]);
  if (word == nullptr || *word != "storage") return damaged("a persistent id is not a storage");
  const auto* global = pickle.get<PickleGlobal>(tuple->items[1]);
  if (global == nullptr || torch_global(*global).role != Role::storage) return damaged("a storage has no type");
  const auto* key = pickle.get<std::string_view>(tuple->items[2]);
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (key == nullptr || key->empty() || key->size() > key_bytes_max || !std::all_of(key->begin(), key->end(), plain)) {
    return damaged("the key of a storage is not a short word");
  }
  const auto* elements = pickle.get<std::int64_t>(tuple->items[4]);
  const TorchGlobal& type = torch_global(*global);
  if (elements == nullptr || *elements < 0 || *elements > largest / type.element_bytes) {
    return damaged("a storage has an impossible number of elements");
  }
  return TorchStorage{type.dtype, type.element_bytes, std::string(*key), *elements};
}

Result<TorchTensor> tensor_of(const Pickle& pickle, const PickleTuple& arguments) {
  if (arguments.items.size() < 4 || arguments.items.size() > 7) return damaged("a tensor is made of a wrong number of arguments");
  const auto* storage = pickle.get<PickleStorage>(arguments.items[0]);
  const auto* offset = pickle.get<std::int64_t>(arguments.items[1]);
  auto shape = sizes_of(pickle, arguments.items[2]);
  auto stride = sizes_of(pickle, arguments.items[3]);
  if (storage == nullptr) return damaged("a tensor is made of something that is not a storage");
  if (offset == nullptr || *offset < 0) return damaged("a tensor's offset is not a number from 0");
  if (!shape || !stride || shape->size() != stride->size()) {
    return damaged("a tensor's shape and strides are not two tuples of up to 8 numbers from 0");
  }
  TorchTensor tensor{storage->index, *offset, std::move(*shape), std::move(*stride)};
  const std::int64_t available = pickle.storages()[tensor.storage].elements;
  const auto elements = element_count(tensor.shape);
  if (!elements || *elements > available) return damaged("a tensor's shape has more elements than its storage");
  if (*elements == 0) return tensor;
  const auto last = last_position(tensor);
  if (!last || *last >= available) return damaged("a tensor reaches beyond the end of its storage");
  return tensor;
}

}  // namespace continuo::weights
