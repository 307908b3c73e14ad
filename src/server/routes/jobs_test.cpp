#include "server/routes/jobs.h"

#include <nlohmann/json.hpp>

#include "server/jobs/test_support.h"

namespace continuo::server {
namespace {

using nlohmann::json;

/// A client at the other end, as far as a handler sees one.
class FakeExchange final : public Exchange {
 public:
  const HttpRequest& request() const override { return asked; }
  Task<void> send(HttpResponse response) override {
    begun_ = true;
    answer = std::move(response);
    ended = true;
    co_return;
  }
  Task<bool> begin(int status, Headers headers, std::optional<std::int64_t>) override {
    begun_ = true;
    answer.status = status;
    answer.headers = std::move(headers);
    co_return !gone_;
  }
  Task<bool> write(std::string bytes) override {
    answer.body += bytes;
    co_return !gone_;
  }
  Task<void> end() override {
    ended = true;
    co_return;
  }
  void abort() override { aborted = true; }
  bool begun() const override { return begun_; }
  bool gone() const override { return gone_; }
  void watch(Wake& wake) override { wakes_.add(wake); }
  bool wants_websocket() const override { return false; }
  Task<std::unique_ptr<WebSocket>> accept_websocket(std::string) override { co_return nullptr; }

  void hang_up() {
    gone_ = true;
    wakes_.set_all();
  }
  json body() const { return json::parse(answer.body); }
  std::string error() const { return body()["error"]["message"]; }
  std::string header(const std::string& name) const {
    for (const auto& [each, value] : answer.headers) {
      if (each == name) return value;
    }
    return "";
  }

  HttpRequest asked;
  HttpResponse answer;
  bool ended = false, aborted = false, returned = false;

 private:
  bool begun_ = false, gone_ = false;
  Wakes wakes_;
};

class RoutesBench : public JobBench {
 public:
  RoutesBench() { limits.batch = 3; }

  void route() {
    JobRoutes routes;
    routes.jobs = &jobs();
    routes.io = io.get_executor();
    routes.limits = limits;
    routes.ping_seconds = ping_seconds;
    routes.context = [this](const HttpRequest& request) {
      RequestContext context;
      context.models = {{"demo", &engine.config()}, {"melody", &melody_engine.config()}};
      context.limits = limits;
      context.draw_seed = [] { return 77; };
      context.client = request.client;
      return context;
    };
    add_job_routes(router, routes);
  }
  std::shared_ptr<FakeExchange> begin(const std::string& method, const std::string& pattern, const std::string& id = "",
                                      const std::string& body = "", const std::function<void(HttpRequest&)>& change = {}) {
    if (router.routes().empty()) route();
    const auto exchange = std::make_shared<FakeExchange>();
    exchange->asked.method = method;
    exchange->asked.captures["id"] = id;
    exchange->asked.body = body;
    exchange->asked.client = "ip:127.0.0.1";
    if (change) change(exchange->asked);
    for (const auto& route : router.routes()) {
      if (route.method != method || route.pattern != pattern) continue;
      boost::asio::co_spawn(io, route.handler(*exchange), [exchange](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
        exchange->returned = true;
      });
    }
    return exchange;
  }
  std::shared_ptr<FakeExchange> ask(const std::string& method, const std::string& pattern, const std::string& id = "",
                                    const std::string& body = "", const std::function<void(HttpRequest&)>& change = {}) {
    const auto exchange = begin(method, pattern, id, body, change);
    EXPECT_TRUE(run_until([&] { return exchange->returned; })) << method << " " << pattern;
    return exchange;
  }

