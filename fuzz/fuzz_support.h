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
#include <vector>

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

/// The input as a folder of files, for parsers that read several: one text, in which a line "== NAME" starts the next file. Only
/// the names that the target knows make a file; what stands before the first of them is the first name's. One folder serves all
/// inputs of a process; what else lies in it stays.
class InputFolder {
 public:
  /// `names` are the files that an input may bring.
  explicit InputFolder(std::vector<std::string> names);
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;
  ~InputFolder();

  /// Replaces the files of the input before.
  void fill(std::string_view input) const;
  /// A file that every input sees.
  void write(const std::string& name, std::string_view bytes) const;
  std::string path(const std::string& name = "") const;

 private:
  std::vector<std::string> names_;
  std::string outside_;  // made for this process; the folder lies in it, so that there is a place outside of it
};

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Reads of every cache line and the last byte, so that a range outside its file is noticed.
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
