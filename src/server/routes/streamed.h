// A piece that belongs to a connection: it is submitted for it, its sound follows while it is made, and it is cancelled when the
// client goes before the end.
#pragma once

#include <memory>
#include <string>

#include "server/parts.h"

namespace continuo::server {

/// Most that is read and sent at once.
inline constexpr std::size_t stream_piece_bytes = std::size_t{64} << 10;

/// Cancels a job that has not ended when it goes.
class OwnJob {
 public:
  OwnJob() = default;
  OwnJob(JobTable& jobs, std::shared_ptr<Job> job) : jobs_(&jobs), job_(std::move(job)) {}
  OwnJob(OwnJob&& other) noexcept : jobs_(other.jobs_), job_(std::move(other.job_)) {}
  OwnJob& operator=(OwnJob&& other) noexcept;
  ~OwnJob() { end(); }

  /// All of its sound has been made: it ends by itself.
  void keep() { job_.reset(); }

  Job* operator->() const { return job_.get(); }
  const std::shared_ptr<Job>& job() const { return job_; }

 private:
  void end();
  JobTable* jobs_ = nullptr;
  std::shared_ptr<Job> job_;
};

/// Counts a stream while it lasts.
class StreamCount {
 public:
  explicit StreamCount(const Parts& parts) : parts_(parts) { parts_.streams(+1); }
  ~StreamCount() { parts_.streams(-1); }
  StreamCount(const StreamCount&) = delete;
  StreamCount& operator=(const StreamCount&) = delete;

 private:
  const Parts& parts_;
};

struct StreamedPiece {
  OwnJob job;
  std::shared_ptr<Rendition> rendition;
};

/// Submits the piece and waits until its first sound is there. On any failure the answer has been sent, and nothing is returned;
/// likewise when the client hung up.
Task<std::optional<StreamedPiece>> start_streamed(const Parts& parts, Exchange& exchange, JobSpec spec);

/// Headers that say which piece it is.
Headers piece_headers(const Job& job);

/// Bytes from `offset` on, as many as are there, up to `most`; waits until there are any. Empty: the end, or a failure (see the
/// rendition's state), or the client is gone. wake: set by the rendition and the exchange.
Task<std::string> next_bytes(const Parts& parts, std::shared_ptr<Rendition> rendition, std::int64_t offset, std::size_t most,
                             Wake& wake, const Exchange& exchange);

/// What is there of the rendition at `offset`, at most so much; does not wait for more to be made.
Task<std::string> read_bytes(const Parts& parts, std::shared_ptr<Rendition> rendition, std::int64_t offset, std::size_t most);

/// What a rendition's bytes are, as headers.
Headers sound_headers(const Rendition& rendition);

/// Waits, but not long, until a job whose sound is complete has ended.
Task<void> until_ended(std::shared_ptr<Job> job, const Exchange& exchange);

/// The whole answer: head, bytes as they come, end; a body cut off if the piece fails on the way.
Task<void> stream_body(const Parts& parts, Exchange& exchange, StreamedPiece& piece);

std::string base64(std::string_view bytes);

/// Error that a job ended with, for the client.
ApiError job_error(const Job& job);

}  // namespace continuo::server
