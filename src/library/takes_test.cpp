// Takes: kept whole, changed, found, put into the trash and back, gone for good.
#include "library/takes.h"

#include <limits>

#include "library/takes_test.h"

namespace continuo::library {
namespace {

TEST_F(TakesTest, EverythingIsKept) {
  Take take = a_take("Ab-9_z", std::string("piano \"solo\"\n\xE9\x92\xA2\xE7\x90\xB4"));
  take.number = 3;
  take.title = "Évening";
  take.seed = std::numeric_limits<std::uint64_t>::max() - 5;
  take.settings = R"({"prompt": "piano", "seed": 18446744073709551610})";
  take.channels = 2;
  take.bytes = std::int64_t{1} << 40;
  take.created = 1'800'000'000.123456;
  take.rating = 0;
  take.loudness = -14.25;
  take.peak = -1.5;
  add(take);
  add(a_take("plain"));
  open();

  const auto kept = takes->get("Ab-9_z");
  ASSERT_TRUE(kept) << message_of(kept);
  EXPECT_EQ(kept->job, take.job);
  EXPECT_EQ(kept->number, 3);
  EXPECT_EQ(kept->prompt, take.prompt);
  EXPECT_EQ(kept->title, take.title);
  EXPECT_EQ(kept->model, "demo");
  EXPECT_EQ(kept->seed, take.seed);
  EXPECT_EQ(kept->seconds, 10.0);
  EXPECT_EQ(kept->settings, take.settings);
  EXPECT_EQ(kept->sample_rate, 32'000);
  EXPECT_EQ(kept->channels, 2);
  EXPECT_EQ(kept->bytes, take.bytes);
  EXPECT_EQ(kept->sound, "takes/Ab-9_z.wav");
  EXPECT_EQ(takes->absolute(*kept), folder / "data/takes/Ab-9_z.wav");
  EXPECT_EQ(kept->created, take.created);
  EXPECT_EQ(kept->rating, 0);
  EXPECT_EQ(kept->deleted, std::nullopt);
  EXPECT_EQ(kept->loudness, -14.25);
  EXPECT_EQ(kept->peak, -1.5);
  const auto plain = takes->get("plain");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->rating, std::nullopt);
  EXPECT_EQ(plain->loudness, std::nullopt);
}

TEST_F(TakesTest, WhatCannotBeIsRefused) {
  const auto refused = [&](auto change) {
    Take take = a_take("new");
    change(take);
    const Status status = takes->add(take);
    return !status && status.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](Take& take) { take.id = ""; }));
  EXPECT_TRUE(refused([](Take& take) { take.id = "../x", take.sound = TakeLibrary::sound_path("../x"); }));
  EXPECT_TRUE(refused([](Take& take) { take.sound = "/etc/passwd"; }));
  EXPECT_TRUE(refused([](Take& take) { take.rating = 6; }));
  EXPECT_TRUE(refused([](Take& take) { take.title = std::string(most_title_bytes + 1, 'x'); }));
  EXPECT_TRUE(refused([](Take& take) { take.title = "two\nlines"; }));
  EXPECT_TRUE(refused([](Take& take) { take.prompt = "\xFF"; }));
  EXPECT_TRUE(refused([](Take& take) { take.settings = "{"; }));
  EXPECT_TRUE(refused([](Take& take) { take.created = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_EQ("", found({}));
  EXPECT_EQ(ErrorCode::not_found, takes->get("new").error().code);
}

TEST_F(TakesTest, AddedAgainAfterACrashItKeepsWhatItsOwnerDid) {
  add(a_take("a"));
  ASSERT_TRUE(takes->change("a", {"mine", 5}));
  Take again = a_take("a");
  again.bytes = 300;
  add(again);
  EXPECT_EQ(takes->get("a")->title, "mine");
  EXPECT_EQ(takes->get("a")->rating, 5);
  EXPECT_EQ(takes->get("a")->bytes, 300);
  EXPECT_EQ("a", found({.words = "piano"}));

  again.job = "another";
  const Status status = takes->add(again);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
}

TEST_F(TakesTest, TitleAndRatingChangeByThemselves) {
  add(a_take("a"));
  ASSERT_TRUE(takes->change("a", {std::nullopt, 4}));
  ASSERT_TRUE(takes->change("a", {"Rain", std::nullopt}));
  auto take = takes->change("a", {});
  ASSERT_TRUE(take);
  EXPECT_EQ(take->title, "Rain");
  EXPECT_EQ(take->rating, 4);
  take = takes->change("a", {std::nullopt, std::optional<int>()});
  EXPECT_EQ(take->rating, std::nullopt);
  EXPECT_EQ("a", found({.words = "rain"}));
  EXPECT_TRUE(takes->change("a", {"Sun", std::nullopt}));
  EXPECT_EQ("", found({.words = "rain"}));
  EXPECT_EQ("a", found({.words = "sun"}));
  EXPECT_EQ(takes->change("a", {std::nullopt, 6}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(takes->change("b", {"x", 1}).error().code, ErrorCode::not_found);
}

TEST_F(TakesTest, IntoTheTrashAndBack) {
  add(a_take("a"));
  add(a_take("b", "drums"));
  ASSERT_EQ(takes->trash("a", 50.0)->deleted, 50.0);
  ASSERT_EQ(takes->trash("a", 60.0)->deleted, 50.0);  // the first time counts
  EXPECT_EQ("b", found({}));
  EXPECT_EQ("", found({.words = "piano"}));
  EXPECT_EQ("a", found({.trash = true}));
  EXPECT_EQ("a", found({.words = "piano", .trash = true}));
  EXPECT_TRUE(takes->get("a"));
  EXPECT_EQ(takes->takes_of("soft piano", 5)->size(), 0U);
  EXPECT_EQ(takes->totals()->takes, 1);
  EXPECT_EQ(takes->totals()->trash_bytes, 100);

  ASSERT_EQ(takes->restore("a")->deleted, std::nullopt);
  ASSERT_TRUE(takes->restore("a"));
  EXPECT_EQ("b a", found({}));
  EXPECT_EQ("a", found({.words = "piano"}));
  EXPECT_EQ(takes->trash("c", 1.0).error().code, ErrorCode::not_found);
  EXPECT_EQ(takes->restore("c").error().code, ErrorCode::not_found);
}

TEST_F(TakesTest, RemovedForGoodWithItsSound) {
  const Take a = a_take("a"), b = a_take("b");
  for (const Take& take : {a, b}) {
    write_sound(take);
    add(take);
  }
  const auto removed = takes->remove("a");
  ASSERT_TRUE(removed) << message_of(removed);
  EXPECT_EQ(removed->prompt, "soft piano");
  EXPECT_FALSE(has_sound(a));
  EXPECT_TRUE(has_sound(b));
  EXPECT_EQ("b", found({}));
  EXPECT_EQ("b", found({.words = "piano"}));
  EXPECT_EQ(takes->remove("a").error().code, ErrorCode::not_found);
  EXPECT_EQ(takes->restore("a").error().code, ErrorCode::not_found);
}

TEST_F(TakesTest, TheTrashIsEmptiedOfWhatLayThereLongEnough) {
  for (const char* id : {"a", "b", "c"}) add(a_take(id));
  const double day = 86'400.0, now = 100 * day;
  ASSERT_TRUE(takes->trash("a", now - 31 * day));
  ASSERT_TRUE(takes->trash("b", now - 29 * day));
  const auto removed = takes->empty_trash(30, now);
  ASSERT_TRUE(removed) << message_of(removed);
  ASSERT_EQ(removed->size(), 1U);
  EXPECT_EQ(removed->front().id, "a");
  EXPECT_EQ("b", found({.trash = true}));
  EXPECT_EQ(takes->empty_trash(0, now)->size(), 1U);
  EXPECT_EQ("c", found({}));
  EXPECT_EQ(takes->empty_trash(-1, now).error().code, ErrorCode::invalid_argument);
}

TEST_F(TakesTest, PagesContinueWhateverHappensInBetween) {
  for (int i = 0; i < 7; ++i) add(a_take(std::string(1, static_cast<char>('a' + i)), "p", 10.0 + i / 2));  // pairs of one date
  EXPECT_EQ("g f e d c b a", found({}));
  auto page = takes->find({.limit = 3});
  ASSERT_TRUE(page);
  ASSERT_EQ(page->takes.size(), 3U);
  add(a_take("new", "p", 100.0));
  add(a_take("old", "p", 1.0));
  ASSERT_TRUE(takes->remove("e"));  // the last one of the page
  ASSERT_TRUE(takes->remove("d"));
  TakeQuery next{.limit = 3, .cursor = page->next};
  EXPECT_EQ("c b a", found(next));
  page = takes->find(next);
  next.cursor = page->next;
  EXPECT_EQ("old", found(next));
  EXPECT_EQ("", takes->find(next)->next);
  EXPECT_EQ("", takes->find({.limit = 7})->next);  // just as many as there are
}

TEST_F(TakesTest, CursorsAndLimitsOfOthersAreRefused) {
  for (const char* cursor : {"x", "0000000000000000", "0000000000000000-", "7ff8000000000000-1", "0000000000000000-0", "-1",
                             "0000000000000000-1 OR 1=1"}) {
    const auto page = takes->find({.cursor = cursor});
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(takes->find({.limit = 0}));
  EXPECT_FALSE(takes->find({.limit = most_takes_in_a_page + 1}));
  EXPECT_FALSE(takes->find({.least_rating = 9}));
}

TEST_F(TakesTest, FoundByRatingJobAndPrompt) {
  for (int i = 0; i < 4; ++i) {
    Take take = a_take(std::string(1, static_cast<char>('a' + i)), i < 2 ? "piano" : "drums", 10.0 + i);
    take.job = i % 2 == 0 ? "even" : "odd";
    if (i > 0) take.rating = i;
    add(take);
  }
  EXPECT_EQ("d c", found({.least_rating = 2}));
  EXPECT_EQ("a", found({.unrated = true}));
  EXPECT_EQ("c a", found({.job = "even"}));
  EXPECT_EQ("b a", found({.prompts = {{"piano", "flute"}}}));
  EXPECT_EQ("", found({.prompts = std::vector<std::string>()}));
  EXPECT_EQ("b", found({.words = "piano", .prompts = {{"piano", "drums"}}, .least_rating = 0, .job = "odd"}));
  EXPECT_EQ((std::vector<std::string>{"d"}), *takes->takes_of("drums", 1));
}

TEST_F(TakesTest, WordsInAnyOrderTheLastOneBegun) {
  add(a_take("a", "A slow piano over strings", 1));
  add(a_take("b", "fast Drums, lo-fi", 2));
  Take take = a_take("c", "strings alone", 3);
  take.title = "Évening piano";
  add(take);
  EXPECT_EQ("c a", found({.words = "strings piano"}));
  EXPECT_EQ("c a", found({.words = "  PIANO\tstr "}));
  EXPECT_EQ("", found({.words = "str piano"}));  // only the last one may be begun
  EXPECT_EQ("c", found({.words = "evening"}));
  EXPECT_EQ("b", found({.words = "lo-fi"}));
  EXPECT_EQ("b", found({.words = "drums"}));
  EXPECT_EQ("c b a", found({.words = "  "}));
}

TEST_F(TakesTest, WordsWithoutSpacesBetweenThem) {
  add(a_take("a", "安静的钢琴曲", 1));
  add(a_take("b", "電子音楽 with ピアノ", 2));
  EXPECT_EQ("a", found({.words = "钢琴"}));
  EXPECT_EQ("a", found({.words = "钢琴 安静"}));
  EXPECT_EQ("", found({.words = "琴钢"}));
  EXPECT_EQ("b", found({.words = "ピアノ"}));
  EXPECT_EQ("", found({.words = "pia 音楽"}));
  EXPECT_EQ("b", found({.words = "音楽 wit"}));
}

TEST_F(TakesTest, WordsMeanNothingButThemselves) {
  add(a_take("a", "rock AND roll NOT pop", 1));
  add(a_take("b", "say \"hello\" *", 2));
  EXPECT_EQ("a", found({.words = "AND"}));
  EXPECT_EQ("a", found({.words = "roll NOT"}));
  EXPECT_EQ("", found({.words = "rock OR hello"}));
  EXPECT_EQ("b", found({.words = "\"hello\""}));
  EXPECT_EQ("", found({.words = "prompt:rock"}));
  EXPECT_EQ("", found({.words = "title : x"}));
  // None of these may be an error, and none finds everything.
  for (const std::string hostile : {"\"",
                                    "\"\"",
                                    "\"\"\"",
                                    "*",
                                    "a*b",
                                    "^",
                                    "NEAR(a b)",
                                    "(",
                                    ")",
                                    "{x}:y",
                                    "-",
                                    "+",
                                    "--",
                                    "';",
                                    "'; DROP TABLE takes; --",
                                    "%",
                                    "_",
                                    "\\",
                                    "!!!",
                                    "\xE3\x80\x80",
                                    "\xF0\x9F\x8E\xB9",
                                    "hello\" OR \"rock"}) {
    const auto page = takes->find({.words = hostile});
    ASSERT_TRUE(page) << hostile << ": " << message_of(page);
    EXPECT_LE(page->takes.size(), hostile == "\xE3\x80\x80" ? 2U : 1U) << hostile;
  }
  EXPECT_EQ("b", found({.words = std::string("say\0hello", 9)}));
  EXPECT_EQ(takes->find({.words = "\xC0\x80"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(takes->find({.words = std::string(2000, 'x')}).error().code, ErrorCode::invalid_argument);
  std::string many;
  for (int i = 0; i < 40; ++i) many += "a ";
  EXPECT_EQ(takes->find({.words = many}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ("b a", found({}));
}

TEST_F(TakesTest, PromptsWithTheirFingerprints) {
  add(a_take("a", "piano", 1));
  add(a_take("b", "drums", 2));
  add(a_take("c", "flute", 3));
  add(a_take("d", "piano", 4));
  add(a_take("e", "", 5));
  const std::vector<float> mark{1.0F, -0.5F, 1e-30F};
  ASSERT_TRUE(takes->remember_fingerprint("piano", "t5", mark));
  ASSERT_TRUE(takes->remember_fingerprint("piano", "other", std::vector<float>{2.0F}));
  ASSERT_TRUE(takes->remember_fingerprint("nobody's", "t5", mark));
  ASSERT_TRUE(takes->trash("c", 9.0));

  auto past = takes->prompts("t5", 10);
  ASSERT_TRUE(past) << message_of(past);
  ASSERT_EQ(past->size(), 2U);
  EXPECT_EQ((*past)[0].prompt, "drums");
  EXPECT_TRUE((*past)[0].fingerprint.empty());
  EXPECT_EQ((*past)[1].prompt, "piano");
  EXPECT_EQ((*past)[1].fingerprint, mark);
  EXPECT_EQ(takes->prompts("t5", 1)->front().prompt, "piano");

  ASSERT_TRUE(takes->remove("a"));
  EXPECT_EQ(takes->prompts("t5", 1)->front().fingerprint, mark);  // d has the prompt still
  ASSERT_TRUE(takes->remove("d"));
  add(a_take("f", "piano", 6));
  EXPECT_TRUE(takes->prompts("t5", 1)->front().fingerprint.empty());  // and nothing was kept when nobody had it
}

}  // namespace
}  // namespace continuo::library
