#include "server/jobs/webhook.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "server/requests/music_request.h"

namespace continuo::server {

namespace {

using Clock = std::chrono::steady_clock;

struct Call {
  std::string url;
  std::string json;
  std::size_t tries = 0;
  Clock::time_point at{};  // not before
};

/// For the log: an address without its query, where people put secrets.
std::string shown(const std::string& url) { return url.substr(0, url.find_first_of("?#")); }

struct Deleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

}  // namespace

struct Webhooks::State {
  explicit State(Options given) : options(std::move(given)) {}

  void run();
  /// The next call whose time has come; nothing: stop.
  std::optional<Call> next();
  /// Empty: it arrived. again: another try may mend it.
  std::string post(const Call& call, bool& again);
  void trouble(const std::string& what) const {
    if (options.trouble) options.trouble(what);
  }
  static int stopped(void* state, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto* self = static_cast<State*>(state);
    const std::lock_guard lock(self->mutex);
    return self->stop ? 1 : 0;
  }

  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Call> calls;
  bool stop = false;
  std::thread thread;
};

Webhooks::Webhooks(Options options) : state_(std::make_unique<State>(std::move(options))) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Webhooks::~Webhooks() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Webhooks::send(std::string url, std::string json) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->calls.size() < state_->options.most_waiting) {
      state_->calls.push_back({std::move(url), std::move(json), 0, Clock::now()});
      state_->changed.notify_all();
      return;
    }
  }
  state_->trouble("too many webhooks wait; one to " + shown(url) + " was dropped");
}

std::optional<Call> Webhooks::State::next() {
  std::unique_lock lock(mutex);
  for (;;) {
    if (stop) return std::nullopt;
    if (calls.empty()) {
      changed.wait(lock);
      continue;
    }
    const auto first = std::min_element(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.at < b.at; });
    if (first->at > Clock::now()) {
      changed.wait_until(lock, Clock::time_point(first->at));
      continue;
    }
    Call call = std::move(*first);
    calls.erase(first);
    return call;
  }
}

void Webhooks::State::run() {
  while (auto call = next()) {
    bool again = false;
    const std::string failure = post(*call, again);
    if (failure.empty()) continue;
    const std::size_t tried = call->tries++;
    if (again && tried < options.pauses.size()) {
      call->at = Clock::now() + options.pauses[tried];
      const std::lock_guard lock(mutex);
      calls.push_back(std::move(*call));
    } else {
      trouble(fmt::format("the webhook {} was not reached: {}", shown(call->url), failure));
    }
  }
}

std::string Webhooks::State::post(const Call& call, bool& again) {
  // The list may have changed since the job was taken in.
  if (const auto allowed = check_webhook(call.url, options.hosts); !allowed) return allowed.error().message;
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  const std::unique_ptr<CURL, Deleter> handle(ready ? curl_easy_init() : nullptr);
  if (handle == nullptr) return "libcurl of this system cannot be used";
  CURL* curl = handle.get();
  std::unique_ptr<curl_slist, Deleter> headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  curl_slist_append(headers.get(), "Expect:");
  curl_easy_setopt(curl, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.json.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call.json.data());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "continuo");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &drop);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, curl_off_t{1} << 20);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &State::stopped);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    again = code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_ABORTED_BY_CALLBACK && code != CURLE_FILESIZE_EXCEEDED;
    return curl_easy_strerror(code);
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  again = status == 408 || status == 429 || status >= 500;
  return fmt::format("it answered {}", status);
}

}  // namespace continuo::server
