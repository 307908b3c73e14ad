#include "server/log.h"

#include <poll.h>
#include <pthread.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

namespace continuo::server {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> level_names{"debug", "info", "warning", "error", "off"};
// Parts of names of fields that would hold a secret.
constexpr std::array<std::string_view, 6> secret_words{"key", "authorization", "token", "secret", "password", "cookie"};
constexpr std::array<std::string_view, 3> quiet_routes{"/health", "/v1/health", "/metrics"};  // asked every few seconds

std::string_view name_of(Log::Level level) { return level_names[static_cast<std::size_t>(level)]; }

/// RFC 3339, UTC, milliseconds.
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t whole = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds);
}

/// Quoted as JSON. ASCII alone, or, for people, letters as they are and escaped whatever moves a cursor or turns text around.
std::string quoted(std::string_view text, bool ascii) {
  const std::string json = Json(std::string(text)).dump(-1, ' ', ascii, Json::error_handler_t::replace);
  if (ascii || std::all_of(json.begin(), json.end(), [](unsigned char c) { return c < 0x7F; })) return json;
  std::string result;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = [&](std::size_t at) { return at < json.size() ? static_cast<unsigned char>(json[at]) : 0U; };
    const unsigned point = ((byte(i) & 0x0FU) << 12U) | ((byte(i + 1) & 0x3FU) << 6U) | (byte(i + 2) & 0x3FU);
    if (byte(i) == 0x7F) {
      result += "\\u007f";
    } else if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) {  // C1 controls
      result += fmt::format("\\u{:04x}", byte(++i));
    } else if ((byte(i) & 0xF0U) == 0xE0 && ((point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069))) {
      result += fmt::format("\\u{:04x}", point);
      i += 2;
    } else {
      result += json[i];
    }
  }
  return result;
}

/// A word as it is; whatever else in quotes.
std::string readable(std::string_view text) {
  const bool word = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '=';
  });
  return word ? std::string(text) : quoted(text, false);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool is_secret(std::string_view name) {
  const std::string small = lower(name);
  return std::any_of(secret_words.begin(), secret_words.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

std::string value_text(const Log::Field& field, bool ascii) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    const std::string_view shown = is_secret(field.name) ? "[hidden]" : *text;
    return ascii ? quoted(shown, true) : readable(shown);
  }
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return std::to_string(*number);
  if (const auto* yes = std::get_if<bool>(&field.value)) return *yes ? "true" : "false";
  const double number = std::get<double>(field.value);
  // Six digits say enough of a time, and JSON has no word for what is no number.
  return number - number == 0.0 ? fmt::format("{:.6g}", number) : "null";
}

/// Standard error, for as long as it takes what it is given. A pipe or a terminal that is full is waited for once, shortly; then
/// lines are lost, without waiting, until it takes one again.
class PatientSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  PatientSink(int descriptor, Log::Form form) : descriptor_(descriptor), form_(form) {}

  void watch(spdlog::details::thread_pool* queue) { queue_ = queue; }
  std::int64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::int64_t gone = lost() + static_cast<std::int64_t>(queue_->overrun_counter());
    if (gone > told_ && put(lost_line(gone - told_))) told_ = gone;
    if (!put(std::string_view(message.payload.data(), message.payload.size()))) lost_.fetch_add(1, std::memory_order_relaxed);
  }
  void flush_() override {}

 private:
  std::string lost_line(std::int64_t lines) const {
    const std::string time = now_text();
    if (form_ == Log::Form::text) return fmt::format("{} warning lines of this log were lost lost={}\n", time, lines);
    return fmt::format("{{\"time\":\"{}\",\"level\":\"warning\",\"message\":\"lines of this log were lost\",\"lost\":{}}}\n",
                       time, lines);
  }

  /// Parts of PIPE_BUF bytes: if poll() says that there is room, that much goes into a pipe without waiting.
  bool put(std::string_view line) {
    std::string whole = torn_ ? "\n" : "";
    whole += line;
    for (std::size_t at = 0; at < whole.size();) {
      pollfd slot{descriptor_, POLLOUT, 0};
      const int ready = ::poll(&slot, 1, stuck_ ? 0 : patience_ms);
      if (ready < 0 && errno == EINTR) continue;
      stuck_ = ready <= 0 || (slot.revents & POLLOUT) == 0;
      if (stuck_) return torn_ = torn_ || at > 0, false;
      const ssize_t wrote = ::write(descriptor_, whole.data() + at, std::min<std::size_t>(whole.size() - at, PIPE_BUF));
      if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (wrote < 0) return torn_ = torn_ || at > 0, false;
      at += static_cast<std::size_t>(wrote);
    }
    torn_ = false;
    return true;
  }

  static constexpr int patience_ms = 200;
  int descriptor_;
  Log::Form form_;
  spdlog::details::thread_pool* queue_ = nullptr;
  std::atomic<std::int64_t> lost_ = 0;
  std::int64_t told_ = 0;
  bool stuck_ = false;
  bool torn_ = false;  // the last line has no end
};

