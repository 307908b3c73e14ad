// Searching takes.
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

#include "library/search_words.h"
#include "library/take_rows.h"
#include "library/takes.h"

namespace continuo::library {

namespace {

constexpr std::size_t most_prompts = 200;

/// The place of the last take of a page in the order: by date, then by arrival.
struct Place {
  double created = 0.0;
  std::int64_t arrival = 0;
};

std::string write_cursor(const Place& place) {
  return fmt::format("{:016x}-{:x}", std::bit_cast<std::uint64_t>(place.created), place.arrival);
}

template <class Number>
bool read_hex(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return problem == std::errc() && end == text.data() + text.size();
}

Result<Place> read_cursor(std::string_view text) {
  std::uint64_t bits = 0;
  Place place;
  const std::size_t dash = text.find('-');
  if (dash != 16 || !read_hex(text.substr(0, dash), bits) || !read_hex(text.substr(dash + 1), place.arrival) ||
      place.arrival < 1 || !std::isfinite(std::bit_cast<double>(bits))) {
    return fail(ErrorCode::invalid_argument, "the cursor is none of ours; leave it out to begin with the newest");
  }
  place.created = std::bit_cast<double>(bits);
  return place;
}

/// `WHERE` and what is bound to it, collected together so that the two cannot come apart.
struct Conditions {
  std::string sql;
  std::vector<std::function<void(SQLite::Statement&, int)>> values;

  void require(const std::string& condition) { sql += (sql.empty() ? " WHERE " : " AND ") + condition; }
  template <class Value>
  void bind(Value value) {
    values.push_back([value = std::move(value)](SQLite::Statement& statement, int index) { statement.bind(index, value); });
  }
};

}  // namespace

Result<TakePage> TakeLibrary::find(const TakeQuery& query) const {
  if (query.limit < 1 || query.limit > most_takes_in_a_page) {
    return fail(ErrorCode::invalid_argument, "a page has 1 to {} takes, not {}", most_takes_in_a_page, query.limit);
  }
  if (query.least_rating && (*query.least_rating < 0 || *query.least_rating > 5)) {
    return fail(ErrorCode::invalid_argument, "a rating is 0 to 5, not {}", *query.least_rating);
  }
  if (query.prompts && query.prompts->size() > most_prompts) {
    return fail(ErrorCode::invalid_argument, "at most {} prompts can be looked for at once", most_prompts);
  }
  CONTINUO_TRY(const std::string words, match_expression(query.words));
  Place place;
  if (!query.cursor.empty()) {
    CONTINUO_TRY(place, read_cursor(query.cursor));
  }

  Conditions conditions;
  conditions.require(query.trash ? "deleted IS NOT NULL" : "deleted IS NULL");
  if (!words.empty()) {
    conditions.require("number IN (SELECT rowid FROM takes_words WHERE takes_words MATCH ?)");
    conditions.bind(words);
  }
  if (query.prompts) {
    std::string marks;
    for (const std::string& prompt : *query.prompts) {
      marks += marks.empty() ? "?" : ", ?";
      conditions.bind(prompt);
    }
    conditions.require(fmt::format("prompt IN ({})", marks));
  }
  if (query.unrated) conditions.require("rating IS NULL");
  if (query.least_rating) {
    conditions.require("rating >= ?");
    conditions.bind(*query.least_rating);
  }
  if (!query.job.empty()) {
    conditions.require("job = ?");
    conditions.bind(query.job);
  }
  if (!query.cursor.empty()) {
    conditions.require("(created, number) < (?, ?)");
    conditions.bind(place.created);
    conditions.bind(place.arrival);
  }
  return database_->read([&](SQLite::Database& connection) -> Result<TakePage> {
    SQLite::Statement row(connection, fmt::format("SELECT {} FROM takes{} ORDER BY created DESC, number DESC LIMIT {}",
                                                  take_columns, conditions.sql, query.limit + 1));
    int index = 0;
    for (const auto& bind : conditions.values) bind(row, ++index);
    TakePage page;
    Place last;
    while (row.executeStep()) {
      if (page.takes.size() == static_cast<std::size_t>(query.limit)) {
        page.next = write_cursor(last);  // there is at least one more
        break;
      }
      page.takes.push_back(read_take(row));
      last = {page.takes.back().created, arrival_of(row)};
    }
    return page;
  });
}

Result<TakeTotals> TakeLibrary::totals() const {
  return database_->read([](SQLite::Database& connection) -> Result<TakeTotals> {
    SQLite::Statement row(
        connection,
        "SELECT count(*) FILTER (WHERE deleted IS NULL), coalesce(sum(bytes) FILTER (WHERE deleted IS NULL), 0), "
        "count(deleted), coalesce(sum(bytes) FILTER (WHERE deleted IS NOT NULL), 0) FROM takes");
    row.executeStep();
    return TakeTotals{row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64(),
                      row.getColumn(3).getInt64()};
  });
}

}  // namespace continuo::library
