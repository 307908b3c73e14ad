#include "server/loaded_models.h"

#include <algorithm>
#include <numeric>

#include "engine/conditioning_store.h"
#include "engine/memory_need.h"
#include "weights/installed.h"

namespace continuo::server {

std::vector<std::int64_t> divided_budget(std::int64_t budget, const std::vector<std::int64_t>& weights) {
  std::vector<std::int64_t> shares(weights.size(), 0);
  if (budget <= 0 || weights.empty()) return shares;
  const std::int64_t all = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t rest = (budget - all) / static_cast<std::int64_t>(weights.size());
  // Not enough for the weights alone: each engine then says so itself, with the numbers.
  for (std::size_t i = 0; i < weights.size(); ++i) shares[i] = std::max<std::int64_t>(weights[i] + rest, 1);
  return shares;
}

Result<std::unique_ptr<LoadedModels>> LoadedModels::open(const std::vector<ModelFile>& files) {
  auto models = std::make_unique<LoadedModels>();
  for (const ModelFile& file : files) {
    auto entry = std::make_unique<Entry>();
    CONTINUO_TRY(entry->source, weights::open_model(file.path));
    entry->config = entry->source->config();
    entry->model.id = file.id;
    models->entries_.push_back(std::move(entry));
  }
  if (models->entries_.empty()) return fail(ErrorCode::invalid_argument, "a server needs a model");
  models->text_identity_ = engine::conditioning_identity(*models->entries_.front()->source);
  return models;
}

Status LoadedModels::load(const engine::EngineOptions& options) {
  std::vector<std::int64_t> weights;
  for (const auto& entry : entries_) weights.push_back(engine::resident_weight_bytes(*entry->source, false));
  const std::vector<std::int64_t> shares = divided_budget(options.memory, weights);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = *entries_[i];
    engine::EngineOptions own = options;
    own.memory = shares[i];
    if (!own.cache_folder.empty()) own.cache_folder += "/" + entry.model.id;
    auto engine = engine::Engine::create(std::move(entry.source), own);
    if (!engine) return fail(engine.error().code, "model {}: {}", entry.model.id, engine.error().message);
    entry.engine = std::move(*engine);
  }
  return {};
}

void LoadedModels::publish() {
  for (const auto& entry : entries_) entry->model.engine = entry->engine.get();
}

const Models::Model* LoadedModels::find(std::string_view id) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->model.id == id; });
  return found == entries_.end() ? nullptr : &(*found)->model;
}

std::vector<const Models::Model*> LoadedModels::list() const {
  std::vector<const Model*> models;
  for (const auto& entry : entries_) models.push_back(&entry->model);
  return models;
}

const weights::ModelConfig& LoadedModels::config(std::string_view id) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->model.id == id; });
  return (found == entries_.end() ? entries_.front() : *found)->config;
}

void LoadedModels::unload() {
  for (const auto& entry : entries_) {
    entry->model.engine = nullptr;
    entry->engine.reset();
  }
}

}  // namespace continuo::server
