#include "engine/local_engine.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cassert>
#include <cmath>
#include <future>

#include "base/memory.h"
#include "engine/codec_turns.h"
#include "engine/memory_need.h"

namespace continuo::engine {

namespace {

constexpr int alone_slice = 64;                   // steps of an audio prompt a pass takes: enough to fill the kernels' tiles
constexpr int shared_slice = 8;                   // the same beside other pieces, which must not stutter
constexpr double default_realtime_buffer = 10.0;  // seconds
constexpr std::int64_t text_share = 24;   // one part in so many of a budget is what reading a prompt may take: hundreds of tokens
constexpr std::int64_t cache_share = 16;  // and what prompts that were read may keep
constexpr std::int64_t working_bytes = std::int64_t{16} << 20;  // buffers, what comes and goes

/// What a reader holds. It keeps the engine's share alive, and ends the job when it goes. It may outlive the engine.
class Handle final : public Job {
 public:
  Handle(std::shared_ptr<Link<LocalEngine>> link, std::shared_ptr<Shared> shared)
      : link_(std::move(link)), shared_(std::move(shared)) {}
  ~Handle() override {
    shared_->outbox.close();
    cancel();
  }
  JobId id() const override { return shared_->id; }
  std::optional<Event> poll() override { return shared_->outbox.take(); }
  std::optional<Event> wait(double seconds) override { return shared_->outbox.wait(seconds); }
  JobState state() const override { return shared_->state.load(); }
  void cancel() override {
    if (shared_->state.load() == JobState::ended || shared_->cancelled.exchange(true)) return;
    link_->with([](LocalEngine& engine) { engine.wake(); });
  }
  Status change(const Change& change) override {
    Status status = fail(ErrorCode::invalid_argument, "the engine was closed");
    link_->with([&](LocalEngine& engine) { status = engine.change(shared_, change); });
    return status;
  }

