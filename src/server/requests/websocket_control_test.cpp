#include "server/requests/websocket_control.h"

#include <nlohmann/json.hpp>

#include "server/requests/context_test.h"

namespace continuo::server {
namespace {

using nlohmann::json;

Parsed<ControlMessage> parse(const TestContext& context, const char* text, Channel channel = Channel::stream) {
  return parse_control(text, channel, context, SceneTable::built_in());
}

template <class Message>
Message get(Parsed<ControlMessage> parsed) {
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  if (!parsed || !std::holds_alternative<Message>(*parsed)) {
    ADD_FAILURE() << "another message";
    return {};
  }
  return std::get<Message>(std::move(*parsed));
}

TEST(WebSocketControlTest, StartOfAStream) {
  TestContext context;
  const auto start = get<StartMessage>(
      parse(context, R"({"type": "start", "prompt": "rain", "duration": 4, "format": "f32", "sample_rate": 48000, "channels": 2,
                         "chunk": 0.1, "window": 65536, "priority": "realtime"})"));
  EXPECT_EQ(start.spec.family, "stream");
  EXPECT_TRUE(start.spec.streamed);
  EXPECT_TRUE(start.spec.keep);
  EXPECT_EQ(start.spec.request.prompt, "rain");
  EXPECT_EQ(start.spec.request.seconds, 4.0);
  EXPECT_EQ(start.spec.request.chunk_seconds, 0.1);
  EXPECT_FALSE(start.spec.request.endless);
  EXPECT_EQ(start.spec.request.service, engine::Service::realtime);
  EXPECT_EQ(start.sound.format, WireFormat::f32);
  EXPECT_EQ(start.sound.sample_rate, 48'000);
  EXPECT_EQ(start.sound.channels, 2);
  EXPECT_EQ(start.sound.window, 65'536);
  EXPECT_FALSE(start.scene.has_value());
}

TEST(WebSocketControlTest, StartOfALivePieceFromAScene) {
  TestContext context;
  const auto start = get<StartMessage>(
      parse(context, R"({"type": "start", "scene": {"scene": "city", "intensity": 0}, "temperature": 0.5})", Channel::live));
  EXPECT_EQ(start.spec.family, "live");
  EXPECT_TRUE(start.spec.request.endless);
  EXPECT_FALSE(start.spec.keep);
  EXPECT_EQ(start.spec.request.temperature, 0.5F);
  EXPECT_EQ(start.spec.request.guidance, 3.0F);
  ASSERT_TRUE(start.scene.has_value());
  EXPECT_EQ(start.sound.format, WireFormat::pcm16);
  EXPECT_EQ(start.sound.window, 0);
}

TEST(WebSocketControlTest, TheOtherMessages) {
  TestContext context;
  EXPECT_EQ(get<AckMessage>(parse(context, R"({"type": "ack", "offset": 9007199254740992})")).offset, 9007199254740992);
  EXPECT_EQ(get<ResumeMessage>(parse(context, R"({"type": "resume", "token": "t_1", "offset": 64})")).token, "t_1");
  EXPECT_EQ(get<ResumeMessage>(parse(context, R"({"type": "resume", "token": "t_1", "offset": 64})")).offset, 64);
  EXPECT_EQ(get<PingMessage>(parse(context, R"({"type": "ping", "id": "x"})")).id, "x");
  get<CancelMessage>(parse(context, R"({"type": "cancel"})"));
  const auto change = get<ChangeMessage>(parse(context, R"({"type": "change", "prompt": "storm", "guidance_scale": 2.5})"));
  EXPECT_EQ(change.change.prompt, "storm");
  EXPECT_EQ(change.change.guidance, 2.5F);
  EXPECT_FALSE(change.change.temperature.has_value());
  const auto scene = get<ChangeMessage>(
      parse(context, R"({"type": "change", "scene": {"scene": "battle", "intensity": 1}, "guidance_scale": 2})", Channel::live));
  EXPECT_EQ(scene.change.guidance, 2.0F);
  EXPECT_EQ(scene.change.temperature, 1.0F);
  EXPECT_NE(scene.change.prompt->find("battle"), std::string::npos);
}

class BadControl : public testing::TestWithParam<BadBody> {};

TEST_P(BadControl, IsRefusedInWords) {
  TestContext context;
  expect_refused(parse(context, GetParam().body), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadControl,
    testing::Values(
        BadBody{"start", 400, "", "the body cannot be read: it is not JSON from byte 1 on"},
        BadBody{"{}", 422, "type", "type is missing: start, resume, change, ack, cancel or ping"},
        BadBody{R"({"type": "stop"})", 422, "type", "type must be start, resume, change, ack, cancel or ping"},
        BadBody{R"({"type": "start"})", 422, "prompt", "prompt is missing (\"\" is music without one)"},
        BadBody{R"({"type": "start", "prompt": "a", "format": "wav"})", 422, "format", "format must be pcm16 or f32"},
        BadBody{R"({"type": "start", "prompt": "a", "takes": 2})", 422, "takes", "a stream is one piece; leave takes out"},
        BadBody{R"({"type": "start", "prompt": "a", "fade_in": 2})", 422, "fade_in",
                "a stream holds the model's own sound; leave fade_in out"},
        BadBody{R"({"type": "start", "prompt": "a", "chunk": 0})", 422, "chunk", "chunk must be from 0.02 to 10, not 0"},
        BadBody{R"({"type": "start", "prompt": "a", "window": 1})", 422, "window",
                "window must be a whole number from 16384 to 67108864"},
        BadBody{R"({"type": "start", "prompt": "a", "scene": {"scene": "city"}})", 422, "scene",
                "give a prompt or a scene, not both"},
        BadBody{
            R"({"type": "start", "scene": {"scene": "moon"}})", 422, "scene.scene",
            "there is no scene 'moon'; there are battle, boss, chase, city, dungeon, exploration, menu, puzzle, space, stealth, "
            "victory, village"},
        BadBody{R"({"type": "start", "prompt": "a", "durations": 1})", 422, "durations",
                "there is no field 'durations'; did you mean duration?"},
        BadBody{R"({"type": "resume", "token": "a"})", 422, "offset", "offset is missing: the bytes of sound that you have"},
        BadBody{R"({"type": "resume", "offset": 1})", 422, "token", "token is missing: the one that ready told"},
        BadBody{R"({"type": "resume", "token": "a/b", "offset": 1})", 422, "token", "token is not one that ready told"},
        BadBody{R"({"type": "ack", "offset": -1})", 422, "offset", "offset must be a whole number from 0 to 9007199254740992"},
        BadBody{R"({"type": "change"})", 422, "prompt", "a change says prompt, scene, guidance_scale or temperature"},
        BadBody{R"({"type": "change", "seed": 3})", 422, "seed", "there is no field 'seed'"},
        BadBody{R"({"type": "cancel", "now": true})", 422, "now", "there is no field 'now'"}));

TEST(WebSocketControlTest, ALivePieceHasNoEnd) {
  TestContext context;
  for (const char* field : {R"("duration": 5)", R"("segments": [{"duration": 5}])", R"("takes": 1)",
                            R"("continue": {"upload": "a"})", R"("keep": true)", R"("title": "t")"}) {
    const auto parsed =
        parse(context, (R"({"type": "start", "prompt": "a", )" + std::string(field) + "}").c_str(), Channel::live);
    ASSERT_FALSE(parsed.has_value()) << field;
    EXPECT_EQ(parsed.error().message.find("a live piece has no end; leave"), 0U) << parsed.error().message;
  }
}

TEST(WebSocketControlTest, WhatTheServerSays) {
  ReadyFacts facts;
  facts.token = "t";
  facts.job = "j";
  facts.model = "small";
  facts.sample_rate = 32'000;
  facts.channels = 1;
  facts.frames = 64'000;
  facts.seed = 18446744073709551615U;
  facts.prompt = "rain";
  facts.resume_seconds = 60;
  EXPECT_EQ(
      ready_message(facts),
      R"({"type":"ready","token":"t","job":"j","model":"small","format":"pcm16","sample_rate":32000,"channels":1,"frames":64000,)"
      R"("seed":18446744073709551615,"offset":0,"window":0,"prompt":"rain","resume_seconds":60.0})");
  facts.frames.reset();
  EXPECT_TRUE(json::parse(ready_message(facts))["frames"].is_null());
  EXPECT_EQ(queued_message(2, 1.5), R"({"type":"queued","place":2,"eta_seconds":1.5})");
  EXPECT_EQ(started_message(true), R"({"type":"started","realtime":true})");
  EXPECT_EQ(progress_message(1.5, std::nullopt, 3), R"({"type":"progress","seconds":1.5,"total":null,"eta_seconds":null})");
  EXPECT_EQ(changed_message("storm", 2.7F, std::nullopt), R"({"type":"changed","prompt":"storm","guidance_scale":2.7})");
  EXPECT_EQ(done_message(128, 0.5), R"({"type":"done","bytes":128,"seconds":0.5})");
  EXPECT_EQ(pong_message("x"), R"({"type":"pong","id":"x"})");
  EXPECT_EQ(
      error_message({422, "no", "prompt", "invalid_value"}),
      R"({"type":"error","error":{"code":"invalid_value","message":"no","param":"prompt","type":"invalid_request_error"},"status":422})");
}

}  // namespace
}  // namespace continuo::server
