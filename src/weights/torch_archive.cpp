#include "weights/torch_archive.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/tensor.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::uint64_t pickle_bytes_max = std::uint64_t{8} << 20;
constexpr std::uint64_t chunk_elements = 1U << 20;
constexpr std::uint64_t strided_bytes_max = std::uint64_t{256} << 20;

std::optional<DType> float_dtype(std::string_view name) {
  if (name == "F32") return DType::f32;
  if (name == "F16") return DType::f16;
  if (name == "BF16") return DType::bf16;
  return std::nullopt;
}

/// Recognises by its first bytes what is commonly found in the place of a zip archive.
Status check_start(const std::string& path) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 64));
  if (start.starts_with("PK\x03\x04")) return {};
  if (start.starts_with("version https://git-lfs")) {
    return fail(ErrorCode::corrupt_file, "{}: this is a Git LFS pointer, not the file itself: run 'git lfs pull' in its folder",
                path);
  }
  if (start.starts_with("\x80\x02")) {
    return fail(
        ErrorCode::unsupported,
        "{}: this file is in the format of torch before 1.6; load it with torch and save it again with torch.save, or take "
        "the safetensors file of the same model",
        path);
  }
  return fail(ErrorCode::corrupt_file, "{}: this is not a torch file (it does not begin like a zip archive)", path);
}

}  // namespace

Result<TorchArchive> TorchArchive::open(const std::string& path) {
  CONTINUO_CHECK(check_start(path));
  TorchArchive archive;
  CONTINUO_TRY(archive.zip_, StoredZip::open(path));
  CONTINUO_CHECK(archive.find_root());
  CONTINUO_CHECK(archive.check_byte_order());
  CONTINUO_CHECK(archive.read_pickle());
  CONTINUO_CHECK(archive.check_storages());
  return archive;
}

Status TorchArchive::find_root() {
  constexpr std::string_view structure = "/data.pkl";
  for (const auto& [name, entry] : zip_.entries()) {
    if (!name.ends_with(structure)) continue;
    if (!root_.empty()) return fail(ErrorCode::corrupt_file, "{}: the archive has two entries data.pkl", path());
    root_ = name.substr(0, name.size() - structure.size() + 1);
  }
  if (root_.empty()) return fail(ErrorCode::corrupt_file, "{}: this is not a torch file (the archive has no data.pkl)", path());
  return {};
}

Result<std::vector<char>> TorchArchive::read_small(const std::string& entry, std::uint64_t limit) const {
  const std::uint64_t size = zip_.entries().find(entry)->second.size;
  if (size > limit) {
    return fail(ErrorCode::corrupt_file, "{}: the entry '{}' has {} bytes; at most {} are accepted", path(), printable(entry),
                size, limit);
  }
  CONTINUO_TRY(auto reader, zip_.reader(entry));
  std::vector<char> bytes(static_cast<std::size_t>(size));
  CONTINUO_CHECK(reader.read(std::as_writable_bytes(std::span(bytes))));
  CONTINUO_CHECK(reader.finish());
  return bytes;
}

/// Files of torch before 2.1 do not say; they are little-endian.
Status TorchArchive::check_byte_order() const {
  const std::string entry = root_ + "byteorder";
  if (!zip_.entries().contains(entry)) return {};
  CONTINUO_TRY(const auto bytes, read_small(entry, 64));
  const std::string_view order(bytes.data(), bytes.size());
  if (order == "little") return {};
  return fail(ErrorCode::unsupported, "{}: its numbers have the byte order '{}'; only 'little' is supported", path(),
              printable(order));
}

Status TorchArchive::read_pickle() {
  CONTINUO_TRY(auto bytes, read_small(root_ + "data.pkl", pickle_bytes_max));
  auto pickle = Pickle::parse(std::move(bytes));
  if (!pickle) return fail(pickle.error().code, "{}: {}", path(), pickle.error().message);
  pickle_ = std::move(*pickle);
  return {};
}

