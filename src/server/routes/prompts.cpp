#include "server/requests/json.h"
#include "server/requests/query.h"
#include "server/routes/take_json.h"
#include "server/routes/takes.h"

namespace continuo::server {

namespace {

struct SimilarQuery {
  std::string prompt;
  float threshold = library::default_threshold;
  int limit = 5;
};

Parsed<SimilarQuery> read_similar(const nlohmann::json& object) {
  Fields fields(object);
  SimilarQuery read;
  read.prompt = fields.text("prompt", library::max_indexed_prompt_bytes).value_or("");
  if (read.prompt.empty()) fields.missing("prompt", "the prompt to compare with is missing");
  if (const auto threshold = fields.number("threshold", {-1.0, 1.0})) read.threshold = static_cast<float>(*threshold);
  read.limit = static_cast<int>(fields.integer("limit", 1, 50).value_or(read.limit));
  if (const auto done = fields.finish(); !done) return tl::unexpected(done.error());
  return read;
}

Parsed<SimilarQuery> read_similar(const HttpRequest& request) {
  if (request.method != "POST") return read_similar(query_object(request.query, {"prompt"}));
  CONTINUO_PARSE(const nlohmann::json object, parse_json_object(request.body));
  return read_similar(object);
}

}  // namespace

Task<void> TakesRoutes::similar_prompts(Exchange& exchange) {
  const auto read = read_similar(exchange.request());
  if (!read) co_return co_await exchange.send(error_response(read.error()));
  const auto similar = co_await parts_.prompts.similar(read->prompt, read->threshold, static_cast<std::size_t>(read->limit));
  if (!similar) co_return co_await exchange.send(not_similar(parts_.prompts, similar.error(), "prompt"));
  OrderedJson found = OrderedJson::array();
  for (const Prompts::Similar& one : *similar) {
    found.push_back({{"prompt", one.prompt}, {"similarity", one.similarity}, {"takes", one.takes}});
  }
  const OrderedJson answer{{"prompt", read->prompt}, {"threshold", read->threshold}, {"similar", std::move(found)}};
  co_await exchange.send(json_answer(200, answer));
}

}  // namespace continuo::server
