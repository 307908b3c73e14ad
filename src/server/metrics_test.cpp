#include "server/metrics.h"

#include <gtest/gtest.h>

#include <sstream>

namespace continuo::server {
namespace {

/// The value behind a series in the text; -1 if it is not there.
double value(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  return -1.0;
}

Metrics::EngineNow engine_now() {
  Metrics::EngineNow now;
  now.model = "demo";
  now.status.running = 2;
  now.status.waiting = 3;
  now.status.rows = 4;
  now.status.pages = 100;
  now.status.free_pages = 75;
  now.status.page_bytes = 1000;
  now.status.conditioning_hits = 5;
  now.status.conditioning_misses = 2;
  now.status.frames = 150;
  now.status.step_times.add(0.004);
  now.status.step_times.add(0.03);
  now.status.step_times.add(60.0);
  now.status.codec_times.add(0.001);
  return now;
}

TEST(MetricsTest, EnginesAreShownAsTheyAre) {
  const auto metrics = Metrics::create("1.2.3");
  const std::string text = metrics->text({{engine_now()}, 7});
  EXPECT_EQ(value(text, "continuo_build_info{version=\"1.2.3\"}"), 1);
  EXPECT_EQ(value(text, "continuo_requests_running{model=\"demo\"}"), 2);
  EXPECT_EQ(value(text, "continuo_requests_waiting{model=\"demo\"}"), 3);
  EXPECT_EQ(value(text, "continuo_rows_active{model=\"demo\"}"), 4);
  EXPECT_EQ(value(text, "continuo_kv_cache_usage_ratio{model=\"demo\"}"), 0.25);
  EXPECT_EQ(value(text, "continuo_kv_pages_free{model=\"demo\"}"), 75);
  EXPECT_EQ(value(text, "continuo_kv_cache_bytes{model=\"demo\"}"), 25'000);
  EXPECT_EQ(value(text, "continuo_kv_cache_capacity_bytes{model=\"demo\"}"), 100'000);
  EXPECT_EQ(value(text, "continuo_prompt_cache_hits_total{model=\"demo\"}"), 5);
  EXPECT_EQ(value(text, "continuo_prompt_cache_queries_total{model=\"demo\"}"), 7);
  EXPECT_EQ(value(text, "continuo_frames_generated_total{model=\"demo\"}"), 150);
  EXPECT_EQ(value(text, "continuo_audio_seconds_generated_total{model=\"demo\"}"), 3);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_count{model=\"demo\"}"), 3);
  EXPECT_NEAR(value(text, "continuo_step_time_seconds_sum{model=\"demo\"}"), 60.034, 1e-9);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_bucket{model=\"demo\",le=\"0.005\"}"), 1);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_bucket{model=\"demo\",le=\"5\"}"), 2);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_bucket{model=\"demo\",le=\"+Inf\"}"), 3);
  EXPECT_EQ(value(text, "continuo_codec_time_seconds_bucket{model=\"demo\",le=\"0.001\"}"), 1);  // a bound is below itself
  EXPECT_GT(value(text, "continuo_process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value(text, "continuo_process_peak_memory_bytes"), value(text, "continuo_process_resident_memory_bytes"));
  EXPECT_EQ(value(text, "continuo_log_lines_lost_total"), 7);
  EXPECT_GT(value(text, "continuo_start_time_seconds"), 1.6e9);
}

TEST(MetricsTest, LookingTwiceCountsOnce) {
  const auto metrics = Metrics::create("1");
  auto now = engine_now();
  metrics->text({{now}, 7});
  now.status.frames = 200;
  now.status.step_times.add(0.004);
  now.status.conditioning_hits = 0;  // an engine that began anew: counters do not fall
  const std::string text = metrics->text({{now}, 7});
  EXPECT_EQ(value(text, "continuo_frames_generated_total{model=\"demo\"}"), 200);
  EXPECT_EQ(value(text, "continuo_prompt_cache_hits_total{model=\"demo\"}"), 5);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_count{model=\"demo\"}"), 4);
  EXPECT_EQ(value(text, "continuo_step_time_seconds_bucket{model=\"demo\",le=\"0.005\"}"), 2);
  EXPECT_EQ(value(text, "continuo_codec_time_seconds_count{model=\"demo\"}"), 1);
  EXPECT_EQ(value(text, "continuo_log_lines_lost_total"), 7);
}

TEST(MetricsTest, PiecesAreCountedByHowTheyEnd) {
  const auto metrics = Metrics::create("1");
  EXPECT_EQ(value(metrics->text({}), "continuo_requests_finished_total{reason=\"finished\"}"), 0);
  metrics->submitted("speech");
  metrics->started(0.2);
  metrics->first_audio(0.4);
  metrics->ended("finished", 5.2, 5.0, 20.0);
  metrics->ended("cancelled", 1.0, 0.0, 0.0);
  metrics->ended("cancelled", 2.0, 1.0, 4.0);
  metrics->rejected("queue_full");
  const std::string text = metrics->text({});
  EXPECT_EQ(value(text, "continuo_requests_submitted_total{family=\"speech\"}"), 1);
  EXPECT_EQ(value(text, "continuo_requests_finished_total{reason=\"finished\"}"), 1);
  EXPECT_EQ(value(text, "continuo_requests_finished_total{reason=\"cancelled\"}"), 2);
  EXPECT_EQ(value(text, "continuo_requests_rejected_total{reason=\"queue_full\"}"), 1);
  EXPECT_EQ(value(text, "continuo_queue_time_seconds_count"), 1);
  EXPECT_EQ(value(text, "continuo_time_to_first_audio_seconds_bucket{le=\"0.3\"}"), 0);
  EXPECT_EQ(value(text, "continuo_time_to_first_audio_seconds_bucket{le=\"0.5\"}"), 1);
  EXPECT_EQ(value(text, "continuo_request_duration_seconds_count"), 1);
  EXPECT_EQ(value(text, "continuo_real_time_factor_count"), 1);
  EXPECT_EQ(value(text, "continuo_real_time_factor_sum"), 0.25);
}

TEST(MetricsTest, LabelsAreBoundedWhateverComes) {
  const auto metrics = Metrics::create("1");
  for (int i = 0; i < 1000; ++i) {
    metrics->rejected("reason_" + std::to_string(i));
    metrics->ended("reason_" + std::to_string(i), 1, 1, 1);
    metrics->submitted("family_" + std::to_string(i));
    metrics->answered("/some/" + std::to_string(i), 200);
    metrics->answered("/v1/jobs", i);
  }
  metrics->rejected("a \"quoted\"\nline");
  const std::string text = metrics->text({});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 800);
  EXPECT_EQ(value(text, "continuo_http_requests_total{family=\"other\",status=\"200\"}"), 1000);
  EXPECT_EQ(value(text, "continuo_http_requests_total{family=\"jobs\",status=\"cut\"}"), 500);
  EXPECT_GT(value(text, "continuo_requests_rejected_total{reason=\"other\"}"), 900);
  EXPECT_EQ(text.find("quoted"), std::string::npos);
}

