// FAISS uses OpenMP. An index of prompts is small, and the processor belongs to the model: while one of these lives, what this
// thread starts through OpenMP stays on this thread.
#pragma once

#include <omp.h>

namespace continuo::library {

class SingleThread {
 public:
  SingleThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThread() { omp_set_num_threads(before_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

}  // namespace continuo::library
