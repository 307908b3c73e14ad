// What the server tells its operator: a line for each event, on standard error. A JSON object a line when a program reads it
// ({"time", "level", "message", ...fields}), plain words when a person does.
//
// - Writing never waits. Lines go through a bounded queue to a thread of their own; when whatever is behind standard error does
//   not take them, the oldest are dropped, and once it does again a line says how many.
// - Nothing secret is written: fields named like keys or authorization come out as "[hidden]", whoever passes them. What people
//   ask for (the fields "prompt" and "title") is left out unless the operator asked for it.
// - Whatever a client sent is escaped: a line is a line, and no control character reaches a terminal.
// Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"

namespace continuo::server {

class Log {
 public:
  enum class Level { debug, info, warning, error, off };
  enum class Form { json, text };

  struct Options {
    Level level = Level::info;
    std::optional<Form> form;  // absent: text on a terminal, else JSON
    bool prompts = false;
    int descriptor = 2;
    std::size_t queue = 4096;  // lines
  };

  struct Field {
    std::string_view name;
    std::variant<std::string_view, std::int64_t, double, bool> value;

    Field(std::string_view field, std::string_view text) : name(field), value(text) {}
    Field(std::string_view field, const std::string& text) : name(field), value(std::string_view(text)) {}
    Field(std::string_view field, const char* text) : name(field), value(std::string_view(text)) {}
    Field(std::string_view field, std::int64_t number) : name(field), value(number) {}
    Field(std::string_view field, int number) : name(field), value(std::int64_t{number}) {}
    Field(std::string_view field, double number) : name(field), value(number) {}
    Field(std::string_view field, bool yes) : name(field), value(yes) {}
  };
  using Fields = std::initializer_list<Field>;

  /// One answered request.
  struct Access {
    std::string_view id;
    std::string_view client;
    std::string_view method;
    std::string_view route;  // the pattern, "/v1/jobs/{id}"; empty when none fits
    int status = 0;
    std::int64_t bytes = 0;  // of the body, sent
    double seconds = 0.0;
    bool cut = false;  // the answer did not come to its end
  };

  static std::unique_ptr<Log> create(const Options& options);
  /// Writes what is queued, as far as it is taken.
  virtual ~Log() = default;

  virtual bool wants(Level level) const = 0;
  virtual void write(Level level, std::string_view message, Fields fields) = 0;
  virtual void access(const Access& access) = 0;
  /// Lines lost so far.
  virtual std::int64_t dropped() const = 0;

  void debug(std::string_view message, Fields fields = {}) { write(Level::debug, message, fields); }
  void info(std::string_view message, Fields fields = {}) { write(Level::info, message, fields); }
  void warning(std::string_view message, Fields fields = {}) { write(Level::warning, message, fields); }
  void error(std::string_view message, Fields fields = {}) { write(Level::error, message, fields); }
};

/// debug, info, warning, error, off.
Result<Log::Level> parse_log_level(std::string_view text);
/// json, text, auto (absent).
Result<std::optional<Log::Form>> parse_log_format(std::string_view text);

}  // namespace continuo::server
