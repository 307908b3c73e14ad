#include <algorithm>
#include <cmath>

#include "engine/engine.h"
#include "weights/text_check.h"

namespace continuo::engine {

Request default_request(const weights::ModelConfig& config) {
  Request request;
  request.temperature = config.defaults.temperature;
  request.top_k = std::min(config.defaults.top_k, config.decoder.codebook_size);  // cutting nothing is the same as keeping all
  request.top_p = config.defaults.top_p;
  request.guidance = config.defaults.guidance;
  return request;
}

int frame_count(double seconds, const weights::ModelConfig& config) {
  return static_cast<int>(std::lround(seconds * config.codec.frame_rate()));
}

double request_seconds(const Request& request) {
  if (request.segments.empty()) return request.seconds;
  double seconds = 0.0;
  for (const Segment& segment : request.segments) seconds += segment.seconds;
  return seconds;
}

namespace {

Status validate_prompt(const std::string& prompt) {
  if (prompt.size() > max_prompt_bytes) {
    return fail(ErrorCode::invalid_argument, "the prompt has {} bytes; at most {} are accepted", prompt.size(), max_prompt_bytes);
  }
  if (!weights::valid_utf8(prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not valid UTF-8 text");
  return {};
}

Status validate_length(double seconds, const weights::ModelConfig& config) {
  if (!std::isfinite(seconds) || seconds <= 0.0) {
    return fail(ErrorCode::invalid_argument, "a duration of {} s cannot be made; give more than 0 and at most {:g} s", seconds,
                longest_seconds);
  }
  if (seconds > longest_seconds) {
    return fail(ErrorCode::invalid_argument, "{:g} s are more than the longest piece, {:g} s", seconds, longest_seconds);
  }
  if (frame_count(seconds, config) < 1) {
    return fail(ErrorCode::invalid_argument, "{:g} s are shorter than one frame; the shortest piece is {:g} s", seconds,
                1.0 / config.codec.frame_rate());
  }
  return {};
}

Status validate_segments(const Request& request, const weights::ModelConfig& config) {
  if (request.endless)
    return fail(ErrorCode::invalid_argument, "an endless piece has no segments; change its prompt while it plays");
  for (std::size_t i = 0; i < request.segments.size(); ++i) {
    const Segment& segment = request.segments[i];
    CONTINUO_CHECK(validate_prompt(segment.prompt));
    CONTINUO_CHECK(validate_length(segment.seconds, config));
    if (i > 0 && segment.join == Join::continued && config.is_melody()) {
      return fail(ErrorCode::unsupported,
                  "a melody model hears its prompt at the start only; join the segments of a relay by crossfades");
    }
  }
  const double longest_fade = 10.0;
  if (!(request.crossfade_seconds > 0.0 && request.crossfade_seconds <= longest_fade)) {
    return fail(ErrorCode::invalid_argument, "a crossfade of {} s is outside 0 to {:g} s", request.crossfade_seconds,
                longest_fade);
  }
  return {};
}

Status validate_prompt_codes(const Request& request, const weights::ModelConfig& config) {
  const int frames = frame_count(request.segments.empty() ? request.seconds : request.segments.front().seconds, config);
  if (request.prompt_frames < 0 || request.prompt_codes.size() != static_cast<std::size_t>(request.prompt_frames) *
                                                                      static_cast<std::size_t>(config.decoder.codebooks)) {
    return fail(ErrorCode::invalid_argument, "{} codes to continue are not {} frames of {} codebooks",
                request.prompt_codes.size(), request.prompt_frames, config.decoder.codebooks);
  }
  if (!request.endless && request.prompt_frames >= frames) {
    return fail(
        ErrorCode::invalid_argument,
        "the audio to continue has {:g} s, but the whole piece only {:g} s; ask for a longer piece or continue less of it",
        request.prompt_frames / config.codec.frame_rate(), request.seconds);
  }
  for (const std::int64_t code : request.prompt_codes) {
    if (code < 0 || code >= config.decoder.codebook_size) {
      return fail(ErrorCode::invalid_argument, "code {} to continue is outside the codebook (0 to {})", code,
                  config.decoder.codebook_size - 1);
    }
  }
  return {};
}

}  // namespace

Status validate(const Request& request, const weights::ModelConfig& config) {
  CONTINUO_CHECK(validate_length(request_seconds(request), config));
  CONTINUO_CHECK(validate_prompt(request.prompt));
  if (!request.segments.empty()) CONTINUO_CHECK(validate_segments(request, config));
  if (!(request.chunk_seconds > 0.0 && request.chunk_seconds <= 30.0)) {
    return fail(ErrorCode::invalid_argument, "sound in chunks of {} s is not possible; give more than 0 and at most 30 s",
                request.chunk_seconds);
  }
  if (!(request.buffer_seconds >= 0.0))
    return fail(ErrorCode::invalid_argument, "a buffer of {} s is not possible", request.buffer_seconds);
  if (request.take < 1) return fail(ErrorCode::invalid_argument, "takes are counted from 1");
  if (!std::isfinite(request.temperature) || request.temperature < 0.0F) {
    return fail(ErrorCode::invalid_argument, "a temperature of {} is not possible; give 0 (greedy) or more", request.temperature);
  }
  if (request.top_k < 0 || request.top_k > config.decoder.codebook_size) {
    return fail(ErrorCode::invalid_argument, "top_k {} is outside 0 (no cut) to {}, the size of this model's codebooks",
                request.top_k, config.decoder.codebook_size);
  }
  if (!(request.top_p >= 0.0F && request.top_p <= 1.0F)) {
    return fail(ErrorCode::invalid_argument, "top_p {} is outside 0 (off) to 1", request.top_p);
  }
  if (!std::isfinite(request.guidance) || request.guidance < 0.0F || request.guidance > 100.0F) {
    return fail(ErrorCode::invalid_argument, "a guidance of {} is outside 0 to 100 (1 means none, 3 is usual)", request.guidance);
  }
  if (!request.melody.empty() && !config.is_melody()) {
    return fail(ErrorCode::unsupported, "the model {} cannot follow a melody; use a melody model (musicgen-melody) for that",
                config.name);
  }
  for (const int pitch_class : request.melody) {
    if (pitch_class < 0 || pitch_class >= config.melody.bins) {
      return fail(ErrorCode::invalid_argument, "pitch class {} of the melody is outside 0 to {}", pitch_class,
                  config.melody.bins - 1);
    }
  }
  return validate_prompt_codes(request, config);
}

}  // namespace continuo::engine
