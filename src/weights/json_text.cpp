#include "weights/json_text.h"

#include <cmath>
#include <limits>

#include "base/file.h"

namespace continuo::weights {

namespace {

constexpr int depth_max = 32;

/// What the text's brackets and commas outside strings say of the tree that it would become.
struct Extent {
  int deepest = 0;
  std::size_t values = 1;
};

/// Runs before the parser so that a hostile text never becomes a tree.
Extent extent_of(std::string_view text) {
  int depth = 0;
  Extent extent;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      extent.deepest = std::max(extent.deepest, ++depth);
      ++extent.values;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      ++extent.values;
    }
  }
  return extent;
}

std::optional<int> whole_number(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return std::nullopt;
    return static_cast<int>(number);
  }
  const auto number = value.get<std::int64_t>();
  if (number < std::numeric_limits<int>::min()) return std::nullopt;
  return static_cast<int>(number);
}

}  // namespace

Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& where, std::size_t values_max) {
  const Extent extent = extent_of(text);
  if (extent.values > values_max) {
    return fail(ErrorCode::corrupt_file, "{}: the JSON holds more than {} values", where, values_max);
  }
  if (extent.deepest > depth_max) return fail(ErrorCode::corrupt_file, "{}: the JSON is nested too deeply", where);
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() || !value.is_object()) return fail(ErrorCode::corrupt_file, "{}: this is not a JSON object", where);
  return value;
}

Result<nlohmann::json> read_json_object(const std::string& path, std::size_t limit) {
  CONTINUO_TRY(const std::string text, read_text_file(path, limit));
  return parse_json_object(text, path);
}

const nlohmann::json* JsonFields::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::has(const char* name) const { return find(name) != nullptr; }

void JsonFields::complain(const char* name, const char* expected) {
  if (status_) status_ = fail(ErrorCode::corrupt_file, "{}: '{}' is not {}", where_, name, expected);
}

void JsonFields::get(const char* name, int& value) {
  const auto* field = find(name);
  if (field == nullptr) return;
  const auto number = whole_number(*field);
  if (!number)
    complain(name, "a whole number of usual size");
  else
    value = *number;
}

void JsonFields::get(const char* name, double& value) {
  const auto* field = find(name);
  if (field == nullptr) return;
  if (!field->is_number())
    complain(name, "a number");
  else
    value = field->get<double>();
}

void JsonFields::get(const char* name, float& value) {
  double wide = value;
  get(name, wide);
  if (std::abs(wide) > std::numeric_limits<float>::max())
    complain(name, "a number of usual size");
  else
    value = static_cast<float>(wide);
}

void JsonFields::get(const char* name, bool& value) {
  const auto* field = find(name);
  if (field == nullptr) return;
  if (!field->is_boolean())
    complain(name, "true or false");
  else
    value = field->get<bool>();
}

void JsonFields::get(const char* name, std::string& value) {
  const auto* field = find(name);
  if (field == nullptr) return;
  if (!field->is_string())
    complain(name, "a string");
  else
    value = field->get<std::string>();
}

void JsonFields::get(const char* name, std::vector<int>& values) {
  const auto* field = find(name);
  if (field == nullptr) return;
  std::vector<int> read;
  if (field->is_array() && field->size() <= 64) {
    for (const auto& item : *field) {
      if (const auto number = whole_number(item)) read.push_back(*number);
    }
  }
  if (!field->is_array() || read.size() != field->size())
    complain(name, "a short list of whole numbers");
  else
    values = std::move(read);
}

}  // namespace continuo::weights
