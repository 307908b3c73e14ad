#include "server/adapters.h"

#include <chrono>
#include <filesystem>

#include "server/requests/music_request.h"

namespace continuo::server {

namespace {

class LibraryStore final : public JobStore {
 public:
  LibraryStore(library::TakeLibrary& takes, library::JobRecords& records, std::function<void(const library::Take&)> added)
      : takes_(takes), records_(records), added_(std::move(added)) {}

  Status record(const JobRecord& job) override { return records_.add(job.id, job.text, job.created); }
  Status remove(const std::string& id) override { return records_.remove(id); }

  Result<std::vector<JobRecord>> unfinished() override {
    CONTINUO_TRY(const auto records, records_.take_up());
    std::vector<JobRecord> jobs;
    for (const library::JobRecord& record : records) {
      jobs.push_back({record.id, record.spec, record.created, record.tries});
    }
    return jobs;
  }

  Status add_take(const KeptTake& kept) override {
    JobSpec spec = kept.spec;
    spec.takes = 1;
    library::Take take;
    take.id = kept.id;
    take.job = kept.job;
    take.number = spec.request.take;
    take.prompt = spec.request.segments.empty() ? spec.request.prompt : spec.request.segments.front().prompt;
    take.title = spec.title;
    take.model = spec.model;
    take.seed = spec.request.seed;
    take.seconds = static_cast<double>(kept.shape.frames) / kept.shape.sample_rate;
    take.settings = music_request_json(spec);
    take.sample_rate = kept.shape.sample_rate;
    take.channels = kept.shape.channels;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(kept.path, error);
    take.bytes = error ? 0 : static_cast<std::int64_t>(bytes);
    take.sound = library::TakeLibrary::sound_path(take.id);
    take.created = kept.created;
    CONTINUO_CHECK(takes_.add(take));
    if (added_) added_(take);
    return {};
  }

  Result<bool> has_take(const std::string& id) override {
    const auto take = takes_.get(id);
    if (take) return true;
    if (take.error().code == ErrorCode::not_found) return false;
    return forward_error(take.error());
  }

 private:
  library::TakeLibrary& takes_;
  library::JobRecords& records_;
  std::function<void(const library::Take&)> added_;
};

class StoredSounds final : public UploadedSounds {
 public:
  explicit StoredSounds(Uploads& uploads) : uploads_(uploads) {}

  std::optional<double> pin(const std::string& id) override {
    if (!uploads_.pin(id)) return std::nullopt;
    const auto [lookup, upload] = uploads_.find(id, seconds_since_1970());
    if (upload) return upload->seconds;
    uploads_.unpin(id);
    return std::nullopt;
  }
  void unpin(const std::string& id) override { uploads_.unpin(id); }
  Result<audio::Sound> sound(const std::string& id) override { return uploads_.sound(id); }

 private:
  Uploads& uploads_;
};

}  // namespace

std::unique_ptr<JobStore> store_in_library(library::TakeLibrary& takes, library::JobRecords& records,
                                           std::function<void(const library::Take&)> added) {
  return std::make_unique<LibraryStore>(takes, records, std::move(added));
}

std::unique_ptr<UploadedSounds> sounds_of(Uploads& uploads) { return std::make_unique<StoredSounds>(uploads); }

double seconds_since_1970() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace continuo::server
