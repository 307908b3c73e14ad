#include "server/routes/operations.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "weights/convert.h"

namespace continuo::server {
namespace {

using Json = nlohmann::json;

/// Keeps the answer.
class FakeExchange final : public Exchange {
 public:
  const HttpRequest& request() const override { return asked; }
  Task<void> send(HttpResponse response) override {
    answer = std::move(response);
    co_return;
  }
  Task<bool> begin(int, Headers, std::optional<std::int64_t>) override { co_return false; }
  Task<bool> write(std::string) override { co_return false; }
  Task<void> end() override { co_return; }
  void abort() override {}
  bool begun() const override { return false; }
  bool gone() const override { return false; }
  void watch(Wake&) override {}
  bool wants_websocket() const override { return false; }
  Task<std::unique_ptr<WebSocket>> accept_websocket(std::string) override { co_return nullptr; }

  HttpRequest asked;
  HttpResponse answer;
};

class SomeModels final : public Models {
 public:
  const Model* find(std::string_view id) const override {
    for (const Model& model : all) {
      if (model.id == id) return &model;
    }
    return nullptr;
  }
  std::vector<const Model*> list() const override {
    std::vector<const Model*> list;
    for (const Model& model : all) list.push_back(&model);
    return list;
  }
  std::vector<Model> all;
};

std::unique_ptr<Log> quiet_log() {
  Log::Options options;
  options.level = Log::Level::off;
  return Log::create(options);
}

class OperationsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path = std::string(CONTINUO_BINARY_DIR) + "/operations-test-" + std::to_string(::getpid()) + ".gguf";
    weights::ConvertOptions options;
    options.license = "CC-BY-NC-4.0";
    ASSERT_TRUE(weights::convert_huggingface(std::string(CONTINUO_SOURCE_DIR) + "/tests/goldens/tiny-a/model", path, options));
    engine::EngineOptions one_thread;
    one_thread.threads = 1;
    engine_ = std::move(*engine::Engine::create(std::move(*weights::open_model(path)), one_thread));
    std::filesystem::remove(path);
  }
  static void TearDownTestSuite() { engine_.reset(); }

  void SetUp() override {
    models_.all = {{"first", engine_.get()}, {"second", nullptr}};
    options_.version = "1.2.3";
    options_.api_key_file = "/secret/keys.txt";
    options_.data_folder = "/secret/data";
    options_.scenes_file = "/secret/scenes.json";
    routes_.add_to(router_);
  }

  HttpResponse get(const std::string& path) {
    const Router::Found found = router_.find("GET", path);
    EXPECT_NE(found.route, nullptr) << path;
    FakeExchange exchange;
    exchange.asked.path = path;
    exchange.asked.captures = found.captures;
    boost::asio::io_context io(1);
    boost::asio::co_spawn(io, found.route->handler(exchange), [](std::exception_ptr error) { EXPECT_FALSE(error); });
    io.run();
    return exchange.answer;
  }
  Json get_json(const std::string& path, int status = 200) {
    const HttpResponse answer = get(path);
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body);
  }

  static std::unique_ptr<engine::Engine> engine_;
  SomeModels models_;
  ServerOptions options_;
  std::unique_ptr<Metrics> metrics_ = Metrics::create("1.2.3");
  std::unique_ptr<Log> log_ = quiet_log();
  ServerState state_ = ServerState::serving;
  OperationsRoutes routes_{{options_, models_, *metrics_, *log_, [this] { return state_; }}};
  Router router_;
};

std::unique_ptr<engine::Engine> OperationsTest::engine_;

TEST_F(OperationsTest, HealthFollowsTheStateAndNeedsNoKey) {
  for (const char* path : {"/health", "/v1/health"}) {
    EXPECT_TRUE(router_.find("GET", path).route->options.open);
    state_ = ServerState::loading;
    EXPECT_EQ(get_json(path, 503)["status"], "loading");
    state_ = ServerState::serving;
    EXPECT_EQ(get_json(path)["status"], "ok");
    state_ = ServerState::stopping;
    EXPECT_EQ(get_json(path, 503)["status"], "stopping");
  }
  for (const char* path : {"/metrics", "/props", "/v1/models", "/v1/models/first"})
    EXPECT_FALSE(router_.find("GET", path).route->options.open) << path;
}

TEST_F(OperationsTest, MetricsTellOfEveryLoadedEngine) {
  const HttpResponse answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers[0].second, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(answer.body.find("continuo_requests_running{model=\"first\"} 0"), std::string::npos);
  EXPECT_EQ(answer.body.find("\"second\""), std::string::npos);
}

TEST_F(OperationsTest, ModelsAreListedAsOpenAiClientsExpect) {
  const Json list = get_json("/v1/models");
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2U);
  const Json& first = list["data"][0];
  EXPECT_EQ(first["id"], "first");
  EXPECT_EQ(first["object"], "model");
  EXPECT_TRUE(first["created"].is_number_integer());
  EXPECT_TRUE(first["owned_by"].is_string());
  EXPECT_EQ(first["default"], true);
  EXPECT_EQ(first["state"], "ready");
  EXPECT_EQ(first["license"], "CC-BY-NC-4.0");
  EXPECT_EQ(first["commercial_use"], false);
  EXPECT_NE(first["license_note"].get<std::string>().find("commercial"), std::string::npos);
  EXPECT_EQ(first["sample_rate"], engine_->config().codec.sample_rate);
  EXPECT_EQ(first["channels"], 1);
  EXPECT_EQ(first["capabilities"]["melody"], false);
  EXPECT_EQ(first["defaults"]["temperature"], 1.0);
  EXPECT_EQ(list["data"][1]["state"], "loading");
  EXPECT_EQ(list["data"][1]["default"], false);
  EXPECT_EQ(get_json("/v1/models/first"), first);
  EXPECT_EQ(get_json("/v1/models/second")["state"], "loading");
  const Json missing = get_json("/v1/models/none", 404);
  EXPECT_EQ(missing["error"]["type"], "not_found");
  EXPECT_EQ(missing["error"]["code"], "model_not_found");
}

TEST_F(OperationsTest, PropsTellEveryLimitAndNothingSecret) {
  options_.limits.queue = 3;
  const std::string text = get("/props").body;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  const Json props = Json::parse(text);
  EXPECT_EQ(props["version"], "1.2.3");
  EXPECT_EQ(props["default_model"], "first");
  EXPECT_EQ(props["models"], Json({"first", "second"}));
  EXPECT_EQ(props["api_key_required"], true);
  EXPECT_EQ(props["limits"]["queue"], 3);
  EXPECT_EQ(props["limits"]["body_bytes"], 1 << 20);
  EXPECT_EQ(props["limits"].size(), 23U);  // as many as server/options.h has
  EXPECT_EQ(props["sound"]["formats"][0], "wav");
  EXPECT_EQ(props["machine"]["threads"], 1);
}

}  // namespace
}  // namespace continuo::server
