// Rows of the table of takes, for the files that read and remove them. What SQLite throws goes on to Database.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <utility>
#include <vector>

#include "library/takes.h"

namespace continuo::library {

/// In the order that read_take() expects.
inline constexpr const char* take_columns =
    "takes.id, job, take, takes.prompt, takes.title, model, seed, seconds, settings, sample_rate, channels, bytes, sound, created, "
    "rating, deleted, loudness, peak, takes.number";

Error no_such_take(const std::string& id);

Take read_take(SQLite::Statement& row);
inline std::int64_t arrival_of(SQLite::Statement& row) { return row.getColumn(18).getInt64(); }

/// Removes the rows and notes their files as orphans. Also forgets fingerprints of prompts that no take has any more.
std::vector<RemovedTake> remove_rows(SQLite::Database& connection, const std::vector<std::string>& ids);

}  // namespace continuo::library
