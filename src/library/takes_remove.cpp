// Takes that go for good.
#include <cmath>
#include <filesystem>

#include "library/take_rows.h"
#include "library/takes.h"

namespace continuo::library {

namespace {

namespace fs = std::filesystem;

constexpr double seconds_a_day = 86'400.0;

}  // namespace

std::vector<RemovedTake> remove_rows(SQLite::Database& connection, const std::vector<std::string>& ids) {
  std::vector<RemovedTake> removed;
  SQLite::Statement find(connection, "SELECT number, prompt, bytes, sound FROM takes WHERE id = ?");
  SQLite::Statement orphan(connection, "INSERT OR IGNORE INTO orphans (sound) VALUES (?)");
  SQLite::Statement words(connection, "DELETE FROM takes_words WHERE rowid = ?");
  SQLite::Statement row(connection, "DELETE FROM takes WHERE number = ?");
  SQLite::Statement mark(connection,
                         "DELETE FROM fingerprints WHERE prompt = ?1 AND NOT EXISTS (SELECT 1 FROM takes WHERE prompt = ?1)");
  for (const std::string& id : ids) {
    find.bind(1, id);
    if (find.executeStep()) {
      const std::int64_t number = find.getColumn(0).getInt64();
      removed.push_back({id, find.getColumn(1).getString(), find.getColumn(2).getInt64()});
      orphan.bind(1, find.getColumn(3).getString());
      words.bind(1, number);
      row.bind(1, number);
      mark.bind(1, removed.back().prompt);
      for (SQLite::Statement* const each : {&orphan, &words, &row, &mark}) {
        each->exec();
        each->reset();
      }
    }
    find.reset();
  }
  return removed;
}

Status remove_orphans(Database& database) {
  // In one transaction with the look at the list: a take that is added meanwhile, under its old id, keeps its file.
  return database.write([&](SQLite::Database& connection) -> Status {
    SQLite::Statement row(connection, "SELECT sound FROM orphans");
    std::vector<std::string> gone;
    while (row.executeStep()) {
      std::error_code problem;
      const std::string sound = row.getColumn(0).getString();
      fs::remove(fs::path(database.folder()) / sound, problem);
      if (!problem) gone.push_back(sound);
    }
    row.reset();
    SQLite::Statement statement(connection, "DELETE FROM orphans WHERE sound = ?");
    for (const std::string& sound : gone) {
      statement.bind(1, sound);
      statement.exec();
      statement.reset();
    }
    return {};
  });
}

Result<RemovedTake> TakeLibrary::remove(const std::string& id) {
  CONTINUO_TRY(RemovedTake removed, database_->write([&](SQLite::Database& connection) -> Result<RemovedTake> {
    std::vector<RemovedTake> one = remove_rows(connection, {id});
    if (one.empty()) return forward_error(no_such_take(id));
    return std::move(one.front());
  }));
  CONTINUO_CHECK(remove_orphans(*database_));
  return removed;
}

Result<std::vector<RemovedTake>> TakeLibrary::empty_trash(double days, double now) {
  if (!std::isfinite(days) || days < 0.0) return fail(ErrorCode::invalid_argument, "the days in the trash are 0 or more");
  CONTINUO_TRY(auto removed, database_->write([&](SQLite::Database& connection) -> Result<std::vector<RemovedTake>> {
    SQLite::Statement row(connection, "SELECT id FROM takes WHERE deleted <= ? ORDER BY deleted, number");
    row.bind(1, days > 0.0 ? now - days * seconds_a_day : INFINITY);
    std::vector<std::string> ids;
    while (row.executeStep()) ids.push_back(row.getColumn(0).getString());
    return remove_rows(connection, ids);
  }));
  CONTINUO_CHECK(remove_orphans(*database_));
  return removed;
}

}  // namespace continuo::library
