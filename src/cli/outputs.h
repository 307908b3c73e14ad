// Names of output files, and the check that they can be written before any work is done.
//
// The check opens a temporary file in the right place and removes it again. It is not kept open while the model computes: then
// nothing can be left behind, however the process ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace continuo::cli {

/// "lofi-beat-with-piano": the prompt's first words as a file name, letters of every script kept, at most 48 bytes;
/// "music" when nothing is left.
std::string slug(std::string_view prompt);

/// "out/song.wav", 3 -> "out/song-3.wav"; a name without an ending gets the number at its end.
std::string numbered(const std::string& path, int number);

/// The path itself if nothing has that name, else with _2, _3 ... before its ending. For names that we chose: they never
/// replace anything.
std::string unused(const std::string& path);

/// Names for clips whose output was not named, in `folder` ("" or ending in a slash): one for each prompt, from its words and
/// the seed, numbered when batch.
std::vector<std::string> default_outputs(const std::string& folder, const std::vector<std::string>& prompts, std::uint64_t seed,
                                         bool batch);

/// Refuses an ending that promises another audio format than WAV.
Status check_is_wav_name(const std::string& path);

/// Finds out now whether that file could be written later.
Status check_writable(const std::string& path);

}  // namespace continuo::cli
