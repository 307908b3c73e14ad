// What `generate` does with a finished clip: the options of the finishing chain (audio/finish.h) and the file's format, by its
// ending.
//
// Without such an option a lossless file gets the model's samples as they are. With one, and in lossy formats, the limiter keeps
// the sound below full scale: by 1 dB where a loudness is asked for or the format is lossy.
#pragma once

#include <string>
#include <vector>

#include "audio/encoder.h"
#include "audio/finish.h"
#include "cli/command.h"
#include "engine/engine.h"

namespace continuo::cli {

struct FinishPlan {
  audio::FileFormat format = audio::FileFormat::wav;
  audio::SampleFormat samples = audio::SampleFormat::pcm16;
  audio::FinishOptions options;
  bool as_it_is = true;  // the samples are the model's own
};

/// Their rows in the table of a command.
std::vector<Option> finish_options();

/// output: the name of one of the files. samples: what --bits says. What depends on the model comes later.
Result<FinishPlan> finish_plan(const Arguments& arguments, const std::string& output, audio::SampleFormat samples);

/// Finds out before the work whether clips with this rate and these channels can be written so; a lossy format that lacks the
/// rate gets 48 kHz, unless another was asked for.
Status settle(FinishPlan& plan, int sample_rate, int channels);

/// The clip becomes what is written. Notes on standard error: a loudness that was missed, bad samples.
Status finish_and_write(const FinishPlan& plan, const std::string& path, engine::Clip& clip);

}  // namespace continuo::cli
