#include <string>
#include <vector>

#include "base/memory.h"
#include "cli/app.h"

int main(int argc, char** argv) {
  continuo::give_memory_back_early();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return continuo::cli::run(words);
}
