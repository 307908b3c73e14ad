// open_model(): a mapped GGUF file becomes a TensorSource once every key and tensor matches what docs/gguf.md demands.

#include <fmt/format.h>

#include <cassert>
#include <functional>
#include <unordered_map>
#include <utility>

#include "weights/config_keys.h"
#include "weights/gguf_file.h"
#include "weights/musicgen_layout.h"
#include "weights/tensor_source.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using ViewsByName = std::unordered_map<std::string, TensorView, TextHash, std::equal_to<>>;

class GgufModel : public TensorSource {
 public:
  GgufModel(GgufFile file, ModelConfig config, ViewsByName views)
      : file_(std::move(file)), config_(std::move(config)), views_(std::move(views)) {}

  const ModelConfig& config() const override { return config_; }
  TensorView tensor(std::string_view name) const override {
    const auto found = views_.find(name);
    assert(found != views_.end() && "the architecture has no such tensor");
    return found == views_.end() ? TensorView{} : found->second;
  }
  bool has(std::string_view name) const override { return views_.find(name) != views_.end(); }
  void release_pages() const override { file_.release_tensors(); }

 private:
  GgufFile file_;
  ModelConfig config_;
  ViewsByName views_;
};

/// ggml writes no dimension of 1 in front of the (row-major) shape: [1, 64, 7] becomes [64, 7].
Shape without_leading_ones(Shape shape) {
  while (shape.rank > 1 && shape[0] == 1) {
    for (std::size_t i = 1; i < max_dims; ++i) shape.dims[i - 1] = shape.dims[i];
    shape.dims[max_dims - 1] = 0;
    --shape.rank;
  }
  return shape;
}

/// Compares the file's tensors with the layout. A matrix or table may have any of our types, whatever the others have: which
/// tensor is worth how many bits is the writer's choice (ours: tensor_types.h). That rows are whole blocks was checked with the
/// header.
class Matcher {
 public:
  explicit Matcher(const GgufFile& file) : path_(file.path()) {
    for (const GgufTensor& tensor : file.tensors()) tensors_.emplace(tensor.name, &tensor);
  }

  Result<TensorView> match(const TensorSpec& spec) {
    const auto found = tensors_.find(spec.name);
    if (found == tensors_.end()) return corrupt("tensor '{}' is missing", spec.name);
    const GgufTensor& tensor = *found->second;
    tensors_.erase(found);
    if (without_leading_ones(tensor.shape) != without_leading_ones(spec.shape)) {
      return corrupt("tensor '{}' has the shape {}, but the keys of the file demand {}", spec.name, tensor.shape.to_string(),
                     spec.shape.to_string());
    }
    CONTINUO_TRY(const DType type, accepted_type(spec, tensor));
    return TensorView{type, spec.shape, tensor.data};
  }

  Status nothing_left() const {
    if (tensors_.empty()) return {};
    return corrupt("tensor '{}' does not belong to this model", printable(tensors_.begin()->first));
  }

 private:
  Result<DType> accepted_type(const TensorSpec& spec, const GgufTensor& tensor) const {
    const auto type = dtype_from_number(tensor.type_number);
    if (spec.always_f32()) {
      if (type == DType::f32) return DType::f32;
      return corrupt("tensor '{}' has the type {}, but must be f32", spec.name, tensor.type.name);
    }
    if (type) return *type;
    return fail(ErrorCode::unsupported, "{}: tensor '{}' has the type {}; f32, f16, bf16, q8_0, q4_0 and q4_k are supported",
                path_, spec.name, tensor.type.name);
  }

  template <class... Args>
  tl::unexpected<Error> corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::corrupt_file, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string path_;
  std::unordered_map<std::string_view, const GgufTensor*> tensors_;
};

}  // namespace

Result<std::unique_ptr<TensorSource>> open_model(const std::string& path) {
  CONTINUO_TRY(GgufFile file, GgufFile::open(path));
  CONTINUO_TRY(ModelConfig config, read_config(file));
  Matcher matcher(file);
  ViewsByName views;
  for (const TensorSpec& spec : musicgen_layout(config)) {
    CONTINUO_TRY(const TensorView view, matcher.match(spec));
    views.emplace(spec.name, view);
  }
  CONTINUO_CHECK(matcher.nothing_left());
  return std::make_unique<GgufModel>(std::move(file), std::move(config), std::move(views));
}

}  // namespace continuo::weights
