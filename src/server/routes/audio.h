// The sound of jobs:
//
//   GET /v1/jobs/{id}/audio.{wav|flac|mp3|m4a|ogg}?take=&rate=&...&download=   the sound (media/rendition_query.h, media/serve.h)
//   GET /v1/jobs/{id}/stream.m3u8?take=&rate=&...                              the same as a stream for players (media/hls.h)
//   GET /v1/jobs/{id}/segments/{init.mp4|N.m4s}?...                            what its playlist names
//   GET /v1/jobs/{id}/peaks?take=&bins=&by_channel=                            its outline (media/peaks.h)
//
// Sound of a job that waits is waited for: the answer begins with the first sound, so a player may be given the address at once,
// and a job that fails before it is a 409. An outline is answered at once, with as much as there is. The sound of a job that is
// finished is made as files are, with loudness in two passes; that of one that runs, as a stream. A job that failed or was
// cancelled has no sound: 409.
#pragma once

#include <memory>
#include <string>

#include "server/http/router.h"
#include "server/jobs/job_table.h"
#include "server/media/peaks.h"
#include "server/media/rendition.h"
#include "server/pool.h"
#include "server/requests/api_error.h"

namespace continuo::server {

/// I/O thread. Outlives its handlers.
class AudioRoutes {
 public:
  AudioRoutes(JobTable& jobs, Renditions& renditions, Pool& pool) : jobs_(jobs), renditions_(renditions), pool_(pool) {}
  void add_to(Router& router);

 private:
  struct Wanted {
    std::shared_ptr<Job> job;
    std::size_t index = 0;  // of the take
    const JobTake& take() const { return job->takes()[index]; }
  };

  // What they refuse is answered in one place.
  Task<Parsed<void>> audio(Exchange& exchange);
  Task<Parsed<void>> playlist(Exchange& exchange);
  Task<Parsed<void>> segment(Exchange& exchange);
  Task<Parsed<void>> peaks(Exchange& exchange);

  Parsed<Wanted> find(const HttpRequest& request) const;
  /// Null: the client hung up.
  Task<Parsed<std::shared_ptr<Recording>>> recording_of(Exchange& exchange, Wanted wanted);
  Task<Parsed<std::shared_ptr<Rendition>>> rendition_of(Wanted wanted, std::shared_ptr<Recording> recording,
                                                        RenditionFormat format);
  /// What a playlist is made of; null: the client hung up.
  Task<Parsed<std::shared_ptr<Rendition>>> stream_of(Exchange& exchange);

  JobTable& jobs_;
  Renditions& renditions_;
  Pool& pool_;
  PeakTable peaks_;
};

}  // namespace continuo::server
