#include "server/requests/audio_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"
#include "server/requests/json.h"

namespace continuo::server {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> extensions{"wav", "flac", "mp3", "m4a", "ogg"};

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return number;
}

json value_of(const std::string& text) {
  if (text.empty() || text == "true") return true;
  if (text == "false") return false;
  if (const auto whole = number_in<std::int64_t>(text)) return *whole;
  if (const auto number = number_in<double>(text); number && std::isfinite(*number)) return *number;
  return text;
}

/// Links say 1 and 0 as often as true and false.
void as_flag(json& object, const char* name) {
  const auto found = object.find(name);
  if (found != object.end() && (*found == 0 || *found == 1)) *found = *found == 1;
}

}  // namespace

json query_object(const QueryArguments& query, std::initializer_list<std::string_view> texts) {
  json object = json::object();
  for (const auto& [name, text] : query) {
    object[name] = std::find(texts.begin(), texts.end(), name) == texts.end() ? value_of(text) : json(text);
  }
  return object;
}

Parsed<AudioQuery> read_audio_query(const QueryArguments& query, const std::string& extension, int sample_rate, bool has_takes) {
  if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) {
    return refuse(404, "not_found", "", "there are audio.wav, audio.flac, audio.mp3, audio.m4a and audio.ogg");
  }
  json object = query_object(query, {});
  for (const char* flag : {"loop", "download"}) as_flag(object, flag);
  AudioQuery read;
  Fields own(object);
  if (object.contains("format")) own.refuse("format", "the format is the ending of the path: audio.flac", "unknown_field");
  read.download = own.flag("download").value_or(false);
  if (has_takes) read.take = static_cast<int>(own.integer("take", 1, 1'000'000).value_or(1));
  const auto rate = own.choice("rate", {32'000, 44'100, 48'000});  // short for sample_rate, the name in bodies
  for (const char* shared : {"sample_rate", "channels", "bits", "bitrate", "loudness", "fade_in", "fade_out", "loop", "gate"}) {
    own.ignore(shared);
  }
  if (const auto done = own.finish(); !done) return tl::unexpected(done.error());

  // The rest as in a body.
  for (const char* name : {"rate", "download", "take"}) object.erase(name);
  object["format"] = extension;
  if (rate) object["sample_rate"] = *rate;
  weights::ModelConfig config;
  config.codec.sample_rate = sample_rate;
  Fields fields(object);
  read.format = read_output(fields, config);
  if (const auto done = fields.finish(); !done) return tl::unexpected(done.error());
  return read;
}

}  // namespace continuo::server
