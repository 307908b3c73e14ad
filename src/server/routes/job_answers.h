// What the routes of jobs and of batches share.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/requests/api_error.h"
#include "server/requests/error_response.h"
#include "server/routes/jobs.h"

namespace continuo::server {

using RoutesOfJobs = std::shared_ptr<const JobRoutes>;

/// Text to a job's or batch's JSON; bytes that are no text become U+FFFD.
std::string text_of(const nlohmann::ordered_json& json);

/// What to say of an id that is no job's (or batch's): 404, or 410 for one that there was.
ApiError no_such(std::string_view what, bool expired);

/// Waits until all of them have ended, but not long.
Task<void> until_over(boost::asio::any_io_executor io, std::vector<std::shared_ptr<Job>> jobs);

void add_batch_routes(Router& router, const RoutesOfJobs& routes);

}  // namespace continuo::server
