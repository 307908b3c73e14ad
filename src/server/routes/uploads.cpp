#include "server/routes/uploads.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "server/requests/error_response.h"
#include "server/requests/multipart.h"

namespace continuo::server {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string id_of(const HttpRequest& request) {
  const auto id = request.captures.find("id");
  return id == request.captures.end() ? std::string() : id->second;
}

ApiError gone(Uploads::Lookup lookup) {
  if (lookup == Uploads::Lookup::expired) return {410, "this upload has expired or was deleted; send it again", "id", "expired"};
  return {404, "there is no upload of this id", "id", "not_found"};
}

/// The sound in the body: a form's file, or all of it.
Parsed<std::string_view> sound_in(const HttpRequest& request) {
  CONTINUO_PARSE(const std::optional<std::string> boundary, multipart_boundary(request.header("content-type")));
  if (!boundary) return std::string_view(request.body);
  CONTINUO_PARSE(const Part file, file_part(request.body, *boundary));
  return file.bytes;
}

}  // namespace

std::string upload_json(const Upload& upload) {
  const nlohmann::ordered_json json{{"id", upload.id},
                                    {"object", "upload"},
                                    {"seconds", upload.seconds},
                                    {"sample_rate", upload.sample_rate},
                                    {"channels", upload.channels},
                                    {"bytes", upload.bytes},
                                    {"created", upload.created},
                                    {"expires", upload.expires}};
  return json.dump();
}

void UploadRoutes::add_to(Router& router) {
  constexpr std::int64_t form_bytes = 64 * 1024;  // boundaries and headers around the sound
  RouteOptions options;
  options.body_bytes = limits_.upload_bytes + form_bytes;
  router.add(
      "POST", "/v1/uploads", [this](Exchange& exchange) { return post(exchange); }, options);
  router.add("GET", "/v1/uploads/{id}", [this](Exchange& exchange) { return get(exchange); });
  router.add("DELETE", "/v1/uploads/{id}", [this](Exchange& exchange) { return remove(exchange); });
}

Task<void> UploadRoutes::post(Exchange& exchange) {
  const auto sound = sound_in(exchange.request());
  if (!sound) co_return co_await exchange.send(error_response(sound.error()));
  auto work = [this, bytes = *sound] { return uploads_.add(bytes, now()); };  // the body lives as long as the exchange
  const auto upload = co_await pool_.run(std::move(work));
  if (!upload) co_return co_await exchange.send(error_response(upload.error()));
  HttpResponse response = json_response(201, upload_json(*upload));
  response.headers.emplace_back("Location", "/v1/uploads/" + upload->id);
  co_await exchange.send(std::move(response));
}

Task<void> UploadRoutes::get(Exchange& exchange) {
  const auto [lookup, upload] = uploads_.find(id_of(exchange.request()), now());
  HttpResponse response = upload ? json_response(200, upload_json(*upload)) : error_response(gone(lookup));
  co_await exchange.send(std::move(response));
}

Task<void> UploadRoutes::remove(Exchange& exchange) {
  const std::string id = id_of(exchange.request());
  const auto lookup = uploads_.find(id, now()).first;
  const bool there = lookup == Uploads::Lookup::found && uploads_.remove(id);
  HttpResponse response = there ? HttpResponse{204, {}, {}} : error_response(gone(lookup));
  co_await exchange.send(std::move(response));
}

}  // namespace continuo::server
