#include "weights/gguf_file.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "weights/byte_cursor.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

namespace limits = gguf_limits;

// The least bytes a key (length, one character, type, value) and a tensor (length, one character, rank, one dimension, type,
// offset) take: a count that needs more than the file has is refused before anything is reserved.
constexpr std::uint64_t key_bytes_min = 8 + 1 + 4 + 1;
constexpr std::uint64_t tensor_bytes_min = 8 + 1 + 4 + 8 + 4 + 8;

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

struct Header {
  std::uint64_t tensors = 0;
  std::uint64_t keys = 0;
};

struct TensorInfo {
  GgufTensor tensor;
  std::uint64_t offset = 0;  // from the start of the data
  std::uint64_t bytes = 0;
};

/// One pass over the header. Every member function either advances or says what is wrong.
class Walk {
 public:
  Walk(const std::string& path, std::span<const std::byte> bytes) : path_(path), cursor_(bytes) {}

  Result<Header> header();
  Result<std::pair<std::string, GgufValue>> key(std::uint64_t index);
  Result<TensorInfo> tensor(std::uint64_t index);
  std::size_t position() const { return cursor_.position(); }

  template <class... Args>
  tl::unexpected<Error> corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::corrupt_file, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  tl::unexpected<Error> ends(std::string_view where) const {
    return corrupt("the file ends inside {}; it is truncated or damaged", where);
  }
  Result<std::string_view> string(std::string_view where, std::uint64_t limit);
  Result<GgufValue> array(const std::string& where);
  Result<Shape> dimensions(const std::string& where);

  const std::string& path_;
  ByteCursor cursor_;
};

Result<Header> Walk::header() {
  const auto magic = cursor_.take(4);
  if (!magic || text_of(*magic) != "GGUF") {
    return corrupt(
        "this is not a GGUF model file (it does not begin with the letters GGUF); `continuo convert` makes one of a checkpoint");
  }
  const auto version = cursor_.number<std::uint32_t>();
  if (!version) return ends("the version number");
  if (*version != 0 && (*version & 0xFFFFU) == 0) {
    return fail(ErrorCode::unsupported, "{}: this is a big-endian GGUF file; only little-endian ones are supported", path_);
  }
  if (*version != 2 && *version != 3) {  // 2 has the same layout; 1 had shorter counts
    return fail(ErrorCode::unsupported, "{}: the file has GGUF version {}; versions 2 and 3 are supported", path_, *version);
  }
  const auto tensors = cursor_.number<std::uint64_t>();
  const auto keys = cursor_.number<std::uint64_t>();
  if (!tensors || !keys) return ends("the counts of tensors and keys");
  if (*keys > limits::keys) return corrupt("the header claims {} keys; at most {} are accepted", *keys, limits::keys);
  if (*tensors > limits::tensors) {
    return corrupt("the header claims {} tensors; at most {} are accepted", *tensors, limits::tensors);
  }
  if (*keys * key_bytes_min + *tensors * tensor_bytes_min > cursor_.remaining()) {
    return corrupt("the header claims {} keys and {} tensors, more than the file has room for", *keys, *tensors);
  }
  return Header{*tensors, *keys};
}

Result<std::string_view> Walk::string(std::string_view where, std::uint64_t limit) {
  const auto length = cursor_.number<std::uint64_t>();
  if (!length) return ends(where);
  if (*length > limit) return corrupt("{} has a length of {} bytes; at most {} are accepted", where, *length, limit);
  const auto bytes = cursor_.take(*length);
  if (!bytes) return ends(where);
  return text_of(*bytes);
}

