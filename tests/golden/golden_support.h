// Reading the goldens of tests/goldens (made by tests/reference) and comparing with them. Each checkpoint first goes through our
// converter, once in a process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/npy.h"
#include "base/file.h"
#include "compute/executor.h"
#include "engine/engine.h"
#include "weights/convert.h"
#include "weights/tensor_source.h"

namespace continuo::golden {

using nlohmann::json;

inline const std::string goldens = std::string(CONTINUO_SOURCE_DIR) + "/tests/goldens/";

/// A folder for this process, gone when it ends.
struct Scratch {
  std::string folder = std::string(CONTINUO_BINARY_DIR) + "/golden-" + std::to_string(::getpid());
  Scratch() { std::filesystem::create_directories(folder); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

inline const Scratch& scratch_folder() {
  static const Scratch scratch;
  return scratch;
}

/// tests/goldens/FOLDER, or where audiocraft's melody models are put together with the codec that they share.
inline std::string checkpoint_folder(const std::string& folder) {
  constexpr const char* codec = "compression_state_dict.bin";
  if (!folder.starts_with("audiocraft-melody/")) return goldens + folder;
  const std::string whole = scratch_folder().folder + "/" + folder;
  std::filesystem::create_directories(whole);
  std::filesystem::copy_file(goldens + folder + "/state_dict.bin", whole + "/state_dict.bin");
  std::filesystem::copy_file(goldens + "audiocraft/mono-f16/" + codec, whole + "/" + codec);
  return whole;
}

/// The path of tests/goldens/FOLDER as a model file.
inline const std::string& converted(const std::string& folder) {
  static std::map<std::string, std::string> done;
  if (!done.contains(folder)) {
    std::string name = folder;
    std::replace(name.begin(), name.end(), '/', '-');
    const std::string path = scratch_folder().folder + "/" + name + ".gguf";
    weights::ConvertOptions options;
    if (folder.starts_with("audiocraft")) options.t5 = goldens + "audiocraft/t5";
    const Status status = weights::convert(checkpoint_folder(folder), path, options);
    if (!status) ADD_FAILURE() << status.error().message;
    done[folder] = path;
  }
  return done[folder];
}

inline std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const char* name : {"portable", "avx2", "avxvnni", "avx512vnni", "neon"}) {
    if (compute::make_cpu_executor({1, name})) names.emplace_back(name);
  }
  return names;
}

/// Error over RMS, or infinite when the sizes differ.
inline double relative_error(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0.0, square = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(difference <= worst)) worst = difference;
    square += static_cast<double>(want[i]) * want[i];
  }
  return worst / std::sqrt(square / static_cast<double>(want.size()));
}

inline double absolute_error(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

/// One golden folder on one instruction set.
class Golden : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    model_ = std::get<0>(GetParam());
    golden_ = manifest("golden.json");
    auto source = weights::open_model(converted(model_ + "/model"));
    ASSERT_TRUE(source) << source.error().message;
    source_ = std::move(*source);
    executor_ = std::move(*compute::make_cpu_executor({2, std::get<1>(GetParam())}));
  }

  json manifest(const std::string& name) const {
    const auto text = read_text_file(goldens + model_ + "/" + name, 1 << 20);
    EXPECT_TRUE(text) << text.error().message;
    return json::parse(*text);
  }
  std::vector<float> floats(const json& name) const {
    return std::get<std::vector<float>>(audio::read_npy(goldens + model_ + "/" + name.get<std::string>())->values);
  }
  std::vector<std::int64_t> integers(const json& name) const {
    return std::get<std::vector<std::int64_t>>(audio::read_npy(goldens + model_ + "/" + name.get<std::string>())->values);
  }
  /// [channels, samples] as the goldens have it to [samples, channels] as the engine has it.
  std::vector<float> interleaved(const std::vector<float>& planes) const {
    const auto channels = static_cast<std::size_t>(source_->config().decoder.audio_channels), samples = planes.size() / channels;
    std::vector<float> out(planes.size());
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < samples; ++i) out[i * channels + c] = planes[c * samples + i];
    }
    return out;
  }
  std::unique_ptr<engine::Engine> make_engine(int threads = 2) const {
    engine::EngineOptions options;
    options.threads = threads;
    options.kv = "f32";
    options.isa = std::get<1>(GetParam());
    auto engine = engine::Engine::create(std::move(*weights::open_model(converted(model_ + "/model"))), options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }
  /// A greedy request for a golden's row; null prompts are empty ones.
  engine::Request greedy_request(const json& prompt, const json& entry) const {
    engine::Request request = engine::default_request(source_->config());
    request.prompt = prompt.is_null() ? "" : prompt.get<std::string>();
    request.seconds = entry["frames"].get<int>() / source_->config().codec.frame_rate();
    request.strategy = engine::Strategy::greedy;
    request.guidance = entry["guidance"];
    return request;
  }

  std::string model_;
  json golden_;
  std::unique_ptr<weights::TensorSource> source_;
  std::unique_ptr<compute::Executor> executor_;
};

inline std::string name_of_case(const ::testing::TestParamInfo<std::tuple<std::string, std::string>>& each) {
  std::string name = std::get<0>(each.param) + "_" + std::get<1>(each.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace continuo::golden
