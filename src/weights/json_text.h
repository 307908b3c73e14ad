// JSON from a model folder: small files, read once, trusted with nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace continuo::weights {

/// A value takes up to a hundred bytes of memory, a text of "[],[],[]" as many values as a third of its bytes.
inline constexpr std::size_t json_values_max = 4'000'000;

/// The text as a JSON object. Refuses other JSON, nesting deeper than 32, and (about) more values than that; `where` begins the
/// complaint.
Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& where,
                                         std::size_t values_max = json_values_max);

/// The file as a JSON object. Refuses other JSON, more than `limit` bytes, and nesting deeper than 32.
Result<nlohmann::json> read_json_object(const std::string& path, std::size_t limit);

/// Reads the fields of one JSON object, keeping the first complaint. A field that is absent or null keeps the value that stands
/// in the variable, which is the default.
class JsonFields {
 public:
  /// `where` begins a complaint: "config.json: decoder".
  JsonFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  void get(const char* name, int& value);
  void get(const char* name, float& value);
  void get(const char* name, double& value);
  void get(const char* name, bool& value);
  void get(const char* name, std::string& value);
  void get(const char* name, std::vector<int>& values);
  /// True if the field is there and not null.
  bool has(const char* name) const;
  Status take() { return std::move(status_); }

 private:
  const nlohmann::json* find(const char* name) const;
  void complain(const char* name, const char* expected);

  const nlohmann::json& object_;
  std::string where_;
  Status status_;
};

}  // namespace continuo::weights
