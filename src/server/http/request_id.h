// Ids that cannot be guessed, and those of requests.
#pragma once

#include <string>
#include <string_view>

namespace continuo::server {

/// 128 random bits of the system in 26 letters and digits (base 32 without vowels).
std::string random_id();

/// What a proxy in front said, if that is short and plain, so that its log and ours agree; else a new one.
std::string request_id(std::string_view given);

}  // namespace continuo::server
