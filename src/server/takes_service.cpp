#include "server/takes_service.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "library/reference_prompts.h"

namespace continuo::server {

namespace {

constexpr int most_takes_shown = 20;
constexpr std::size_t most_similar = 200;

using library::PastPrompt;
using library::PromptIndex;

}  // namespace

double wall_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Steps run one at a time, on a lane of the pool, so that long work gives way to others after each fingerprint. What a step
/// posts holds the state, not the Prompts: it may come too late, and then finds `stopped`.
struct Prompts::State : std::enable_shared_from_this<Prompts::State> {
  State(Options its_options, Fingerprint its_fingerprint, library::TakeLibrary& its_takes, Pool& its_pool)
      : options(std::move(its_options)),
        fingerprint(std::move(its_fingerprint)),
        takes(its_takes),
        pool(its_pool),
        lane(its_pool.lane()) {}

  const Options options;
  const Fingerprint fingerprint;
  library::TakeLibrary& takes;
  Pool& pool;
  const std::shared_ptr<Pool::Lane> lane;

  std::atomic<bool> ready = false;
  std::atomic<bool> begun = false;
  mutable std::mutex told_mutex;  // guards what follows
  std::string told;

  std::mutex working;  // guards what follows; held for the time of a step
  bool stopped = false;
  std::optional<PromptIndex> index;  // stays once it is there; safe for all threads when `ready` is seen
  std::vector<float> references;     // fingerprints so far, for the space
  std::size_t references_done = 0;
  std::deque<PastPrompt> missing;  // in the library, not yet in the index
  std::vector<std::string> early;  // added before the index was there
  bool unsaved = false;
  std::chrono::steady_clock::time_point saved{};

  void tell(const std::string& warning) {
    const std::lock_guard lock(told_mutex);
    told = warning;
  }

  void post(void (State::*step)()) {
    lane->post([self = shared_from_this(), step] {
      const std::lock_guard lock(self->working);
      if (!self->stopped) (*self.*step)();
    });
  }

  void load() {
    PromptIndex::Loaded loaded = PromptIndex::load(options.folder, {options.encoder, options.capacity});
    if (!loaded.warning.empty()) tell(loaded.warning);
    if (loaded.index) {
      index = std::move(loaded.index);
      return compare();
    }
    post(&State::hear_reference);
  }

  void hear_reference() {
    const auto all = library::reference_prompts();
    if (references_done == all.size()) return make_space();
    const auto values = fingerprint(std::string(all[references_done]));
    if (!values) return tell("the index of prompts cannot be made: " + values.error().message);
    references.insert(references.end(), values->begin(), values->end());
    ++references_done;
    post(&State::hear_reference);
  }

  void make_space() {
    const int width = static_cast<int>(references.size() / references_done);
    auto space = library::FingerprintSpace::fit(references, width, library::default_space, library::default_dimensions);
    if (!space) return tell("the index of prompts cannot be made: " + space.error().message);
    references = {};
    index.emplace(std::move(*space), PromptIndex::Options{options.encoder, options.capacity});
    unsaved = true;
    compare();
  }

  /// Brings the index into line with the library.
  void compare() {
    auto past = takes.prompts(options.encoder, options.capacity);
    if (!past) return tell(past.error().message);
    std::unordered_set<std::string> extra;
    for (std::string& prompt : index->prompts()) extra.insert(std::move(prompt));
    for (PastPrompt& prompt : *past) {
      if (extra.erase(prompt.prompt) == 0) missing.push_back(std::move(prompt));
    }
    for (const std::string& prompt : extra) index->remove(prompt);
    unsaved = unsaved || !extra.empty();
    post(&State::catch_up);
  }

  void catch_up() {
    // Those whose fingerprint is known cost next to nothing.
    while (!missing.empty()) {
      const PastPrompt next = std::move(missing.front());
      missing.pop_front();
      if (!next.fingerprint.empty() && index->add(next.prompt, next.fingerprint)) {
        unsaved = true;
        continue;
      }
      put_in(next.prompt);
      return post(&State::catch_up);
    }
    for (const std::string& prompt : std::exchange(early, {})) put_in(prompt);
    save_at_times();
    ready = true;
  }

