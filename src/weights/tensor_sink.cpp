#include "weights/tensor_sink.h"

#include <algorithm>
#include <utility>

#include "weights/encode.h"

namespace continuo::weights {

void TensorSink::start(const std::string& name, DType type) {
  name_ = name;
  type_ = type;
  rest_.clear();
}

Status TensorSink::write(std::span<const float> values) {
  const auto block = static_cast<std::size_t>(block_size(type_).elements);
  if (!rest_.empty()) {
    const auto missing = values.first(std::min(block - rest_.size(), values.size()));
    rest_.insert(rest_.end(), missing.begin(), missing.end());
    values = values.subspan(missing.size());
    if (rest_.size() < block) return {};
    CONTINUO_CHECK(write_blocks(rest_));
    rest_.clear();
  }
  const std::size_t whole = values.size() / block * block;
  const auto tail = values.subspan(whole);
  rest_.assign(tail.begin(), tail.end());
  return write_blocks(values.first(whole));
}

Status TensorSink::write_blocks(std::span<const float> values) {
  if (type_ == DType::f32) return writer_.write_data(file_, std::as_bytes(values));
  const BlockSize block = block_size(type_);
  bytes_.resize(values.size() / static_cast<std::size_t>(block.elements) * static_cast<std::size_t>(block.bytes));
  if (const auto beyond = encode(type_, values, bytes_, threads_)) {
    return fail(ErrorCode::unsupported, "tensor '{}' holds {}, which is beyond the range of {}: convert to f32 instead", name_,
                *beyond, continuo::name_of(type_));
  }
  return writer_.write_data(file_, std::as_const(bytes_));
}

}  // namespace continuo::weights
