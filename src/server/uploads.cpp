#include "server/uploads.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/requests/json.h"
#include "server/requests/music_request.h"

namespace continuo::server {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* sound_ending = ".sound";
constexpr const char* index_ending = ".json";
constexpr double restart_seconds = 60.0;  // for jobs to pin again
constexpr std::size_t most_remembered = 10'000;
const std::string name_in_messages = "the upload";

/// 160 bits of the system's randomness.
std::string unguessable() {
  std::array<unsigned char, 20> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) std::abort();  // no system that runs this lacks it
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

Status write_whole(const std::string& path, std::string_view bytes) {
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(path, Readers::owner));
  CONTINUO_CHECK(file.write(bytes.data(), bytes.size()));
  return file.commit();
}

Status write_index(const std::string& path, const Upload& upload) {
  const json line{{"seconds", upload.seconds}, {"sample_rate", upload.sample_rate}, {"channels", upload.channels},
                  {"bytes", upload.bytes},     {"created", upload.created},         {"expires", upload.expires}};
  return write_whole(path, line.dump());
}

/// Takes in what write_index made, nothing else.
std::optional<Upload> read_index(const std::string& path, const std::string& id) {
  constexpr std::size_t most_bytes = 4096;
  constexpr double any = 1e18;
  const auto text = read_text_file(path, most_bytes);
  const auto object = text ? parse_json_object(*text) : Parsed<json>(tl::unexpected(ApiError{}));
  if (!object) return std::nullopt;
  Fields fields(*object);
  Upload upload;
  upload.id = id;
  upload.seconds = fields.number("seconds", {0.0, any}).value_or(-1.0);
  upload.sample_rate = static_cast<int>(fields.integer("sample_rate", 1, 10'000'000).value_or(0));
  upload.channels = static_cast<int>(fields.integer("channels", 1, 2).value_or(0));
  upload.bytes = fields.integer("bytes", 0, std::int64_t{1} << 50).value_or(-1);
  upload.created = fields.number("created", {0.0, any}).value_or(0.0);
  upload.expires = fields.number("expires", {0.0, any}).value_or(0.0);
  const bool whole = upload.seconds >= 0.0 && upload.sample_rate > 0 && upload.channels > 0 && upload.bytes >= 0;
  return fields.finish() && whole ? std::optional(upload) : std::nullopt;
}

ApiError refusal_of(const Error& error) {
  ApiError answer = api_error_of(error, "file");
  if (error.code == ErrorCode::corrupt_file) {
    answer.status = 415;
    answer.code = "not_audio";
  }
  return answer;
}

}  // namespace

Result<std::unique_ptr<Uploads>> Uploads::open(const std::string& folder, const Limits& limits, double now) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) return fail(ErrorCode::io, "cannot make the folder {}: {}", folder, problem.message());
  fs::permissions(folder, fs::perms::owner_all, problem);
  std::unique_ptr<Uploads> uploads(new Uploads(folder, limits));
  CONTINUO_CHECK(uploads->restore(now));
  return uploads;
}

std::string Uploads::path(const std::string& id, const char* ending) const { return folder_ + "/" + id + ending; }

Status Uploads::restore(double now) {
  std::error_code problem;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
    files.push_back(entry->path());
  }
  if (problem) return fail(ErrorCode::io, "cannot look into the folder {}: {}", folder_, problem.message());
  for (const fs::path& file : files) {
    const std::string id = file.stem();
    if (file.extension() != index_ending || !is_id(id)) continue;
    auto upload = read_index(file, id);
    std::error_code missing;
    const auto size = fs::file_size(path(id, sound_ending), missing);
    if (!upload || missing || size != static_cast<std::uintmax_t>(upload->bytes)) continue;
    upload->expires = std::max(upload->expires, now + restart_seconds);
    entries_[id] = {*upload};
  }
  // What a crash left half-written: sounds without a line, lines without a sound, temporary files of either.
  for (const fs::path& file : files) {
    const std::string name = file.filename();
    const std::string id = name.substr(0, name.find('.'));
    const std::string ending = name.substr(id.size());
    if (!is_id(id) || (!ending.starts_with(sound_ending) && !ending.starts_with(index_ending))) continue;
    if (entries_.contains(id) && (ending == sound_ending || ending == index_ending)) continue;
    fs::remove(file, problem);
  }
  return {};
}

