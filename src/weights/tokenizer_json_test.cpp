#include "weights/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "weights/fixtures_test.h"
#include "weights/spiece_proto.h"

namespace continuo::weights {
namespace {

using namespace testing;
using nlohmann::json;

struct Field {
  std::uint64_t number = 0, value = 0;
  std::string content;
};

/// The fields of a protocol buffer message, read once more and carelessly: by a test, of what we wrote or trust.
std::vector<Field> fields_of(std::string_view bytes) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
  };
  std::vector<Field> fields;
  while (at < bytes.size()) {
    const std::uint64_t tag = varint();
    Field field{tag >> 3, 0, {}};
    if ((tag & 7U) == 0) {
      field.value = varint();
    } else {
      const std::size_t length = (tag & 7U) == 2 ? varint() : (tag & 7U) == 5 ? 4 : 8;
      field.content = bytes.substr(at, length);
      at += length;
    }
    fields.push_back(field);
  }
  return fields;
}

struct Contents {
  std::vector<std::tuple<std::string, float, std::uint64_t>> pieces;  // text, score, type
  std::string charsmap;
  std::uint64_t unknown_id = 0;
  bool dummy_prefix = true, remove_extra = true, escape = true;  // SentencePiece's defaults
};

Contents contents_of(std::string_view proto) {
  Contents contents;
  for (const Field& field : fields_of(proto)) {
    if (field.number == 1) {
      std::tuple<std::string, float, std::uint64_t> piece{"", 0.0F, 1};
      for (const Field& part : fields_of(field.content)) {
        if (part.number == 1) std::get<0>(piece) = part.content;
        if (part.number == 2) std::memcpy(&std::get<1>(piece), part.content.data(), sizeof(float));
        if (part.number == 3) std::get<2>(piece) = part.value;
      }
      contents.pieces.push_back(piece);
    }
    for (const Field& part : field.number == 2 || field.number == 3 ? fields_of(field.content) : std::vector<Field>()) {
      if (field.number == 2 && part.number == 40) contents.unknown_id = part.value;
      if (field.number == 2) continue;
      if (part.number == 2) contents.charsmap = part.content;
      if (part.number == 3) contents.dummy_prefix = part.value != 0;
      if (part.number == 4) contents.remove_extra = part.value != 0;
      if (part.number == 5) contents.escape = part.value != 0;
    }
  }
  return contents;
}

TEST(TokenizerJson, IsTheModelItWasMadeFrom) {
  const std::string path = source_path("tests/goldens/tokenizer-json/tokenizer.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no goldens";
  const auto proto = spiece_from_tokenizer_json(path);
  ASSERT_TRUE(proto) << proto.error().message;
  const Contents got = contents_of(*proto);
  const Contents want = contents_of(read_file(source_path("tests/goldens/tiny-a/model/spiece.model")));
  EXPECT_EQ(got.pieces.size(), 420U);  // without the 4 <extra_id_n>
  EXPECT_EQ(got.pieces, want.pieces);
  EXPECT_GT(got.charsmap.size(), 100'000U);
  EXPECT_TRUE(got.charsmap == want.charsmap);
  EXPECT_EQ(got.unknown_id, want.unknown_id);
  EXPECT_EQ(got.dummy_prefix, want.dummy_prefix);
  EXPECT_EQ(got.remove_extra, want.remove_extra);
  EXPECT_EQ(got.escape, want.escape);
}

/// A tokenizer of a few pieces.
json small_tokenizer() {
  return json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<pad>", "special": true}, {"id": 1, "content": "</s>", "special": true},
                     {"id": 2, "content": "<unk>", "special": true}, {"id": 6, "content": "<extra_id_0>", "special": true}],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAECAw=="},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                      {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true}]},
    "model": {"type": "Unigram", "unk_id": 2, "vocab": [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -2.5], ["a", -3.0],
              ["b", -3.25], ["<extra_id_0>", 0]]}})");
}

Result<std::string> read(const json& tokenizer) {
  const TemporaryFolder folder;
  return spiece_from_tokenizer_json(folder.write("tokenizer.json", tokenizer.dump()));
}

