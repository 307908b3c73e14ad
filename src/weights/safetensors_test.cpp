#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

TEST(Safetensors, ReadsFloatsOfThreeTypes) {
  const TemporaryFolder folder;
  Tensors tensors;
  tensors["full"] = {{2, 2}, {1.0F, -2.5F, 0.1F, 3e30F}};
  tensors["half"] = {{3}, {1.0F, -0.5F, 65504.0F}, "F16"};
  tensors["brain"] = {{1, 2}, {1.5F, -256.0F}, "BF16"};
  tensors["count"] = {{}, {7.0F}, "I64"};
  const auto file = SafetensorsFile::open(folder.write("a.safetensors", safetensors_of(tensors)));
  ASSERT_TRUE(file) << file.error().message;
  for (const char* name : {"full", "half", "brain"}) {
    const auto values = file->read(name);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, tensors[name].values) << name;
    EXPECT_EQ(file->entries().at(name).shape, tensors[name].shape);
  }
  const auto count = file->read("count");  // may stand in the file, but is no float
  ASSERT_FALSE(count);
  EXPECT_NE(count.error().message.find("I64"), std::string::npos);
}

TEST(Safetensors, StreamsALongTensorInPieces) {
  const TemporaryFolder folder;
  Tensors tensors;
  tensors["long"].shape = {3, 1'000'000};
  for (int i = 0; i < 3'000'000; ++i) tensors["long"].values.push_back(static_cast<float>(i));
  const auto file = SafetensorsFile::open(folder.write("a.safetensors", safetensors_of(tensors)));
  ASSERT_TRUE(file) << file.error().message;
  std::size_t seen = 0;
  int pieces = 0;
  const auto status = file->stream("long", [&](std::span<const float> part) -> Status {
    EXPECT_EQ(part.front(), static_cast<float>(seen));
    seen += part.size();
    ++pieces;
    return {};
  });
  EXPECT_TRUE(status);
  EXPECT_EQ(seen, 3'000'000U);
  EXPECT_GT(pieces, 1);
}

struct Malformed {
  const char* kind;
  std::string bytes;
  const char* reason;
};

std::string with_header(std::string_view header) { return safetensors_bytes(header, std::string(16, '\0')); }

TEST(Safetensors, RefusesMalformedFilesByKind) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  const std::vector<Malformed> malformed = {
      {"empty", "", "too short"},
      {"seven bytes", "1234567", "too short"},
      {"header length wraps", raw(~std::uint64_t{7}) + good, "its header claims"},
      {"header of a gigabyte", raw<std::uint64_t>(1U << 30) + good, "its header claims"},
      {"header beyond the file", raw<std::uint64_t>(good.size() + 1) + good, "its header claims"},
      {"not JSON", with_header("{\"a\":"), "not valid JSON"},
      {"not an object", with_header("[1]"), "not a JSON object"},
      {"a GGUF file", GgufBytes().bytes(), "not a safetensors file"},
      {"not UTF-8", with_header("{\"\xFF\":1}"), "not valid JSON"},
      {"something after the object", with_header(good + "{}"), "not valid JSON"},
      {"nested without end", with_header("{\"a\":{\"shape\":" + std::string(100000, '[')), "an array where it may not"},
      {"object in a field", with_header(R"({"a":{"dtype":{}}})"), "an object where it may not"},
      {"tensor is a number", with_header(R"({"a":1})"), "a number where it may not"},
      {"no offsets", with_header(R"({"a":{"dtype":"F32","shape":[4]}})"), "lacks dtype, shape or data_offsets"},
      {"no shape", with_header(R"({"a":{"dtype":"F32","data_offsets":[0,16]}})"), "lacks dtype, shape or data_offsets"},
      {"unknown field", with_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"stride":[1]}})"),
       "unknown field 'stride'"},
      {"field twice", with_header(R"({"a":{"dtype":"F32","dtype":"F16","shape":[4],"data_offsets":[0,16]}})"), "'dtype' twice"},
      {"tensor twice",
       with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"),
       "'a' occurs twice"},
      {"three offsets", with_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16,16]}})"), "more than two"},
      {"one offset", with_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})"), "two data_offsets"},
      {"negative dimension", with_header(R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})"), "a negative number"},
      {"fractional dimension", with_header(R"({"a":{"dtype":"F32","shape":[4.0],"data_offsets":[0,16]}})"), "not whole"},
      {"nine dimensions", with_header(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}})"),
       "more than 8"},
      {"unknown type", with_header(R"({"a":{"dtype":"F33","shape":[4],"data_offsets":[0,16]}})"), "unknown type 'F33'"},
      {"begin after end", with_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})"), "claims the bytes 16 to 0"},
      {"end beyond the file", with_header(R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}})"), "truncated"},
      {"end near 2^64", with_header(R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,18446744073709551615]}})"), "truncated"},
      {"size too small", with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})"), "does not fit its type"},
      {"size wraps", with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}})"),
       "does not fit its type"},
      {"overlap",
       with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
       "overlap"},
      {"same range",
       with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
       "overlap"},
      {"data missing", safetensors_bytes(good, "12345678"), "truncated"},
  };
  const TemporaryFolder folder;
  for (const Malformed& example : malformed) {
    SCOPED_TRACE(example.kind);
    const std::string path = folder.write("bad.safetensors", example.bytes);
    const auto opened = SafetensorsFile::open(path);
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

TEST(Safetensors, AcceptsMetadataAndPadding) {
  const TemporaryFolder folder;
  const std::string header = R"({"__metadata__":{"format":"pt"},"a":{"shape":[0,3],"dtype":"F32","data_offsets":[0,0]}}   )";
  const auto file = SafetensorsFile::open(folder.write("a.safetensors", safetensors_bytes(header, "")));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->read("a")->size(), 0U);
}

}  // namespace
}  // namespace continuo::weights
