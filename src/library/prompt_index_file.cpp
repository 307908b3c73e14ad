#include "library/prompt_index_file.h"

#include <openssl/evp.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "library/reference_prompts.h"

namespace continuo::library {

namespace {

static_assert(std::endian::native == std::endian::little, "the file is written as memory has it");

constexpr std::string_view magic = "CNTPRIDX";
constexpr std::uint32_t version = 1;
constexpr std::size_t max_width = 16'384;
constexpr std::size_t max_entries = 1'000'000;

using Hash = std::array<std::byte, 32>;

Result<Hash> sha256(std::span<const std::byte> bytes) {
  Hash hash;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()), &size, EVP_sha256(), nullptr) != 1 ||
      size != hash.size()) {
    return fail(ErrorCode::unsupported, "libcrypto has no SHA-256");
  }
  return hash;
}

Result<Hash> hash_of_references() {
  std::string text;
  for (const std::string_view prompt : reference_prompts()) text.append(prompt).push_back('\n');
  return sha256(std::as_bytes(std::span(text)));
}

void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

void append(std::vector<std::byte>& out, std::size_t number) {
  const auto value = static_cast<std::uint32_t>(number);
  append(out, &value, sizeof value);
}

void append(std::vector<std::byte>& out, std::span<const float> values) { append(out, values.data(), values.size_bytes()); }

/// Takes from the front; once something is missing, it is missing for good.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

  std::span<const std::byte> take(std::size_t size) {
    if (!good_ || size > rest_.size()) {
      good_ = false;
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::size_t number() {
    std::uint32_t value = 0;
    const auto bytes = take(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text(std::size_t size) {
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// count is bounded by what the caller has checked, so that the product cannot wrap.
  std::vector<float> floats(std::size_t count) {
    const auto bytes = take(count * sizeof(float));
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

Status check_version(Reader& reader, const std::string& name) {
  if (reader.text(magic.size()) != magic) return fail(ErrorCode::corrupt_file, "{}: this is not an index of prompts", name);
  const std::size_t found = reader.number();
  if (reader.good() && found == version) return {};
  return fail(ErrorCode::unsupported, "{}: version {} of the index, and only version {} can be read", name, found, version);
}

bool is_unit(std::span<const float> vector) {
  double square = 0.0;
  for (const float value : vector) square += static_cast<double>(value) * value;
  return std::abs(square - 1.0) < 1e-3;  // false for values that are not finite
}

}  // namespace

Result<std::vector<std::byte>> encode_index(const IndexFile& file) {
  if (file.encoder.size() > max_encoder_bytes) {
    return fail(ErrorCode::invalid_argument, "the name of a text encoder has at most {} bytes, not {}", max_encoder_bytes,
                file.encoder.size());
  }
  std::vector<std::byte> out;
  append(out, magic.data(), magic.size());
  append(out, std::size_t{version});
  append(out, static_cast<std::size_t>(file.space.kind()));
  append(out, static_cast<std::size_t>(file.space.width()));
  append(out, static_cast<std::size_t>(file.space.dimensions()));
  append(out, file.prompts.size());
  append(out, file.encoder.size());
  append(out, file.encoder.data(), file.encoder.size());
  CONTINUO_TRY(const Hash references, hash_of_references());
  append(out, references.data(), references.size());
  append(out, file.space.mean());
  append(out, file.space.matrix());
  const auto dimensions = static_cast<std::size_t>(file.space.dimensions());
  for (std::size_t i = 0; i < file.prompts.size(); ++i) {
    append(out, file.prompts[i].size());
    append(out, file.prompts[i].data(), file.prompts[i].size());
    append(out, std::span(file.vectors).subspan(i * dimensions, dimensions));
  }
  CONTINUO_TRY(const Hash hash, sha256(out));
  append(out, hash.data(), hash.size());
  return out;
}

Result<IndexFile> decode_index(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < sizeof(Hash)) return fail(ErrorCode::corrupt_file, "{}: it is cut short", name);
  const auto content = bytes.first(bytes.size() - sizeof(Hash));
  Reader reader(content);
  CONTINUO_CHECK(check_version(reader, name));
  CONTINUO_TRY(const Hash hash, sha256(content));
  if (!std::equal(hash.begin(), hash.end(), bytes.end() - sizeof(Hash))) {
    return fail(ErrorCode::corrupt_file, "{}: its checksum is wrong", name);
  }
  return decode_index_content(content, name);
}

Result<IndexFile> decode_index_content(std::span<const std::byte> content, const std::string& name) {
  const auto damaged = [&](std::string_view why) { return fail(ErrorCode::corrupt_file, "{}: {}", name, why); };
  Reader reader(content);
  CONTINUO_CHECK(check_version(reader, name));
  const std::size_t kind = reader.number(), width = reader.number(), dimensions = reader.number(), entries = reader.number();
  const std::size_t encoder_bytes = reader.number();
  if (!reader.good() || kind > static_cast<std::size_t>(SpaceKind::whitened) || width < 1 || width > max_width ||
      dimensions < 1 || dimensions > width || entries > max_entries || encoder_bytes > max_encoder_bytes) {
    return damaged("its header contradicts itself");
  }
  std::string encoder = reader.text(encoder_bytes);
  CONTINUO_TRY(const Hash references, hash_of_references());
  const auto fitted_to = reader.take(sizeof(Hash));
  if (!std::equal(references.begin(), references.end(), fitted_to.begin(), fitted_to.end())) {
    return fail(ErrorCode::unsupported, "{}: it was made with other reference prompts", name);
  }
  std::vector<float> mean = reader.floats(width);
  std::vector<float> matrix = reader.floats(static_cast<SpaceKind>(kind) == SpaceKind::whitened ? width * dimensions : 0);
  if (!reader.good()) return damaged("it is cut short");
  CONTINUO_TRY(FingerprintSpace space,
               FingerprintSpace::from_parts(static_cast<SpaceKind>(kind), std::move(mean), std::move(matrix)));
  if (static_cast<std::size_t>(space.dimensions()) != dimensions) return damaged("its header contradicts itself");

  IndexFile file{std::move(encoder), std::move(space), {}, {}};
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t size = reader.number();
    if (size < 1 || size > max_indexed_prompt_bytes) return damaged("a prompt has an impossible length");
    std::string prompt = reader.text(size);
    const std::vector<float> vector = reader.floats(dimensions);
    if (!reader.good()) return damaged("it is cut short");
    if (!is_unit(vector) || !seen.insert(prompt).second) return damaged("an entry cannot be right");
    file.prompts.push_back(std::move(prompt));
    file.vectors.insert(file.vectors.end(), vector.begin(), vector.end());
  }
  if (!reader.at_end()) return damaged("there is more in it than its header says");
  return file;
}

}  // namespace continuo::library
