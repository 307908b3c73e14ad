#include "server/requests/json.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace continuo::server {
namespace {

using nlohmann::json;

ApiError error_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json(text, limits);
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed ? ApiError{} : parsed.error();
}

TEST(JsonTest, KeepsAllBitsOfANumber) {
  const auto value = parse_json(R"({"a": 18446744073709551615, "b": -9223372036854775808, "c": 0.1})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ((*value)["a"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ((*value)["b"].get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((*value)["c"].get<double>(), 0.1);
}

TEST(JsonTest, BuildsNestedValuesInOrder) {
  const auto value = parse_json(R"([{"a": [1, [2, {"b": null}], "x"]}, true, []])");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value, json::parse(R"([{"a": [1, [2, {"b": null}], "x"]}, true, []])"));
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  EXPECT_EQ(error_of("").message, "the body is empty; send a JSON object");
  EXPECT_EQ(error_of("{\"a\": \xff}").message, "the body cannot be read: it is not UTF-8 text");
  EXPECT_EQ(error_of(R"({"a": 1, "b": {"a": 2}, "a": 3})").message, "the body cannot be read: the name 'a' is there twice");
  EXPECT_EQ(error_of(R"({"a": 1e999})").message, "the body cannot be read: a number is too large");
  EXPECT_EQ(error_of(R"({"a": 1,})").message, "the body cannot be read: it is not JSON from byte 9 on");
  for (const char* text :
       {"{", "nul", "{} {}", R"({"a": NaN})", R"({'a': 1})", R"({"a": "\ud800"})", "// x\n{}", "\xEF\xBB\xBF"}) {
    const ApiError error = error_of(text);
    EXPECT_EQ(error.status, 400) << text;
    EXPECT_EQ(error.code, "invalid_json") << text;
  }
}

