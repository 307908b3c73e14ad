#include "weights/gguf_file.h"

#include <gtest/gtest.h>

#include <functional>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

TEST(GgufFile, ReadsWhatIsThere) {
  const TemporaryFolder folder;
  GgufBytes good;
  good.keys.push_back(gguf_key("words", 9, raw<std::uint32_t>(8) + raw<std::uint64_t>(2) + gguf_string("one") + gguf_string("")));
  good.keys.push_back(gguf_key("bytes", 9, raw<std::uint32_t>(0) + raw<std::uint64_t>(3) + "abc"));
  const auto file = GgufFile::open(folder.write("good.gguf", good.bytes()));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->keys().size(), 4U);
  EXPECT_EQ(file->find("words")->count, 2U);
  EXPECT_EQ(file->find("words")->data.size(), 8U + 3U + 8U);
  EXPECT_EQ(file->find("bytes")->data.size(), 3U);
  EXPECT_EQ(file->find("absent"), nullptr);
  ASSERT_EQ(file->tensors().size(), 2U);
  EXPECT_EQ(file->tensors()[0].shape, (Shape{2, 3}));  // the file has the fastest dimension first
  EXPECT_EQ(file->tensors()[0].data.size(), 24U);
  EXPECT_EQ(file->tensors()[1].type.name, "q8_0");
  EXPECT_EQ(file->tensors()[1].data.size(), 34U);
}

TEST(GgufFile, AcceptsVersion2AndAnotherAlignment) {
  const TemporaryFolder folder;
  GgufBytes old;
  old.version = 2;
  EXPECT_TRUE(GgufFile::open(folder.write("old.gguf", old.bytes())));
  GgufBytes wide;
  wide.alignment = 64;
  wide.keys.push_back(gguf_key("general.alignment", 4, raw<std::uint32_t>(64)));
  wide.tensors[1] = gguf_tensor("second", {32}, 8, 64);
  wide.data.resize(64 + 34);
  EXPECT_TRUE(GgufFile::open(folder.write("wide.gguf", wide.bytes())));
}

struct Malformed {
  const char* kind;
  std::function<void(GgufBytes&)> damage;
  const char* reason;  // part of the sentence
};

void set_alignment(GgufBytes& file, std::uint32_t value) { file.keys.push_back(gguf_key("general.alignment", 4, raw(value))); }

const std::uint64_t huge = std::uint64_t{1} << 62;

