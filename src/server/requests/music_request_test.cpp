#include "server/requests/music_request.h"

#include <nlohmann/json.hpp>

#include "server/requests/context_test.h"

namespace continuo::server {
namespace {

using nlohmann::json;

TEST(MusicRequestTest, APromptIsEnough) {
  TestContext context;
  const auto spec = parse_music_request(R"({"prompt": "soft piano"})", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->family, "jobs");
  EXPECT_EQ(spec->model, "small");
  EXPECT_EQ(spec->client, "ip:127.0.0.1");
  EXPECT_EQ(spec->request.prompt, "soft piano");
  EXPECT_EQ(spec->request.seconds, 10.0);
  EXPECT_EQ(spec->request.seed, 1001U);
  EXPECT_EQ(spec->request.take, 1);
  EXPECT_EQ(spec->request.temperature, 1.0F);
  EXPECT_EQ(spec->request.top_k, 250);
  EXPECT_EQ(spec->request.top_p, 0.0F);
  EXPECT_EQ(spec->request.guidance, 3.0F);
  EXPECT_EQ(spec->request.strategy, engine::Strategy::sample);
  EXPECT_EQ(spec->request.service, engine::Service::normal);
  EXPECT_FALSE(spec->request.endless);
  EXPECT_EQ(spec->takes, 1);
  EXPECT_TRUE(spec->keep);
  EXPECT_FALSE(spec->streamed);
  EXPECT_EQ(spec->output.format, audio::FileFormat::wav);
  EXPECT_EQ(spec->output.samples, audio::SampleFormat::pcm16);
  EXPECT_FALSE(spec->output.finish.sample_rate.has_value());
  EXPECT_EQ(spec->output.finish.ceiling_db, 0.0);
  EXPECT_FALSE(spec->output.whole);
}

TEST(MusicRequestTest, DefaultsAreTheModels) {
  TestContext context;
  context.melody.defaults = {2.0F, 0.9F, 5000, 0.8F};
  const auto spec = parse_music_request(R"({"model": "melody", "prompt": ""})", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->request.guidance, 2.0F);
  EXPECT_EQ(spec->request.temperature, 0.9F);
  EXPECT_EQ(spec->request.top_k, 2048);
  EXPECT_EQ(spec->request.top_p, 0.8F);
  // A top_k of one's own means top_k.
  const auto top_k = parse_music_request(R"({"model": "melody", "prompt": "", "top_k": 50})", context);
  ASSERT_TRUE(top_k.has_value());
  EXPECT_EQ(top_k->request.top_k, 50);
  EXPECT_EQ(top_k->request.top_p, 0.0F);
}

TEST(MusicRequestTest, TakesEveryField) {
  TestContext context;
  const auto spec = parse_music_request(
      R"({"model": "melody", "prompt": "p", "duration": 20.5, "seed": 18446744073709551615, "takes": 3, "take": 2, "temperature": 0.7,
          "top_k": 10, "top_p": 0.25, "guidance_scale": 4.5, "strategy": "greedy", "continue": {"upload": "abc_-1", "last": 5},
          "melody": {"upload": "def"}, "title": "A title", "keep": false, "webhook": "https://hooks.example.org/x?y=1",
          "priority": "realtime", "format": "flac", "sample_rate": 44100, "channels": 2, "bits": 24, "loudness": -14, "fade_in": 0.5,
          "fade_out": 2, "loop": false, "gate": -60})",
      context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->request.seconds, 20.5);
  EXPECT_EQ(spec->request.seed, 18446744073709551615U);
  EXPECT_EQ(spec->takes, 3);
  EXPECT_EQ(spec->request.take, 2);
  EXPECT_EQ(spec->request.temperature, 0.7F);
  EXPECT_EQ(spec->request.top_k, 10);
  EXPECT_EQ(spec->request.top_p, 0.25F);
  EXPECT_EQ(spec->request.guidance, 4.5F);
  EXPECT_EQ(spec->request.strategy, engine::Strategy::greedy);
  EXPECT_EQ(spec->continue_upload, "abc_-1");
  EXPECT_EQ(spec->continue_seconds, 5.0);
  EXPECT_EQ(spec->melody_upload, "def");
  EXPECT_EQ(spec->title, "A title");
  EXPECT_FALSE(spec->keep);
  EXPECT_EQ(spec->webhook, "https://hooks.example.org/x?y=1");
  EXPECT_EQ(spec->request.service, engine::Service::realtime);
  EXPECT_EQ(spec->output.format, audio::FileFormat::flac);
  EXPECT_EQ(spec->output.samples, audio::SampleFormat::pcm24);
  EXPECT_EQ(spec->output.finish.sample_rate, 44'100);
  EXPECT_EQ(spec->output.finish.channels, 2);
  EXPECT_EQ(spec->output.finish.loudness, -14.0);
  EXPECT_EQ(spec->output.finish.fade_in, 0.5);
  EXPECT_EQ(spec->output.finish.fade_out, 2.0);
  EXPECT_FALSE(spec->output.finish.loop.has_value());
  ASSERT_TRUE(spec->output.finish.gate.has_value());
  EXPECT_EQ(spec->output.finish.gate->threshold_db, -60.0);
  EXPECT_EQ(spec->output.finish.ceiling_db, -1.0);
  EXPECT_TRUE(spec->output.whole);
}

TEST(MusicRequestTest, ARelayHasItsPromptsAndLengthInItsSegments) {
  TestContext context;
  const auto spec = parse_music_request(
      R"({"segments": [{"prompt": "a", "duration": 4}, {"prompt": "b", "duration": 5, "join": "crossfade"},
                       {"duration": 6, "join": "continue"}], "crossfade": 0.5})",
      context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  ASSERT_EQ(spec->request.segments.size(), 3U);
  EXPECT_EQ(spec->request.prompt, "a");
  EXPECT_EQ(spec->request.seconds, 15.0);
  EXPECT_EQ(spec->request.segments[1].join, engine::Join::crossfaded);
  EXPECT_EQ(spec->request.segments[2].prompt, "");
  EXPECT_EQ(spec->request.segments[2].join, engine::Join::continued);
  EXPECT_EQ(spec->request.crossfade_seconds, 0.5);
}