TEST(JsonTest, IsBounded) {
  EXPECT_EQ(error_of(std::string(200'000, '[')).message, "the body cannot be read: it is nested more than 16 deep");
  EXPECT_TRUE(parse_json(std::string(16, '[') + std::string(16, ']')).has_value());
  EXPECT_FALSE(parse_json(std::string(17, '[') + std::string(17, ']')).has_value());
  JsonLimits limits;
  limits.values = 3;
  EXPECT_EQ(error_of("[1,2,3]", limits).status, 413);
  limits.bytes = 5;
  EXPECT_EQ(error_of("[1,2,3]", limits).message, "the body has 7 bytes; at most 5 are read");
}

TEST(JsonTest, ABodyMustBeAnObject) {
  const auto parsed = parse_json_object("[1]");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message, "the body must be a JSON object");
}

TEST(FieldsTest, ReadsTypes) {
  const json object = json::parse(
      R"({"t": "x", "n": 1.5, "i": 7, "w": 7.0, "s": 18446744073709551615, "st": "18446744073709551615", "f": true, "null": null,
          "c": "b", "k": 44100})");
  Fields fields(object);
  EXPECT_EQ(fields.text("t", 10), "x");
  EXPECT_EQ(fields.number("n", {0, 2}), 1.5);
  EXPECT_EQ(fields.integer("i", 0, 10), 7);
  EXPECT_EQ(fields.integer("w", 0, 10), 7);
  EXPECT_EQ(fields.seed("s"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(fields.seed("st"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(fields.flag("f"), true);
  EXPECT_EQ(fields.text("null", 10), std::nullopt);
  EXPECT_EQ(fields.choice("c", {"a", "b"}), "b");
  EXPECT_EQ(fields.choice("k", {32'000, 44'100}), 44'100);
  EXPECT_TRUE(fields.finish().has_value());
}

struct BadField {
  const char* object;
  const char* message;
  const char* code;
};

class BadFields : public testing::TestWithParam<BadField> {};

TEST_P(BadFields, AreRefusedInWords) {
  const json object = json::parse(GetParam().object);
  Fields fields(object, "here");
  fields.text("text", 3);
  fields.number("number", {0.0, 10.0, true});
  fields.number("from", {-1.5, 2.0});
  fields.integer("integer", 1, 8);
  fields.seed("seed");
  fields.flag("flag");
  fields.choice("word", {"a", "b", "c"});
  fields.choice("rate", {1, 2});
  fields.object("object");
  fields.array("array", 1);
  const auto done = fields.finish();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, GetParam().message);
  EXPECT_EQ(done.error().code, GetParam().code);
  EXPECT_EQ(done.error().status, 422);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadFields,
    testing::Values(
        BadField{R"([])", "here must be a JSON object", "invalid_type"},
        BadField{R"({"text": 3})", "here.text must be a text", "invalid_type"},
        BadField{R"({"text": "abcd"})", "here.text has 4 bytes; at most 3 are accepted", "too_long"},
        BadField{"{\"text\": \"a\\u0000\"}", "here.text holds a zero byte", "invalid_value"},
        BadField{R"({"number": "1"})", "here.number must be a number", "invalid_type"},
        BadField{R"({"number": 0})", "here.number must be above 0 and at most 10, not 0", "out_of_range"},
        BadField{R"({"number": true})", "here.number must be a number", "invalid_type"},
        BadField{R"({"from": 2.5})", "here.from must be from -1.5 to 2, not 2.5", "out_of_range"},
        BadField{R"({"integer": 1.5})", "here.integer must be a whole number from 1 to 8", "out_of_range"},
        BadField{R"({"integer": 18446744073709551615})", "here.integer must be a whole number from 1 to 8", "out_of_range"},
        BadField{R"({"integer": "5"})", "here.integer must be a whole number", "invalid_type"},
        BadField{R"({"seed": -1})", "here.seed must be a whole number from 0 to 18446744073709551615", "out_of_range"},
        BadField{R"({"seed": 1.5})", "here.seed must be a whole number from 0 to 18446744073709551615", "out_of_range"},
        BadField{R"({"seed": ""})", "here.seed must be a whole number from 0 to 18446744073709551615", "out_of_range"},
        BadField{R"({"seed": "18446744073709551616"})", "here.seed must be a whole number from 0 to 18446744073709551615",
                 "out_of_range"},
        BadField{R"({"flag": 1})", "here.flag must be true or false", "invalid_type"},
        BadField{R"({"word": "d"})", "here.word must be a, b or c", "invalid_type"},
        BadField{R"({"rate": 3})", "here.rate must be 1 or 2", "invalid_type"},
        BadField{R"({"object": []})", "here.object must be an object", "invalid_type"},
        BadField{R"({"array": {}})", "here.array must be a list", "invalid_type"},
        BadField{R"({"array": [1, 2]})", "here.array has 2 entries; at most 1 are accepted", "too_long"},
        BadField{R"({"integr": 1})", "there is no field 'integr' in here; did you mean integer?", "unknown_field"},
        BadField{R"({"arrya": 1})", "there is no field 'arrya' in here; did you mean array?", "unknown_field"},
        BadField{R"({"zzz": 1})", "there is no field 'zzz' in here", "unknown_field"},
        BadField{"{\"a\\nb\": 1}", "there is no field 'a?b' in here", "unknown_field"}));

TEST(FieldsTest, AMisspeltNameWinsOverTheMissingOne) {
  const json object{{"promt", "x"}};
  Fields fields(object);
  if (!fields.text("prompt", 10)) fields.missing("prompt", "prompt is missing");
  const auto done = fields.finish();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "there is no field 'promt'; did you mean prompt?");
  EXPECT_EQ(done.error().param, "promt");
}

TEST(FieldsTest, TheFirstComplaintStays) {
  const json object{{"a", 1}, {"b", 2}};
  Fields fields(object);
  fields.text("b", 3);
  fields.text("a", 3);
  EXPECT_EQ(fields.finish().error().param, "b");
}

TEST(ApiErrorTest, TheBodyHasItsFourFields) {
  const json body = json::parse(error_body({429, "queue full", "", "queue_full"}));
  EXPECT_EQ(
      body,
      json::parse(R"({"error": {"message": "queue full", "type": "rate_limit_error", "param": null, "code": "queue_full"}})"));
}

TEST(ApiErrorTest, ErrorsOfTheEngineBecomeAnswers) {
  EXPECT_EQ(api_error_of({ErrorCode::invalid_argument, "m"}, "p").status, 422);
  EXPECT_EQ(api_error_of({ErrorCode::invalid_argument, "m"}, "p").param, "p");
  EXPECT_EQ(api_error_of({ErrorCode::not_found, "m"}).status, 404);
  EXPECT_EQ(api_error_of({ErrorCode::unsupported, "m"}).status, 422);
  EXPECT_EQ(api_error_of({ErrorCode::out_of_memory, "m"}).code, "out_of_memory");
  EXPECT_EQ(api_error_of({ErrorCode::cancelled, "m"}).status, 409);
  const ApiError inside = api_error_of({ErrorCode::io, "cannot write /somewhere/secret"});
  EXPECT_EQ(inside.status, 500);
  EXPECT_EQ(inside.message.find("secret"), std::string::npos);
}

TEST(ApiErrorTest, TypesFollowTheStatus) {
  EXPECT_STREQ(error_type_of(400), "invalid_request_error");
  EXPECT_STREQ(error_type_of(401), "authentication_error");
  EXPECT_STREQ(error_type_of(404), "not_found");
  EXPECT_STREQ(error_type_of(410), "not_found");
  EXPECT_STREQ(error_type_of(422), "invalid_request_error");
  EXPECT_STREQ(error_type_of(429), "rate_limit_error");
  EXPECT_STREQ(error_type_of(503), "server_error");
}

}  // namespace
}  // namespace continuo::server
