#include "server/requests/json.h"
#include "server/routes/take_json.h"
#include "server/routes/takes.h"

namespace continuo::server {

namespace {

using library::RetentionPlan;
using library::RetentionRules;
using library::TakeTotals;

Parsed<RetentionRules> read_rules(const std::string& body) {
  CONTINUO_PARSE(const nlohmann::json object, parse_json_object(body));
  Fields fields(object);
  RetentionRules rules;
  rules.days = fields.number("days", {0.0, 1e6, true});
  rules.bytes = fields.integer("bytes", 1, std::int64_t{1} << 60);
  rules.trash_days = fields.number("trash_days", {0.0, 1e6}).value_or(rules.trash_days);
  rules.schedule = fields.flag("schedule").value_or(false);
  if (const auto done = fields.finish(); !done) return tl::unexpected(done.error());
  return rules;
}

OrderedJson rules_json(const RetentionRules& rules, const TakeTotals& totals) {
  return {{"object", "retention"},
          {"days", or_null(rules.days)},
          {"bytes", or_null(rules.bytes)},
          {"trash_days", rules.trash_days},
          {"schedule", rules.schedule},
          {"used",
           {{"takes", totals.takes},
            {"bytes", totals.bytes},
            {"trash_takes", totals.trash_takes},
            {"trash_bytes", totals.trash_bytes}}}};
}

OrderedJson plan_json(const RetentionPlan& plan) {
  OrderedJson takes = OrderedJson::array();
  for (const RetentionPlan::Item& item : plan.takes) {
    takes.push_back({{"id", item.id},
                     {"title", item.title},
                     {"prompt", item.prompt},
                     {"created", item.created},
                     {"bytes", item.bytes},
                     {"reason", name_of(item.reason)}});
  }
  return {{"object", "retention_plan"},        {"plan", plan.token},
          {"takes", std::move(takes)},         {"bytes", plan.bytes},
          {"bytes_before", plan.bytes_before}, {"bytes_after", plan.bytes_before - plan.bytes}};
}

struct Told {
  RetentionRules rules;
  TakeTotals totals;
};

Result<Told> tell(const library::Retention& retention, const library::TakeLibrary& takes) {
  CONTINUO_TRY(RetentionRules rules, retention.rules());
  CONTINUO_TRY(const TakeTotals totals, takes.totals());
  return Told{rules, totals};
}

HttpResponse answer_of(const Result<Told>& told) {
  return told ? json_answer(200, rules_json(told->rules, told->totals)) : error_answer(told.error());
}

HttpResponse not_run(const Error& error) {
  if (error.code != ErrorCode::not_found) return error_answer(error);
  return error_response({409, error.message, "plan", "plan_changed"});
}

}  // namespace

Task<void> TakesRoutes::get_retention(Exchange& exchange) {
  auto work = [this] { return tell(parts_.retention, parts_.takes); };
  const auto told = co_await parts_.pool.run(std::move(work));
  co_await exchange.send(answer_of(told));
}

Task<void> TakesRoutes::put_retention(Exchange& exchange) {
  const auto rules = read_rules(exchange.request().body);
  if (!rules) co_return co_await exchange.send(error_response(rules.error()));
  auto work = [this, &rules]() -> Result<Told> {
    CONTINUO_CHECK(parts_.retention.set_rules(*rules));
    return tell(parts_.retention, parts_.takes);
  };
  const auto told = co_await parts_.pool.run(std::move(work));
  co_await exchange.send(answer_of(told));
}

Task<void> TakesRoutes::plan_retention(Exchange& exchange) {
  auto work = [this] { return parts_.retention.plan(wall_seconds()); };
  const auto plan = co_await parts_.pool.run(std::move(work));
  if (!plan) co_return co_await exchange.send(error_answer(plan.error()));
  co_await exchange.send(json_answer(200, plan_json(*plan)));
}

Task<void> TakesRoutes::run_retention(Exchange& exchange) {
  const auto object = parse_json_object(exchange.request().body);
  if (!object) co_return co_await exchange.send(error_response(object.error()));
  Fields fields(*object);
  const std::string token = fields.text("plan", 200).value_or("");
  if (token.empty()) fields.missing("plan", "the plan to run is missing; GET /v1/retention/plan gives one");
  if (const auto done = fields.finish(); !done) co_return co_await exchange.send(error_response(done.error()));
  auto work = [this, &token] { return parts_.retention.run(token, wall_seconds()); };
  const auto removed = co_await parts_.pool.run(std::move(work));
  if (!removed) co_return co_await exchange.send(not_run(removed.error()));
  forget(*removed);
  OrderedJson ids = OrderedJson::array();
  std::int64_t bytes = 0;
  for (const library::RemovedTake& take : *removed) {
    ids.push_back(take.id);
    bytes += take.bytes;
  }
  const OrderedJson answer{{"object", "retention_run"}, {"removed", std::move(ids)}, {"bytes", bytes}};
  co_await exchange.send(json_answer(200, answer));
}

}  // namespace continuo::server
