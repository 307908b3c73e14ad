// A job as the HTTP API shows it (docs/http.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/jobs/job.h"

namespace continuo::server {

nlohmann::ordered_json job_json(const Job& job);
/// Why a job, or one of its takes, failed: {"message", "type", "param", "code"}.
nlohmann::ordered_json error_json(const Error& error);

}  // namespace continuo::server
