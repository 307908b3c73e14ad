#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "base/memory.h"

namespace continuo::server {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

constexpr std::size_t most_words = 32;  // of one label
constexpr std::size_t most_word_bytes = 32;

/// Label values: the server's own words, as many as are told apart.
class Words {
 public:
  std::string take(std::string_view word) {
    const bool plain = !word.empty() && word.size() <= most_word_bytes && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!plain) return "other";
    const std::lock_guard lock(mutex_);
    if (known_.size() < most_words) known_.emplace(word);
    return known_.contains(word) ? std::string(word) : "other";
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> known_;
};

Buckets engine_buckets() { return {engine::Durations::bounds.begin(), engine::Durations::bounds.end()}; }

/// A counter that is known elsewhere, and only grows.
void raise(Counter& counter, double to) { counter.Increment(std::max(to - counter.Value(), 0.0)); }

class PrometheusMetrics final : public Metrics {
 public:
  explicit PrometheusMetrics(const std::string& version) {
    gauge("continuo_build_info", "1, with the version of the program").Add({{"version", version}}).Set(1.0);
    gauge("continuo_start_time_seconds", "When the server started, in seconds since 1970")
        .Add({})
        .Set(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
    // So that a rate over them is 0 before the first, not missing.
    for (const char* reason : {"finished", "cancelled"}) finished_.Add({{"reason", finished_words_.take(reason)}});
    for (const char* reason : {"queue_full", "rate"}) rejected_.Add({{"reason", rejected_words_.take(reason)}});
  }

  void submitted(std::string_view family) override { submitted_.Add({{"family", family_words_.take(family)}}).Increment(); }
  void started(double queue_seconds) override { queue_time_.Observe(queue_seconds); }
  void first_audio(double seconds) override { first_audio_.Observe(seconds); }
  void ended(std::string_view reason, double seconds, double work_seconds, double audio_seconds) override {
    finished_.Add({{"reason", finished_words_.take(reason)}}).Increment();
    if (reason != "finished") return;
    duration_.Observe(seconds);
    if (work_seconds > 0.0 && audio_seconds > 0.0) factor_.Observe(work_seconds / audio_seconds);
  }
  void rejected(std::string_view reason) override { rejected_.Add({{"reason", rejected_words_.take(reason)}}).Increment(); }

  void answered(std::string_view route, int status) override {
    const std::string code = status >= 100 && status <= 599 ? std::to_string(status) : "cut";
    answered_.Add({{"family", std::string(route_family(route))}, {"status", code}}).Increment();
  }
  void connections(int change) override { connections_.Increment(change); }
  void streams(int change) override { streams_.Increment(change); }

  std::string text(const Now& now) override {
    for (const EngineNow& engine : now.engines) look_at(engine);
    resident_.Set(static_cast<double>(resident_memory().value_or(0)));
    peak_.Set(static_cast<double>(peak_memory().value_or(0)));
    raise(log_lost_, static_cast<double>(now.log_lines_lost));
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  void look_at(const EngineNow& now) {
    const engine::EngineStatus& status = now.status;
    const prometheus::Labels model{{"model", now.model}};
    const double used = status.pages - status.free_pages;
    running_.Add(model).Set(status.running);
    waiting_.Add(model).Set(status.waiting);
    rows_.Add(model).Set(status.rows);
    kv_usage_.Add(model).Set(status.pages > 0 ? used / status.pages : 0.0);
    kv_free_.Add(model).Set(status.free_pages);
    kv_bytes_.Add(model).Set(used * static_cast<double>(status.page_bytes));
    kv_capacity_.Add(model).Set(status.pages * static_cast<double>(status.page_bytes));
    raise(cache_hits_.Add(model), static_cast<double>(status.conditioning_hits));
    raise(cache_queries_.Add(model), static_cast<double>(status.conditioning_hits + status.conditioning_misses));
    raise(frames_.Add(model), static_cast<double>(status.frames));
    raise(audio_.Add(model), static_cast<double>(status.frames) / now.frame_rate);
    Seen& seen = seen_[now.model];
    observe(step_time_.Add(model, engine_buckets()), status.step_times, seen.steps);
    observe(codec_time_.Add(model, engine_buckets()), status.codec_times, seen.codec);
  }

  /// What came since the last look.
  static void observe(Histogram& histogram, const engine::Durations& now, engine::Durations& seen) {
    std::vector<double> more;
    for (std::size_t i = 0; i < now.counts.size(); ++i) more.push_back(static_cast<double>(now.counts[i] - seen.counts[i]));
    histogram.ObserveMultiple(more, now.seconds - seen.seconds);
    seen = now;
  }

  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  }
  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  }
  Family<Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
  }

  struct Seen {
    engine::Durations steps, codec;
  };

  prometheus::Registry registry_;
  Words family_words_, finished_words_, rejected_words_;
  std::map<std::string, Seen> seen_;

