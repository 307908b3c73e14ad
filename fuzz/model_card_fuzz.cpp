// The front matter of a model's README.md: the licence found there is a short line, since programs print it.
#include "fuzz/fuzz_support.h"
#include "weights/model_card.h"
#include "weights/text_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const std::string license = weights::license_in_card(fuzz::as_text(data, size));
  FUZZ_DEMAND(license.size() <= 100 && weights::valid_utf8(license) && weights::single_line(license));
  return 0;
}
