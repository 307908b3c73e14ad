#include "weights/pull.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "weights/audiocraft.h"
#include "weights/convert.h"
#include "weights/folder_lock.h"
#include "weights/hub_files.h"
#include "weights/huggingface_config.h"
#include "weights/tensor_source.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

/// What stays free: other programs write too, and folders and logs take a little.
constexpr std::uint64_t spare_bytes = std::uint64_t{16} << 20;

std::string gigabytes(std::uint64_t bytes) { return fmt::format("{:.3g} GB", static_cast<double>(bytes) / 1e9); }

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, "cannot make the folder {}: {}", folder, error.message());
  return {};
}

/// About what the model file will take. The hub counts a checkpoint's parameters; without that, the checkpoint's own size.
std::uint64_t converted_bytes(const HubRepository& repository, const NeededFiles& files, DType type) {
  if (!repository.parameters) return total_bytes(files.weights);
  const BlockSize block = block_size(type);
  return *repository.parameters / static_cast<std::uint64_t>(block.elements) * static_cast<std::uint64_t>(block.bytes);
}

struct Space {
  dev_t device{};
  std::uint64_t free = 0;
};

Result<Space> space_of(const std::string& folder) {
  struct statvfs system {};
  struct stat info {};
  if (::statvfs(folder.c_str(), &system) != 0 || ::stat(folder.c_str(), &info) != 0) {
    return fail(ErrorCode::io, "cannot look into {}: {}", folder, std::strerror(errno));
  }
  return Space{info.st_dev, static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize};
}

Status require(std::uint64_t bytes, const Space& space, const std::string& folder, const char* purpose) {
  if (space.free > spare_bytes && bytes <= space.free - spare_bytes) return {};
  return fail(ErrorCode::io, "{} takes {} in {}, where {} are free: make room first", purpose, gigabytes(bytes), folder,
              gigabytes(space.free));
}

Status check_space(std::uint64_t download, std::uint64_t model, const PullOptions& options) {
  CONTINUO_TRY(const Space cache, space_of(options.cache));
  CONTINUO_TRY(const Space models, space_of(options.models));
  if (cache.device == models.device) {
    return require(saturating_sum(download, model), cache, options.models,
                   "this model, with its download while it is converted,");
  }
  CONTINUO_CHECK(require(download, cache, options.cache, "the download"));
  return require(model, models, options.models, "the model");
}

/// The model that is there already under the name: from elsewhere is an error; true if it is just what is asked for.
Result<bool> is_installed(const std::string& path, const HubName& name, const std::string& source, DType type) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return false;
  const auto model = open_model(path);
  if (!model && model.error().code == ErrorCode::io) return forward_error(model.error());
  if (!model) return false;  // a broken or outdated file: replaced
  const std::string& there = (*model)->config().source;
  if (there != name.id() && !there.starts_with(name.id() + "@")) {
    return fail(ErrorCode::io, "{} exists and came from elsewhere ({}): choose another name with --name", path,
                there.empty() ? "it does not say where" : printable(there));
  }
  return there == source && (*model)->tensor("decoder.blk.0.ffn_up.weight").type == type;
}

class Pull {
 public:
  Pull(const HubName& name, const PullOptions& options, Hub hub) : name_(name), options_(options), hub_(std::move(hub)) {}

  Result<Pulled> run() {
    CONTINUO_TRY(repository_, hub_.look_up(name_));
    result_.name = options_.name.empty() ? name_.name : options_.name;
    result_.path = options_.models + "/" + result_.name + ".gguf";
    result_.source = name_.id() + "@" + repository_.commit;
    CONTINUO_TRY(result_.was_there, is_installed(result_.path, name_, result_.source, options_.type));
    if (!result_.was_there) {
      CONTINUO_CHECK(choose_files());
      CONTINUO_CHECK(download_files());
      CONTINUO_CHECK(convert_files());
    }
    return describe();
  }

 private:
  std::string folder() const { return fmt::format("{}/{}/{}", options_.cache, name_.id(), repository_.commit); }

  /// Whether the files are the hub's usual layout; else they are audiocraft's (needed_files finds nothing else).
  bool is_huggingface() const { return files_.weights.front().name != audiocraft_decoder; }

