// An upload's form: the Content-Type on the first line, the body after it.
#include "server/requests/multipart.h"

#include "fuzz/request_support.h"
#include "weights/text_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const std::string_view input = fuzz::as_text(data, size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto boundary = server::multipart_boundary(input.substr(0, end));
  if (!boundary) {
    fuzz::check_api_error(boundary.error());
    return 0;
  }
  if (!*boundary) return 0;
  FUZZ_DEMAND(!(*boundary)->empty() && (*boundary)->size() <= 70);
  const std::string_view body = input.substr(std::min(end + 1, input.size()));
  const auto parts = server::parse_multipart(body, **boundary);
  if (!parts) {
    fuzz::check_api_error(parts.error());
    FUZZ_DEMAND(!server::file_part(body, **boundary));
    return 0;
  }
  FUZZ_DEMAND(parts->size() <= 16);
  for (const server::Part& part : *parts) {
    FUZZ_DEMAND(!part.name.empty() && weights::valid_utf8(part.name));
    // Each part lies in the body, and does not reach into the next.
    if (!part.bytes.empty()) {
      FUZZ_DEMAND(part.bytes.data() >= body.data() && part.bytes.data() + part.bytes.size() <= body.data() + body.size());
    }
    FUZZ_DEMAND(part.bytes.find("\r\n--" + **boundary) == std::string_view::npos);
    fuzz::touch(std::as_bytes(std::span(part.bytes)));
  }
  const auto file = server::file_part(body, **boundary);
  if (file) {
    FUZZ_DEMAND(file->name == "file" && !file->bytes.empty());
  } else {
    fuzz::check_api_error(file.error());
  }
  return 0;
}
