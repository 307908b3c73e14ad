#include "library/takes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "library/search_words.h"
#include "library/take_rows.h"
#include "weights/text_check.h"

namespace continuo::library {

namespace {

constexpr std::size_t most_id_bytes = 128;

bool usable_id(std::string_view id) {
  return !id.empty() && id.size() <= most_id_bytes && std::all_of(id.begin(), id.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '-' || letter == '_';
  });
}

Status check_title(const std::string& title) {
  if (title.size() > most_title_bytes) {
    return fail(ErrorCode::invalid_argument, "a title has at most {} bytes, not {}", most_title_bytes, title.size());
  }
  if (!weights::valid_utf8(title) || !weights::single_line(title)) {
    return fail(ErrorCode::invalid_argument, "a title is one line of UTF-8 text");
  }
  return {};
}

Status check_rating(std::optional<int> rating) {
  if (!rating || (*rating >= 0 && *rating <= 5)) return {};
  return fail(ErrorCode::invalid_argument, "a rating is 0 to 5, not {}", *rating);
}

Status check(const Take& take) {
  if (!usable_id(take.id)) return fail(ErrorCode::invalid_argument, "an id consists of letters, digits, '-' and '_'");
  if (take.sound != TakeLibrary::sound_path(take.id)) {
    return fail(ErrorCode::invalid_argument, "the sound of a take lies where sound_path() says");
  }
  if (!weights::valid_utf8(take.prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not UTF-8 text");
  if (!std::isfinite(take.created) || !std::isfinite(take.seconds) || take.seconds < 0.0 || take.bytes < 0) {
    return fail(ErrorCode::invalid_argument, "a take has a length, a size and a date");
  }
  CONTINUO_CHECK(check_rating(take.rating));
  return check_title(take.title);
}

void bind_optional(SQLite::Statement& statement, int index, std::optional<double> value) {
  if (value && std::isfinite(*value)) {
    statement.bind(index, *value);
  } else {
    statement.bind(index);
  }
}

/// Changes one row, and hands back what it is then.
template <class Bind>
Result<Take> update(SQLite::Database& connection, const std::string& id, const char* sql, const Bind& bind) {
  SQLite::Statement statement(connection, sql);
  bind(statement);
  statement.exec();
  SQLite::Statement row(connection, fmt::format("SELECT {} FROM takes WHERE id = ?", take_columns));
  row.bind(1, id);
  if (!row.executeStep()) return forward_error(no_such_take(id));
  return read_take(row);
}

}  // namespace

Error no_such_take(const std::string& id) {
  return {ErrorCode::not_found, fmt::format("there is no take {}", weights::printable(id))};
}

Take read_take(SQLite::Statement& row) {
  const auto number = [&](int column) -> std::optional<double> {
    const SQLite::Column value = row.getColumn(column);
    if (value.isNull()) return std::nullopt;
    return value.getDouble();
  };
  Take take;
  take.id = row.getColumn(0).getString();
  take.job = row.getColumn(1).getString();
  take.number = row.getColumn(2).getInt();
  take.prompt = row.getColumn(3).getString();
  take.title = row.getColumn(4).getString();
  take.model = row.getColumn(5).getString();
  take.seed = static_cast<std::uint64_t>(row.getColumn(6).getInt64());
  take.seconds = row.getColumn(7).getDouble();
  take.settings = row.getColumn(8).getString();
  take.sample_rate = row.getColumn(9).getInt();
  take.channels = row.getColumn(10).getInt();
  take.bytes = row.getColumn(11).getInt64();
  take.sound = row.getColumn(12).getString();
  take.created = row.getColumn(13).getDouble();
  if (!row.getColumn(14).isNull()) take.rating = row.getColumn(14).getInt();
  take.deleted = number(15);
  take.loudness = number(16);
  take.peak = number(17);
  return take;
}

Result<std::unique_ptr<TakeLibrary>> TakeLibrary::open(std::shared_ptr<Database> database) {
  CONTINUO_CHECK(remove_orphans(*database));
  return std::unique_ptr<TakeLibrary>(new TakeLibrary(std::move(database)));
}

std::string TakeLibrary::sound_path(std::string_view id) { return fmt::format("takes/{}.wav", id); }

std::string TakeLibrary::absolute(const Take& take) const {
  return (std::filesystem::path(database_->folder()) / take.sound).string();
}

Status TakeLibrary::add(const Take& take) {
  CONTINUO_CHECK(check(take));
  return database_->write([&](SQLite::Database& connection) -> Status {
    SQLite::Statement json(connection, "SELECT json_valid(?)");
    json.bind(1, take.settings);
    if (!json.executeStep() || json.getColumn(0).getInt() == 0) {
      return fail(ErrorCode::invalid_argument, "the settings of a take are JSON");
    }
    SQLite::Statement orphan(connection, "DELETE FROM orphans WHERE sound = ?");  // its file has an owner again
    orphan.bind(1, take.sound);
    orphan.exec();
    SQLite::Statement before(connection, "SELECT job, take FROM takes WHERE id = ?");
    before.bind(1, take.id);
    const bool again = before.executeStep();
    if (again && (before.getColumn(0).getString() != take.job || before.getColumn(1).getInt() != take.number)) {
      return fail(ErrorCode::invalid_argument, "there is another take {} already", take.id);
    }
    SQLite::Statement row(
        connection,
        "INSERT INTO takes (id, job, take, prompt, title, model, seed, seconds, settings, sample_rate, channels, "
        "bytes, sound, created, rating, deleted, loudness, peak) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) "
        "ON CONFLICT (id) DO UPDATE SET seconds = excluded.seconds, sample_rate = excluded.sample_rate, "
        "channels = excluded.channels, bytes = excluded.bytes, loudness = excluded.loudness, "
        "peak = excluded.peak");
    row.bind(1, take.id);
    row.bind(2, take.job);
    row.bind(3, take.number);
    row.bind(4, take.prompt);
    row.bind(5, take.title);
    row.bind(6, take.model);
    row.bind(7, static_cast<std::int64_t>(take.seed));
    row.bind(8, take.seconds);
    row.bind(9, take.settings);
    row.bind(10, take.sample_rate);
    row.bind(11, take.channels);
    row.bind(12, take.bytes);
    row.bind(13, take.sound);
    row.bind(14, take.created);
    if (take.rating) row.bind(15, *take.rating);
    bind_optional(row, 16, take.deleted);
    bind_optional(row, 17, take.loudness);
    bind_optional(row, 18, take.peak);
    row.exec();
    if (again) return {};
    SQLite::Statement words(connection, "INSERT INTO takes_words (rowid, prompt, title) VALUES (last_insert_rowid(), ?, ?)");
    words.bind(1, indexed_words(take.prompt));
    words.bind(2, indexed_words(take.title));
    words.exec();
    return {};
  });
}

Result<Take> TakeLibrary::get(const std::string& id) const {
  return database_->read([&](SQLite::Database& connection) -> Result<Take> {
    SQLite::Statement row(connection, fmt::format("SELECT {} FROM takes WHERE id = ?", take_columns));
    row.bind(1, id);
    if (!row.executeStep()) return forward_error(no_such_take(id));
    return read_take(row);
  });
}

Result<Take> TakeLibrary::change(const std::string& id, const TakeChange& change) {
  if (change.title) CONTINUO_CHECK(check_title(*change.title));
  if (change.rating) CONTINUO_CHECK(check_rating(*change.rating));
  return database_->write([&](SQLite::Database& connection) -> Result<Take> {
    if (change.title) {
      SQLite::Statement words(connection,
                              "UPDATE takes_words SET title = ?2 WHERE rowid = (SELECT number FROM takes WHERE id = ?1)");
      words.bind(1, id);
      words.bind(2, indexed_words(*change.title));
      words.exec();
    }
    const char* const sql =
        "UPDATE takes SET title = coalesce(?2, title), rating = CASE WHEN ?3 THEN ?4 ELSE rating END WHERE id = ?1";
    return update(connection, id, sql, [&](SQLite::Statement& statement) {
      statement.bind(1, id);
      if (change.title) statement.bind(2, *change.title);
      statement.bind(3, change.rating ? 1 : 0);
      if (change.rating && *change.rating) statement.bind(4, **change.rating);
    });
  });
}

Result<Take> TakeLibrary::trash(const std::string& id, double now) {
  return database_->write([&](SQLite::Database& connection) {
    return update(connection, id, "UPDATE takes SET deleted = coalesce(deleted, ?2) WHERE id = ?1",
                  [&](SQLite::Statement& statement) {
                    statement.bind(1, id);
                    statement.bind(2, now);
                  });
  });
}

Result<Take> TakeLibrary::restore(const std::string& id) {
  return database_->write([&](SQLite::Database& connection) {
    return update(connection, id, "UPDATE takes SET deleted = NULL WHERE id = ?1",
                  [&](SQLite::Statement& statement) { statement.bind(1, id); });
  });
}

Status TakeLibrary::remember_fingerprint(const std::string& prompt, const std::string& encoder,
                                         std::span<const float> fingerprint) {
  return database_->write([&](SQLite::Database& connection) -> Status {
    SQLite::Statement statement(connection,
                                "INSERT OR REPLACE INTO fingerprints (prompt, encoder, fingerprint) SELECT ?1, ?2, ?3 "
                                "WHERE EXISTS (SELECT 1 FROM takes WHERE prompt = ?1)");
    statement.bind(1, prompt);
    statement.bind(2, encoder);
    statement.bind(3, static_cast<const void*>(fingerprint.data()), static_cast<int>(fingerprint.size_bytes()));
    statement.exec();
    return {};
  });
}

Result<std::vector<PastPrompt>> TakeLibrary::prompts(const std::string& encoder, std::size_t most) const {
  return database_->read([&](SQLite::Database& connection) -> Result<std::vector<PastPrompt>> {
    SQLite::Statement row(connection,
                          "SELECT used.prompt, fingerprint FROM (SELECT prompt, max(created) AS last FROM takes "
                          "WHERE deleted IS NULL AND prompt <> '' GROUP BY prompt) AS used "
                          "LEFT JOIN fingerprints ON fingerprints.prompt = used.prompt AND encoder = ?1 "
                          "ORDER BY last DESC, used.prompt LIMIT ?2");
    row.bind(1, encoder);
    row.bind(2, static_cast<std::int64_t>(std::min<std::size_t>(most, 1'000'000)));
    std::vector<PastPrompt> all;
    while (row.executeStep()) {
      PastPrompt past{row.getColumn(0).getString(), {}};
      const SQLite::Column blob = row.getColumn(1);
      if (blob.isBlob()) {
        past.fingerprint.resize(static_cast<std::size_t>(blob.getBytes()) / sizeof(float));
        if (!past.fingerprint.empty()) {
          std::memcpy(past.fingerprint.data(), blob.getBlob(), past.fingerprint.size() * sizeof(float));
        }
      }
      all.push_back(std::move(past));
    }
    std::reverse(all.begin(), all.end());
    return all;
  });
}

Result<std::vector<std::string>> TakeLibrary::takes_of(const std::string& prompt, int most) const {
  return database_->read([&](SQLite::Database& connection) -> Result<std::vector<std::string>> {
    SQLite::Statement row(connection,
                          "SELECT id FROM takes WHERE prompt = ? AND deleted IS NULL ORDER BY created DESC, number DESC LIMIT ?");
    row.bind(1, prompt);
    row.bind(2, most);
    std::vector<std::string> ids;
    while (row.executeStep()) ids.push_back(row.getColumn(0).getString());
    return ids;
  });
}

}  // namespace continuo::library
