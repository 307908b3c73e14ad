#include "audio/npy.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>

#include "audio/bytes.h"
#include "base/file.h"

namespace continuo::audio {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header = 65'536;
constexpr std::size_t max_rank = 4;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Parses the dictionary literal of a header: {'descr': '<i8', 'fortran_order': False, 'shape': (4, 500), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  /// nullopt when the text is anything but such a dictionary with each key once.
  std::optional<Header> parse() {
    Header header;
    if (!accept('{')) return std::nullopt;
    while (!accept('}')) {
      const auto key = quoted();
      if (!key || !accept(':') || !value(*key, header)) return std::nullopt;
      if (!accept(',') && peek() != '}') return std::nullopt;
    }
    skip_space();
    if (at_ != text_.size() || !header.descr || !header.fortran_order || !header.shape) return std::nullopt;
    return header;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::optional<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string inner(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return inner;
  }

  std::optional<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> sizes;
    if (!accept('(')) return std::nullopt;
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0 || sizes.size() == max_rank) return std::nullopt;
      at_ = static_cast<std::size_t>(end - text_.data());
      sizes.push_back(size);
      if (!accept(',') && peek() != ')') return std::nullopt;
    }
    return sizes;
  }

  bool value(const std::string& key, Header& header) {
    if (key == "descr" && !header.descr) return (header.descr = quoted()).has_value();
    if (key == "shape" && !header.shape) return (header.shape = tuple()).has_value();
    if (key == "fortran_order" && !header.fortran_order) {
      if (accept_word("True")) header.fortran_order = true;
      if (!header.fortran_order && accept_word("False")) header.fortran_order = false;
      return header.fortran_order.has_value();
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Elements of the shape, or nullopt when their bytes would not fit into `limit`.
std::optional<std::size_t> elements(const std::vector<std::int64_t>& shape, std::size_t element_size, std::size_t limit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    if (static_cast<std::uint64_t>(size) > limit / element_size / count) return std::nullopt;
    count *= static_cast<std::size_t>(size);
  }
  return count;
}

template <class Stored, class Value>
std::vector<Value> values_of(std::span<const std::byte> data, std::size_t count) {
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = read_at<Stored>(data, i * sizeof(Stored));
  return values;
}

template <class T>
std::vector<std::byte> encode(std::span<const std::int64_t> shape, std::span<const T> values, std::string_view descr) {
  std::string sizes;
  std::size_t product = 1;
  for (const std::int64_t size : shape) {
    sizes += fmt::format("{}, ", size);
    product *= static_cast<std::size_t>(size);
  }
  assert(product == values.size());
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);  // (4, 500) but (500,)
  if (shape.size() == 1) sizes.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  // The data starts at a multiple of 64 bytes; the header ends in a newline.
  const std::size_t fixed = magic.size() + 4;
  header.append(63 - (fixed + header.size()) % 64, ' ');
  header += '\n';
  std::vector<std::byte> out;
  out.reserve(fixed + header.size() + values.size_bytes());
  append_text(out, magic);
  append(out, std::uint8_t{1});
  append(out, std::uint8_t{0});
  append(out, static_cast<std::uint16_t>(header.size()));
  append_text(out, header);
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

Status write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(path));
  CONTINUO_CHECK(file.write(bytes));
  return file.commit();
}

}  // namespace

Result<NpyArray> decode_npy(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 10 || text_at(bytes, 0, magic.size()) != magic) {
    return fail(ErrorCode::corrupt_file, "{} is not an NPY file", name);
  }
  const int version = read_at<std::uint8_t>(bytes, 6);
  if (version != 1 && version != 2) {
    return fail(ErrorCode::unsupported, "{}: NPY version {}; versions 1 and 2 can be read", name, version);
  }
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) return fail(ErrorCode::corrupt_file, "{} is truncated", name);
  const std::size_t length = version == 1 ? read_at<std::uint16_t>(bytes, 8) : read_at<std::uint32_t>(bytes, 8);
  if (length > max_header || length > bytes.size() - start) {
    return fail(ErrorCode::corrupt_file, "{}: its header of {} bytes does not fit", name, length);
  }
  const auto header = HeaderParser(text_at(bytes, start, length)).parse();
  if (!header)
    return fail(ErrorCode::corrupt_file, "{}: its header does not describe an array of at most {} dimensions", name, max_rank);
  if (*header->fortran_order && header->shape->size() > 1) {
    return fail(ErrorCode::unsupported, "{}: save the array in C order (numpy.ascontiguousarray)", name);
  }
  const std::string& type = *header->descr;
  if (type != "<i8" && type != "<i4" && type != "<f4") {
    // {:?} escapes what a terminal should not see.
    return fail(ErrorCode::unsupported, "{}: element type {:?}; int64, int32 and float32 (little endian) can be read", name,
                std::string_view(type).substr(0, 32));
  }
  const auto data = bytes.subspan(start + length);
  const std::size_t element_size = type == "<i8" ? 8 : 4;
  const auto count = elements(*header->shape, element_size, data.size());
  if (!count || *count * element_size != data.size()) {
    return fail(ErrorCode::corrupt_file, "{}: {} bytes of data do not match its shape", name, data.size());
  }
  NpyArray array;
  array.shape = *header->shape;
  if (type == "<i8") array.values = values_of<std::int64_t, std::int64_t>(data, *count);
  if (type == "<i4") array.values = values_of<std::int32_t, std::int64_t>(data, *count);
  if (type == "<f4") array.values = values_of<float, float>(data, *count);
  return array;
}

Result<NpyArray> read_npy(const std::string& path) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  return decode_npy(file.bytes(), path);
}

std::vector<std::byte> encode_npy(std::span<const std::int64_t> shape, std::span<const std::int64_t> values) {
  return encode(shape, values, "<i8");
}

std::vector<std::byte> encode_npy(std::span<const std::int64_t> shape, std::span<const float> values) {
  return encode(shape, values, "<f4");
}

Status write_npy(const std::string& path, std::span<const std::int64_t> shape, std::span<const std::int64_t> values) {
  return write_bytes(path, encode_npy(shape, values));
}

Status write_npy(const std::string& path, std::span<const std::int64_t> shape, std::span<const float> values) {
  return write_bytes(path, encode_npy(shape, values));
}

}  // namespace continuo::audio
