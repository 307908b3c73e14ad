#include "weights/pickle_machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "weights/pickle_opcodes.h"
#include "weights/pickle_torch.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

// The largest published checkpoint has some thousand tensors, each of which takes about twenty values.
constexpr std::size_t values_max = std::size_t{1} << 20;
constexpr std::size_t stack_max = std::size_t{1} << 20;
constexpr std::size_t marks_max = 64;
constexpr std::uint8_t depth_max = 64;
constexpr std::size_t tensors_max = std::size_t{1} << 16;
constexpr std::size_t line_bytes_max = 256;

}  // namespace

template <class... Args>
tl::unexpected<Error> PickleMachine::complain(fmt::format_string<Args...> format, Args&&... args) const {
  return fail(ErrorCode::corrupt_file, "{} (byte {} of its pickle)", fmt::format(format, std::forward<Args>(args)...), at_);
}

PickleMachine::PickleMachine(Pickle& pickle) : pickle_(pickle), cursor_(std::as_bytes(std::span(pickle.bytes_))) {}

Result<PickleId> PickleMachine::run() {
  for (;;) {
    at_ = cursor_.position();
    CONTINUO_TRY(const auto opcode, number<std::uint8_t>());
    if (opcode != op_stop) {
      CONTINUO_CHECK(step(opcode));
      continue;
    }
    if (stack_.size() != 1 || !marks_.empty()) return complain("it ends with {} values instead of one", stack_.size());
    return stack_.front();
  }
}

Status PickleMachine::step(std::uint8_t opcode) {
  const auto with_mark = [&](Status (PickleMachine::*act)(std::size_t)) -> Status {
    CONTINUO_TRY(const std::size_t count, pop_mark());
    return (this->*act)(count);
  };
  const auto with_slot = [&]<class T>(T, Status (PickleMachine::*act)(std::uint32_t)) -> Status {
    CONTINUO_TRY(const T slot, number<T>());
    return (this->*act)(slot);
  };
  const auto with_length = [&]<class T>(T) -> Status {
    CONTINUO_TRY(const T length, number<T>());
    return push_text(length);
  };
  switch (opcode) {
    case op_proto: {
      CONTINUO_TRY(const auto version, number<std::uint8_t>());
      if (version < 2 || version > 5) return complain("its pickle has the version {}; 2 to 5 are supported", version);
      return {};
    }
    case op_frame: return number<std::uint64_t>().map([](std::uint64_t) {});  // a hint for readers of streams
    case op_none: return push(PickleNone{});
    case op_newtrue: return push(true);
    case op_newfalse: return push(false);
    case op_binint:
    case op_binint1:
    case op_binint2: return push_number(opcode);
    case op_long1: return push_long();
    case op_binfloat: return push_float();
    case op_short_binstring:
    case op_short_binunicode: return with_length(std::uint8_t{});
    case op_binunicode: return with_length(std::uint32_t{});
    case op_empty_list: return push(PickleList{});
    case op_empty_dict: return push(PickleDict{});
    case op_empty_tuple: return push(PickleTuple{});
    case op_mark: return mark();
    case op_tuple: return with_mark(&PickleMachine::tuple);
    case op_tuple1: return tuple(1);
    case op_tuple2: return tuple(2);
    case op_tuple3: return tuple(3);
    case op_append: return append(1);
    case op_appends: return with_mark(&PickleMachine::append);
    case op_setitem: return set_items(2);
    case op_setitems: return with_mark(&PickleMachine::set_items);
    case op_binput: return with_slot(std::uint8_t{}, &PickleMachine::remember);
    case op_long_binput: return with_slot(std::uint32_t{}, &PickleMachine::remember);
    case op_memoize: return remember(static_cast<std::uint32_t>(memo_.size()));
    case op_binget: return with_slot(std::uint8_t{}, &PickleMachine::recall);
    case op_long_binget: return with_slot(std::uint32_t{}, &PickleMachine::recall);
    case op_global: return global_of_lines();
    case op_stack_global: return global_of_stack();
    case op_binpersid: return storage();
    case op_reduce: return reduce();
    case op_build: return build();
    default:
      return complain("its pickle has the opcode 0x{:02X}, which a plain checkpoint does not need; nothing of it was executed",
                      opcode);
  }
}

template <class T>
Result<T> PickleMachine::number() {
  const auto value = cursor_.number<T>();
  if (!value) return complain("its pickle is truncated");
  return *value;
}

