// A SentencePiece ModelProto, written field by field: no .proto is shipped with the library, and libprotobuf may not be in the
// same process as SentencePiece's own copy. Field numbers are those of sentencepiece_model.proto.
#pragma once

#include <string>
#include <vector>

namespace continuo::weights {

/// SentencePiece.Type
enum class PieceType { normal = 1, unknown = 2, control = 3 };

struct Piece {
  std::string text;
  float score = 0.0F;
  PieceType type = PieceType::normal;
};

/// A unigram model that joins runs of spaces, puts one in front, and writes them as U+2581: what T5 has.
struct UnigramModel {
  std::vector<Piece> pieces;  // one of them unknown
  std::string charsmap;       // the normaliser's precompiled table; empty: text stays as it is
};

std::string serialize(const UnigramModel& model);

}  // namespace continuo::weights
