// Which takes may go by themselves, by age and by room, as the owner has set it; and their going.
//
// - Nothing is deleted that was not listed: plan() says which takes would go, why, and how many bytes that frees, and gives a
//   token; run() deletes exactly that list, or refuses because it would not be the same any more.
// - A take with a rating is never deleted here, not even when there is too little room: rating it is how the owner says that it
//   stays. Its bytes count, though. (One that they have put into the trash is in the trash, rated or not.)
// - What goes, in this order: takes that have been in the trash for `trash_days`; takes older than `days`; and, while all sound
//   together has more than `bytes`, first what is in the trash, then the oldest takes.
// - What goes here goes for good. A take that should have stayed can be kept by rating it, or by other rules, before run().
// - Only the rules are kept. Whoever runs a schedule asks for `schedule` first (server/takes_service.h); it is off until switched
// on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "library/database.h"
#include "library/takes.h"

namespace continuo::library {

struct RetentionRules {
  std::optional<double> days{};         // takes older than this go; absent: whatever their age
  std::optional<std::int64_t> bytes{};  // of all sound; absent: what the disk holds
  double trash_days = 30.0;
  bool schedule = false;
};

struct RetentionPlan {
  enum class Reason { trash, age, room };
  struct Item {
    std::string id, title, prompt;
    double created = 0.0;
    std::int64_t bytes = 0;
    Reason reason = Reason::age;
  };
  std::vector<Item> takes;  // in the order in which they go
  std::int64_t bytes = 0;   // that this frees
  std::int64_t bytes_before = 0;
  std::string token;  // for run()
};

const char* name_of(RetentionPlan::Reason reason);

class Retention {
 public:
  explicit Retention(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  Result<RetentionRules> rules() const;
  /// Errors: numbers that cannot be.
  Status set_rules(const RetentionRules& rules);

  Result<RetentionPlan> plan(double now) const;
  /// Errors: not_found: this is not, or no longer, what would go; ask for a new plan.
  Result<std::vector<RemovedTake>> run(const std::string& token, double now);

 private:
  std::shared_ptr<Database> database_;
};

}  // namespace continuo::library
