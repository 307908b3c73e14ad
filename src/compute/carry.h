// What a layer remembers of a signal between two calls, so that a signal can come in pieces.
#pragma once

#include <cstdint>

namespace continuo::compute {

/// Rows [rows, columns] that outlive a pass: the last inputs of a convolution, or an LSTM's hidden and cell state. Belongs to one
/// signal, not to the executor; it may be dropped at any time, before its executor. Opaque: the bytes lie where the executor
/// that made it computes, and only its operators read and write them.
class Carry {
 public:
  Carry(std::int64_t columns, std::int64_t rows, std::int64_t capacity) : columns_(columns), rows_(rows), capacity_(capacity) {}
  virtual ~Carry() = default;

  std::int64_t columns() const { return columns_; }
  /// Rows held now.
  std::int64_t rows() const { return rows_; }
  std::int64_t capacity() const { return capacity_; }
  virtual std::int64_t bytes() const = 0;

 protected:
  std::int64_t columns_;
  std::int64_t rows_;
  std::int64_t capacity_;
};

}  // namespace continuo::compute
