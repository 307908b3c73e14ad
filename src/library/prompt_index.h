// Earlier prompts that mean nearly the same as a new one.
//
// The index only offers: whoever asks decides, and a request is never replaced by an earlier one. It knows a prompt's text and
// its projected fingerprint, nothing of the audio. Fingerprints of different encoders have nothing in common, so an index belongs
// to one
// (`encoder`, any text that changes with it). It is bounded: beyond `capacity`, the prompt that was added longest ago goes.
// All functions may be called from any thread; a search runs beside others.
//
// save() replaces the file whole or not at all. The file carries the space, so that a start needs no reference prompts. load()
// believes a file only if its version, encoder, reference prompts, sizes and checksum are right; any other is dropped with a
// warning in words. Nothing is lost with it: the space can be fitted and the prompts added again from where they are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "library/fingerprint_space.h"
#include "library/prompt_index_file.h"

namespace continuo::library {

/// From the measurement in docs/quality.md: of what is offered, about six in seven mean the same; about two thirds of what means
/// the same is offered.
inline constexpr SpaceKind default_space = SpaceKind::whitened;
inline constexpr int default_dimensions = 32;
inline constexpr float default_threshold = 0.6F;

/// Of an index, in its folder.
inline constexpr const char* prompt_index_file = "prompts.index";

struct SimilarPrompt {
  std::string prompt;
  float cosine = 0.0F;
};

class PromptIndex {
 public:
  struct Options {
    std::string encoder;  // at most max_encoder_bytes
    std::size_t capacity = 10'000;
  };

  PromptIndex(FingerprintSpace space, Options options);
  PromptIndex(PromptIndex&&) noexcept;
  PromptIndex& operator=(PromptIndex&&) noexcept;
  ~PromptIndex();

  /// A prompt that is there already becomes the youngest and gets the new fingerprint. Errors: those of project(); a prompt that
  /// is empty or too long, or that has no fingerprint (all zero in the space).
  Status add(const std::string& prompt, std::span<const float> fingerprint);
  /// The most similar first, at most `limit`, none below `threshold`; equal ones in the order they were added. The prompt itself
  /// is among them if it was added.
  Result<std::vector<SimilarPrompt>> similar(std::span<const float> fingerprint, float threshold = default_threshold,
                                             std::size_t limit = 5) const;
  /// Whether it was there.
  bool remove(const std::string& prompt);
  std::size_t size() const;
  /// All of them, the one added longest ago first.
  std::vector<std::string> prompts() const;
  const FingerprintSpace& space() const;

  /// The file is FOLDER/prompts.index.
  Status save(const std::string& folder) const;

  struct Loaded;
  static Loaded load(const std::string& folder, const Options& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct PromptIndex::Loaded {
  std::optional<PromptIndex> index;  // nothing: start anew
  std::string warning;               // not empty: there was a file, and it was dropped for this reason
};

}  // namespace continuo::library
