#include "server/routes/streamed.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/media/following.h"
#include "server/media/serve.h"
#include "server/requests/error_response.h"
#include "server/routes/refusal.h"

namespace continuo::server {

namespace {

constexpr auto long_enough = std::chrono::hours(1);    // wakes come from elsewhere
constexpr auto bookkeeping = std::chrono::seconds(2);  // that a piece may need at its end

bool ended(const Job& job) { return job.state() != JobState::queued && job.state() != JobState::running; }

}  // namespace

OwnJob& OwnJob::operator=(OwnJob&& other) noexcept {
  if (this != &other) {
    end();
    jobs_ = other.jobs_;
    job_ = std::move(other.job_);
  }
  return *this;
}

void OwnJob::end() {
  if (job_ != nullptr && !ended(*job_)) jobs_->cancel(job_->id());
  job_.reset();
}

ApiError job_error(const Job& job) {
  if (const auto error = job.error()) return api_error_of(*error);
  return {409, "the piece was cancelled", {}, "cancelled"};
}

Headers piece_headers(const Job& job) {
  Headers headers = {{"X-Job-Id", job.id()},
                     {"X-Seed", std::to_string(job.spec().request.seed)},
                     {"X-Audio-Seconds", fmt::format("{:.3f}", engine::request_seconds(job.spec().request))},
                     {"X-Model", job.spec().model}};
  if (!job.takes().empty()) headers.emplace_back("X-Take-Id", job.takes().front().id);
  return headers;
}

Task<std::optional<StreamedPiece>> start_streamed(const Parts& parts, Exchange& exchange, JobSpec spec) {
  const auto io = co_await boost::asio::this_coro::executor;
  spec.streamed = true;
  const RenditionFormat format = spec.output;
  auto submitted = co_await parts.jobs.submit(std::move(spec));
  if (!submitted) {
    HttpResponse answer = refusal_response(submitted.error());
    co_await exchange.send(std::move(answer));
    co_return std::nullopt;
  }
  StreamedPiece piece;
  piece.job = OwnJob(parts.jobs, *submitted);
  const std::shared_ptr<Job> job = *submitted;

  Wake wake(io);
  job->changed().add(wake);
  exchange.watch(wake);
  const auto recording = [&job] { return job->takes().empty() ? nullptr : job->takes().front().recording; };
  while (recording() == nullptr && !ended(*job) && !exchange.gone()) co_await wake.wait(long_enough);
  if (exchange.gone()) co_return std::nullopt;
  std::optional<ApiError> failure;
  if (recording() == nullptr) {
    failure = job_error(*job);
  } else {
    const std::string take = job->takes().front().id;
    auto work = [&parts, take, sound = recording(), format] { return parts.renditions.of(take, sound, format); };
    auto made = co_await parts.pool.run(std::move(work));
    if (made) {
      piece.rendition = std::move(*made);
      const Following following(piece.rendition, wake, io);
      while (piece.rendition->size() == 0 && piece.rendition->state() == Rendition::State::growing && !exchange.gone()) {
        co_await wake.wait(long_enough);
      }
      if (piece.rendition->state() == Rendition::State::failed) {
        const auto why = piece.rendition->error();
        failure = job->error() ? job_error(*job) : why ? api_error_of(*why) : job_error(*job);
      }
    } else {
      failure = api_error_of(made.error());
    }
  }
  if (exchange.gone()) co_return std::nullopt;
  if (failure) {
    HttpResponse answer = error_response(*failure);
    co_await exchange.send(std::move(answer));
    co_return std::nullopt;
  }
  co_return std::move(piece);
}

Task<std::string> read_bytes(const Parts& parts, std::shared_ptr<Rendition> rendition, std::int64_t offset, std::size_t most) {
  const std::int64_t there = std::max<std::int64_t>(rendition->size() - offset, 0);
  auto bytes = co_await read_rendition(parts.pool, rendition, offset, std::min(static_cast<std::size_t>(there), most));
  if (!bytes) co_return std::string();
  co_return std::move(*bytes);
}

Task<std::string> next_bytes(const Parts& parts, std::shared_ptr<Rendition> rendition, std::int64_t offset, std::size_t most,
                             Wake& wake, const Exchange& exchange) {
  while (!exchange.gone()) {
    const auto state = rendition->state();  // before the size: what is complete has all its bytes
    if (rendition->size() > offset) co_return co_await read_bytes(parts, rendition, offset, most);
    if (state != Rendition::State::growing) break;
    co_await wake.wait(long_enough);
  }
  co_return std::string();
}

Headers sound_headers(const Rendition& rendition) {
  Headers headers = {{"Content-Type", audio::media_type_of(rendition.format().format)},
                     {"X-Sample-Rate", std::to_string(rendition.sample_rate())},
                     {"X-Channels", std::to_string(rendition.channels())}};
  if (const auto bits = rendition.format().bits()) headers.emplace_back("X-Bit-Depth", std::to_string(*bits));
  return headers;
}

Task<void> until_ended(std::shared_ptr<Job> job, const Exchange& exchange) {
  Wake wake(co_await boost::asio::this_coro::executor);
  job->changed().add(wake);
  const auto last = std::chrono::steady_clock::now() + bookkeeping;
  while (!ended(*job) && !exchange.gone() && std::chrono::steady_clock::now() < last)
    co_await wake.wait(std::chrono::milliseconds(50));
}

Task<void> stream_body(const Parts& parts, Exchange& exchange, StreamedPiece& piece) {
  const StreamCount counted(parts);
  const auto io = co_await boost::asio::this_coro::executor;
  const Rendition& rendition = *piece.rendition;
  Headers headers = sound_headers(rendition);
  for (auto& header : piece_headers(*piece.job.job())) headers.push_back(std::move(header));
  Wake wake(io);
  exchange.watch(wake);
  const Following following(piece.rendition, wake, io);
  bool there = co_await exchange.begin(200, std::move(headers), rendition.whole_size());
  std::int64_t offset = 0;
  while (there) {
    std::string bytes = co_await next_bytes(parts, piece.rendition, offset, stream_piece_bytes, wake, exchange);
    if (bytes.empty()) break;
    offset += static_cast<std::int64_t>(bytes.size());
    // Who has all of the sound finds that the piece is finished.
    if (offset == rendition.whole_size()) co_await until_ended(piece.job.job(), exchange);
    there = co_await exchange.write(std::move(bytes));
    // The client may hang up now, before the piece is through with its bookkeeping.
    if (offset == rendition.whole_size()) break;
  }
  const bool whole = offset == rendition.whole_size();
  if (whole && there) co_await until_ended(piece.job.job(), exchange);
  if (whole) piece.job.keep();
  if (there && whole) {
    co_await exchange.end();
  } else if (there) {
    exchange.abort();
  }
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace continuo::server
