#include <nlohmann/json.hpp>

#include "server/requests/context_test.h"
#include "server/requests/generate.h"
#include "server/requests/huggingface.h"
#include "server/requests/speech.h"

namespace continuo::server {
namespace {

using audio::FileFormat;

// ---- OpenAI ----

TEST(SpeechTest, WhatTheirClientsSend) {
  TestContext context;
  const auto speech = parse_speech(R"({"model": "small", "input": "a waltz", "voice": "alloy"})", context);
  ASSERT_TRUE(speech.has_value()) << speech.error().message;
  EXPECT_EQ(speech->spec.family, "speech");
  EXPECT_EQ(speech->spec.request.prompt, "a waltz");
  EXPECT_EQ(speech->spec.request.seconds, 10.0);
  EXPECT_EQ(speech->spec.output.format, FileFormat::mp3);
  EXPECT_FALSE(speech->spec.output.whole);
  EXPECT_TRUE(speech->spec.streamed);
  EXPECT_FALSE(speech->events);
}

TEST(SpeechTest, TakesEveryField) {
  TestContext context;
  const auto speech = parse_speech(
      R"({"input": "a waltz", "instructions": "slow, with harp", "voice": {"id": "voice_1"}, "response_format": "wav",
          "stream_format": "sse", "speed": 1.0, "n": 1, "duration": 3, "seed": 7, "guidance_scale": 2, "temperature": 0.5, "top_k": 5,
          "top_p": 0, "sample_rate": 24000})",
      context);
  ASSERT_TRUE(speech.has_value()) << speech.error().message;
  EXPECT_EQ(speech->spec.request.prompt, "a waltz. slow, with harp");
  EXPECT_TRUE(speech->events);
  EXPECT_EQ(speech->spec.output.format, FileFormat::wav);
  EXPECT_EQ(speech->spec.output.finish.sample_rate, 24'000);
  EXPECT_EQ(speech->spec.request.seconds, 3.0);
  EXPECT_EQ(speech->spec.request.seed, 7U);
  EXPECT_EQ(speech->spec.request.guidance, 2.0F);
  EXPECT_EQ(speech->spec.request.top_k, 5);
}

TEST(SpeechTest, PcmIsWhatTheirContractSays) {
  TestContext context;
  auto speech = parse_speech(R"({"input": "a", "voice": "x", "response_format": "pcm"})", context);
  ASSERT_TRUE(speech.has_value()) << speech.error().message;
  EXPECT_EQ(speech->spec.output.format, FileFormat::pcm);
  EXPECT_EQ(speech->spec.output.samples, audio::SampleFormat::pcm16);
  EXPECT_EQ(speech->spec.output.finish.sample_rate, 24'000);
  EXPECT_EQ(speech->spec.output.finish.channels, 1);
  speech = parse_speech(R"({"input": "a", "response_format": "pcm", "sample_rate": 48000})", context);
  ASSERT_TRUE(speech.has_value());
  EXPECT_EQ(speech->spec.output.finish.sample_rate, 48'000);
}

TEST(SpeechTest, OpusAndAacHaveTheirContainers) {
  TestContext context;
  EXPECT_EQ(parse_speech(R"({"input": "a", "response_format": "opus"})", context)->spec.output.finish.sample_rate, 48'000);
  EXPECT_EQ(parse_speech(R"({"input": "a", "response_format": "aac"})", context)->spec.output.format, FileFormat::m4a);
}

TEST(SpeechTest, InstructionsFollowTheInput) {
  EXPECT_EQ(speech_prompt("a waltz", "slow"), "a waltz. slow");
  EXPECT_EQ(speech_prompt(" a waltz! ", " slow\n"), "a waltz! slow");
  EXPECT_EQ(speech_prompt("", "slow"), "slow");
  EXPECT_EQ(speech_prompt("a waltz", "  "), "a waltz");
  EXPECT_EQ(speech_prompt("", ""), "");
}

class BadSpeech : public testing::TestWithParam<BadBody> {};

TEST_P(BadSpeech, IsRefusedInWords) {
  TestContext context;
  expect_refused(parse_speech(GetParam().body, context), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadSpeech,
    testing::Values(
        BadBody{"{}", 400, "input", "input is missing: what the music shall be"},
        BadBody{R"({"input": "a", "model": "gpt-4o-mini-tts"})", 404, "model",
                "there is no model 'gpt-4o-mini-tts' here; GET /v1/models lists them"},
        BadBody{R"({"input": "a", "speed": 1.5})", 400, "speed",
                "music is not made at another speed; leave speed out and say the tempo in the input"},
        BadBody{R"({"input": "a", "n": 2})", 400, "n", "n must be 1: one answer is one piece; POST /v1/jobs makes several takes"},
        BadBody{R"({"input": "a", "voice": 3})", 400, "voice", "voice must be a short text or {\"id\": text}; it is not used"},
        BadBody{R"({"input": "a", "response_format": "ogg"})", 400, "response_format",
                "response_format must be mp3, opus, aac, flac, wav or pcm"},
        BadBody{R"({"input": "a", "stream_format": "json"})", 400, "stream_format", "stream_format must be sse or audio"},
        BadBody{R"({"input": "a", "sample_rate": 24000})", 400, "sample_rate",
                "mp3 has no sample rate of 24000; take 32000, 44100 or 48000"},
        BadBody{R"({"input": "a", "response_format": "opus", "sample_rate": 32000})", 400, "sample_rate",
                "opus has only a sample rate of 48000"},
        BadBody{R"({"input": "a", "lyrics": "la"})", 400, "lyrics", "there is no field 'lyrics'"},
        BadBody{R"({"input": "a", "duration": 601})", 400, "duration", "duration must be above 0 and at most 600, not 601"},
        BadBody{R"({"input": "0123456789012345678901234567890123456789", "instructions": "01234567890123456789"})", 400,
                "instructions", "input and instructions have 62 bytes together; at most 60 are accepted"}));

// ---- /generate ----

TEST(GenerateTest, TheFirstDialect) {
  TestContext context;
  const auto generate = parse_generate(R"({"prompt": "rain", "duration": 5, "use_cache": true})", context);
  ASSERT_TRUE(generate.has_value()) << generate.error().message;
  EXPECT_EQ(generate->spec.family, "generate");
  EXPECT_EQ(generate->spec.request.prompt, "rain");
  EXPECT_EQ(generate->spec.request.seconds, 5.0);
  EXPECT_TRUE(generate->use_cache);
  EXPECT_EQ(generate->spec.output.format, FileFormat::wav);
}

TEST(GenerateTest, TheSecondDialect) {
  TestContext context;
  const auto generate = parse_generate(
      R"({"text_prompt": "rain", "duration": 5, "temperature": 0.8, "top_p": 0.9, "decoding_strategy": "greedy", "seed": 3})",
      context);
  ASSERT_TRUE(generate.has_value()) << generate.error().message;
  EXPECT_EQ(generate->spec.request.prompt, "rain");
  EXPECT_EQ(generate->spec.request.temperature, 0.8F);
  EXPECT_EQ(generate->spec.request.top_p, 0.9F);
  EXPECT_EQ(generate->spec.request.strategy, engine::Strategy::greedy);
  EXPECT_EQ(generate->spec.request.seed, 3U);
  EXPECT_FALSE(generate->use_cache);
  EXPECT_EQ(parse_generate(R"({"text_prompt": "rain", "decoding_strategy": "sampling"})", context)->spec.request.strategy,
            engine::Strategy::sample);
}

class BadGenerate : public testing::TestWithParam<BadBody> {};

TEST_P(BadGenerate, IsRefusedInWords) {
  TestContext context;
  expect_refused(parse_generate(GetParam().body, context), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadGenerate,
    testing::Values(
        BadBody{"{}", 422, "prompt", "prompt is missing (or text_prompt, in the other dialect)"},
        BadBody{R"({"duration": 5})", 422, "prompt", "prompt is missing (or text_prompt, in the other dialect)"},
        BadBody{R"({"temperature": 1})", 422, "text_prompt", "text_prompt is missing"},
        BadBody{R"({"prompt": "a", "text_prompt": "b"})", 422, "prompt",
                "these are two dialects at once: {prompt, duration, use_cache} and {text_prompt, duration, temperature, "
                "top_p, decoding_strategy}; take the fields of one (POST /v1/jobs has all of them)"},
        BadBody{R"({"text_prompt": "a", "use_cache": true})", 422, "use_cache",
                "these are two dialects at once: {prompt, duration, use_cache} and {text_prompt, duration, temperature, "
                "top_p, decoding_strategy}; take the fields of one (POST /v1/jobs has all of them)"},
        BadBody{R"({"text_prompt": "a", "decoding_strategy": "beam_search"})", 422, "decoding_strategy",
                "beam_search is not in this version; take sampling or greedy"},
        BadBody{R"({"text_prompt": "a", "decoding_strategy": "best"})", 422, "decoding_strategy",
                "decoding_strategy must be sampling, greedy or beam_search"},
        BadBody{R"({"prompt": "a", "guidance_scale": 3})", 422, "guidance_scale", "there is no field 'guidance_scale'"},
        BadBody{R"({"prompt": "a", "use_cache": "yes"})", 422, "use_cache", "use_cache must be true or false"}));

TEST(AcceptTest, OnlyNamedTypesCount) {
  for (const char* header : {"", "*/*", "audio/*", "text/html, */*;q=0.8", "application/*", "application/jsonx", ";;,,", "q=1"}) {
    EXPECT_FALSE(accepted_by(header).json) << header;
    EXPECT_FALSE(accepted_by(header).format.has_value()) << header;
  }
  EXPECT_TRUE(accepted_by("application/json").json);
  EXPECT_TRUE(accepted_by("application/json, text/plain, */*").json);
  EXPECT_TRUE(accepted_by("text/html, Application/JSON; charset=utf-8; q=0.5").json);
  EXPECT_FALSE(accepted_by("application/json;q=0").json);
  EXPECT_FALSE(accepted_by("application/json;q=0.0").json);
  EXPECT_FALSE(accepted_by("audio/wav, application/json;q=0.5").json);
  EXPECT_TRUE(accepted_by("audio/wav;q=0.4, application/json;q=0.5").json);
  EXPECT_EQ(accepted_by("audio/wav").format, FileFormat::wav);
  EXPECT_EQ(accepted_by("audio/mpeg;q=0.3, audio/flac;q=0.9").format, FileFormat::flac);
  EXPECT_EQ(accepted_by("audio/ogg").format, FileFormat::opus);
}

// ---- Hugging Face ----

TEST(HuggingFaceTest, InputsAlone) {
  TestContext context;
  for (const char* body : {R"({"inputs": "rain"})", R"({"inputs": ["rain"]})", R"({"inputs": "rain", "parameters": {}})"}) {
    const auto spec = parse_huggingface(body, "", context);
    ASSERT_TRUE(spec.has_value()) << body << spec.error().message;
    EXPECT_EQ(spec->request.prompt, "rain");
    EXPECT_EQ(spec->request.seconds, 10.0);
    EXPECT_EQ(spec->family, "huggingface");
    EXPECT_EQ(spec->model, "small");
  }
}

TEST(HuggingFaceTest, StepsBecomeFrames) {
  TestContext context;
  const auto seconds = [&](const char* body) {
    const auto spec = parse_huggingface(body, "melody", context);
    EXPECT_TRUE(spec.has_value()) << body << (spec ? "" : spec.error().message);
    return spec ? spec->request.seconds : 0.0;
  };
  // 256 steps are 253 frames.
  EXPECT_DOUBLE_EQ(seconds(R"({"inputs": "a", "parameters": {"generation_parameters": {"max_new_tokens": 256}}})"), 253.0 / 50.0);
  EXPECT_DOUBLE_EQ(seconds(R"({"inputs": "a", "parameters": {"max_new_tokens": 1503}})"), 30.0);
  EXPECT_DOUBLE_EQ(seconds(R"({"inputs": "a", "parameters": {"max_new_tokens": 4}})"), 0.02);
  EXPECT_DOUBLE_EQ(seconds(R"({"inputs": "a", "parameters": {"max_new_tokens": 30003}})"), 600.0);
  EXPECT_DOUBLE_EQ(seconds(R"({"inputs": "a", "parameters": {"duration": 2.5}})"), 2.5);
}

TEST(HuggingFaceTest, TakesTheParametersThatMeanSomething) {
  TestContext context;
  const auto spec = parse_huggingface(
      R"({"inputs": "a", "parameters": {"generation_parameters": {"do_sample": false, "temperature": 0.9, "top_k": 40, "top_p": 0.95,
          "guidance_scale": 2.5, "num_beams": 1, "use_cache": true, "typical_p": 1.0, "early_stopping": false}, "seed": 12},
          "options": {"use_cache": false, "wait_for_model": true}})",
      "small", context);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->request.strategy, engine::Strategy::greedy);
  EXPECT_EQ(spec->request.temperature, 0.9F);
  EXPECT_EQ(spec->request.top_k, 40);
  EXPECT_EQ(spec->request.top_p, 0.95F);
  EXPECT_EQ(spec->request.guidance, 2.5F);
  EXPECT_EQ(spec->request.seed, 12U);
}

class BadHuggingFace : public testing::TestWithParam<BadBody> {};

TEST_P(BadHuggingFace, IsRefusedInWords) {
  TestContext context;
  expect_refused(parse_huggingface(GetParam().body, "", context), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadHuggingFace,
    testing::Values(BadBody{"{}", 422, "inputs", "inputs is missing: the text"},
                    BadBody{R"({"inputs": 3})", 422, "inputs", "inputs must be a text"},
                    BadBody{R"({"inputs": []})", 422, "inputs",
                            "inputs must be one text: one answer is one piece; POST /v1/batches makes several"},
                    BadBody{R"({"inputs": ["a", "b"]})", 422, "inputs",
                            "inputs must be one text: one answer is one piece; POST /v1/batches makes several"},
                    BadBody{R"({"inputs": [null]})", 422, "inputs", "inputs must be a text"},
                    BadBody{R"({"inputs": "a", "parameters": {"max_new_tokens": 3}})", 422, "parameters.max_new_tokens",
                            "parameters.max_new_tokens must be a whole number from 4 to 30003"},
                    BadBody{R"({"inputs": "a", "parameters": {"max_new_tokens": 30, "duration": 3}})", 422,
                            "parameters.max_new_tokens", "max_new_tokens and duration both say the length; give it once"},
                    BadBody{R"({"inputs": "a", "parameters": {"duration": 3, "generation_parameters": {"max_new_tokens": 30}}})",
                            422, "parameters.generation_parameters.max_new_tokens",
                            "max_new_tokens and duration both say the length; give it once"},
                    BadBody{R"({"inputs": "a", "parameters": {"num_beams": 4}})", 422, "parameters.num_beams",
                            "beam search is not in this version; leave parameters.num_beams out to sample"},
                    BadBody{R"({"inputs": "a", "parameters": {"generation_parameters": {"typical_p": 0.5}}})", 422,
                            "parameters.generation_parameters.typical_p",
                            "parameters.generation_parameters.typical_p cannot be honoured here; leave it out"},
                    BadBody{R"({"inputs": "a", "parameters": {"max_length": 100}})", 422, "parameters.max_length",
                            "parameters.max_length counts in a way of its own; give max_new_tokens or duration"},
                    BadBody{R"({"inputs": "a", "parameters": {"temprature": 1}})", 422, "parameters.temprature",
                            "there is no field 'temprature' in parameters; did you mean temperature?"},
                    BadBody{R"({"inputs": "a", "options": {"wait": true}})", 422, "options.wait",
                            "there is no field 'wait' in options; did you mean wait_for_model?"},
                    BadBody{R"({"inputs": "a", "prompt": "b"})", 422, "prompt", "there is no field 'prompt'"}));

TEST(HuggingFaceTest, TheModelIsThePaths) {
  TestContext context;
  const auto spec = parse_huggingface(R"({"inputs": "a"})", "large", context);
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().status, 404);
  EXPECT_EQ(spec.error().code, "model_not_found");
}

}  // namespace
}  // namespace continuo::server
