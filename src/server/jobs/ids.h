// Names that nobody can guess.
#pragma once

#include <string>
#include <string_view>

namespace continuo::server {

/// 128 random bits of the system as 26 lower-case letters and digits (Crockford's base 32), behind a prefix.
std::string new_id(std::string_view prefix);

}  // namespace continuo::server