/// Signals are for other threads; and a reader of the log that left must not end the server.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

class QueuedLog final : public Log {
 public:
  explicit QueuedLog(const Options& options)
      : options_(options),
        form_(options.form.value_or(::isatty(options.descriptor) == 1 ? Form::text : Form::json)),
        sink_(std::make_shared<PatientSink>(options.descriptor, form_)),
        queue_(std::make_shared<spdlog::details::thread_pool>(std::max<std::size_t>(options.queue, 1), 1, block_signals)),
        logger_(
            std::make_shared<spdlog::async_logger>("continuo", sink_, queue_, spdlog::async_overflow_policy::overrun_oldest)) {
    sink_->watch(queue_.get());
    logger_->set_level(spdlog::level::trace);
    // Lines come complete.
    logger_->set_error_handler([](const std::string&) {});
  }
  ~QueuedLog() override {
    logger_.reset();
    queue_.reset();  // waits for the thread, which never waits long
  }

  bool wants(Level level) const override { return level != Level::off && level >= options_.level; }

  void write(Level level, std::string_view message, Fields fields) override {
    if (!wants(level)) return;
    const bool json = form_ == Form::json;
    std::string line =
        json ? fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"message\":{}", now_text(), name_of(level), quoted(message, true))
             : fmt::format("{} {:7} {}", now_text(), name_of(level), unquoted(message));
    for (const Field& field : fields) {
      if (!options_.prompts && (field.name == "prompt" || field.name == "title")) continue;
      line += json ? fmt::format(",{}:{}", quoted(field.name, true), value_text(field, true))
                   : fmt::format(" {}={}", readable(field.name), value_text(field, false));
    }
    line += json ? "}\n" : "\n";
    logger_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  }

  void access(const Access& access) override {
    const bool quiet =
        access.status < 400 && std::find(quiet_routes.begin(), quiet_routes.end(), access.route) != quiet_routes.end();
    write(quiet ? Level::debug : Level::info, "request",
          {{"id", access.id},
           {"client", access.client},
           {"method", access.method},
           {"route", access.route},
           {"status", access.status},
           {"bytes", access.bytes},
           {"seconds", access.seconds},
           {"cut", access.cut}});
  }

  std::int64_t dropped() const override { return sink_->lost() + static_cast<std::int64_t>(queue_->overrun_counter()); }

 private:
  /// A sentence without the quotes.
  static std::string unquoted(std::string_view message) {
    const std::string text = quoted(message, false);
    return text.substr(1, text.size() - 2);
  }

  Options options_;
  Form form_;
  std::shared_ptr<PatientSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> queue_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace

std::unique_ptr<Log> Log::create(const Options& options) { return std::make_unique<QueuedLog>(options); }

Result<Log::Level> parse_log_level(std::string_view text) {
  const auto found = std::find(level_names.begin(), level_names.end(), text);
  if (found != level_names.end()) return static_cast<Log::Level>(found - level_names.begin());
  return fail(ErrorCode::invalid_argument, "the level of the log is debug, info, warning, error or off, not '{}'", text);
}

Result<std::optional<Log::Form>> parse_log_format(std::string_view text) {
  if (text == "json") return Log::Form::json;
  if (text == "text") return Log::Form::text;
  if (text == "auto") return std::nullopt;
  return fail(ErrorCode::invalid_argument, "the format of the log is json, text or auto, not '{}'", text);
}

}  // namespace continuo::server
