#include "cli/serve_options.h"

#include <algorithm>
#include <cstdlib>

#include "cli/model.h"
#include "cli/numbers.h"
#include "server/hosts.h"
#include "server/log.h"

namespace continuo::cli {

namespace {

using Server = server::ServerOptions;
using Limits = server::Limits;

Result<bool> parse_flag(const Setting& setting) {
  const std::string& text = setting.value;
  if (text.empty() || text == "true" || text == "1" || text == "yes" || text == "on") return true;  // empty: the switch itself
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return fail(ErrorCode::invalid_argument, "{} must be true or false, not '{}'", setting.origin, text);
}

std::vector<std::string> parse_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.emplace_back(word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

/// Reads a setting into the member that its target names.
struct Reader {
  const ServeOption& option;
  const Setting& setting;
  Server& server;

  Status operator()(std::string Server::*member) const { return server.*member = setting.value, Status(); }
  Status operator()(std::vector<std::string> Server::*member) const {
    return server.*member = parse_words(setting.value), Status();
  }
  Status operator()(bool Server::*member) const {
    CONTINUO_TRY(server.*member, parse_flag(setting));
    return {};
  }
  Status operator()(int Server::*member) const { return integer(server.*member); }
  Status operator()(double Server::*member) const { return number(server.*member); }
  Status operator()(int Limits::*member) const { return integer(server.limits.*member); }
  Status operator()(std::size_t Limits::*member) const { return integer(server.limits.*member); }
  Status operator()(double Limits::*member) const { return number(server.limits.*member); }
  Status operator()(std::int64_t Limits::*member) const {
    CONTINUO_TRY(const std::int64_t bytes, parse_size(setting.value, setting.origin));
    const auto value = static_cast<double>(bytes);
    if (value < option.least || value > option.most) {
      return fail(ErrorCode::invalid_argument, "{} must be from {} to {}, not '{}'", setting.origin,
                  human_bytes(static_cast<std::int64_t>(option.least)), human_bytes(static_cast<std::int64_t>(option.most)),
                  setting.value);
    }
    server.limits.*member = bytes;
    return {};
  }

  template <class Integer>
  Status integer(Integer& target) const {
    CONTINUO_TRY(const std::int64_t value, parse_integer(setting.value, setting.origin, static_cast<std::int64_t>(option.least),
                                                         static_cast<std::int64_t>(option.most)));
    target = static_cast<Integer>(value);
    return {};
  }
  Status number(double& target) const {
    CONTINUO_TRY(target, parse_number(setting.value, setting.origin, option.least, option.most));
    return {};
  }
};

Result<std::string> default_data_folder() {
  const char* base = std::getenv("XDG_DATA_HOME");
  if (base != nullptr && base[0] == '/') return std::string(base) + "/continuo/server";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return std::string(home) + "/.local/share/continuo/server";
  return fail(ErrorCode::invalid_argument, "say where takes and jobs are kept: --data DIR (there is no HOME to put them into)");
}

/// What can be told without reading a file or opening a port.
Status check(const Server& options) {
  CONTINUO_CHECK(server::parse_log_level(options.log_level));
  CONTINUO_CHECK(server::parse_log_format(options.log_format));
  CONTINUO_CHECK(server::Hosts::create(options.host, options.host_names, options.origins));
  for (const std::string& host : options.webhook_hosts) {
    if (const auto parsed = server::parse_host(host); !parsed)
      return fail(ErrorCode::invalid_argument, "--webhook-host takes names such as hooks.example.org, not '{}'", host);
  }
  if (!server::is_loopback(options.host) && options.api_key_file.empty() && !options.expose_without_key) {
    return fail(
        ErrorCode::invalid_argument,
        "on {} everybody who reaches this machine could use it: give --api-key-file FILE, or --expose-without-key if that is meant",
        options.host);
  }
  return {};
}

}  // namespace

Result<Server> read_serve_options(const Arguments& arguments, const Context& context) {
  Server options;
  for (const ServeOption& option : serve_options()) {
    const auto setting = machine_setting(arguments, context, option.name);
    if (setting) CONTINUO_CHECK(std::visit(Reader{option, *setting, options}, option.target));
  }
  if (options.data_folder.empty()) {
    CONTINUO_TRY(options.data_folder, default_data_folder());
  }
  CONTINUO_CHECK(check(options));
  return options;
}

}  // namespace continuo::cli
