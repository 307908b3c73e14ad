// The routes of the library, as a client sees them.
#include "server/routes/takes.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "library/takes_test.h"
#include "server/http/fake_exchange_test.h"

namespace continuo::server {
namespace {

using library::a_take;
using library::message_of;
using nlohmann::json;

struct Answer {
  int status = 0;
  std::string body;
  Headers headers;

  json parsed() const { return json::parse(body); }
  /// "422 rating": the status and who is to blame.
  std::string blame() const {
    const json error = parsed()["error"];
    return std::to_string(status) + " " + (error["param"].is_null() ? "" : error["param"].get<std::string>());
  }
  std::string ids() const {
    std::string text;
    const json answer = parsed();
    for (const json& take : answer["data"]) text += (text.empty() ? "" : " ") + take["id"].get<std::string>();
    return text;
  }
};

class TakesRoutesTest : public library::TakesTest {
 protected:
  void SetUp() override {
    TakesTest::SetUp();
    auto made = Renditions::create(folder / "renditions", 1 << 26, pool);
    ASSERT_TRUE(made) << message_of(made);
    renditions = std::move(*made);
    retention = std::make_unique<library::Retention>(database);
    const auto fingerprint = [](const std::string& prompt) -> Result<std::vector<float>> {
      if (prompt == "planted") return fail(ErrorCode::invalid_argument, "planted");
      std::vector<float> values(64, 0.1F);
      for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
        values[(static_cast<unsigned char>(prompt[i]) * 31U + static_cast<unsigned char>(prompt[i + 1])) % 64] += 1.0F;
      }
      return values;
    };
    prompts = std::make_unique<Prompts>(Prompts::Options{folder / "index", "letters"}, fingerprint, *takes, pool);
    routes = std::make_unique<TakesRoutes>(TakesRoutes::Parts{*takes, *retention, *prompts, *renditions, table, pool});
    routes->add_to(router);
  }
  void TearDown() override {
    prompts.reset();
    renditions.reset();
  }
  void start_prompts() {
    prompts->start();
    for (int i = 0; i < 20'000 && !prompts->ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(prompts->ready()) << prompts->warning();
  }

  /// path: with its query, written plainly.
  Answer ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    boost::asio::io_context io(1);
    test::FakeExchange exchange(io, method);
    const std::size_t mark = target.find('?');
    exchange.asked.path = target.substr(0, mark);
    exchange.asked.body = body;
    std::string query = mark == std::string::npos ? "" : target.substr(mark + 1);
    while (!query.empty()) {
      const std::string pair = query.substr(0, query.find('&'));
      query.erase(0, pair.size() + 1);
      exchange.asked.query[pair.substr(0, pair.find('='))] =
          pair.find('=') == std::string::npos ? "" : pair.substr(pair.find('=') + 1);
    }
    const Router::Found route = router.find(method, exchange.asked.path);
    if (route.route == nullptr) return {404, R"({"error": {"param": "no route"}})", {}};
    exchange.asked.captures = route.captures;
    test::run_to_end(io, route.route->handler(exchange));
    EXPECT_TRUE(exchange.ended || exchange.aborted);
    return {exchange.status, exchange.body, exchange.headers};
  }
  /// A take of a second of a rising line.
  void add_with_sound(const std::string& id) {
    library::Take take = a_take(id, "soft piano");
    std::filesystem::create_directories(folder / "data/takes");
    auto recording = Recording::create(takes->absolute(take), {1, 32'000, 32'000});
    ASSERT_TRUE(recording) << message_of(recording);
    std::vector<float> samples(32'000);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i) / 64'000.0F;
    ASSERT_TRUE((*recording)->append(samples));
    ASSERT_TRUE((*recording)->finish());
    add(take);
  }

  Pool pool{2};
  PeakTable table;
  std::unique_ptr<Renditions> renditions;
  std::unique_ptr<library::Retention> retention;
  std::unique_ptr<Prompts> prompts;
  std::unique_ptr<TakesRoutes> routes;
  Router router;
};

TEST_F(TakesRoutesTest, ATakeIsTold) {
  library::Take take = a_take("t1", "soft piano");
  take.seed = 18'446'744'073'709'551'615ULL;
  take.settings = R"({"prompt":"soft piano","seed":18446744073709551615})";
  add(take);
  const Answer answer = ask("GET", "/v1/takes/t1");
  EXPECT_EQ(answer.status, 200);
  const json told = answer.parsed();
  EXPECT_EQ(told["id"], "t1");
  EXPECT_EQ(told["object"], "take");
  EXPECT_EQ(told["job"], "job-t1");
  EXPECT_EQ(told["seed"], 18'446'744'073'709'551'615ULL);
  EXPECT_EQ(told["duration"], 10.0);
  EXPECT_EQ(told["created"], 1000.0);
  EXPECT_TRUE(told["rating"].is_null());
  EXPECT_TRUE(told["deleted"].is_null());
  EXPECT_EQ(told["audio"]["mp3"], "/v1/takes/t1/audio.mp3");
  EXPECT_FALSE(answer.body.find(take.sound) != std::string::npos);  // where it lies is nobody's business
  const Answer settings = ask("GET", "/v1/takes/t1/settings");
  EXPECT_EQ(settings.status, 200);
  EXPECT_EQ(settings.body, take.settings);
}

TEST_F(TakesRoutesTest, OnesThatAreNotThere) {
  for (const char* method : {"GET", "DELETE"}) EXPECT_EQ(ask(method, "/v1/takes/none").blame(), "404 ");
  EXPECT_EQ(ask("PATCH", "/v1/takes/none", R"({"rating": 1})").status, 404);
  EXPECT_EQ(ask("POST", "/v1/takes/none/restore").status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/takes/none?forever=true").status, 404);
  for (const char* part : {"settings", "audio.wav", "peaks"}) {
    const Answer answer = ask("GET", std::string("/v1/takes/none/") + part);
    EXPECT_EQ(answer.status, 404) << part;
    EXPECT_EQ(answer.parsed()["error"]["code"], "not_found");
  }
}

TEST_F(TakesRoutesTest, TitleAndRatingAreChanged) {
  add(a_take("t1"));
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"title": "Rain", "rating": 5})").parsed()["rating"], 5);
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"rating": 0})").parsed()["title"], "Rain");
  EXPECT_EQ(ask("GET", "/v1/takes/t1").parsed()["rating"], 0);
  EXPECT_TRUE(ask("PATCH", "/v1/takes/t1", R"({"rating": null})").parsed()["rating"].is_null());
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"rating": 6})").blame(), "422 rating");
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"rating": "5"})").blame(), "422 rating");
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"stars": 5})").blame(), "422 stars");
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"title": 5})").blame(), "422 title");
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"title": "a\nb"})").blame(), "422 title");
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({})").status, 422);
  EXPECT_EQ(ask("PATCH", "/v1/takes/t1", R"({"rating")").status, 400);
}

