// JSON that strangers send, and its fields.
//
// What is accepted is one JSON object or array in UTF-8 with finite numbers, nested at most 16 deep, without a name twice in an
// object (readers disagree which of the two counts). Numbers keep all their bits: a whole number up to 2^64 - 1 is exact.
//
// Fields reads one object with a list of names that it knows. Every name is read or refused: what is left over at the end is an
// error that says which known name is nearest. So a typing mistake is never a silent default.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/requests/api_error.h"

namespace continuo::server {

struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  int depth = 16;
  std::size_t values = 100'000;
};

/// The whole text as one value; 400 for what is not such JSON, 413 for too much of it. Messages never quote the text.
Parsed<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// As parse_json, but it must be an object.
Parsed<nlohmann::json> parse_json_object(std::string_view text, const JsonLimits& limits = {});

/// Bounds of a number. above: the lower one does not count itself.
struct Range {
  double least, most;
  bool above = false;
};

/// The nearest of the names, if one is near enough to have been meant.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names);

class Fields {
 public:
  /// object must outlive this, and be an object (else the first complaint is that). path begins the names in messages:
  /// "segments[1]".
  explicit Fields(const nlohmann::json& object, std::string path = {});

  // Each of these makes the name known. Nothing: absent, null, or refused; finish() tells which.
  std::optional<std::string> text(const std::string& name, std::size_t most_bytes);
  std::optional<double> number(const std::string& name, const Range& range);
  /// Whole numbers, also written as 250.0.
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most);
  /// 0 to 2^64 - 1, as a number or, for languages whose numbers have 53 bits, as text.
  std::optional<std::uint64_t> seed(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  /// One of the words.
  std::optional<std::string> choice(const std::string& name, std::initializer_list<std::string_view> words);
  std::optional<int> choice(const std::string& name, std::initializer_list<int> numbers);
  /// Null if absent. The value lives as long as the object.
  const nlohmann::json* object(const std::string& name);
  const nlohmann::json* array(const std::string& name, std::size_t most);
  const nlohmann::json* any(const std::string& name);
  /// Known, and not looked at.
  void ignore(const std::string& name);

  /// There and not null. Does not make the name known.
  bool has(const std::string& name) const;
  bool any_of(std::initializer_list<std::string_view> names) const;

  /// Complaints. The first one stays. missing() yields to any other, because a missing name is often a misspelt one.
  void refuse(const std::string& name, const std::string& message, const std::string& code = "invalid_value", int status = 422);
  void missing(const std::string& name, const std::string& message);
  void take(ApiError error);
  /// Unwraps a value, or keeps its complaint.
  template <class T>
  std::optional<T> keep(Parsed<T> parsed);

  bool failed() const { return error_.has_value(); }
  /// A name as messages call it: "segments[1].duration".
  std::string named(const std::string& name) const;

  /// The first complaint, else one about the first unknown name, else one about a missing one, else success.
  Parsed<void> finish();

 private:
  const nlohmann::json* find(const std::string& name);
  void wrong(const std::string& name, const std::string& expected);

  const nlohmann::json* object_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<ApiError> error_, missing_;
};

template <class T>
std::optional<T> Fields::keep(Parsed<T> parsed) {
  if (parsed) return std::move(*parsed);
  take(std::move(parsed).error());
  return std::nullopt;
}

}  // namespace continuo::server
