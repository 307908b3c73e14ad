// POST /v1/audio/speech as OpenAI's clients send it. Refusals are 400, as theirs are.
//
// prompt = input, and after it, as a sentence of its own, instructions. voice is demanded by their clients and says nothing about
// music: a text or {"id"}, ignored. speed is 1 or absent, n likewise. Nothing else is ignored.
#pragma once

#include <string>
#include <string_view>

#include "server/requests/music_request.h"

namespace continuo::server {

struct SpeechRequest {
  JobSpec spec;         // family "speech", streamed; output is what the body holds
  bool events = false;  // server-sent events (speech.audio.delta, .done, .error) instead of the bytes themselves
};

/// response_format: mp3 (default), opus (in Ogg), aac (in fragmented MP4), flac, wav, pcm (16-bit little-endian, mono and 24 kHz
/// unless sample_rate says otherwise).
Parsed<SpeechRequest> parse_speech(std::string_view body, const RequestContext& context);

/// What input and instructions say together.
std::string speech_prompt(const std::string& input, const std::string& instructions);

}  // namespace continuo::server
