// The text of an answer's head.
#pragma once

#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace continuo::server {

std::string_view reason_of(int status);
bool same_name(std::string_view a, std::string_view b);
bool has_header(const Headers& headers, std::string_view name);
/// "Mon, 30 Nov 2026 12:00:00 GMT".
std::string http_date(std::int64_t seconds_since_1970);
/// Status line and fields with the empty line behind them. Line ends and other control characters inside values become spaces, so
/// that no text from elsewhere can begin a field of its own.
std::string response_head(int minor_version, int status, const Headers& headers);
/// In lower case; other characters stay.
std::string lower_case(std::string_view text);

}  // namespace continuo::server
