#include "server/requests/query.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace continuo::server {

namespace {

using nlohmann::json;

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return number;
}

json value_of(const std::string& text) {
  if (text.empty() || text == "true") return true;
  if (text == "false") return false;
  if (const auto whole = number_in<std::int64_t>(text)) return *whole;
  if (const auto number = number_in<double>(text); number && std::isfinite(*number)) return *number;
  return text;
}

}  // namespace

json query_object(const QueryArguments& query, std::initializer_list<std::string_view> texts) {
  json object = json::object();
  for (const auto& [name, text] : query) {
    object[name] = std::find(texts.begin(), texts.end(), name) == texts.end() ? value_of(text) : json(text);
  }
  return object;
}

}  // namespace continuo::server
