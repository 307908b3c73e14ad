#include "weights/hub.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "weights/hub_listing.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::size_t listing_bytes_max = std::size_t{16} << 20;
constexpr std::size_t revision_bytes_max = 200;

/// The hub's own rule for owners and models; it also keeps them safe as names of folders.
bool good_part(std::string_view part) {
  const auto plain = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'); };
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && part.size() <= 96 && std::all_of(part.begin(), part.end(), plain) && !edge(part.front()) &&
         !edge(part.back()) && part.find("..") == std::string_view::npos;
}

}  // namespace

Result<HubName> parse_hub_name(const std::string& text) {
  HubName name;
  const std::size_t at = text.find('@');
  const std::string id = text.substr(0, at);
  if (at != std::string::npos) name.revision = text.substr(at + 1);
  const std::size_t slash = id.find('/');
  if (slash != std::string::npos) {
    name.owner = id.substr(0, slash);
    name.name = id.substr(slash + 1);
  }
  if (!good_part(name.owner) || !good_part(name.name)) {
    return fail(ErrorCode::invalid_argument,
                "'{}' is not the name of a model on the hub: write OWNER/NAME, as in facebook/musicgen-small", printable(text));
  }
  if (name.revision.empty() || name.revision.size() > revision_bytes_max || !single_line(name.revision) ||
      !valid_utf8(name.revision)) {
    return fail(ErrorCode::invalid_argument, "'{}' is not a revision: write a branch, a tag or a commit after the @",
                printable(name.revision));
  }
  return name;
}

Hub::Hub(HubOptions options, Http http) : options_(std::move(options)), http_(std::move(http)) {}

Result<Hub> Hub::open(HubOptions options) {
  options.retry.cancelled = options.cancelled;
  HttpOptions http_options;
  http_options.user_agent = options.user_agent;
  http_options.token = options.settings.token;
  http_options.token_origin = origin_of(options.settings.endpoint);
  http_options.stall = options.stall;
  http_options.cancelled = options.cancelled;
  CONTINUO_TRY(Http http, Http::open(std::move(http_options)));
  return Hub(std::move(options), std::move(http));
}

std::string Hub::file_url(const HubRepository& repository, const std::string& file) const {
  return fmt::format("{}/{}/resolve/{}/{}", options_.settings.endpoint, repository.name.id(), repository.commit,
                     url_quoted(file));
}

tl::unexpected<Error> Hub::refusal(const HttpReply& reply, const HubName& name, const std::string& file) const {
  const std::string& endpoint = options_.settings.endpoint;
  const bool has_token = !options_.settings.token.empty();
  const std::string why = reply.header("x-error-code");  // compared with words we know, never shown
  if (why == "GatedRepo" || (reply.status == 403 && why.empty())) {
    return fail(ErrorCode::io, "{}/{} is open only to people who asked for it: ask on that page{}", endpoint, name.id(),
                has_token ? " with the account that your token belongs to" : ", then set HF_TOKEN to a token of your account");
  }
  if (why == "RevisionNotFound") {
    return fail(ErrorCode::not_found, "{} has no revision '{}' on {}", name.id(), printable(name.revision), endpoint);
  }
  if (reply.status == 401 && has_token) {
    return fail(ErrorCode::io, "{} does not accept your token for {} (status 401): check HF_TOKEN and the model's name", endpoint,
                name.id());
  }
  if (reply.status == 401) {
    return fail(ErrorCode::not_found,
                "{} does not show {} (status 401): there is no such model, or it is private; check the name, and set HF_TOKEN if "
                "it is yours",
                endpoint, name.id());
  }
  if (reply.status == 404) {
    if (!file.empty()) return fail(ErrorCode::not_found, "{}: the hub lists {} but does not have it", name.id(), file);
    return fail(ErrorCode::not_found, "there is no model {} on {}", name.id(), endpoint);
  }
  return fail(ErrorCode::io, "{} answers with status {} for {}{}{}", endpoint, reply.status, name.id(), file.empty() ? "" : ", ",
              file);
}

Result<HubRepository> Hub::look_up(const HubName& name) {
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}?blobs=true", options_.settings.endpoint, name.id(), url_quoted(name.revision));
  std::string text;
  const BodySink sink = [&](const HttpReply&, std::span<const std::byte> bytes) -> Status {
    if (text.size() + bytes.size() > listing_bytes_max) {
      return fail(ErrorCode::corrupt_file, "{}: the hub's list of its files has no end", name.id());
    }
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  const auto attempt = [&]() -> Result<HttpReply> {
    text.clear();
    CONTINUO_TRY(HttpReply tried, http_.exchange({.url = url}, sink));
    tried.body_bytes = 0;  // the next try starts from the beginning, so nothing is won
    return tried;
  };
  CONTINUO_TRY(const HttpReply reply, with_retries(options_.retry, name.id(), attempt));
  if (reply.status != 200) return refusal(reply, name, "");
  return parse_listing(text, name);
}

Status Hub::complete(const HubRepository& repository, std::vector<RemoteFile>& files) {
  for (RemoteFile& file : files) {
    const bool known = file.size > 0 && !(file.sha256.empty() && file.git_blob.empty());
    if (known) continue;
    const HttpRequest request{.url = file_url(repository, file.name), .head = true};
    CONTINUO_TRY(const HttpReply reply, with_retries(options_.retry, file.name, [&] { return http_.exchange(request); }));
    if (reply.status >= 400) return refusal(reply, repository.name, file.name);
    CONTINUO_CHECK(read_metadata(reply, file));
  }
  return {};
}

Status Hub::fetch(const HubRepository& repository, const RemoteFile& file, const std::string& folder,
                  const std::function<void(std::uint64_t bytes, bool checking)>& progress) {
  DownloadOptions options;
  options.retry = options_.retry;
  options.cancelled = options_.cancelled;
  options.progress = progress;
  CONTINUO_TRY(const HttpReply reply, download(http_, file_url(repository, file.name), file, folder, options));
  if (reply.status < 200 || reply.status > 299) return refusal(reply, repository.name, file.name);
  return {};
}

}  // namespace continuo::weights