  Status choose_files() {
    CONTINUO_TRY(files_, needed_files(repository_.files, name_.id()));
    if (!is_huggingface() && options_.t5.empty()) {
      return fail(ErrorCode::unsupported,
                  "{} is in audiocraft's layout, which comes without its text encoder: say with --t5 DIR where a T5 lies",
                  name_.id());
    }
    if (is_huggingface() && !options_.t5.empty()) {
      return fail(ErrorCode::invalid_argument, "{} has a text encoder of its own: leave out --t5", name_.id());
    }
    if (!is_huggingface()) CONTINUO_CHECK(check_t5_folder(options_.t5));
    CONTINUO_CHECK(hub_.complete(repository_, files_.about));
    CONTINUO_CHECK(hub_.complete(repository_, files_.weights));
    CONTINUO_CHECK(make_folder(options_.models));
    PullPlan plan{repository_.license, result_.source, 0, 0};
    for (const auto* list : {&files_.about, &files_.weights}) {
      plan.bytes = saturating_sum(plan.bytes, total_bytes(*list));
      for (const RemoteFile& file : *list) plan.bytes_there += bytes_there(file, folder());
    }
    total_ = plan.bytes;
    CONTINUO_CHECK(check_space(plan.bytes - plan.bytes_there, converted_bytes(repository_, files_, options_.type), options_));
    if (options_.planned) options_.planned(plan);
    return {};
  }

  Status download_files() {
    CONTINUO_CHECK(make_folder(folder()));
    for (const RemoteFile& file : files_.about) CONTINUO_CHECK(download_file(file));
    if (is_huggingface()) CONTINUO_CHECK(read_huggingface_config(folder()));
    for (const RemoteFile& file : files_.weights) CONTINUO_CHECK(download_file(file));
    return {};
  }

  Status download_file(const RemoteFile& file) {
    const std::uint64_t before = bytes_there(file, folder());
    std::uint64_t last = before;
    const auto report = [&](std::uint64_t bytes, bool checking) {
      if (!checking && bytes > last) result_.downloaded += bytes - last;
      if (!checking) last = bytes;
      if (!options_.progress) return;
      if (checking) options_.progress(PullStage::checking, file.name, bytes, file.size);
      if (!checking) options_.progress(PullStage::downloading, file.name, finished_ + bytes, total_);
    };
    CONTINUO_CHECK(hub_.fetch(repository_, file, folder(), report));
    finished_ += file.size;
    return {};
  }

  Status convert_files() {
    ConvertOptions options;
    options.type = options_.type;
    options.license = repository_.license;  // empty: the model card's
    options.name = result_.name;
    options.source = result_.source;
    if (!is_huggingface()) options.t5 = options_.t5;
    options.cancelled = options_.cancelled;
    if (options_.progress) {
      constexpr std::uint64_t whole = 1000;
      options.progress = [this](double share) {
        const auto done = static_cast<std::uint64_t>(share * static_cast<double>(whole));
        options_.progress(PullStage::converting, result_.name, done, whole);
      };
    }
    auto status = weights::convert(folder(), result_.path, options);
    if (!status && status.error().code != ErrorCode::cancelled) {
      status.error().message += fmt::format(" (the download is kept in {})", folder());
    }
    return status;
  }

  Result<Pulled> describe() {
    std::error_code error;
    const auto size = fs::file_size(result_.path, error);
    result_.bytes = error ? 0 : size;
    CONTINUO_TRY(const auto model, open_model(result_.path));
    result_.license = model->config().license;
    return result_;
  }

  const HubName& name_;
  const PullOptions& options_;
  Hub hub_;
  HubRepository repository_;
  NeededFiles files_;
  Pulled result_;
  std::uint64_t total_ = 0;
  std::uint64_t finished_ = 0;
};

Result<Pulled> pull_locked(const HubName& name, const PullOptions& options) {
  CONTINUO_TRY(const auto lock, FolderLock::take(options.cache + "/" + name.id()));
  if (!lock) return fail(ErrorCode::io, "another `continuo pull` of {} is running; wait for it", name.id());
  HubOptions hub_options = options.hub;
  hub_options.cancelled = options.cancelled;
  CONTINUO_TRY(Hub hub, Hub::open(std::move(hub_options)));
  CONTINUO_TRY(Pulled pulled, Pull(name, options, std::move(hub)).run());
  if (!options.keep) CONTINUO_CHECK(lock->clear());
  return pulled;
}

}  // namespace

Result<Pulled> pull(const HubName& name, const PullOptions& options) {
  auto pulled = pull_locked(name, options);
  std::error_code ignored;
  fs::remove(options.cache + "/" + name.owner, ignored);  // only if it is empty
  return pulled;
}

Result<std::string> default_pull_cache(const Environment& environment) {
  const char* cache = environment("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/')
    return std::string(cache) + "/continuo/hub";  // the standard: relative ones do not count
  const char* home = environment("HOME");
  if (home != nullptr && home[0] != '\0') return std::string(home) + "/.cache/continuo/hub";
  return fail(ErrorCode::io, "neither HOME nor XDG_CACHE_HOME says where a download may lie");
}

}  // namespace continuo::weights
