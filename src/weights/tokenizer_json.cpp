#include "weights/tokenizer_json.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "weights/json_text.h"
#include "weights/spiece_writer.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

using nlohmann::json;

constexpr std::size_t file_bytes_max = std::size_t{32} << 20;  // T5's has 2.4 MB
constexpr std::size_t pieces_max = 1 << 20;
constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

/// nullopt if the text is not base64 with its padding.
std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  unsigned buffer = 0, bits = 0;
  for (const char c : text) {
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    buffer = (buffer << 6 | static_cast<unsigned>(digit)) & 0xFFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(buffer >> bits & 0xFFU);
  }
  return bytes;
}

/// The object's `type`, empty for anything that has none.
std::string type_of(const json& object) {
  if (!object.is_object()) return {};
  const auto found = object.find("type");
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A member, or null.
const json& member(const json& object, const char* name) {
  static const json null;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? null : *found;
}

/// The steps of a "Sequence", or the one step that stands alone; none for null.
std::vector<const json*> steps_of(const json& part, const char* list) {
  std::vector<const json*> steps;
  if (type_of(part) != "Sequence") {
    if (!part.is_null()) steps.push_back(&part);
    return steps;
  }
  for (const json& step : member(part, list)) steps.push_back(&step);
  return steps;
}

class Reader {
 public:
  Reader(const std::string& path, const json& top) : path_(path), top_(top) {}

  Result<UnigramModel> read() const {
    UnigramModel model;
    CONTINUO_TRY(model.pieces, pieces());
    CONTINUO_TRY(model.charsmap, charsmap());
    CONTINUO_CHECK(check_splitting());
    return model;
  }

 private:
  template <class... Args>
  tl::unexpected<Error> corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::corrupt_file, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> unsupported(std::string_view what, const json& found) const {
    const std::string type = type_of(found);
    return fail(ErrorCode::unsupported, "{}: the {} '{}' is not one of T5's, and only those are supported", path_, what,
                printable(type.empty() ? found.dump(-1, ' ', false, json::error_handler_t::replace) : type));
  }

  Result<std::vector<Piece>> pieces() const {
    const json& model = member(top_, "model");
    // Early files do not name the type; the others' vocabularies are no lists of pairs.
    if (!type_of(model).empty() || !model.is_object()) {
      if (type_of(model) != "Unigram") return unsupported("vocabulary", model);
    }
    if (member(model, "byte_fallback") == true) return unsupported("option", json("byte_fallback"));
    const json& vocabulary = member(model, "vocab");
    if (!vocabulary.is_array() || vocabulary.empty() || vocabulary.size() > pieces_max) {
      return corrupt("the vocabulary is not a list of 1 to {} pieces", pieces_max);
    }
    std::vector<Piece> pieces;
    for (const json& entry : vocabulary) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
        return corrupt("piece {} is not a text and a score", pieces.size());
      }
      Piece piece{entry[0].get<std::string>(), static_cast<float>(entry[1].get<double>()), PieceType::normal};
      if (piece.text.empty() || !std::isfinite(piece.score)) return corrupt("piece {} is empty or has no score", pieces.size());
      pieces.push_back(std::move(piece));
    }
    CONTINUO_CHECK(mark_special(model, pieces));
    return pieces;
  }

  /// Control tokens inside the vocabulary get their type; those behind it go.
  Status mark_special(const json& model, std::vector<Piece>& pieces) const {
    std::map<std::size_t, std::string> special;
    for (const json& token : member(top_, "added_tokens")) {
      const json& id = member(token, "id");
      const json& text = member(token, "content");
      if (!id.is_number_unsigned() || !text.is_string()) return corrupt("an added token has no id or no text");
      if (member(token, "special") == true) special.emplace(id.get<std::size_t>(), text.get<std::string>());
    }
    for (const auto& [id, text] : special) {
      if (id >= pieces.size()) continue;
      if (pieces[id].text != text)
        return corrupt("token {} is '{}' in one place and '{}' in another", id, printable(text), printable(pieces[id].text));
      pieces[id].type = PieceType::control;
    }
    const json& unknown = member(model, "unk_id");
    if (!unknown.is_number_unsigned() || unknown.get<std::size_t>() >= pieces.size())
      return corrupt("no piece is for the unknown");
    pieces[unknown.get<std::size_t>()].type = PieceType::unknown;
    while (pieces.back().type == PieceType::control && pieces.back().text.starts_with("<extra_id_")) pieces.pop_back();
    return {};
  }

  Result<std::string> charsmap() const {
    std::string charsmap;
    for (const json* step : steps_of(member(top_, "normalizer"), "normalizers")) {
      const std::string type = type_of(*step);
      // Spaces at the ends and in a row: SentencePiece drops them by itself.
      if (type == "Strip") continue;
      if (type == "Replace" && member(member(*step, "pattern"), "Regex") == " {2,}") continue;
      if (type != "Precompiled" || !charsmap.empty()) return unsupported("normalizer", *step);
      const json& table = member(*step, "precompiled_charsmap");
      const auto bytes = table.is_string() ? decode_base64(table.get_ref<const std::string&>()) : std::nullopt;
      if (!bytes) return corrupt("precompiled_charsmap is not base64");
      charsmap = *bytes;
    }
    return charsmap;
  }

  /// SentencePiece sees the text as one string with a mark in front and for each space. The JSON must say the same.
  Status check_splitting() const {
    bool words = false, marks = false;
    for (const json* step : steps_of(member(top_, "pre_tokenizer"), "pretokenizers")) {
      const std::string type = type_of(*step);
      if (type == "WhitespaceSplit" && !words && !marks) {
        words = true;
        continue;
      }
      const json& scheme = member(*step, "prepend_scheme");  // older files: add_prefix_space, true unless they say otherwise
      // With the words apart already, "first" would mark only one of them.
      const bool in_front =
          scheme.is_null() ? member(*step, "add_prefix_space") != false : scheme == "always" || (scheme == "first" && !words);
      if (type != "Metaspace" || marks || !in_front || member(*step, "replacement") != space_mark) {
        return unsupported("pre_tokenizer", *step);
      }
      marks = true;
    }
    if (!marks) return unsupported("pre_tokenizer", member(top_, "pre_tokenizer"));
    return {};
  }

  const std::string& path_;
  const json& top_;
};

}  // namespace

Result<std::string> spiece_from_tokenizer_json(const std::string& path) {
  CONTINUO_TRY(const json top, read_json_object(path, file_bytes_max));
  CONTINUO_TRY(const UnigramModel model, Reader(path, top).read());
  return serialize(model);
}

}  // namespace continuo::weights
