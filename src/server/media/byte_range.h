// The conditions and ranges of RFC 9110 that a client may put on what it gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace continuo::server {

struct ByteRange {
  std::int64_t first = 0, last = 0;  // both inside
};

struct RangeWish {
  enum class Kind { all, part, none } kind = Kind::all;  // none: nothing of it can be had, 416
  ByteRange part;
};

/// header: of a Range field; empty: everything. What is malformed, of another unit, or several ranges, is everything too.
RangeWish parse_range(std::string_view header, std::int64_t size);

/// Whether an If-None-Match field names this tag, or any.
bool names_tag(std::string_view header, std::string_view tag);

}  // namespace continuo::server
