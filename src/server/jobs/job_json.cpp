#include "server/jobs/job_json.h"

#include <nlohmann/json.hpp>

namespace continuo::server {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json take_json(const Job& job, const JobTake& take) {
  const std::string self = "/v1/jobs/" + job.id();
  const std::string query = fmt::format("?take={}", take.number);
  Json audio;
  for (const char* extension : {"wav", "flac", "mp3", "m4a", "ogg"}) audio[extension] = self + "/audio." + extension + query;
  return {{"id", take.id},
          {"number", take.number},
          {"state", name_of(take.state)},
          {"seconds", take.made_seconds},
          {"seed", job.spec().request.seed},
          {"audio", audio},
          {"peaks", self + "/peaks" + query},
          {"stream", self + "/stream.m3u8" + query}};
}

}  // namespace

Json error_json(const Error& error) {
  const char* type = "server_error";
  const char* code = "failed";
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
    case ErrorCode::corrupt_file:
      type = "invalid_request_error";
      code = "invalid_value";
      break;
    case ErrorCode::not_found:
      type = "not_found";
      code = "not_found";
      break;
    case ErrorCode::cancelled: code = "cancelled"; break;
    case ErrorCode::out_of_memory: code = "out_of_memory"; break;
    case ErrorCode::io: break;
  }
  return {{"message", error.message}, {"type", type}, {"param", nullptr}, {"code", code}};
}

Json job_json(const Job& job) {
  const JobSpec& spec = job.spec();
  const std::string self = "/v1/jobs/" + job.id();
  Json takes = Json::array();
  for (const JobTake& take : job.takes()) takes.push_back(take_json(job, take));
  const auto error = job.error();
  Json json{{"id", job.id()},
            {"object", "job"},
            {"state", name_of(job.state())},
            {"place", job.state() == JobState::queued ? Json(job.place()) : Json()},
            {"eta_seconds", job.eta_seconds()},
            {"progress", job.progress()},
            {"prompt", spec.request.prompt},
            {"title", spec.title.empty() ? Json() : Json(spec.title)},
            {"duration", engine::request_seconds(spec.request)},
            {"seed", spec.request.seed},
            {"model", spec.model},
            {"batch", spec.batch.empty() ? Json() : Json(spec.batch)},
            {"created", job.created()},
            {"started", or_null(job.started())},
            {"ended", or_null(job.ended())},
            {"realtime", job.realtime()},
            {"error", error ? error_json(*error) : Json()},
            {"takes", takes},
            {"urls",
             {{"self", self},
              {"events", self + "/events"},
              {"audio", self + "/audio." + extension_of(spec.output.format)},
              {"stream", self + "/stream.m3u8"},
              {"peaks", self + "/peaks"},
              {"cancel", self}}}};
  return json;
}

}  // namespace continuo::server
