// The tables, and the way from every earlier version of them to this one.
//
// A version is a step; the file's number (user_version) says how many it has had. A step that was released is never edited: what
// changes is a new step at the end.
#pragma once

#include <span>
#include <string>

#include "base/error.h"

namespace SQLite {
class Database;
}  // namespace SQLite

namespace continuo::library {

/// The SQL of each step; the first makes the tables of an empty file.
std::span<const char* const> schema_steps();

// Both throw what SQLite throws; `name` stands for the file in messages.

/// Whether it is ours to change, or empty. Errors: a file of another program, one of a newer version. Changes nothing.
Status recognise(SQLite::Database& connection, const std::string& name, std::span<const char* const> steps = schema_steps());

/// Takes the steps that a recognised file has not had, all or none.
void migrate(SQLite::Database& connection, std::span<const char* const> steps = schema_steps());

}  // namespace continuo::library
