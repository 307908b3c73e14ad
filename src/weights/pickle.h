// The pickle inside a torch archive, read as data: it is interpreted, never executed.
//
// Only what torch.save writes for plain checkpoints is understood: dictionaries, lists, tuples, strings, numbers, and tensors
// by way of a fixed list of names (pickle_torch.h). Any other name or opcode is refused by name. Values are numbered and
// refer to one another by number, so shared and even cyclic values cost nothing; each opcode makes at most one of them, which
// keeps memory linear in the pickle's size. Nothing here recurses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace continuo::weights {

/// The number of a value in its Pickle.
using PickleId = std::uint32_t;

struct PickleNone {};
struct PickleList {
  std::vector<PickleId> items;
};
struct PickleTuple {
  std::vector<PickleId> items;
};
struct PickleDict {
  std::vector<std::pair<PickleId, PickleId>> items;  // in the order of the file; a key may occur again
};
/// A known name: a function or class of torch_globals.
struct PickleGlobal {
  std::size_t index = 0;
};
/// Numbers of Pickle::storages() and Pickle::tensors().
struct PickleStorage {
  std::size_t index = 0;
};
struct PickleTensor {
  std::size_t index = 0;
};

/// Text is a view into the pickle's bytes.
using PickleValue = std::variant<PickleNone, bool, std::int64_t, double, std::string_view, PickleList, PickleTuple, PickleDict,
                                 PickleGlobal, PickleStorage, PickleTensor>;

/// A run of elements in the archive, data/<key>.
struct TorchStorage {
  std::string_view dtype;  // in safetensors' words: "F32"
  std::int64_t element_bytes = 0;
  std::string key;
  std::int64_t elements = 0;
};

/// A view of a storage. Every element lies inside it, and there are no more elements than the storage has.
struct TorchTensor {
  std::size_t storage = 0;
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // in elements

  std::int64_t elements() const;
  /// True if the elements stand in row-major order without gaps.
  bool contiguous() const;
};

class Pickle {
 public:
  /// The message of an error says what is wrong and leaves naming the file to the caller.
  static Result<Pickle> parse(std::vector<char> bytes);
  /// Holds nothing, not even a root.
  Pickle() = default;
  Pickle(Pickle&&) noexcept = default;
  Pickle& operator=(Pickle&&) noexcept = default;

  PickleId root() const { return root_; }
  /// nullptr if the value is of another kind.
  template <class T>
  const T* get(PickleId id) const {
    return std::get_if<T>(&values_[id]);
  }
  /// The value of a text key; nullopt if `id` is no dictionary or has no such key. The last one counts, as in Python.
  std::optional<PickleId> find(PickleId id, std::string_view key) const;

  const std::vector<TorchStorage>& storages() const { return storages_; }
  const std::vector<TorchTensor>& tensors() const { return tensors_; }

  /// A dictionary of tensors by name, by their numbers. Refuses other values in it and names that occur twice.
  Result<std::map<std::string, std::size_t, std::less<>>> named_tensors(PickleId dict) const;

 private:
  friend class PickleMachine;

  std::vector<char> bytes_;  // values hold views into it, which a moved vector keeps valid
  std::vector<PickleValue> values_;
  std::vector<TorchStorage> storages_;
  std::vector<TorchTensor> tensors_;
  PickleId root_ = 0;
};

}  // namespace continuo::weights
