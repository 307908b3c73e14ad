#include "server/media/peaks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace continuo::server {

namespace {

constexpr std::int64_t block_frames = 32;
constexpr std::int64_t slice_blocks = 1024;
// Models exceed full scale, seldom by much: 16 bits over twice of it are finer than any screen.
constexpr float scale = 16'000.0F;

std::int16_t packed(float value) {
  if (!std::isfinite(value)) return 0;
  return static_cast<std::int16_t>(std::lround(std::clamp(value, -2.0F, 2.0F) * scale));
}

struct Extent {
  std::int16_t low = 0, high = 0;
};

Extent extent_of(std::span<const float> interleaved, std::size_t channel, std::size_t channels) {
  float low = interleaved[channel], high = low;
  for (std::size_t i = channel; i < interleaved.size(); i += channels) {
    low = std::min(low, interleaved[i]);
    high = std::max(high, interleaved[i]);
  }
  return {packed(low), packed(high)};
}

std::int64_t blocks_in(std::int64_t frames) { return (frames + block_frames - 1) / block_frames; }

}  // namespace

struct PeakTable::Outline {
  Outline(std::string name, const Recording::Shape& whole)
      : take(std::move(name)), shape(whole), channels(static_cast<std::size_t>(whole.channels)) {}

  const std::string take;
  const Recording::Shape shape;
  std::mutex mutex;  // of what follows
  std::int64_t frames = 0;
  std::vector<std::vector<Extent>> channels;  // [channel][block]; the last block may be cut short

  /// Reads what is new.
  Status grow(const Recording& recording) {
    const std::int64_t end = recording.frames();
    const std::size_t width = channels.size();
    std::vector<float> samples(static_cast<std::size_t>(slice_blocks * block_frames) * width);
    while (frames < end) {
      const std::int64_t first = frames / block_frames * block_frames;
      const std::int64_t wanted = std::min(slice_blocks * block_frames, end - first);
      CONTINUO_TRY(const std::int64_t got,
                   recording.read(first, std::span(samples).first(static_cast<std::size_t>(wanted) * width)));
      if (got <= frames - first) return fail(ErrorCode::io, "the sound ends before its end");
      for (std::size_t c = 0; c < width; ++c) {
        channels[c].resize(static_cast<std::size_t>(first / block_frames));
        for (std::int64_t at = 0; at < got; at += block_frames) {
          const auto block = std::span<const float>(samples).subspan(
              static_cast<std::size_t>(at) * width, static_cast<std::size_t>(std::min(block_frames, got - at)) * width);
          channels[c].push_back(extent_of(block, c, width));
        }
      }
      frames = first + got;
    }
    return {};
  }

  Peaks::Line line_of(std::size_t channel, int bins) const {
    const std::vector<Extent>& blocks = channels[channel];
    const std::int64_t all = blocks_in(shape.frames);
    Peaks::Line line;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const auto begin = static_cast<std::size_t>(bin * all / bins);
      const auto end = std::min(static_cast<std::size_t>((bin + 1) * all / bins), blocks.size());
      if (begin >= end) break;
      Extent extent = blocks[begin];
      for (std::size_t i = begin + 1; i < end; ++i) {
        extent.low = std::min(extent.low, blocks[i].low);
        extent.high = std::max(extent.high, blocks[i].high);
      }
      line.low.push_back(static_cast<float>(extent.low) / scale);
      line.high.push_back(static_cast<float>(extent.high) / scale);
    }
    return line;
  }
};

std::shared_ptr<PeakTable::Outline> PeakTable::outline_of(const std::string& take, const Recording::Shape& shape) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(outlines_.begin(), outlines_.end(), [&](const auto& one) {
    return one->take == take && one->shape.channels == shape.channels && one->shape.frames == shape.frames;
  });
  if (found != outlines_.end()) {
    outlines_.splice(outlines_.begin(), outlines_, found);
  } else {
    outlines_.push_front(std::make_shared<Outline>(take, shape));
    if (outlines_.size() > most_) outlines_.pop_back();
  }
  return outlines_.front();
}

Result<Peaks> PeakTable::of(const std::string& take, const std::shared_ptr<Recording>& recording, int bins, bool by_channel) {
  const Recording::Shape& shape = recording->shape();
  const auto outline = outline_of(take, shape);
  Peaks peaks;
  peaks.complete = recording->state() == Recording::State::complete;  // before the frames
  const std::lock_guard lock(outline->mutex);
  CONTINUO_CHECK(outline->grow(*recording));
  peaks.bins = static_cast<int>(std::min<std::int64_t>(bins, blocks_in(shape.frames)));
  for (std::size_t c = 0; c < outline->channels.size(); ++c) peaks.channels.push_back(outline->line_of(c, peaks.bins));
  peaks.all = peaks.channels.front();
  for (const Peaks::Line& line : peaks.channels) {
    for (std::size_t i = 0; i < line.low.size(); ++i) {
      peaks.all.low[i] = std::min(peaks.all.low[i], line.low[i]);
      peaks.all.high[i] = std::max(peaks.all.high[i], line.high[i]);
    }
  }
  if (!by_channel) peaks.channels.clear();
  peaks.seconds = static_cast<double>(outline->frames) / shape.sample_rate;
  peaks.duration = static_cast<double>(shape.frames) / shape.sample_rate;
  return peaks;
}

namespace {

void write_line(std::string& out, const Peaks::Line& line) {
  const auto write = [&](const char* name, const std::vector<float>& values) {
    fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{}{:.4g}", i > 0 ? "," : "", values[i]);
    }
    out += ']';
  };
  write("min", line.low);
  out += ',';
  write("max", line.high);
}

}  // namespace

std::string write_peaks(const Peaks& peaks) {
  std::string out = fmt::format("{{\"bins\":{},", peaks.bins);
  write_line(out, peaks.all);
  if (!peaks.channels.empty()) {
    out += ",\"channels\":[";
    for (std::size_t c = 0; c < peaks.channels.size(); ++c) {
      out += c > 0 ? ",{" : "{";
      write_line(out, peaks.channels[c]);
      out += '}';
    }
    out += ']';
  }
  fmt::format_to(std::back_inserter(out), ",\"seconds\":{:.6g},\"duration\":{:.6g},\"complete\":{}}}", peaks.seconds,
                 peaks.duration, peaks.complete);
  return out;
}

}  // namespace continuo::server