 private:
  std::shared_ptr<Link<LocalEngine>> link_;
  std::shared_ptr<Shared> shared_;
};

std::string megabytes(std::int64_t bytes) { return fmt::format("{} MB", (bytes + 999'999) / 1'000'000); }

}  // namespace

LocalEngine::LocalEngine(std::unique_ptr<weights::TensorSource> source, std::unique_ptr<compute::Executor> executor,
                         compute::KvType kv, const EngineOptions& options)
    : source_(std::move(source)), executor_(std::move(executor)), kv_type_(kv), options_(options), scheduler_(options.max_rows) {}

LocalEngine::~LocalEngine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  link_->cut();
}

Status LocalEngine::load() {
  const weights::ModelConfig& config = source_->config();
  if (!config.tokenizer.model_proto.empty()) {
    CONTINUO_TRY(tokenizer_, text::Tokenizer::create(config.tokenizer, config.text.vocabulary));
  }
  CONTINUO_TRY(text_, text::T5Encoder::load(*source_, *executor_));
  CONTINUO_TRY(decoder_, music::MusicDecoder::load(*source_, *executor_));
  CONTINUO_TRY(codec_, codec::CodecDecoder::load(*source_, *executor_));
  if (options_.memory > 0) options_.cache_bytes = std::min(options_.cache_bytes, options_.memory / cache_share);
  Conditioner::Options conditioning{kv_type_, options_.cache_bytes, nullptr};
  if (!options_.cache_folder.empty()) {
    const std::string identity = fmt::format("{} {} {}", conditioning_identity(*source_), options_.kv, executor_->cross_layout());
    conditioning.store = std::make_unique<ConditioningStore>(
        ConditioningStore::Options{options_.cache_folder, options_.cache_folder_bytes, 16, {}}, identity);
  }
  source_->release_pages();
#if defined(__GLIBC__)
  malloc_trim(0);  // what packing needed besides is free, but the allocator would keep it
#endif
  conditioner_ = std::make_unique<Conditioner>(*text_, *decoder_, *executor_, std::move(conditioning));
  page_bytes_ = decoder_->kv_page_bytes(kv_type_);
  std::int64_t room = most_default_kv_bytes;
  if (options_.memory > 0) {
    text_bytes_ = options_.memory / text_share;  // in the memory of any pass
    room = options_.memory - options_.set_aside - resident_memory().value_or(0) - options_.cache_bytes - working_bytes -
           std::max(text_bytes_, pass_bytes(config, std::max(options_.max_rows, alone_slice)));
  } else if (const auto available = available_memory()) {
    room = std::min(room, *available / 2);
  }
  most_pages_ = static_cast<int>(std::clamp<std::int64_t>(room / page_bytes_, 0, 1'000'000));
  CONTINUO_TRY(pool_, decoder_->make_kv_pool(kv_type_, most_pages_));
  thread_ = std::thread([this] { loop(); });
  return {};
}

// What any thread may call.

Result<std::shared_ptr<Job>> LocalEngine::submit(const Request& request, std::function<void()> notify) {
  CONTINUO_CHECK(validate(request, config()));
  auto work = std::make_unique<Work>();
  work->request = request;
  work->parts = parts_of(request, config());
  std::map<std::string, std::int64_t> heard;  // bytes, by prompt
  bool present = !request.melody.empty();
  int tokens = 1;  // no prompt is one empty row of a prefix, as in transformers
  for (Part& part : work->parts) {
    for (Part::Prompt& prompt : part.prompts) {
      if (prompt.text.empty()) continue;
      CONTINUO_TRY(prompt.ids, tokenize(prompt.text));
      present = true;
      tokens = std::max(tokens, static_cast<int>(prompt.ids.size()));
      CONTINUO_CHECK(check_text(static_cast<int>(prompt.ids.size())));
      heard[prompt.text] = heard_bytes(config(), kv_type_, static_cast<int>(prompt.ids.size()));
    }
  }
  // A live piece may be given a prompt later.
  const bool two_rows = request.endless || (present && request.guidance != 1.0F);
  work->rows = two_rows ? 2 : 1;
  work->joiner = Joiner(config().decoder.audio_channels);
  for (const Part& part : work->parts) {
    PieceSettings settings;
    settings.frames = part.frames;
    settings.endless = request.endless;
    settings.two_rows = two_rows;
    settings.prefix_rows = decoder_->has_prefix() ? config().melody.length + tokens : 0;
    settings.prompt_frames = &part == work->parts.data() ? request.prompt_frames : 0;
    settings.prompt_codes = settings.prompt_frames > 0 ? request.prompt_codes : std::vector<std::int64_t>();
    work->pages = std::max(work->pages, Piece(settings, config(), {}).pages());
  }
  // Under a budget what is heard of the prompts counts too.
  std::int64_t of_prompts = 0;
  for (const auto& [text, bytes] : heard) of_prompts += bytes;
  if (options_.memory > 0) work->pages += static_cast<int>((of_prompts + page_bytes_ - 1) / page_bytes_);
  if (work->pages > most_pages_) {
    return fail(
        ErrorCode::out_of_memory,
        "this piece needs {} for its keys and values, but only {} of the memory budget are left for them; give more memory, "
        "ask for a shorter piece or shorter prompts, or use smaller keys and values (int8)",
        megabytes(work->pages * page_bytes_), megabytes(most_pages_ * page_bytes_));
  }
  std::shared_ptr<Shared> shared;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return fail(ErrorCode::cancelled, "the engine was closed");
    shared = std::make_shared<Shared>(next_id_++, std::move(notify),
                                      [link = link_] { link->with([](LocalEngine& engine) { engine.wake(); }); });
    shared->rows = work->rows;
    work->shared = shared;
    arrived_.push_back(std::move(work));
    woken_ = true;
  }
  changed_.notify_all();
  return std::make_shared<Handle>(link_, std::move(shared));
}

Status LocalEngine::check_text(int tokens) const {
  if (text_bytes_ == 0 || text_pass_bytes(config(), tokens) <= text_bytes_) return {};
  return fail(ErrorCode::out_of_memory, "this prompt has {} tokens; the memory budget lets prompts of at most {} be read", tokens,
              text_bytes_ / text_pass_bytes(config(), 1));
}

Status LocalEngine::change(const std::shared_ptr<Shared>& shared, const Change& change) {
  if (shared->state.load() == JobState::ended) return fail(ErrorCode::invalid_argument, "the piece has ended");
  if (decoder_->has_prefix() && change.prompt) {
    return fail(ErrorCode::unsupported,
                "a melody model hears its prompt at the start only; begin a new piece for another prompt");
  }
  Request checked;
  checked.prompt = change.prompt.value_or("");
  checked.guidance = change.guidance.value_or(checked.guidance);
  checked.temperature = change.temperature.value_or(checked.temperature);
  checked.top_k = 0;
  CONTINUO_CHECK(validate(checked, config()));
  if (!checked.prompt.empty()) {
    CONTINUO_TRY(const std::vector<int> ids, tokenize(checked.prompt));
    CONTINUO_CHECK(check_text(static_cast<int>(ids.size())));
  }
  // One row has nothing to guide it away from. Silence about a number that does nothing would look like a model that does not
  // hear.
  if (change.guidance && *change.guidance != 1.0F && shared->rows == 1) {
    return fail(ErrorCode::unsupported,
                "this piece was begun without guidance (a guidance of 1, or no prompt) and cannot get it while it is made; begin "
                "it with a guidance other than 1");
  }
  {
    // Changes that nobody has heard yet would be heard at the same step, where only the last of each kind counts.
    const std::lock_guard lock(shared->mutex);
    Change& unheard = shared->unheard;
    if (change.prompt) unheard.prompt = change.prompt;
    if (change.guidance) unheard.guidance = change.guidance;
    if (change.temperature) unheard.temperature = change.temperature;
  }
  wake();
  return {};
}

void LocalEngine::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

EngineStatus LocalEngine::status() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

void LocalEngine::on_thread(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back([&] {
      work();
      done.set_value();
    });
    woken_ = true;
  }
  changed_.notify_all();
  done.get_future().wait();
}

Result<std::vector<int>> LocalEngine::tokenize(const std::string& prompt) const {
  if (!tokenizer_) return fail(ErrorCode::unsupported, "this model has no tokenizer");
  CONTINUO_TRY(std::vector<int> ids, tokenizer_->encode(prompt));
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int id) { return id < 0 || id >= config().text.vocabulary; });
  if (beyond != ids.end()) {
    return fail(ErrorCode::corrupt_file, "the tokenizer gave id {}, but the text encoder has only {} embeddings", *beyond,
                config().text.vocabulary);
  }
  return ids;
}

