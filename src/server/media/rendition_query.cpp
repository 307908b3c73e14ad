#include "server/media/rendition_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

namespace continuo::server {

namespace {

using audio::FileFormat;
using audio::SampleFormat;

constexpr std::array<std::string_view, 9> form_names{"rate", "channels", "bits",     "bitrate", "loudness",
                                                     "gate", "fade_in",  "fade_out", "loop"};

template <class T, class... Format>
std::optional<T> whole(std::string_view text, Format... format) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::string* find(const Query& query, std::string_view name) {
  const auto found = query.find(name);
  return found == query.end() ? nullptr : &found->second;
}

/// What strangers send is not repeated at any length.
std::string quoted(const std::string& text) {
  return text.size() <= 40 ? "'" + text + "'" : "a text of " + std::to_string(text.size()) + " bytes";
}

tl::unexpected<ApiError> wrong(std::string_view name, const std::string& expected, const std::string& text) {
  return refuse(422, "invalid_value", std::string(name), fmt::format("{} must be {}, not {}", name, expected, quoted(text)));
}

Parsed<std::optional<int>> one_of(const Query& query, std::string_view name, std::initializer_list<int> choices,
                                  const char* list) {
  const std::string* const text = find(query, name);
  if (text == nullptr) return std::nullopt;
  for (const int choice : choices) {
    if (*text == std::to_string(choice)) return choice;
  }
  return wrong(name, list, *text);
}

Parsed<std::optional<double>> number(const Query& query, std::string_view name, double least, double most, bool or_none = false) {
  const std::string* const text = find(query, name);
  if (text == nullptr || (or_none && *text == "none")) return std::nullopt;
  const auto value = whole<double>(*text, std::chars_format::fixed);
  if (!value || !std::isfinite(*value) || *value < least || *value > most) {
    return wrong(name, fmt::format("a plain number from {:g} to {:g}{}", least, most, or_none ? ", or none" : ""), *text);
  }
  return value;
}

Parsed<void> check_names(const Query& query, std::span<const std::string_view> some,
                         std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> known(some.begin(), some.end());
  known.insert(known.end(), more.begin(), more.end());
  for (const auto& [name, value] : query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string_view one : known) list += (list.empty() ? "" : ", ") + std::string(one);
    const std::string shown = name.size() <= 40 ? name : "";
    return refuse(422, "unknown_field", shown,
                  list.empty() ? "this address has no query"
                               : fmt::format("{} is nothing that this address knows; it knows {}", quoted(name), list));
  }
  return {};
}

std::optional<FileFormat> format_of_link(const std::string& extension) {
  if (extension == "opus" || extension == "pcm" || extension == "raw" || extension == "aac" || extension == "mp4") {
    return std::nullopt;  // one name for one thing
  }
  return audio::file_format_from_name(extension);
}

/// What of `base` a link of another format can have.
RenditionFormat inherited(FileFormat format, const RenditionFormat& base) {
  RenditionFormat wanted;
  wanted.format = format;
  wanted.finish = base.finish;
  wanted.bit_rate = base.format == format ? base.bit_rate : 0;
  if (format == FileFormat::wav || format == FileFormat::flac) wanted.samples = base.samples;
  if (format == FileFormat::flac && base.samples == SampleFormat::float32) wanted.samples = SampleFormat::pcm24;
  if (wanted.finish.sample_rate) {
    const int rate = *wanted.finish.sample_rate;
    const bool possible = format == FileFormat::opus
                              ? rate == 48'000
                              : !audio::is_lossy(format) || rate == 32'000 || rate == 44'100 || rate == 48'000;
    if (!possible) wanted.finish.sample_rate.reset();
  }
  return wanted;
}

Parsed<void> read_samples(const Query& query, const std::string& extension, RenditionFormat& wanted) {
  const bool lossy = audio::is_lossy(wanted.format);
  CONTINUO_PARSE(const auto rate, one_of(query, "rate", {32'000, 44'100, 48'000}, "32000, 44100 or 48000"));
  if (wanted.format == FileFormat::opus && rate.value_or(48'000) != 48'000) {
    return refuse(422, "unsupported", "rate", "ogg (Opus) has only a rate of 48000");
  }
  if (rate) wanted.finish.sample_rate = rate;
  CONTINUO_PARSE(const auto channels, one_of(query, "channels", {1, 2}, "1 or 2"));
  if (channels) wanted.finish.channels = channels;
  CONTINUO_PARSE(const auto bits, one_of(query, "bits", {16, 24, 32}, "16, 24 or 32"));
  if (bits && lossy) {
    return refuse(422, "unsupported", "bits", fmt::format("bits is for wav and flac; {} has no sample format", extension));
  }
  if (bits == 32 && wanted.format == FileFormat::flac) {
    return refuse(422, "unsupported", "bits", "flac holds samples of 16 or 24 bits; for 32-bit floats take wav");
  }
  if (bits) wanted.samples = *bits == 16 ? SampleFormat::pcm16 : *bits == 24 ? SampleFormat::pcm24 : SampleFormat::float32;
  CONTINUO_PARSE(const auto bit_rate, query_integer(query, "bitrate", 32'000, 320'000));
  if (bit_rate && !lossy) {
    return refuse(422, "unsupported", "bitrate", fmt::format("bitrate is for mp3, m4a and ogg; {} loses nothing", extension));
  }
  if (bit_rate) wanted.bit_rate = static_cast<int>(*bit_rate);
  return {};
}

Parsed<void> read_finish(const Query& query, audio::FinishOptions& finish) {
  CONTINUO_PARSE(const auto loudness, number(query, "loudness", audio::min_loudness, audio::max_loudness, true));
  if (find(query, "loudness") != nullptr) finish.loudness = loudness;
  CONTINUO_PARSE(const auto gate, number(query, "gate", audio::min_gate_db, audio::max_gate_db, true));
  if (find(query, "gate") != nullptr) finish.gate.reset();
  if (gate) finish.gate.emplace().threshold_db = *gate;
  CONTINUO_PARSE(const auto loop, query_flag(query, "loop"));
  CONTINUO_PARSE(const auto fade_in, number(query, "fade_in", 0.0, audio::max_fade_seconds));
  CONTINUO_PARSE(const auto fade_out, number(query, "fade_out", 0.0, audio::max_fade_seconds));
  const bool fades = fade_in.value_or(0.0) > 0.0 || fade_out.value_or(0.0) > 0.0;
  if (loop.value_or(false) && fades) {
    return refuse(422, "invalid_value", "loop", "a loop has no beginning and no end to fade; leave out the fades or the loop");
  }
  // What is asked for here is stronger than what was asked for with the piece.
  if (loop.value_or(false)) finish.fade_in = finish.fade_out = 0.0;
  if (fades) finish.loop.reset();
  if (loop) finish.loop = *loop ? std::optional(finish.loop.value_or(audio::LoopOptions{})) : std::nullopt;
  if (fade_in) finish.fade_in = *fade_in;
  if (fade_out) finish.fade_out = *fade_out;
  return {};
}

}  // namespace

Parsed<void> check_query(const Query& query, std::initializer_list<std::string_view> known) {
  return check_names(query, {}, known);
}

Parsed<std::optional<std::int64_t>> query_integer(const Query& query, std::string_view name, std::int64_t least,
                                                  std::int64_t most) {
  const std::string* const text = find(query, name);
  if (text == nullptr) return std::nullopt;
  const auto value = whole<std::int64_t>(*text);
  if (!value || *value < least || *value > most) {
    return wrong(name, fmt::format("a whole number from {} to {}", least, most), *text);
  }
  return value;
}

Parsed<std::optional<bool>> query_flag(const Query& query, std::string_view name) {
  const std::string* const text = find(query, name);
  if (text == nullptr) return std::nullopt;
  if (*text == "1" || *text == "true") return true;
  if (*text == "0" || *text == "false") return false;
  return wrong(name, "1 or 0", *text);
}

Parsed<RenditionFormat> parse_rendition_query(const std::string& extension, const Query& query, const RenditionFormat& base,
                                              std::initializer_list<std::string_view> others) {
  const auto format = format_of_link(extension);
  if (!format) {
    return refuse(404, "not_found", "", "there is no sound of this ending; take audio.wav, .flac, .mp3, .m4a or .ogg");
  }
  if (auto names = check_names(query, form_names, others); !names) return tl::unexpected(std::move(names).error());
  RenditionFormat wanted = inherited(*format, base);
  if (auto read = read_samples(query, extension, wanted); !read) return tl::unexpected(std::move(read).error());
  if (auto read = read_finish(query, wanted.finish); !read) return tl::unexpected(std::move(read).error());
  // Room below full scale for decoders that overshoot, and for gains; what is kept as it is needs none.
  wanted.finish.ceiling_db = audio::is_lossy(*format) || wanted.finish.loudness ? -1.0 : 0.0;
  return wanted;
}

}  // namespace continuo::server