Status PickleMachine::push(PickleValue value) {
  if (pickle_.values_.size() >= values_max) return complain("its pickle has more than {} values", values_max);
  if (stack_.size() >= stack_max) return complain("its pickle stacks more than {} values", stack_max);
  stack_.push_back(static_cast<PickleId>(pickle_.values_.size()));
  pickle_.values_.push_back(std::move(value));
  depths_.push_back(0);
  return {};
}

Status PickleMachine::push_number(std::uint8_t opcode) {
  if (opcode == op_binint1) return number<std::uint8_t>().and_then([&](auto value) { return push(std::int64_t{value}); });
  if (opcode == op_binint2) return number<std::uint16_t>().and_then([&](auto value) { return push(std::int64_t{value}); });
  return number<std::int32_t>().and_then([&](auto value) { return push(std::int64_t{value}); });
}

Status PickleMachine::push_long() {
  CONTINUO_TRY(const auto length, number<std::uint8_t>());
  const auto bytes = cursor_.take(length);
  if (!bytes) return complain("its pickle is truncated");
  if (length > sizeof(std::int64_t)) return complain("its pickle holds a number of {} bytes; 8 are accepted", length);
  const bool negative = length > 0 && (bytes->back() & std::byte{0x80}) != std::byte{0};
  std::int64_t value = negative ? -1 : 0;
  std::memcpy(&value, bytes->data(), length);
  return push(value);
}

Status PickleMachine::push_float() {
  CONTINUO_TRY(auto bits, number<std::uint64_t>());
  auto* bytes = reinterpret_cast<std::byte*>(&bits);
  std::reverse(bytes, bytes + sizeof(bits));  // the one big-endian number of the format
  return push(std::bit_cast<double>(bits));
}

Status PickleMachine::push_text(std::uint64_t length) {
  const auto bytes = cursor_.take(length);
  if (!bytes) return complain("its pickle is truncated");
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (!valid_utf8(text)) return complain("its pickle holds a text that is not UTF-8");
  return push(text);
}

Status PickleMachine::push_global(std::string_view module, std::string_view name) {
  const auto global = find_torch_global(module, name);
  if (global) return push(*global);
  return complain("its pickle refers to '{}.{}', which a plain checkpoint of tensors does not need; nothing of it was executed",
                  printable(module), printable(name));
}

Status PickleMachine::mark() {
  if (marks_.size() >= marks_max) return complain("its pickle is nested more than {} deep", marks_max);
  marks_.push_back(stack_.size());
  return {};
}

Result<std::size_t> PickleMachine::pop_mark() {
  if (marks_.empty()) return complain("its pickle closes something that it did not open");
  const std::size_t count = stack_.size() - marks_.back();
  marks_.pop_back();
  return count;
}

Result<PickleId> PickleMachine::pop() {
  CONTINUO_TRY(const auto values, top(1));
  const PickleId id = values[0];
  stack_.pop_back();
  return id;
}

Result<std::span<const PickleId>> PickleMachine::top(std::size_t count) const {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) return complain("its pickle takes a value from an empty stack");
  return std::span(stack_).last(count);
}

Status PickleMachine::nest(PickleId container, PickleId inside) {
  const auto depth = static_cast<std::uint8_t>(depths_[inside] + 1);
  if (depth > depth_max) return complain("its pickle is nested more than {} deep", depth_max);
  depths_[container] = std::max(depths_[container], depth);
  return {};
}

Status PickleMachine::tuple(std::size_t count) {
  CONTINUO_TRY(const auto items, top(count));
  PickleTuple made{{items.begin(), items.end()}};
  stack_.resize(stack_.size() - count);
  const auto id = static_cast<PickleId>(pickle_.values_.size());
  CONTINUO_CHECK(push(std::move(made)));
  for (const PickleId item : std::get<PickleTuple>(pickle_.values_[id]).items) CONTINUO_CHECK(nest(id, item));
  return {};
}

Status PickleMachine::append(std::size_t count) {
  CONTINUO_TRY(const auto items, top(count + 1));
  auto* list = std::get_if<PickleList>(&pickle_.values_[items[0]]);
  if (list == nullptr) return complain("its pickle appends to something that is not a list");
  for (const PickleId item : items.subspan(1)) CONTINUO_CHECK(nest(items[0], item));
  list->items.insert(list->items.end(), items.begin() + 1, items.end());
  stack_.resize(stack_.size() - count);
  return {};
}

