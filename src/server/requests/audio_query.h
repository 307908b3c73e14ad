// What stands behind the question mark. As in a JSON body (requests/json.h) every name is read or refused.
#pragma once

#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "server/media/rendition_format.h"
#include "server/requests/api_error.h"

namespace continuo::server {

using QueryArguments = std::map<std::string, std::string, std::less<>>;

/// The arguments as a JSON object: what is written as a number, or as true or false, becomes that, but for those named in
/// `texts`, which hold whatever people write. A name alone ("download") is true.
nlohmann::json query_object(const QueryArguments& query, std::initializer_list<std::string_view> texts);

/// What the links to a piece's audio take: rate (or sample_rate), channels, bits, bitrate, loudness, fade_in, fade_out, loop,
/// gate, download and, of a job, take.
struct AudioQuery {
  RenditionFormat format;
  int take = 1;
  bool download = false;  // to be saved, not played
};

/// extension: of the path. sample_rate: of the piece. has_takes: whether `take` is a name at all. Errors: 404 for an extension
/// that is none of a format; 422.
Parsed<AudioQuery> read_audio_query(const QueryArguments& query, const std::string& extension, int sample_rate, bool has_takes);

}  // namespace continuo::server