TEST(MusicRequestTest, LossyFormatsGetARateThatTheyHave) {
  TestContext context;
  auto spec = parse_music_request(R"({"prompt": "", "format": "ogg"})", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->output.format, audio::FileFormat::opus);
  EXPECT_EQ(spec->output.finish.sample_rate, 48'000);
  EXPECT_EQ(spec->output.finish.ceiling_db, -1.0);
  spec = parse_music_request(R"({"prompt": "", "format": "mp3", "bitrate": 192000})", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_FALSE(spec->output.finish.sample_rate.has_value());
  EXPECT_EQ(spec->output.bit_rate, 192'000);
  context.text.codec.sample_rate = 16'000;
  context.text.codec.ratios = {8, 5, 4, 2};
  spec = parse_music_request(R"({"prompt": "", "format": "mp3"})", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->output.finish.sample_rate, 48'000);
}

class BadMusicRequests : public testing::TestWithParam<BadBody> {};

TEST_P(BadMusicRequests, AreRefusedInWords) {
  TestContext context;
  expect_refused(parse_music_request(GetParam().body, context), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadMusicRequests,
    testing::Values(
        BadBody{"{", 400, "", "the body cannot be read: it is not JSON from byte 2 on"},
        BadBody{"[]", 400, "", "the body must be a JSON object"},
        BadBody{R"({"prompt": "a", "prompt": "b"})", 400, "prompt", "the body cannot be read: the name 'prompt' is there twice"},
        BadBody{"{}", 422, "prompt", "prompt is missing (\"\" is music without one)"},
        BadBody{R"({"promt": "a"})", 422, "promt", "there is no field 'promt'; did you mean prompt?"},
        BadBody{R"({"prompt": "a", "guidance": 3})", 422, "guidance",
                "there is no field 'guidance'; did you mean guidance_scale?"},
        BadBody{R"({"prompt": ["a"]})", 422, "prompt", "prompt must be a text"},
        BadBody{R"({"prompt": "0123456789012345678901234567890123456789012345678901234567890"})", 422, "prompt",
                "prompt has 61 bytes; at most 60 are accepted"},
        BadBody{R"({"prompt": "a", "model": "smal"})", 404, "model",
                "there is no model 'smal' here (did you mean small?); GET /v1/models lists them"},
        BadBody{R"({"prompt": "a", "model": "../../etc/passwd"})", 404, "model",
                "there is no model '../../etc/passwd' here; GET /v1/models lists them"},
        BadBody{R"({"prompt": "a", "duration": 0})", 422, "duration", "duration must be above 0 and at most 600, not 0"},
        BadBody{R"({"prompt": "a", "duration": -3})", 422, "duration", "duration must be above 0 and at most 600, not -3"},
        BadBody{R"({"prompt": "a", "duration": 600.5})", 422, "duration", "duration must be above 0 and at most 600, not 600.5"},
        BadBody{R"({"prompt": "a", "duration": 0.001})", 422, "duration",
                "duration is shorter than one frame; the shortest piece has 0.02 s"},
        BadBody{R"({"prompt": "a", "duration": "10"})", 422, "duration", "duration must be a number"},
        BadBody{R"({"prompt": "a", "seed": -1})", 422, "seed", "seed must be a whole number from 0 to 18446744073709551615"},
        BadBody{R"({"prompt": "a", "seed": 1.5})", 422, "seed", "seed must be a whole number from 0 to 18446744073709551615"},
        BadBody{R"({"prompt": "a", "takes": 9})", 422, "takes", "takes must be a whole number from 1 to 8"},
        BadBody{R"({"prompt": "a", "temperature": -0.5})", 422, "temperature", "temperature must be from 0 to 100, not -0.5"},
        BadBody{R"({"prompt": "a", "top_k": 2049})", 422, "top_k", "top_k must be a whole number from 0 to 2048"},
        BadBody{R"({"prompt": "a", "top_p": 1.5})", 422, "top_p", "top_p must be from 0 to 1, not 1.5"},
        BadBody{R"({"prompt": "a", "guidance_scale": 101})", 422, "guidance_scale",
                "guidance_scale must be from 0 to 100, not 101"},
        BadBody{R"({"prompt": "a", "strategy": "beam"})", 422, "strategy",
                "beam search is not in this version; leave strategy out to sample"},
        BadBody{R"({"prompt": "a", "strategy": "best"})", 422, "strategy",
                "strategy must be sample, greedy, beam or beam_search"},
        BadBody{R"({"prompt": "a", "continue": "ID"})", 422, "continue", "continue must be an object"},
        BadBody{R"({"prompt": "a", "continue": {"last": 3}})", 422, "continue.upload",
                "continue.upload is missing: the id of what is to be continued"},
        BadBody{R"({"prompt": "a", "continue": {"upload": "../x"}})", 422, "continue.upload", "continue.upload is not an id"},
        BadBody{R"({"prompt": "a", "continue": {"upload": "x", "first": 3}})", 422, "continue.first",
                "there is no field 'first' in continue"},
        BadBody{R"({"prompt": "a", "melody": {"upload": "x"}})", 422, "melody",
                "the model small cannot follow a melody; take a melody model (/v1/models says which can)"},
        BadBody{R"({"prompt": "a", "segments": [{"duration": 3}]})", 422, "prompt",
                "the segments say the prompts and how long each lasts; leave prompt out"},
        BadBody{R"({"segments": []})", 422, "segments", "segments is empty; leave it out for one prompt"},
        BadBody{R"({"segments": [{"prompt": "a"}]})", 422, "segments[0].duration",
                "segments[0].duration is missing: the seconds of this segment"},
        BadBody{R"({"segments": [{"prompt": "a", "duration": 3, "join": "crossfade"}]})", 422, "segments[0].join",
                "the first segment has nothing to be crossfaded with"},
        BadBody{R"({"segments": [{"prompt": "a", "duration": 3}, {"promt": "b", "duration": 3}]})", 422, "segments[1].promt",
                "there is no field 'promt' in segments[1]; did you mean prompt?"},
        BadBody{R"({"segments": [{"duration": 3}, 7]})", 422, "segments[1]", "segments[1] must be a JSON object"},
        BadBody{R"({"segments": [{"duration": 400}, {"duration": 300}]})", 422, "segments",
                "the segments last 700 s together; at most 600 s are made"},
        BadBody{R"({"segments": [{"duration": 0.001}]})", 422, "segments",
                "0.001 s are shorter than one frame; the shortest piece is 0.02 s"},
        BadBody{R"({"segments": [{"duration": 1}, {"duration": 1}, {"duration": 1}, {"duration": 1}]})", 422, "segments",
                "segments has 4 entries; at most 3 are accepted"},
        BadBody{R"({"model": "melody", "segments": [{"duration": 1}, {"duration": 1}]})", 422, "segments",
                "a melody model hears its prompt at the start only; join the segments of a relay by crossfades"},
        BadBody{R"({"segments": [{"duration": 1}, {"duration": 1}], "crossfade": 0.3})", 422, "crossfade",
                "crossfade is for segments with \"join\": \"crossfade\", and there are none"},
        BadBody{R"({"prompt": "a", "title": "two\nlines"})", 422, "title", "title must be one line"},
        BadBody{R"({"prompt": "a", "webhook": "https://elsewhere.example.org/"})", 422, "webhook",
                "the host elsewhere.example.org of the webhook is not one that this server may call; its operator lists them"},
        BadBody{R"({"prompt": "a", "priority": "high"})", 422, "priority", "priority must be normal or realtime"},
        BadBody{R"({"prompt": "a", "format": "aiff"})", 422, "format", "format must be wav, flac, mp3, m4a or ogg"},
        BadBody{R"({"prompt": "a", "sample_rate": 22050})", 422, "sample_rate", "sample_rate must be 32000, 44100 or 48000"},
        BadBody{R"({"prompt": "a", "format": "ogg", "sample_rate": 44100})", 422, "sample_rate",
                "ogg (Opus) has only a sample rate of 48000"},
        BadBody{R"({"prompt": "a", "channels": 6})", 422, "channels", "channels must be 1 or 2"},
        BadBody{R"({"prompt": "a", "format": "mp3", "bits": 16})", 422, "bits",
                "bits is for wav and flac; mp3 has no sample format"},
        BadBody{R"({"prompt": "a", "format": "flac", "bits": 32})", 422, "bits",
                "flac holds samples of 16 or 24 bits; for 32-bit floats take wav"},
        BadBody{R"({"prompt": "a", "bitrate": 128000})", 422, "bitrate", "bitrate is for mp3, m4a and ogg; wav loses nothing"},
        BadBody{R"({"prompt": "a", "loudness": -3})", 422, "loudness", "loudness must be from -40 to -5, not -3"},
        BadBody{R"({"prompt": "a", "loop": true, "fade_out": 1})", 422, "loop",
                "a loop has no beginning and no end to fade; leave out the fades or the loop"},
        BadBody{R"({"prompt": "a", "loop": 1})", 422, "loop", "loop must be true or false"}));

TEST(MusicRequestTest, TooMuchIsRefusedUnread) {
  TestContext context;
  context.context.limits.body_bytes = 10;
  const auto spec = parse_music_request(R"({"prompt": "a"})", context);
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().status, 413);
}

TEST(MusicRequestTest, WithoutAModelItIsTooEarly) {
  TestContext context;
  context.context.models.clear();
  const auto spec = parse_music_request(R"({"prompt": "a"})", context);
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().status, 503);
}

/// All that a settings export says, read again, says the same.
TEST(MusicRequestTest, RoundTrips) {
  TestContext context;
  for (
      const char* body :
      {R"({"prompt": "soft piano"})",
       R"({"model": "melody", "prompt": "p \"quoted\" \u00fc", "duration": 0.1, "seed": 18446744073709551615, "takes": 2, "take": 5,
            "temperature": 0.7, "top_p": 0.9, "guidance_scale": 1.1, "strategy": "greedy", "continue": {"upload": "a", "last": 2.5},
            "melody": {"upload": "b"}, "title": "t", "keep": false, "priority": "realtime", "format": "wav", "sample_rate": 48000,
            "channels": 2, "bits": 32, "loudness": -23, "gate": -50.5, "loop": true})",
       R"({"segments": [{"prompt": "a", "duration": 4}, {"prompt": "b", "duration": 5.25, "join": "crossfade"}], "crossfade": 0.2,
            "format": "mp3", "bitrate": 128000, "fade_in": 0.25, "fade_out": 1})",
       R"({"prompt": "", "format": "ogg"})", R"({"prompt": "", "format": "flac", "bits": 24})"}) {
    const auto first = parse_music_request(body, context);
    ASSERT_TRUE(first.has_value()) << body << first.error().message;
    const std::string text = music_request_json(*first);
    const auto second = parse_music_request(text, context);
    ASSERT_TRUE(second.has_value()) << text << second.error().message;
    EXPECT_EQ(music_request_json(*second), text);
    EXPECT_EQ(second->request.seed, first->request.seed);
    EXPECT_EQ(second->request.temperature, first->request.temperature);
    EXPECT_EQ(second->request.guidance, first->request.guidance);
    EXPECT_EQ(second->output.whole, first->output.whole);
  }
}

