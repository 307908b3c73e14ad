// What the fuzz targets share.
//
// A target is handed any bytes as the file that its parser reads. It must return: no crash, no exception, nothing the sanitizers
// object to. Beyond that it demands what the parser's header promises, by FUZZ_DEMAND, which is there in every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace continuo::fuzz {

/// The input as a file without a name on any disk, for parsers that take a path. Gone with the object.
class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Reads every byte, so that a range outside its file is noticed.
void touch(std::span<const std::byte> bytes);

/// A refusal is one line of valid UTF-8 without control characters, whatever the file said: it goes to terminals and logs.
/// With CONTINUO_FUZZ_SHOW in the environment, it is printed: was a seed refused for the reason that it was made for?
void check_refusal(const Error& error);

[[noreturn]] void broken_promise(const char* what, const char* file, int line);

}  // namespace continuo::fuzz

#define FUZZ_DEMAND(condition)                                                          \
  do {                                                                                  \
    if (!(condition)) ::continuo::fuzz::broken_promise(#condition, __FILE__, __LINE__); \
  } while (false)
