#include "cli/stream_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "cli/interrupt.h"

namespace continuo::cli {

namespace {

// What a pipe that is "ready" takes without blocking (pipe(7)). The descriptor itself stays blocking: others share it.
constexpr std::size_t piece_bytes = 4096;
constexpr std::int64_t block_frames = 2048;

tl::unexpected<Error> cannot_write(int error) {
  return fail(ErrorCode::io, "cannot write to standard output: {}", std::strerror(error));
}

/// A pipe holds 64 KiB if nobody says otherwise, a second of 16-bit mono: too much for a listener who types.
void shrink_pipe(std::size_t bytes) {
#ifdef F_SETPIPE_SZ
  ::fcntl(STDOUT_FILENO, F_SETPIPE_SZ, static_cast<int>(bytes));  // not a pipe, or no right to: then it stays as it is
#else
  (void)bytes;
#endif
}

}  // namespace

Result<StreamFormat> parse_stream_format(const std::string& name, audio::SampleFormat wav_samples) {
  if (name == "s16le") return StreamFormat{audio::SampleFormat::pcm16, false};
  if (name == "s24le") return StreamFormat{audio::SampleFormat::pcm24, false};
  if (name == "f32le") return StreamFormat{audio::SampleFormat::float32, false};
  if (name == "wav") return StreamFormat{wav_samples, true};
  return fail(ErrorCode::invalid_argument, "--stream-format must be s16le, s24le, f32le or wav, not '{}'", name);
}

std::string describe(const StreamFormat& format, int channels, int sample_rate) {
  const char* samples = format.samples == audio::SampleFormat::pcm16   ? "s16le"
                        : format.samples == audio::SampleFormat::pcm24 ? "s24le"
                                                                       : "f32le";
  return fmt::format("{}{}, {} Hz, {}", format.wav ? "WAV of " : "", samples, sample_rate, channels == 1 ? "mono" : "stereo");
}

Status check_stream_output() {
  if (::isatty(STDOUT_FILENO) == 1) {
    return fail(ErrorCode::invalid_argument,
                "standard output is a terminal, which cannot play sound; pipe it into a player: ... --stream-format wav | aplay");
  }
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) return cannot_write(errno);
  return {};
}

Result<StreamOutput> StreamOutput::open(const Options& options) {
  CONTINUO_CHECK(check_stream_output());
  ::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is told by write()
  StreamOutput output(options);
  if (options.lead > 0.0) {
    const double a_second = static_cast<double>(options.sample_rate) * options.channels * bytes_of_sample(options.format.samples);
    shrink_pipe(static_cast<std::size_t>(options.lead * a_second));
  }
  if (options.format.wav) {
    CONTINUO_TRY(output.pending_,
                 audio::wav_header(options.frames, options.channels, options.sample_rate, options.format.samples));
  }
  return output;
}

bool StreamOutput::in_time(double seconds) {
  if (options_.lead <= 0.0) return true;
  const auto now = Clock::now();
  const double sound = static_cast<double>(written_) / options_.sample_rate;
  if (!start_) start_ = now;
  double ahead = sound - std::chrono::duration<double>(now - *start_).count();
  if (ahead < 0.0) {  // the listener has waited; what comes next is heard that much later
    *start_ = now - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(sound));
    ahead = 0.0;
  }
  if (ahead < options_.lead) return true;
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, ahead - options_.lead + 0.005)));
  return false;
}

Result<bool> StreamOutput::push(double seconds) {
  while (pushed_ < pending_.size()) {
    pollfd ready{STDOUT_FILENO, POLLOUT, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(seconds * 1e3));
    if (count == 0 || (count < 0 && errno == EINTR)) return false;
    const ssize_t size = ::write(STDOUT_FILENO, pending_.data() + pushed_, std::min(piece_bytes, pending_.size() - pushed_));
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (size < 0 && errno == EPIPE) {
      left_ = true;
      return fail(ErrorCode::io, "whoever read standard output has stopped reading; it ended after {:.1f} s of sound",
                  static_cast<double>(written_) / options_.sample_rate);
    }
    if (size < 0) return cannot_write(errno);
    pushed_ += static_cast<std::size_t>(size);
  }
  pending_.clear();
  pushed_ = 0;
  return true;
}

Result<std::int64_t> StreamOutput::write(std::span<const float> samples, double seconds) {
  CONTINUO_TRY(const bool room, push(seconds));
  if (!room || !in_time(seconds)) return 0;
  const std::int64_t frames = std::min(block_frames, static_cast<std::int64_t>(samples.size()) / options_.channels);
  CONTINUO_TRY(pending_, audio::encode_samples(samples.first(static_cast<std::size_t>(frames * options_.channels)),
                                               options_.format.samples));
  written_ += frames;
  CONTINUO_CHECK(push(0.0));
  return frames;
}

Status StreamOutput::finish() {
  const bool odd = written_ * options_.channels * bytes_of_sample(options_.format.samples) % 2 != 0;
  if (options_.format.wav && odd) pending_.push_back(std::byte{0});  // chunks end at even places
  for (;;) {
    CONTINUO_TRY(const bool done, push(0.1));
    if (done) return {};
    if (interrupted()) return fail(ErrorCode::cancelled, "interrupted before the reader had taken everything");
  }
}

}  // namespace continuo::cli
