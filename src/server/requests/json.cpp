#include "server/requests/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/text_check.h"

namespace continuo::server {

using nlohmann::json;

namespace {

/// Builds the tree as the parser reports it, and stops it early.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return std::isfinite(value) ? put(value) != nullptr : stop("a number is too large");
  }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return stop("it is not text"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (open_.back()->contains(value)) return stop("the name '" + weights::printable(value, 40) + "' is there twice", value);
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    constexpr int number_out_of_range = 406;
    return stop(error.id == number_out_of_range ? "a number is too large"
                                                : "it is not JSON from byte " + std::to_string(position) + " on");
  }

  json take() { return std::move(root_); }
  ApiError error() const { return error_; }

 private:
  json* put(json value) {
    if (++values_ > limits_.values) {
      stop("it holds more than " + std::to_string(limits_.values) + " values");
      error_.status = 413;
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool open(json value) {
    if (static_cast<int>(open_.size()) == limits_.depth) {
      return stop("it is nested more than " + std::to_string(limits_.depth) + " deep");
    }
    json* placed = put(std::move(value));
    if (placed != nullptr) open_.push_back(placed);
    return placed != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool stop(const std::string& why, const std::string& name = {}) {
    error_ = {400, "the body cannot be read: " + why, name.empty() ? "" : weights::printable(name, 40), "invalid_json"};
    return false;
  }

  JsonLimits limits_;
  json root_;
  std::vector<json*> open_;  // of an array only the last element is ever open, so it does not move
  std::string key_;
  std::size_t values_ = 0;
  ApiError error_;
};

/// Insertions, deletions, replacements and swaps of neighbours between two short words (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& best = rows[i][j];
      if (i == 0 || j == 0) {
        best = i + j;
        continue;
      }
      best = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = std::min(best, rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::string plain(double number) { return fmt::format("{:.15g}", number); }

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

/// A whole number, however it is written, if it fits.
std::optional<std::int64_t> whole(const json& value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > exact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

Parsed<json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return refuse(413, "body_too_large", {},
                  fmt::format("the body has {} bytes; at most {} are read", text.size(), limits.bytes));
  }
  if (text.empty()) return refuse(400, "invalid_json", {}, "the body is empty; send a JSON object");
  if (!weights::valid_utf8(text)) return refuse(400, "invalid_json", {}, "the body cannot be read: it is not UTF-8 text");
  Builder builder(limits);
  if (!json::sax_parse(text, &builder)) return tl::unexpected(builder.error());
  return builder.take();
}

Parsed<json> parse_json_object(std::string_view text, const JsonLimits& limits) {
  CONTINUO_PARSE(json value, parse_json(text, limits));
  if (!value.is_object()) return refuse(400, "invalid_json", {}, "the body must be a JSON object");
  return value;
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 40;
  if (name.size() > longest) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : names) {
    const std::size_t far = candidate.starts_with(name) && name.size() >= 3 ? 1 : distance(name, candidate);
    if (far >= least) continue;
    least = far;
    nearest = candidate;
  }
  return nearest;
}

Fields::Fields(const json& object, std::string path) : object_(&object), path_(std::move(path)) {
  static const json nothing = json::object();
  if (object.is_object()) return;
  object_ = &nothing;
  error_ = ApiError{422, (path_.empty() ? "the request" : path_) + " must be a JSON object", path_, "invalid_type"};
}

std::string Fields::named(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

const json* Fields::find(const std::string& name) {
  known_.push_back(name);
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Fields::has(const std::string& name) const {
  const auto found = object_->find(name);
  return found != object_->end() && !found->is_null();
}

bool Fields::any_of(std::initializer_list<std::string_view> names) const {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return has(std::string(name)); });
}

void Fields::refuse(const std::string& name, const std::string& message, const std::string& code, int status) {
  take({status, message, named(name), code});
}

void Fields::take(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void Fields::missing(const std::string& name, const std::string& message) {
  if (!missing_) missing_ = ApiError{422, message, named(name), "missing_field"};
}

void Fields::wrong(const std::string& name, const std::string& expected) {
  refuse(name, named(name) + " must be " + expected, "invalid_type");
}

std::optional<std::string> Fields::text(const std::string& name, std::size_t most_bytes) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr) {
    wrong(name, "a text");
  } else if (text->size() > most_bytes) {
    refuse(name, fmt::format("{} has {} bytes; at most {} are accepted", named(name), text->size(), most_bytes), "too_long");
  } else if (text->find('\0') != std::string::npos) {
    refuse(name, named(name) + " holds a zero byte");
  } else {
    return *text;
  }
  return std::nullopt;
}

std::optional<double> Fields::number(const std::string& name, const Range& range) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    wrong(name, "a number");
    return std::nullopt;
  }
  const double number = value->get<double>();
  if (number <= range.most && (range.above ? number > range.least : number >= range.least)) return number;
  refuse(name,
         fmt::format("{} must be {} {} {} {}, not {}", named(name), range.above ? "above" : "from", plain(range.least),
                     range.above ? "and at most" : "to", plain(range.most), plain(number)),
         "out_of_range");
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(const std::string& name, std::int64_t least, std::int64_t most) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = whole(*value);
  if (!value->is_number()) {
    wrong(name, "a whole number");
  } else if (!number || *number < least || *number > most) {
    refuse(name, fmt::format("{} must be a whole number from {} to {}", named(name), least, most), "out_of_range");
  } else {
    return number;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::seed(const std::string& name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (const auto number = whole(*value); number && *number >= 0) return static_cast<std::uint64_t>(*number);
  if (const auto* text = value->get_ptr<const std::string*>()) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (problem == std::errc() && end == text->data() + text->size() && !text->empty()) return number;
  }
  refuse(name, named(name) + " must be a whole number from 0 to 18446744073709551615", "out_of_range");
  return std::nullopt;
}

