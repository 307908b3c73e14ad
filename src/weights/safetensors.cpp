#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <optional>
#include <utility>

#include "base/tensor.h"
#include "weights/byte_cursor.h"
#include "weights/element_count.h"
#include "weights/safetensors_header.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::uint64_t header_bytes_max = 100'000'000;
constexpr std::uint64_t chunk_elements = 1U << 20;

struct NamedSize {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<NamedSize, 15> dtypes = {{{"F32", 4},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"F64", 8},
                                               {"I64", 8},
                                               {"U64", 8},
                                               {"I32", 4},
                                               {"U32", 4},
                                               {"I16", 2},
                                               {"U16", 2},
                                               {"I8", 1},
                                               {"U8", 1},
                                               {"BOOL", 1},
                                               {"F8_E4M3", 1},
                                               {"F8_E5M2", 1}}};

std::optional<std::int64_t> dtype_bytes(std::string_view name) {
  for (const NamedSize& dtype : dtypes) {
    if (dtype.name == name) return dtype.bytes;
  }
  return std::nullopt;
}

std::optional<DType> float_dtype(std::string_view name) {
  if (name == "F32") return DType::f32;
  if (name == "F16") return DType::f16;
  if (name == "BF16") return DType::bf16;
  return std::nullopt;
}

/// Bytes by type and shape, or nullopt where the product overflows. A dimension may be 0 in this format.
std::optional<std::uint64_t> expected_bytes(const SafetensorsEntry& entry, std::int64_t element) {
  const auto elements = element_count(entry.shape);
  if (!elements || *elements > std::numeric_limits<std::int64_t>::max() / element) return std::nullopt;
  return static_cast<std::uint64_t>(*elements * element);
}

Status check_entry(const std::string& path, const std::string& name, const SafetensorsEntry& entry, std::uint64_t data) {
  const std::string shown = printable(name);
  const auto element = dtype_bytes(entry.dtype);
  if (!element) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' has the unknown type '{}'", path, shown, printable(entry.dtype));
  }
  if (entry.begin > entry.end || entry.end > data) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' claims the bytes {} to {} of {}; the file is truncated or damaged",
                path, shown, entry.begin, entry.end, data);
  }
  const auto bytes = expected_bytes(entry, *element);
  if (!bytes || *bytes != entry.end - entry.begin) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' has {} bytes, which does not fit its type {} and its shape", path,
                shown, entry.end - entry.begin, entry.dtype);
  }
  return {};
}

}  // namespace

std::int64_t SafetensorsEntry::elements() const {
  return element_count(shape).value_or(0);  // open() refused what has no count
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  CONTINUO_TRY(file.file_, MappedFile::open(path));
  const auto bytes = file.file_.bytes();
  ByteCursor cursor(bytes);
  const auto length = cursor.number<std::uint64_t>();
  if (!length) return fail(ErrorCode::corrupt_file, "{}: this is not a safetensors file (it is too short)", path);
  if (*length > header_bytes_max || *length > cursor.remaining()) {
    return fail(ErrorCode::corrupt_file, "{}: this is not a safetensors file, or it is truncated (its header claims {} bytes)",
                path, *length);
  }
  const auto header = *cursor.take(*length);
  const std::string_view json(reinterpret_cast<const char*>(header.data()), header.size());
  if (!json.starts_with('{')) {
    return fail(ErrorCode::corrupt_file, "{}: this is not a safetensors file (its header is not a JSON object)", path);
  }
  auto entries = parse_safetensors_header(json);
  if (!entries) return fail(ErrorCode::corrupt_file, "{}: {}", path, entries.error().message);
  file.entries_ = std::move(*entries);
  file.data_start_ = cursor.position();

  using Range = std::pair<const SafetensorsEntry*, const std::string*>;
  std::vector<Range> order;
  for (const auto& [name, entry] : file.entries_) {
    CONTINUO_CHECK(check_entry(path, name, entry, cursor.remaining()));
    if (entry.begin < entry.end) order.emplace_back(&entry, &name);
  }
  std::sort(order.begin(), order.end(), [](const Range& a, const Range& b) { return a.first->begin < b.first->begin; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].first->begin < order[i - 1].first->end) {
      return fail(ErrorCode::corrupt_file, "{}: tensors '{}' and '{}' overlap", path, printable(*order[i - 1].second),
                  printable(*order[i].second));
    }
  }
  return file;
}

Status SafetensorsFile::stream(std::string_view name, const Sink& sink) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end());
  return stream(name, 0, static_cast<std::uint64_t>(found->second.elements()), sink);
}

Status SafetensorsFile::stream(std::string_view name, std::uint64_t first, std::uint64_t count, const Sink& sink) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end());
  const SafetensorsEntry& entry = found->second;
  assert(first + count <= static_cast<std::uint64_t>(entry.elements()));
  const auto type = float_dtype(entry.dtype);
  if (!type) {
    return fail(ErrorCode::unsupported, "{}: tensor '{}' has the type {}, which cannot be read as numbers with a fraction", path_,
                printable(name), entry.dtype);
  }
  const auto element = static_cast<std::uint64_t>(block_size(*type).bytes);
  std::vector<float> values;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t part = std::min(chunk_elements, count - done);
    const std::size_t offset = data_start_ + static_cast<std::size_t>(entry.begin + (first + done) * element);
    const auto bytes = file_.bytes().subspan(offset, static_cast<std::size_t>(part * element));
    values.resize(static_cast<std::size_t>(part));
    TensorView{*type, Shape{static_cast<std::int64_t>(part)}, bytes}.to_float(values);
    file_.release(offset, bytes.size());
    done += part;
    CONTINUO_CHECK(sink(values));
  }
  return {};
}

Result<std::vector<float>> SafetensorsFile::read(std::string_view name) const {
  std::vector<float> values;
  CONTINUO_CHECK(stream(name, [&](std::span<const float> part) -> Status {
    values.insert(values.end(), part.begin(), part.end());
    return {};
  }));
  return values;
}

}  // namespace continuo::weights
