#include "library/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <vector>

#include "library/schema.h"
#include "library/sqlite_error.h"
#include "weights/folder_lock.h"

namespace continuo::library {

namespace {

namespace fs = std::filesystem;
using Connection = std::unique_ptr<SQLite::Database>;

constexpr const char* file_name = "library.db";
constexpr std::int64_t page_bytes = 4096;

Status make_folder(const std::string& folder) {
  std::error_code problem;
  const bool made = fs::create_directories(folder, problem);
  if (!problem && made) fs::permissions(folder, fs::perms::owner_all, problem);
  if (problem) return fail(ErrorCode::io, "cannot make the folder {}: {}", folder, problem.message());
  return {};
}

/// SQLite would make it readable for all. Its other files (-wal, -shm) get the mode of this one.
Status make_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return fail(ErrorCode::io, "cannot write {}: {}", path, std::strerror(errno));
  ::close(descriptor);
  return {};
}

Connection connect(const std::string& path, const Database::Options& options) {
  auto connection = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX,
                                                       static_cast<int>(options.busy_seconds * 1000.0));
  // The file is from a disk: what its schema says is not trusted with more than tables and what they hold.
  connection->exec("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON");
  return connection;
}

template <class Work>
Status guarded(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const SQLite::Exception& thrown) {
    return forward_error(explain(thrown, path));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_memory, "{}: the memory does not suffice", path);
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::io, "{}: {}", path, thrown.what());
  }
}

Status prepare(SQLite::Database& connection, const std::string& path, const Database::Options& options) {
  CONTINUO_CHECK(recognise(connection, path));
  const std::string checked = connection.execAndGet("PRAGMA quick_check(1)").getString();
  if (checked != "ok") {
    return fail(ErrorCode::corrupt_file,
                "{}: the database is damaged ({}); put a copy in its place, or move it away to start anew", path, checked);
  }
  if (connection.execAndGet("PRAGMA journal_mode = WAL").getString() != "wal") {
    return fail(ErrorCode::io, "{}: this file system cannot hold the database; put the data folder on a local disk", path);
  }
  connection.exec("PRAGMA journal_size_limit = 16777216");
  connection.exec(options.flush ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (options.most_bytes > 0) connection.exec(fmt::format("PRAGMA max_page_count = {}", options.most_bytes / page_bytes));
  migrate(connection);
  return {};
}

}  // namespace

struct Database::State {
  State(weights::FolderLock its_lock, std::string its_folder, std::string its_path, const Options& its_options)
      : lock(std::move(its_lock)), folder(std::move(its_folder)), path(std::move(its_path)), options(its_options) {}

  const weights::FolderLock lock;  // goes last
  const std::string folder;
  const std::string path;
  const Options options;
  std::mutex writing;  // guards the writer
  Connection writer;
  std::mutex idle_mutex;         // guards what follows
  std::vector<Connection> idle;  // readers that nobody uses

  Connection take_reader() {
    {
      const std::lock_guard guard(idle_mutex);
      if (!idle.empty()) {
        Connection reader = std::move(idle.back());
        idle.pop_back();
        return reader;
      }
    }
    Connection reader = connect(path, options);
    reader->exec("PRAGMA query_only = ON");
    return reader;
  }
  void give_back(Connection reader) {
    const std::lock_guard guard(idle_mutex);
    idle.push_back(std::move(reader));
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}

Database::~Database() = default;

Result<std::shared_ptr<Database>> Database::open(const std::string& folder, const Options& options) {
  CONTINUO_CHECK(make_folder(folder));
  CONTINUO_TRY(auto lock, weights::FolderLock::take(folder));
  if (!lock) {
    return fail(ErrorCode::io, "the data folder {} is in use by another continuo; stop it, or use another folder", folder);
  }
  std::string path = (fs::path(folder) / file_name).string();
  CONTINUO_CHECK(make_file(path));
  auto state = std::make_unique<State>(std::move(*lock), folder, path, options);
  CONTINUO_CHECK(guarded(path, [&] {
    state->writer = connect(path, options);
    return prepare(*state->writer, path, options);
  }));
  return std::shared_ptr<Database>(new Database(std::move(state)));
}

const std::string& Database::folder() const { return state_->folder; }

Status Database::run_read(const Erased& work) {
  return guarded(state_->path, [&]() -> Status {
    Connection reader = state_->take_reader();
    Status status;
    {
      SQLite::Transaction transaction(*reader);  // one state for all statements of the work; its end undoes nothing
      status = work(*reader);
    }
    state_->give_back(std::move(reader));  // but one that threw is closed
    return status;
  });
}

Status Database::run_write(const Erased& work) {
  const std::lock_guard guard(state_->writing);
  return guarded(state_->path, [&]() -> Status {
    SQLite::Transaction transaction(*state_->writer, SQLite::TransactionBehavior::IMMEDIATE);
    CONTINUO_CHECK(work(*state_->writer));
    transaction.commit();
    return {};
  });
}

}  // namespace continuo::library
