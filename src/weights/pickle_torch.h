// The names a torch checkpoint may refer to, and what the ones that are called make of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "weights/pickle.h"

namespace continuo::weights {

struct TorchGlobal {
  enum class Role { ordered_dict, rebuild_tensor, rebuild_parameter, storage };
  std::string_view module;
  std::string_view name;
  Role role = Role::storage;
  std::string_view dtype = {};  // of a storage, in safetensors' words
  std::int64_t element_bytes = 0;
};

/// nullopt for a name that is none of torch's own plain ones.
std::optional<PickleGlobal> find_torch_global(std::string_view module, std::string_view name);
const TorchGlobal& torch_global(PickleGlobal global);

/// What a persistent id names: ("storage", type, key, location, elements). The location (a device) is of no concern.
Result<TorchStorage> storage_of(const Pickle& pickle, PickleId persistent_id);

/// The arguments of torch._utils._rebuild_tensor and _rebuild_tensor_v2: storage, offset, shape, stride, and what does not
/// change the numbers. The result's geometry has been checked (see TorchTensor).
Result<TorchTensor> tensor_of(const Pickle& pickle, const PickleTuple& arguments);

}  // namespace continuo::weights
