#include "cli/serve_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "cli/arguments.h"
#include "cli/model.h"
#include "cli/numbers.h"

namespace continuo::cli {
namespace {

using Server = server::ServerOptions;

class ServeOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("continuo_serve_options_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "continuo");
    variables_["XDG_CONFIG_HOME"] = folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(folder_ / "continuo" / "config.toml") << text; }

  Result<Server> read(const std::vector<std::string>& words = {}) {
    CONTINUO_TRY(const Parsed parsed, parse_arguments(serve_command(), words));
    Context context;
    CONTINUO_TRY(context.settings, Settings::load([this](const char* name) -> const char* {
                   const auto found = variables_.find(name);
                   return found == variables_.end() ? nullptr : found->second.c_str();
                 }));
    return read_serve_options(parsed.arguments, context);
  }
  std::string refusal(const std::vector<std::string>& words) {
    const auto options = read(words);
    if (options) return "taken";
    EXPECT_EQ(options.error().code, ErrorCode::invalid_argument) << options.error().message;
    return options.error().message;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> variables_;
};

/// A default as the help would say it.
struct DefaultText {
  const Server& server;
  std::string operator()(std::string Server::*member) const { return server.*member; }
  std::string operator()(std::vector<std::string> Server::*) const { return "none"; }
  std::string operator()(bool Server::*) const { return ""; }
  std::string operator()(int Server::*member) const { return std::to_string(server.*member); }
  std::string operator()(double Server::*member) const { return fmt::format("{:g}", server.*member); }
  std::string operator()(int server::Limits::*member) const { return std::to_string(server.limits.*member); }
  std::string operator()(double server::Limits::*member) const { return fmt::format("{:g}", server.limits.*member); }
  std::string operator()(std::size_t server::Limits::*member) const { return std::to_string(server.limits.*member); }
  std::string operator()(std::int64_t server::Limits::*member) const { return std::to_string(server.limits.*member); }
};

TEST_F(ServeOptionsTest, TheHelpTellsTheTrueDefaults) {
  const Server server;
  std::set<std::string> without;
  for (const ServeOption& option : serve_options()) {
    const std::string help(option.help);
    std::smatch found;
    if (!std::regex_search(help, found, std::regex(R"(\(default:? ([^):]+))"))) {
      without.emplace(option.name);
      continue;
    }
    const std::string truth = std::visit(DefaultText{server}, option.target);
    std::string said = found[1];
    if (option.value == "SIZE") said = std::to_string(*parse_size(said, "help"));
    if (option.name == "data" || option.name == "scenes") continue;
    EXPECT_EQ(said, truth) << option.name;
  }
  EXPECT_EQ(without, (std::set<std::string>{"api-key-file", "expose-without-key", "host-name", "log-prompts"}));
}

TEST_F(ServeOptionsTest, EveryMemberHasAnOptionAndDefaultsAreAllowed) {
  // Sizes tell when a member is added to server/options.h and forgotten here (or in /props).
  EXPECT_EQ(serve_options().size(), 13U + 23U);
  std::set<std::string_view> names;
  for (const ServeOption& option : serve_options()) EXPECT_TRUE(names.insert(option.name).second) << option.name;
  const auto options = read();
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->host, "127.0.0.1");
  EXPECT_EQ(options->port, 8080);
  EXPECT_FALSE(options->data_folder.empty());
  EXPECT_EQ(options->limits.upload_bytes, 64 << 20);
  for (const ServeOption& option : serve_options()) {  // what is the default can be said
    const std::string value = std::visit(DefaultText{Server()}, option.target);
    if (option.value.empty() || value.empty() || value == "none") continue;
    const auto said = read({fmt::format("--{}={}", option.name, value)});
    EXPECT_TRUE(said.has_value()) << said.error().message;
  }
}

TEST_F(ServeOptionsTest, TheCommandLineWinsThenTheEnvironmentThenTheFile) {
  write(
      "port = 1\nmax_queue = 1\nheader_timeout = 1.5\nlog_prompts = true\nmax_body = \"2M\"\norigin = [\"https://a.example\", \"https://b.example\"]\n");
  auto options = read();
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->port, 1);
  EXPECT_EQ(options->limits.queue, 1);
  EXPECT_EQ(options->limits.header_seconds, 1.5);
  EXPECT_TRUE(options->log_prompts);
  EXPECT_EQ(options->limits.body_bytes, 2 << 20);
  EXPECT_EQ(options->origins, (std::vector<std::string>{"https://a.example", "https://b.example"}));
  variables_["CONTINUO_MAX_QUEUE"] = "2";
  variables_["CONTINUO_LOG_PROMPTS"] = "false";
  variables_["CONTINUO_ORIGIN"] = "https://c.example";
  options = read();
  EXPECT_EQ(options->port, 1);
  EXPECT_EQ(options->limits.queue, 2);
  EXPECT_FALSE(options->log_prompts);
  EXPECT_EQ(options->origins, (std::vector<std::string>{"https://c.example"}));
  options = read({"--max-queue", "3", "--log-prompts", "--port=0", "--host-name", "a.example, b.example"});
  EXPECT_EQ(options->port, 0);
  EXPECT_EQ(options->limits.queue, 3);
  EXPECT_TRUE(options->log_prompts);
  EXPECT_EQ(options->host_names, (std::vector<std::string>{"a.example", "b.example"}));
}

