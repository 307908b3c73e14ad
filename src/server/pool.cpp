#include "server/pool.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace continuo::server {

namespace {

// Music that is being made comes first; on Linux a nice value belongs to a thread.
void lower_priority() {
#if defined(__linux__)
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 5);
#endif
}

class StrandLane final : public Pool::Lane {
 public:
  explicit StrandLane(boost::asio::thread_pool& threads) : strand_(threads.get_executor()) {}
  void post(std::function<void()> work) override { boost::asio::post(strand_, std::move(work)); }

 private:
  boost::asio::strand<boost::asio::thread_pool::executor_type> strand_;
};

}  // namespace

struct Pool::State {
  explicit State(int count) : threads(static_cast<std::size_t>(count)) {}
  boost::asio::thread_pool threads;
};

Pool::Pool(int threads) : state_(std::make_unique<State>(threads)) {
  for (int i = 0; i < threads; ++i) boost::asio::post(state_->threads, lower_priority);
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  state_->threads.stop();
  state_->threads.join();
}

void Pool::post(std::function<void()> work) { boost::asio::post(state_->threads, std::move(work)); }

std::shared_ptr<Pool::Lane> Pool::lane() { return std::make_shared<StrandLane>(state_->threads); }

Task<void> Pool::run_erased(std::function<void()> work) {
  std::exception_ptr thrown;
  const auto initiate = [this, &work, &thrown](auto handler) {
    const auto home = boost::asio::get_associated_executor(handler);
    // The guard keeps the I/O thread from ending its run while the answer is on its way.
    boost::asio::post(state_->threads,
                      [&work, &thrown, guard = boost::asio::make_work_guard(home), handler = std::move(handler)]() mutable {
                        try {
                          work();
                        } catch (...) {
                          thrown = std::current_exception();
                        }
                        boost::asio::post(guard.get_executor(), std::move(handler));
                      });
  };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(initiate, boost::asio::use_awaitable);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace continuo::server
