#include "library/sqlite_error.h"

#include <sqlite3.h>

namespace continuo::library {

Error explain(const SQLite::Exception& thrown, const std::string& name) {
  const auto error = [&](ErrorCode code, const char* what) { return Error{code, fmt::format("{}: {}", name, what)}; };
  switch (thrown.getErrorCode() & 0xFF) {  // the rest of the number says which of several reasons
    case SQLITE_FULL: return error(ErrorCode::io, "nothing more can be written, the disk is full; make room and try again");
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return error(ErrorCode::io, "another program holds the database locked; try again when it has ended");
    case SQLITE_READONLY: return error(ErrorCode::io, "the database cannot be written; its file or folder is read-only");
    case SQLITE_CANTOPEN: return error(ErrorCode::io, "the database cannot be opened; is its folder there, and ours to write?");
    case SQLITE_NOTADB: return error(ErrorCode::corrupt_file, "this is not a database; move it away to start with an empty one");
    case SQLITE_CORRUPT:
      return error(ErrorCode::corrupt_file, "the database is damaged; put a copy in its place, or move it away to start anew");
    case SQLITE_NOMEM: return error(ErrorCode::out_of_memory, "the memory does not suffice for the database");
    case SQLITE_TOOBIG: return error(ErrorCode::invalid_argument, "a text is too long for the database");
    case SQLITE_CONSTRAINT:
      return {ErrorCode::invalid_argument, fmt::format("{}: refused by its rules: {}", name, thrown.what())};
    default: return {ErrorCode::io, fmt::format("{}: {}", name, thrown.what())};
  }
}

}  // namespace continuo::library
