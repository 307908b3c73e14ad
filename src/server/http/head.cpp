#include "server/http/head.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <ctime>

namespace continuo::server {

namespace {

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

std::string_view reason_of(int status) {
  const auto text = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {text.data(), text.size()};
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool has_header(const Headers& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) { return same_name(header.first, name); });
}

std::string http_date(std::int64_t seconds_since_1970) {
  // Not strftime: its names follow the locale.
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = seconds_since_1970;
  std::tm t{};
  gmtime_r(&seconds, &t);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[t.tm_wday], t.tm_mday, months[t.tm_mon], t.tm_year + 1900,
                     t.tm_hour, t.tm_min, t.tm_sec);
}

std::string response_head(int minor_version, int status, const Headers& headers) {
  std::string head = fmt::format("HTTP/1.{} {} {}\r\n", minor_version, status, reason_of(status));
  const auto append = [&head](std::string_view text) {
    for (const char letter : text) {
      const auto byte = static_cast<unsigned char>(letter);
      head += byte < 0x20 || byte == 0x7F ? ' ' : letter;
    }
  };
  for (const auto& [name, value] : headers) {
    append(name);
    head += ": ";
    append(value);
    head += "\r\n";
  }
  head += "\r\n";
  return head;
}

}  // namespace continuo::server
