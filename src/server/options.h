// Everything an operator can set, with its default. /props tells all of it but the keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace continuo::server {

/// What one server takes on. 0 means "no limit" only where it says so.
struct Limits {
  int queue = 10;          // pieces that wait (not those that run); beyond: 429
  int takes = 8;           // of one job
  int rows = 0;            // running at once, of all models; 0: what the memory budget gives
  double seconds = 600.0;  // of one piece
  std::size_t prompt_bytes = 4096;
  int segments = 32;                                   // of a relay
  int batch = 32;                                      // prompts in a batch
  std::int64_t body_bytes = std::int64_t{1} << 20;     // of JSON; 413
  std::int64_t upload_bytes = std::int64_t{64} << 20;  // of an upload; 413
  double upload_seconds = 600.0;                       // of its sound
  int uploads = 100;                                   // kept at once
  double upload_keep_seconds = 3600.0;
  int requests_per_minute = 120;  // of one client, those that make music; 0: no limit
  int connections = 512;
  int connections_per_client = 0;    // 0: no limit
  double header_seconds = 10.0;      // for the head of a request to arrive
  double body_seconds = 60.0;        // for its body
  double idle_seconds = 75.0;        // of a connection kept open
  double write_seconds = 60.0;       // for a client to take anything of what is sent
  double job_keep_seconds = 3600.0;  // ended jobs are known so long; then 410
  double resume_seconds = 60.0;      // a stream whose connection broke waits so long for its client
  int jobs_kept = 1000;
  std::int64_t renditions_bytes = std::int64_t{1} << 30;  // of encoded copies on the disk
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                         // 0: any free one
  bool expose_without_key = false;         // another address than loopback with no key
  std::string api_key_file;                // empty: no key is needed
  std::vector<std::string> origins;        // of web pages that may call (CORS)
  std::vector<std::string> host_names;     // names, besides addresses and localhost, that a Host header may say
  std::vector<std::string> webhook_hosts;  // that a webhook may call
  std::string data_folder;                 // takes, jobs, recordings
  std::string scenes_file;                 // empty: the built-in table
  bool log_prompts = false;
  std::string log_level = "info";   // debug, info, warning, error, off
  std::string log_format = "auto";  // json, text, auto: text on a terminal, else JSON
  double grace_seconds = 10.0;      // for running jobs on SIGTERM
  std::string version;              // of the program; /props and metrics tell it
  Limits limits;
};

}  // namespace continuo::server
