#include "library/job_records.h"

#include <SQLiteCpp/SQLiteCpp.h>

namespace continuo::library {

namespace {

void insert(SQLite::Database& connection, const std::string& id, const std::string& spec, double created) {
  SQLite::Statement row(connection, "INSERT INTO jobs (id, spec, created) VALUES (?, ?, ?)");
  row.bind(1, id);
  row.bind(2, spec);
  row.bind(3, created);
  row.exec();
}

std::vector<JobRecord> all_jobs(SQLite::Database& connection) {
  SQLite::Statement row(connection, "SELECT id, spec, created, tries FROM jobs ORDER BY number");
  std::vector<JobRecord> jobs;
  while (row.executeStep()) {
    jobs.push_back(
        {row.getColumn(0).getString(), row.getColumn(1).getString(), row.getColumn(2).getDouble(), row.getColumn(3).getInt()});
  }
  return jobs;
}

Status remove_from(Database& database, const char* sql, const std::string& id) {
  return database.write([&](SQLite::Database& connection) -> Status {
    SQLite::Statement row(connection, sql);
    row.bind(1, id);
    row.exec();
    return {};
  });
}

}  // namespace

Status JobRecords::add(const std::string& id, const std::string& spec, double created) {
  return database_->write([&](SQLite::Database& connection) -> Status {
    insert(connection, id, spec, created);
    return {};
  });
}

Status JobRecords::add_batch(const BatchRecord& batch, const std::vector<JobRecord>& jobs) {
  return database_->write([&](SQLite::Database& connection) -> Status {
    for (const JobRecord& job : jobs) insert(connection, job.id, job.spec, job.created);
    SQLite::Statement row(connection, "INSERT INTO batches (id, created) VALUES (?, ?)");
    row.bind(1, batch.id);
    row.bind(2, batch.created);
    row.exec();
    SQLite::Statement member(connection, "INSERT INTO batch_jobs (batch, place, job) VALUES (?, ?, ?)");
    for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
      member.bind(1, batch.id);
      member.bind(2, static_cast<std::int64_t>(i));
      member.bind(3, batch.jobs[i]);
      member.exec();
      member.reset();
    }
    return {};
  });
}

Result<std::vector<JobRecord>> JobRecords::take_up() {
  return database_->write([](SQLite::Database& connection) -> Result<std::vector<JobRecord>> {
    connection.exec("UPDATE jobs SET tries = tries + 1");
    return all_jobs(connection);
  });
}

Status JobRecords::forget_tries() {
  return database_->write([](SQLite::Database& connection) -> Status {
    connection.exec("UPDATE jobs SET tries = 0");
    return {};
  });
}

Result<std::vector<JobRecord>> JobRecords::list() const {
  return database_->read([](SQLite::Database& connection) -> Result<std::vector<JobRecord>> { return all_jobs(connection); });
}

Status JobRecords::remove(const std::string& id) { return remove_from(*database_, "DELETE FROM jobs WHERE id = ?", id); }

Result<std::vector<BatchRecord>> JobRecords::batches() const {
  return database_->read([](SQLite::Database& connection) -> Result<std::vector<BatchRecord>> {
    SQLite::Statement row(connection,
                          "SELECT id, created, job FROM batches LEFT JOIN batch_jobs ON batch = id ORDER BY created, id, place");
    std::vector<BatchRecord> all;
    while (row.executeStep()) {
      std::string id = row.getColumn(0).getString();
      if (all.empty() || all.back().id != id) all.push_back({std::move(id), {}, row.getColumn(1).getDouble()});
      if (!row.getColumn(2).isNull()) all.back().jobs.push_back(row.getColumn(2).getString());
    }
    return all;
  });
}

Status JobRecords::remove_batch(const std::string& id) { return remove_from(*database_, "DELETE FROM batches WHERE id = ?", id); }

}  // namespace continuo::library
