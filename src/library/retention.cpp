#include "library/retention.h"

#include <openssl/evp.h>
#include <array>
#include <charconv>
#include <cmath>

#include "library/take_rows.h"

namespace continuo::library {

namespace {

constexpr double seconds_a_day = 86'400.0;
constexpr double token_seconds = seconds_a_day;

/// When a plan was made and the last take that it knew. With both, the same plan can be made again later: what has come since, or
/// has only grown old since, is no part of it.
struct Moment {
  std::int64_t milliseconds = 0;
  std::int64_t arrival = 0;
};

RetentionRules read_rules(SQLite::Database& connection) {
  RetentionRules rules;
  SQLite::Statement row(connection, "SELECT days, bytes, trash_days, schedule FROM retention");
  if (!row.executeStep()) return rules;
  if (!row.getColumn(0).isNull()) rules.days = row.getColumn(0).getDouble();
  if (!row.getColumn(1).isNull()) rules.bytes = row.getColumn(1).getInt64();
  rules.trash_days = row.getColumn(2).getDouble();
  rules.schedule = row.getColumn(3).getInt() != 0;
  return rules;
}

/// Not a secret: it only has to differ when the list does.
Result<std::string> token_of(const RetentionPlan& plan, const Moment& moment) {
  std::string text;
  for (const RetentionPlan::Item& item : plan.takes) text += fmt::format("{} {} {}\n", item.id, item.bytes, name_of(item.reason));
  std::array<unsigned char, 32> hash{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) != 1) {
    return fail(ErrorCode::unsupported, "libcrypto has no SHA-256");
  }
  std::string token = fmt::format("{:x}-{:x}-", moment.milliseconds, moment.arrival);
  for (std::size_t i = 0; i < 16; ++i) token += fmt::format("{:02x}", hash[i]);
  return token;
}

std::optional<Moment> moment_of(const std::string& token) {
  Moment moment;
  const char* next = token.data();
  const char* const end = next + token.size();
  for (std::int64_t* const number : {&moment.milliseconds, &moment.arrival}) {
    const auto [stop, problem] = std::from_chars(next, end, *number, 16);
    if (problem != std::errc() || stop == end || *stop != '-') return std::nullopt;
    next = stop + 1;
  }
  return moment;
}

Result<RetentionPlan> make_plan(SQLite::Database& connection, const Moment& moment) {
  using Reason = RetentionPlan::Reason;
  const RetentionRules rules = read_rules(connection);
  const double now = static_cast<double>(moment.milliseconds) / 1000.0;

  // What could go at all, in the order in which room is made.
  struct Candidate {
    RetentionPlan::Item item;
    bool goes = false;
  };
  std::vector<Candidate> candidates;
  RetentionPlan plan;
  SQLite::Statement row(connection,
                        "SELECT id, title, prompt, created, bytes, rating, deleted FROM takes WHERE number <= ? "
                        "ORDER BY deleted IS NULL, deleted, created, number");
  row.bind(1, moment.arrival);
  while (row.executeStep()) {
    Candidate candidate;
    RetentionPlan::Item& item = candidate.item;
    item.bytes = row.getColumn(4).getInt64();
    plan.bytes_before += item.bytes;
    const bool in_trash = !row.getColumn(6).isNull();
    if (!in_trash && !row.getColumn(5).isNull()) continue;  // rated
    item.id = row.getColumn(0).getString();
    item.title = row.getColumn(1).getString();
    item.prompt = row.getColumn(2).getString();
    item.created = row.getColumn(3).getDouble();
    if (in_trash) {
      item.reason = Reason::trash;
      candidate.goes = now - row.getColumn(6).getDouble() >= rules.trash_days * seconds_a_day;
    } else {
      candidate.goes = rules.days && now - item.created > *rules.days * seconds_a_day;
    }
    candidates.push_back(std::move(candidate));
  }

  std::int64_t left = plan.bytes_before;
  for (const Candidate& candidate : candidates) left -= candidate.goes ? candidate.item.bytes : 0;
  for (Candidate& candidate : candidates) {
    if (candidate.goes || !rules.bytes || left <= *rules.bytes) continue;
    candidate.goes = true;
    candidate.item.reason = Reason::room;
    left -= candidate.item.bytes;
  }
  plan.bytes = plan.bytes_before - left;
  for (Candidate& candidate : candidates) {
    if (candidate.goes) plan.takes.push_back(std::move(candidate.item));
  }
  CONTINUO_TRY(plan.token, token_of(plan, moment));
  return plan;
}

}  // namespace

const char* name_of(RetentionPlan::Reason reason) {
  switch (reason) {
    case RetentionPlan::Reason::trash: return "trash";
    case RetentionPlan::Reason::age: return "age";
    case RetentionPlan::Reason::room: break;
  }
  return "room";
}

Result<RetentionRules> Retention::rules() const {
  return database_->read([](SQLite::Database& connection) -> Result<RetentionRules> { return read_rules(connection); });
}

Status Retention::set_rules(const RetentionRules& rules) {
  if (rules.days && (!std::isfinite(*rules.days) || *rules.days <= 0.0)) {
    return fail(ErrorCode::invalid_argument, "the days that takes are kept are more than 0, not {}", *rules.days);
  }
  if (rules.bytes && *rules.bytes <= 0) {
    return fail(ErrorCode::invalid_argument, "the bytes that takes may have are more than 0, not {}", *rules.bytes);
  }
  if (!std::isfinite(rules.trash_days) || rules.trash_days < 0.0) {
    return fail(ErrorCode::invalid_argument, "the days in the trash are 0 or more, not {}", rules.trash_days);
  }
  return database_->write([&](SQLite::Database& connection) -> Status {
    SQLite::Statement row(connection,
                          "INSERT OR REPLACE INTO retention (one, days, bytes, trash_days, schedule) VALUES (1, ?1, ?2, ?3, ?4)");
    if (rules.days) row.bind(1, *rules.days);
    if (rules.bytes) row.bind(2, *rules.bytes);
    row.bind(3, rules.trash_days);
    row.bind(4, rules.schedule ? 1 : 0);
    row.exec();
    return {};
  });
}

Result<RetentionPlan> Retention::plan(double now) const {
  return database_->read([&](SQLite::Database& connection) -> Result<RetentionPlan> {
    const std::int64_t arrival = connection.execAndGet("SELECT coalesce(max(number), 0) FROM takes").getInt64();
    return make_plan(connection, {static_cast<std::int64_t>(std::floor(now * 1000.0)), arrival});
  });
}

Result<std::vector<RemovedTake>> Retention::run(const std::string& token, double now) {
  const auto refused = [] {
    return fail(ErrorCode::not_found, "the plan is not, or no longer, what would be deleted; ask for a new one and run that");
  };
  const std::optional<Moment> moment = moment_of(token);
  if (!moment) return refused();
  const double age = now - static_cast<double>(moment->milliseconds) / 1000.0;
  if (!(age > -1.0 && age < token_seconds)) return refused();  // a token from the future would delete what is not old yet
  CONTINUO_TRY(auto removed, database_->write([&](SQLite::Database& connection) -> Result<std::vector<RemovedTake>> {
    CONTINUO_TRY(const RetentionPlan plan, make_plan(connection, *moment));
    if (plan.token != token) return refused();
    std::vector<std::string> ids;
    for (const RetentionPlan::Item& item : plan.takes) ids.push_back(item.id);
    return remove_rows(connection, ids);
  }));
  CONTINUO_CHECK(remove_orphans(*database_));
  return removed;
}

}  // namespace continuo::library
