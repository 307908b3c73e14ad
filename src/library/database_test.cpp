// The file: whose it is, what is refused, what a full disk, a lock and a killed process leave behind.
#include "library/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "library/job_records.h"
#include "library/schema.h"
#include "library/sqlite_error.h"
#include "library/takes_test.h"

namespace continuo::library {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(0, ::stat(path.c_str(), &info)) << path;
  return info.st_mode & 0777U;
}

/// That open() refuses the folder with this code, in words that have this in them, and leaves the file as it is.
void expect_refused(const std::string& folder, ErrorCode code, const std::string& words) {
  const std::string before = bytes_of(folder + "/library.db");
  const auto opened = Database::open(folder);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, code);
  EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().message;
  EXPECT_EQ(before, bytes_of(folder + "/library.db"));
}

std::int64_t count(Database& database, const std::string& table) {
  const auto number = database.read([&](SQLite::Database& connection) -> Result<std::int64_t> {
    return connection.execAndGet("SELECT count(*) FROM " + table).getInt64();
  });
  return number ? *number : -1;
}

class DatabaseTest : public TakesTest {
 protected:
  std::string file() const { return folder / "data/library.db"; }
  void close() {
    takes.reset();
    database.reset();
  }
};

TEST_F(DatabaseTest, BelongsToItsOwner) {
  add(a_take("a"));
  EXPECT_EQ(mode_of(folder / "data"), 0700U);
  EXPECT_EQ(mode_of(file()), 0600U);
  EXPECT_EQ(mode_of(file() + "-wal"), 0600U);
}

TEST_F(DatabaseTest, OneProcessAtATime) {
  const auto second = Database::open(folder / "data");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::io);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
  close();
  EXPECT_TRUE(Database::open(folder / "data"));
}

TEST_F(DatabaseTest, RefusesWhatIsNotItsOwn) {
  close();
  fs::create_directories(folder / "newer");
  fs::copy(file(), folder / "newer/library.db");
  SQLite::Database(folder / "newer/library.db", SQLite::OPEN_READWRITE)
      .exec("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE");
  expect_refused(folder / "newer", ErrorCode::unsupported, "newer");

  fs::create_directories(folder / "other");
  SQLite::Database(folder / "other/library.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE songs (a)");
  expect_refused(folder / "other", ErrorCode::unsupported, "another program");

  fs::create_directories(folder / "text");
  std::ofstream(folder / "text/library.db") << std::string(5000, 'x');
  expect_refused(folder / "text", ErrorCode::corrupt_file, "not a database");

  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(Database::open(folder / "file").error().code, ErrorCode::io);
  EXPECT_EQ(Database::open(folder / "file/below").error().code, ErrorCode::io);
  fs::create_directories(folder / "folder/library.db");
  EXPECT_EQ(Database::open(folder / "folder").error().code, ErrorCode::io);
}

