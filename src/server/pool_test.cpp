#include "server/pool.h"

#include <gtest/gtest.h>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "server/wake.h"

namespace continuo::server {
namespace {

void run_to_end(boost::asio::io_context& io, Task<void> task) {
  std::exception_ptr thrown;
  boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr error) { thrown = error; });
  io.run();
  if (thrown) std::rethrow_exception(thrown);
}

TEST(PoolTest, ReturnsWhatTheWorkReturnedOnTheThreadThatAsked) {
  boost::asio::io_context io(1);
  Pool pool(2);
  const auto home = std::this_thread::get_id();
  const auto body = [&]() -> Task<void> {
    const std::thread::id worker = co_await pool.run([] { return std::this_thread::get_id(); });
    EXPECT_NE(worker, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    int done = 0;
    co_await pool.run([&done] { done = 7; });
    EXPECT_EQ(done, 7);
  };
  run_to_end(io, body());
}

TEST(PoolTest, ExceptionsComeBack) {
  boost::asio::io_context io(1);
  Pool pool(1);
  const auto body = [&]() -> Task<void> { co_await pool.run([]() -> int { throw std::runtime_error("planted"); }); };
  EXPECT_THROW(run_to_end(io, body()), std::runtime_error);
}

TEST(PoolTest, ALaneKeepsItsOrder) {
  std::string order;
  std::atomic<bool> done = false;
  {
    Pool pool(2);
    const auto lane = pool.lane();
    for (char letter = 'a'; letter <= 'z'; ++letter) lane->post([&order, letter] { order += letter; });
    lane->post([&done] { done = true; });
    while (!done) std::this_thread::yield();
  }
  EXPECT_EQ(order, "abcdefghijklmnopqrstuvwxyz");
}

TEST(WakeTest, IsNotLostBeforeTheWaitAndEndsOne) {
  boost::asio::io_context io(1);
  const auto body = [&]() -> Task<void> {
    Wake wake(io.get_executor());
    Wakes source;
    source.add(wake);
    source.set_all();
    EXPECT_TRUE(co_await wake.wait(std::chrono::hours(1)));
    boost::asio::steady_timer later(io, std::chrono::milliseconds(1));
    later.async_wait([&](const boost::system::error_code&) { source.set_all(); });
    EXPECT_TRUE(co_await wake.wait(std::chrono::hours(1)));
    EXPECT_FALSE(co_await wake.wait(std::chrono::milliseconds(1)));
  };
  run_to_end(io, body());
}

TEST(WakeTest, SourcesAndWakesMayGoInAnyOrder) {
  boost::asio::io_context io(1);
  auto wake = std::make_unique<Wake>(io.get_executor());
  auto first = std::make_unique<Wakes>();
  Wakes second;
  first->add(*wake);
  second.add(*wake);
  first.reset();
  wake.reset();
  second.set_all();
}

}  // namespace
}  // namespace continuo::server
