// What the hub says about a repository and its files, read without trust.
#pragma once

#include <string>

#include "base/error.h"
#include "weights/hub.h"

namespace continuo::weights {

/// The answer to /api/models/... A file without a size or a hash is left without; names are taken as they stand.
Result<HubRepository> parse_listing(const std::string& text, const HubName& name);

/// Size and hash of a file from the headers of its HEAD: X-Linked-Size and X-Linked-Etag for large files, Content-Length and ETag
/// for others.
Status read_metadata(const HttpReply& reply, RemoteFile& file);

}  // namespace continuo::weights
