// What the tests of requests read them against: a text model and a melody model of the usual numbers, and seeds that count.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "server/requests/music_request.h"

namespace continuo::server {

inline weights::ModelConfig usual_config(bool melody) {
  weights::ModelConfig config;
  config.name = melody ? "a melody model" : "a text model";
  config.decoder.codebooks = 4;
  config.decoder.codebook_size = 2048;
  config.decoder.delays = {0, 1, 2, 3};
  config.codec.sample_rate = 32'000;
  config.codec.ratios = {8, 5, 4, 4};
  config.melody.bins = melody ? 12 : 0;
  return config;
}

struct TestContext {
  weights::ModelConfig text = usual_config(false), melody = usual_config(true);
  RequestContext context;
  std::uint64_t next_seed = 1001;

  TestContext() {
    context.models = {{"small", &text}, {"melody", &melody}};
    context.draw_seed = [this] { return next_seed++; };
    context.webhook_hosts = {"hooks.example.org", "127.0.0.1:9000"};
    context.client = "ip:127.0.0.1";
    context.limits.prompt_bytes = 60;
    context.limits.segments = 3;
    context.limits.batch = 3;
  }
  TestContext(const TestContext&) = delete;
  operator const RequestContext&() const { return context; }
};

/// A body that is refused, and all that the refusal says.
struct BadBody {
  const char* body;
  int status;
  const char* param;
  const char* message;
};

template <class T>
void expect_refused(const Parsed<T>& parsed, const BadBody& bad) {
  ASSERT_FALSE(parsed.has_value()) << bad.body;
  EXPECT_EQ(parsed.error().status, bad.status) << bad.body;
  EXPECT_EQ(parsed.error().param, bad.param) << bad.body;
  EXPECT_EQ(parsed.error().message, bad.message) << bad.body;
  EXPECT_FALSE(parsed.error().code.empty()) << bad.body;
}

}  // namespace continuo::server
