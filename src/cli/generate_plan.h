// What `continuo generate` was asked for, checked as far as that goes without a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/wav.h"
#include "cli/command.h"
#include "cli/finish.h"
#include "cli/stream_output.h"
#include "engine/engine.h"

namespace continuo::cli {

/// Clips in one run; what memory allows is checked later and usually less.
inline constexpr int max_clips = 256;

struct GeneratePlan {
  std::vector<std::string> prompts;
  int takes = 1;
  bool batch = false;  // outputs are numbered, codes have a leading dimension
  double seconds = 10.0;
  std::uint64_t seed = 0;
  std::optional<engine::Strategy> strategy;
  std::optional<float> temperature;
  std::optional<int> top_k;
  std::optional<float> top_p;
  std::optional<float> guidance;
  std::optional<bool> steady;        // --level; absent: by the length
  FinishPlan finish;                 // what happens to the clips, and their format
  std::vector<std::string> outputs;  // one for each clip, prompt by prompt, take by take within a prompt; none for a mere stream
  std::string codes_output;          // empty: not wanted
  std::string continued;             // a recording that every clip continues; empty: none
  std::optional<double> last;        // only so many seconds of it
  bool codec_prompt = false;         // write it as the codec reconstructs it
  std::string melody;                // a recording whose melody every clip follows; empty: none
  std::vector<engine::Segment> relay;  // prompts in a row, in place of the one in `prompts`, which is then the first of them
  std::optional<double> crossfade;
  std::optional<StreamFormat> stream;  // the clip goes to standard output while it is made

  /// What a recording to continue must be shorter than: the piece, or the first prompt's part of it.
  double first_seconds() const { return relay.empty() ? seconds : relay.front().seconds; }
};

/// Draws a seed when none is given. Reads the files of --prompts and --relay.
Result<GeneratePlan> plan_from(const Arguments& arguments);

/// One request for each output, in their order, with the model's defaults for all that the plan leaves open.
std::vector<engine::Request> requests_of(const GeneratePlan& plan, const weights::ModelConfig& config);

}  // namespace continuo::cli