Result<std::pair<std::string, GgufValue>> Walk::key(std::uint64_t index) {
  CONTINUO_TRY(const std::string_view name, string(fmt::format("the name of key {}", index), limits::name_bytes));
  if (name.empty()) return corrupt("key {} has no name", index);
  if (!valid_utf8(name)) return corrupt("the name of key {} is not valid UTF-8", index);
  const std::string where = fmt::format("key '{}'", printable(name));
  const auto number = cursor_.number<std::uint32_t>();
  if (!number) return ends(where);
  const auto type = gguf_type_from_number(*number);
  if (!type) return corrupt("{} has the unknown type {}", where, *number);

  GgufValue value;
  if (*type == GgufType::array) {
    CONTINUO_TRY(value, array(where));
  } else if (*type == GgufType::string) {
    CONTINUO_TRY(const std::string_view text, string(where, limits::string_bytes));
    value.data = std::as_bytes(std::span(text));
  } else {
    const auto bytes = cursor_.take(size_of(*type));
    if (!bytes) return ends(where);
    value.data = *bytes;
    if (*type == GgufType::boolean && value.data[0] > std::byte{1}) {
      return corrupt("{} is a bool with the value {}", where, std::to_integer<int>(value.data[0]));
    }
  }
  value.type = *type;
  return std::pair(std::string(name), value);
}

Result<GgufValue> Walk::array(const std::string& where) {
  const auto number = cursor_.number<std::uint32_t>();
  const auto count = cursor_.number<std::uint64_t>();
  if (!number || !count) return ends(where);
  const auto element = gguf_type_from_number(*number);
  if (!element) return corrupt("{} is an array of the unknown type {}", where, *number);
  if (*element == GgufType::array) return corrupt("{} is an array of arrays, which is not accepted", where);
  if (*count > limits::array_elements) {
    return corrupt("{} claims {} elements; at most {} are accepted", where, *count, limits::array_elements);
  }
  GgufValue value;
  value.element = *element;
  value.count = *count;
  if (*element != GgufType::string) {
    const auto bytes = cursor_.take(*count * size_of(*element));
    if (!bytes) return ends(where);
    value.data = *bytes;
    return value;
  }
  ByteCursor start = cursor_;
  for (std::uint64_t i = 0; i < *count; ++i) CONTINUO_CHECK(string(where, limits::string_bytes));
  value.data = *start.take(cursor_.position() - start.position());
  return value;
}

Result<Shape> Walk::dimensions(const std::string& where) {
  const auto rank = cursor_.number<std::uint32_t>();
  if (!rank) return ends(where);
  if (*rank < 1 || *rank > max_dims) return corrupt("{} has {} dimensions; 1 to {} are accepted", where, *rank, max_dims);
  Shape shape;
  shape.rank = static_cast<int>(*rank);
  for (int i = 0; i < shape.rank; ++i) {
    const auto size = cursor_.number<std::int64_t>();
    if (!size) return ends(where);
    if (*size <= 0) return corrupt("{} has a dimension of {}", where, *size);
    shape.dims[static_cast<std::size_t>(shape.rank - 1 - i)] = *size;
  }
  return shape;
}

/// Bytes of a tensor, or nullopt where the product overflows; rows are whole blocks (checked before).
std::optional<std::uint64_t> byte_count(const Shape& shape, const BlockSize& block) {
  std::int64_t units = shape[shape.rank - 1] / block.elements;
  for (int i = 0; i < shape.rank - 1; ++i) {
    if (units > std::numeric_limits<std::int64_t>::max() / shape[i]) return std::nullopt;
    units *= shape[i];
  }
  if (units > std::numeric_limits<std::int64_t>::max() / block.bytes) return std::nullopt;
  return static_cast<std::uint64_t>(units * block.bytes);
}

Result<TensorInfo> Walk::tensor(std::uint64_t index) {
  CONTINUO_TRY(const std::string_view name, string(fmt::format("the name of tensor {}", index), limits::tensor_name_bytes));
  if (name.empty()) return corrupt("tensor {} has no name", index);
  if (!valid_utf8(name)) return corrupt("the name of tensor {} is not valid UTF-8", index);
  const std::string where = fmt::format("tensor '{}'", printable(name));
  TensorInfo info;
  info.tensor.name = name;
  CONTINUO_TRY(info.tensor.shape, dimensions(where));
  const auto number = cursor_.number<std::uint32_t>();
  const auto offset = cursor_.number<std::uint64_t>();
  if (!number || !offset) return ends(where);
  const auto type = ggml_type_from_number(*number);
  if (!type) return corrupt("{} has the unknown type {}", where, *number);
  const Shape& shape = info.tensor.shape;
  if (shape[shape.rank - 1] % type->block.elements != 0) {
    return corrupt("{} has rows of {}, not a multiple of the {} elements in a block of its type {}", where, shape[shape.rank - 1],
                   type->block.elements, type->name);
  }
  const auto bytes = byte_count(shape, type->block);
  if (!bytes) return corrupt("{} has the impossible shape {}", where, shape.to_string());
  info.tensor.type_number = *number;
  info.tensor.type = *type;
  info.offset = *offset;
  info.bytes = *bytes;
  return info;
}

