// Where the server does what takes time: encoding, decoding uploads, disks, the database. A few threads beside the I/O thread, at
// a lower priority than the compute threads.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

#include "server/http/exchange.h"

namespace continuo::server {

class Pool {
 public:
  explicit Pool(int threads);
  /// Waits for what runs; what has not begun is dropped.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Waits for what runs; from then on nothing runs any more.
  void stop();

  void post(std::function<void()> work);

  /// Runs `work` on the pool and comes back to the I/O thread with what it returned. Exceptions come back too.
  template <class Work>
  Task<std::invoke_result_t<Work>> run(Work work);

  /// A queue of its own on the pool: what is posted to it runs in order, never two at once.
  class Lane {
   public:
    virtual ~Lane() = default;
    virtual void post(std::function<void()> work) = 0;
  };
  std::shared_ptr<Lane> lane();

 private:
  Task<void> run_erased(std::function<void()> work);
  struct State;
  std::unique_ptr<State> state_;
};

template <class Work>
Task<std::invoke_result_t<Work>> Pool::run(Work work) {
  using Value = std::invoke_result_t<Work>;
  if constexpr (std::is_void_v<Value>) {
    co_await run_erased(std::function<void()>(std::ref(work)));
  } else {
    std::optional<Value> value;
    std::function<void()> body = [&] { value.emplace(work()); };
    co_await run_erased(std::move(body));
    co_return std::move(*value);
  }
}

}  // namespace continuo::server