Status TorchArchive::check_storages() const {
  for (const TorchStorage& storage : pickle_.storages()) {
    const auto found = zip_.entries().find(root_ + "data/" + storage.key);
    if (found == zip_.entries().end()) {
      return fail(ErrorCode::corrupt_file, "{}: the archive lacks the numbers data/{}", path(), storage.key);
    }
    const auto expected = static_cast<std::uint64_t>(storage.elements) * static_cast<std::uint64_t>(storage.element_bytes);
    if (found->second.size != expected) {
      return fail(ErrorCode::corrupt_file, "{}: data/{} has {} bytes, but {} numbers of the type {} take {}", path(), storage.key,
                  found->second.size, storage.elements, storage.dtype, expected);
    }
  }
  return {};
}

Status TorchArchive::stream(const TorchTensor& tensor, std::string_view name, std::uint64_t first, std::uint64_t count,
                            const Sink& sink) const {
  assert(first + count <= static_cast<std::uint64_t>(tensor.elements()));
  if (!float_dtype(storage_of(tensor).dtype)) {
    return fail(ErrorCode::unsupported, "{}: tensor '{}' has the type {}, which cannot be read as numbers with a fraction",
                path(), printable(name), storage_of(tensor).dtype);
  }
  if (count == 0) return {};
  if (tensor.contiguous()) return stream_run(tensor, first, count, sink);
  return stream_strided(tensor, name, first, count, sink);
}

Status TorchArchive::stream_run(const TorchTensor& tensor, std::uint64_t first, std::uint64_t count, const Sink& sink) const {
  const TorchStorage& storage = storage_of(tensor);
  const auto type = *float_dtype(storage.dtype);
  const auto element = static_cast<std::uint64_t>(storage.element_bytes);
  const std::uint64_t start = static_cast<std::uint64_t>(tensor.offset) + first;
  CONTINUO_TRY(auto reader, zip_.reader(root_ + "data/" + storage.key, start * element));
  std::vector<std::byte> bytes;
  std::vector<float> values;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t part = std::min(chunk_elements, count - done);
    bytes.resize(static_cast<std::size_t>(part * element));
    values.resize(static_cast<std::size_t>(part));
    CONTINUO_CHECK(reader.read(bytes));
    TensorView{type, Shape{static_cast<std::int64_t>(part)}, bytes}.to_float(values);
    done += part;
    // Before the last values are handed out, so that a damaged storage never looks complete.
    if (done == count && start + count == static_cast<std::uint64_t>(storage.elements)) CONTINUO_CHECK(reader.finish());
    CONTINUO_CHECK(sink(values));
  }
  return {};
}

Status TorchArchive::stream_strided(const TorchTensor& tensor, std::string_view name, std::uint64_t first, std::uint64_t count,
                                    const Sink& sink) const {
  const std::size_t rank = tensor.shape.size();
  std::int64_t span = 1;  // elements from the first to the last
  for (std::size_t i = 0; i < rank; ++i) span += (tensor.shape[i] - 1) * tensor.stride[i];
  if (static_cast<std::uint64_t>(span) * sizeof(float) > strided_bytes_max) {
    return fail(ErrorCode::unsupported,
                "{}: tensor '{}' is a transposed view and too large to be put in order; save it contiguous", path(),
                printable(name));
  }
  std::vector<float> stored;
  stored.reserve(static_cast<std::size_t>(span));
  TorchTensor run{tensor.storage, tensor.offset, {span}, {1}};
  CONTINUO_CHECK(stream_run(run, 0, static_cast<std::uint64_t>(span), [&](std::span<const float> part) -> Status {
    stored.insert(stored.end(), part.begin(), part.end());
    return {};
  }));
  std::vector<float> values;
  for (std::uint64_t i = first; i < first + count; ++i) {
    std::uint64_t rest = i;
    std::int64_t position = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto size = static_cast<std::uint64_t>(tensor.shape[axis]);
      position += static_cast<std::int64_t>(rest % size) * tensor.stride[axis];
      rest /= size;
    }
    values.push_back(stored[static_cast<std::size_t>(position)]);
    if (values.size() < chunk_elements && i + 1 < first + count) continue;
    CONTINUO_CHECK(sink(values));
    values.clear();
  }
  return {};
}

}  // namespace continuo::weights
