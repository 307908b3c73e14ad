// From -m to a resident model: finding the file, opening it, the memory it will take, loading it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "engine/engine.h"
#include "engine/memory_need.h"
#include "weights/tensor_source.h"

namespace continuo::cli {

struct OpenedModel {
  std::string path;
  std::int64_t file_bytes = 0;
  std::unique_ptr<weights::TensorSource> source;

  const weights::ModelConfig& config() const { return source->config(); }
};

/// Folders that hold installed models: the one of --models (its twins included) first.
std::vector<std::string> model_folders(const Arguments& arguments, const Context& context);

/// The file of -m, or of the default model.
Result<std::string> find_requested_model(const Arguments& arguments, const Context& context);

/// Maps and validates the model of -m; quick, nothing is computed.
Result<OpenedModel> open_requested_model(const Arguments& arguments, const Context& context);

/// --threads, --memory, --cache and --kv with their twins.
Result<engine::EngineOptions> engine_options(const Arguments& arguments, const Context& context);

/// A note on standard error when the weights' licence forbids commercial use.
void print_licence_note(const weights::ModelConfig& config);
bool non_commercial(const std::string& license);

/// Refuses work that would not fit into the budget (0: none) or the memory the machine has left.
Status check_memory(const engine::MemoryNeed& need, std::int64_t budget = 0);

/// 650M, 4G, 1500000000: bytes; K, M and G (or KiB, MiB, GiB) count in 1024s, KB, MB and GB in thousands.
Result<std::int64_t> parse_size(const std::string& text, const std::string& origin);

}  // namespace continuo::cli
