#include "engine/conditioning_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "base/file.h"
#include "engine/test_support.h"

namespace continuo::engine {
namespace {

namespace fs = std::filesystem;

class Bytes final : public compute::CrossKv {
 public:
  explicit Bytes(std::size_t size) : bytes_(size) {
    for (std::size_t i = 0; i < size; ++i) bytes_[i] = static_cast<std::byte>(i * 37 + i / 256);
  }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }
  std::span<std::byte> data() override { return bytes_; }
  std::span<const std::byte> data() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

HeardText some_text(std::size_t size = 3001) {
  return {std::make_shared<Bytes>(size), nullptr,
          std::make_shared<const std::vector<float>>(std::vector<float>{1.5F, -2.0F, 3.25F})};
}

class Store : public ::testing::Test {
 protected:
  Store() { fs::remove_all(folder_); }
  ~Store() override { fs::remove_all(folder_); }
  std::unique_ptr<ConditioningStore> store(const std::string& identity = "model 1", std::int64_t most_bytes = 1 << 24) {
    return std::make_unique<ConditioningStore>(
        ConditioningStore::Options{folder_, most_bytes, 16, [this](const std::string& text) { warning_ = text, ++warnings_; }},
        identity);
  }
  /// Writes a prompt and waits for its file.
  void write(ConditioningStore& to, const std::string& prompt, const HeardText& heard) {
    to.put(prompt, heard);
    to.settle();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static bool same(const ConditioningStore::Record& record, const HeardText& heard) {
    const auto fingerprint = std::as_bytes(std::span(*heard.fingerprint));
    return std::ranges::equal(record.cross, std::as_const(*heard.cross).data()) && record.projected.empty() &&
           std::ranges::equal(record.fingerprint, fingerprint);
  }
  std::string folder_ = fmt::format("{}/store-{}", CONTINUO_BINARY_DIR, ::getpid());
  std::string warning_;
  std::atomic<int> warnings_ = 0;
};

TEST_F(Store, RemembersOverARestart) {
  const HeardText heard = some_text();
  store()->put("soft piano", heard);  // what is queued is written at the end
  const auto again = store();
  const auto record = again->find("soft piano");
  ASSERT_TRUE(record);
  EXPECT_TRUE(same(*record, heard));
  EXPECT_FALSE(again->find("soft pian"));
  EXPECT_FALSE(store("model 2")->find("soft piano"));
  EXPECT_TRUE(again->find("soft piano"));  // and another model has not removed it
  struct stat info {};
  const std::string path = again->path_of("soft piano");
  ASSERT_EQ(0, ::stat(path.c_str(), &info));
  EXPECT_EQ(0600U, info.st_mode & 0777U);
  EXPECT_EQ(std::string::npos, path.find("piano"));
  EXPECT_EQ(1U, files());
  EXPECT_EQ(0, warnings_);
}

TEST_F(Store, BelievesNoDamagedFile) {
  const auto mine = store();
  const HeardText heard = some_text();
  write(*mine, "soft piano", heard);
  const std::string path = mine->path_of("soft piano");
  const std::string whole = *read_text_file(path, 1 << 20);
  const auto damaged = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    const bool found = mine->find("soft piano").has_value();
    return !found && !fs::exists(path);  // and removed
  };
  // Every byte of the header and of the texts, and samples of the rest; one bit, and all of them.
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 41) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string content = whole;
      content[at] = static_cast<char>(content[at] ^ flip);
      EXPECT_TRUE(damaged(content)) << at;
    }
  }
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 97)
    EXPECT_TRUE(damaged(whole.substr(0, size))) << size;
  EXPECT_TRUE(damaged(whole + "x"));
  EXPECT_TRUE(damaged(std::string(whole.size(), '\0')));
  write(*mine, "soft piano", heard);
  EXPECT_TRUE(mine->find("soft piano"));
  // Another prompt's good file in this one's place.
  write(*mine, "loud drums", heard);
  fs::rename(mine->path_of("loud drums"), path);
  EXPECT_FALSE(mine->find("soft piano"));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Store, IsBoundedAndForgetsTheOldestUse) {
  const auto mine = store("model 1", 5 * 3300);
  for (const char* prompt : {"a", "b", "c", "d", "e"}) write(*mine, prompt, some_text());
  const auto age = [&](const char* prompt, int hours) {
    fs::last_write_time(mine->path_of(prompt), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  age("a", 5);
  age("b", 4);
  age("c", 3);
  EXPECT_TRUE(mine->find("a"));  // used just now
  write(*mine, "f", some_text());
  EXPECT_EQ(5U, files());
  EXPECT_TRUE(mine->find("a"));
  EXPECT_FALSE(mine->find("b"));
  write(*mine, "huge", some_text(20'000));  // more than all of the room
  EXPECT_EQ(5U, files());
  // What a killed process left behind goes; what may still be written stays.
  for (const char* name : {"/0.heard.part-old", "/0.heard.part-new", "/unrelated"}) std::ofstream(folder_ + name) << "x";
  fs::last_write_time(folder_ + "/0.heard.part-old", fs::file_time_type::clock::now() - std::chrono::hours(2));
  write(*mine, "g", some_text());
  EXPECT_FALSE(fs::exists(folder_ + "/0.heard.part-old"));
  EXPECT_TRUE(fs::exists(folder_ + "/0.heard.part-new"));
  EXPECT_TRUE(fs::exists(folder_ + "/unrelated"));
}

TEST_F(Store, IsReadWhileAStepWouldLast) {
  // 64 tokens for the largest model: 48 layers x 2 x 2048 numbers of a byte.
  const auto mine = store("model 1", 1 << 28);
  write(*mine, "soft piano", some_text(std::size_t{64} * 48 * 2 * 2048));
  double fastest = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(mine->find("soft piano"));
    fastest = std::min(fastest, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  fmt::print("12.6 MB read and checked in {:.2f} ms\n", fastest);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(fastest, 10.0);
#endif
}

TEST_F(Store, WarnsOnceWhereItCannotWrite) {
  std::ofstream(folder_) << "a file where the folder should be";
  const auto mine = store();
  for (int i = 0; i < 5; ++i) write(*mine, "soft piano", some_text());
  EXPECT_EQ(1, warnings_);
  EXPECT_NE(std::string::npos, warning_.find("cannot be remembered")) << warning_;
  EXPECT_FALSE(mine->find("soft piano"));
}

TEST_F(Store, AFullDiskIsOneWarning) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  // A write that fails half way: the limit on the size of files of this process.
  fs::create_directories(folder_);
  struct rlimit old {};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_FSIZE, &old));
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 1000, old.rlim_max };
  const auto mine = store();
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &small));
  write(*mine, "soft piano", some_text());
  write(*mine, "loud drums", some_text());
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(1, warnings_);
  EXPECT_EQ(0U, files());
}

