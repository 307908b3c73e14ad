#include "fuzz/fuzz_support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "weights/text_check.h"

namespace continuo::fuzz {

InputFile::InputFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz-input", MFD_CLOEXEC)) {
  FUZZ_DEMAND(descriptor_ >= 0);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, data, size);
    FUZZ_DEMAND(written > 0);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

InputFile::~InputFile() { ::close(descriptor_); }

void touch(std::span<const std::byte> bytes) {
  volatile unsigned sum = 0;
  for (const std::byte byte : bytes) sum = sum + std::to_integer<unsigned>(byte);
}

void check_refusal(const Error& error) {
  static const bool shown = std::getenv("CONTINUO_FUZZ_SHOW") != nullptr;
  if (shown) std::fprintf(stderr, "refused: %s\n", error.message.c_str());
  if (!error.message.empty() && weights::valid_utf8(error.message) && weights::single_line(error.message)) return;
  std::fprintf(stderr, "the message of the refusal: %s\n", error.message.c_str());
  broken_promise("a refusal is one line of text", __FILE__, __LINE__);
}

void broken_promise(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: a promise was broken: %s\n", file, line, what);
  std::abort();
}

}  // namespace continuo::fuzz
