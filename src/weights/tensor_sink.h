// Writes tensors value by value as a checkpoint hands them out: in pieces of any length, which need not end where a block does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "weights/gguf_writer.h"

namespace continuo::weights {

class TensorSink {
 public:
  TensorSink(GgufWriter& writer, AtomicFile& file, ThreadPool& threads) : writer_(writer), file_(file), threads_(threads) {}

  /// The tensor that the next values belong to, in the order in which the writer knows them.
  void start(const std::string& name, DType type);
  /// Refuses values beyond the type's range, naming the tensor.
  Status write(std::span<const float> values);

 private:
  Status write_blocks(std::span<const float> values);

  GgufWriter& writer_;
  AtomicFile& file_;
  ThreadPool& threads_;
  std::string name_;
  DType type_ = DType::f32;
  std::vector<float> rest_;  // of a block that is not complete yet
  std::vector<std::byte> bytes_;
};

}  // namespace continuo::weights