TEST_F(Store, SeveralShareAFolder) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ConditioningStore mine({folder_, 4 * 3300, 16, [&](const std::string&) { ++wrong; }}, "model 1");
      for (int i = 0; i < 40; ++i) {
        const std::string prompt = std::to_string((i + t) % 6);
        const HeardText heard = some_text(3000 + static_cast<std::size_t>((i + t) % 6));
        if (const auto record = mine.find(prompt); record && !same(*record, heard)) ++wrong;
        mine.put(prompt, heard);
        if (i % 8 == 0) mine.settle();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
  EXPECT_LE(files(), 6U);
}

TEST_F(Store, TheEngineHearsTheSameFromDisk) {
  for (const char* model : {"tiny-a", "melody"}) {
    EngineOptions options;
    options.threads = 2;
    options.cache_folder = folder_;
    const auto run = [&](std::int64_t restored, const EngineOptions& with, std::unique_ptr<weights::TensorSource> source) {
      const auto engine = std::move(*Engine::create(std::move(source), with));
      const Told told = told_by(*engine, sampled("soft piano", 0.4));
      const auto mark = *engine->fingerprint("soft piano");
      EXPECT_TRUE(eventually([&] { return engine->status().conditioning_restored == restored; })) << model;
      return std::pair(told.codes, mark);
    };
    const auto first = run(0, options, golden_source(model));
    EXPECT_EQ(first, run(1, options, golden_source(model)));
    EngineOptions other = options;
    other.kv = "f32";
    run(0, other, golden_source(model));
    const std::string part = std::string_view(model) == "melody" ? "text.output_norm.weight" : "decoder.blk.0.cross_k.weight";
    const auto spoiled = std::move(*Engine::create(golden_source(model, 0, part), options));
    (void)spoiled->fingerprint("soft piano");
    EXPECT_EQ(0, spoiled->status().conditioning_restored);
  }
  EXPECT_NE(conditioning_identity(*golden_source("tiny-a")), conditioning_identity(*golden_source("tiny-b")));
}

}  // namespace
}  // namespace continuo::engine
