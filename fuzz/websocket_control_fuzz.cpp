// What clients of /v1/stream and /v1/live say.
#include "server/requests/websocket_control.h"

#include "fuzz/request_support.h"
#include "weights/text_check.h"

namespace continuo::fuzz {
namespace {

void check_start(const server::StartMessage& start, server::Channel channel) {
  check_spec(start.spec);
  FUZZ_DEMAND(start.spec.streamed && start.spec.takes == 1 && start.spec.webhook.empty());
  FUZZ_DEMAND(start.spec.request.endless == (channel == server::Channel::live));
  FUZZ_DEMAND(start.spec.request.chunk_seconds > 0.0);
  FUZZ_DEMAND(start.sound.window >= 0);
}

void check_change(const server::ChangeMessage& message) {
  const engine::Change& change = message.change;
  FUZZ_DEMAND(change.prompt || change.guidance || change.temperature);
  if (change.prompt) FUZZ_DEMAND(weights::valid_utf8(*change.prompt) && change.prompt->size() <= engine::max_prompt_bytes);
  if (change.guidance) FUZZ_DEMAND(*change.guidance >= 0.0F && *change.guidance <= 100.0F);
  if (change.temperature) FUZZ_DEMAND(*change.temperature >= 0.0F && *change.temperature <= 100.0F);
}

}  // namespace
}  // namespace continuo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  for (const auto channel : {server::Channel::stream, server::Channel::live}) {
    const auto message =
        server::parse_control(fuzz::as_text(data, size), channel, fuzz::request_context(), server::SceneTable::built_in());
    if (!message) {
      fuzz::check_api_error(message.error());
    } else if (const auto* start = std::get_if<server::StartMessage>(&*message)) {
      fuzz::check_start(*start, channel);
    } else if (const auto* change = std::get_if<server::ChangeMessage>(&*message)) {
      fuzz::check_change(*change);
    } else if (const auto* resume = std::get_if<server::ResumeMessage>(&*message)) {
      FUZZ_DEMAND(server::is_id(resume->token) && resume->offset >= 0);
    } else if (const auto* ack = std::get_if<server::AckMessage>(&*message)) {
      FUZZ_DEMAND(ack->offset >= 0);
    }
  }
  return 0;
}
