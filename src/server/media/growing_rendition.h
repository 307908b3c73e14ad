// One rendition and its making: a slice of the recording at a time, each a task of its own on the pool, so that many share the
// pool's threads. It sleeps while the recording has nothing new.
//
// What needs the whole sound in memory (a loop, a loudness in two passes) takes turns: one at a time, however many are asked for.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "server/media/listeners.h"
#include "server/media/rendition.h"
#include "server/media/spool_file.h"

namespace continuo::server {

class GrowingRendition;

/// What all renditions of a cache share.
class RenditionWork {
 public:
  RenditionWork(std::string folder, Pool& pool) : folder_(std::move(folder)), pool_(&pool) {}

  const std::string& folder() const { return folder_; }
  std::shared_ptr<Pool::Lane> lane();
  /// Not after close(), which comes before the pool's end.
  void post(Pool::Lane& lane, std::function<void()> work);
  void close();

  /// True: it is its turn, until leave(). False: it is woken when it is.
  bool enter(GrowingRendition& rendition);
  void leave(GrowingRendition& rendition);

 private:
  const std::string folder_;
  std::mutex mutex_;
  Pool* pool_;  // null: closed
  GrowingRendition* inside_ = nullptr;
  std::deque<std::weak_ptr<GrowingRendition>> waiting_;
};

class GrowingRendition final : public Rendition, public std::enable_shared_from_this<GrowingRendition> {
 public:
  GrowingRendition(std::shared_ptr<RenditionWork> work, std::shared_ptr<Recording> recording, RenditionFormat format);
  ~GrowingRendition() override;
  /// progressed: called on the pool after each slice.
  void start(std::function<void()> progressed);
  /// Goes on when there is something to do.
  void wake();

  const RenditionFormat& format() const override { return format_; }
  int sample_rate() const override { return sample_rate_of(format_, shape_); }
  int channels() const override { return channels_of(format_, shape_); }
  State state() const override;
  std::optional<Error> error() const override;
  std::int64_t size() const override { return size_.load(std::memory_order_acquire); }
  std::optional<std::int64_t> whole_size() const override;
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> out) const override;
  std::optional<std::size_t> read_now(std::int64_t offset, std::span<std::byte> out) const override;
  std::int64_t listen(std::function<void()> changed) override { return listeners_.add(std::move(changed)); }
  void forget(std::int64_t listener) override { listeners_.remove(listener); }

  /// Of the file, what is hidden from readers included.
  std::int64_t spooled() const { return spooled_.load(std::memory_order_relaxed); }
  bool made_from(const std::shared_ptr<Recording>& recording) const { return recording.get() == origin_; }

  // Of the cache, under its mutex.
  int users = 0;
  std::chrono::steady_clock::time_point last_used;

 private:
  struct Doorbell;

  void step();
  /// False: nothing to do until something changes.
  Result<bool> advance();
  Result<bool> advance_stream(Recording::State state);
  Result<bool> advance_sound(Recording::State state);
  Status prepare();
  Status begin(std::optional<std::int64_t> frames, bool overwriting);
  Status complete();
  void publish(State state, std::optional<Error> error);
  bool needs_sound() const;

  const std::shared_ptr<RenditionWork> work_;
  const RenditionFormat format_;
  const Recording::Shape shape_;
  const Recording* const origin_;  // only to compare
  std::optional<std::int64_t> known_size_;
  std::function<void()> progressed_;
  std::shared_ptr<Doorbell> doorbell_;

  // Of the making, on its lane.
  std::shared_ptr<Recording> recording_;
  std::int64_t listener_ = 0;
  std::int64_t read_ = 0;  // frames
  std::optional<audio::Chain> chain_;
  std::optional<audio::Sound> sound_;
  std::unique_ptr<audio::Encoder> encoder_;
  bool inside_ = false;

  mutable std::mutex mutex_;
  State state_ = State::growing;
  std::optional<Error> error_;
  std::unique_ptr<SpoolFile> spool_;  // set before size_ grows, never changed
  std::atomic<std::int64_t> size_ = 0, spooled_ = 0;
  Listeners listeners_;
};

}  // namespace continuo::server
