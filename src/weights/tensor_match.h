// Finds each tensor of a layout (docs/gguf.md) in a checkpoint, by a table of the checkpoint's own names.
//
// Every tensor is compared with what the config demands, so that parts of different models never meet in one file: a missing
// tensor, another shape, or one that the config knows nothing of is refused by name. Weight norm is folded as the tensors are
// read; of a fused tensor the part that is asked for is read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "weights/checkpoint_tensors.h"
#include "weights/musicgen_layout.h"

namespace continuo::weights {

/// Where a tensor stands in a checkpoint.
struct SourceTensor {
  std::string name;  // of a weight-normed one, without ".weight"
  bool weight_norm = false;
  std::string other_name = {};  // where it stands if not there; empty: nowhere
  int part = 0;                 // of `parts` equal ones along dimension 0
  int parts = 1;
};
using SourceNames = std::unordered_map<std::string, SourceTensor>;  // by our name

class TensorMatch {
 public:
  /// `where` (a path) begins a message, `config` says in it what demands the tensors. `leftover` says of what the layout does
  /// not need whether it may be there. Specs without a name in `names` belong to another checkpoint and are passed over.
  static Result<TensorMatch> match(CheckpointTensors tensors, const std::string& where, const std::string& config,
                                   const std::vector<TensorSpec>& specs, const SourceNames& names,
                                   const std::function<bool(std::string_view)>& leftover);

  bool has(const TensorSpec& spec) const { return places_.contains(spec.name); }
  /// Hands the tensor's values to `sink` in order, in pieces of at most a few megabytes (a weight-normed tensor at once). A
  /// value that is not finite is an error that names the tensor. has(spec) is true.
  Status stream(const TensorSpec& spec, const CheckpointTensors::Sink& sink) const;

 private:
  /// One entry or a part of it, or two that are folded into one.
  struct Place {
    std::string name;
    std::string gain;  // of a weight-normed tensor, else empty
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  using Unused = std::unordered_map<std::string_view, const CheckpointEntry*>;

  Result<Place> find(const TensorSpec& spec, const SourceTensor& source, Unused& unused) const;
  Result<Place> find_normed(const TensorSpec& spec, const SourceTensor& source, Unused& unused) const;
  bool use(const std::string& name, Unused& unused) const;
  Status expect(const std::string& name, const Shape& shape) const;

  CheckpointTensors tensors_;
  std::string where_;
  std::string config_;
  std::unordered_map<std::string, Place> places_;  // by our name
};

}  // namespace continuo::weights
