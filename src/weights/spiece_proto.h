// A look into a serialised SentencePiece ModelProto without the SentencePiece library: only how many pieces there are and
// which one stands for the unknown. (sentencepiece_model.proto: ModelProto.pieces = 1; SentencePiece.type = 3, UNKNOWN = 2.)
#pragma once

#include <string_view>

#include "base/error.h"

namespace continuo::weights {

struct SpieceSummary {
  int count = 0;
  int unknown_id = 0;
};

/// Fails on anything that is not well-formed wire format with at least one piece and exactly one unknown piece.
/// The message says what is wrong and leaves naming the file to the caller.
Result<SpieceSummary> inspect_spiece(std::string_view proto);

}  // namespace continuo::weights