TEST(MusicRequestTest, ExportsShortNumbers) {
  TestContext context;
  const auto spec = parse_music_request(R"({"prompt": "a", "duration": 8.2, "temperature": 0.7, "seed": 5})", context);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(
      music_request_json(*spec),
      R"({"model":"small","prompt":"a","duration":8.2,"seed":5,"takes":1,"strategy":"sample","temperature":0.7,"top_k":250,)"
      R"("top_p":0.0,"guidance_scale":3.0,"format":"wav","bits":16})");
}

TEST(BatchTest, PromptsShareTheRest) {
  TestContext context;
  const auto specs = parse_batch(R"({"prompts": ["a", "b"], "duration": 3})", context);
  ASSERT_TRUE(specs.has_value()) << specs.error().message;
  ASSERT_EQ(specs->size(), 2U);
  EXPECT_EQ((*specs)[0].family, "batch");
  EXPECT_EQ((*specs)[0].request.prompt, "a");
  EXPECT_EQ((*specs)[1].request.prompt, "b");
  EXPECT_EQ((*specs)[1].request.seconds, 3.0);
  EXPECT_EQ((*specs)[0].request.seed, 1001U);
  EXPECT_EQ((*specs)[1].request.seed, 1001U);
}

TEST(BatchTest, RequestsStandForThemselves) {
  TestContext context;
  const auto specs = parse_batch(R"({"requests": [{"prompt": "a", "seed": 1}, {"prompt": "b", "duration": 4}]})", context);
  ASSERT_TRUE(specs.has_value()) << specs.error().message;
  EXPECT_EQ((*specs)[0].request.seed, 1U);
  EXPECT_EQ((*specs)[1].request.seconds, 4.0);
}

