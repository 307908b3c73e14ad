#include "cli/level.h"

namespace continuo::cli {

Option level_option() {
  return {"--level", "steady|free",
          "hold the loudness that the first seconds have, or leave it to the model (default: steady beyond the model's window)"};
}

Result<std::optional<bool>> read_level(const Arguments& arguments) {
  const auto text = arguments.value("level");
  if (!text) return std::nullopt;
  if (*text != "steady" && *text != "free") {
    return fail(ErrorCode::invalid_argument, "--level must be steady or free, not '{}'", *text);
  }
  return *text == "steady";
}

}  // namespace continuo::cli
