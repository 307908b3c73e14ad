// Some 250 short prompts that show what prompts for music have in common. A text encoder calls any two of them similar; the mean
// and the spread of their fingerprints say how much of that is not to be believed (fingerprint_space.h).
#pragma once

#include <string_view>
#include <vector>

namespace continuo::library {

std::vector<std::string_view> reference_prompts();

}  // namespace continuo::library
