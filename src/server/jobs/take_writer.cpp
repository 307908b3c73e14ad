#include "server/jobs/take_writer.h"

#include <cstddef>

#include "audio/splice.h"

namespace continuo::server {

struct TakeWriter::Lane {
  RecordingMaker maker;
  Place place;
  std::shared_ptr<Recording> recording;
  GivenSamples given;
  std::int64_t frames = 0;
  std::optional<audio::Chain> chain;  // what keeps the level

  std::optional<Error> create() {
    if (place.load_given) {
      auto loaded = place.load_given();
      if (!loaded) return std::move(loaded).error();
      given = std::move(*loaded);
    }
    if (place.level) {
      const auto given_frames = given == nullptr ? 0 : static_cast<std::int64_t>(given->size()) / place.shape.channels;
      place.level->level_rest = static_cast<double>(given_frames) / place.shape.sample_rate;
      auto keeper = audio::finishing_chain(*place.level, place.shape.channels, place.shape.sample_rate, place.shape.frames);
      if (!keeper) return std::move(keeper).error();
      chain.emplace(std::move(*keeper));
    }
    auto made = maker.create(place.path, place.shape);
    if (!made) return std::move(made).error();
    recording = std::move(*made);
    return std::nullopt;
  }

  std::optional<Error> append(std::vector<float>& samples) {
    if (!recording || recording->state() != Recording::State::growing) return std::nullopt;  // told already
    if (given != nullptr) {
      const auto fade = static_cast<std::size_t>(audio::splice_seconds * place.shape.sample_rate);
      audio::splice_piece(samples, static_cast<std::size_t>(frames), *given, place.shape.channels, fade);
    }
    frames += static_cast<std::int64_t>(samples.size()) / place.shape.channels;
    if (given != nullptr && frames * place.shape.channels >= static_cast<std::int64_t>(given->size())) given.reset();
    return chain ? append_levelled(chain->push(samples)) : failed(recording->append(samples));
  }

  std::optional<Error> finish() {
    if (!recording || recording->state() != Recording::State::growing) return std::nullopt;
    if (chain) {
      if (auto error = append_levelled(chain->finish())) return error;
    }
    return failed(recording->finish());
  }

  void fail(Error error) {
    if (recording) recording->fail(std::move(error));
  }

 private:
  std::optional<Error> append_levelled(Result<std::vector<float>> samples) {
    if (!samples) return failed(forward_error(std::move(samples).error()));
    return samples->empty() ? std::nullopt : failed(recording->append(*samples));
  }

  std::optional<Error> failed(Status status) {
    if (status) return std::nullopt;
    recording->fail(status.error());
    return std::move(status).error();
  }
};

TakeWriter::TakeWriter(std::shared_ptr<Pool::Lane> lane, std::shared_ptr<Port> port, std::function<void()> changed)
    : lane_(std::move(lane)), port_(std::move(port)), changed_(std::move(changed)), state_(std::make_shared<Lane>()) {}

std::shared_ptr<TakeWriter> TakeWriter::start(const RecordingMaker& maker, Place place, Pool& pool, std::shared_ptr<Port> port,
                                              std::function<void()> changed) {
  const std::shared_ptr<TakeWriter> writer(new TakeWriter(pool.lane(), std::move(port), std::move(changed)));
  writer->state_->maker = maker;
  writer->state_->place = std::move(place);
  writer->on_lane([](Lane& lane) { return lane.create(); }, 0, false);
  return writer;
}

void TakeWriter::on_lane(std::function<std::optional<Error>(Lane&)> work, std::int64_t bytes, bool last) {
  waiting_bytes_ += bytes;
  lane_->post([self = shared_from_this(), state = state_, port = port_, work = std::move(work), bytes, last] {
    std::optional<Error> error = work(*state);
    port->post([self, recording = state->recording, error = std::move(error), bytes, last]() mutable {
      self->recording_ = std::move(recording);
      self->waiting_bytes_ -= bytes;
      if (error && !self->error_) self->error_ = std::move(error);
      if (last) self->done_ = true;
      if (const auto changed = self->changed_) changed();
    });
  });
}

void TakeWriter::write(std::vector<float> samples) {
  if (ending_ || samples.empty()) return;
  const auto bytes = static_cast<std::int64_t>(samples.size() * sizeof(float));
  const auto shared = std::make_shared<std::vector<float>>(std::move(samples));
  on_lane([shared](Lane& lane) { return lane.append(*shared); }, bytes, false);
}

void TakeWriter::finish() {
  if (std::exchange(ending_, true)) return;
  on_lane([](Lane& lane) { return lane.finish(); }, 0, true);
}

void TakeWriter::fail(Error error) {
  if (std::exchange(ending_, true)) return;
  on_lane(
      [error = std::move(error)](Lane& lane) -> std::optional<Error> {
        lane.fail(error);
        return std::nullopt;
      },
      0, true);
}

}  // namespace continuo::server
