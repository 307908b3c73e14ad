// Clean sounds pass; a planted fault is found, as what it is, where it is, in the channel that has it, and nothing else with it.
#include "audio/check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "audio/check_sounds_test.h"
#include "base/file.h"

namespace continuo::audio {
namespace {

using namespace sounds;  // NOLINT: the vocabulary of these tests

CheckReport checked(const Sound& sound, const CheckOptions& options = {}) {
  auto report = check_sound(sound, options);
  if (!report) ADD_FAILURE() << report.error().message;
  return report ? *report : CheckReport{};
}

std::string text_of(const CheckReport& report) {
  std::string text;
  for (const Fault& fault : report.faults) {
    text += fmt::format("{} at {:.4f} s, channel {}: {}\n", fault_name(fault.kind), fault.seconds, fault.channel, fault.what);
  }
  return text;
}

struct CleanSound {
  std::string name;
  Samples samples;
  int sample_rate = rate;
};

std::vector<CleanSound> clean_sounds() {
  std::vector<CleanSound> all;
  for (const double hertz : {30.0, 61.7, 110.0, 440.0, 1000.3, 5000.0, 14000.0}) {
    all.push_back({fmt::format("sine {}", hertz), sine(2.0, hertz)});
    all.push_back({fmt::format("quiet sine {} in 16 bits", hertz), in_16_bits(sine(2.0, hertz, 0.01))});
  }
  for (const int at : {8000, 22050, 44100, 48000, 96000})
    all.push_back({fmt::format("sine at {}", at), sine(1.5, 440, 0.9, at), at});
  for (const double hertz : {41.0, 55.0, 220.0, 1234.5}) {
    all.push_back({fmt::format("square {}", hertz), square(2.0, hertz)});
    all.push_back({fmt::format("saw {}", hertz), saw(2.0, hertz)});
  }
  all.push_back({"chord", chord(3.0)});
  all.push_back({"sweep", sweep(5.0, 20.0, 15000.0)});
  all.push_back({"fast sweep", sweep(0.5, 50.0, 15000.0)});
  for (unsigned seed = 1; seed <= 5; ++seed) all.push_back({fmt::format("noise {}", seed), noise(4.0, 0.1, seed)});
  all.push_back({"vibrato", vibrato(3.0)});
  all.push_back({"tremolo", tremolo(3.0)});
  all.push_back({"drums", drums(4.0)});
  all.push_back({"drums in 16 bits", in_16_bits(drums(4.0))});
  all.push_back({"staccato", staccato(4.0)});
  all.push_back({"arpeggio", arpeggio(4.0)});
  all.push_back({"blocks", blocks(3.0)});
  all.push_back({"chiptune", chiptune(4.0)});
  all.push_back({"band", sum(sum(drums(4.0), arpeggio(4.0)), sine(4.0, 65.4, 0.1))});
  Samples stops = sum(chord(1.0), noise(1.0, 0.01));  // a stop with a release of 10 ms, a pause, and the sound again
  stops.insert(stops.end(), count(0.3), 0.0F);
  for (std::size_t i = 0; i < count(0.01); ++i)
    stops[count(1.0) - 1 - i] *= static_cast<float>(i) / static_cast<float>(count(0.01));
  const Samples again = chord(1.0);
  stops.insert(stops.end(), again.begin(), again.end());
  all.push_back({"stop and go", std::move(stops)});
  return all;
}

TEST(Check, CleanSoundsPass) {
  for (const CleanSound& sound : clean_sounds()) {
    EXPECT_EQ("", text_of(checked(mono(sound.samples, sound.sample_rate)))) << sound.name;
    EXPECT_EQ("", text_of(checked(stereo(sound.samples, sound.samples, sound.sample_rate)))) << sound.name;
  }
}

// --- planted faults ---

struct Planted {
  std::string name;
  FaultKind kind;
  std::function<void(Samples&, std::size_t)> plant;
};

std::vector<Planted> planted_faults() {
  const auto scale = [](float by, double ms) {
    return [=](Samples& s, std::size_t at) {
      for (std::size_t i = at; i < at + count(ms / 1000.0); ++i) s[i] *= by;
    };
  };
  const auto one = [](float value) { return [=](Samples& s, std::size_t at) { s[at] = value; }; };
  const auto step = [](float by) {  // up at once, down over a tenth of a second
    return [=](Samples& s, std::size_t at) {
      for (std::size_t i = 0; i < count(0.1); ++i)
        s[at + i] += by * (1.0F - static_cast<float>(i) / static_cast<float>(count(0.1)));
    };
  };
  const auto flat = [](float level, std::size_t n) {
    return [=](Samples& s, std::size_t at) { std::fill_n(s.begin() + static_cast<std::ptrdiff_t>(at), n, level); };
  };
  return {
      {"a step up", FaultKind::click, step(0.15F)},
      {"a step down", FaultKind::click, step(-0.15F)},
      {"a small step", FaultKind::click, step(0.05F)},
      {"one sample too high", FaultKind::click, one(0.95F)},
      {"one sample too low", FaultKind::click, one(-0.95F)},
      {"two samples changed", FaultKind::click, [](Samples& s, std::size_t at) { s[at] += 0.3F, s[at + 1] -= 0.3F; }},
      {"the sign changes", FaultKind::click,
       [](Samples& s, std::size_t at) {
         while (std::abs(s[at]) < 0.1F) ++at;
         for (std::size_t i = at; i < s.size(); ++i) s[i] = -s[i];
       }},
      {"not a number", FaultKind::not_a_number, one(std::numeric_limits<float>::quiet_NaN())},
      {"infinity", FaultKind::not_a_number, one(std::numeric_limits<float>::infinity())},
      {"minus infinity", FaultKind::not_a_number, one(-std::numeric_limits<float>::infinity())},
      {"ten not numbers", FaultKind::not_a_number, flat(std::numeric_limits<float>::quiet_NaN(), 10)},
      {"6 ms of nothing", FaultKind::dropout, scale(0.0F, 6.5)},
      {"20 ms of nothing", FaultKind::dropout, scale(0.0F, 20.0)},
      {"200 ms of nothing", FaultKind::dropout, scale(0.0F, 200.0)},
      {"30 ms 50 dB down", FaultKind::dropout, scale(0.003F, 30.0)},
      {"10 ms stuck", FaultKind::stuck,
       [](Samples& s, std::size_t at) { std::fill_n(s.begin() + static_cast<std::ptrdiff_t>(at), count(0.01), s[at] + 0.1F); }},
      {"a constant offset", FaultKind::dc_offset,
       [](Samples& s, std::size_t) {
         for (float& v : s) v += 0.03F;
       }},
      {"an offset below", FaultKind::dc_offset,
       [](Samples& s, std::size_t) {
         for (float& v : s) v -= 0.02F;
       }},
      {"too loud for the format", FaultKind::clipping,
       [](Samples& s, std::size_t) {
         for (float& v : s) v = std::clamp(4.0F * v, -1.0F, 1.0F);
       }},
      {"too loud for 16 bits", FaultKind::clipping,
       [](Samples& s, std::size_t) {
         for (float& v : s) v *= 4.0F;
         s = in_16_bits(s);
       }},
      {"beyond full scale", FaultKind::clipping,
       [](Samples& s, std::size_t) {
         for (float& v : s) v *= 4.0F;
       }},
      {"silence", FaultKind::silence, [](Samples& s, std::size_t) { std::fill(s.begin(), s.end(), 0.0F); }},
      {"almost silence", FaultKind::silence,
       [](Samples& s, std::size_t) {
         for (float& v : s) v *= 1e-4F;
       }},
  };
}

bool has(const CheckReport& report, FaultKind kind, int channel, double seconds, double tolerance) {
  return std::any_of(report.faults.begin(), report.faults.end(), [&](const Fault& fault) {
    return fault.kind == kind && fault.channel == channel && (tolerance < 0 || std::abs(fault.seconds - seconds) <= tolerance);
  });
}

bool has_place(FaultKind kind) {
  return kind != FaultKind::dc_offset && kind != FaultKind::silence && kind != FaultKind::clipping && kind != FaultKind::length;
}

TEST(Check, PlantedFaultsAreFound) {
  const std::pair<const char*, Samples> carriers[] = {
      {"sine", sine(1.2, 440.0, 0.4)}, {"chord", chord(1.2)}, {"arpeggio", arpeggio(1.2)}, {"vibrato", vibrato(1.2)}};
  int planted = 0;
  for (const auto& [carrier, clean] : carriers) {
    for (const Planted& fault : planted_faults()) {
      for (const double seconds : {0.2813, 0.5337, 0.8071}) {
        const std::size_t at = count(seconds);
        Samples bad = clean;
        fault.plant(bad, at);
        const double tolerance = has_place(fault.kind) ? 0.004 : -1.0;
        const auto name = fmt::format("{} in a {} at {} s", fault.name, carrier, seconds);
        const CheckReport one = checked(mono(bad));
        EXPECT_TRUE(has(one, fault.kind, -1, seconds, tolerance)) << name << "\n" << text_of(one);
        ++planted;
        if (seconds > 0.3) continue;  // channels are looked at one by one, so once for each fault and sound is enough
        const CheckReport left = checked(stereo(bad, clean)), right = checked(stereo(clean, bad));
        EXPECT_TRUE(has(left, fault.kind, 0, seconds, tolerance)) << name << "\n" << text_of(left);
        EXPECT_TRUE(has(right, fault.kind, 1, seconds, tolerance)) << name << "\n" << text_of(right);
        for (const Fault& found : left.faults) EXPECT_EQ(0, found.channel) << name << ": " << found.what;
        for (const Fault& found : right.faults) EXPECT_EQ(1, found.channel) << name << ": " << found.what;
        if (!has_place(fault.kind)) break;
      }
    }
  }
  EXPECT_GT(planted, 200);
}

TEST(Check, ClicksInDrumsAndNoise) {
  for (const auto& [name, clean] : {std::pair{"drums", drums(3.0)}, {"drums and chord", sum(drums(3.0), chord(3.0))}}) {
    for (const double seconds : {0.3113, 1.4337, 2.2771}) {
      Samples bad = clean;
      for (std::size_t i = 0; i < count(0.1); ++i)
        bad[count(seconds) + i] += 0.3F * (1.0F - static_cast<float>(i) / static_cast<float>(count(0.1)));
      EXPECT_TRUE(has(checked(mono(bad)), FaultKind::click, -1, seconds, 0.004)) << name << " " << seconds;
    }
  }
}

TEST(Check, ACutEndIsAClick) {
  Samples cut = sum(chord(2.0), noise(2.0, 0.005));
  std::size_t at = count(1.2);
  while (std::abs(cut[at]) < 0.2F) ++at;
  std::fill(cut.begin() + static_cast<std::ptrdiff_t>(at), cut.end(), 0.0F);
  EXPECT_TRUE(has(checked(mono(cut)), FaultKind::click, -1, 1.2, 0.005));
}

TEST(Check, ClippingNeedsThreeInARow) {
  Samples samples = sine(1.0, 440.0, 0.5);
  samples[5000] = samples[5001] = 1.0F;
  EXPECT_FALSE(has(checked(mono(samples)), FaultKind::clipping, -1, 0, -1));
  samples[5002] = 1.0F;
  EXPECT_TRUE(has(checked(mono(samples)), FaultKind::clipping, -1, 5000.0 / rate, 1e-9));
  samples[5001] = -1.0F;  // three in a row, but not on one side
  EXPECT_FALSE(has(checked(mono(samples)), FaultKind::clipping, -1, 0, -1));
}

TEST(Check, LevelsAreThoseOfTheSamples) {
  Samples samples = sine(1.0, 440.0, 0.5);
  samples[7] = 1.5F;
  samples[9] = std::numeric_limits<float>::quiet_NaN();
  const CheckReport report = checked(stereo(sine(1.0, 440.0, 0.25), samples));
  EXPECT_NEAR(0.25, report.levels[0].peak, 1e-3);
  EXPECT_NEAR(0.25 / std::sqrt(2.0), report.levels[0].rms, 1e-3);
  EXPECT_NEAR(0.0, report.levels[0].dc, 1e-3);
  EXPECT_FLOAT_EQ(1.5F, static_cast<float>(report.levels[1].peak));
  EXPECT_EQ(1, report.levels[1].over);
  EXPECT_EQ(1, report.levels[1].not_finite);
}

TEST(Check, LengthToTheSample) {
  const Sound sound = mono(sine(1.0, 440.0));
  EXPECT_EQ("", text_of(checked(sound, {.frames = 32000})));
  for (const std::int64_t frames : {std::int64_t{1}, std::int64_t{31999}, std::int64_t{32001}, std::int64_t{1} << 39}) {
    EXPECT_TRUE(has(checked(sound, {.frames = frames}), FaultKind::length, -1, 0, -1)) << frames;
  }
  EXPECT_NE(std::string::npos, text_of(checked(sound, {.frames = 32001})).find("1 too few"));
}

TEST(Check, FaultsAreCountedAndTheListIsBounded) {
  Samples samples = chord(8.0);
  for (std::size_t i = 1; i < 60; ++i) samples[i * count(0.13)] += 0.4F;
  const CheckReport report = checked(mono(samples));
  EXPECT_EQ(max_faults_listed, report.faults.size());
  for (const Fault& fault : report.faults) EXPECT_EQ(59, fault.count);
}

TEST(Check, VeryShortAndOddSounds) {
  for (const std::size_t n : {1U, 2U, 31U, 500U, 2047U}) {
    Samples samples = sine(1.0, 440.0);
    samples.resize(n);
    if (n > 1) samples[1] = 0.3F;
    (void)checked(mono(samples));
  }
  EXPECT_FALSE(check_sound(Sound{{}, 1, rate}));
  EXPECT_FALSE(check_sound(Sound{{0.1F}, 1, 10}));
  const CheckReport report = checked(mono(Samples(32000, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(has(report, FaultKind::not_a_number, -1, 0, -1));
}

// --- phase ---

TEST(PhaseContinuity, OfCleanTonesIsOne) {
  for (const auto& [name, samples] : {std::pair{"sine", sine(3.0, 440.0)},
                                      {"low", sine(3.0, 82.4)},
                                      {"chord", chord(3.0)},
                                      {"saw", saw(3.0, 220.0)},
                                      {"noisy", sum(chord(3.0), noise(3.0, 0.005))}}) {
    const CheckReport report = checked(mono(samples));
    ASSERT_TRUE(report.phase) << name;
    EXPECT_GT(report.phase->score, 0.999) << name;
    EXPECT_GT(report.phase->worst, 0.99) << name;
    EXPECT_GT(report.phase->tonal_seconds, 2.5) << name;
  }
}

TEST(PhaseContinuity, NothingToJudgeInNoiseAndDrums) {
  EXPECT_FALSE(checked(mono(noise(3.0))).phase);
  EXPECT_FALSE(checked(mono(drums(3.0))).phase);
  EXPECT_FALSE(checked(mono(sine(0.05, 440.0))).phase);
}

/// A join whose two sides are faded into each other over `fade` samples, so that nothing clicks; the phase jumps by `degrees`.
Samples joined(double hertz, double seconds, double degrees, std::size_t fade) {
  Samples out = sine(3.0, hertz);
  const std::size_t at = count(seconds);
  for (std::size_t i = at; i < out.size(); ++i) {
    const double t = static_cast<double>(i) / rate;
    const double part = std::min(1.0, static_cast<double>(i - at) / static_cast<double>(fade));
    out[i] = static_cast<float>((1.0 - part) * out[i] + part * 0.5 * std::sin(turn(hertz * t + degrees / 360.0)));
  }
  return out;
}

TEST(PhaseContinuity, AJumpLowersIt) {
  for (const double hertz : {110.0, 440.0, 2000.0}) {
    for (const double degrees : {90.0, 150.0, -120.0}) {
      for (const double seconds : {0.7, 1.5, 2.3}) {
        const CheckReport report = checked(mono(joined(hertz, seconds, degrees, count(0.008))));
        const auto name = fmt::format("{} Hz, {} degrees at {} s", hertz, degrees, seconds);
        ASSERT_TRUE(report.phase) << name;
        EXPECT_LT(report.phase->score, 0.997) << name;
        EXPECT_LT(report.phase->worst, 0.6) << name;
        EXPECT_NEAR(seconds, report.phase->worst_seconds, 0.05) << name;
        EXPECT_TRUE(has(report, FaultKind::phase_jump, -1, seconds, 0.05)) << name << "\n" << text_of(report);
      }
    }
  }
}

TEST(PhaseContinuity, FallsWithTheJump) {
  double last = 1.0;
  for (const double degrees : {20.0, 45.0, 90.0, 135.0}) {
    const CheckReport report = checked(mono(joined(440.0, 1.5, degrees, count(0.008))));
    ASSERT_TRUE(report.phase);
    EXPECT_LT(report.phase->worst, last - 0.01) << degrees;
    last = report.phase->worst;
    const double expected = 0.5 * (1.0 + std::cos(degrees / 180.0 * std::numbers::pi));
    EXPECT_NEAR(expected, report.phase->worst, 0.05) << degrees;
  }
}

TEST(PhaseContinuity, AToneStruckAgainIsNoJump) {
  EXPECT_FALSE(has(checked(mono(staccato(4.0))), FaultKind::phase_jump, -1, 0, -1));
  EXPECT_FALSE(has(checked(mono(arpeggio(6.0))), FaultKind::phase_jump, -1, 0, -1));
}

// --- files ---

class CheckedFile : public ::testing::Test {
 protected:
  std::string path_ = std::string(CONTINUO_BINARY_DIR) + "/check-test-" + std::to_string(::getpid()) + ".wav";
  ~CheckedFile() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  void write(std::vector<std::byte> bytes) const {
    auto file = AtomicFile::open(path_);
    ASSERT_TRUE(file && file->write(bytes) && file->commit());
  }
};

TEST_F(CheckedFile, NotANumberIsSeenInFloats) {
  Samples samples = sine(1.0, 440.0);
  auto bytes = *encode_wav(samples, 1, rate, SampleFormat::float32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + bytes.size() - 4 * 16000, &nan, 4);
  write(bytes);
  const auto sound = read_for_check(path_);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_TRUE(has(checked(*sound), FaultKind::not_a_number, -1, 0.5, 1e-3));
}

TEST_F(CheckedFile, TruncatedAndForeignFilesAreErrors) {
  auto bytes = *encode_wav(sine(1.0, 440.0), 1, rate, SampleFormat::pcm16);
  bytes.resize(bytes.size() - 100);
  write(bytes);
  const auto cut = read_for_check(path_);
  ASSERT_FALSE(cut);
  EXPECT_NE(std::string::npos, cut.error().message.find("truncated"));
  write(std::vector<std::byte>(1000, std::byte{7}));
  EXPECT_FALSE(read_for_check(path_));
  EXPECT_FALSE(read_for_check(path_ + ".not-there"));
}

}  // namespace
}  // namespace continuo::audio
