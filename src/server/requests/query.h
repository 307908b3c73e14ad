// What stands behind the question mark, for readers of JSON bodies (requests/json.h): every name is read or refused. The query of
// audio links is media/rendition_query.h's.
#pragma once

#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace continuo::server {

using QueryArguments = std::map<std::string, std::string, std::less<>>;

/// The arguments as a JSON object: what is written as a number, or as true or false, becomes that, but for those named in
/// `texts`, which hold whatever people write. A name alone ("download") is true.
nlohmann::json query_object(const QueryArguments& query, std::initializer_list<std::string_view> texts);

}  // namespace continuo::server
