// From -m to a resident model: finding the file, opening it, the memory it will take, loading it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "engine/engine.h"
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

/// --threads and --kv with their twins; refuses --memory wherever it is set, because no budget is kept yet.
Result<engine::EngineOptions> engine_options(const Arguments& arguments, const Context& context);

/// A note on standard error when the weights' licence forbids commercial use.
void print_licence_note(const weights::ModelConfig& config);
bool non_commercial(const std::string& license);

struct MemoryNeed {
  std::int64_t weights = 0;      // as they lie in the file; a kernel's own layout has the same size
  std::int64_t keys_values = 0;  // self-attention of every row, for the whole length
  std::int64_t activations = 0;  // the samples of all clips, and the codec's layers for one clip at a time
  std::int64_t total() const { return weights + keys_values + activations; }
};

/// A prompt of a dozen words, where the true one is not known.
inline constexpr int usual_text_tokens = 16;

/// What a run of `clips` clips of that length takes; the engine cuts it into batches. kv: f32, f16 or int8. text_tokens: of the
/// longest prompt, which melody models keep in front of the codes, as they do the melody.
MemoryNeed memory_need(const weights::ModelConfig& config, std::int64_t weight_bytes, int clips, double seconds, bool guided,
                       std::string_view kv, int text_tokens = usual_text_tokens);

/// Refuses work that would not fit into the memory the machine has left.
Status check_memory(const MemoryNeed& need);

}  // namespace continuo::cli
