#include "cli/machine.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace continuo::cli {

namespace {

/// Reads every word. Eight independent sums, so that the additions do not hold up the loads.
std::uint64_t read_all(const std::uint64_t* words, std::size_t count) {
  std::array<std::uint64_t, 8> sums{};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

struct Free {
  void operator()(std::uint64_t* words) const { std::free(words); }
};

}  // namespace

std::string executable_path() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t length = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  return length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length)) : "";
}

double read_bandwidth(int threads) {
  constexpr std::size_t total_words = 1'000'000'000 / sizeof(std::uint64_t);
  constexpr int tries = 5;
  const auto team = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t share = total_words / team / 8 * 8;
  // In large pages where the system has them, as the weights lie: else this would be slower than what it is the bound of.
  constexpr std::size_t large_page = std::size_t{2} << 20;
  std::vector<std::unique_ptr<std::uint64_t[], Free>> parts(team);
  std::vector<std::uint64_t> sums(team);
  const auto on_all = [&](const auto& work) {
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < team; ++i) workers.emplace_back([&work, i] { work(i); });
    work(0);
  };
  on_all([&](std::size_t i) {  // each thread touches its own pages first
    const std::size_t bytes = (share * sizeof(std::uint64_t) + large_page - 1) / large_page * large_page;
    parts[i].reset(static_cast<std::uint64_t*>(std::aligned_alloc(large_page, bytes)));
    if (parts[i] == nullptr) return;
#if defined(__linux__)
    madvise(parts[i].get(), bytes, MADV_HUGEPAGE);
#endif
    std::fill_n(parts[i].get(), share, i + 1);
  });
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part == nullptr; })) return 0.0;
  double best = 0.0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    on_all([&](std::size_t i) { sums[i] += read_all(parts[i].get(), share); });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(share * team * sizeof(std::uint64_t)) / elapsed.count() / 1e9);
  }
  // The sums are used, so that the reads cannot be left out.
  static std::atomic<std::uint64_t> sink;
  for (const std::uint64_t sum : sums) sink += sum;
  return best;
}

}  // namespace continuo::cli
