// What a model folder says about itself for people: the licence of the weights, and the name they were published under.
#pragma once

#include <string>
#include <string_view>

namespace continuo::weights {

/// The licence as an SPDX name where we know it: from the `license:` line in the front matter of README.md, else
/// recognised from the text of a LICENSE file, else "unknown".
std::string read_license(const std::string& folder);

/// The licence in a model card's front matter ("---", lines, "---"), empty if there is none. `license: other` gives way to
/// `license_name:`.
std::string license_in_card(std::string_view card);

/// The hub's lower-case identifiers as SPDX writes them: cc-by-nc-4.0 becomes CC-BY-NC-4.0.
std::string spdx_name(std::string_view license);

}  // namespace continuo::weights
