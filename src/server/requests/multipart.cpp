#include "server/requests/multipart.h"

#include <algorithm>
#include <cctype>

#include "weights/text_check.h"

namespace continuo::server {

namespace {

constexpr std::size_t most_parts = 16;
constexpr std::size_t most_header_bytes = 4096;
constexpr std::size_t most_name_bytes = 256;
constexpr std::size_t most_boundary_bytes = 70;  // RFC 2046, 5.1.1

tl::unexpected<ApiError> malformed(const char* what) {
  return refuse(400, "invalid_form", {}, fmt::format("the form cannot be read: {}", what));
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The value at the front, a word or a quoted string (RFC 9110, 5.6.4), taken off; nothing if a quotation does not end.
std::optional<std::string> take_value(std::string_view& rest) {
  std::string value;
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    value = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    return value;
  }
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest = trimmed(rest.substr(i + 1));
      return value;
    }
    // Browsers write %22 for a quotation mark and leave backslashes alone; other clients escape with them.
    if (rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\')) ++i;
    value += rest[i];
  }
  return std::nullopt;
}

struct Parameter {
  std::string name;  // lower case
  std::string value;
};

/// word; name=value; name="value". Nothing for what is not that.
std::optional<std::pair<std::string, std::vector<Parameter>>> parse_parameters(std::string_view text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  std::pair<std::string, std::vector<Parameter>> result{lower(trimmed(text.substr(0, end))), {}};
  text.remove_prefix(end);
  while (!text.empty()) {
    if (text.front() != ';') return std::nullopt;
    text = trimmed(text.substr(1));
    if (text.empty()) break;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals > text.find(';')) return std::nullopt;
    Parameter parameter{lower(trimmed(text.substr(0, equals))), {}};
    text = trimmed(text.substr(equals + 1));
    auto value = take_value(text);
    if (!value) return std::nullopt;
    parameter.value = std::move(*value);
    result.second.push_back(std::move(parameter));
  }
  return result;
}

/// The headers of a part, up to and with the empty line that ends them.
Parsed<Part> parse_headers(std::string_view headers) {
  Part part;
  bool disposed = false;
  while (!headers.empty()) {
    const std::size_t end = headers.find("\r\n");
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(end == std::string_view::npos ? headers.size() : end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return malformed("a part has a header without a colon");
    const std::string name = lower(line.substr(0, colon));
    if (name == "content-transfer-encoding") {
      const std::string encoding = lower(trimmed(line.substr(colon + 1)));
      if (encoding != "binary" && encoding != "8bit" && encoding != "7bit") {
        return malformed("a part is encoded for mail (content-transfer-encoding)");
      }
      continue;
    }
    if (name != "content-disposition" && name != "content-type") continue;
    const auto value = parse_parameters(trimmed(line.substr(colon + 1)));
    if (!value) return malformed("a header of a part is not in its usual form");
    if (name == "content-type") {
      part.media_type = value->first;
      continue;
    }
    if (disposed || value->first != "form-data") return malformed("a part is not form-data, or says so twice");
    disposed = true;
    for (const Parameter& parameter : value->second) {
      if (parameter.value.size() > most_name_bytes || !weights::valid_utf8(parameter.value)) {
        return malformed("a part's name is too long, or not UTF-8 text");
      }
      if (parameter.name == "name") part.name = parameter.value;
      if (parameter.name == "filename") part.file_name = parameter.value;
    }
  }
  if (!disposed || part.name.empty()) return malformed("a part has no name");
  return part;
}

}  // namespace

Parsed<std::optional<std::string>> multipart_boundary(std::string_view content_type) {
  const std::string type = lower(trimmed(content_type.substr(0, content_type.find(';'))));
  if (type != "multipart/form-data") return std::nullopt;
  const auto parsed = parse_parameters(content_type);
  if (!parsed) return malformed("its Content-Type is not in its usual form");
  for (const Parameter& parameter : parsed->second) {
    if (parameter.name != "boundary") continue;
    const std::string& boundary = parameter.value;
    const auto allowed = [](unsigned char c) {
      return std::isalnum(c) != 0 || std::string_view("'()+_,-./:=? ").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (boundary.empty() || boundary.size() > most_boundary_bytes || boundary.back() == ' ' ||
        !std::all_of(boundary.begin(), boundary.end(), allowed)) {
      return malformed("its boundary is not one that RFC 2046 allows");
    }
    return std::optional(boundary);
  }
  return malformed("its Content-Type names no boundary");
}

Parsed<std::vector<Part>> parse_multipart(std::string_view body, std::string_view boundary) {
  const std::string mark = "--" + std::string(boundary);
  const std::string next_mark = "\r\n" + mark;
  // A preamble is allowed, and means nothing.
  std::size_t at = 0;
  if (!body.starts_with(mark)) {
    at = body.find(next_mark);
    if (at == std::string_view::npos) return malformed("its boundary is not in the body");
    at += 2;
  }
  body.remove_prefix(at + mark.size());
  std::vector<Part> parts;
  while (true) {
    if (body.starts_with("--")) return parts;
    const std::size_t blanks = std::min(body.find_first_not_of(" \t"), body.size());
    body.remove_prefix(blanks);
    if (!body.starts_with("\r\n")) return malformed("a boundary is followed by something else than a line's end");
    body.remove_prefix(2);
    if (parts.size() == most_parts) return malformed("it has more than 16 parts");
    const std::size_t headers_end = body.substr(0, most_header_bytes).find("\r\n\r\n");
    if (headers_end == std::string_view::npos) return malformed("the headers of a part do not end, or are too long");
    CONTINUO_PARSE(Part part, parse_headers(body.substr(0, headers_end)));
    body.remove_prefix(headers_end + 2);  // the empty line's own end may begin the next boundary: an empty part
    const std::size_t end = body.find(next_mark);
    if (end == std::string_view::npos) return malformed("its last part does not end; was it cut off?");
    part.bytes = end < 2 ? std::string_view() : body.substr(2, end - 2);
    parts.push_back(std::move(part));
    body.remove_prefix(end + next_mark.size());
  }
}

Parsed<Part> file_part(std::string_view body, std::string_view boundary) {
  CONTINUO_PARSE(std::vector<Part> parts, parse_multipart(body, boundary));
  std::optional<Part> file;
  for (Part& part : parts) {
    if (part.name != "file") {
      const std::string name = weights::printable(part.name, 40);
      return refuse(422, "unknown_field", name,
                    fmt::format("there is no field '{}' in this form; the sound belongs into file", name));
    }
    if (file) return refuse(422, "invalid_value", "file", "the form has two files; send one at a time");
    file = std::move(part);
  }
  if (!file) return refuse(422, "missing_field", "file", "the form has no field file");
  if (file->bytes.empty()) return refuse(422, "invalid_value", "file", "the file is empty");
  return *file;
}

}  // namespace continuo::server
