#include "engine/conditioning_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "weights/musicgen_layout.h"

namespace continuo::engine {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "CNTOHEAR";
constexpr std::uint32_t version = 1;
constexpr std::string_view suffix = ".heard";
constexpr std::size_t most_file_bytes = std::size_t{1} << 30;
constexpr auto abandoned_after = std::chrono::hours(1);  // a temporary file that a killed process left

/// 128 bits over everything it is shown. Four lanes, so that it runs at the speed of memory. Each step is one to one in the
/// lane's state, so no change within one lane goes unseen.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    length_ += bytes.size();
    std::size_t at = 0;
    for (; at + 32 <= bytes.size(); at += 32) {
      for (std::size_t lane = 0; lane < 4; ++lane) mix(lane, word(bytes.data() + at + 8 * lane, 8));
    }
    for (std::size_t lane = 0; at < bytes.size(); at += 8, ++lane) {
      mix(lane, word(bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at)));
    }
    mix(0, bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::array<std::uint64_t, 2> value() const {
    std::uint64_t low = length_, high = ~length_;
    for (const std::uint64_t lane : lanes_) {
      low = scramble(low ^ scramble(lane));
      high = scramble((high ^ lane) * 0x9E3779B97F4A7C15ULL);
    }
    return {low, high};
  }

 private:
  static std::uint64_t word(const std::byte* at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, size);
    return value;
  }
  static std::uint64_t scramble(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ULL;
    return x ^ (x >> 32);
  }
  void mix(std::size_t lane, std::uint64_t value) {
    lanes_[lane] = std::rotl((lanes_[lane] ^ value) * 0x9E3779B97F4A7C15ULL, 29);
  }
  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
  std::uint64_t length_ = 0;
};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t identity, prompt, cross, projected, fingerprint;  // bytes, in this order behind the header
  std::array<std::uint64_t, 2> checksum;                          // of the header with zeros here, and of all the rest
};
static_assert(sizeof(Header) == 72 && std::endian::native == std::endian::little);

std::string hash_name(std::string_view identity, std::string_view prompt) {
  std::string text(identity);
  text += '\0';
  text += prompt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  std::string name;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) return name;
  for (unsigned int i = 0; i < size; ++i) name += fmt::format("{:02x}", digest[i]);
  return name;
}

std::span<const std::byte> bytes_of(const std::shared_ptr<const std::vector<float>>& values) {
  return values == nullptr ? std::span<const std::byte>() : std::as_bytes(std::span(*values));
}

/// The whole file, or nothing if it cannot be read. Says that it was used.
std::optional<std::vector<std::byte>> read_whole(const std::string& path) {
  // Read, not mapped: another program may cut the file short meanwhile.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return std::nullopt;
  struct stat info {};
  std::optional<std::vector<std::byte>> bytes;
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 &&
      static_cast<std::size_t>(info.st_size) <= most_file_bytes) {
    bytes.emplace(static_cast<std::size_t>(info.st_size));
    std::size_t have = 0;
    while (have < bytes->size()) {
      const ssize_t count = ::read(descriptor, bytes->data() + have, bytes->size() - have);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      have += static_cast<std::size_t>(count);
    }
    bytes->resize(have);
    ::futimens(descriptor, nullptr);
  }
  ::close(descriptor);
  return bytes;
}

bool heard_by_conditioning(std::string_view tensor) {
  return tensor.starts_with("text.") || tensor.starts_with("decoder.text_proj") ||
         (tensor.starts_with("decoder.blk.") &&
          (tensor.find(".cross_k.") != std::string_view::npos || tensor.find(".cross_v.") != std::string_view::npos));
}

}  // namespace

std::string conditioning_identity(const weights::TensorSource& source) {
  const weights::ModelConfig& config = source.config();
  Checksum sum;
  const weights::T5Config& text = config.text;
  sum.add(fmt::format("{} {} {} {} {} {} {} {} {} {} {} | {} {} {} {} | {} {}", text.width, text.layers, text.heads,
                      text.head_width, text.feed_forward, text.vocabulary, text.relative_buckets, text.relative_max_distance,
                      text.gated, static_cast<int>(text.activation), text.norm_epsilon, config.decoder.width,
                      config.decoder.layers, config.decoder.heads, config.always_projects, config.tokenizer.end_id,
                      config.tokenizer.unknown_id));
  sum.add(config.tokenizer.model_proto);
  for (const weights::TensorSpec& spec : weights::musicgen_layout(config)) {
    if (!heard_by_conditioning(spec.name) || !source.has(spec.name)) continue;
    const TensorView tensor = source.tensor(spec.name);
    sum.add(fmt::format("{} {} {}", spec.name, name_of(tensor.type), tensor.shape.to_string()));
    sum.add(tensor.data);
  }
  const auto value = sum.value();
  return fmt::format("{:016x}{:016x}", value[0], value[1]);
}

ConditioningStore::ConditioningStore(Options options, std::string identity)
    : options_(std::move(options)), identity_(std::move(identity)) {
  thread_ = std::thread([this] { loop(); });
}

ConditioningStore::~ConditioningStore() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string ConditioningStore::path_of(std::string_view prompt) const {
  return options_.folder + "/" + hash_name(identity_, prompt) + std::string(suffix);
}

