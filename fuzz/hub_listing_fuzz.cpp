// What a hub says: its list of a repository's files, and a file's headers (an input that begins with "HTTP/"). Whatever it says,
// the names that are taken from it are plain file names, each once, and everything that programs print is one line.
#include <set>

#include "fuzz/fuzz_support.h"
#include "weights/hub_files.h"
#include "weights/hub_listing.h"
#include "weights/text_check.h"

namespace {

using namespace continuo;

bool hexadecimal(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void check_hashes(const weights::RemoteFile& file) {
  FUZZ_DEMAND(file.sha256.empty() || hexadecimal(file.sha256, 64));
  FUZZ_DEMAND(file.git_blob.empty() || hexadecimal(file.git_blob, 40));
  FUZZ_DEMAND(file.size <= std::uint64_t{1} << 60);
}

void read_headers(std::string_view text) {
  weights::HttpReply reply;
  reply.status = 200;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) reply.headers[std::string(line.substr(0, colon))] = line.substr(colon + 2);
  }
  weights::RemoteFile file;
  file.name = "model.safetensors";
  const auto status = weights::read_metadata(reply, file);
  if (!status) return fuzz::check_refusal(status.error());
  check_hashes(file);
  FUZZ_DEMAND(!file.sha256.empty() || !file.git_blob.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (text.starts_with("HTTP/")) {
    read_headers(text);
    return 0;
  }
  const auto repository = weights::parse_listing(std::string(text), {"owner", "name"});
  if (!repository) {
    fuzz::check_refusal(repository.error());
    return 0;
  }
  FUZZ_DEMAND(hexadecimal(repository->commit, 40));
  FUZZ_DEMAND(repository->license.size() <= 100 && weights::single_line(repository->license));
  FUZZ_DEMAND(weights::valid_utf8(repository->license));
  for (const auto& file : repository->files) check_hashes(file);
  const auto needed = weights::needed_files(repository->files, "owner/name");
  if (!needed) {
    fuzz::check_refusal(needed.error());
    return 0;
  }
  FUZZ_DEMAND(!needed->weights.empty());
  std::set<std::string> names;
  for (const auto* list : {&needed->about, &needed->weights}) {
    for (const auto& file : *list) {
      FUZZ_DEMAND(file.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzADEILMNRSTC0123456789._-") == std::string::npos);
      FUZZ_DEMAND(!file.name.starts_with('.') && names.insert(file.name).second);
    }
    FUZZ_DEMAND(list->empty() || weights::total_bytes(*list) >= list->front().size);
  }
  return 0;
}