TEST_F(TakesRoutesTest, ListsSearchesAndPages) {
  for (int i = 0; i < 5; ++i) {
    library::Take take = a_take(std::string(1, static_cast<char>('a' + i)), i % 2 == 0 ? "soft piano" : "loud drums", i);
    if (i < 3) take.rating = i;
    add(take);
  }
  EXPECT_EQ(ask("GET", "/v1/takes").ids(), "e d c b a");
  EXPECT_EQ(ask("GET", "/v1/takes?q=piano").ids(), "e c a");
  EXPECT_EQ(ask("GET", "/v1/takes?q=5").ids(), "");  // a word, not a number
  EXPECT_EQ(ask("GET", "/v1/takes?q=dru&rating=1").ids(), "b");
  EXPECT_EQ(ask("GET", "/v1/takes?rating=none").ids(), "e d");
  EXPECT_EQ(ask("GET", "/v1/takes?job=job-b").ids(), "b");
  EXPECT_EQ(ask("GET", "/v1/takes?deleted=true").ids(), "");
  const Answer first = ask("GET", "/v1/takes?limit=2");
  EXPECT_EQ(first.ids(), "e d");
  EXPECT_TRUE(first.parsed()["has_more"]);
  const Answer second = ask("GET", "/v1/takes?limit=3&cursor=" + first.parsed()["next"].get<std::string>());
  EXPECT_EQ(second.ids(), "c b a");
  EXPECT_FALSE(second.parsed()["has_more"]);
  EXPECT_TRUE(second.parsed()["next"].is_null());

  EXPECT_EQ(ask("GET", "/v1/takes?limit=0").blame(), "422 limit");
  EXPECT_EQ(ask("GET", "/v1/takes?rating=6").blame(), "422 rating");
  EXPECT_EQ(ask("GET", "/v1/takes?deleted=maybe").blame(), "422 deleted");
  EXPECT_EQ(ask("GET", "/v1/takes?cursor=x").status, 422);
  EXPECT_EQ(ask("GET", "/v1/takes?words=x").blame(), "422 words");
  EXPECT_EQ(ask("GET", "/v1/takes?q=\xFF").status, 422);
  EXPECT_EQ(ask("GET", "/v1/takes?threshold=0.5").blame(), "422 threshold");
  EXPECT_EQ(ask("GET", "/v1/takes?q=\"'--*").status, 200);
}