const Malformed malformed[] = {
    {"bad magic", [](GgufBytes& f) { f.magic = "GGUG"; }, "not a GGUF model file"},
    {"version 0", [](GgufBytes& f) { f.version = 0; }, "GGUF version 0"},
    {"version 1", [](GgufBytes& f) { f.version = 1; }, "GGUF version 1"},
    {"future version", [](GgufBytes& f) { f.version = 4; }, "GGUF version 4"},
    {"big-endian", [](GgufBytes& f) { f.version = 3U << 24; }, "big-endian"},
    {"key count of -1", [](GgufBytes& f) { f.key_count = ~std::uint64_t{0}; }, "18446744073709551615 keys"},
    {"tensor count of -1", [](GgufBytes& f) { f.tensor_count = ~std::uint64_t{0}; }, "18446744073709551615 tensors"},
    {"more keys than bytes", [](GgufBytes& f) { f.key_count = 4000; }, "more than the file has room for"},
    {"more tensors than bytes", [](GgufBytes& f) { f.tensor_count = 60000; }, "more than the file has room for"},
    {"duplicate key", [](GgufBytes& f) { f.keys.push_back(f.keys[0]); }, "key 'general.architecture' occurs twice"},
    {"key without a name", [](GgufBytes& f) { f.keys[1] = gguf_key("", 4, raw(1)); }, "key 1 has no name"},
    {"key not UTF-8", [](GgufBytes& f) { f.keys[1] = gguf_key("a\xC0\x80", 4, raw(1)); }, "not valid UTF-8"},
    {"key of 300 bytes", [](GgufBytes& f) { f.keys[1] = gguf_key(std::string(300, 'k'), 4, raw(1)); }, "at most 256"},
    {"key length wraps", [](GgufBytes& f) { f.keys[1] = raw(~std::uint64_t{0}) + "k"; }, "at most 256"},
    {"key of unknown type", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 13, raw(1)); }, "unknown type 13"},
    {"bool of 2", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 7, "\2"); }, "bool with the value 2"},
    {"string beyond the file", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 8, raw<std::uint64_t>(100000)); },
     "ends inside key 'k'"},
    {"string of an exabyte", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 8, raw(huge)); }, "at most 1048576"},
    {"array of unknown type", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 9, raw<std::uint32_t>(99) + raw<std::uint64_t>(1)); },
     "array of the unknown type 99"},
    {"array of arrays", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 9, raw<std::uint32_t>(9) + raw<std::uint64_t>(1)); },
     "array of arrays"},
    {"array too long", [](GgufBytes& f) { f.keys[1] = gguf_key("k", 9, raw<std::uint32_t>(11) + raw(huge)); },
     "at most 16777216"},
    {"array beyond the file",
     [](GgufBytes& f) { f.keys[1] = gguf_key("k", 9, raw<std::uint32_t>(4) + raw<std::uint64_t>(1U << 20)); },
     "ends inside key 'k'"},
    {"array of strings beyond the file",
     [](GgufBytes& f) { f.keys[1] = gguf_key("k", 9, raw<std::uint32_t>(8) + raw<std::uint64_t>(1U << 20) + gguf_string("x")); },
     "key 'k'"},
    {"alignment of another type",
     [](GgufBytes& f) { f.keys.push_back(gguf_key("general.alignment", 10, raw<std::uint64_t>(32))); }, "type u64, not u32"},
    {"alignment 0", [](GgufBytes& f) { set_alignment(f, 0); }, "alignment is 0"},
    {"alignment 24", [](GgufBytes& f) { set_alignment(f, 24); }, "alignment is 24"},
    {"alignment of a gigabyte", [](GgufBytes& f) { set_alignment(f, 1U << 30); }, "alignment is 1073741824"},
    {"duplicate tensor", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("first", {8}, 0, 32); }, "tensor 'first' occurs twice"},
    {"tensor without a name", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("", {6}, 0, 0); }, "tensor 0 has no name"},
    {"tensor name not UTF-8", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("\xFF", {6}, 0, 0); }, "not valid UTF-8"},
    {"tensor name too long", [](GgufBytes& f) { f.tensors[0] = gguf_tensor(std::string(64, 't'), {6}, 0, 0); }, "at most 63"},
    {"no dimensions", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {}, 0, 0); }, "0 dimensions"},
    {"five dimensions",
     [](GgufBytes& f) {
       f.tensors[0] = gguf_tensor("first", {1, 1, 1, 1, 1}, 0, 0);
     },
     "5 dimensions"},
    {"dimension of 0", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {0}, 0, 0); }, "dimension of 0"},
    {"dimension of -1", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {-1}, 0, 0); }, "dimension of -1"},
    {"product wraps",
     [](GgufBytes& f) {
       f.tensors[0] = gguf_tensor("first", {1LL << 32, 1LL << 32}, 0, 0);
     },
     "impossible shape"},
    {"bytes wrap", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {1LL << 62}, 0, 0); }, "impossible shape"},
    {"unknown tensor type", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {6}, 77, 0); }, "unknown type 77"},
    {"removed tensor type", [](GgufBytes& f) { f.tensors[0] = gguf_tensor("first", {32}, 4, 0); }, "unknown type 4"},
    {"row not whole blocks", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("second", {31}, 8, 32); }, "rows of 31"},
    {"offset not aligned", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("second", {2}, 0, 36); }, "not aligned"},
    {"offset beyond the file", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("second", {32}, 8, 1U << 20); }, "truncated"},
    {"offset wraps", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("second", {32}, 8, ~std::uint64_t{31}); }, "truncated"},
    {"tensors overlap", [](GgufBytes& f) { f.tensors[1] = gguf_tensor("second", {4}, 0, 0); }, "overlap"},
    {"data missing", [](GgufBytes& f) { f.data.clear(); }, "truncated"},
    {"data cut by a byte", [](GgufBytes& f) { f.data.pop_back(); }, "truncated"},
};

TEST(GgufFile, RefusesMalformedFilesByKind) {
  const TemporaryFolder folder;
  for (const Malformed& example : malformed) {
    SCOPED_TRACE(example.kind);
    GgufBytes file;
    example.damage(file);
    const std::string path = folder.write("bad.gguf", file.bytes());
    const auto opened = GgufFile::open(path);
    if (opened) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    const std::string& message = opened.error().message;
    EXPECT_NE(message.find(example.reason), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(path)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(GgufFile, RefusesEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole = GgufBytes().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(GgufFile::open(folder.write("cut.gguf", whole.substr(0, length)))) << length;
  }
}

TEST(GgufFile, KeepsHostileNamesOffTheTerminal) {
  const TemporaryFolder folder;
  GgufBytes file;
  file.keys.push_back(gguf_key("\x1B[2J", 4, raw(1)));
  file.keys.push_back(file.keys.back());
  const auto opened = GgufFile::open(folder.write("escape.gguf", file.bytes()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message.find('\x1B'), std::string::npos);
}

TEST(GgufFile, SaysThatAFileIsMissingOrAFolder) {
  const TemporaryFolder folder;
  const auto missing = GgufFile::open(folder.path("none.gguf"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_FALSE(GgufFile::open(folder.path()));
}

}  // namespace
}  // namespace continuo::weights
