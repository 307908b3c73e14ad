#include "server/jobs/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "server/jobs/ids.h"

namespace continuo::server {
namespace {

TEST(EventLog, NumbersFromOneOrFromWhereItIsTold) {
  EventLog log;
  log.add("queued", "{}");
  log.add("started", "{}");
  EXPECT_EQ(log.events()[0].number, 1);
  EXPECT_EQ(log.events()[1].number, 2);
  EventLog resumed(1000);
  resumed.add("queued", "{}");
  EXPECT_EQ(resumed.events()[0].number, 1000);
}

TEST(EventLog, ProgressComesTwiceASecondAtMost) {
  EventLog log;
  int told = 0;
  for (int i = 0; i < 1000; ++i) told += log.time_for_progress(0.01 * i) ? 1 : 0;
  EXPECT_EQ(told, 20);
}

TEST(EventLog, DropsTheOldestProgressAndKeepsTheRest) {
  EventLog log;
  log.add("queued", "{}");
  log.add("started", "{}");
  for (int i = 0; i < 1000; ++i) {
    log.add("progress", std::to_string(i));
    if (i == 10) log.add("take", "{}");
  }
  log.add("finished", "{}");
  const auto& events = log.events();
  EXPECT_EQ(events.size(), EventLog::most_events);
  EXPECT_EQ(events[0].name, "started");
  EXPECT_EQ(events[1].name, "take");
  EXPECT_EQ(events.back().name, "finished");
  EXPECT_EQ(events[events.size() - 2].data, "999");
  EXPECT_TRUE(std::is_sorted(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.number < b.number; }));
  EXPECT_EQ(events.back().number, 1004);
}

TEST(Ids, AreLongPlainAndNeverTheSame) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_id("job-"));
  EXPECT_EQ(ids.size(), 1000U);
  std::set<char> used;
  for (const std::string& id : ids) {
    EXPECT_EQ(id.size(), 4U + 26U);
    EXPECT_TRUE(id.starts_with("job-"));
    for (const char c : id.substr(4)) used.insert(c);
  }
  EXPECT_EQ(used.size(), 32U);
}

}  // namespace
}  // namespace continuo::server
