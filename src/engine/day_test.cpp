// A day in the life of an engine, in short: requests of every kind arrive at random, readers stall, change their minds and leave.
// At every idle moment all pages are free; every request ends exactly once; memory does not grow.
//
// CONTINUO_DAY_REQUESTS (100), CONTINUO_DAY_SEED, CONTINUO_DAY_MODEL (a model file): `make day` runs a whole one.
#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/memory.h"
#include "engine/test_support.h"

namespace continuo::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int drivers = 2;             // threads that submit and read
constexpr int requests_a_round = 50;   // then an idle moment
constexpr std::size_t most_live = 12;  // of a driver

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// What the day saw, of one driver.
struct Tally {
  int submitted = 0, finished = 0, cancelled = 0, damaged = 0, refused = 0, changes = 0, refused_changes = 0, stalls = 0;
  std::vector<double> waits;  // seconds until a request was started
  std::vector<std::string> wrong;
};

class Driver {
 public:
  Driver(Engine& engine, Engine& damaged, std::uint64_t seed) : engine_(engine), damaged_(damaged), random_(seed) {}

  /// So many requests from the first to the end of the last.
  void round(int requests) {
    while (requests > 0 || !live_.empty()) {
      if (requests > 0 && live_.size() < most_live && chance(0.4)) {
        --requests;
        arrive();
      }
      for (Live& live : live_) attend(live);
      std::erase_if(live_, [](const Live& live) { return live.over; });
      std::this_thread::sleep_for(std::chrono::microseconds(below(1500)));
    }
  }
  Tally tally;

 private:
  struct Live {
    std::shared_ptr<Job> job;
    Request request;
    bool damaged = false;
    Told told;
    Clock::time_point since = Clock::now(), stalled_until{};
    std::optional<Clock::time_point> cancel_at;
    bool cancelled = false, waited = false, over = false;
  };

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<double>()(random_) < p; }
  std::chrono::milliseconds soon(int most) { return std::chrono::milliseconds(below(most)); }
  std::string prompt() {
    if (chance(0.1)) return "";
    if (chance(0.01)) return std::string(1500, 'x') + std::to_string(below(3));  // a huge conditioning
    return "a tune of the kind " + std::to_string(below(40));
  }

  void arrive() {
    Live live;
    Request& request = live.request;
    request = sampled(prompt(), 0.1 + 0.02 * below(145), static_cast<std::uint64_t>(below(1000)));
    request.chunk_seconds = 0.02 * (1 + below(25));
    if (chance(0.3)) request.buffer_seconds = 0.05 + 0.01 * below(50);
    if (chance(0.2)) request.service = Service::realtime;
    if (chance(0.1)) {
      for (int i = 0; i < 2 + below(4); ++i) {
        request.segments.push_back({prompt(), 0.1 + 0.02 * below(100), chance(0.5) ? Join::crossfaded : Join::continued});
      }
      request.crossfade_seconds = 0.02 + 0.02 * below(20);
    } else if (chance(0.12)) {
      request.endless = true;
      live.cancel_at = Clock::now() + soon(400);
    }
    if (chance(0.15)) live.cancel_at = Clock::now() + soon(200);
    if (chance(0.03)) {
      Request wrong = request;
      wrong.temperature = -1.0F;
      if (engine_.submit(wrong)) tally.wrong.emplace_back("a request without a possible temperature was accepted");
      ++tally.refused;
    }
    live.damaged = chance(0.02);
    auto job = (live.damaged ? damaged_ : engine_).submit(request);
    if (!job) {
      tally.wrong.push_back("refused: " + job.error().message);
      return;
    }
    ++tally.submitted;
    live.job = std::move(*job);
    live_.push_back(std::move(live));
  }

  void attend(Live& live) {
    if (live.cancel_at && !live.cancelled && Clock::now() >= *live.cancel_at) {
      live.cancelled = true;
      live.job->cancel();
      if (chance(0.3)) {  // and does not wait for the answer
        ++tally.cancelled;
        live.over = true;
        return;
      }
    }
    if (chance(0.02)) change(live);
    if (Clock::now() < live.stalled_until) return;
    if (live.request.buffer_seconds > 0.0 && chance(0.01)) {
      ++tally.stalls;
      live.stalled_until = Clock::now() + soon(300);
      return;
    }
    for (int i = 0; i < 4; ++i) {
      auto event = live.job->poll();
      if (!event) break;
      live.told.add(std::move(*event));
    }
    if (live.told.started > 0 && !std::exchange(live.waited, true)) {
      tally.waits.push_back(std::chrono::duration<double>(Clock::now() - live.since).count());
    }
    if (live.told.finished + live.told.failed > 0) close(live);
  }

  void change(Live& live) {
    Change change;
    if (chance(0.5)) change.prompt = prompt();
    if (chance(0.3)) change.temperature = 0.1F * static_cast<float>(below(15));
    if (chance(0.3)) change.guidance = static_cast<float>(below(5));
    const bool wrong = chance(0.2);
    if (wrong) change.guidance = chance(0.5) ? NAN : -1.0F;
    const Status status = live.job->change(change);
    if (status && wrong) tally.wrong.emplace_back("an impossible change was accepted");
    ++(status ? tally.changes : tally.refused_changes);
  }

  void close(Live& live) {
    live.over = true;
    const auto say = [&](const std::string& what) { tally.wrong.push_back(what + " " + live.told.error.message); };
    if (live.job->wait(0.0)) say("something followed the end");
    if (live.told.finished + live.told.failed != 1 || !live.told.in_order) say("events out of order");
    if (live.told.finished == 1) {
      ++tally.finished;
      const int frames = frame_count(request_seconds(live.request), engine_.config());
      const std::size_t samples = static_cast<std::size_t>(frames * engine_.config().codec.hop());
      if (live.told.audio.size() != samples) say("a clip of the wrong length");
      if (live.request.endless || live.damaged) say("something finished that could not");
    } else if (live.told.error.code == ErrorCode::cancelled) {
      ++tally.cancelled;
      if (!live.cancelled) say("cancelled by nobody");
    } else {
      ++tally.damaged;
      if (!live.damaged || live.told.error.code != ErrorCode::corrupt_file) say("failed:");
    }
  }

  Engine& engine_;
  Engine& damaged_;
  std::mt19937_64 random_;
  std::vector<Live> live_;
};

