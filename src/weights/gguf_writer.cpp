#include "weights/gguf_writer.h"

#include <array>
#include <set>

// Only libggml-base is used here: it has no instructions beyond the machine's baseline, unlike ggml's CPU back-end.
#include <ggml.h>
#include <gguf.h>

namespace continuo::weights {

namespace {

constexpr std::size_t alignment = GGUF_DEFAULT_ALIGNMENT;

struct Announced {
  std::string name;
  DType type;
  Shape shape;
  std::size_t bytes;
};

struct FreeGguf {
  void operator()(gguf_context* context) const { gguf_free(context); }
};
struct FreeGgml {
  void operator()(ggml_context* context) const { ggml_free(context); }
};

}  // namespace

struct GgufWriter::Impl {
  std::unique_ptr<gguf_context, FreeGguf> gguf{gguf_init_empty()};
  std::vector<Announced> tensors;
  std::set<std::string> names;
  std::size_t current = 0;  // tensor being written
  std::size_t written = 0;  // bytes of it
};

GgufWriter::GgufWriter() : impl_(std::make_unique<Impl>()) {}
GgufWriter::GgufWriter(GgufWriter&&) noexcept = default;
GgufWriter& GgufWriter::operator=(GgufWriter&&) noexcept = default;
GgufWriter::~GgufWriter() = default;

void GgufWriter::set(const char* key, std::uint32_t value) { gguf_set_val_u32(impl_->gguf.get(), key, value); }
void GgufWriter::set(const char* key, float value) { gguf_set_val_f32(impl_->gguf.get(), key, value); }
void GgufWriter::set(const char* key, bool value) { gguf_set_val_bool(impl_->gguf.get(), key, value); }
void GgufWriter::set(const char* key, const std::string& value) { gguf_set_val_str(impl_->gguf.get(), key, value.c_str()); }
void GgufWriter::set(const char* key, const std::vector<int>& values) {
  gguf_set_arr_data(impl_->gguf.get(), key, GGUF_TYPE_INT32, values.data(), values.size());
}
void GgufWriter::set_bytes(const char* key, const std::string& bytes) {
  gguf_set_arr_data(impl_->gguf.get(), key, GGUF_TYPE_UINT8, bytes.data(), bytes.size());
}

Status GgufWriter::add_tensor(const std::string& name, DType type, const Shape& shape) {
  const auto bytes = tensor_bytes(type, shape);
  if (!bytes || name.empty() || name.size() >= GGML_MAX_NAME || !impl_->names.insert(name).second) {
    return fail(ErrorCode::invalid_argument, "cannot write a tensor named '{}' of shape {}", name, shape.to_string());
  }
  impl_->tensors.push_back({name, type, shape, static_cast<std::size_t>(*bytes)});
  return {};
}

Status GgufWriter::begin(AtomicFile& file) {
  const ggml_init_params params{
      .mem_size = ggml_tensor_overhead() * (impl_->tensors.size() + 1), .mem_buffer = nullptr, .no_alloc = true};
  const std::unique_ptr<ggml_context, FreeGgml> context(ggml_init(params));
  if (context == nullptr) return fail(ErrorCode::io, "cannot write {}: out of memory for the header", file.path());
  for (const Announced& tensor : impl_->tensors) {
    std::array<std::int64_t, GGML_MAX_DIMS> ne{1, 1, 1, 1};
    for (int i = 0; i < tensor.shape.rank; ++i) ne[static_cast<std::size_t>(i)] = tensor.shape[tensor.shape.rank - 1 - i];
    ggml_tensor* made = ggml_new_tensor(context.get(), static_cast<ggml_type>(tensor.type), GGML_MAX_DIMS, ne.data());
    ggml_set_name(made, tensor.name.c_str());
    gguf_add_tensor(impl_->gguf.get(), made);
  }
  std::vector<std::byte> header(gguf_get_meta_size(impl_->gguf.get()));
  gguf_get_meta_data(impl_->gguf.get(), header.data());
  return file.write(header);
}

Status GgufWriter::write_data(AtomicFile& file, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (impl_->current >= impl_->tensors.size() || bytes.size() > impl_->tensors[impl_->current].bytes - impl_->written) {
    return fail(ErrorCode::invalid_argument, "cannot write {}: more data than was announced", file.path());
  }
  CONTINUO_CHECK(file.write(bytes));
  impl_->written += bytes.size();
  const std::size_t size = impl_->tensors[impl_->current].bytes;
  if (impl_->written < size) return {};
  static constexpr std::array<std::byte, alignment> zeros{};
  CONTINUO_CHECK(file.write(std::span(zeros).first((alignment - size % alignment) % alignment)));
  ++impl_->current;
  impl_->written = 0;
  return {};
}

Status GgufWriter::finish() {
  if (impl_->current == impl_->tensors.size()) return {};
  return fail(ErrorCode::invalid_argument, "the data of tensor '{}' is incomplete", impl_->tensors[impl_->current].name);
}

}  // namespace continuo::weights
