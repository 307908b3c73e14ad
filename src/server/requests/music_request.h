// The native request for music, which all other dialects are translated into: JSON to a JobSpec and back (docs/http.md).
//
// What comes out is complete: defaults are the model's, a seed that nobody gave is drawn, and the engine would accept it
// (engine::validate was asked). Only what an upload holds is not known yet.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/jobs/job_spec.h"
#include "server/options.h"
#include "server/requests/api_error.h"
#include "weights/model_config.h"

namespace continuo::server {

struct ServedModel {
  std::string id;
  const weights::ModelConfig* config = nullptr;
};

/// What requests are read against.
struct RequestContext {
  std::vector<ServedModel> models;  // the first one is the default
  Limits limits;
  std::function<std::uint64_t()> draw_seed;  // 32 bits, so that a person can type it again
  std::vector<std::string> webhook_hosts;    // "host" (the scheme's own port) or "host:port"
  std::string client;                        // goes into the spec

  /// Empty: the default. Errors: 404 model_not_found.
  Parsed<ServedModel> model(const std::string& id) const;
};

/// Seconds of a piece whose length nobody gave.
inline constexpr double default_seconds = 10.0;

/// family: "jobs".
Parsed<JobSpec> parse_music_request(std::string_view body, const RequestContext& context);
/// The same of a value inside another; path as in Fields.
Parsed<JobSpec> read_music_request(const nlohmann::json& object, const RequestContext& context, const std::string& path = {});

/// {"prompts": [...], and the fields that all of them share} or {"requests": [...]}; 1 to limits.batch of them. family: "batch".
/// Prompts that share a seed, given or drawn, each run with it as if alone.
Parsed<std::vector<JobSpec>> parse_batch(std::string_view body, const RequestContext& context);

/// The native request that makes the same music again, as the text of a JSON object. Of a take other than the first: set
/// spec.request.take to its number and spec.takes to 1.
std::string music_request_json(const JobSpec& spec);

/// How names in the request say what they are: "wav", "m4a", "ogg".
std::string_view format_word(audio::FileFormat format);

/// An upload's id: 1 to 64 letters, digits, - and _. Says nothing of whether there is one.
bool is_id(std::string_view text);

/// Whether the URL is http or https to one of the hosts, without a user, a fragment or anything a parser could read in two ways.
Parsed<void> check_webhook(const std::string& url, const std::vector<std::string>& hosts);

}  // namespace continuo::server