TEST(MetricsTest, ConnectionsAndStreamsGoUpAndDown) {
  const auto metrics = Metrics::create("1");
  metrics->connections(1);
  metrics->connections(1);
  metrics->connections(-1);
  metrics->streams(1);
  const std::string text = metrics->text({});
  EXPECT_EQ(value(text, "continuo_http_connections"), 1);
  EXPECT_EQ(value(text, "continuo_streams"), 1);
}

TEST(MetricsTest, EverySeriesIsExplainedAndNamedByTheRules) {
  const auto metrics = Metrics::create("1");
  metrics->submitted("jobs");
  metrics->answered("/v1/jobs", 200);
  std::istringstream lines(metrics->text({{engine_now()}, 0}));
  std::string last_help;
  int families = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      last_help = line.substr(7, line.find(' ', 7) - 7);
      ++families;
      EXPECT_TRUE(last_help.starts_with("continuo_")) << line;
      EXPECT_GT(line.size(), 8 + last_help.size()) << line;
    } else if (line.starts_with("# TYPE ")) {
      const bool counts = line.ends_with(" counter");
      EXPECT_EQ(counts, last_help.ends_with("_total")) << line;
    } else {
      EXPECT_TRUE(line.starts_with(last_help)) << line;
    }
  }
  EXPECT_GE(families, 28);
}

TEST(RouteFamily, OfPatterns) {
  EXPECT_EQ(route_family("/v1/jobs/{id}/audio.{ext}"), "jobs");
  EXPECT_EQ(route_family("/v1/audio/speech"), "speech");
  EXPECT_EQ(route_family("/models/{name}"), "huggingface");
  EXPECT_EQ(route_family("/v1/models/{name}/text-to-audio"), "huggingface");
  EXPECT_EQ(route_family("/v1/models/{id}"), "models");
  EXPECT_EQ(route_family("/openapi.json"), "operations");
  EXPECT_EQ(route_family("/v1/jobsx"), "other");
  EXPECT_EQ(route_family(""), "none");
}

}  // namespace
}  // namespace continuo::server
