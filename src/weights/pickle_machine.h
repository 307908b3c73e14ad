// The stack machine of the pickle format (Python's pickletools documents it), reduced to what torch.save emits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "weights/byte_cursor.h"
#include "weights/pickle.h"

namespace continuo::weights {

class PickleMachine {
 public:
  /// Reads pickle's bytes and fills in the rest of it.
  explicit PickleMachine(Pickle& pickle);
  /// The number of the value that the pickle stands for.
  Result<PickleId> run();

 private:
  Status step(std::uint8_t opcode);
  Status push(PickleValue value);
  Status push_number(std::uint8_t opcode);
  Status push_text(std::uint64_t length);
  Status push_global(std::string_view module, std::string_view name);
  Status push_long();
  Status push_float();
  Status mark();
  Status tuple(std::size_t count);
  Status append(std::size_t count);
  Status set_items(std::size_t count);
  Status remember(std::uint32_t slot);
  Status recall(std::uint32_t slot);
  Status global_of_lines();
  Status global_of_stack();
  Status storage();
  Status reduce();
  Status build();

  Result<PickleId> pop();
  Result<std::size_t> pop_mark();  // how many values stand above it
  Result<std::span<const PickleId>> top(std::size_t count) const;
  Result<std::string_view> line();
  template <class T>
  Result<T> number();
  /// A container gets a value in it; both keep their depth.
  Status nest(PickleId container, PickleId inside);
  template <class... Args>
  tl::unexpected<Error> complain(fmt::format_string<Args...> format, Args&&... args) const;

  Pickle& pickle_;
  ByteCursor cursor_;
  std::size_t at_ = 0;  // of the current opcode, for messages
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, PickleId> memo_;
  std::vector<std::uint8_t> depths_;  // by value: how many containers deep it goes
};

}  // namespace continuo::weights
