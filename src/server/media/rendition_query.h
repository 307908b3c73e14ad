// The query of an audio link: in which form a piece is wanted.
//
//   rate=32000|44100|48000  channels=1|2  bits=16|24|32  bitrate=32000..320000  loudness=LUFS|none  gate=DB|none
//   fade_in=SECONDS  fade_out=SECONDS  loop=1|0
//
// What is not said is as in `base`, the form that the piece was asked for in, as far as the format of the link can have it. Names
// that nobody knows are refused, and so are values that are not exactly what stands here.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/media/rendition_format.h"
#include "server/requests/api_error.h"

namespace continuo::server {

using Query = std::map<std::string, std::string, std::less<>>;

/// extension: of the link: wav, flac, mp3, m4a, ogg; others are 404. others: further names that the route itself reads. Never
/// `whole`: that is up to whoever knows whether the recording is complete.
Parsed<RenditionFormat> parse_rendition_query(const std::string& extension, const Query& query, const RenditionFormat& base,
                                              std::initializer_list<std::string_view> others = {"take", "download"});

/// Refuses a name that is not one of these.
Parsed<void> check_query(const Query& query, std::initializer_list<std::string_view> known);
Parsed<std::optional<std::int64_t>> query_integer(const Query& query, std::string_view name, std::int64_t least,
                                                  std::int64_t most);
/// 1, 0, true, false; nothing if absent.
Parsed<std::optional<bool>> query_flag(const Query& query, std::string_view name);

}  // namespace continuo::server
