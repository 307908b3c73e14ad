#include "library/job_records.h"

#include "library/takes_test.h"

namespace continuo::library {
namespace {

class JobRecordsTest : public TakesTest {
 protected:
  JobRecords records() const { return JobRecords(database); }
};

TEST_F(JobRecordsTest, SurviveAndKeepTheirOrder) {
  const std::string spec = "{\"seed\": 18446744073709551615, \"prompt\": \"\xE9\x92\xA2 \\u0000\"}";
  ASSERT_TRUE(records().add("z", spec, 5.0));
  ASSERT_TRUE(records().add("a", "two", 4.0));
  ASSERT_TRUE(records().add("m", "three", 6.0));
  ASSERT_TRUE(records().remove("a"));
  ASSERT_TRUE(records().remove("a"));
  ASSERT_TRUE(records().remove("never"));
  open();
  const auto left = records().list();
  ASSERT_TRUE(left) << message_of(left);
  ASSERT_EQ(left->size(), 2U);
  EXPECT_EQ((*left)[0].id, "z");
  EXPECT_EQ((*left)[0].spec, spec);
  EXPECT_EQ((*left)[0].created, 5.0);
  EXPECT_EQ((*left)[1].id, "m");
}

TEST_F(JobRecordsTest, AnIdIsGivenOnce) {
  ASSERT_TRUE(records().add("a", "one", 1.0));
  const Status status = records().add("a", "two", 2.0);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(records().list()->front().spec, "one");
}

TEST_F(JobRecordsTest, TriesAreCounted) {
  ASSERT_TRUE(records().add("a", "one", 1.0));
  EXPECT_EQ(records().list()->front().tries, 0);
  EXPECT_EQ(records().take_up()->front().tries, 1);
  ASSERT_TRUE(records().add("b", "two", 1.0));
  open();
  const auto jobs = records().take_up();
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].tries, 2);
  EXPECT_EQ((*jobs)[1].tries, 1);
  ASSERT_TRUE(records().forget_tries());
  EXPECT_EQ(records().list()->front().tries, 0);
}

TEST_F(JobRecordsTest, BatchesAreAddedWholeOrNot) {
  ASSERT_TRUE(records().add("taken", "x", 1.0));
  const BatchRecord batch{"batch", {"b", "a", "c"}, 3.0};
  EXPECT_FALSE(records().add_batch(batch, {{"b", "1", 3.0}, {"taken", "2", 3.0}}));
  EXPECT_EQ(records().list()->size(), 1U);
  EXPECT_TRUE(records().batches()->empty());

  ASSERT_TRUE(records().add_batch(batch, {{"b", "1", 3.0}, {"a", "2", 3.0}, {"c", "3", 3.0}}));
  ASSERT_TRUE(records().add_batch({"earlier", {}, 2.0}, {}));
  ASSERT_TRUE(records().remove("a"));
  auto all = records().batches();
  ASSERT_TRUE(all) << message_of(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].id, "earlier");
  EXPECT_TRUE((*all)[0].jobs.empty());
  EXPECT_EQ((*all)[1].jobs, batch.jobs);

  ASSERT_TRUE(records().remove_batch("batch"));
  EXPECT_EQ(records().batches()->size(), 1U);
  EXPECT_EQ(records().list()->size(), 3U);  // taken, b, c
  EXPECT_TRUE(records().add_batch(batch, {}));
}

}  // namespace
}  // namespace continuo::library
