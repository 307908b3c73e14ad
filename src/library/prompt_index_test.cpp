// Adding, finding, forgetting, saving; files that are not to be believed; many threads.
#include "library/prompt_index.h"

#include <gtest/gtest.h>

#include <omp.h>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "library/prompt_index_file.h"

namespace continuo::library {
namespace {

namespace fs = std::filesystem;
using Vector = std::vector<float>;

/// Two dimensions, nothing taken away: angles can be drawn on paper.
FingerprintSpace plane() { return *FingerprintSpace::from_parts(SpaceKind::raw, {0.0F, 0.0F}, {}); }

Vector at(double degrees, double length = 1.0) {
  const double radians = degrees * 3.14159265358979 / 180.0;
  return {static_cast<float>(length * std::cos(radians)), static_cast<float>(length * std::sin(radians))};
}

PromptIndex index_of(std::initializer_list<std::pair<const char*, double>> prompts, std::size_t capacity = 100) {
  PromptIndex index(plane(), {"test", capacity});
  for (const auto& [prompt, degrees] : prompts) {
    const Status status = index.add(prompt, at(degrees, 3.0));
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
  }
  return index;
}

std::vector<std::string> names(const Result<std::vector<SimilarPrompt>>& found) {
  std::vector<std::string> all;
  if (!found) return {found.error().message};
  for (const SimilarPrompt& prompt : *found) all.push_back(prompt.prompt);
  return all;
}

using Names = std::vector<std::string>;

TEST(PromptIndex, TheMostSimilarComeFirst) {
  const PromptIndex index = index_of({{"a", 0}, {"b", 40}, {"c", 10}, {"d", 180}});
  const auto found = index.similar(at(2, 0.1), 0.5F, 10);
  EXPECT_EQ((Names{"a", "c", "b"}), names(found));
  EXPECT_NEAR(std::cos(2 * 3.14159265 / 180), (*found)[0].cosine, 1e-5);
  EXPECT_NEAR(std::cos(8 * 3.14159265 / 180), (*found)[1].cosine, 1e-5);
  EXPECT_EQ((Names{"a", "c"}), names(index.similar(at(2), 0.5F, 2)));
  EXPECT_EQ((Names{"a", "c"}), names(index.similar(at(2), 0.9F, 10)));
  EXPECT_EQ(Names{}, names(index.similar(at(100), 0.9F, 10)));
  EXPECT_EQ(Names{}, names(index.similar(at(2), 0.5F, 0)));
  EXPECT_EQ(4U, names(index.similar(at(2), -1.1F, std::numeric_limits<std::size_t>::max())).size());
}

TEST(PromptIndex, EmptyOnesFindNothing) {
  PromptIndex index = index_of({});
  EXPECT_EQ(Names{}, names(index.similar(at(0))));
  EXPECT_FALSE(index.remove("a"));
  EXPECT_EQ(0U, index.size());
}

TEST(PromptIndex, AddingAgainReplaces) {
  PromptIndex index = index_of({{"a", 0}, {"b", 90}, {"a", 90}});
  EXPECT_EQ(2U, index.size());
  EXPECT_EQ(Names{}, names(index.similar(at(0), 0.5F)));
  EXPECT_EQ((Names{"b", "a"}), names(index.similar(at(90), 0.5F)));  // equal ones in the order they were added
}

TEST(PromptIndex, ListsTheOldestFirst) {
  PromptIndex index = index_of({{"a", 0}, {"b", 30}, {"c", 60}, {"a", 90}});
  EXPECT_EQ((Names{"b", "c", "a"}), index.prompts());
}

TEST(PromptIndex, RemovingLeavesTheOthersInPlace) {
  PromptIndex index = index_of({{"a", 0}, {"b", 30}, {"c", 60}, {"d", 90}});
  EXPECT_TRUE(index.remove("b"));
  EXPECT_FALSE(index.remove("b"));
  EXPECT_EQ((Names{"c"}), names(index.similar(at(60), 0.99F)));
  EXPECT_EQ((Names{"d"}), names(index.similar(at(90), 0.99F)));
  EXPECT_TRUE(index.remove("d"));
  EXPECT_TRUE(index.remove("a"));
  EXPECT_TRUE(index.remove("c"));
  EXPECT_TRUE(index.add("e", at(10)));
  EXPECT_EQ((Names{"e"}), names(index.similar(at(10), 0.99F)));
}

TEST(PromptIndex, TheOldestGoBeyondTheCapacity) {
  PromptIndex index = index_of({{"a", 0}, {"b", 30}, {"c", 60}, {"a", 1}, {"d", 90}}, 3);
  EXPECT_EQ(3U, index.size());
  EXPECT_EQ(Names{}, names(index.similar(at(30), 0.99F)));
  EXPECT_EQ((Names{"a"}), names(index.similar(at(0), 0.99F)));
  EXPECT_EQ((Names{"c"}), names(index.similar(at(60), 0.99F)));
}

TEST(PromptIndex, WhatCannotBeComparedIsRefused) {
  PromptIndex index = index_of({{"a", 0}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(index.add("", at(0)));
  EXPECT_FALSE(index.add(std::string(max_indexed_prompt_bytes + 1, 'x'), at(0)));
  EXPECT_FALSE(index.add("b", Vector{0.0F, 0.0F}));
  EXPECT_FALSE(index.add("b", Vector{1.0F, nan}));
  EXPECT_FALSE(index.add("b", Vector{1.0F}));
  EXPECT_FALSE(index.similar(Vector{1.0F, 2.0F, 3.0F}));
  EXPECT_FALSE(index.similar(Vector{nan, nan}));
  EXPECT_FALSE(index.similar(at(0), nan));
  EXPECT_EQ(Names{}, names(index.similar(Vector{0.0F, 0.0F}, 0.1F)));
  EXPECT_EQ(1U, index.size());
}

TEST(PromptIndex, LeavesOpenMpAsItWas) {
  omp_set_num_threads(3);
  (void)index_of({{"a", 0}}).similar(at(0));
  EXPECT_EQ(3, omp_get_max_threads());
}

TEST(PromptIndex, ManyThreads) {
  PromptIndex index = index_of({}, 50);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string prompt = "prompt " + std::to_string(t) + " " + std::to_string(i % 20);
        const Vector vector = at(90.0 * t + i % 20);
        wrong += index.add(prompt, vector) ? 0 : 1;
        const auto found = index.similar(vector, 0.999F, 100);
        wrong += found ? 0 : 1;
        // Each prompt has one place, so whatever is found must be one of that place.
        for (const SimilarPrompt& one : *found) wrong += one.prompt.starts_with("prompt " + std::to_string(t)) ? 0 : 1;
        if (i % 7 == 0) index.remove(prompt);
        wrong += index.size() <= 50 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
}

class PromptIndexFiles : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(CONTINUO_BINARY_DIR) / ("prompt-index-test-" + std::to_string(::getpid()));
  fs::path file_ = folder_ / "prompts.index";
  PromptIndexFiles() { fs::remove_all(folder_); }
  ~PromptIndexFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  PromptIndex::Loaded load(const std::string& encoder = "test", std::size_t capacity = 100) const {
    return PromptIndex::load(folder_.string(), {encoder, capacity});
  }
  std::vector<char> bytes() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::vector<char>& content) const {
    std::ofstream file(file_, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
  }
};

TEST_F(PromptIndexFiles, AreReadAsTheyWereWritten) {
  const PromptIndex index = index_of({{"a", 0}, {"slow piano, 60 bpm \xC3\xA9", 30}, {"c", 60}});
  ASSERT_TRUE(index.save(folder_.string()));
  const auto loaded = load();
  EXPECT_EQ("", loaded.warning);
  ASSERT_TRUE(loaded.index);
  EXPECT_EQ(3U, loaded.index->size());
  for (const double degrees : {0.0, 17.0, 45.0, 300.0}) {
    EXPECT_EQ(names(index.similar(at(degrees), -1.0F, 10)), names(loaded.index->similar(at(degrees), -1.0F, 10)));
  }
  const auto first = bytes();
  ASSERT_TRUE(loaded.index->save(folder_.string()));
  EXPECT_EQ(first, bytes());
  EXPECT_EQ(1, std::distance(fs::directory_iterator(folder_), {}));  // no temporary file stays
}

TEST_F(PromptIndexFiles, NoFileIsNoWarning) {
  const auto loaded = load();
  EXPECT_FALSE(loaded.index);
  EXPECT_EQ("", loaded.warning);
}

TEST_F(PromptIndexFiles, AnEmptyIndexIsKeptToo) {
  ASSERT_TRUE(index_of({}).save(folder_.string()));
  const auto loaded = load();
  ASSERT_TRUE(loaded.index) << loaded.warning;
  EXPECT_EQ(0U, loaded.index->size());
}

TEST_F(PromptIndexFiles, TheYoungestAreKeptOfTooMany) {
  ASSERT_TRUE(index_of({{"a", 0}, {"b", 30}, {"c", 60}}).save(folder_.string()));
  const auto loaded = load("test", 2);
  ASSERT_TRUE(loaded.index);
  EXPECT_EQ((Names{"b", "c"}), names(loaded.index->similar(at(30), -1.0F, 10)));
}

TEST_F(PromptIndexFiles, AnotherEncodersAreDropped) {
  ASSERT_TRUE(index_of({{"a", 0}}).save(folder_.string()));
  const auto loaded = load("other");
  EXPECT_FALSE(loaded.index);
  EXPECT_NE(std::string::npos, loaded.warning.find("another text encoder"));
}

TEST_F(PromptIndexFiles, DamagedOnesAreDroppedWithAWarning) {
  ASSERT_TRUE(index_of({{"a", 0}, {"bcd", 30}}).save(folder_.string()));
  const std::vector<char> good = bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<char> bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    write(bad);
    const auto loaded = load();
    EXPECT_FALSE(loaded.index) << "byte " << i;
    EXPECT_NE(std::string::npos, loaded.warning.find("starts anew")) << "byte " << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    write({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_FALSE(load().index) << size << " bytes";
  }
  std::vector<char> longer = good;
  longer.push_back(0);
  write(longer);
  EXPECT_FALSE(load().index);
}

TEST_F(PromptIndexFiles, AWriteThatFailsLeavesTheOldFile) {
  const PromptIndex index = index_of({{"a", 0}});
  ASSERT_TRUE(index.save(folder_.string()));
  EXPECT_FALSE(index.save(file_.string()));  // a file is no folder
  EXPECT_TRUE(load().index);
}

/// A right checksum is no proof of sense: the writer may have been wrong.
TEST(PromptIndexFile, ContradictionsAreFoundBehindARightChecksum) {
  const auto refused = [](std::vector<std::string> prompts, Vector vectors) {
    const auto bytes = encode_index({"test", plane(), std::move(prompts), std::move(vectors)});
    return !decode_index(*bytes, "x");
  };
  EXPECT_FALSE(refused({"a", "b"}, {1, 0, 0, 1}));
  EXPECT_TRUE(refused({"a", "a"}, {1, 0, 0, 1}));
  EXPECT_TRUE(refused({"a", ""}, {1, 0, 0, 1}));
  EXPECT_TRUE(refused({"a", "b"}, {1, 0, 0, 2}));
  EXPECT_TRUE(refused({"a", "b"}, {1, 0, 0, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_TRUE(refused({"a", std::string(max_indexed_prompt_bytes + 1, 'x')}, {1, 0, 0, 1}));
  EXPECT_FALSE(encode_index({std::string(max_encoder_bytes + 1, 'e'), plane(), {}, {}}));
}

/// The seeds of the fuzz target carry the hash of the reference prompts: after a change of those, run fuzz/make_corpus.py.
TEST(PromptIndexFile, TheSeedsOfTheFuzzTargetAreUpToDate) {
  std::ifstream file(std::string(CONTINUO_SOURCE_DIR) + "/fuzz/corpus/prompt_index/two_prompts", std::ios::binary);
  const std::string seed{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(seed.empty());
  const auto read = decode_index(std::as_bytes(std::span(seed)).subspan(1), "two_prompts");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((Names{"slow piano", "techno"}), read->prompts);
}

}  // namespace
}  // namespace continuo::library
