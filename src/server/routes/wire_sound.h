// Sound and news of a piece as they go over a WebSocket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/jobs/job.h"
#include "server/parts.h"
#include "server/requests/websocket_control.h"

namespace continuo::server {

/// The rendition that holds such samples, after so many bytes of header.
RenditionFormat wire_format(const WireSound& sound);
std::int64_t wire_header_bytes(const WireSound& sound);

/// For the ready message of a piece that has an end.
ReadyFacts wire_facts(const Job& job, const WireSound& sound, const std::string& token, std::int64_t offset, const Parts& parts);

/// Messages for the events after `heard`, which moves on.
std::vector<std::string> wire_events(const Job& job, std::int64_t& heard);

}  // namespace continuo::server
