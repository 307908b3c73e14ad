#include "server/openapi/openapi.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

namespace continuo::server {

namespace {

/// "GET /v1/jobs/{}"
std::string line_of(std::string method, const std::string& path) {
  std::transform(method.begin(), method.end(), method.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string line = method + " ";
  bool inside = false;
  for (const char c : path) {
    if (!inside || c == '}') line += c;
    if (c == '{') inside = true;
    if (c == '}') inside = false;
  }
  return line;
}

}  // namespace

std::string openapi_json(const std::string& version) {
  auto document = nlohmann::ordered_json::parse(openapi_text());
  document["info"]["version"] = version;
  return document.dump();
}

std::vector<std::string> openapi_differences(const Router& router) {
  std::set<std::string> described, routed;
  const auto document = nlohmann::json::parse(openapi_text());
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) described.insert(line_of(method, path));
  }
  for (const auto& route : router.routes()) {
    if (route.method != "HEAD" && route.method != "OPTIONS") routed.insert(line_of(route.method, route.pattern));
  }
  std::vector<std::string> differences;
  for (const std::string& line : routed) {
    if (!described.contains(line)) differences.push_back(line + " is not described in openapi.json");
  }
  for (const std::string& line : described) {
    if (!routed.contains(line)) differences.push_back(line + " is described in openapi.json, and has no route");
  }
  return differences;
}

}  // namespace continuo::server
