// The hub: what a repository of models holds at a revision, and its files. The protocol is the one of the huggingface_hub client:
// GET /api/models/OWNER/NAME/revision/REVISION?blobs=true lists, GET /OWNER/NAME/resolve/COMMIT/FILE sends, often by a redirect
// to a content network on another host. Everything is fetched of one commit, so that a push in between mixes nothing.
//
// Settings as that client has them: HF_ENDPOINT; the token in HF_TOKEN, else in the file HF_TOKEN_PATH, else HF_HOME/token
// (~/.cache/huggingface/token). The token is sent to the endpoint only, and over plain http only on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/download.h"

namespace continuo::weights {

struct HubName {
  std::string owner, name;
  std::string revision = "main";  // a branch, a tag or a commit

  std::string id() const { return owner + "/" + name; }
};

/// "OWNER/NAME" or "OWNER/NAME@REVISION".
Result<HubName> parse_hub_name(const std::string& text);

using Environment = std::function<const char*(const char* name)>;

struct HubSettings {
  std::string endpoint;  // without a slash at its end
  std::string token;     // empty: none
};

Result<HubSettings> hub_settings(const Environment& environment);

struct HubRepository {
  HubName name;
  std::string commit;
  std::string license;                      // as SPDX writes it; empty: the hub does not say
  std::optional<std::uint64_t> parameters;  // of its safetensors
  std::vector<RemoteFile> files;            // as listed: names, sizes and hashes are the server's words
};

struct HubOptions {
  HubSettings settings;
  std::string user_agent;
  std::chrono::seconds stall{30};
  RetryPolicy retry;
  std::function<bool()> cancelled;
};

class Hub {
 public:
  static Result<Hub> open(HubOptions options);

  Result<HubRepository> look_up(const HubName& name);
  /// Completes what the listing lacks for these files (a mirror may leave out sizes or hashes) by asking for each.
  Status complete(const HubRepository& repository, std::vector<RemoteFile>& files);
  /// Into `folder`, resumed and checked as download.h says.
  Status fetch(const HubRepository& repository, const RemoteFile& file, const std::string& folder,
               const std::function<void(std::uint64_t bytes, bool checking)>& progress);

 private:
  Hub(HubOptions options, Http http);
  std::string file_url(const HubRepository& repository, const std::string& file) const;
  tl::unexpected<Error> refusal(const HttpReply& reply, const HubName& name, const std::string& file) const;

  HubOptions options_;
  Http http_;
};

}  // namespace continuo::weights
