#include "weights/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/file.h"

namespace continuo::weights {

namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;

using Hash = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

Result<std::string> file_digest(const std::string& path, Digest digest, const DigestProgress& go_on) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  const Hash hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto* algorithm = digest == Digest::sha256 ? EVP_sha256() : EVP_sha1();
  bool good = hash != nullptr && EVP_DigestInit_ex(hash.get(), algorithm, nullptr) == 1;
  if (good && digest == Digest::git_blob) {
    const std::string header = fmt::format("blob {}", bytes.size());
    good = EVP_DigestUpdate(hash.get(), header.c_str(), header.size() + 1) == 1;  // with its zero
  }
  for (std::size_t at = 0; good && at < bytes.size(); at += piece_bytes) {
    const auto piece = bytes.subspan(at, std::min(piece_bytes, bytes.size() - at));
    good = EVP_DigestUpdate(hash.get(), piece.data(), piece.size()) == 1;
    file.release(at, piece.size());
    if (go_on && !go_on(at + piece.size())) return fail(ErrorCode::cancelled, "interrupted while checking {}", path);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned int size = 0;
  good = good && EVP_DigestFinal_ex(hash.get(), value.data(), &size) == 1;
  if (!good) return fail(ErrorCode::unsupported, "libcrypto of this system cannot compute the hash of {}", path);
  return hexadecimal(std::span(value).first(size));
}

}  // namespace continuo::weights