  void put_in(const std::string& prompt) {
    if (prompt.empty()) return;
    const auto values = fingerprint(prompt);
    if (!values) return tell("a prompt is not in the index: " + values.error().message);
    if (const Status kept = takes.remember_fingerprint(prompt, options.encoder, *values); !kept) tell(kept.error().message);
    if (const Status added = index->add(prompt, *values); !added)
      return tell("a prompt is not in the index: " + added.error().message);
    unsaved = true;
  }

  void save_at_times() {
    const auto now = std::chrono::steady_clock::now();
    if (unsaved && now - saved >= std::chrono::duration<double>(options.save_seconds)) save();
  }

  void save() {
    if (!index || !unsaved) return;
    saved = std::chrono::steady_clock::now();
    const Status status = index->save(options.folder);
    if (!status) return tell(status.error().message);
    unsaved = false;
  }

  Result<std::vector<Similar>> find(const std::string& prompt, float threshold, std::size_t limit) const {
    CONTINUO_TRY(const std::vector<float> values, fingerprint(prompt));
    // More than asked for: some have no take outside the trash.
    CONTINUO_TRY(const auto near, index->similar(values, threshold, std::min(most_similar, 4 * limit + 16)));
    std::vector<Similar> found;
    for (const library::SimilarPrompt& one : near) {
      if (found.size() == limit) break;
      CONTINUO_TRY(std::vector<std::string> ids, takes.takes_of(one.prompt, most_takes_shown));
      if (!ids.empty()) found.push_back({one.prompt, one.cosine, std::move(ids)});
    }
    return found;
  }
};

Prompts::Prompts(Options options, Fingerprint fingerprint, library::TakeLibrary& takes, Pool& pool)
    : state_(std::make_shared<State>(std::move(options), std::move(fingerprint), takes, pool)) {}

Prompts::~Prompts() {
  const std::lock_guard lock(state_->working);
  state_->stopped = true;
  state_->save();
}

void Prompts::start() {
  if (!state_->begun.exchange(true)) state_->post(&State::load);
}

bool Prompts::ready() const { return state_->ready; }

std::string Prompts::warning() const {
  const std::lock_guard lock(state_->told_mutex);
  return state_->told;
}

std::size_t Prompts::size() const { return ready() ? state_->index->size() : 0; }

Task<Result<std::vector<Prompts::Similar>>> Prompts::similar(std::string prompt, float threshold, std::size_t limit) {
  const std::shared_ptr<State> state = state_;
  start();
  if (!state->ready) co_return fail(ErrorCode::unsupported, "earlier prompts cannot be searched yet; try again in a moment");
  auto work = [state, &prompt, threshold, limit] { return state->find(prompt, threshold, limit); };
  co_return co_await state->pool.run(std::move(work));
}

void Prompts::add(const std::string& prompt) {
  state_->lane->post([state = state_, prompt] {
    const std::lock_guard lock(state->working);
    if (state->stopped) return;
    if (!state->ready) {
      if (state->early.size() < state->options.capacity) state->early.push_back(prompt);
      return;
    }
    state->put_in(prompt);
    state->save_at_times();
  });
}

void Prompts::forget(const std::string& prompt) {
  state_->lane->post([state = state_, prompt] {
    const std::lock_guard lock(state->working);
    if (state->stopped || !state->ready) return;  // compare() has yet to look, or has looked and will again
    const auto left = state->takes.takes_of(prompt, 1);
    if (left && left->empty() && state->index->remove(prompt)) state->unsaved = true;
    state->save_at_times();
  });
}

Task<void> keep_retention(library::Retention& retention, Pool& pool, Wake& stop,
                          std::function<void(const Result<std::vector<library::RemovedTake>>&)> removed,
                          std::chrono::steady_clock::duration first, std::chrono::steady_clock::duration every) {
  auto pause = first;
  for (;;) {
    const bool stopped = co_await stop.wait(pause);
    if (stopped) co_return;
    pause = every;
    auto work = [&retention]() -> Result<std::vector<library::RemovedTake>> {
      CONTINUO_TRY(const library::RetentionRules rules, retention.rules());
      if (!rules.schedule) return std::vector<library::RemovedTake>();
      CONTINUO_TRY(const library::RetentionPlan plan, retention.plan(wall_seconds()));
      if (plan.takes.empty()) return std::vector<library::RemovedTake>();
      return retention.run(plan.token, wall_seconds());
    };
    const auto result = co_await pool.run(std::move(work));
    if (!result || !result->empty()) removed(result);
  }
}

}  // namespace continuo::server