TEST_F(ServeOptionsTest, WrongValuesNameTheirPlace) {
  EXPECT_NE(refusal({"--port", "65536"}).find("--port must be a whole number from 0 to 65535"), std::string::npos);
  EXPECT_NE(refusal({"--port", "1e3"}).find("--port"), std::string::npos);
  EXPECT_NE(refusal({"--grace", "10s"}).find("--grace must be a plain number"), std::string::npos);
  EXPECT_NE(refusal({"--max-body", "much"}).find("--max-body must be a size"), std::string::npos);
  EXPECT_NE(refusal({"--max-body", "2"}).find("--max-body must be from 1.02 kB"), std::string::npos);
  EXPECT_NE(refusal({"--max-seconds", "601"}).find("from 1 to 600"), std::string::npos);
  EXPECT_NE(refusal({"--log-level", "loud"}).find("debug, info"), std::string::npos);
  EXPECT_NE(refusal({"--log-format", "xml"}).find("json, text"), std::string::npos);
  EXPECT_NE(refusal({"--origin", "*"}).find("list each one"), std::string::npos);
  EXPECT_NE(refusal({"--host-name", "https://a.example"}).find("not a host name"), std::string::npos);
  EXPECT_NE(refusal({"--webhook-host", "https://a.example"}).find("--webhook-host"), std::string::npos);
  EXPECT_NE(refusal({"--host", "a b"}).find("'a b'"), std::string::npos);
  variables_["CONTINUO_LOG_PROMPTS"] = "perhaps";
  EXPECT_NE(refusal({}).find("CONTINUO_LOG_PROMPTS must be true or false"), std::string::npos);
  variables_.erase("CONTINUO_LOG_PROMPTS");
  write("\nmax_queue = -1\n");
  EXPECT_NE(refusal({}).find("config.toml, line 2 must be a whole number from 0"), std::string::npos);
  for (const char* text :
       {"log_prompts = 1.5\n", "max_queue = 1.5\n", "grace = true\n", "origin = [1]\n", "port = [\"1\"]\n", "max-queue = 1\n"}) {
    write(text);
    const auto options = read();
    ASSERT_FALSE(options.has_value()) << text;
    EXPECT_NE(options.error().message.find("line 1"), std::string::npos) << options.error().message;
  }
}

TEST_F(ServeOptionsTest, AnotherAddressNeedsAKeyUnlessForced) {
  for (const char* host : {"0.0.0.0", "::", "192.168.1.5", "studio.lan"}) {
    EXPECT_NE(refusal({"--host", host}).find("--api-key-file"), std::string::npos) << host;
    EXPECT_TRUE(read({"--host", host, "--api-key-file", "keys"}).has_value()) << host;
    EXPECT_TRUE(read({"--host", host, "--expose-without-key"}).has_value()) << host;
  }
  for (const char* host : {"127.0.0.1", "localhost", "::1"}) EXPECT_TRUE(read({"--host", host}).has_value()) << host;
}

}  // namespace
}  // namespace continuo::cli
