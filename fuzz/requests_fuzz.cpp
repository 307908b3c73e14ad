// The JSON bodies of all dialects of HTTP requests: every input is read as each of them.
#include "fuzz/request_support.h"
#include "server/requests/generate.h"
#include "server/requests/huggingface.h"
#include "server/requests/speech.h"

namespace continuo::fuzz {
namespace {

/// What an export says makes the same request again.
void check_export(const server::JobSpec& spec) {
  const std::string text = server::music_request_json(spec);
  const auto again = server::parse_music_request(text, request_context());
  FUZZ_DEMAND(again);
  FUZZ_DEMAND(server::music_request_json(*again) == text);
}

}  // namespace
}  // namespace continuo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const std::string_view body = fuzz::as_text(data, size);
  const server::RequestContext& context = fuzz::request_context();
  if (const auto spec = server::parse_music_request(body, context)) {
    fuzz::check_spec(*spec);
    fuzz::check_export(*spec);
  } else {
    fuzz::check_api_error(spec.error());
  }
  if (const auto specs = server::parse_batch(body, context)) {
    FUZZ_DEMAND(!specs->empty() && static_cast<int>(specs->size()) <= context.limits.batch);
    for (const server::JobSpec& spec : *specs) {
      fuzz::check_spec(spec);
      fuzz::check_export(spec);
    }
  } else {
    fuzz::check_api_error(specs.error());
  }
  if (const auto speech = server::parse_speech(body, context)) {
    fuzz::check_spec(speech->spec);
    FUZZ_DEMAND(!speech->spec.output.whole);
  } else {
    fuzz::check_api_error(speech.error());
    FUZZ_DEMAND(speech.error().status != 422);
  }
  if (const auto generate = server::parse_generate(body, context)) {
    fuzz::check_spec(generate->spec);
  } else {
    fuzz::check_api_error(generate.error());
  }
  if (const auto spec = server::parse_huggingface(body, "", context)) {
    fuzz::check_spec(*spec);
  } else {
    fuzz::check_api_error(spec.error());
  }
  const server::Accepted accepted = server::accepted_by(body);  // any text may be a header
  FUZZ_DEMAND(!accepted.json || body.size() >= std::string_view("application/json").size());
  return 0;
}
