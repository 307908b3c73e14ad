// The target of a request line, and percent-encoding.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace continuo::server {

struct Target {
  std::string path;  // decoded
  std::map<std::string, std::string, std::less<>> query;
};

/// "/a%20b?x=1&y" -> path "/a b", x: "1", y: "". Nothing: not a path, or a percent sign that encodes nothing. In the query "+" is
/// a space.
std::optional<Target> parse_target(std::string_view target);

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space = false);
/// All but letters, digits and -._~ encoded.
std::string percent_encoded(std::string_view text);

}  // namespace continuo::server
