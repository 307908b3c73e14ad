#include "weights/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr int redirects_max = 10;
constexpr long connect_seconds = 20;
constexpr long slow_bytes_per_second = 512;
constexpr std::size_t headers_max = 256;
constexpr std::size_t refusal_bytes_max = std::size_t{64} << 10;  // of an error page, which nobody reads

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string value = text;
  curl_free(text);
  return value;
}

Url parse_url(const std::string& text) {
  Url url(curl_url(), curl_url_cleanup);
  if (url != nullptr && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The address for a message: a content network's query is a secret of its own.
std::string shown(const std::string& url) { return printable(url.substr(0, url.find('?')), 200); }

/// What the next try may mend.
bool passing(CURLcode code) {
  static constexpr std::array codes{CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                                    CURLE_COULDNT_CONNECT,      CURLE_OPERATION_TIMEDOUT,
                                    CURLE_PARTIAL_FILE,         CURLE_GOT_NOTHING,
                                    CURLE_RECV_ERROR,           CURLE_SEND_ERROR,
                                    CURLE_SSL_CONNECT_ERROR,    CURLE_HTTP2,
                                    CURLE_HTTP2_STREAM,         CURLE_WEIRD_SERVER_REPLY};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Where people with a certificate authority of their own say so; curl's library, unlike its program, does not look.
const char* certificate_file() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* path = std::getenv(name);
    if (path != nullptr && path[0] != '\0') return path;
  }
  return nullptr;
}

/// What libcurl's callbacks see of one exchange.
struct Transfer {
  HttpReply& reply;
  const BodySink& sink;
  const std::function<bool()>& cancelled;
  CURL* handle;
  std::size_t refused_bytes = 0;
  Status status;  // the sink's
  bool stopped = false;
};

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& reply = static_cast<Transfer*>(user)->reply;
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // another response: "100 Continue", or a proxy's before the server's
    reply.headers.clear();
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos && reply.headers.size() < headers_max) {
    reply.headers[lower(std::string(line.substr(0, colon)))] = std::string(trimmed(line.substr(colon + 1)));
  }
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &transfer.reply.status);
  if (transfer.reply.status < 200 || transfer.reply.status > 299) {
    transfer.refused_bytes += size;
    return transfer.refused_bytes > refusal_bytes_max ? 0 : size;
  }
  if (transfer.sink) transfer.status = transfer.sink(transfer.reply, std::as_bytes(std::span(data, size)));
  if (!transfer.status) return 0;
  transfer.reply.body_bytes += size;
  return size;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.stopped = transfer.cancelled && transfer.cancelled();
  return transfer.stopped ? 1 : 0;
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::string origin_of(const std::string& text) {
  const Url url = parse_url(text);
  if (url == nullptr) return {};
  const std::string scheme = lower(part_of(url.get(), CURLUPART_SCHEME));
  if (scheme != "http" && scheme != "https") return {};
  return fmt::format("{}://{}:{}", scheme, lower(part_of(url.get(), CURLUPART_HOST)), part_of(url.get(), CURLUPART_PORT));
}

std::string url_quoted(std::string_view word) {
  std::string quoted;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    quoted += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return quoted;
}

struct Http::State {
  HttpOptions options;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle{nullptr, curl_easy_cleanup};
};

Http::Http(std::unique_ptr<State> state) : state_(std::move(state)) {}
Http::Http(Http&& other) noexcept = default;
Http& Http::operator=(Http&& other) noexcept = default;
Http::~Http() = default;

Result<Http> Http::open(HttpOptions options) {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (ready) state->handle.reset(curl_easy_init());
  if (state->handle == nullptr) return fail(ErrorCode::unsupported, "libcurl of this system cannot be used");
  return Http(std::move(state));
}

Status Http::exchange_once(const std::string& url, const HttpRequest& request, const BodySink& sink, HttpReply& reply,
                           std::string& redirect) {
  const HttpOptions& options = state_->options;
  CURL* handle = state_->handle.get();
  curl_easy_reset(handle);  // keeps the connections
  Transfer transfer{reply, sink, options.cancelled, handle, 0, {}, false};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_USERAGENT, options.user_agent.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, on_progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, on_header);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, on_body);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOBODY, request.head ? 1L : 0L);
  set(CURLOPT_CONNECTTIMEOUT, std::min<long>(connect_seconds, static_cast<long>(options.stall.count())));
  set(CURLOPT_LOW_SPEED_LIMIT, slow_bytes_per_second);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall.count()));
  if (const char* authorities = certificate_file()) set(CURLOPT_CAINFO, authorities);
  const std::string range = fmt::format("{}-", request.offset);
  if (request.offset > 0) set(CURLOPT_RANGE, range.c_str());
  if (!options.token.empty() && origin_of(url) == options.token_origin) {
    set(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    set(CURLOPT_XOAUTH2_BEARER, options.token.c_str());
    // Unencrypted, it does not leave this machine (hub_settings), so not through a proxy of the environment either.
    if (options.token_origin.starts_with("http:")) set(CURLOPT_NOPROXY, "*");
  }

  const CURLcode code = curl_easy_perform(handle);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  if (!transfer.status) return transfer.status;
  if (transfer.stopped) return fail(ErrorCode::cancelled, "interrupted");
  const bool refused = code == CURLE_WRITE_ERROR && transfer.refused_bytes > 0;  // enough of an error page was read
  if (code != CURLE_OK && !refused) {
    const std::string why = fmt::format("{}: {}", shown(url), curl_easy_strerror(code));
    if (!passing(code)) return fail(ErrorCode::io, "{}", why);
    reply.failure = why;
    return {};
  }
  curl_off_t wait = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait);
  reply.retry_after = std::chrono::seconds(wait);
  const char* next = nullptr;
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &next);
  if (next != nullptr) redirect = next;
  return {};
}

Result<HttpReply> Http::exchange(const HttpRequest& request, const BodySink& sink) {
  std::string url = request.url;
  for (int hop = 0; hop <= redirects_max; ++hop) {
    if (origin_of(url).empty()) return fail(ErrorCode::io, "{} is not an http or https address", shown(url));
    HttpReply reply;
    std::string redirect;
    CONTINUO_CHECK(exchange_once(url, request, sink, reply, redirect));
    if (redirect.empty() || !reply.failure.empty()) return reply;
    if (request.head && origin_of(redirect) != origin_of(url)) return reply;
    if (origin_of(url).starts_with("https:") && !origin_of(redirect).starts_with("https:")) {
      return fail(ErrorCode::io, "{} redirects to an address without encryption; that is refused", shown(url));
    }
    url = std::move(redirect);
  }
  return fail(ErrorCode::io, "{} redirects in a loop", shown(request.url));
}

}  // namespace continuo::weights
