#include "fuzz/fuzz_support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "weights/text_check.h"

namespace continuo::fuzz {

namespace fs = std::filesystem;

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

InputFolder::InputFolder(std::vector<std::string> names) : names_(std::move(names)) {
  std::string pattern =
      fs::is_directory("/dev/shm") ? "/dev/shm/fuzz-XXXXXX" : fs::temp_directory_path().string() + "/fuzz-XXXXXX";
  FUZZ_DEMAND(::mkdtemp(pattern.data()) != nullptr);
  outside_ = pattern;
  fs::create_directory(path());
}

InputFolder::~InputFolder() {
  std::error_code ignored;
  fs::remove_all(outside_, ignored);
}

std::string InputFolder::path(const std::string& name) const {
  return name.empty() ? outside_ + "/model" : outside_ + "/model/" + name;
}

void InputFolder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream file(path(name), std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  FUZZ_DEMAND(file.good());
}

void InputFolder::fill(std::string_view input) const {
  for (const std::string& name : names_) ::unlink(path(name).c_str());
  std::string name = names_.front();
  while (true) {
    // The next heading, at the start of a line.
    std::size_t end = input.starts_with("== ") ? 0 : input.find("\n== ");
    if (end != 0) write(name, input.substr(0, end));
    if (end == std::string_view::npos) return;
    input.remove_prefix(end + (end == 0 ? 3 : 4));
    const std::string_view heading = input.substr(0, input.find('\n'));
    if (std::find(names_.begin(), names_.end(), heading) == names_.end()) return;
    name = heading;
    input.remove_prefix(std::min(heading.size() + 1, input.size()));
  }
}

void touch(std::span<const std::byte> bytes) {
  volatile unsigned sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 64) sum = sum + std::to_integer<unsigned>(bytes[i]);
  if (!bytes.empty()) sum = sum + std::to_integer<unsigned>(bytes.back());
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
