#include "server/media/serve.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>

#include "server/media/byte_range.h"
#include "server/media/following.h"
#include "server/requests/error_response.h"
#include "server/wake.h"

namespace continuo::server {

namespace {

constexpr std::int64_t piece_bytes = 1 << 16;
// Only a net under the wakes.
constexpr auto look_again = std::chrono::seconds(30);

/// FNV-1a of 64 bits.
std::uint64_t hash(std::string_view text, std::uint64_t start) {
  std::uint64_t value = start;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  return value;
}

/// RFC 6266, with the plain name for clients that do not know the other one.
std::string disposition(const ServeOptions& options, const char* extension) {
  std::string plain, encoded;
  bool ascii = true;
  for (const char c : options.name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    plain += letter || c == ' ' ? c : '_';
    encoded += letter ? std::string(1, c) : fmt::format("%{:02X}", byte);
    ascii = ascii && (letter || c == ' ');
  }
  std::string value = fmt::format("{}; filename=\"{}.{}\"", options.download ? "attachment" : "inline", plain, extension);
  if (!ascii) value += fmt::format("; filename*=UTF-8''{}.{}", encoded, extension);
  return value;
}

struct Plan {
  int status = 200;
  Headers headers;
  std::optional<std::int64_t> length;
  std::int64_t first = 0;
};

Plan plan_answer(const HttpRequest& request, const Rendition& rendition, const ServeOptions& options) {
  const RenditionFormat& format = rendition.format();
  Plan plan;
  const std::string tag = entity_tag(options.take, format);
  plan.headers = {{"ETag", tag}, {"Cache-Control", options.cache_control}};
  if (names_tag(request.header("if-none-match"), tag)) {
    plan.status = 304;
    return plan;
  }
  const std::optional<std::int64_t> size = rendition.whole_size();
  plan.length = size;
  plan.headers.emplace_back("Accept-Ranges", size ? "bytes" : "none");
  const std::string_view if_range = request.header("if-range");
  RangeWish wish;
  if (size && request.method == "GET" && (if_range.empty() || if_range == tag)) {
    wish = parse_range(request.header("range"), *size);
  }
  if (wish.kind == RangeWish::Kind::none) {
    plan.status = 416;
    plan.headers.emplace_back("Content-Range", fmt::format("bytes */{}", *size));
    return plan;
  }
  if (wish.kind == RangeWish::Kind::part) {
    plan.status = 206;
    plan.first = wish.part.first;
    plan.length = wish.part.last - wish.part.first + 1;
    plan.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", wish.part.first, wish.part.last, *size));
  }
  plan.headers.emplace_back("Content-Type",
                            options.media_type.empty() ? audio::media_type_of(format.format) : options.media_type);
  plan.headers.emplace_back("X-Sample-Rate", std::to_string(rendition.sample_rate()));
  plan.headers.emplace_back("X-Channels", std::to_string(rendition.channels()));
  if (const auto bits = format.bits()) plan.headers.emplace_back("X-Bit-Depth", std::to_string(*bits));
  if (!options.name.empty()) {
    plan.headers.emplace_back("Content-Disposition", disposition(options, extension_of(format.format)));
  }
  plan.headers.insert(plan.headers.end(), options.headers.begin(), options.headers.end());
  return plan;
}

HttpResponse beyond_the_end(const Plan& plan) {
  HttpResponse response = error_response({416, "the range begins after the end of the sound", "", "range"});
  response.headers.insert(response.headers.end(), plan.headers.begin(), plan.headers.end());
  return response;
}

HttpResponse failure_of(const Rendition& rendition) {
  return error_response(api_error_of(rendition.error().value_or(Error{ErrorCode::io, "the rendition failed"})));
}

}  // namespace

std::string entity_tag(const std::string& take, const RenditionFormat& format) {
  const std::string name = take + '\n' + format.key();
  return fmt::format("\"{:016x}{:016x}\"", hash(name, 14'695'981'039'346'656'037ULL), hash(name, 0x9E3779B97F4A7C15ULL));
}

Task<Result<std::string>> read_rendition(Pool& pool, std::shared_ptr<Rendition> rendition, std::int64_t first,
                                         std::size_t count) {
  std::string bytes(count, '\0');
  const auto out = std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
  const auto at_once = rendition->read_now(first, out);
  if (at_once == count) co_return bytes;
  auto work = [&] { return rendition->read(first, out); };
  const Result<std::size_t> got = co_await pool.run(std::move(work));
  if (!got) co_return forward_error(got.error());
  if (*got != count) co_return fail(ErrorCode::io, "{} bytes were read where {} should be", *got, count);
  co_return bytes;
}

Task<void> serve_rendition(Exchange& exchange, Pool& pool, std::shared_ptr<Rendition> rendition, ServeOptions options) {
  const boost::asio::any_io_executor io = co_await boost::asio::this_coro::executor;
  Wake wake(io);
  exchange.watch(wake);
  const Following following(rendition, wake, io);
  while (rendition->state() == Rendition::State::growing && rendition->size() == 0) {
    if (exchange.gone()) co_return;
    co_await wake.wait(look_again);
  }
  if (rendition->state() == Rendition::State::failed) {
    HttpResponse failed = failure_of(*rendition);
    co_await exchange.send(std::move(failed));
    co_return;
  }

  Plan plan = plan_answer(exchange.request(), *rendition, options);
  if (plan.status == 304) {
    HttpResponse unchanged;
    unchanged.status = 304;
    unchanged.headers = std::move(plan.headers);
    co_await exchange.send(std::move(unchanged));
    co_return;
  }
  if (plan.status == 416) {
    HttpResponse refused = beyond_the_end(plan);
    co_await exchange.send(std::move(refused));
    co_return;
  }
  const bool begun = co_await exchange.begin(plan.status, std::move(plan.headers), plan.length);
  if (!begun) co_return;
  const bool head_only = exchange.request().method == "HEAD";
  std::int64_t at = plan.first;
  while (!head_only && (!plan.length || at < plan.first + *plan.length)) {
    const Rendition::State state = rendition->state();  // before the size: a complete one has all of it
    std::int64_t there = rendition->size() - at;
    if (plan.length) there = std::min(there, plan.first + *plan.length - at);
    if (there <= 0) {
      if (exchange.gone()) co_return;
      if (state == Rendition::State::complete && !plan.length) break;
      if (state != Rendition::State::growing) {
        exchange.abort();
        co_return;
      }
      co_await wake.wait(look_again);
      continue;
    }
    Result<std::string> piece =
        co_await read_rendition(pool, rendition, at, static_cast<std::size_t>(std::min(there, piece_bytes)));
    if (!piece) {
      exchange.abort();
      co_return;
    }
    at += static_cast<std::int64_t>(piece->size());
    const bool taken = co_await exchange.write(std::move(*piece));
    if (!taken) co_return;
  }
  co_await exchange.end();
}

}  // namespace continuo::server