class BadBatches : public testing::TestWithParam<BadBody> {};

TEST_P(BadBatches, AreRefusedInWords) {
  TestContext context;
  expect_refused(parse_batch(GetParam().body, context), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadBatches,
    testing::Values(
        BadBody{"{}", 422, "prompts", "prompts is missing: a list of texts (or requests, a list of music requests)"},
        BadBody{R"({"prompts": "a"})", 422, "prompts", "prompts must be a list"},
        BadBody{R"({"prompts": []})", 422, "prompts", "prompts is empty"},
        BadBody{R"({"prompts": ["a", "b", "c", "d"]})", 422, "prompts", "prompts has 4 entries; at most 3 are accepted"},
        BadBody{R"({"prompts": ["a", 2]})", 422, "prompts[1]", "prompts[1] must be a text"},
        BadBody{R"({"prompts": ["a", null]})", 422, "prompts[1]", "prompts[1] is missing (\"\" is music without one)"},
        BadBody{R"({"prompts": ["a"], "prompt": "b"})", 422, "prompt",
                "a batch has its prompts in prompts; for more than that give whole requests in requests"},
        BadBody{R"({"prompts": ["a"], "durations": 3})", 422, "durations",
                "there is no field 'durations'; did you mean duration?"},
        BadBody{R"({"prompts": ["a"], "requests": []})", 422, "requests", "give prompts, or whole requests; not both"},
        BadBody{R"({"requests": [{"prompt": "a"}], "duration": 3})", 422, "duration", "there is no field 'duration'"},
        BadBody{R"({"requests": [{"prompt": "a"}, {"prompt": "a", "duration": -1}]})", 422, "requests[1].duration",
                "requests[1].duration must be above 0 and at most 600, not -1"},
        BadBody{R"({"requests": [{"prompt": "a"}, 5]})", 422, "requests[1]", "requests[1] must be a JSON object"}));

TEST(WebhookTest, OnlyListedHostsAtTheirPort) {
  const std::vector<std::string> hosts{"hooks.example.org", "127.0.0.1:9000", "[::1]:9000"};
  for (const char* good :
       {"https://hooks.example.org", "http://hooks.example.org/a", "https://HOOKS.example.org:443/a?b=c",
        "http://127.0.0.1:9000/", "https://127.0.0.1:9000", "http://[::1]:9000/x", "https://hooks.example.org?x"}) {
    EXPECT_TRUE(check_webhook(good, hosts).has_value()) << good;
  }
  for (const char* bad :
       {"ftp://hooks.example.org/", "hooks.example.org", "https://hooks.example.org:444/", "http://hooks.example.org:443/",
        "https://hooks.example.org.evil.example/", "https://hooks.example.org@evil.example/",
        "https://evil.example/hooks.example.org", "https://hooks.example.org\\@evil.example/",
        "https://evil.example#hooks.example.org", "http://127.0.0.1/", "https://", "https:///x", "https://hooks.example.org:/",
        "https://hooks.example.org:99999/", "https://hooks.example.org /", "https://hooks.example.org/\r\nHost: x", "http://[::1",
        "http://[::1]9000/", "https://hooks%2Eexample.org/"}) {
    EXPECT_FALSE(check_webhook(bad, hosts).has_value()) << bad;
  }
  EXPECT_FALSE(check_webhook("https://hooks.example.org/", {}).has_value());
}

TEST(IdTest, IsLettersAndDigits) {
  EXPECT_TRUE(is_id("aZ09-_"));
  EXPECT_FALSE(is_id(""));
  EXPECT_FALSE(is_id("a/b"));
  EXPECT_FALSE(is_id(".."));
  EXPECT_FALSE(is_id(std::string(65, 'a')));
}

}  // namespace
}  // namespace continuo::server