double part_of(std::vector<double> values, double part) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

TEST(Day, EverythingEndsOnceAndNothingIsKept) {
  give_memory_back_early();  // as the program does
  const int requests = std::atoi(variable("CONTINUO_DAY_REQUESTS", "100").c_str());
  const auto seed = static_cast<std::uint64_t>(std::atoll(variable("CONTINUO_DAY_SEED", "1").c_str()));
  auto source = weights::open_model(variable("CONTINUO_DAY_MODEL", golden_model("tiny-a")));
  ASSERT_TRUE(source) << source.error().message;
  EngineOptions options;
  options.threads = 2;
  options.max_rows = 16;
  options.cache_bytes = 1 << 20;
  options.cache_folder = fmt::format("{}/day-{}", CONTINUO_BINARY_DIR, ::getpid());
  options.cache_folder_bytes = 4 << 20;
  const auto engine = std::move(*Engine::create(std::move(*source), options));
  const auto damaged = std::move(*Engine::create(golden_source("tiny-a", 0, "decoder.head.1.weight"), {.threads = 1}));

  const int rounds = (requests + requests_a_round - 1) / requests_a_round;
  std::vector<double> resident;  // MB, at the end of each round
  std::vector<double> used;      // the part of it that somebody holds; the rest lies between what is held
  std::vector<std::string> kept;
  const auto start = Clock::now();
  const auto idle = [&]() noexcept {
    const bool free = eventually([&] {
      for (const Engine* each : {engine.get(), damaged.get()}) {
        const EngineStatus status = each->status();
        if (status.running + status.waiting > 0 || status.free_pages != status.pages) return false;
      }
      return true;
    });
    if (!free)
      kept.push_back(fmt::format("after round {}: {} of {} pages are free", resident.size(), engine->status().free_pages,
                                 engine->status().pages));
    resident.push_back(static_cast<double>(resident_memory().value_or(0)) * 1e-6);
#if defined(__GLIBC__)
    const auto info = ::mallinfo2();
    used.push_back(static_cast<double>(info.uordblks + info.hblkhd) * 1e-6);
#endif
  };
  std::barrier barrier(drivers, idle);
  std::vector<std::unique_ptr<Driver>> all;
  std::vector<std::thread> threads;
  for (int d = 0; d < drivers; ++d)
    all.push_back(std::make_unique<Driver>(*engine, *damaged, seed * 100 + static_cast<std::uint64_t>(d)));
  for (int d = 0; d < drivers; ++d) {
    threads.emplace_back([&, d] {
      for (int round = 0; round < rounds; ++round) {
        all[static_cast<std::size_t>(d)]->round(requests_a_round / drivers);
        barrier.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  Tally sum;
  for (const auto& driver : all) {
    const Tally& each = driver->tally;
    for (int Tally::*count : {&Tally::submitted, &Tally::finished, &Tally::cancelled, &Tally::damaged, &Tally::refused,
                              &Tally::changes, &Tally::refused_changes, &Tally::stalls}) {
      sum.*count += each.*count;
    }
    sum.waits.insert(sum.waits.end(), each.waits.begin(), each.waits.end());
    for (const std::string& wrong : each.wrong) ADD_FAILURE() << wrong;
  }
  for (const std::string& wrong : kept) ADD_FAILURE() << wrong;
  EXPECT_EQ(rounds * requests_a_round, sum.submitted);
  EXPECT_EQ(sum.submitted, sum.finished + sum.cancelled + sum.damaged);
  EXPECT_GT(sum.finished, sum.submitted / 2);
  EXPECT_GT(sum.cancelled, 0);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("{} requests in {:.1f} s: {} finished, {} cancelled, {} of damaged weights; {} changes, {} refused; {} stalls\n",
             sum.submitted, seconds, sum.finished, sum.cancelled, sum.damaged, sum.changes, sum.refused_changes, sum.stalls);
  fmt::print("wait until started: median {:.3f} s, 95 % {:.3f} s, longest {:.3f} s\n", part_of(sum.waits, 0.5),
             part_of(sum.waits, 0.95), part_of(sum.waits, 1.0));
  const auto half = resident.begin() + static_cast<std::ptrdiff_t>(resident.size() / 2);
  const auto [least, most] = std::minmax_element(half, resident.end());
  fmt::print("resident at idle moments: {:.1f} MB at first, {:.1f} to {:.1f} MB in the second half, {:.1f} MB at last\n",
             resident.front(), *least, *most, resident.back());
  if (!used.empty()) {
    const auto [few, many] = std::minmax_element(used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2), used.end());
    for (std::size_t i = 0; i < used.size(); i += std::max<std::size_t>(1, used.size() / 20)) {
      fmt::print("after {} requests: {:.1f} MB held, {:.1f} MB resident\n", (i + 1) * requests_a_round, used[i], resident[i]);
    }
    fmt::print("held at idle moments: {:.1f} MB at first, {:.1f} to {:.1f} MB in the second half\n", used.front(), *few, *many);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // A few rounds are no half a day, and the sanitizers keep books of their own. Means of quarters, since a single idle moment is
  // a matter of which holes the allocator has just then.
  if (rounds >= 20) {
    const auto quarter = [](const std::vector<double>& values, std::size_t q) {
      const std::size_t first = values.size() * q / 4, last = values.size() * (q + 1) / 4;
      return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(first),
                             values.begin() + static_cast<std::ptrdiff_t>(last), 0.0) /
             static_cast<double>(last - first);
    };
    EXPECT_LT(quarter(resident, 3), 1.02 * quarter(resident, 2));
    if (!used.empty()) {
      EXPECT_LT(quarter(used, 3), 1.02 * quarter(used, 2));
    }
  }
#endif
  std::error_code ignored;
  std::filesystem::remove_all(options.cache_folder, ignored);
}

}  // namespace
}  // namespace continuo::engine
