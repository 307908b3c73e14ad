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

namespace {

Status validate_prompt_codes(const Request& request, const weights::ModelConfig& config) {
  const int frames = frame_count(request.seconds, config);
  if (request.prompt_frames < 0 || request.prompt_codes.size() != static_cast<std::size_t>(request.prompt_frames) *
                                                                      static_cast<std::size_t>(config.decoder.codebooks)) {
    return fail(ErrorCode::invalid_argument, "{} codes to continue are not {} frames of {} codebooks",
                request.prompt_codes.size(), request.prompt_frames, config.decoder.codebooks);
  }
  if (request.prompt_frames >= frames) {
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
  const double longest = config.decoder.max_frames / config.codec.frame_rate();
  if (!std::isfinite(request.seconds) || request.seconds <= 0.0) {
    return fail(ErrorCode::invalid_argument, "a duration of {} s cannot be made; give more than 0 and at most {:g} s",
                request.seconds, longest);
  }
  if (request.seconds > longest) {
    return fail(
        ErrorCode::invalid_argument,
        "{:g} s are longer than the {:g} s this model was trained on; longer pieces are not supported by this version yet",
        request.seconds, longest);
  }
  if (frame_count(request.seconds, config) < 1) {
    return fail(ErrorCode::invalid_argument, "{:g} s are shorter than one frame; the shortest piece is {:g} s", request.seconds,
                1.0 / config.codec.frame_rate());
  }
  if (request.prompt.size() > max_prompt_bytes) {
    return fail(ErrorCode::invalid_argument, "the prompt has {} bytes; at most {} are accepted", request.prompt.size(),
                max_prompt_bytes);
  }
  if (!weights::valid_utf8(request.prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not valid UTF-8 text");
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
