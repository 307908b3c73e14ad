#include "weights/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::size_t rank_max = 8;
constexpr std::size_t name_bytes_max = 1024;

/// nlohmann's SAX interface. Returning false ends the parse; `error` then says why.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, SafetensorsEntry, std::less<>> entries;
  std::string error;

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) return enter(Place::names);
    if (place_ == Place::names) return enter(in_metadata_ ? Place::metadata : Place::fields);
    return unexpected("an object");
  }

  bool end_object() override {
    if (place_ == Place::fields) {
      if (seen_.dtype && seen_.shape && seen_.offsets) {
        const std::string shown = printable(name_);
        if (!entries.emplace(std::move(name_), std::move(entry_)).second) return wrong("tensor '" + shown + "' occurs twice");
        return enter(Place::names);
      }
      return wrong("tensor '" + printable(name_) + "' lacks dtype, shape or data_offsets");
    }
    return enter(place_ == Place::metadata ? Place::names : Place::outside);
  }

  bool key(string_t& text) override {
    if (place_ == Place::names) return start_tensor(text);
    if (place_ == Place::metadata) return true;
    field_ = text == "dtype" ? Field::dtype : text == "shape" ? Field::shape : Field::offsets;
    if (field_ == Field::offsets && text != "data_offsets") {
      return wrong("tensor '" + printable(name_) + "' has the unknown field '" + printable(text) + "'");
    }
    bool& seen = field_ == Field::dtype ? seen_.dtype : field_ == Field::shape ? seen_.shape : seen_.offsets;
    if (std::exchange(seen, true)) return wrong("tensor '" + printable(name_) + "' has the field '" + text + "' twice");
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::fields || field_ != Field::dtype) return unexpected("a string");
    entry_.dtype = text;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::fields || field_ == Field::dtype) return unexpected("an array");
    offsets_ = 0;
    return enter(Place::numbers);
  }

  bool end_array() override {
    if (field_ == Field::offsets && offsets_ != 2) {
      return wrong("tensor '" + printable(name_) + "' does not have two data_offsets");
    }
    return enter(Place::fields);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::numbers) return unexpected("a number");
    if (field_ == Field::offsets) {
      if (offsets_ == 2) return wrong("tensor '" + printable(name_) + "' has more than two data_offsets");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
      return true;
    }
    if (entry_.shape.size() == rank_max) return wrong("tensor '" + printable(name_) + "' has more than 8 dimensions");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return wrong("tensor '" + printable(name_) + "' has an impossible dimension");
    }
    entry_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a number that is not whole"); }
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return wrong("the header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { outside, names, metadata, fields, numbers };
  enum class Field { dtype, shape, offsets };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool wrong(std::string message) {
    error = std::move(message);
    return false;
  }
  bool unexpected(const char* what) {
    return wrong(name_.empty() ? std::string("the header holds ") + what + " where it may not"
                               : "tensor '" + printable(name_) + "' holds " + what + " where it may not");
  }
  bool start_tensor(const std::string& text) {
    in_metadata_ = text == "__metadata__";
    if (in_metadata_ && std::exchange(metadata_seen_, true)) return wrong("__metadata__ occurs twice");
    if (text.empty() || text.size() > name_bytes_max) return wrong("a tensor's name is empty or too long");
    name_ = text;
    entry_ = {};
    seen_ = {};
    return true;
  }

  struct Seen {
    bool dtype = false, shape = false, offsets = false;
  };
  Place place_ = Place::outside;
  Field field_ = Field::dtype;
  bool in_metadata_ = false;
  bool metadata_seen_ = false;
  std::string name_;
  SafetensorsEntry entry_;
  Seen seen_;
  int offsets_ = 0;
};

}  // namespace

Result<std::map<std::string, SafetensorsEntry, std::less<>>> parse_safetensors_header(std::string_view json) {
  HeaderHandler handler;
  bool good = false;
  try {
    good = nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  } catch (const std::exception&) {
    good = false;
  }
  if (!good) {
    return fail(ErrorCode::corrupt_file, "{}", handler.error.empty() ? "the header cannot be parsed" : handler.error);
  }
  return std::move(handler.entries);
}

}  // namespace continuo::weights
