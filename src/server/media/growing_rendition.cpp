#include "server/media/growing_rendition.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "audio/stages.h"

namespace continuo::server {

namespace {

// A third to half a second of sound: some milliseconds of encoding.
constexpr std::int64_t slice_frames = 1 << 14;

/// Whether the samples go out as they are: nothing was asked for, and the format keeps what it gets.
bool as_it_is(const RenditionFormat& format, const Recording::Shape& shape) {
  const audio::FinishOptions& finish = format.finish;
  return !audio::is_lossy(format.format) && sample_rate_of(format, shape) == shape.sample_rate &&
         channels_of(format, shape) == shape.channels && !finish.loudness && !finish.gate && !finish.loop &&
         finish.fade_in <= 0.0 && finish.fade_out <= 0.0 && !finish.keep_level;
}

audio::FinishOptions settled(const RenditionFormat& format, const Recording::Shape& shape) {
  audio::FinishOptions finish = format.finish;
  finish.sample_rate = sample_rate_of(format, shape);
  finish.channels = channels_of(format, shape);
  return finish;
}

std::optional<std::int64_t> size_in_advance(const RenditionFormat& format, const Recording::Shape& shape) {
  const bool plain = format.format == audio::FileFormat::wav || format.format == audio::FileFormat::pcm;
  if (!plain || format.finish.loop) return std::nullopt;
  const int channels = channels_of(format, shape), rate = sample_rate_of(format, shape);
  const std::int64_t frames = audio::finished_frames(shape.frames, shape.sample_rate, settled(format, shape));
  if (format.format == audio::FileFormat::pcm) return 2 * frames * channels;
  const auto header = audio::wav_header(frames, channels, rate, format.samples);
  if (!header) return std::nullopt;  // the encoder will say why
  const std::int64_t data = frames * channels * audio::bytes_of_sample(format.samples);
  return static_cast<std::int64_t>(header->size()) + data + data % 2;
}

}  // namespace

std::shared_ptr<Pool::Lane> RenditionWork::lane() {
  const std::lock_guard lock(mutex_);
  return pool_ != nullptr ? pool_->lane() : nullptr;
}

void RenditionWork::post(Pool::Lane& lane, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (pool_ != nullptr) lane.post(std::move(work));
}

void RenditionWork::close() {
  const std::lock_guard lock(mutex_);
  pool_ = nullptr;
}

bool RenditionWork::enter(GrowingRendition& rendition) {
  const std::lock_guard lock(mutex_);
  if (inside_ == nullptr || inside_ == &rendition) {
    inside_ = &rendition;
    return true;
  }
  waiting_.push_back(rendition.weak_from_this());
  return false;
}

void RenditionWork::leave(GrowingRendition& rendition) {
  std::deque<std::weak_ptr<GrowingRendition>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (inside_ != &rendition) return;
    inside_ = nullptr;
    waiting.swap(waiting_);
  }
  // All of them try again, so that nothing is lost if the first is gone; they come in the order in which they waited.
  for (const auto& next : waiting) {
    if (const auto alive = next.lock()) alive->wake();
  }
}

/// What the recording rings. It must not own the rendition: whoever rang would destroy it in the middle of the call.
struct GrowingRendition::Doorbell {
  std::shared_ptr<RenditionWork> work;
  std::shared_ptr<Pool::Lane> lane;
  std::weak_ptr<GrowingRendition> rendition;
  std::atomic<bool> rung = false;

  static void ring(const std::shared_ptr<Doorbell>& bell) {
    if (bell->rung.exchange(true)) return;
    bell->work->post(*bell->lane, [bell] {
      bell->rung = false;
      if (const auto alive = bell->rendition.lock()) alive->step();
    });
  }
};

GrowingRendition::GrowingRendition(std::shared_ptr<RenditionWork> work, std::shared_ptr<Recording> recording,
                                   RenditionFormat format)
    : work_(std::move(work)),
      format_(std::move(format)),
      shape_(recording->shape()),
      origin_(recording.get()),
      known_size_(size_in_advance(format_, shape_)),
      recording_(std::move(recording)) {}

GrowingRendition::~GrowingRendition() {
  if (recording_) recording_->forget(listener_);
  if (inside_) work_->leave(*this);
}

void GrowingRendition::start(std::function<void()> progressed) {
  progressed_ = std::move(progressed);
  doorbell_ = std::make_shared<Doorbell>();
  doorbell_->work = work_;
  doorbell_->lane = work_->lane();
  doorbell_->rendition = weak_from_this();
  listener_ = recording_->listen([bell = doorbell_] { Doorbell::ring(bell); });
  wake();
}

void GrowingRendition::wake() { Doorbell::ring(doorbell_); }

Rendition::State GrowingRendition::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::optional<Error> GrowingRendition::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::optional<std::int64_t> GrowingRendition::whole_size() const {
  if (known_size_) return known_size_;
  const std::lock_guard lock(mutex_);
  if (state_ != State::complete) return std::nullopt;
  return size();
}

Result<std::size_t> GrowingRendition::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::int64_t there = size() - offset;
  if (offset < 0 || there <= 0) return 0;
  return spool_->read(offset, out.first(std::min(out.size(), static_cast<std::size_t>(there))));
}

