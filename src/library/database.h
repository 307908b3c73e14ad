// The database of the library: takes, prompts, unfinished jobs, rules, in one SQLite file in the data folder.
//
// - Thread-safe: one connection writes, as many as are needed read beside it (write-ahead log). Nothing is ever half done: every
//   call is one transaction, and what write() reported as done survives the end of the process, and a loss of power.
// - One process at a time: the folder is locked while the database is open.
// - The file, and the folder if it is made here, belong to their owner alone (prompts are private).
// - A file that is damaged, is something else, or was made by a newer version is refused with a sentence and left as it is.
// - Exceptions of SQLite end here; callers see Errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace SQLite {
class Database;
}  // namespace SQLite

namespace continuo::library {

class Database {
 public:
  struct Options {
    double busy_seconds = 5.0;    // how long to wait for another program that has the file locked, e.g. for a copy of it
    std::int64_t most_bytes = 0;  // of the file; 0: what the disk holds
    bool flush = true;            // false: what was done survives the end of the process, but perhaps not a loss of power
  };

  static Result<std::shared_ptr<Database>> open(const std::string& folder, const Options& options);
  static Result<std::shared_ptr<Database>> open(const std::string& folder) { return open(folder, Options{}); }
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& folder() const;

  /// `work` takes a SQLite::Database& and returns a Result or Status. It sees one state of the database, whoever writes
  /// meanwhile.
  template <class Work>
  auto read(Work work) -> std::invoke_result_t<Work, SQLite::Database&> {
    return run<Work>(work, &Database::run_read);
  }
  /// The same with changes, one at a time. They are kept if `work` succeeds, and are all undone if it returns an error or throws.
  template <class Work>
  auto write(Work work) -> std::invoke_result_t<Work, SQLite::Database&> {
    return run<Work>(work, &Database::run_write);
  }

 private:
  using Erased = std::function<Status(SQLite::Database&)>;
  struct State;

  explicit Database(std::unique_ptr<State> state);
  Status run_read(const Erased& work);
  Status run_write(const Erased& work);

  template <class Work, class Run>
  auto run(Work& work, Run way) -> std::invoke_result_t<Work, SQLite::Database&> {
    using Returned = std::invoke_result_t<Work, SQLite::Database&>;
    std::optional<Returned> returned;
    const Status status = (this->*way)([&](SQLite::Database& connection) -> Status {
      returned.emplace(work(connection));
      if (!*returned) return forward_error(returned->error());
      return {};
    });
    if (!status) return forward_error(status.error());
    return std::move(*returned);
  }

  std::unique_ptr<State> state_;
};

}  // namespace continuo::library