  Router router;
  double ping_seconds = 15.0;
};

TEST(JobRoutes, SubmitLookAndCancel) {
  RoutesBench bench;
  const auto posted = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a tune", "duration": 2})");
  EXPECT_EQ(posted->answer.status, 202) << posted->answer.body;
  const std::string id = posted->body()["id"];
  EXPECT_EQ(posted->header("Location"), "/v1/jobs/" + id);
  EXPECT_EQ(posted->body()["seed"], 77);
  EXPECT_EQ(posted->body()["takes"].size(), 1U);
  EXPECT_EQ(bench.ask("GET", "/v1/jobs/{id}", id)->body()["state"], "queued");
  EXPECT_EQ(bench.ask("GET", "/v1/jobs")->body()["data"][0]["id"], id);
  EXPECT_TRUE(
      bench.ask("GET", "/v1/jobs", "", "", [](HttpRequest& asked) { asked.client = "key:other"; })->body()["data"].empty());
  EXPECT_EQ(bench.ask("DELETE", "/v1/jobs/{id}", id)->body()["state"], "cancelled");
  EXPECT_EQ(bench.ask("DELETE", "/v1/jobs/{id}", id)->answer.status, 200);  // twice is once
}

TEST(JobRoutes, ListIsNewestFirstAndLimited) {
  RoutesBench bench;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})")->body()["id"]);
  const auto list = bench.ask("GET", "/v1/jobs", "", "", [](HttpRequest& asked) { asked.query["limit"] = "2"; })->body();
  ASSERT_EQ(list["data"].size(), 2U);
  EXPECT_EQ(list["data"][0]["id"], ids[2]);
  EXPECT_EQ(list["data"][1]["id"], ids[1]);
  for (const char* limit : {"0", "-1", "1001", "x", "", "1x"}) {
    const auto bad = bench.ask("GET", "/v1/jobs", "", "", [&](HttpRequest& asked) { asked.query["limit"] = limit; });
    EXPECT_EQ(bad->answer.status, 422) << limit;
  }
}

TEST(JobRoutes, SayWhatIsWrong) {
  RoutesBench bench;
  const auto form =
      bench.ask("POST", "/v1/jobs", "", "{}", [](HttpRequest& asked) { asked.headers["content-type"] = "text/plain"; });
  EXPECT_EQ(form->answer.status, 415);
  EXPECT_EQ(bench.ask("POST", "/v1/jobs", "", "{")->answer.status, 400);
  EXPECT_EQ(bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "tempo": 1})")->body()["error"]["param"], "tempo");
  EXPECT_EQ(bench.ask("GET", "/v1/jobs/{id}", "job-x")->answer.status, 404);
  EXPECT_EQ(bench.ask("GET", "/v1/jobs/{id}/events", "job-x")->answer.status, 404);
  EXPECT_EQ(bench.ask("DELETE", "/v1/jobs/{id}", "job-x")->answer.status, 404);
  const std::string id = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})")->body()["id"];
  const auto events =
      bench.ask("GET", "/v1/jobs/{id}/events", id, "", [](HttpRequest& asked) { asked.headers["last-event-id"] = "x"; });
  EXPECT_EQ(events->answer.status, 422);
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(bench.jobs().find(id).second));
  bench.now += 3600.0;
  EXPECT_EQ(bench.ask("GET", "/v1/jobs/{id}", id)->answer.status, 410);
  bench.engine.refusal = Error{ErrorCode::out_of_memory, "too large"};
  const auto large = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})");
  EXPECT_EQ(large->answer.status, 422);
  EXPECT_EQ(large->body()["error"]["code"], "does_not_fit");
}

TEST(JobRoutes, AFullQueueSaysWhenToComeBack) {
  RoutesBench bench;
  bench.limits.queue = 1;
  bench.engine.on_submit = [](FakePiece& piece) { piece.queue(0, 7.2); };
  EXPECT_EQ(bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})")->answer.status, 202);
  const auto full = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})");
  EXPECT_EQ(full->answer.status, 429);
  EXPECT_EQ(full->header("Retry-After"), "8");
  EXPECT_EQ(full->body()["error"]["code"], "queue_full");
  EXPECT_EQ(full->body()["error"]["type"], "rate_limit_error");
  bench.run(bench.jobs().drain(0.0));
  EXPECT_EQ(bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 1})")->answer.status, 503);
}

