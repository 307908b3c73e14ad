#include "weights/spiece_proto.h"

#include <cstdint>
#include <optional>

namespace continuo::weights {

namespace {

// Protocol Buffers' wire types.
enum : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;   // of a varint
  std::string_view content;  // of a byte string
};

std::optional<std::uint64_t> read_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (text.empty()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(text[0]);
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) return value;
  }
  return std::nullopt;
}

/// Takes one field off the front; nullopt if it is malformed or longer than the text.
std::optional<Field> read_field(std::string_view& text) {
  const auto tag = read_varint(text);
  if (!tag || *tag >> 3 == 0) return std::nullopt;
  Field field{.number = *tag >> 3, .value = 0, .content = {}};
  std::uint64_t length = 0;
  switch (*tag & 7U) {
    case varint: {
      const auto value = read_varint(text);
      if (!value) return std::nullopt;
      field.value = *value;
      return field;
    }
    case fixed64: length = 8; break;
    case fixed32: length = 4; break;
    case bytes: {
      const auto size = read_varint(text);
      if (!size) return std::nullopt;
      length = *size;
      break;
    }
    default: return std::nullopt;
  }
  if (length > text.size()) return std::nullopt;
  field.content = text.substr(0, static_cast<std::size_t>(length));
  text.remove_prefix(static_cast<std::size_t>(length));
  return field;
}

}  // namespace

Result<SpieceSummary> inspect_spiece(std::string_view proto) {
  SpieceSummary summary;
  int unknown_pieces = 0;
  while (!proto.empty()) {
    const auto field = read_field(proto);
    if (!field) return fail(ErrorCode::corrupt_file, "it is not well-formed");
    if (field->number != 1) continue;
    std::string_view piece = field->content;
    while (!piece.empty()) {
      const auto part = read_field(piece);
      if (!part) return fail(ErrorCode::corrupt_file, "piece {} is not well-formed", summary.count);
      if (part->number == 3 && part->value == 2) {
        summary.unknown_id = summary.count;
        ++unknown_pieces;
      }
    }
    ++summary.count;
  }
  if (summary.count == 0) return fail(ErrorCode::corrupt_file, "it has no pieces");
  if (unknown_pieces != 1)
    return fail(ErrorCode::corrupt_file, "it has {} pieces for the unknown instead of one", unknown_pieces);
  return summary;
}

}  // namespace continuo::weights
