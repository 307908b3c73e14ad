#include "library/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <array>

namespace continuo::library {

namespace {

constexpr int our_application_id = 0x636E746F;  // "cnto", also for file(1)

// takes.number is the order of arrival and is never given twice (AUTOINCREMENT), so that a cursor cannot come to mean another
// take. takes.seed holds the 64 bits of an unsigned number. takes_words is what is searched (search_words.h says in which form);
// its rowid is takes.number. orphans are files whose takes are gone; they are removed after that is certain.
constexpr const char* first_step = R"sql(
CREATE TABLE takes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) > 0),
  job TEXT NOT NULL,
  take INTEGER NOT NULL,
  prompt TEXT NOT NULL,
  title TEXT NOT NULL,
  model TEXT NOT NULL,
  seed INTEGER NOT NULL,
  seconds REAL NOT NULL,
  settings TEXT NOT NULL,
  sample_rate INTEGER NOT NULL,
  channels INTEGER NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  sound TEXT NOT NULL UNIQUE,
  created REAL NOT NULL,
  rating INTEGER CHECK (rating BETWEEN 0 AND 5),
  deleted REAL,
  loudness REAL,
  peak REAL
) STRICT;
CREATE INDEX takes_by_date ON takes (created, number);
CREATE INDEX takes_by_prompt ON takes (prompt);
CREATE INDEX takes_by_job ON takes (job);
CREATE INDEX takes_in_trash ON takes (deleted) WHERE deleted IS NOT NULL;
CREATE VIRTUAL TABLE takes_words USING fts5(prompt, title, tokenize = "unicode61 remove_diacritics 2");

CREATE TABLE orphans (sound TEXT PRIMARY KEY) STRICT;

CREATE TABLE fingerprints (
  prompt TEXT NOT NULL,
  encoder TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  PRIMARY KEY (prompt, encoder)
) STRICT, WITHOUT ROWID;

CREATE TABLE retention (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  days REAL,
  bytes INTEGER,
  trash_days REAL NOT NULL,
  schedule INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) > 0),
  spec TEXT NOT NULL,
  created REAL NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE batches (
  id TEXT PRIMARY KEY CHECK (length(id) > 0),
  created REAL NOT NULL
) STRICT;
CREATE TABLE batch_jobs (
  batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  job TEXT NOT NULL,
  PRIMARY KEY (batch, place)
) STRICT, WITHOUT ROWID;
)sql";

constexpr std::array steps_in_order{first_step};

int number_of(SQLite::Database& connection, const char* query) { return connection.execAndGet(query).getInt(); }

}  // namespace

std::span<const char* const> schema_steps() { return steps_in_order; }

Status recognise(SQLite::Database& connection, const std::string& name, std::span<const char* const> steps) {
  const int application = number_of(connection, "PRAGMA application_id");
  const int version = number_of(connection, "PRAGMA user_version");
  if (application != our_application_id) {
    const bool empty = application == 0 && version == 0 && number_of(connection, "SELECT count(*) FROM sqlite_master") == 0;
    if (empty) return {};
    return fail(ErrorCode::unsupported, "{} is a database of another program; use another data folder", name);
  }
  if (version < 1 || version > static_cast<int>(steps.size())) {
    return fail(
        ErrorCode::unsupported,
        "{} was written by a newer continuo (version {} of its tables, and this program knows {}): use that one, or another "
        "data folder",
        name, version, steps.size());
  }
  return {};
}

void migrate(SQLite::Database& connection, std::span<const char* const> steps) {
  SQLite::Transaction transaction(connection, SQLite::TransactionBehavior::IMMEDIATE);
  const int version = number_of(connection, "PRAGMA user_version");
  if (version >= static_cast<int>(steps.size())) return;
  for (std::size_t i = static_cast<std::size_t>(version); i < steps.size(); ++i) connection.exec(steps[i]);
  connection.exec(fmt::format("PRAGMA application_id = {}", our_application_id));
  connection.exec(fmt::format("PRAGMA user_version = {}", steps.size()));
  transaction.commit();
}

}  // namespace continuo::library