Result<std::uint64_t> alignment_of(const Walk& walk, const std::map<std::string, GgufValue, std::less<>>& keys) {
  const auto found = keys.find("general.alignment");
  if (found == keys.end()) return 32;
  if (found->second.type != GgufType::u32) {
    return walk.corrupt("key 'general.alignment' has type {}, not u32", name_of(found->second.type));
  }
  const std::uint64_t alignment = *ByteCursor(found->second.data).number<std::uint32_t>();
  if (alignment < limits::alignment_min || alignment > limits::alignment_max || (alignment & (alignment - 1)) != 0) {
    return walk.corrupt("the alignment is {}; a power of two from {} to {} is accepted", alignment, limits::alignment_min,
                        limits::alignment_max);
  }
  return alignment;
}

/// Gives every tensor its bytes: aligned, inside the file, and nobody else's.
Status place(const Walk& walk, std::vector<TensorInfo>& infos, std::span<const std::byte> data, std::uint64_t alignment) {
  for (TensorInfo& info : infos) {
    if (info.offset % alignment != 0) {
      return walk.corrupt("tensor '{}' begins at offset {}, which is not aligned to {}", printable(info.tensor.name), info.offset,
                          alignment);
    }
    if (info.offset > data.size() || info.bytes > data.size() - info.offset) {
      return walk.corrupt(
          "tensor '{}' needs {} bytes at offset {}, but the file has only {} bytes of data; it is truncated or "
          "damaged",
          printable(info.tensor.name), info.bytes, info.offset, data.size());
    }
    info.tensor.data = data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(info.bytes));
  }
  std::vector<const TensorInfo*> order;
  order.reserve(infos.size());
  for (const TensorInfo& info : infos) order.push_back(&info);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes) {
      return walk.corrupt("tensors '{}' and '{}' overlap", printable(order[i - 1]->tensor.name),
                          printable(order[i]->tensor.name));
    }
  }
  return {};
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile file;
  file.path_ = path;
  CONTINUO_TRY(file.file_, MappedFile::open(path));
  const auto bytes = file.file_.bytes();
  Walk walk(file.path_, bytes);
  CONTINUO_TRY(const Header header, walk.header());
  for (std::uint64_t i = 0; i < header.keys; ++i) {
    CONTINUO_TRY(auto entry, walk.key(i));
    const auto [place, fresh] = file.keys_.insert(std::move(entry));
    if (!fresh) return walk.corrupt("key '{}' occurs twice", printable(place->first));
  }
  CONTINUO_TRY(const std::uint64_t alignment, alignment_of(walk, file.keys_));

  std::vector<TensorInfo> infos;
  std::unordered_set<std::string> names;
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    CONTINUO_TRY(TensorInfo info, walk.tensor(i));
    if (!names.insert(info.tensor.name).second) return walk.corrupt("tensor '{}' occurs twice", printable(info.tensor.name));
    infos.push_back(std::move(info));
  }
  const std::uint64_t start = (walk.position() + alignment - 1) / alignment * alignment;
  file.data_start_ = static_cast<std::size_t>(std::min<std::uint64_t>(start, bytes.size()));
  CONTINUO_CHECK(place(walk, infos, bytes.subspan(file.data_start_), alignment));
  file.tensors_.reserve(infos.size());
  for (TensorInfo& info : infos) file.tensors_.push_back(std::move(info.tensor));
  return file;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

void GgufFile::release_tensors() const { file_.release(data_start_, file_.bytes().size() - data_start_); }

}  // namespace continuo::weights
