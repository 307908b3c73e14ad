#include "server/routes/takes.h"

#include <algorithm>
#include <map>

#include "server/requests/json.h"
#include "server/requests/query.h"
#include "server/routes/take_json.h"

namespace continuo::server {

namespace {

using library::Take;
using library::TakePage;
using library::TakeQuery;

constexpr std::size_t most_words_bytes = 1000;
constexpr std::size_t most_prompts_compared = 50;

struct ListQuery {
  TakeQuery query;
  std::string similar;  // empty: by date
  float threshold = library::default_threshold;
};

Parsed<ListQuery> read_list_query(const QueryArguments& arguments) {
  const nlohmann::json object = query_object(arguments, {"q", "similar", "cursor", "job", "rating"});
  Fields fields(object);
  ListQuery read;
  TakeQuery& query = read.query;
  query.words = fields.text("q", most_words_bytes).value_or("");
  query.job = fields.text("job", 200).value_or("");
  query.cursor = fields.text("cursor", 100).value_or("");
  query.limit = static_cast<int>(fields.integer("limit", 1, library::most_takes_in_a_page).value_or(50));
  if (const auto rating = fields.text("rating", 10); rating && !rating->empty()) {
    if (*rating == "none") {
      query.unrated = true;
    } else if (rating->size() == 1 && rating->front() >= '0' && rating->front() <= '5') {
      query.least_rating = rating->front() - '0';
    } else {
      fields.refuse("rating", "rating is 0 to 5, for takes with at least that, or none, for those without one");
    }
  }
  if (const auto* deleted = fields.any("deleted")) {
    if (deleted->is_boolean() || *deleted == 0 || *deleted == 1) {
      query.trash = *deleted == true || *deleted == 1;
    } else {
      fields.refuse("deleted", "deleted is true or false");
    }
  }
  read.similar = fields.text("similar", library::max_indexed_prompt_bytes).value_or("");
  const auto threshold = fields.number("threshold", {-1.0, 1.0});
  if (threshold) read.threshold = static_cast<float>(*threshold);
  if (read.similar.empty() && threshold) fields.refuse("threshold", "threshold belongs to similar");
  if (!read.similar.empty() && !query.cursor.empty()) {
    fields.refuse("cursor", "takes by similarity come in one answer; leave out the cursor or similar");
  }
  if (const auto done = fields.finish(); !done) return tl::unexpected(done.error());
  return read;
}

HttpResponse page_answer(const TakePage& page, const std::map<std::string, float>& similarity) {
  OrderedJson data = OrderedJson::array();
  for (const Take& take : page.takes) {
    data.push_back(take_json(take));
    if (const auto found = similarity.find(take.prompt); found != similarity.end()) data.back()["similarity"] = found->second;
  }
  return json_answer(200, {{"object", "list"},
                           {"data", std::move(data)},
                           {"has_more", !page.next.empty()},
                           {"next", page.next.empty() ? OrderedJson() : OrderedJson(page.next)}});
}

/// The most similar first; within a prompt, the newest.
void order_by(TakePage& page, const std::map<std::string, float>& similarity, int limit) {
  std::stable_sort(page.takes.begin(), page.takes.end(),
                   [&](const Take& a, const Take& b) { return similarity.at(a.prompt) > similarity.at(b.prompt); });
  if (page.takes.size() > static_cast<std::size_t>(limit)) page.takes.resize(static_cast<std::size_t>(limit));
  page.next.clear();
}

Parsed<library::TakeChange> read_change(const std::string& body) {
  CONTINUO_PARSE(const nlohmann::json object, parse_json_object(body));
  Fields fields(object);
  library::TakeChange change;
  change.title = fields.text("title", library::most_title_bytes);
  if (const auto rating = fields.integer("rating", 0, 5)) {
    change.rating = static_cast<int>(*rating);
  } else if (object.contains("rating")) {
    change.rating = std::optional<int>();
  }
  if (const auto done = fields.finish(); !done) return tl::unexpected(done.error());
  if (object.empty()) return refuse(422, "missing_field", "", "there is nothing to change; send title or rating");
  return change;
}

}  // namespace

OrderedJson take_json(const Take& take) {
  const std::string self = "/v1/takes/" + take.id;
  OrderedJson audio;
  for (const char* extension : {"wav", "flac", "mp3", "m4a", "ogg"}) audio[extension] = self + "/audio." + extension;
  return {{"id", take.id},
          {"object", "take"},
          {"job", take.job},
          {"number", take.number},
          {"prompt", take.prompt},
          {"title", take.title},
          {"model", take.model},
          {"seed", take.seed},
          {"duration", take.seconds},
          {"sample_rate", take.sample_rate},
          {"channels", take.channels},
          {"bytes", take.bytes},
          {"created", take.created},
          {"rating", or_null(take.rating)},
          {"deleted", or_null(take.deleted)},
          {"loudness", or_null(take.loudness)},
          {"peak", or_null(take.peak)},
          {"audio", audio},
          {"peaks", self + "/peaks"},
          {"urls", {{"self", self}, {"settings", self + "/settings"}, {"restore", self + "/restore"}}}};
}

HttpResponse not_similar(const Prompts& prompts, const Error& error, std::string_view param) {
  if (prompts.ready()) return error_answer(error, param);
  return error_response({503, error.message, "", "loading"}, 1.0);
}

void TakesRoutes::add_to(Router& router) {
  const auto to = [this](Task<void> (TakesRoutes::*handler)(Exchange&)) {
    return [this, handler](Exchange& exchange) { return (this->*handler)(exchange); };
  };
  router.add("GET", "/v1/takes", to(&TakesRoutes::list));
  router.add("GET", "/v1/takes/{id}", to(&TakesRoutes::get));
  router.add("PATCH", "/v1/takes/{id}", to(&TakesRoutes::change));
  router.add("DELETE", "/v1/takes/{id}", to(&TakesRoutes::remove));
  router.add("POST", "/v1/takes/{id}/restore", to(&TakesRoutes::restore));
  router.add("GET", "/v1/takes/{id}/settings", to(&TakesRoutes::settings));
  router.add("GET", "/v1/takes/{id}/audio.{ext}", to(&TakesRoutes::audio));
  router.add("GET", "/v1/takes/{id}/peaks", to(&TakesRoutes::peaks));
  router.add("GET", "/v1/prompts/similar", to(&TakesRoutes::similar_prompts));
  router.add("POST", "/v1/prompts/similar", to(&TakesRoutes::similar_prompts));
  router.add("GET", "/v1/retention", to(&TakesRoutes::get_retention));
  router.add("PUT", "/v1/retention", to(&TakesRoutes::put_retention));
  router.add("GET", "/v1/retention/plan", to(&TakesRoutes::plan_retention));
  router.add("POST", "/v1/retention/run", to(&TakesRoutes::run_retention));
}

void TakesRoutes::forget(const std::vector<library::RemovedTake>& removed) {
  for (const library::RemovedTake& take : removed) {
    parts_.renditions.drop(take.id);
    parts_.prompts.forget(take.prompt);
  }
}

Task<void> TakesRoutes::list(Exchange& exchange) {
  auto read = read_list_query(exchange.request().query);
  if (!read) co_return co_await exchange.send(error_response(read.error()));
  const int limit = read->query.limit;
  std::map<std::string, float> similarity;
  if (!read->similar.empty()) {
    const auto similar = co_await parts_.prompts.similar(read->similar, read->threshold, most_prompts_compared);
    if (!similar) co_return co_await exchange.send(not_similar(parts_.prompts, similar.error(), "similar"));
    read->query.prompts.emplace();
    for (const Prompts::Similar& one : *similar) {
      similarity[one.prompt] = one.similarity;
      read->query.prompts->push_back(one.prompt);
    }
    read->query.limit = library::most_takes_in_a_page;
  }
  auto work = [this, &read] { return parts_.takes.find(read->query); };
  auto page = co_await parts_.pool.run(std::move(work));
  if (!page) co_return co_await exchange.send(error_answer(page.error()));
  if (read->query.prompts) order_by(*page, similarity, limit);
  co_await exchange.send(page_answer(*page, similarity));
}

Task<void> TakesRoutes::get(Exchange& exchange) {
  auto work = [this, id = captured(exchange.request(), "id")] { return parts_.takes.get(id); };
  const auto take = co_await parts_.pool.run(std::move(work));
  co_await exchange.send(take_answer(take));
}

Task<void> TakesRoutes::change(Exchange& exchange) {
  const auto change = read_change(exchange.request().body);
  if (!change) co_return co_await exchange.send(error_response(change.error()));
  auto work = [this, &change, id = captured(exchange.request(), "id")] { return parts_.takes.change(id, *change); };
  const auto take = co_await parts_.pool.run(std::move(work));
  co_await exchange.send(take_answer(take, "title"));
}

Task<void> TakesRoutes::remove(Exchange& exchange) {
  const nlohmann::json object = query_object(exchange.request().query, {});
  Fields fields(object);
  const bool forever = fields.flag("forever").value_or(false);
  if (const auto done = fields.finish(); !done) co_return co_await exchange.send(error_response(done.error()));
  const std::string id = captured(exchange.request(), "id");
  if (!forever) {
    auto work = [this, &id] { return parts_.takes.trash(id, wall_seconds()); };
    const auto take = co_await parts_.pool.run(std::move(work));
    co_return co_await exchange.send(take_answer(take));
  }
  auto work = [this, &id] { return parts_.takes.remove(id); };
  const auto removed = co_await parts_.pool.run(std::move(work));
  if (!removed) co_return co_await exchange.send(error_answer(removed.error()));
  forget({*removed});
  const OrderedJson answer{{"id", id}, {"object", "take"}, {"removed", true}, {"bytes", removed->bytes}};
  co_await exchange.send(json_answer(200, answer));
}

Task<void> TakesRoutes::restore(Exchange& exchange) {
  auto work = [this, id = captured(exchange.request(), "id")] { return parts_.takes.restore(id); };
  const auto take = co_await parts_.pool.run(std::move(work));
  if (take) parts_.prompts.add(take->prompt);
  co_await exchange.send(take_answer(take));
}

Task<void> TakesRoutes::settings(Exchange& exchange) {
  auto work = [this, id = captured(exchange.request(), "id")] { return parts_.takes.get(id); };
  const auto take = co_await parts_.pool.run(std::move(work));
  if (!take) co_return co_await exchange.send(error_answer(take.error()));
  co_await exchange.send(json_response(200, take->settings));
}

}  // namespace continuo::server
