// A rendition as an HTTP answer.
//
// - The head goes out with the first sound, or when all is there if the rendition is made whole. A failure before it is an error
//   answer, after it a broken body.
// - Where the size is known (wav and pcm also while they grow) it is told, and one range is answered with 206 or 416; the answer
//   waits for bytes that are yet to be made. Several ranges at once, and ranges of what has no size yet, are answered with
//   everything, as RFC 9110 allows. Otherwise the body goes out in chunks.
// - The ETag names the take and the format. It is the same while the rendition grows and after a restart, because the bytes are;
//   so If-None-Match and If-Range hold all the time.
// - A client that reads slowly holds up nobody; one that hangs up ends it at once.
#pragma once

#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/media/rendition.h"
#include "server/pool.h"

namespace continuo::server {

struct ServeOptions {
  std::string take;        // whose it is, for the ETag
  std::string media_type;  // empty: that of the format
  std::string name;        // of the file, without its ending, if the client saves it; any text
  bool download = false;   // the client is asked to save it
  std::string cache_control = "private, no-cache";
  Headers headers;  // in addition
};

/// GET or HEAD. I/O thread; disks are read on the pool.
Task<void> serve_rendition(Exchange& exchange, Pool& pool, std::shared_ptr<Rendition> rendition, ServeOptions options);

/// The bytes from `first` on, `count` of them, which must be there; read on the pool if they do not lie in memory.
Task<Result<std::string>> read_rendition(Pool& pool, std::shared_ptr<Rendition> rendition, std::int64_t first, std::size_t count);

std::string entity_tag(const std::string& take, const RenditionFormat& format);

}  // namespace continuo::server