TEST(TokenizerJson, ReadsTheFormsOfT5) {
  const struct {
    const char* kind;
    std::function<void(json&)> change;
    std::string charsmap;
  } forms[] = {
      {"as published", [](json&) {}, std::string("\0\1\2\3", 4)},
      {"without a type", [](json& t) { t["model"].erase("type"); }, std::string("\0\1\2\3", 4)},
      {"no normaliser", [](json& t) { t["normalizer"] = nullptr; }, ""},
      {"a sequence",
       [](json& t) {
         t["normalizer"] = json::parse(R"({"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":"/w=="},
           {"type":"Strip","strip_left":false,"strip_right":true},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"\u2581"}]})");
       },
       "\xFF"},
      {"marks alone",
       [](json& t) {
         t["pre_tokenizer"] = json::parse(R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first"})");
       },
       std::string("\0\1\2\3", 4)},
  };
  for (const auto& form : forms) {
    SCOPED_TRACE(form.kind);
    json tokenizer = small_tokenizer();
    form.change(tokenizer);
    const auto proto = read(tokenizer);
    ASSERT_TRUE(proto) << proto.error().message;
    const Contents contents = contents_of(*proto);
    EXPECT_EQ(contents.charsmap, form.charsmap);
    ASSERT_EQ(contents.pieces.size(), 6U);
    EXPECT_EQ(contents.pieces[1], std::tuple("</s>", 0.0F, 3U));
    EXPECT_EQ(contents.pieces[2], std::tuple("<unk>", 0.0F, 2U));
    EXPECT_EQ(contents.pieces[3], std::tuple("\xE2\x96\x81", -2.5F, 1U));
    EXPECT_EQ(contents.unknown_id, 2U);
    EXPECT_EQ(inspect_spiece(*proto)->unknown_id, 2);
  }
}

TEST(TokenizerJson, RefusesWhatWouldGiveOtherIds) {
  const struct {
    std::function<void(json&)> damage;
    const char* reason;
  } cases[] = {
      {[](json& t) { t["model"]["type"] = "BPE"; }, "the vocabulary 'BPE' is not one of T5's"},
      {[](json& t) { t.erase("model"); }, "the vocabulary 'null'"},
      {[](json& t) { t["model"]["byte_fallback"] = true; }, "byte_fallback"},
      {[](json& t) { t["model"]["vocab"] = json::object(); }, "not a list of 1 to"},
      {[](json& t) { t["model"]["vocab"][3] = "a"; }, "piece 3 is not a text and a score"},
      {[](json& t) { t["model"]["vocab"][3][1] = 1e300; }, "piece 3 is empty or has no score"},
      {[](json& t) { t["model"]["unk_id"] = 7; }, "no piece is for the unknown"},
      {[](json& t) { t["model"].erase("unk_id"); }, "no piece is for the unknown"},
      {[](json& t) { t["added_tokens"][0]["content"] = "<s>"; }, "token 0 is '<s>' in one place and '<pad>' in another"},
      {[](json& t) { t["added_tokens"][0]["id"] = "0"; }, "no id or no text"},
      {[](json& t) {
         t["normalizer"] = {{"type", "Lowercase"}};
       },
       "the normalizer 'Lowercase'"},
      {[](json& t) { t["normalizer"]["precompiled_charsmap"] = "AAE"; }, "not base64"},
      {[](json& t) { t["normalizer"]["precompiled_charsmap"] = "A!E="; }, "not base64"},
      {[](json& t) { t["pre_tokenizer"] = nullptr; }, "the pre_tokenizer 'null'"},
      {[](json& t) { t["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = false; }, "the pre_tokenizer 'Metaspace'"},
      {[](json& t) { t["pre_tokenizer"]["pretokenizers"][1]["prepend_scheme"] = "first"; }, "the pre_tokenizer 'Metaspace'"},
      {[](json& t) { t["pre_tokenizer"]["pretokenizers"][1]["replacement"] = "_"; }, "the pre_tokenizer 'Metaspace'"},
      {[](json& t) { t["pre_tokenizer"]["pretokenizers"][0]["type"] = "ByteLevel"; }, "the pre_tokenizer 'ByteLevel'"},
  };
  for (const auto& example : cases) {
    SCOPED_TRACE(example.reason);
    json tokenizer = small_tokenizer();
    example.damage(tokenizer);
    const auto proto = read(tokenizer);
    ASSERT_FALSE(proto);
    EXPECT_NE(proto.error().message.find(example.reason), std::string::npos) << proto.error().message;
    EXPECT_EQ(proto.error().message.find('\n'), std::string::npos) << proto.error().message;
  }
}

}  // namespace
}  // namespace continuo::weights
