#include "server/keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/file.h"

namespace continuo::server {

namespace {

constexpr std::size_t most_file_bytes = 256 * 1024;
constexpr std::size_t most_keys = 1000;
constexpr std::size_t most_name_bytes = 64;

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest_of(std::string_view text) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == '@';
  };
  return !text.empty() && text.size() <= most_name_bytes && std::all_of(text.begin(), text.end(), fits);
}

/// Hashed apart from the key's own digest, so that the name says nothing about that.
std::string name_from(std::string_view key) {
  const Digest digest = digest_of("continuo: name of a key\n" + std::string(key));
  return fmt::format("key-{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
}

}  // namespace

struct Keys::Table {
  struct Entry {
    std::string name;
    Digest digest;
  };
  std::vector<Entry> entries;
  std::optional<std::string> warning;

  static Result<std::shared_ptr<const Table>> read(const std::string& path);
  Status take(std::string_view line, const std::string& where);
};

Status Keys::Table::take(std::string_view line, const std::string& where) {
  const std::size_t colon = line.find(':');
  const std::string_view key = trimmed(colon == std::string_view::npos ? line : line.substr(colon + 1));
  const std::string_view name = colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(0, colon));
  if (colon != std::string_view::npos && !is_name(name)) {
    return fail(ErrorCode::corrupt_file, "{}: a name has 1 to {} letters, digits, '-', '_', '.' and '@'; write `name: key`",
                where, most_name_bytes);
  }
  if (key.size() < least_key_bytes || key.size() > most_key_bytes) {
    return fail(ErrorCode::corrupt_file, "{}: a key has {} to {} characters; `openssl rand -hex 24` makes one", where,
                least_key_bytes, most_key_bytes);
  }
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7F; })) {
    return fail(ErrorCode::corrupt_file, "{}: a key has only printable ASCII characters and no spaces", where);
  }
  if (entries.size() == most_keys) return fail(ErrorCode::corrupt_file, "{}: more than {} keys", where, most_keys);
  const Digest digest = digest_of(key);
  if (std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.digest == digest; }))
    return fail(ErrorCode::corrupt_file, "{}: this key stands further up already", where);
  entries.push_back({name.empty() ? name_from(key) : std::string(name), digest});
  return {};
}

Result<std::shared_ptr<const Keys::Table>> Keys::Table::read(const std::string& path) {
  CONTINUO_TRY(const std::string text, read_text_file(path, most_file_bytes));
  auto table = std::make_shared<Table>();
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    CONTINUO_CHECK(table->take(line, fmt::format("{}, line {}", path, number)));
  }
  if (table->entries.empty())
    return fail(ErrorCode::corrupt_file, "{} has no key; write one a line, `name: key` or the key alone", path);
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0 && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    table->warning = fmt::format("others on this machine can read or change the API keys in {} (mode {:03o}); chmod 600 it", path,
                                 about.st_mode & 0777U);
  }
  return table;
}

Keys::Keys(std::string path) : path_(std::move(path)) {}
Keys::~Keys() = default;

Result<std::unique_ptr<Keys>> Keys::load(const std::string& path) {
  std::unique_ptr<Keys> keys(new Keys(path));
  CONTINUO_CHECK(keys->reload());
  return keys;
}

Status Keys::reload() {
  CONTINUO_TRY(auto table, Table::read(path_));
  const std::lock_guard lock(mutex_);
  table_ = std::move(table);
  return {};
}

std::optional<std::string> Keys::name_of(std::string_view key) const {
  std::shared_ptr<const Table> table;
  {
    const std::lock_guard lock(mutex_);
    table = table_;
  }
  const Digest shown = digest_of(key);
  const Table::Entry* found = nullptr;
  for (const Table::Entry& entry : table->entries) {  // all of them, whatever was found
    if (CRYPTO_memcmp(shown.data(), entry.digest.data(), shown.size()) == 0) found = &entry;
  }
  return found == nullptr ? std::nullopt : std::optional(found->name);
}

std::size_t Keys::count() const {
  const std::lock_guard lock(mutex_);
  return table_->entries.size();
}

std::optional<std::string> Keys::warning() const {
  const std::lock_guard lock(mutex_);
  return table_->warning;
}

std::string_view shown_key(std::string_view authorization, std::string_view x_api_key) {
  constexpr std::string_view scheme = "bearer ";
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
  const bool bearer = authorization.size() > scheme.size() &&
                      std::equal(scheme.begin(), scheme.end(), authorization.begin(), [&](char b, char a) { return same(a, b); });
  return bearer ? trimmed(authorization.substr(scheme.size())) : trimmed(x_api_key);
}

}  // namespace continuo::server