Status PickleMachine::set_items(std::size_t count) {
  CONTINUO_TRY(const auto items, top(count + 1));
  auto* dict = std::get_if<PickleDict>(&pickle_.values_[items[0]]);
  if (dict == nullptr) return complain("its pickle puts items into something that is not a dictionary");
  if (count % 2 != 0) return complain("its pickle has a key without a value");
  for (std::size_t i = 1; i <= count; i += 2) {
    CONTINUO_CHECK(nest(items[0], items[i + 1]));
    dict->items.emplace_back(items[i], items[i + 1]);
  }
  stack_.resize(stack_.size() - count);
  return {};
}

Status PickleMachine::remember(std::uint32_t slot) {
  CONTINUO_TRY(const auto values, top(1));
  if (memo_.size() >= values_max) return complain("its pickle keeps more than {} values", values_max);
  memo_[slot] = values[0];
  return {};
}

Status PickleMachine::recall(std::uint32_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end()) return complain("its pickle recalls the value {}, which it did not keep", slot);
  if (stack_.size() >= stack_max) return complain("its pickle stacks more than {} values", stack_max);
  stack_.push_back(found->second);
  return {};
}

Result<std::string_view> PickleMachine::line() {
  const std::size_t start = cursor_.position();
  for (std::size_t length = 0; length <= line_bytes_max; ++length) {
    CONTINUO_TRY(const auto character, number<char>());
    if (character == '\n') return std::string_view(pickle_.bytes_.data() + start, length);
  }
  return complain("its pickle has a name of more than {} bytes", line_bytes_max);
}

Status PickleMachine::global_of_lines() {
  CONTINUO_TRY(const auto module, line());
  CONTINUO_TRY(const auto name, line());
  return push_global(module, name);
}

Status PickleMachine::global_of_stack() {
  CONTINUO_TRY(const auto values, top(2));
  const auto* module = pickle_.get<std::string_view>(values[0]);
  const auto* name = pickle_.get<std::string_view>(values[1]);
  if (module == nullptr || name == nullptr) return complain("its pickle has a name that is not a text");
  stack_.resize(stack_.size() - 2);
  return push_global(*module, *name);
}

Status PickleMachine::storage() {
  CONTINUO_TRY(const PickleId id, pop());
  auto made = storage_of(pickle_, id);
  if (!made) return complain("{}", made.error().message);
  if (pickle_.storages_.size() >= tensors_max) return complain("it has more than {} tensors", tensors_max);
  pickle_.storages_.push_back(std::move(*made));
  return push(PickleStorage{pickle_.storages_.size() - 1});
}

Status PickleMachine::reduce() {
  using Role = TorchGlobal::Role;
  CONTINUO_TRY(const auto values, top(2));
  const auto* global = pickle_.get<PickleGlobal>(values[0]);
  const auto* arguments = pickle_.get<PickleTuple>(values[1]);
  if (global == nullptr || arguments == nullptr) return complain("its pickle calls something that is not a function");
  stack_.resize(stack_.size() - 2);
  switch (torch_global(*global).role) {
    case Role::ordered_dict:
      if (!arguments->items.empty()) return complain("an OrderedDict is made in an unusual way");
      return push(PickleDict{});
    case Role::rebuild_tensor: {
      auto made = tensor_of(pickle_, *arguments);
      if (!made) return complain("{}", made.error().message);
      if (pickle_.tensors_.size() >= tensors_max) return complain("it has more than {} tensors", tensors_max);
      pickle_.tensors_.push_back(std::move(*made));
      return push(PickleTensor{pickle_.tensors_.size() - 1});
    }
    case Role::rebuild_parameter:
      if (arguments->items.empty() || pickle_.get<PickleTensor>(arguments->items[0]) == nullptr) {
        return complain("a parameter is made of something that is not a tensor");
      }
      return push(*pickle_.get<PickleTensor>(arguments->items[0]));
    case Role::storage: break;
  }
  return complain("its pickle calls '{}.{}', which is a type", torch_global(*global).module, torch_global(*global).name);
}

/// Attributes of an OrderedDict (a state_dict's _metadata), which say nothing about the tensors.
Status PickleMachine::build() {
  CONTINUO_TRY(const auto values, top(2));
  if (pickle_.get<PickleDict>(values[0]) == nullptr) return complain("its pickle gives attributes to something unexpected");
  stack_.pop_back();
  return {};
}

}  // namespace continuo::weights
