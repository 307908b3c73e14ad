// Runs every file of the given folders through the target that it is linked with: how a build without libFuzzer replays a corpus.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  double slowest = 0.0;
  std::string slowest_name = "-";
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // A copy of exactly its size on the heap, so that AddressSanitizer sees a read beyond it.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    std::printf("%s\n", path.filename().c_str());  // before it runs: after a crash, the last line names the input
    std::fflush(stdout);
    const auto start = Clock::now();
    LLVMFuzzerTestOneInput(input.data(), input.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > slowest) {
      slowest = seconds;
      slowest_name = path.filename();
    }
  }
  std::printf("%zu inputs, the slowest took %.3f s (%s)\n", files.size(), slowest, slowest_name.c_str());
  return files.empty() ? 1 : 0;
}
