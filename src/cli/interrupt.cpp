#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace continuo::cli {

namespace {

constexpr int exit_interrupted = 130;
std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only touch what is lock free");

extern "C" void on_signal(int /*signal*/) {
  if (asked.exchange(true)) ::_exit(exit_interrupted);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return asked.load(std::memory_order_relaxed); }

}  // namespace continuo::cli