std::optional<bool> Fields::flag(const std::string& name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  wrong(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::choice(const std::string& name, std::initializer_list<std::string_view> words) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto* text = value->get_ptr<const std::string*>();
  if (text != nullptr && std::find(words.begin(), words.end(), *text) != words.end()) return *text;
  wrong(name, list_of({words.begin(), words.end()}));
  return std::nullopt;
}

std::optional<int> Fields::choice(const std::string& name, std::initializer_list<int> numbers) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = whole(*value);
  std::vector<std::string> words;
  for (const int candidate : numbers) {
    if (number == candidate) return candidate;
    words.push_back(std::to_string(candidate));
  }
  wrong(name, list_of(words));
  return std::nullopt;
}

const json* Fields::object(const std::string& name) {
  const json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  wrong(name, "an object");
  return nullptr;
}

const json* Fields::array(const std::string& name, std::size_t most) {
  const json* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    wrong(name, "a list");
  } else if (value->size() > most) {
    refuse(name, fmt::format("{} has {} entries; at most {} are accepted", named(name), value->size(), most), "too_long");
  } else {
    return value;
  }
  return nullptr;
}

const json* Fields::any(const std::string& name) { return find(name); }

void Fields::ignore(const std::string& name) { known_.push_back(name); }

Parsed<void> Fields::finish() {
  if (error_) return tl::unexpected(*error_);
  for (const auto& [name, value] : object_->items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string shown = weights::printable(name, 40);
    const auto nearest = nearest_name(name, known_);
    const std::string hint = nearest ? "; did you mean " + *nearest + "?" : "";
    return server::refuse(422, "unknown_field", path_.empty() ? shown : path_ + "." + shown,
                          "there is no field '" + shown + "'" + (path_.empty() ? "" : " in " + path_) + hint);
  }
  if (missing_) return tl::unexpected(*missing_);
  return {};
}

}  // namespace continuo::server
