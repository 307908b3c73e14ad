// The models of a server: their files are opened and checked at once, so that what they are is known; loading them takes a while
// and happens on another thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/models.h"
#include "server/server.h"
#include "weights/model_config.h"
#include "weights/tensor_source.h"

namespace continuo::server {

class LoadedModels final : public Models {
 public:
  /// Errors: a file that is missing or damaged, named.
  static Result<std::unique_ptr<LoadedModels>> open(const std::vector<ModelFile>& files);

  /// Makes the engines, one after the other. Any thread, once.
  Status load(const engine::EngineOptions& options);
  /// From now on find() and list() have them. I/O thread, after load() returned.
  void publish();

  const Model* find(std::string_view id) const override;
  std::vector<const Model*> list() const override;
  const weights::ModelConfig& config(std::string_view id) const;
  /// Changes with the text encoder of the default model.
  const std::string& text_identity() const { return text_identity_; }
  /// Ends all of them.
  void unload();

 private:
  struct Entry {
    Model model;
    weights::ModelConfig config;
    std::unique_ptr<weights::TensorSource> source;  // until it is loaded
    std::unique_ptr<engine::Engine> engine;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::string text_identity_;
};

/// What each engine may take of a budget for the whole process (0: no budget): its own weights, and an even share of what all
/// weights leave.
std::vector<std::int64_t> divided_budget(std::int64_t budget, const std::vector<std::int64_t>& weights);

}  // namespace continuo::server
