// The parts of a download that need no server: hashes, the lock, when to try again. tests/pull has the rest.
#include "weights/download.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weights/digest.h"
#include "weights/fixtures_test.h"
#include "weights/folder_lock.h"

namespace continuo::weights {
namespace {

using namespace testing;
using namespace std::chrono_literals;

TEST(Digest, IsTheStandards) {
  const TemporaryFolder folder;
  const std::string abc = folder.write("abc", "abc");
  EXPECT_EQ(*file_digest(abc, Digest::sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180
  EXPECT_EQ(*file_digest(abc, Digest::git_blob), "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");  // git hash-object
  const std::string empty = folder.write("empty", "");
  EXPECT_EQ(*file_digest(empty, Digest::git_blob), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_FALSE(file_digest(folder.path("none"), Digest::sha256));
}

TEST(Digest, CanBeStopped) {
  const TemporaryFolder folder;
  const auto digest = file_digest(folder.write("a", std::string(100, 'x')), Digest::sha256, [](std::uint64_t) { return false; });
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().code, ErrorCode::cancelled);
}

TEST(FolderLock, LetsOneIn) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a/b");
  {
    const auto first = FolderLock::take(path);
    ASSERT_TRUE(first && *first);
    const auto second = FolderLock::take(path);
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
    folder.write("a/b/file", "x");
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  EXPECT_FALSE(std::filesystem::exists(path + "/lock"));
  {
    const auto third = FolderLock::take(path);
    ASSERT_TRUE(third && *third);
    EXPECT_TRUE((*third)->clear());
    EXPECT_FALSE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FolderLock, NeverLetsTwoInWhileOthersComeAndGo) {
  const TemporaryFolder folder;
  constexpr int processes = 4;
  constexpr int rounds = 300;
  for (int i = 0; i < processes; ++i) {
    if (::fork() != 0) continue;
    int status = 0;
    for (int round = 0; round < rounds && status == 0; ++round) {
      const auto lock = FolderLock::take(folder.path("x"));
      if (!lock) status = 2;
      if (!lock || !*lock) continue;
      // Only one can make this folder before it is removed again.
      if (::mkdir(folder.path("inside").c_str(), 0700) != 0) status = 1;
      ::rmdir(folder.path("inside").c_str());
    }
    ::_exit(status);
  }
  for (int i = 0; i < processes; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
}

RetryPolicy quick(std::vector<std::string>& notices) {
  RetryPolicy policy;
  policy.first_wait = 1ms;
  policy.notice = [&](const std::string& text) { notices.push_back(text); };
  return policy;
}

HttpReply broken(std::uint64_t bytes = 0) {
  HttpReply reply;
  reply.failure = "it broke";
  reply.body_bytes = bytes;
  return reply;
}

HttpReply answered(long status) {
  HttpReply reply;
  reply.status = status;
  return reply;
}

TEST(Retries, AreBounded) {
  std::vector<std::string> notices;
  int attempts = 0;
  const auto reply = with_retries(quick(notices), "file", [&]() -> Result<HttpReply> { return ++attempts, broken(); });
  ASSERT_FALSE(reply);
  EXPECT_EQ(attempts, 5);
  EXPECT_EQ(notices.size(), 4U);
  EXPECT_EQ(reply.error().message.find("file: it broke (5 tries)"), 0U) << reply.error().message;
}

TEST(Retries, StartAnewAfterProgress) {
  std::vector<std::string> notices;
  int attempts = 0;
  const auto reply = with_retries(quick(notices), "file", [&]() -> Result<HttpReply> {
    ++attempts;
    return attempts <= 8 ? broken(2'000'000) : broken();
  });
  EXPECT_FALSE(reply);
  EXPECT_EQ(attempts, 8 + 4);
}

TEST(Retries, AreForWhatPasses) {
  for (const long status : {408L, 429L, 500L, 502L, 503L, 504L}) {
    std::vector<std::string> notices;
    int attempts = 0;
    const auto reply =
        with_retries(quick(notices), "file", [&]() -> Result<HttpReply> { return answered(++attempts == 1 ? status : 200); });
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(attempts, 2) << status;
  }
  for (const long status : {200L, 206L, 400L, 401L, 403L, 404L, 410L, 501L}) {
    std::vector<std::string> notices;
    EXPECT_EQ(with_retries(quick(notices), "file", [&]() -> Result<HttpReply> { return answered(status); })->status, status);
    EXPECT_TRUE(notices.empty());
  }
}

TEST(Retries, EndWithAnErrorOrARequestToStop) {
  std::vector<std::string> notices;
  RetryPolicy policy = quick(notices);
  const auto failed = with_retries(policy, "file", []() -> Result<HttpReply> { return fail(ErrorCode::io, "the disk is full"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the disk is full");
  policy.first_wait = 60'000ms;
  policy.cancelled = [] { return true; };
  const auto stopped = with_retries(policy, "file", []() -> Result<HttpReply> { return broken(); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace continuo::weights
