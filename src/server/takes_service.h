// What the server does with its library beside answering: the prompts of the takes as something to search by meaning, and the
// schedule of retention.
//
// Prompts owns the index of prompts of one model. The takes in the library are the truth; the index and its file are made from
// them and brought into line at each start, so that nothing is lost with either. The first start with a text encoder costs some
// 250 fingerprints (library/reference_prompts.h); they are made one by one on the pool, between the steps of the model, and until
// then ready() is false. It only suggests; no request is ever replaced by an earlier one.
#pragma once

#include <utility>  // before Asio

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "library/prompt_index.h"
#include "library/retention.h"
#include "library/takes.h"
#include "server/http/exchange.h"
#include "server/pool.h"
#include "server/wake.h"

namespace continuo::server {

class Prompts {
 public:
  /// The raw fingerprint of a prompt; called on the pool, by several threads at once. That of an engine:
  /// `[&engine](const std::string& prompt) { return engine.fingerprint(prompt); }`
  using Fingerprint = std::function<Result<std::vector<float>>(const std::string& prompt)>;

  struct Options {
    std::string folder;   // of the file
    std::string encoder;  // any text that changes with the text encoder, e.g. engine::conditioning_identity()
    std::size_t capacity = 10'000;
    double save_seconds = 60.0;  // the file is written so often at most, and at the end
  };

  struct Similar {
    std::string prompt;
    float similarity = 0.0F;         // cosine
    std::vector<std::string> takes;  // made from it, the newest first; at least one
  };

  /// The library, the pool and what `fingerprint` calls outlive this.
  Prompts(Options options, Fingerprint fingerprint, library::TakeLibrary& takes, Pool& pool);
  /// Stops and writes the file.
  ~Prompts();
  Prompts(const Prompts&) = delete;
  Prompts& operator=(const Prompts&) = delete;

  /// Begins to load the index or to make it; once. So does the first who asks for similar prompts.
  void start();
  bool ready() const;
  /// Why a file was dropped, the index could not be made, or a prompt is missing in it; empty: nothing.
  std::string warning() const;
  std::size_t size() const;

  /// The prompts of takes outside the trash that mean nearly the same, the most similar first. Errors: unsupported while it is
  /// not ready; what the tokenizer and the index say.
  Task<Result<std::vector<Similar>>> similar(std::string prompt, float threshold = library::default_threshold,
                                             std::size_t limit = 5);

  // Both return at once; the work is done later, on the pool.
  /// Takes of this prompt have come into the library, or out of the trash. After TakeLibrary::add().
  void add(const std::string& prompt);
  /// Takes of this prompt have gone; it goes too if they were the last.
  void forget(const std::string& prompt);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Runs the plan of retention from time to time, if its rules say so at that time, until `stop` is set. removed: what went, or
/// why it did not; on the I/O thread.
Task<void> keep_retention(library::Retention& retention, Pool& pool, Wake& stop,
                          std::function<void(const Result<std::vector<library::RemovedTake>>&)> removed,
                          std::chrono::steady_clock::duration first = std::chrono::minutes(1),
                          std::chrono::steady_clock::duration every = std::chrono::hours(1));

/// Seconds since 1970.
double wall_seconds();

}  // namespace continuo::server
