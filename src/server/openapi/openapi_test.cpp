#include "server/openapi/openapi.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "server/requests/context_test.h"
#include "server/requests/generate.h"
#include "server/requests/huggingface.h"
#include "server/requests/json.h"
#include "server/requests/speech.h"

namespace continuo::server {
namespace {

using nlohmann::json;

const json& document() {
  static const json parsed = json::parse(openapi_text());
  return parsed;
}

template <class Visit>
void each_operation(const Visit& visit) {
  for (const auto& [path, operations] : document()["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) visit(path, method, operation);
  }
}

void check_references(const json& value) {
  if (value.is_object()) {
    if (value.contains("$ref")) {
      const auto text = value["$ref"].get<std::string>();
      ASSERT_EQ(text.substr(0, 2), "#/") << text;
      EXPECT_TRUE(document().contains(json::json_pointer(text.substr(1)))) << text;
    }
    for (const auto& [name, inner] : value.items()) check_references(inner);
  } else if (value.is_array()) {
    for (const json& inner : value) check_references(inner);
  }
}

TEST(OpenApiTest, WhatItRefersToIsThere) { check_references(document()); }

TEST(OpenApiTest, EveryOperationIsWhole) {
  std::set<std::string> names;
  each_operation([&](const std::string& path, const std::string& method, const json& operation) {
    EXPECT_TRUE(names.insert(operation.at("operationId").get<std::string>()).second) << path;
    EXPECT_FALSE(operation.at("summary").get<std::string>().empty()) << path;
    EXPECT_TRUE(operation.at("responses").contains("default")) << path;
    EXPECT_EQ(operation.at("responses").contains("401"), !operation.contains("security")) << method << path;
    // What the path has in braces is declared, and nothing else is.
    std::set<std::string> in_path, declared;
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at + 1)) {
      in_path.insert(path.substr(at + 1, path.find('}', at) - at - 1));
    }
    for (const json& parameter : operation.value("parameters", json::array())) {
      if (parameter["in"] == "path") declared.insert(parameter["name"].get<std::string>());
    }
    EXPECT_EQ(in_path, declared) << method << path;
  });
  EXPECT_GT(names.size(), 40U);
}

TEST(OpenApiTest, OnlyHealthIsOpen) {
  each_operation([](const std::string& path, const std::string&, const json& operation) {
    EXPECT_EQ(operation.contains("security"), path == "/health" || path == "/v1/health") << path;
  });
}

TEST(OpenApiTest, CarriesTheVersion) { EXPECT_EQ(json::parse(openapi_json("1.2.3"))["info"]["version"], "1.2.3"); }

TEST(OpenApiTest, DifferencesAreFoundBothWays) {
  Router router;
  each_operation(
      [&](const std::string& path, std::string method, const json&) { router.add(method == "get" ? "GET" : method, path, {}); });
  EXPECT_EQ(openapi_differences(router), std::vector<std::string>{});
  router.add("GET", "/v1/secret/{a}", {});
  EXPECT_EQ(openapi_differences(router), std::vector<std::string>{"GET /v1/secret/{} is not described in openapi.json"});
  Router empty;
  EXPECT_EQ(openapi_differences(empty).size(), router.routes().size() - 1);
}

/// The names of the fields in a schema's properties, where it has variants of all of them.
std::set<std::string> names_in(const json& schema) {
  std::set<std::string> names;
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, value] : properties.items()) names.insert(name);
  for (const json& variant : schema.value("oneOf", json::array())) names.merge(names_in(variant));
  return names;
}

/// A request that has only this field, with a value of no type it could have, is refused for the value and not for the name; so
/// the description and the readers know the same names.
template <class Parse>
void expect_known(const char* schema, const Parse& parse) {
  for (const std::string& name : names_in(document()["components"]["schemas"][schema])) {
    const auto parsed = parse(json{{name, json::array({json::array()})}}.dump());
    if (parsed) continue;
    EXPECT_NE(parsed.error().code, "unknown_field") << schema << "." << name << ": " << parsed.error().message;
  }
  const auto parsed = parse(json{{"no_such_field", 1}}.dump());
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, "unknown_field") << schema << ": " << parsed.error().message;
}

TEST(OpenApiTest, ReadersKnowWhatIsDescribed) {
  TestContext context;
  expect_known("MusicRequest", [&](const std::string& body) { return parse_music_request(body, context); });
  expect_known("SpeechRequest", [&](const std::string& body) { return parse_speech(body, context); });
  expect_known("GenerateRequest", [&](const std::string& body) { return parse_generate(body, context); });
  expect_known("HuggingFaceRequest", [&](const std::string& body) { return parse_huggingface(body, "", context); });
  expect_known("HuggingFaceParameters", [&](const std::string& body) {
    return parse_huggingface(R"({"inputs": "a", "parameters": {"generation_parameters": )" + body + "}}", "", context);
  });
}

TEST(OpenApiTest, ExamplesAreAccepted) {
  TestContext context;
  context.context.models.front().id = "demo";
  const auto example = [](const char* path) {
    return document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"].dump();
  };
  EXPECT_TRUE(parse_music_request(example("/v1/jobs"), context).has_value());
  EXPECT_TRUE(parse_batch(example("/v1/batches"), context).has_value());
  EXPECT_TRUE(parse_speech(example("/v1/audio/speech"), context).has_value());
  EXPECT_TRUE(parse_generate(example("/generate"), context).has_value());
  EXPECT_TRUE(parse_huggingface(example("/v1/huggingface/text-to-audio"), "", context).has_value());
}

}  // namespace
}  // namespace continuo::server
