// What the tests of this folder share: temporary folders, sounds, recordings of them, waiting for the pool.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "audio/wav.h"
#include "server/media/recording.h"
#include "server/media/rendition.h"

namespace continuo::server::test {

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "continuo_media_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A tone that never repeats itself: it rises slowly, another one in each channel.
inline audio::Sound rising_tone(std::int64_t frames, int channels = 1, int rate = 32'000, double level = 0.5) {
  audio::Sound sound{{}, channels, rate};
  for (std::int64_t i = 0; i < frames; ++i) {
    const double t = static_cast<double>(i) / rate;
    for (int c = 0; c < channels; ++c) {
      sound.samples.push_back(static_cast<float>(level * std::sin(2.0 * 3.14159265358979 * (300.0 + 150.0 * c + 20.0 * t) * t)));
    }
  }
  return sound;
}

inline Recording::Shape shape_of(const audio::Sound& sound) { return {sound.channels, sound.sample_rate, sound.frames()}; }

inline std::span<const float> frames_of(const audio::Sound& sound, std::int64_t first, std::int64_t count) {
  const auto channels = static_cast<std::size_t>(sound.channels);
  return std::span(sound.samples).subspan(static_cast<std::size_t>(first) * channels, static_cast<std::size_t>(count) * channels);
}

inline std::shared_ptr<Recording> empty_recording(const std::string& path, const audio::Sound& sound) {
  auto recording = Recording::create(path, shape_of(sound));
  if (!recording) throw std::runtime_error(recording.error().message);
  return *recording;
}

inline std::shared_ptr<Recording> complete_recording(const std::string& path, const audio::Sound& sound) {
  const auto recording = empty_recording(path, sound);
  if (!recording->append(sound.samples) || !recording->finish()) throw std::runtime_error("cannot record");
  return recording;
}

template <class Condition>
bool wait_until(Condition condition, double seconds = 30.0) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline bool ended(const Rendition& rendition) {
  return wait_until([&] { return rendition.state() != Rendition::State::growing; });
}

inline std::vector<std::byte> bytes_of(const Rendition& rendition) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(rendition.size()));
  const auto got = rendition.read(0, bytes);
  EXPECT_EQ(got.value_or(0), bytes.size());
  return bytes;
}

}  // namespace continuo::server::test
