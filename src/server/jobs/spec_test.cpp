#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/jobs/job.h"

namespace continuo::server {
namespace {

/// Nothing in it is what it is by default.
JobSpec full_spec() {
  JobSpec spec;
  spec.family = "batch";
  spec.model = "demo";
  spec.request.prompt = "Flöte, \"leise\"\n\U0001F3B5";
  spec.request.seconds = 12.34;
  spec.request.seed = 0xFFFF'FFFF'FFFF'FFFEULL;
  spec.request.take = 3;
  spec.request.strategy = engine::Strategy::greedy;
  spec.request.temperature = 0.1F;
  spec.request.top_k = 17;
  spec.request.top_p = 0.3F;
  spec.request.guidance = 2.7F;
  spec.request.segments = {{"a", 1.1, engine::Join::continued}, {"b", 2.2, engine::Join::crossfaded}};
  spec.request.crossfade_seconds = 0.7;
  spec.request.service = engine::Service::realtime;
  spec.request.realtime_or_nothing = true;
  spec.request.endless = true;
  spec.request.chunk_seconds = 0.25;
  spec.request.buffer_seconds = 3.5;
  spec.takes = 4;
  spec.continue_upload = "up-1";
  spec.continue_seconds = 4.4;
  spec.melody_upload = "up-2";
  spec.output.format = audio::FileFormat::opus;
  spec.output.samples = audio::SampleFormat::float32;
  spec.output.bit_rate = 96'000;
  spec.output.whole = true;
  spec.output.finish.sample_rate = 48'000;
  spec.output.finish.channels = 2;
  spec.output.finish.loudness = -14.3;
  spec.output.finish.gate = audio::GateOptions{-61.0, 5.0, 0.001, 0.04, 0.2};
  spec.output.finish.loop = audio::LoopOptions{0.9, 0.8, 7.7};
  spec.output.finish.fade_in = 0.11;
  spec.output.finish.fade_out = 0.22;
  spec.output.finish.keep_level = true;
  spec.output.finish.level_rest = 1.5;
  spec.output.finish.level_anew = {2.5};
  spec.output.finish.ceiling_db = -0.5;
  spec.title = "Eins";
  spec.keep = false;
  spec.webhook = "https://hooks.example.org/x?y=1";
  spec.client = "key:somebody";
  spec.batch = "batch-1";
  spec.streamed = true;
  return spec;
}

TEST(Spec, ComesBackAsItWas) {
  const JobSpec spec = full_spec();
  const std::string text = write_spec(spec);
  const auto back = read_spec(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(text, write_spec(*back));
  EXPECT_EQ(back->request.seed, spec.request.seed);
  EXPECT_EQ(back->request.prompt, spec.request.prompt);
  EXPECT_EQ(back->request.temperature, spec.request.temperature);
  EXPECT_EQ(back->request.segments.at(1).join, engine::Join::crossfaded);
  EXPECT_EQ(back->request.service, engine::Service::realtime);
  EXPECT_EQ(back->output.format, audio::FileFormat::opus);
  EXPECT_EQ(back->output.finish.loop->seconds, 7.7);
  EXPECT_EQ(back->output.finish.gate->hold_seconds, 0.04);
  EXPECT_EQ(back->output.finish.loudness, -14.3);
  EXPECT_EQ(back->continue_seconds, 4.4);
  EXPECT_FALSE(back->keep);
}

TEST(Spec, EveryFieldIsWritten) {
  // A field that differs from its default and is not written would come back as the default.
  const auto defaults = nlohmann::json::parse(write_spec(JobSpec())).flatten();
  const auto full = nlohmann::json::parse(write_spec(full_spec())).flatten();
  for (const auto& [name, value] : defaults.items()) {
    if (name == "/version") continue;
    EXPECT_TRUE(!full.contains(name) || full[name] != value) << name;
  }
}

TEST(Spec, OptionalFieldsMayBeAbsent) {
  const auto back = read_spec(write_spec(JobSpec()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->output.finish.gate);
  EXPECT_FALSE(back->output.finish.loop);
  EXPECT_FALSE(back->continue_seconds);
}

TEST(Spec, RefusesWhatItDidNotWrite) {
  const auto good = nlohmann::ordered_json::parse(write_spec(full_spec()));
  const auto refused = [](const nlohmann::ordered_json& json) {
    const auto read = read_spec(json.dump());
    return read ? std::string("accepted") : read.error().message;
  };
  const std::string head = "the record of a job cannot be read: ";
  EXPECT_EQ(refused(good), "accepted");
  EXPECT_EQ(read_spec("{").error().message, head + "it is not JSON");
  EXPECT_EQ(refused(nlohmann::ordered_json::array()), head + "an object is missing");
  for (const auto& [name, value] : good.items()) {
    auto json = good;
    json.erase(name);
    EXPECT_EQ(refused(json), head + "'" + name + "' is missing");
    json = good;
    json[name] = nlohmann::ordered_json::array({nullptr});
    EXPECT_NE(refused(json), "accepted") << name;
  }
  auto json = good;
  json["more"] = 1;
  EXPECT_EQ(refused(json), head + "it has fields that nobody knows");
  json = good;
  json["request"]["more"] = 1;
  EXPECT_EQ(refused(json), head + "it has fields that nobody knows");
  json = good;
  json["version"] = 2;
  EXPECT_EQ(refused(json), head + "it is of version 2, not 1");
  for (const auto& number : {nlohmann::ordered_json(-1), nlohmann::ordered_json(2), nlohmann::ordered_json(1.0)}) {
    json = good;
    json["request"]["service"] = number;
    EXPECT_EQ(refused(json), head + "'service' is not what it should be");
  }
  json = good;
  json["takes"] = 3'000'000'000;
  EXPECT_EQ(refused(json), head + "'takes' is not what it should be");
  json["takes"] = 18'446'744'073'709'551'615ULL;
  EXPECT_EQ(refused(json), head + "'takes' is not what it should be");
  json = good;
  json["request"]["seed"] = -1;
  EXPECT_EQ(refused(json), head + "'seed' is not what it should be");
  json = good;
  json["request"]["sampling"]["temperature"] = 0.1;  // no float is that
  EXPECT_EQ(refused(json), head + "'temperature' is not what it should be");
}

}  // namespace
}  // namespace continuo::server