std::optional<std::size_t> GrowingRendition::read_now(std::int64_t offset, std::span<std::byte> out) const {
  const std::int64_t there = size() - offset;
  if (offset < 0 || there <= 0) return 0;
  return spool_->read_now(offset, out.first(std::min(out.size(), static_cast<std::size_t>(there))));
}

bool GrowingRendition::needs_sound() const { return format_.finish.loop || (format_.made_whole() && format_.finish.loudness); }

void GrowingRendition::step() {
  if (state() != State::growing) return;
  Result<bool> more = false;
  try {
    more = advance();
  } catch (const std::exception& error) {  // no memory for a whole sound; the pool's thread must go on
    more = fail(ErrorCode::out_of_memory, "the sound could not be encoded: {}", error.what());
  }
  if (!more) {
    publish(State::failed, more.error());
  } else if (*more) {
    if (!format_.made_whole() && spool_) publish(State::growing, std::nullopt);
    wake();
  }
  progressed_();
}

Result<bool> GrowingRendition::advance() {
  const Recording::State state = recording_->state();  // before its frames: a complete one has all of them
  if (state == Recording::State::failed) {
    return forward_error(recording_->error().value_or(Error{ErrorCode::io, "the piece could not be made"}));
  }
  return needs_sound() ? advance_sound(state) : advance_stream(state);
}

Result<bool> GrowingRendition::advance_stream(Recording::State state) {
  const std::int64_t count = std::min(slice_frames, recording_->frames() - read_);
  if (count == 0 && state == Recording::State::growing) return false;
  if (!encoder_) CONTINUO_CHECK(prepare());
  if (count > 0) {
    std::vector<float> samples(static_cast<std::size_t>(count * shape_.channels));
    CONTINUO_TRY(const std::int64_t got, recording_->read(read_, samples));
    samples.resize(static_cast<std::size_t>(got * shape_.channels));
    read_ += got;
    CONTINUO_TRY(const auto finished, chain_->push(samples));
    CONTINUO_CHECK(encoder_->push(finished));
    return true;
  }
  CONTINUO_TRY(const auto rest, chain_->finish());
  CONTINUO_CHECK(encoder_->push(rest));
  CONTINUO_CHECK(complete());
  return false;
}

Result<bool> GrowingRendition::advance_sound(Recording::State state) {
  if (state == Recording::State::growing) return false;
  if (!inside_ && !work_->enter(*this)) return false;
  inside_ = true;
  if (!sound_) {
    audio::Sound sound{std::vector<float>(static_cast<std::size_t>(shape_.frames * shape_.channels)), shape_.channels,
                       shape_.sample_rate};
    CONTINUO_CHECK(recording_->read(0, sound.samples));
    CONTINUO_TRY(sound, audio::finish_sound(std::move(sound), settled(format_, shape_)));
    CONTINUO_CHECK(begin(sound.frames(), true));
    sound_ = std::move(sound);
    return true;
  }
  const auto samples = std::span<const float>(sound_->samples);
  const auto at = static_cast<std::size_t>(read_ * sound_->channels);
  const auto count = std::min(samples.size() - at, static_cast<std::size_t>(slice_frames * sound_->channels));
  CONTINUO_CHECK(encoder_->push(samples.subspan(at, count)));
  read_ += static_cast<std::int64_t>(count) / sound_->channels;
  if (at + count < samples.size()) return true;
  CONTINUO_CHECK(complete());
  return false;
}

/// Of a stream: not before there is sound, so that nothing has gone out if there never is any.
Status GrowingRendition::prepare() {
  const audio::FinishOptions finish = settled(format_, shape_);
  if (as_it_is(format_, shape_)) {
    chain_.emplace(shape_.channels);
    chain_->add(std::make_unique<audio::Repair>());
  } else {
    CONTINUO_TRY(chain_, audio::finishing_chain(finish, shape_.channels, shape_.sample_rate, shape_.frames));
  }
  return begin(audio::finished_frames(shape_.frames, shape_.sample_rate, finish), format_.made_whole());
}

Status GrowingRendition::begin(std::optional<std::int64_t> frames, bool overwriting) {
  CONTINUO_TRY(spool_, SpoolFile::create(work_->folder()));
  audio::EncoderOptions options;
  options.format = format_.format;
  options.samples = format_.samples;
  options.bit_rate = format_.bit_rate;
  options.channels = channels();
  options.sample_rate = sample_rate();
  options.frames = frames;
  CONTINUO_TRY(encoder_, audio::Encoder::create(options, sink_of(*spool_, overwriting)));
  return {};
}

Status GrowingRendition::complete() {
  CONTINUO_CHECK(encoder_->finish());
  publish(State::complete, std::nullopt);
  return {};
}

void GrowingRendition::publish(State state, std::optional<Error> error) {
  if (spool_) spooled_ = spool_->size();
  if (state != State::growing) {
    encoder_.reset();
    chain_.reset();
    sound_.reset();
    recording_->forget(listener_);
    recording_.reset();
    if (std::exchange(inside_, false)) work_->leave(*this);
  }
  {
    const std::lock_guard lock(mutex_);
    if (state != State::failed && spool_) size_.store(spool_->size(), std::memory_order_release);
    state_ = state;
    error_ = std::move(error);
  }
  listeners_.call();
}

}  // namespace continuo::server
