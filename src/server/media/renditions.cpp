#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "server/media/growing_rendition.h"
#include "server/media/rendition.h"

namespace continuo::server {

namespace {

using Clock = std::chrono::steady_clock;
using Ptr = std::shared_ptr<GrowingRendition>;

// Each holds an open file, and an incomplete one an encoder as well.
constexpr std::size_t most_idle = 128, most_idle_growing = 32;
constexpr auto growing_grace = std::chrono::seconds(60);  // a playlist is asked for every few seconds, a player seeks

/// By take, then by format.
using Key = std::pair<std::string, std::string>;

class Shelf : public std::enable_shared_from_this<Shelf> {
 public:
  explicit Shelf(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  /// The one that is there, or one made by `make`.
  std::shared_ptr<Rendition> take(const Key& key, const std::shared_ptr<Recording>& recording, const std::function<Ptr()>& make) {
    Ptr found, replaced;
    bool made = false;
    {
      const std::lock_guard lock(mutex_);
      const auto entry = entries_.find(key);
      if (entry != entries_.end() && is_usable(*entry->second, recording)) {
        found = entry->second;
      } else {
        if (entry != entries_.end()) replaced = entry->second;
        found = make();
        entries_[key] = found;
        made = true;
      }
      ++found->users;
    }
    if (made) {
      found->start([shelf = weak_from_this()] {
        if (const auto alive = shelf.lock()) alive->trim();
      });
    }
    return {found.get(), [found, shelf = weak_from_this()](Rendition*) mutable {
              if (const auto alive = shelf.lock()) alive->put_back(*found);
              found.reset();
            }};
  }

  void drop(const std::string& take) {
    std::vector<Ptr> dropped;  // destroyed after the lock
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.lower_bound({take, ""}); entry != entries_.end() && entry->first.first == take;) {
      dropped.push_back(std::move(entry->second));
      entry = entries_.erase(entry);
    }
  }

  std::int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return count_bytes();
  }

 private:
  static bool is_usable(const GrowingRendition& rendition, const std::shared_ptr<Recording>& recording) {
    switch (rendition.state()) {
      case Rendition::State::complete: return true;
      case Rendition::State::growing: return rendition.made_from(recording);
      case Rendition::State::failed: break;  // a disk may have room again
    }
    return false;
  }

  void put_back(GrowingRendition& rendition) {
    {
      const std::lock_guard lock(mutex_);
      --rendition.users;
      rendition.last_used = Clock::now();
    }
    trim();
  }

  std::int64_t count_bytes() const {
    std::int64_t sum = 0;
    for (const auto& [key, entry] : entries_) sum += entry->spooled();
    return sum;
  }

  /// Deletes what nobody reads, the longest unused first, until the rest is within the limits.
  void trim() {
    std::vector<Ptr> dropped;  // destroyed after the lock
    const std::lock_guard lock(mutex_);
    struct Idle {
      std::map<Key, Ptr>::iterator entry;
      bool growing;
    };
    std::vector<Idle> idle;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second->users == 0) idle.push_back({entry, entry->second->state() == Rendition::State::growing});
    }
    std::sort(idle.begin(), idle.end(),
              [](const Idle& a, const Idle& b) { return a.entry->second->last_used < b.entry->second->last_used; });
    const auto now = Clock::now();
    std::int64_t bytes = count_bytes();
    auto count = idle.size();
    auto growing = static_cast<std::size_t>(std::count_if(idle.begin(), idle.end(), [](const Idle& one) { return one.growing; }));
    for (const Idle& one : idle) {
      const GrowingRendition& rendition = *one.entry->second;
      const bool stale = one.growing && (now - rendition.last_used > growing_grace || growing > most_idle_growing);
      if (!stale && bytes <= most_bytes_ && count <= most_idle) continue;
      bytes -= rendition.spooled();
      --count;
      if (one.growing) --growing;
      dropped.push_back(std::move(one.entry->second));
      entries_.erase(one.entry);
    }
  }

  const std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<Key, Ptr> entries_;
};

class Cache final : public Renditions {
 public:
  Cache(const std::string& folder, std::int64_t most_bytes, Pool& pool)
      : work_(std::make_shared<RenditionWork>(folder, pool)), shelf_(std::make_shared<Shelf>(most_bytes)) {}

  ~Cache() override { work_->close(); }

  Result<std::shared_ptr<Rendition>> of(const std::string& take, std::shared_ptr<Recording> recording,
                                        const RenditionFormat& format) override {
    return shelf_->take({take, format.key()}, recording,
                        [&] { return std::make_shared<GrowingRendition>(work_, recording, format); });
  }

  void drop(const std::string& take) override { shelf_->drop(take); }
  std::int64_t bytes() const override { return shelf_->bytes(); }

 private:
  std::shared_ptr<RenditionWork> work_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace

Result<std::unique_ptr<Renditions>> Renditions::create(const std::string& folder, std::int64_t most_bytes, Pool& pool) {
  CONTINUO_CHECK(empty_spool_folder(folder));
  return std::make_unique<Cache>(folder, most_bytes, pool);
}

}  // namespace continuo::server