std::int64_t LocalEngine::kv_bytes(int position) const { return page_bytes_ * (position + 1) / compute::page_positions; }

// The engine's thread.

void LocalEngine::loop() {
  bool busy = false;
  for (;;) {
    std::deque<std::unique_ptr<Work>> arrived;
    std::deque<std::function<void()>> tasks;
    {
      std::unique_lock lock(mutex_);
      if (!busy) changed_.wait(lock, [&] { return woken_ || stop_; });
      if (stop_) break;
      woken_ = false;
      arrived.swap(arrived_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
    for (auto& work : arrived) {
      const JobId id = work->shared->id;
      admission_.wait(id, work->pages);
      works_[id] = std::move(work);
    }
    end_cancelled();
    admit();
    tell_places();
    busy = work_once();
  }
  {
    // What came in after the last turn has to end too. What comes from now on is refused.
    const std::lock_guard lock(mutex_);
    for (auto& work : arrived_) works_[work->shared->id] = std::move(work);
    arrived_.clear();
    closed_ = true;
  }
  for (auto& [id, work] : works_) {
    work->shared->state.store(JobState::ended);
    work->shared->outbox.put(Failed{Error{ErrorCode::cancelled, "the engine was closed"}});
  }
  works_.clear();
}

void LocalEngine::end(JobId id, Event last) {
  const auto found = works_.find(id);
  Work& work = *found->second;
  if (work.admitted) {
    pages_given_ -= work.pages;
    scheduler_.remove(id);
  } else {
    admission_.remove(id);
  }
  work.piece.reset();
  work.stream.reset();
  const std::shared_ptr<Shared> shared = work.shared;
  works_.erase(found);
  shared->state.store(JobState::ended);
  shared->outbox.put(std::move(last));
}

void LocalEngine::end_cancelled() {
  std::vector<JobId> cancelled;
  for (const auto& [id, work] : works_) {
    if (work->shared->cancelled.load()) cancelled.push_back(id);
  }
  for (const JobId id : cancelled) end(id, Failed{Error{ErrorCode::cancelled, "cancelled"}});
}

void LocalEngine::admit() {
  for (JobId id = admission_.admit(most_pages_ - pages_given_); id != 0; id = admission_.admit(most_pages_ - pages_given_)) {
    Work& work = *works_.at(id);
    work.admitted = true;
    pages_given_ += work.pages;
    scheduler_.add(id, work.request.service);
    work.realtime = work.request.service == Service::realtime;
    work.shared->state.store(JobState::running);
  }
}

bool LocalEngine::ready(const Work& work) const {
  if (!work.admitted || work.piece == nullptr || work.piece->done() || work.piece->prefix_pending()) return false;
  double most = work.request.buffer_seconds;
  if (most <= 0.0 && (work.realtime || work.request.endless)) most = default_realtime_buffer;
  if (most <= 0.0) return true;
  const double a_second = static_cast<double>(config().codec.sample_rate) * config().decoder.audio_channels;
  return static_cast<double>(work.shared->outbox.waiting_samples()) / a_second < most;
}

double LocalEngine::dry_in(Work& work) const {
  if (!work.realtime || !work.first_sound) return std::numeric_limits<double>::infinity();
  const double rate = config().codec.sample_rate;
  const double taken = static_cast<double>(work.sent) / rate -
                       static_cast<double>(work.shared->outbox.waiting_samples()) / config().decoder.audio_channels / rate;
  // Nobody has heard what nobody has taken: a listener who was away, or had run dry, goes on from there. Otherwise such a stream
  // would be in a hurry for ever and keep all others out.
  const double since = std::chrono::duration<double>(Clock::now() - *work.first_sound).count();
  if (since > taken)
    *work.first_sound += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(since - taken));
  return static_cast<double>(work.sent) / rate - std::min(since, taken);
}

bool LocalEngine::work_once() {
  bool worked = false;
  // One text a turn: the others' next step waits for no more than that.
  for (auto& [id, work] : works_) {
    if (!work->admitted || work->piece != nullptr) continue;
    worked = true;
    if (Status status = prepare(*work); !status) {
      end(id, Failed{std::move(status).error()});
      return true;
    }
    break;
  }
  const bool alone = works_.size() - admission_.size() == 1;
  for (auto& [id, work] : works_) {
    if (work->piece == nullptr || !work->piece->prefix_pending()) continue;
    worked = true;
    work->piece->prefill_prefix(*decoder_, *executor_, *pool_, alone ? alone_slice : 4 * shared_slice);
  }
  const int slice = alone ? alone_slice : shared_slice;
  std::vector<Scheduler::Candidate> candidates;
  for (auto& [id, work] : works_) {
    if (work->piece != nullptr) apply_changes(*work);
    const bool goes = ready(*work);
    if (work->admitted)
      work->shared->state.store(goes || work->piece == nullptr || work->piece->done() ? JobState::running : JobState::paused);
    if (goes) candidates.push_back({id, work->piece->rows(slice), dry_in(*work)});
  }
  if (!candidates.empty()) {
    std::vector<Work*> picked;
    for (const JobId id : scheduler_.pick(candidates)) picked.push_back(works_.at(id).get());
    run_step(picked, slice);
    worked = true;
  }
  // Sound: what is complete goes through the codec, a little in each turn.
  std::vector<std::pair<JobId, Event>> ended;
  for (const JobId id : codec_line(alone)) {
    const auto& work = works_.at(id);
    worked = true;
    Status status;
    if (work->piece->complete_frames() > work->pushed) status = push_codec(*work, codec_share(*work, alone));
    if (status && work->piece->done() && work->pushed == work->piece->frames()) {
      status = finish_part(*work);
      if (status && work->part == work->parts.size()) {
        Finished last;
        last.timing = work->timing;
        if (work->parts.size() == 1) {
          last.frames = work->piece->frames();
          last.codes = work->piece->codes(0, last.frames);
        }
        ended.emplace_back(id, std::move(last));
        continue;
      }
    }
    if (!status) ended.emplace_back(id, Failed{std::move(status).error()});
  }
  for (auto& [id, last] : ended) end(id, std::move(last));
  return worked || !ended.empty();
}

Status LocalEngine::prepare(Work& work) {
  // Everything that will be heard is made ready before the piece starts, so that it never waits in the middle.
  Stopwatch watch;
  for (const Part& part : work.parts) {
    for (const Part::Prompt& prompt : part.prompts) {
      if (prompt.text.empty() || work.heard.contains(prompt.text)) continue;
      work.heard[prompt.text] = conditioner_->hear(prompt.text, prompt.ids);
      work.timing.text_seconds += watch.seconds();
      timing_.text_seconds += watch.seconds();
      return {};  // the next text in the next turn
    }
  }
  CONTINUO_CHECK(begin_part(work));
  if (work.realtime) judge_realtime(work);
  if (!work.realtime && work.request.service == Service::realtime && work.request.realtime_or_nothing) {
    return fail(
        ErrorCode::unsupported,
        "this machine cannot keep up with one more stream: a step would take {:.1f} ms of the {:.1f} ms that a frame lasts",
        times_.predict(work.rows, 1) * 1e3, 1e3 / config().codec.frame_rate());
  }
  work.shared->outbox.put(Started{work.realtime, times_.predict(work.rows, 1)});
  return {};
}

Result<Conditioning> LocalEngine::conditioning_of(Work& work, const Part::Prompt& prompt) {
  Conditioning conditioning;
  conditioning.present = !prompt.text.empty() || !work.request.melody.empty();
  if (!decoder_->has_prefix()) {
    if (!prompt.text.empty()) conditioning.cross = work.heard.at(prompt.text).cross;
    return conditioning;
  }
  // The null row hears silence and as many empty text rows; no prompt is one empty row, as in transformers.
  const auto width = static_cast<std::size_t>(config().decoder.width);
  const std::vector<float> text = prompt.text.empty() ? std::vector<float>(width, 0.0F) : *work.heard.at(prompt.text).projected;
  if (conditioning.present) {
    conditioning.prefix = std::make_shared<const std::vector<float>>(decoder_->prefix(work.request.melody, text));
  }
  conditioning.null_prefix =
      std::make_shared<const std::vector<float>>(decoder_->prefix({}, std::vector<float>(text.size(), 0.0F)));
  return conditioning;
}

Status LocalEngine::begin_part(Work& work) {
  const Part& part = work.parts[work.part];
  CONTINUO_TRY(Conditioning conditioning, conditioning_of(work, part.prompts.front()));
  PieceSettings settings;
  settings.seed = work.request.seed;
  settings.take = work.request.take;
  settings.sampling = work.request;
  settings.frames = part.frames;
  settings.endless = work.request.endless;
  settings.two_rows = work.rows == 2;
  if (conditioning.null_prefix != nullptr)
    settings.prefix_rows = static_cast<int>(conditioning.null_prefix->size()) / config().decoder.width;
  if (work.part == 0) {
    settings.prompt_codes = std::move(work.request.prompt_codes);
    settings.prompt_frames = work.request.prompt_frames;
  }
  work.piece = std::make_unique<Piece>(std::move(settings), config(), std::move(conditioning));
  work.next_prompt = 1;
  work.pushed = 0;
  if (!work.piece->reserve(*pool_)) return fail(ErrorCode::io, "too few K/V pages for an admitted piece");
  CONTINUO_TRY(auto stream, codec::DecoderStream::start(*codec_, config().decoder.codebooks, config().decoder.audio_channels));
  work.stream.emplace(std::move(stream));
  // An endless piece has no end to hold back.
  const auto samples = work.request.endless ? std::numeric_limits<std::int64_t>::max() : std::int64_t{samples_of(part.frames)};
  work.joiner.begin(samples, samples_of(part.fade_frames));
  return {};
}

void LocalEngine::apply_changes(Work& work) {
  Change change;
  {
    const std::lock_guard lock(work.shared->mutex);
    std::swap(change, work.shared->unheard);
  }
  if (change.guidance) work.request.guidance = *change.guidance;
  if (change.temperature) work.request.temperature = *change.temperature;
  if (change.guidance || change.temperature) work.piece->set_sampling(work.request);
  if (change.prompt) {
    Part::Prompt prompt{0, *change.prompt, {}};
    if (!prompt.text.empty() && !work.heard.contains(prompt.text)) {
      // Its tokens were checked when it was asked for. Prompts changed before go; those of later segments are still to come.
      std::erase_if(work.heard, [&](const auto& entry) { return !work.has_prompt(entry.first); });
      if (auto ids = tokenize(prompt.text)) work.heard[prompt.text] = conditioner_->hear(prompt.text, *ids);
    }
    if (prompt.text.empty() || work.heard.contains(prompt.text)) {
      if (auto conditioning = conditioning_of(work, prompt)) work.piece->hear(std::move(*conditioning));
    }
  }
  const auto& prompts = work.parts[std::min(work.part, work.parts.size() - 1)].prompts;
  while (work.next_prompt < prompts.size() && work.piece->step() >= prompts[work.next_prompt].from_frame) {
    if (auto conditioning = conditioning_of(work, prompts[work.next_prompt])) work.piece->hear(std::move(*conditioning));
    ++work.next_prompt;
  }
}

bool LocalEngine::run_step(std::span<Work* const> picked, int slice) {
  Stopwatch watch;
  rows_.clear();
  ids_.clear();
  for (Work* work : picked) work->piece->add_rows(rows_, ids_, slice);
  executor_->begin_pass();
  const compute::Tensor out = decoder_->step(rows_, ids_, *pool_);
  const std::size_t row = static_cast<std::size_t>(out.columns);
  logits_.resize(rows_.size() * row);
  executor_->read(out, logits_);
  std::size_t first = 0;
  std::vector<std::pair<JobId, Error>> failed;
  for (Work* work : picked) {
    const std::size_t size = work->piece->rows_added() * row;
    if (Status status = work->piece->advance(std::span(logits_).subspan(first, size)); !status)
      failed.emplace_back(work->shared->id, std::move(status).error());
    first += size;
  }
  const double seconds = watch.seconds();
  ++steps_;
  timing_.decoder_seconds += seconds;
  times_.step(static_cast<int>(rows_.size()), seconds);
  for (Work* work : picked) {
    work->timing.decoder_seconds += seconds;
    const int frames = work->piece->complete_frames();
    if (frames - work->told_frames >= 5 || (work->piece->done() && frames != work->told_frames)) {
      work->told_frames = frames;
      const double before = static_cast<double>(work->sent) / config().codec.sample_rate;
      const double here = (frames - work->pushed) / config().codec.frame_rate();
      const double pending =
          static_cast<double>(work->pending.size()) / config().decoder.audio_channels / config().codec.sample_rate;
      work->shared->outbox.put(Made{before + here + pending, eta(work->shared->id)});
    }
  }
  for (auto& [id, error] : failed) end(id, Failed{std::move(error)});
  return failed.empty();
}

void LocalEngine::judge_realtime(Work& work) {
  int rows = 0, streams = 0;
  for (const auto& [id, each] : works_) {
    if (!each->realtime) continue;
    rows += each->rows;
    ++streams;
  }
  // Without measured steps a few are run on the piece's own pages, in widths on both sides of what is asked.
  if (times_.samples() < 4) {
    for (const int sequences : {1, 2, 1, 2}) {
      if (sequences > work.piece->sequences()) continue;
      Stopwatch watch;
      rows_.clear();
      ids_.clear();
      work.piece->add_trial_rows(rows_, ids_, sequences);
      executor_->begin_pass();
      decoder_->step(rows_, ids_, *pool_);
      times_.step(static_cast<int>(rows_.size()), watch.seconds());
    }
  }
  const double frame = 1.0 / config().codec.frame_rate();
  if (rows > scheduler_.max_rows() || times_.predict(rows, streams) > realtime_share * frame) {
    work.realtime = false;
    scheduler_.demote(work.shared->id);
  }
}

}  // namespace continuo::engine
