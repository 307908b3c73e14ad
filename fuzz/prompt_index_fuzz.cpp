// Indexes of prompts. The first byte says whether the checksum is looked at: behind one, hardly any damage would be seen. What
// was read has as many vectors as prompts, each prompt once, and is the same when it is written and read again.
#include <set>

#include "fuzz/fuzz_support.h"
#include "library/prompt_index_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const auto file = data[0] % 2 == 0 ? library::decode_index(bytes, "input") : library::decode_index_content(bytes, "input");
  if (!file) {
    fuzz::check_refusal(file.error());
    return 0;
  }
  const auto dimensions = static_cast<std::size_t>(file->space.dimensions());
  FUZZ_DEMAND(file->vectors.size() == file->prompts.size() * dimensions);
  FUZZ_DEMAND(std::set<std::string>(file->prompts.begin(), file->prompts.end()).size() == file->prompts.size());
  const auto again = library::encode_index(*file);
  FUZZ_DEMAND(again);
  const auto twice = library::decode_index(*again, "again");
  FUZZ_DEMAND(twice && twice->prompts == file->prompts && twice->vectors == file->vectors && twice->encoder == file->encoder);
  return 0;
}