TEST(JobRoutes, EventsArriveAsTheyHappenAndEndWithTheJob) {
  RoutesBench bench;
  const std::string id = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 2})")->body()["id"];
  const auto stream = bench.begin("GET", "/v1/jobs/{id}/events", id);
  ASSERT_TRUE(bench.run_until([&] { return stream->answer.body.find("queued") != std::string::npos; }));
  EXPECT_EQ(stream->header("Content-Type"), "text/event-stream");
  EXPECT_FALSE(stream->returned);
  bench.engine.piece(0).start();
  ASSERT_TRUE(bench.run_until([&] { return stream->answer.body.find("started") != std::string::npos; }));
  bench.engine.piece(0).sound(2.0);
  bench.engine.piece(0).finish();
  ASSERT_TRUE(bench.run_until([&] { return stream->returned; }));
  EXPECT_TRUE(stream->ended);
  EXPECT_TRUE(
      stream->answer.body.starts_with("id: 1\nevent: queued\ndata: {\"place\":0,\"eta_seconds\":0.0}\n\nid: 2\nevent: started\n"))
      << stream->answer.body;
  EXPECT_NE(stream->answer.body.find("id: 4\nevent: finished\ndata: {\"seconds\":2.0}\n\n"), std::string::npos)
      << stream->answer.body;

  const auto resumed =
      bench.ask("GET", "/v1/jobs/{id}/events", id, "", [](HttpRequest& asked) { asked.headers["last-event-id"] = "2"; });
  EXPECT_TRUE(resumed->answer.body.starts_with("id: 3\nevent: take\n"));
  const auto by_query =
      bench.ask("GET", "/v1/jobs/{id}/events", id, "", [](HttpRequest& asked) { asked.query["last_event_id"] = "3"; });
  EXPECT_TRUE(by_query->answer.body.starts_with("id: 4\nevent: finished\n"));
  const auto nothing =
      bench.ask("GET", "/v1/jobs/{id}/events", id, "", [](HttpRequest& asked) { asked.headers["last-event-id"] = "4"; });
  EXPECT_EQ(nothing->answer.status, 204);
}

TEST(JobRoutes, EventsArePingedAndEndWithTheClient) {
  RoutesBench bench;
  bench.ping_seconds = 0.01;
  const std::string id = bench.ask("POST", "/v1/jobs", "", R"({"prompt": "a", "duration": 2})")->body()["id"];
  const auto stream = bench.begin("GET", "/v1/jobs/{id}/events", id);
  ASSERT_TRUE(bench.run_until([&] { return stream->answer.body.find(": ping\n\n") != std::string::npos; }));
  stream->hang_up();
  ASSERT_TRUE(bench.run_until([&] { return stream->returned; }));
  EXPECT_EQ(bench.jobs().find(id).second->state(), JobState::queued);  // listening is not owning
}

TEST(BatchRoutes, AreOneNameForSeveralJobs) {
  RoutesBench bench;
  const auto posted = bench.ask("POST", "/v1/batches", "", R"({"prompts": ["a", "b"], "duration": 1})");
  ASSERT_EQ(posted->answer.status, 202) << posted->answer.body;
  const std::string id = posted->body()["id"];
  EXPECT_EQ(posted->header("Location"), "/v1/batches/" + id);
  ASSERT_EQ(posted->body()["jobs"].size(), 2U);
  EXPECT_EQ(posted->body()["jobs"][0]["prompt"], "a");
  EXPECT_EQ(posted->body()["jobs"][0]["batch"], id);
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(bench.jobs().find(posted->body()["jobs"][0]["id"]).second));
  const auto cancelled = bench.ask("DELETE", "/v1/batches/{id}", id);
  EXPECT_EQ(cancelled->body()["jobs"][0]["state"], "finished");
  EXPECT_EQ(cancelled->body()["jobs"][1]["state"], "cancelled");
  EXPECT_EQ(bench.ask("GET", "/v1/batches/{id}", id)->body()["jobs"][1]["prompt"], "b");
  EXPECT_EQ(bench.ask("GET", "/v1/batches/{id}", "batch-x")->answer.status, 404);
  EXPECT_EQ(bench.ask("GET", "/v1/batches/{id}", "")->answer.status, 404);
  EXPECT_EQ(bench.ask("POST", "/v1/batches", "", R"({"prompts": []})")->answer.status, 422);
  bench.now += 3600.0;
  EXPECT_EQ(bench.ask("GET", "/v1/batches/{id}", id)->answer.status, 410);
}

}  // namespace
}  // namespace continuo::server
