// Brings the sound of one take to its recording: handed over on the I/O thread, written on a lane of the pool. Nobody waits; who
// hands over asks behind() first, so that a slow disk holds up its own take and memory stays bounded.
#pragma once

#include <utility>  // before Asio

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/finish.h"
#include "server/jobs/port.h"
#include "server/media/recording.h"
#include "server/pool.h"

namespace continuo::server {

/// How recordings come to be; the real ones but in tests.
struct RecordingMaker {
  std::function<Result<std::shared_ptr<Recording>>(const std::string& path, const Recording::Shape&)> create = &Recording::create;
  std::function<Result<std::shared_ptr<Recording>>(const std::string& path)> open = &Recording::open;
};

/// What a continued piece begins with: samples [frames, channels] that stand in the recording as they are (audio/splice.h).
using GivenSamples = std::shared_ptr<const std::vector<float>>;

// All functions are for the I/O thread.
class TakeWriter : public std::enable_shared_from_this<TakeWriter> {
 public:
  static constexpr std::int64_t most_bytes = std::int64_t{4} << 20;  // that wait; half a minute of a mono model

  struct Place {
    std::string path;
    Recording::Shape shape;
    std::function<Result<GivenSamples>()> load_given;  // called on the pool; may be empty
    std::optional<audio::FinishOptions> level{};       // what keeps the level of a long piece (engine/steady_level.h)
  };
  /// changed: called on the I/O thread when the recording is there, after each write, and at the end.
  static std::shared_ptr<TakeWriter> start(const RecordingMaker& maker, Place place, Pool& pool, std::shared_ptr<Port> port,
                                           std::function<void()> changed);

  void write(std::vector<float> samples);
  /// The first of finish() and fail() ends it; nothing is written after that.
  void finish();
  void fail(Error error);
  /// Nobody is told anything any more.
  void leave() { changed_ = {}; }

  /// Nothing more should be handed over now: it has not begun, or much waits.
  bool behind() const { return !recording_ || waiting_bytes_ >= most_bytes; }
  /// Null at first.
  const std::shared_ptr<Recording>& recording() const { return recording_; }
  bool done() const { return done_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Lane;  // what only the pool touches

  TakeWriter(std::shared_ptr<Pool::Lane> lane, std::shared_ptr<Port> port, std::function<void()> changed);
  /// Runs on the lane, then takes in what came of it here.
  void on_lane(std::function<std::optional<Error>(Lane&)> work, std::int64_t bytes, bool last);

  std::shared_ptr<Pool::Lane> lane_;
  std::shared_ptr<Port> port_;
  std::function<void()> changed_;
  std::shared_ptr<Lane> state_;
  std::shared_ptr<Recording> recording_;
  std::int64_t waiting_bytes_ = 0;
  bool ending_ = false, done_ = false;
  std::optional<Error> error_;
};

}  // namespace continuo::server
