#include "engine/work.h"

#include <algorithm>
#include <cmath>

namespace continuo::engine {

std::vector<Part> parts_of(const Request& request, const weights::ModelConfig& config) {
  if (request.segments.empty()) {
    Part part;
    part.prompts.push_back({0, request.prompt, {}});
    part.frames = frame_count(request.seconds, config);
    return {part};
  }
  // Ends are rounded, not lengths: what is rounded away at one segment is not lost to the whole.
  std::vector<Part> parts;
  double end = 0.0;
  int start_frame = 0, part_start = 0;
  for (const Segment& segment : request.segments) {
    if (parts.empty() || segment.join == Join::crossfaded) {
      part_start = start_frame;
      parts.emplace_back();
    }
    parts.back().prompts.push_back({start_frame - part_start, segment.prompt, {}});
    end += segment.seconds;
    start_frame = frame_count(end, config);
    parts.back().frames = start_frame - part_start;
  }
  const int fade = std::max(1, frame_count(request.crossfade_seconds, config));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    parts[i].fade_frames = std::min(fade, parts[i + 1].frames);
    parts[i].frames += parts[i].fade_frames;
  }
  return parts;
}

bool Work::has_prompt(const std::string& text) const {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& each) {
    return std::any_of(each.prompts.begin(), each.prompts.end(), [&](const Part::Prompt& prompt) { return prompt.text == text; });
  });
}

void Joiner::begin(std::int64_t samples, std::int64_t fade) {
  length_ = samples;
  fade_ = fade;
  taken_ = 0;
  tail_ = std::move(held_);
  held_.clear();
}

std::vector<float> Joiner::push(std::vector<float> samples) {
  const auto count = static_cast<std::int64_t>(samples.size()) / channels_;
  const auto tail = static_cast<std::int64_t>(tail_.size()) / channels_;
  for (std::int64_t i = 0; i < count && taken_ + i < tail; ++i) {
    const double angle = (static_cast<double>(taken_ + i) + 0.5) / static_cast<double>(tail) * 1.57079632679489662;
    for (int channel = 0; channel < channels_; ++channel) {
      float& sample = samples[static_cast<std::size_t>(i * channels_ + channel)];
      sample = static_cast<float>(std::sin(angle)) * sample +
               static_cast<float>(std::cos(angle)) * tail_[static_cast<std::size_t>((taken_ + i) * channels_ + channel)];
    }
  }
  const std::int64_t final = std::clamp<std::int64_t>(length_ - fade_ - taken_, 0, count);
  taken_ += count;
  const auto cut = samples.begin() + static_cast<std::ptrdiff_t>(final * channels_);
  held_.insert(held_.end(), cut, samples.end());
  samples.erase(cut, samples.end());
  return samples;
}

}  // namespace continuo::engine