  Family<Gauge>& running_ = gauge("continuo_requests_running", "Pieces that are being made");
  Family<Gauge>& waiting_ = gauge("continuo_requests_waiting", "Pieces that wait for room");
  Family<Gauge>& rows_ = gauge("continuo_rows_active", "Rows of the last step; a piece with guidance has two");
  Family<Gauge>& kv_usage_ = gauge("continuo_kv_cache_usage_ratio", "Pages of keys and values in use, 0 to 1");
  Family<Gauge>& kv_free_ = gauge("continuo_kv_pages_free", "Pages of keys and values that are free");
  Family<Gauge>& kv_bytes_ = gauge("continuo_kv_cache_bytes", "Keys and values in use");
  Family<Gauge>& kv_capacity_ = gauge("continuo_kv_cache_capacity_bytes", "Keys and values that the budget allows");
  Family<Counter>& cache_hits_ = counter("continuo_prompt_cache_hits_total", "Prompts whose conditioning was known");
  Family<Counter>& cache_queries_ = counter("continuo_prompt_cache_queries_total", "Prompts whose conditioning was needed");
  Family<Counter>& frames_ = counter("continuo_frames_generated_total", "Frames of codes that became sound");
  Family<Counter>& audio_ = counter("continuo_audio_seconds_generated_total", "Seconds of music that were made");
  Family<Histogram>& step_time_ = histogram("continuo_step_time_seconds", "A step of all rows together");
  Family<Histogram>& codec_time_ = histogram("continuo_codec_time_seconds", "A pass of the codec over a few frames");

  Family<Counter>& submitted_ = counter("continuo_requests_submitted_total", "Pieces that were taken in, by who asked");
  Family<Counter>& finished_ = counter("continuo_requests_finished_total", "Pieces that ended, by how");
  Family<Counter>& rejected_ = counter("continuo_requests_rejected_total", "Requests for music that were refused, by why");
  Histogram& queue_time_ = histogram("continuo_queue_time_seconds", "From the request to its start")
                               .Add({}, Buckets{0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600});
  Histogram& first_audio_ = histogram("continuo_time_to_first_audio_seconds", "From the request to the first sound")
                                .Add({}, Buckets{0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 120, 300});
  Histogram& duration_ = histogram("continuo_request_duration_seconds", "From the request to the end, of finished pieces")
                             .Add({}, Buckets{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800});
  Histogram& factor_ =
      histogram("continuo_real_time_factor", "Seconds of work for a second of music; below 1 is faster than real time")
          .Add({}, Buckets{0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10});

  Family<Counter>& answered_ = counter("continuo_http_requests_total", "Answers, by family of routes and status");
  Gauge& connections_ = gauge("continuo_http_connections", "Open connections").Add({});
  Gauge& streams_ = gauge("continuo_streams", "Answers and WebSockets that send sound while it is made").Add({});
  Gauge& resident_ = gauge("continuo_process_resident_memory_bytes", "Memory of the process").Add({});
  Gauge& peak_ = gauge("continuo_process_peak_memory_bytes", "The most memory the process has had").Add({});
  Counter& log_lost_ = counter("continuo_log_lines_lost_total", "Lines of the log that nobody took").Add({});
};

struct Prefix {
  std::string_view pattern, family;
};
constexpr std::array routes{
    Prefix{"/v1/jobs", "jobs"},       Prefix{"/v1/batches", "batches"},   Prefix{"/v1/uploads", "uploads"},
    Prefix{"/v1/audio", "speech"},    Prefix{"/generate", "generate"},    Prefix{"/v1/huggingface", "huggingface"},
    Prefix{"/models", "huggingface"}, Prefix{"/v1/stream", "stream"},     Prefix{"/v1/live", "live"},
    Prefix{"/v1/scenes", "live"},     Prefix{"/v1/takes", "takes"},       Prefix{"/v1/prompts", "prompts"},
    Prefix{"/v1/models", "models"},   Prefix{"/v1/retention", "takes"},   Prefix{"/health", "operations"},
    Prefix{"/metrics", "operations"}, Prefix{"/v1/health", "operations"}, Prefix{"/props", "operations"},
    Prefix{"/openapi", "operations"}, Prefix{"/docs", "operations"},
};

}  // namespace

std::string_view route_family(std::string_view pattern) {
  if (pattern.empty()) return "none";
  if (pattern.ends_with("/text-to-audio")) return "huggingface";
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const Prefix& prefix) {
    if (!pattern.starts_with(prefix.pattern)) return false;
    const std::string_view rest = pattern.substr(prefix.pattern.size());
    return rest.empty() || rest.front() == '/' || rest.front() == '.';
  });
  return found == routes.end() ? "other" : found->family;
}

std::unique_ptr<Metrics> Metrics::create(const std::string& version) { return std::make_unique<PrometheusMetrics>(version); }

}  // namespace continuo::server
