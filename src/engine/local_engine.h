// The engine on this machine's processors. One thread does all computing (with the executor's helpers): it takes in what was
// submitted, cancelled and changed, lets the scheduler choose, runs one step, pushes finished frames through the codec, and
// tells.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <thread>

#include "codec/decoder.h"
#include "codec/encoder.h"
#include "engine/link.h"
#include "engine/work.h"
#include "text/tokenizer.h"

namespace continuo::engine {

class LocalEngine final : public Engine {
 public:
  LocalEngine(std::unique_ptr<weights::TensorSource> source, std::unique_ptr<compute::Executor> executor, compute::KvType kv,
              const EngineOptions& options);
  ~LocalEngine() override;
  Status load();

  const weights::ModelConfig& config() const override { return source_->config(); }
  int threads() const override { return executor_->threads(); }
  std::string isa() const override { return executor_->isa(); }

  Result<std::shared_ptr<Job>> submit(const Request& request, std::function<void()> notify) override;
  EngineStatus status() const override;
  Result<std::vector<Clip>> generate(std::span<const Request> requests, const std::function<void(const Progress&)>& progress,
                                     const std::function<bool()>& cancelled) override;
  Timing last_timing() const override {
    const std::lock_guard lock(mutex_);
    return last_timing_;
  }

  Result<std::vector<int>> tokenize(const std::string& prompt) const override;
  Result<std::vector<float>> encode_text(std::span<const int> ids) override;
  Result<std::vector<float>> fingerprint(const std::string& prompt) override;
  Result<std::vector<float>> decode_codes(std::span<const std::int64_t> codes, int frames, int chunk_frames) override;
  Result<std::vector<std::int64_t>> encode_audio(std::span<const float> audio) override;
  Result<StepTime> time_step(int rows, int position) override;
  std::int64_t step_weight_bytes() const override { return decoder_->step_weight_bytes(); }
  std::int64_t kv_bytes(int position) const override;

  /// From a job's handle.
  Status change(const std::shared_ptr<Shared>& shared, const Change& change);
  void wake();

 private:
  /// Whether the budget lets a prompt of so many tokens be read.
  Status check_text(int tokens) const;

  // On the engine's thread.
  void loop();
  bool take_in();
  void end_cancelled();
  void admit();
  bool make_pool(int pages);
  void tell_places();
  /// Whether there was anything to do.
  bool work_once();
  Status prepare(Work& work);
  Status begin_part(Work& work);
  Result<Conditioning> conditioning_of(Work& work, const Part::Prompt& prompt);
  void apply_changes(Work& work);
  bool ready(const Work& work) const;
  bool run_step(std::span<Work* const> picked, int slice);
  /// Frames of a piece that go through the codec at once.
  int codec_share(const Work& work, bool alone) const;
  /// Whose frames go in this turn.
  std::vector<JobId> codec_line(bool alone);
  Status push_codec(Work& work, int most_frames);
  void send(Work& work, bool all);
  Status finish_part(Work& work);
  void judge_realtime(Work& work);
  double dry_in(Work& work) const;
  /// When each of the running and of the first in line will have ended.
  struct Estimates {
    std::vector<JobId> ids;
    std::vector<double> ends;
  };
  Estimates estimate(std::size_t most_waiting) const;
  double eta(JobId id) const;
  void end(JobId id, Event last);
  int samples_of(int frames) const { return frames * config().codec.hop(); }
  Result<std::vector<std::int64_t>> encode_channels(std::span<const float> audio);
  Result<StepTime> time_steps(int rows, int position);
  /// Runs `work` on the engine's thread and waits for it.
  void on_thread(const std::function<void()>& work);

  std::unique_ptr<weights::TensorSource> source_;
  std::unique_ptr<compute::Executor> executor_;
  compute::KvType kv_type_;
  EngineOptions options_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<text::T5Encoder> text_;
  std::unique_ptr<music::MusicDecoder> decoder_;
  std::unique_ptr<codec::CodecDecoder> codec_;
  std::unique_ptr<codec::CodecEncoder> encoder_;
  std::unique_ptr<Conditioner> conditioner_;
  std::unique_ptr<compute::KvPool> pool_;
  int most_pages_ = 0;           // that the budget allows
  std::int64_t text_bytes_ = 0;  // that reading a prompt may take; 0: any
  std::int64_t page_bytes_ = 0;

  const std::shared_ptr<Link<LocalEngine>> link_ = std::make_shared<Link<LocalEngine>>(this);

  // Shared between threads, under mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stop_ = false;
  bool closed_ = false;  // the engine's thread has ended its last job
  JobId next_id_ = 1;
  std::deque<std::unique_ptr<Work>> arrived_;
  std::deque<std::function<void()>> tasks_;
  EngineStatus snapshot_;

  // Of the engine's thread alone.
  std::map<JobId, std::unique_ptr<Work>> works_;
  Scheduler scheduler_;
  Admission admission_;
  StepTimes times_;
  int pages_given_ = 0;
  std::int64_t told_moves_ = 0;  // of the line, when places were last told
  std::vector<compute::Row> rows_;
  std::vector<std::int32_t> ids_;
  std::vector<float> logits_;
  Timing timing_;  // of everything so far
  std::int64_t steps_ = 0;

  Timing last_timing_;
  std::thread thread_;
};

}  // namespace continuo::engine
