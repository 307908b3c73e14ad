// continuo models: what is installed.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "cli/numbers.h"
#include "weights/installed.h"

namespace continuo::cli {

namespace {

void print_json(const std::vector<weights::InstalledModel>& models) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& model : models) {
    nlohmann::ordered_json entry{{"name", model.name}, {"path", model.path}, {"bytes", model.bytes}};
    if (model.problem.empty()) {
      entry["license"] = model.license;
      entry["summary"] = model.summary;
    } else {
      entry["problem"] = model.problem;
    }
    list.push_back(entry);
  }
  const nlohmann::ordered_json json{{"models", list}};
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const std::vector<weights::InstalledModel>& models, const std::vector<std::string>& folders) {
  if (models.empty()) {
    std::printf(
        "no model is installed; `continuo pull OWNER/NAME` fetches one, `continuo convert` makes one of a checkpoint. Looked into:\n");
    for (const std::string& folder : folders) std::printf("  %s\n", folder.c_str());
    return;
  }
  std::size_t width = 0;
  for (const auto& model : models) width = std::max(width, model.name.size());
  for (const auto& model : models) {
    const std::string size = human_bytes(static_cast<std::int64_t>(model.bytes));
    if (model.problem.empty()) {
      const char* terms = non_commercial(model.license) ? " (no commercial use)" : "";
      std::printf("%-*s  %8s  %s  licence %s%s\n", static_cast<int>(width), model.name.c_str(), size.c_str(),
                  model.summary.c_str(), model.license.c_str(), terms);
    } else {
      std::printf("%-*s  %8s  cannot be used: %s\n", static_cast<int>(width), model.name.c_str(), size.c_str(),
                  model.problem.c_str());
    }
  }
}

Status run(const Arguments& arguments, const Context& context) {
  const auto folders = model_folders(arguments, context);
  const auto models = weights::list_models(folders);
  if (arguments.has("json")) {
    print_json(models);
  } else {
    print_text(models, folders);
  }
  return {};
}

}  // namespace

Command models_command() {
  Command command{"models", "what is installed, with size, licence and what it can do"};
  command.options = {{"--json", "", "print one JSON object"}, models_folder_option()};
  command.run = run;
  return command;
}

}  // namespace continuo::cli