TEST_F(TakesRoutesTest, BySimilarity) {
  add(a_take("a", "soft piano in the rain", 1));
  add(a_take("b", "hard rock with loud drums", 2));
  add(a_take("c", "soft piano in the rain", 3));
  EXPECT_EQ(ask("GET", "/v1/takes?similar=piano").status, 503);
  EXPECT_EQ(ask("GET", "/v1/prompts/similar?prompt=piano").status, 503);
  start_prompts();
  const Answer near = ask("GET", "/v1/takes?similar=soft piano in the rains");
  EXPECT_EQ(near.ids(), "c a");
  EXPECT_GT(near.parsed()["data"][0]["similarity"].get<double>(), 0.6);
  EXPECT_EQ(ask("GET", "/v1/takes?similar=soft piano in the rain&threshold=-1").ids(), "c a b");
  EXPECT_EQ(ask("GET", "/v1/takes?similar=soft piano in the rain&threshold=-1&limit=1").ids(), "c");
  EXPECT_EQ(ask("GET", "/v1/takes?similar=soft piano in the rain&threshold=-1&q=drums").ids(), "b");
  EXPECT_EQ(ask("GET", "/v1/takes?similar=x&cursor=y").blame(), "422 cursor");
  EXPECT_EQ(ask("GET", "/v1/takes?similar=planted").blame(), "422 similar");

  const json found = ask("GET", "/v1/prompts/similar?prompt=soft piano in the rain&limit=1&threshold=0.5").parsed();
  EXPECT_EQ(found["prompt"], "soft piano in the rain");
  EXPECT_EQ(found["threshold"], 0.5);
  ASSERT_EQ(found["similar"].size(), 1U);
  EXPECT_EQ(found["similar"][0]["prompt"], "soft piano in the rain");
  EXPECT_EQ(found["similar"][0]["takes"], json({"c", "a"}));
  EXPECT_EQ(ask("POST", "/v1/prompts/similar", R"({"prompt": "soft piano in the rain", "limit": 1, "threshold": 0.5})").parsed(),
            found);
  EXPECT_EQ(ask("GET", "/v1/prompts/similar").blame(), "422 prompt");
  EXPECT_EQ(ask("GET", "/v1/prompts/similar?prompt=x&limit=0").blame(), "422 limit");
  EXPECT_EQ(ask("POST", "/v1/prompts/similar", R"({"prompt": "x", "threshold": 2})").blame(), "422 threshold");
}

TEST_F(TakesRoutesTest, DeletingCanBeUndone) {
  add_with_sound("a");
  const Answer deleted = ask("DELETE", "/v1/takes/a");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_TRUE(deleted.parsed()["deleted"].is_number());
  EXPECT_EQ(ask("GET", "/v1/takes").ids(), "");
  EXPECT_EQ(ask("GET", "/v1/takes?deleted=1").ids(), "a");
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.wav").status, 200);  // it can be heard before it is taken back
  EXPECT_TRUE(ask("POST", "/v1/takes/a/restore").parsed()["deleted"].is_null());
  EXPECT_EQ(ask("GET", "/v1/takes").ids(), "a");
  EXPECT_EQ(ask("DELETE", "/v1/takes/a?forever=maybe").blame(), "422 forever");
  EXPECT_EQ(ask("DELETE", "/v1/takes/a?for=true").blame(), "422 for");
  const Answer gone = ask("DELETE", "/v1/takes/a?forever=true");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.parsed()["bytes"], 100);
  EXPECT_FALSE(has_sound(a_take("a")));
  EXPECT_EQ(ask("POST", "/v1/takes/a/restore").status, 404);
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.wav").status, 404);
}

