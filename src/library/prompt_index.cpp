#include "library/prompt_index.h"

#include <faiss/IndexFlat.h>
#include <faiss/impl/IDSelector.h>
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "base/file.h"
#include "library/prompt_index_file.h"
#include "library/single_thread.h"

namespace continuo::library {

namespace {

namespace fs = std::filesystem;
using Position = faiss::Index::idx_t;

std::string path_in(const std::string& folder) { return (fs::path(folder) / prompt_index_file).string(); }

Error faiss_error(const std::exception& error) {
  return {ErrorCode::unsupported, fmt::format("the index of prompts failed: {}", error.what())};
}

}  // namespace

struct PromptIndex::State {
  State(FingerprintSpace its_space, Options its_options)
      : space(std::move(its_space)), options(std::move(its_options)), flat(space.dimensions()) {
    options.capacity = std::max<std::size_t>(options.capacity, 1);
  }

  const FingerprintSpace space;
  Options options;
  mutable std::shared_mutex mutex;   // guards what follows
  std::vector<std::string> prompts;  // oldest first; the vector of each has the same position in `flat`
  faiss::IndexFlatIP flat;           // inner products of vectors of length 1: cosines

  void erase(std::size_t position) {
    faiss::IDSelectorRange one(static_cast<Position>(position), static_cast<Position>(position) + 1);
    flat.remove_ids(one);  // those behind move up
    prompts.erase(prompts.begin() + static_cast<std::ptrdiff_t>(position));
  }

  bool erase(const std::string& prompt) {
    const auto place = std::find(prompts.begin(), prompts.end(), prompt);
    if (place == prompts.end()) return false;
    erase(static_cast<std::size_t>(place - prompts.begin()));
    return true;
  }
};

PromptIndex::PromptIndex(FingerprintSpace space, Options options)
    : state_(std::make_unique<State>(std::move(space), std::move(options))) {}
PromptIndex::PromptIndex(PromptIndex&&) noexcept = default;
PromptIndex& PromptIndex::operator=(PromptIndex&&) noexcept = default;
PromptIndex::~PromptIndex() = default;

Status PromptIndex::add(const std::string& prompt, std::span<const float> fingerprint) {
  if (prompt.empty() || prompt.size() > max_indexed_prompt_bytes) {
    return fail(ErrorCode::invalid_argument, "a prompt of {} bytes is not indexed; 1 to {} are", prompt.size(),
                max_indexed_prompt_bytes);
  }
  CONTINUO_TRY(const std::vector<float> vector, state_->space.project(fingerprint));
  if (std::all_of(vector.begin(), vector.end(), [](float value) { return value == 0.0F; })) {
    return fail(ErrorCode::invalid_argument, "the prompt has no fingerprint to compare");
  }
  try {
    const SingleThread single;
    const std::unique_lock lock(state_->mutex);
    state_->erase(prompt);
    while (state_->prompts.size() >= state_->options.capacity) state_->erase(std::size_t{0});
    state_->prompts.reserve(state_->prompts.size() + 1);
    std::string copy = prompt;
    state_->flat.add(1, vector.data());
    state_->prompts.push_back(std::move(copy));  // cannot fail, so the two never differ in length
  } catch (const std::exception& error) {
    return forward_error(faiss_error(error));
  }
  return {};
}

Result<std::vector<SimilarPrompt>> PromptIndex::similar(std::span<const float> fingerprint, float threshold,
                                                        std::size_t limit) const {
  if (!std::isfinite(threshold)) return fail(ErrorCode::invalid_argument, "the threshold of similarity must be a number");
  CONTINUO_TRY(const std::vector<float> query, state_->space.project(fingerprint));
  std::vector<SimilarPrompt> found;
  try {
    const SingleThread single;
    const std::shared_lock lock(state_->mutex);
    const std::size_t count = std::min(limit, state_->prompts.size());
    if (count == 0) return found;
    std::vector<float> cosines(count);
    std::vector<Position> positions(count);
    state_->flat.search(1, query.data(), static_cast<Position>(count), cosines.data(), positions.data());
    std::vector<std::pair<float, Position>> order;
    for (std::size_t i = 0; i < count; ++i) {
      if (positions[i] >= 0 && cosines[i] >= threshold) order.emplace_back(-cosines[i], positions[i]);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [negative, position] : order) {
      found.push_back({state_->prompts[static_cast<std::size_t>(position)], std::min(-negative, 1.0F)});
    }
  } catch (const std::exception& error) {
    return forward_error(faiss_error(error));
  }
  return found;
}

bool PromptIndex::remove(const std::string& prompt) {
  const SingleThread single;
  const std::unique_lock lock(state_->mutex);
  return state_->erase(prompt);
}

std::size_t PromptIndex::size() const {
  const std::shared_lock lock(state_->mutex);
  return state_->prompts.size();
}

std::vector<std::string> PromptIndex::prompts() const {
  const std::shared_lock lock(state_->mutex);
  return state_->prompts;
}

const FingerprintSpace& PromptIndex::space() const { return state_->space; }

Status PromptIndex::save(const std::string& folder) const {
  IndexFile file{state_->options.encoder, state_->space, {}, {}};
  {
    const std::shared_lock lock(state_->mutex);
    file.prompts = state_->prompts;
    const float* const vectors = state_->flat.get_xb();
    file.vectors.assign(vectors, vectors + file.prompts.size() * static_cast<std::size_t>(state_->space.dimensions()));
  }
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) return fail(ErrorCode::io, "cannot make the folder {}: {}", folder, problem.message());
  CONTINUO_TRY(const std::vector<std::byte> bytes, encode_index(file));
  CONTINUO_TRY(AtomicFile out, AtomicFile::open(path_in(folder)));
  CONTINUO_CHECK(out.write(bytes));
  return out.commit();
}

PromptIndex::Loaded PromptIndex::load(const std::string& folder, const Options& options) {
  const std::string path = path_in(folder);
  std::error_code problem;
  if (!fs::exists(path, problem) && !problem) return {};
  const auto dropped = [](const std::string& why) { return Loaded{std::nullopt, why + "; the index of prompts starts anew"}; };
  const auto bytes = MappedFile::open(path);
  if (!bytes) return dropped(bytes.error().message);
  auto file = decode_index(bytes->bytes(), path);
  if (!file) return dropped(file.error().message);
  if (file->encoder != options.encoder) {
    return dropped(fmt::format("{}: its fingerprints are those of another text encoder", path));
  }
  Loaded loaded{PromptIndex(std::move(file->space), options), ""};
  State& state = *loaded.index->state_;
  const std::size_t dimensions = static_cast<std::size_t>(state.space.dimensions());
  const std::size_t skipped = file->prompts.size() - std::min(file->prompts.size(), state.options.capacity);
  try {
    state.flat.add(static_cast<Position>(file->prompts.size() - skipped), file->vectors.data() + skipped * dimensions);
    state.prompts.assign(std::make_move_iterator(file->prompts.begin() + static_cast<std::ptrdiff_t>(skipped)),
                         std::make_move_iterator(file->prompts.end()));
  } catch (const std::exception& error) {
    return dropped(faiss_error(error).message);
  }
  return loaded;
}

}  // namespace continuo::library
