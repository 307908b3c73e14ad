#include "server/http/exchange.h"

namespace continuo::server {

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::string> HttpRequest::argument(std::string_view query_name) const {
  const auto found = query.find(query_name);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

}  // namespace continuo::server
