// Tiny models and what comes of a job, for the tests of the engine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "weights/convert.h"

namespace continuo::engine {

/// tests/goldens/NAME/model as a model file that lives as long as the process.
inline const std::string& golden_model(const std::string& name) {
  struct Models {
    std::map<std::string, std::string> paths;
    ~Models() {
      std::error_code ignored;
      for (const auto& [each, path] : paths) std::filesystem::remove(path, ignored);
    }
  };
  static Models models;
  std::string& path = models.paths[name];
  if (path.empty()) {
    path = fmt::format("{}/engine-{}-{}.gguf", CONTINUO_BINARY_DIR, name, ::getpid());
    const Status status =
        weights::convert_huggingface(std::string(CONTINUO_SOURCE_DIR) + "/tests/goldens/" + name + "/model", path, {});
    if (!status) ADD_FAILURE() << status.error().message;
  }
  return path;
}

/// A model with another window, or with one tensor that is not numbers.
class ChangedModel final : public weights::TensorSource {
 public:
  ChangedModel(std::unique_ptr<weights::TensorSource> source, int max_frames, std::string spoiled = {})
      : source_(std::move(source)), config_(source_->config()), spoiled_(std::move(spoiled)) {
    if (max_frames > 0) config_.decoder.max_frames = max_frames;
    if (spoiled_.empty()) return;
    const TensorView tensor = source_->tensor(spoiled_);
    values_.assign(static_cast<std::size_t>(tensor.shape.elements()), std::numeric_limits<float>::quiet_NaN());
    view_ = {DType::f32, tensor.shape, std::as_bytes(std::span(values_))};
  }
  const weights::ModelConfig& config() const override { return config_; }
  TensorView tensor(std::string_view name) const override { return name == spoiled_ ? view_ : source_->tensor(name); }
  bool has(std::string_view name) const override { return source_->has(name); }

 private:
  std::unique_ptr<weights::TensorSource> source_;
  weights::ModelConfig config_;
  std::string spoiled_;
  std::vector<float> values_;
  TensorView view_;
};

inline std::unique_ptr<weights::TensorSource> golden_source(const std::string& name, int max_frames = 0,
                                                            std::string spoiled = {}) {
  auto source = weights::open_model(golden_model(name));
  EXPECT_TRUE(source) << source.error().message;
  return std::make_unique<ChangedModel>(std::move(*source), max_frames, std::move(spoiled));
}

inline std::unique_ptr<Engine> golden_engine(const std::string& name, int threads, int max_frames = 0) {
  EngineOptions options;
  options.threads = threads;
  auto engine = Engine::create(golden_source(name, max_frames), options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

inline Request sampled(const std::string& prompt, double seconds, std::uint64_t seed = 5) {
  Request request;
  request.prompt = prompt;
  request.seconds = seconds;
  request.seed = seed;
  request.top_k = 0;
  request.chunk_seconds = 0.1;
  return request;
}

/// All that a job told.
struct Told {
  std::vector<float> audio;
  std::vector<std::int64_t> codes;
  int frames = 0;
  int started = 0, finished = 0, failed = 0;
  bool in_order = true;  // sound without gaps, nothing after the end
  Error error{ErrorCode::io, ""};

  void add(Event event, int channels = 1) {
    in_order = in_order && finished + failed == 0;
    if (std::holds_alternative<Started>(event)) ++started;
    if (auto* sound = std::get_if<Audio>(&event)) {
      in_order = in_order && sound->first * channels == static_cast<std::int64_t>(audio.size()) && started == 1;
      audio.insert(audio.end(), sound->samples.begin(), sound->samples.end());
    }
    if (auto* last = std::get_if<Finished>(&event)) {
      ++finished;
      codes = std::move(last->codes);
      frames = last->frames;
    }
    if (auto* last = std::get_if<Failed>(&event)) {
      ++failed;
      error = std::move(last->error);
    }
  }
};

inline Told all_of(Job& job, int channels = 1) {
  Told told;
  while (auto event = job.wait(120.0)) told.add(std::move(*event), channels);
  EXPECT_EQ(1, told.finished + told.failed);
  EXPECT_TRUE(told.in_order);
  return told;
}

inline std::shared_ptr<Job> submitted(Engine& engine, const Request& request, std::function<void()> notify = {}) {
  auto job = engine.submit(request, std::move(notify));
  EXPECT_TRUE(job) << job.error().message;
  return job ? *job : nullptr;
}

inline Told told_by(Engine& engine, const Request& request, int channels = 1) {
  return all_of(*submitted(engine, request), channels);
}

/// Waits until `so`, for at most two minutes.
inline bool eventually(const std::function<bool()>& so) {
  for (int i = 0; i < 120'000; ++i) {
    if (so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace continuo::engine
