// multipart/form-data (RFC 7578), as far as an upload needs it: parts with names, one of them a file.
//
// Nothing is decoded but the headers: a part's bytes are a view into the body. A boundary inside a part's bytes cannot be told
// from an end, so the client's choice is believed. Bounded: 16 parts, 4 KiB of headers each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/requests/api_error.h"

namespace continuo::server {

struct Part {
  std::string name;
  std::optional<std::string> file_name;  // as the client says; for messages only, never a path
  std::string media_type;                // lower case, without parameters; empty: not said
  std::string_view bytes;
};

/// The boundary of a Content-Type of multipart/form-data; nothing: another type. Errors: 400, no boundary or a bad one.
Parsed<std::optional<std::string>> multipart_boundary(std::string_view content_type);

/// Errors: 400 for what is not such a body.
Parsed<std::vector<Part>> parse_multipart(std::string_view body, std::string_view boundary);

/// The one part called "file". Errors: 422 for none or several, for other parts than that, for an empty one.
Parsed<Part> file_part(std::string_view body, std::string_view boundary);

}  // namespace continuo::server
