// A data folder for a test, and takes to put into it.
#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "library/takes.h"

namespace continuo::library {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "continuo-library-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

inline Take a_take(const std::string& id, const std::string& prompt = "soft piano", double created = 1000.0) {
  Take take;
  take.id = id;
  take.job = "job-" + id;
  take.prompt = prompt;
  take.model = "demo";
  take.seed = 7;
  take.seconds = 10.0;
  take.sample_rate = 32'000;
  take.bytes = 100;
  take.sound = TakeLibrary::sound_path(id);
  take.created = created;
  return take;
}

/// A library in a folder of its own.
class TakesTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    takes.reset();
    database.reset();
    auto opened = Database::open(folder / "data", {.flush = false});
    ASSERT_TRUE(opened) << message_of(opened);
    database = *opened;
    auto library = TakeLibrary::open(database);
    ASSERT_TRUE(library) << message_of(library);
    takes = std::move(*library);
  }
  void add(const Take& take) {
    const Status status = takes->add(take);
    ASSERT_TRUE(status) << message_of(status);
  }
  void write_sound(const Take& take) const {
    const std::filesystem::path path = takes->absolute(take);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "sound";
  }
  bool has_sound(const Take& take) const { return std::filesystem::exists(takes->absolute(take)); }
  /// The ids of a page, one after the other: "c b a".
  std::string found(const TakeQuery& query) const {
    const auto page = takes->find(query);
    if (!page) return page.error().message;
    std::string ids;
    for (const Take& take : page->takes) ids += (ids.empty() ? "" : " ") + take.id;
    return ids;
  }

  TestFolder folder;
  std::shared_ptr<Database> database;
  std::unique_ptr<TakeLibrary> takes;
};

}  // namespace continuo::library
