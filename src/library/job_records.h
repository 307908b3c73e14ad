// Jobs that were accepted and have not ended, and batches of jobs: what a server needs to take up its work after a crash.
//
// A record is durable when add() returns. Jobs that have ended are of no interest here and are removed by whoever runs them.
// Thread-safe; every function may wait for the disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "library/database.h"

namespace continuo::library {

struct JobRecord {
  std::string id;
  std::string spec{};    // as the one who runs it writes it
  double created = 0.0;  // seconds since 1970
  int tries = 0;         // how often it was taken up again: a job that ends the process each time must not do so for ever
};

struct BatchRecord {
  std::string id;
  std::vector<std::string> jobs;  // in their order; ended ones too
  double created = 0.0;
};

class JobRecords {
 public:
  explicit JobRecords(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  /// Errors: an id that is there already.
  Status add(const std::string& id, const std::string& spec, double created);
  /// Jobs of a batch and the batch, all or none.
  Status add_batch(const BatchRecord& batch, const std::vector<JobRecord>& jobs);
  /// Counts one more try of each, before they are taken up again, and hands them out in the order in which they were added.
  Result<std::vector<JobRecord>> take_up();
  /// The process ends in good order: what is left did not end it, so its tries do not count.
  Status forget_tries();
  /// In the order in which they were added.
  Result<std::vector<JobRecord>> list() const;
  /// One that is not there is removed already.
  Status remove(const std::string& id);

  Result<std::vector<BatchRecord>> batches() const;
  Status remove_batch(const std::string& id);

 private:
  std::shared_ptr<Database> database_;
};

}  // namespace continuo::library
