// The file of generate --relay.
#include "cli/relay.h"
#include "fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const auto segments = cli::relay_from_text(fuzz::as_text(data, size), "relay.txt");
  if (!segments) {
    fuzz::check_refusal(segments.error());
    return 0;
  }
  FUZZ_DEMAND(!segments->empty() && segments->size() <= cli::max_segments);
  FUZZ_DEMAND(segments->front().join == engine::Join::continued);
  double seconds = 0.0;
  for (const engine::Segment& segment : *segments) {
    FUZZ_DEMAND(segment.seconds > 0.0);
    FUZZ_DEMAND(segment.prompt.size() <= engine::max_prompt_bytes);
    FUZZ_DEMAND(segment.prompt.find('\n') == std::string::npos);
    seconds += segment.seconds;
  }
  FUZZ_DEMAND(seconds <= engine::longest_seconds);
  return 0;
}
