// From a prompt to what the decoder hears, remembered: keys and values of the cross-attention by (model, prompt), in memory up to
// a number of bytes (the least recently used goes first), and on disk where a folder is given (conditioning_store.h).
//
// The fingerprint of a prompt (for finding similar ones, library/) is the mean of T5's states over its tokens.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compute/executor.h"
#include "engine/conditioning_store.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"

namespace continuo::engine {

class Conditioner {
 public:
  struct Options {
    compute::KvType kv = compute::KvType::int8;
    std::int64_t memory_bytes = 0;
    std::unique_ptr<ConditioningStore> store;  // none: nothing survives
  };
  Conditioner(text::T5Encoder& text, music::MusicDecoder& decoder, compute::Executor& executor, Options options);

  /// ids: the prompt's tokens. On the executor's thread; ends the life of tensors when it has to compute.
  HeardText hear(const std::string& prompt, std::span<const int> ids);

  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  /// Of the misses, those that were found on disk.
  std::int64_t restored() const { return restored_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  HeardText compute(std::span<const int> ids);
  std::optional<HeardText> restore(const std::string& prompt, int tokens);
  void remember(const std::string& prompt, HeardText heard);

  text::T5Encoder& text_;
  music::MusicDecoder& decoder_;
  compute::Executor& executor_;
  Options options_;
  struct Kept {
    std::string prompt;
    HeardText heard;
  };
  std::list<Kept> kept_;  // the most recently used first
  std::map<std::string, std::list<Kept>::iterator, std::less<>> by_prompt_;
  std::int64_t bytes_ = 0, hits_ = 0, misses_ = 0, restored_ = 0;
};

}  // namespace continuo::engine
