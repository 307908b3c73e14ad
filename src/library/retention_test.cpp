// Rules, what they would delete, and that nothing else is deleted.
#include "library/retention.h"

#include "library/takes_test.h"

namespace continuo::library {
namespace {

constexpr double day = 86'400.0;
constexpr double now = 1000 * day;

class RetentionTest : public TakesTest {
 protected:
  void SetUp() override {
    TakesTest::SetUp();
    retention = std::make_unique<Retention>(database);
  }
  void open_again() {
    retention.reset();
    open();
    retention = std::make_unique<Retention>(database);
  }
  void add_aged(const std::string& id, double days, std::int64_t bytes = 100, std::optional<int> rating = std::nullopt) {
    Take take = a_take(id, "prompt of " + id, now - days * day);
    take.bytes = bytes;
    take.rating = rating;
    write_sound(take);
    add(take);
  }
  void rules(const RetentionRules& its_rules) {
    const Status status = retention->set_rules(its_rules);
    ASSERT_TRUE(status) << message_of(status);
  }
  RetentionPlan plan(double when = now) const {
    const auto made = retention->plan(when);
    EXPECT_TRUE(made) << message_of(made);
    return made ? *made : RetentionPlan{};
  }
  /// "a:age b:room"
  std::string listed() const {
    std::string text;
    for (const auto& item : plan().takes) text += (text.empty() ? "" : " ") + item.id + ":" + name_of(item.reason);
    return text;
  }

  std::unique_ptr<Retention> retention;
};

TEST_F(RetentionTest, NothingGoesUntilSomebodySaysSo) {
  add_aged("ancient", 900, std::int64_t{1} << 40);
  EXPECT_EQ("", listed());
  const auto first = retention->rules();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->days || first->bytes || first->schedule);
  EXPECT_EQ(first->trash_days, 30.0);
}

TEST_F(RetentionTest, RulesAreKept) {
  rules({7.5, 1'000'000'000'000, 3.0, true});
  open_again();
  const auto kept = retention->rules();
  ASSERT_TRUE(kept) << message_of(kept);
  EXPECT_EQ(kept->days, 7.5);
  EXPECT_EQ(kept->bytes, 1'000'000'000'000);
  EXPECT_EQ(kept->trash_days, 3.0);
  EXPECT_TRUE(kept->schedule);
  rules({});
  EXPECT_FALSE(retention->rules()->days);
  for (const RetentionRules& wrong :
       {RetentionRules{0.0}, RetentionRules{-1.0}, RetentionRules{std::nullopt, 0}, RetentionRules{std::nullopt, -5},
        RetentionRules{{}, {}, -1.0}, RetentionRules{std::numeric_limits<double>::quiet_NaN()}}) {
    const Status status = retention->set_rules(wrong);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(RetentionTest, ByAgeButNotWhatIsRated) {
  add_aged("young", 6.9);
  add_aged("old", 8);
  add_aged("older", 9);
  add_aged("loved", 100, 100, 0);
  rules({.days = 7});
  EXPECT_EQ("older:age old:age", listed());
  EXPECT_EQ(plan().bytes, 200);
  EXPECT_EQ(plan().bytes_before, 400);
  EXPECT_EQ(plan().takes[0].prompt, "prompt of older");
}

TEST_F(RetentionTest, ByRoomTheTrashFirstThenTheOldest) {
  add_aged("a", 5, 100);
  add_aged("b", 4, 100);
  add_aged("c", 3, 100);
  add_aged("loved", 10, 1000, 5);
  add_aged("away", 1, 100);
  ASSERT_TRUE(takes->trash("away", now - day));
  rules({.bytes = 1400});
  EXPECT_EQ("", listed());
  rules({.bytes = 1399});
  EXPECT_EQ("away:room", listed());
  rules({.bytes = 1200});
  EXPECT_EQ("away:room a:room", listed());
  rules({.bytes = 1});  // cannot be met: what is rated stays
  EXPECT_EQ("away:room a:room b:room c:room", listed());
  EXPECT_EQ(plan().bytes, 400);
}

TEST_F(RetentionTest, AgeAndTheTrashCountForTheRoom) {
  add_aged("a", 50, 100);
  add_aged("b", 4, 100);
  add_aged("c", 3, 100);
  add_aged("away", 1, 100, 4);
  ASSERT_TRUE(takes->trash("away", now - 31 * day));
  rules({.days = 40, .bytes = 200});
  EXPECT_EQ("away:trash a:age", listed());
}

TEST_F(RetentionTest, RunsWhatWasListed) {
  add_aged("old", 8);
  add_aged("young", 1);
  rules({.days = 7});
  const RetentionPlan shown = plan();
  const auto removed = retention->run(shown.token, now + 60);
  ASSERT_TRUE(removed) << message_of(removed);
  ASSERT_EQ(removed->size(), 1U);
  EXPECT_EQ(removed->front().id, "old");
  EXPECT_EQ("young", found({}));
  EXPECT_FALSE(has_sound(a_take("old")));
  EXPECT_TRUE(has_sound(a_take("young")));
  const auto twice = retention->run(shown.token, now + 61);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::not_found);
}

TEST_F(RetentionTest, WhatHappensInBetweenIsNoPartOfIt) {
  add_aged("old", 8);
  add_aged("nearly", 6.99);
  rules({.days = 7, .bytes = 300});
  const RetentionPlan shown = plan();
  add_aged("new", 0, 1000);                                         // would make room necessary
  const auto removed = retention->run(shown.token, now + day / 2);  // and "nearly" is old by now
  ASSERT_TRUE(removed) << message_of(removed);
  ASSERT_EQ(removed->size(), 1U);
  EXPECT_EQ("new nearly", found({}));
}

TEST_F(RetentionTest, RefusesWhenTheListWouldBeAnother) {
  add_aged("old", 8);
  add_aged("older", 9);
  rules({.days = 7});
  const std::string token = plan().token;
  const auto refused = [&](const std::string& its_token, double when = now + 1) {
    const auto result = retention->run(its_token, when);
    return !result && result.error().code == ErrorCode::not_found;
  };
  ASSERT_TRUE(takes->change("old", {std::nullopt, 3}));  // somebody wants it kept
  EXPECT_TRUE(refused(token));
  ASSERT_TRUE(takes->change("old", {std::nullopt, std::optional<int>()}));
  rules({.days = 8.5});
  EXPECT_TRUE(refused(token));
  rules({.days = 7});
  EXPECT_TRUE(refused(token, now + 2 * day));
  EXPECT_TRUE(refused(plan(now + 100 * day).token));
  for (const char* wrong : {"", "-", "--", "1-1", "1-1-", "x-1-0", "zz", "-1-1-00"}) EXPECT_TRUE(refused(wrong)) << wrong;
  EXPECT_TRUE(refused(token + "0"));
  EXPECT_EQ("old older", found({}));
  EXPECT_FALSE(refused(token));
  EXPECT_EQ("", found({}));
}

TEST_F(RetentionTest, AFileThatCannotBeRemovedIsTriedAgain) {
  add_aged("old", 8);
  rules({.days = 7});
  const std::filesystem::path sound = takes->absolute(a_take("old"));
  std::filesystem::remove(sound);
  std::filesystem::create_directories(sound / "in the way");  // a folder that is not empty cannot be removed
  ASSERT_TRUE(retention->run(plan().token, now));
  EXPECT_TRUE(std::filesystem::exists(sound));
  std::filesystem::remove(sound / "in the way");
  open_again();
  EXPECT_FALSE(std::filesystem::exists(sound));
}

}  // namespace
}  // namespace continuo::library