TEST_F(TakesRoutesTest, TheSoundInFormatsAndParts) {
  add_with_sound("a");
  const Answer wav = ask("GET", "/v1/takes/a/audio.wav");
  ASSERT_EQ(wav.status, 200);
  EXPECT_EQ(wav.body.substr(0, 4), "RIFF");
  EXPECT_GT(wav.body.size(), 64'000U);
  EXPECT_LT(wav.body.size(), 65'000U);
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.flac?rate=48000").body.substr(0, 4), "fLaC");
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.wav?take=1").blame(), "422 take");
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.wav?bits=12").blame(), "422 bits");
  EXPECT_EQ(ask("GET", "/v1/takes/a/audio.exe").status, 404);

  const json peaks = ask("GET", "/v1/takes/a/peaks?bins=10").parsed();
  EXPECT_EQ(peaks["bins"], 10);
  EXPECT_NEAR(peaks["max"][9].get<double>(), 0.5, 0.01);
  EXPECT_EQ(ask("GET", "/v1/takes/a/peaks?bins=0").blame(), "422 bins");

  std::filesystem::remove(takes->absolute(a_take("a")));
  EXPECT_EQ(ask("GET", "/v1/takes/a/peaks").status, 404);
}

TEST_F(TakesRoutesTest, RetentionIsListedAndThenRun) {
  for (const char* id : {"old", "loved"}) {
    library::Take take = a_take(id, "soft piano", 1000.0);
    if (take.id == "loved") take.rating = 5;
    write_sound(take);
    add(take);
  }
  const json before = ask("GET", "/v1/retention").parsed();
  EXPECT_TRUE(before["days"].is_null());
  EXPECT_EQ(before["trash_days"], 30.0);
  EXPECT_EQ(before["schedule"], false);
  EXPECT_EQ(before["used"]["bytes"], 200);
  EXPECT_TRUE(ask("GET", "/v1/retention/plan").parsed()["takes"].empty());

  EXPECT_EQ(ask("PUT", "/v1/retention", R"({"days": 0})").blame(), "422 days");
  EXPECT_EQ(ask("PUT", "/v1/retention", R"({"bytes": -1})").blame(), "422 bytes");
  EXPECT_EQ(ask("PUT", "/v1/retention", R"({"hours": 1})").blame(), "422 hours");
  EXPECT_EQ(ask("PUT", "/v1/retention", R"([])").status / 100, 4);
  EXPECT_EQ(ask("PUT", "/v1/retention", R"({"days": 7, "bytes": null, "schedule": true})").parsed()["schedule"], true);
  EXPECT_EQ(ask("GET", "/v1/retention").parsed()["days"], 7.0);

  const json plan = ask("GET", "/v1/retention/plan").parsed();
  ASSERT_EQ(plan["takes"].size(), 1U);
  EXPECT_EQ(plan["takes"][0]["id"], "old");
  EXPECT_EQ(plan["takes"][0]["reason"], "age");
  EXPECT_EQ(plan["bytes"], 100);
  EXPECT_EQ(plan["bytes_after"], 100);
  EXPECT_EQ(ask("GET", "/v1/takes").ids(), "loved old");  // nothing has gone

  EXPECT_EQ(ask("POST", "/v1/retention/run", R"({})").blame(), "422 plan");
  const Answer wrong = ask("POST", "/v1/retention/run", R"({"plan": "1-1-00"})");
  EXPECT_EQ(wrong.blame(), "409 plan");
  EXPECT_EQ(wrong.parsed()["error"]["code"], "plan_changed");
  const json run{{"plan", plan["plan"]}};
  const Answer done = ask("POST", "/v1/retention/run", run.dump());
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.parsed()["removed"], json({"old"}));
  EXPECT_EQ(done.parsed()["bytes"], 100);
  EXPECT_EQ(ask("GET", "/v1/takes").ids(), "loved");
  EXPECT_EQ(ask("POST", "/v1/retention/run", run.dump()).status, 409);
}

}  // namespace
}  // namespace continuo::server
