// A scene table of one's own.
#include "server/requests/scenes.h"

#include <nlohmann/json.hpp>

#include "fuzz/request_support.h"
#include "weights/text_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const auto table = server::SceneTable::parse(fuzz::as_text(data, size));
  if (!table) {
    fuzz::check_api_error(table.error());
    return 0;
  }
  const auto json = nlohmann::json::parse(table->text());
  FUZZ_DEMAND(!json["scenes"].empty());
  // Each of its scenes has a sentence, and the same one twice.
  for (const auto& [name, words] : json["scenes"].items()) {
    for (const double intensity : {0.0, 0.7, 1.0}) {
      const server::Scene scene{name, "", intensity, 100.0, ""};
      const auto prompt = table->prompt(scene);
      FUZZ_DEMAND(prompt && prompt->prompt == table->prompt(scene)->prompt);
      FUZZ_DEMAND(weights::valid_utf8(prompt->prompt) && weights::single_line(prompt->prompt));
      FUZZ_DEMAND(prompt->guidance >= 0.0F && prompt->guidance <= 100.0F);
      FUZZ_DEMAND(prompt->temperature >= 0.0F && prompt->temperature <= 100.0F);
    }
  }
  const auto missing = table->prompt({std::string(65, 'x'), "", 0.5, {}, ""});
  FUZZ_DEMAND(!missing);
  fuzz::check_api_error(missing.error());
  return 0;
}