Parsed<Upload> Uploads::add(std::string_view bytes, double now) {
  if (static_cast<std::int64_t>(bytes.size()) > limits_.upload_bytes) {
    return refuse(413, "body_too_large", "file",
                  fmt::format("the upload has {} bytes; at most {} are accepted", bytes.size(), limits_.upload_bytes));
  }
  if (bytes.empty()) return refuse(422, "invalid_value", "file", "the upload is empty");
  sweep(now);
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<int>(entries_.size()) + adding_ >= limits_.uploads) {
      return refuse(429, "too_many_uploads", "file",
                    fmt::format("{} uploads are kept, which is as many as there may be; delete one, or wait until one expires",
                                entries_.size() + static_cast<std::size_t>(adding_)));
    }
    ++adding_;
  }
  struct Place {
    Uploads& uploads;
    ~Place() {
      const std::lock_guard lock(uploads.mutex_);
      --uploads.adding_;
    }
  } place{*this};

  // A little more than may be is decoded, and no more, whatever the length.
  audio::MediaLimits media;
  media.seconds = std::numeric_limits<double>::infinity();
  media.first_seconds = limits_.upload_seconds + 1.0;
  const auto sound = audio::decode_media(std::as_bytes(std::span(bytes)), name_in_messages, media);
  if (!sound) return tl::unexpected(refusal_of(sound.error()));
  if (static_cast<double>(sound->frames()) > limits_.upload_seconds * sound->sample_rate) {
    return refuse(413, "too_long", "file",
                  fmt::format("the upload is too long: at most {:g} s are taken; cut it first", limits_.upload_seconds));
  }
  Upload upload{unguessable(),
                static_cast<double>(sound->frames()) / sound->sample_rate,
                sound->sample_rate,
                sound->channels,
                static_cast<std::int64_t>(bytes.size()),
                now,
                now + limits_.upload_keep_seconds};
  // The line last: a sound without one is swept away at the next start.
  auto written = write_whole(path(upload.id, sound_ending), bytes);
  if (written) written = write_index(path(upload.id, index_ending), upload);
  if (!written) {
    const std::lock_guard lock(mutex_);
    erase(upload.id);
    return tl::unexpected(api_error_of(written.error()));
  }
  const std::lock_guard lock(mutex_);
  entries_[upload.id] = {upload};
  return upload;
}

std::pair<Uploads::Lookup, std::optional<Upload>> Uploads::find(const std::string& id, double now) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return {gone_.contains(id) ? Lookup::expired : Lookup::unknown, std::nullopt};
  if (entry->second.removed || entry->second.upload.expires <= now) return {Lookup::expired, std::nullopt};
  return {Lookup::found, entry->second.upload};
}

Result<audio::Sound> Uploads::sound(const std::string& id) const {
  if (!is_id(id)) return fail(ErrorCode::not_found, "there is no upload of this id");
  const auto file = MappedFile::open(path(id, sound_ending));
  if (!file) return fail(ErrorCode::not_found, "the upload is no longer there; send it again");
  audio::MediaLimits media;
  media.seconds = limits_.upload_seconds;
  return audio::decode_media(file->bytes(), name_in_messages, media);
}

Result<audio::SoundEnd> Uploads::sound_end(const std::string& id, double seconds) const {
  if (!is_id(id)) return fail(ErrorCode::not_found, "there is no upload of this id");
  const auto file = MappedFile::open(path(id, sound_ending));
  if (!file) return fail(ErrorCode::not_found, "the upload is no longer there; send it again");
  return audio::decode_media_end(file->bytes(), name_in_messages, seconds);
}

void Uploads::erase(const std::string& id) {
  entries_.erase(id);
  std::error_code ignored;
  fs::remove(path(id, index_ending), ignored);
  fs::remove(path(id, sound_ending), ignored);
}

bool Uploads::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || entry->second.removed) return false;
  if (gone_.size() < most_remembered) gone_[id] = entry->second.upload.expires;
  if (entry->second.pins == 0) {
    erase(id);
    return true;
  }
  // A restart must not keep it longer than the jobs that need it.
  entry->second.removed = true;
  entry->second.upload.expires = 0.0;
  (void)write_index(path(id, index_ending), entry->second.upload);
  return true;
}

bool Uploads::pin(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || entry->second.removed) return false;
  ++entry->second.pins;
  return true;
}

void Uploads::unpin(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || entry->second.pins == 0) return;
  if (--entry->second.pins == 0 && entry->second.removed) erase(id);
}

void Uploads::sweep(double now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> over;
  for (const auto& [id, entry] : entries_) {
    if (entry.pins == 0 && entry.upload.expires <= now) over.push_back(id);
  }
  for (const std::string& id : over) {
    if (gone_.size() < most_remembered) gone_[id] = now;
    erase(id);
  }
  std::erase_if(gone_, [&](const auto& entry) { return entry.second + limits_.job_keep_seconds < now; });
}

int Uploads::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size());
}

std::int64_t Uploads::bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [id, entry] : entries_) sum += entry.upload.bytes;
  return sum;
}

}  // namespace continuo::server