std::optional<ConditioningStore::Record> ConditioningStore::find(const std::string& prompt) {
  const std::string path = path_of(prompt);
  auto bytes = read_whole(path);
  if (!bytes) return std::nullopt;
  Record record;
  record.file = std::move(*bytes);
  Header header{};
  const auto good = [&] {
    if (record.file.size() < sizeof(Header)) return false;
    std::memcpy(&header, record.file.data(), sizeof(Header));
    if (std::string_view(header.magic, 8) != magic || header.version != version) return false;
    std::uint64_t rest = record.file.size() - sizeof(Header);
    for (const std::uint64_t size : {header.identity, header.prompt, header.cross, header.projected, header.fingerprint}) {
      if (size > rest) return false;
      rest -= size;
    }
    if (rest != 0) return false;
    Header blank = header;
    blank.checksum = {};
    Checksum sum;
    sum.add(std::as_bytes(std::span(&blank, 1)));
    sum.add(std::span(record.file).subspan(sizeof(Header)));
    return sum.value() == header.checksum;
  };
  if (!good()) {
    reject(prompt);
    return std::nullopt;
  }
  std::span<const std::byte> rest = std::span(record.file).subspan(sizeof(Header));
  const auto next = [&rest](std::uint64_t size) {
    const auto part = rest.first(static_cast<std::size_t>(size));
    rest = rest.subspan(static_cast<std::size_t>(size));
    return part;
  };
  const auto is = [](std::span<const std::byte> part, std::string_view text) {
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size()) == text;
  };
  const auto identity = next(header.identity), written_prompt = next(header.prompt);
  if (!is(identity, identity_) || !is(written_prompt, prompt)) {
    reject(prompt);
    return std::nullopt;
  }
  record.cross = next(header.cross);
  record.projected = next(header.projected);
  record.fingerprint = next(header.fingerprint);
  return record;
}

void ConditioningStore::reject(const std::string& prompt) {
  ::unlink(path_of(prompt).c_str());  // where that fails, the next write replaces the file
}

void ConditioningStore::put(const std::string& prompt, const HeardText& heard) {
  {
    const std::lock_guard lock(mutex_);
    if (warned_ || queue_.size() >= options_.most_queued) return;
    queue_.push_back({prompt, heard});
  }
  changed_.notify_all();
}

void ConditioningStore::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void ConditioningStore::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    Status status = write(entry);
    entry = {};  // the keys and values go before anybody is told that it is done
    if (status) shrink();
    lock.lock();
    busy_ = false;
    if (!status && !warned_) {
      // The rest would fail in the same way; the next engine tries again.
      warned_ = true;
      queue_.clear();
      lock.unlock();
      warn_once(status.error().message);
      lock.lock();
    }
    changed_.notify_all();
  }
}

void ConditioningStore::warn_once(const std::string& message) {
  const std::string line = fmt::format("prompts cannot be remembered for later runs: {}", message);
  if (options_.warn) return options_.warn(line);
  std::fprintf(stderr, "warning: %s\n", line.c_str());
}

Status ConditioningStore::write(const Entry& entry) {
  std::error_code error;
  if (!fs::exists(options_.folder, error)) {
    fs::create_directories(options_.folder, error);
    if (!error) fs::permissions(options_.folder, fs::perms::owner_all, error);
  }
  const auto cross = entry.heard.cross == nullptr ? std::span<const std::byte>() : entry.heard.cross->data();
  const auto projected = bytes_of(entry.heard.projected), fingerprint = bytes_of(entry.heard.fingerprint);
  Header header{};
  std::memcpy(header.magic, magic.data(), magic.size());
  header.version = version;
  header.identity = identity_.size();
  header.prompt = entry.prompt.size();
  header.cross = cross.size();
  header.projected = projected.size();
  header.fingerprint = fingerprint.size();
  std::vector<std::byte> body;
  body.reserve(identity_.size() + entry.prompt.size() + cross.size() + projected.size() + fingerprint.size());
  for (const auto part :
       {std::as_bytes(std::span(identity_)), std::as_bytes(std::span(entry.prompt)), cross, projected, fingerprint}) {
    body.insert(body.end(), part.begin(), part.end());
  }
  if (static_cast<std::int64_t>(sizeof(Header) + body.size()) > options_.most_bytes) return {};  // it would push all others out
  Checksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)));
  sum.add(body);
  header.checksum = sum.value();
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(path_of(entry.prompt), Readers::owner));
  CONTINUO_CHECK(file.write(&header, sizeof(header)));
  CONTINUO_CHECK(file.write(body));
  return file.commit();
}

void ConditioningStore::shrink() {
  struct Found {
    fs::path path;
    std::int64_t bytes;
    fs::file_time_type used;
  };
  std::vector<Found> files;
  std::int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator each(options_.folder, error), end; !error && each != end; each.increment(error)) {
    std::error_code gone;  // another engine may remove it meanwhile
    const std::string name = each->path().filename().string();
    const bool ours = name.ends_with(suffix);
    if (!ours && name.find(std::string(suffix) + ".part-") == std::string::npos) continue;
    const auto bytes = static_cast<std::int64_t>(each->file_size(gone));
    const auto used = gone ? fs::file_time_type() : each->last_write_time(gone);
    if (gone) continue;
    if (ours) {
      files.push_back({each->path(), bytes, used});
      total += bytes;
    } else if (used + abandoned_after < fs::file_time_type::clock::now()) {
      fs::remove(each->path(), gone);
    }
  }
  std::sort(files.begin(), files.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  for (std::size_t i = 0; i < files.size() && total > options_.most_bytes; ++i) {
    std::error_code gone;
    fs::remove(files[i].path, gone);
    total -= files[i].bytes;
  }
}

}  // namespace continuo::engine