TEST_F(DatabaseTest, RefusesDamage) {
  for (int i = 0; i < 200; ++i) add(a_take(fmt::format("take{}", i), fmt::format("prompt {} of many words", i)));
  close();
  const std::string good = bytes_of(file());
  ASSERT_GT(good.size(), 60'000U);
  const auto with = [&](const std::string& bytes) { std::ofstream(file(), std::ios::binary) << bytes; };

  with(good.substr(0, good.size() / 2));
  expect_refused(folder / "data", ErrorCode::corrupt_file, "damaged");
  std::string spoiled = good;
  std::fill(spoiled.begin() + 8192, spoiled.begin() + 40'960, '\xFF');
  with(spoiled);
  expect_refused(folder / "data", ErrorCode::corrupt_file, "damaged");
  with(good);
  open();
  EXPECT_EQ("take0", found({.words = "0"}));
}

TEST_F(DatabaseTest, EarlierVersionsAreBroughtUp) {
  const std::array<const char*, 1> first{"CREATE TABLE things (name TEXT)"};
  const std::array<const char*, 3> later{first[0], "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 4",
                                         "UPDATE things SET size = size + 1"};
  const std::array<const char*, 3> broken{first[0], later[1], "UPDATE nothing SET size = 1"};
  SQLite::Database connection(folder / "things.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  ASSERT_TRUE(recognise(connection, "things", first));
  migrate(connection, first);
  connection.exec("INSERT INTO things VALUES ('a')");

  ASSERT_TRUE(recognise(connection, "things", broken));
  EXPECT_THROW(migrate(connection, broken), SQLite::Exception);
  EXPECT_EQ(connection.execAndGet("PRAGMA user_version").getInt(), 1);
  EXPECT_THROW(connection.exec("SELECT size FROM things"), SQLite::Exception);  // not half of it

  for (int i = 0; i < 2; ++i) {  // the second time there is nothing to do
    ASSERT_TRUE(recognise(connection, "things", later));
    migrate(connection, later);
    EXPECT_EQ(connection.execAndGet("PRAGMA user_version").getInt(), 3);
    EXPECT_EQ(connection.execAndGet("SELECT size FROM things WHERE name = 'a'").getInt(), 5);
  }
  const Status status = recognise(connection, "things", first);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::unsupported);
}

TEST_F(DatabaseTest, AFullDiskIsSaidAndNothingIsLost) {
  close();
  auto opened = Database::open(folder / "small", {.most_bytes = 400'000, .flush = false});
  ASSERT_TRUE(opened) << message_of(opened);
  auto library = TakeLibrary::open(*opened);
  Status status;
  int added = 0;
  for (; status && added < 10'000; added += status ? 1 : 0) {
    status = (*library)->add(a_take(fmt::format("take{}", added), std::string(2000, 'p')));
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_NE(status.error().message.find("full"), std::string::npos) << status.error().message;
  ASSERT_GT(added, 20);
  EXPECT_EQ(count(**opened, "takes"), added);
  EXPECT_EQ(count(**opened, "takes_words"), added);
  ASSERT_TRUE((*library)->remove("take0"));  // making room still works
  ASSERT_TRUE((*library)->remove("take1"));
  EXPECT_TRUE((*library)->add(a_take("again")));
}

TEST_F(DatabaseTest, ALockedFileIsSaidAndCanBeRead) {
  add(a_take("a"));
  close();
  auto opened = Database::open(folder / "data", {.busy_seconds = 0.05});
  ASSERT_TRUE(opened) << message_of(opened);
  auto library = std::move(*TakeLibrary::open(*opened));
  {
    SQLite::Database other(file(), SQLite::OPEN_READWRITE);
    SQLite::Transaction holds(other, SQLite::TransactionBehavior::IMMEDIATE);
    const Status status = library->add(a_take("b"));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::io);
    EXPECT_NE(status.error().message.find("locked"), std::string::npos) << status.error().message;
    EXPECT_TRUE(library->get("a"));
  }
  EXPECT_TRUE(library->add(a_take("b")));
}

TEST_F(DatabaseTest, WaitsForALockThatEnds) {
  SQLite::Database other(file(), SQLite::OPEN_READWRITE);
  auto holds = std::make_unique<SQLite::Transaction>(other, SQLite::TransactionBehavior::IMMEDIATE);
  std::thread releases([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    holds.reset();
  });
  add(a_take("a"));
  releases.join();
  EXPECT_EQ("a", found({}));
}

TEST_F(DatabaseTest, ReadingCannotWrite) {
  const Status status = database->read([](SQLite::Database& connection) -> Status {
    connection.exec("INSERT INTO orphans VALUES ('x')");
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_NE(status.error().message.find("read-only"), std::string::npos) << status.error().message;
  EXPECT_EQ(count(*database, "orphans"), 0);
}

TEST_F(DatabaseTest, WhatFailsIsUndone) {
  const auto insert = [](SQLite::Database& connection) { connection.exec("INSERT INTO orphans VALUES ('x')"); };
  EXPECT_FALSE(database->write([&](SQLite::Database& connection) -> Status {
    insert(connection);
    return fail(ErrorCode::cancelled, "planted");
  }));
  EXPECT_FALSE(database->write([&](SQLite::Database& connection) -> Status {
    insert(connection);
    throw std::runtime_error("planted");
  }));
  const Status twice = database->write([&](SQLite::Database& connection) -> Status {
    insert(connection);
    insert(connection);
    return {};
  });
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(count(*database, "orphans"), 0);
  add(a_take("a"));
}

TEST(SqliteError, EachKindHasItsWords) {
  const auto of = [](int code) { return explain(SQLite::Exception(std::string("raw"), code), "NAME"); };
  for (const auto& [code, kind, words] :
       {std::tuple(SQLITE_FULL, ErrorCode::io, "full"), std::tuple(SQLITE_BUSY | (2 << 8), ErrorCode::io, "locked"),
        std::tuple(SQLITE_READONLY | (8 << 8), ErrorCode::io, "read-only"), std::tuple(SQLITE_CANTOPEN, ErrorCode::io, "opened"),
        std::tuple(SQLITE_CORRUPT, ErrorCode::corrupt_file, "damaged"),
        std::tuple(SQLITE_NOMEM, ErrorCode::out_of_memory, "memory"), std::tuple(SQLITE_IOERR, ErrorCode::io, "raw")}) {
    const Error error = of(code);
    EXPECT_EQ(error.code, kind) << code;
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("NAME"), std::string::npos) << error.message;
  }
}

TEST_F(DatabaseTest, ManyReadersAndWritersAtOnce) {
  constexpr int writers = 3, each = 40;
  std::atomic<int> problems = 0;
  std::atomic<bool> writing = true;
  const auto expect = [&](bool good) { problems += good ? 0 : 1; };
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([&, w] {
      JobRecords records(database);
      for (int i = 0; i < each; ++i) {
        const std::string id = fmt::format("{}-{}", w, i);
        expect(records.add_batch({id, {id}, 1.0}, {{id, "spec", 1.0}}).has_value());
        expect(takes->add(a_take(id, fmt::format("piano {}", w), i)).has_value());
        expect(takes->change(id, {std::nullopt, i % 6}).has_value());
        if (i % 2 == 0) expect(takes->trash(id, 1.0).has_value());
      }
    });
  }
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&] {
      while (writing) {
        expect(takes->find({.words = "piano", .limit = 20}).has_value());
        expect(takes->totals().has_value());
        const Status same = database->read([](SQLite::Database& connection) -> Status {
          const int jobs = connection.execAndGet("SELECT count(*) FROM jobs").getInt();
          std::this_thread::yield();
          const int batches = connection.execAndGet("SELECT count(*) FROM batch_jobs").getInt();
          if (jobs != batches) return fail(ErrorCode::corrupt_file, "{} and {}", jobs, batches);
          return {};
        });
        expect(same.has_value());
      }
    });
  }
  for (int w = 0; w < writers; ++w) threads[static_cast<std::size_t>(w)].join();
  writing = false;
  for (std::size_t r = writers; r < threads.size(); ++r) threads[r].join();
  EXPECT_EQ(problems, 0);
  EXPECT_EQ(takes->totals()->takes, writers * each / 2);
  EXPECT_EQ(takes->totals()->trash_takes, writers * each / 2);
}

/// Adds takes and jobs without end, and says after each that it is done.
[[noreturn]] void write_until_killed(const std::string& folder, int round, int pipe) {
  auto database = Database::open(folder, {.flush = false});
  if (!database) ::_exit(3);
  auto takes = TakeLibrary::open(*database);
  if (!takes) ::_exit(4);
  JobRecords jobs(*database);
  for (int i = 0;; ++i) {
    const std::string id = fmt::format("r{}-{}", round, i);
    if (!jobs.add(id, "spec", i) || !(*takes)->add(a_take(id, fmt::format("piano number {}", i), i))) ::_exit(5);
    if (i % 3 == 2 && !(*takes)->remove(fmt::format("r{}-{}", round, i - 1))) ::_exit(6);
    if (::write(pipe, &i, sizeof i) != sizeof i) ::_exit(7);
  }
}

TEST_F(DatabaseTest, AKilledProcessLosesNothingThatWasDone) {
  const std::string data = folder / "killed";
  std::int64_t removed = 0, done = 0;
  for (int round = 0; round < 6; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(0, ::pipe(ends.data()));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(data, round, ends[1]);
    ::close(ends[1]);
    int last = -1;
    while (last < 10 + 7 * round && ::read(ends[0], &last, sizeof last) == sizeof last) continue;
    ::usleep(static_cast<useconds_t>(300 * round));  // somewhere within the next ones
    ::kill(child, SIGKILL);
    int how = 0;
    ASSERT_EQ(child, ::waitpid(child, &how, 0));
    ASSERT_TRUE(WIFSIGNALED(how)) << "it ended by itself with " << WEXITSTATUS(how);
    for (int number = 0; ::read(ends[0], &number, sizeof number) == sizeof number;) last = number;
    ::close(ends[0]);

    auto opened = Database::open(data);
    ASSERT_TRUE(opened) << message_of(opened);
    auto library = TakeLibrary::open(*opened);
    ASSERT_TRUE(library) << message_of(library);
    for (int i = 0; i <= last; ++i) {
      const bool there = (*library)->get(fmt::format("r{}-{}", round, i)).has_value();
      const bool was_removed = i % 3 == 1 && i < last;
      if (i % 3 != 1 || was_removed) {
        EXPECT_EQ(there, !was_removed) << i;
      }
      done += 1;
      removed += i % 3 == 1 && !there ? 1 : 0;
    }
    // At most the one that was on its way is there beyond those that were reported; and every row has its words.
    const std::int64_t rows = count(**opened, "takes");
    EXPECT_GE(rows, done - removed);
    EXPECT_LE(rows, done - removed + round + 1);
    EXPECT_EQ(rows, count(**opened, "takes_words"));
    EXPECT_EQ(rows, count(**opened, "takes_words WHERE takes_words MATCH 'piano'"));
    EXPECT_EQ(count(**opened, "orphans"), 0);
    EXPECT_TRUE((*opened)->write([](SQLite::Database& connection) -> Status {
      connection.exec("INSERT INTO takes_words (takes_words) VALUES ('integrity-check')");
      return {};
    }));
  }
}

}  // namespace
}  // namespace continuo::library
