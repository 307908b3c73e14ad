#include "weights/spiece_writer.h"

#include <cstdint>
#include <string_view>

namespace continuo::weights {

namespace {

class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void real(unsigned field, float value) {
    varint(field << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));  // little endian (byte_cursor.h)
  }
  void text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

std::string piece_message(const Piece& piece) {
  Message message;
  message.text(1, piece.text);
  message.real(2, piece.score);
  if (piece.type != PieceType::normal) message.number(3, static_cast<std::uint64_t>(piece.type));
  return message.take();
}

std::string trainer_spec(const UnigramModel& model) {
  Message message;
  message.number(3, 1);  // model_type UNIGRAM
  message.number(4, model.pieces.size());
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type != PieceType::unknown) continue;
    message.number(40, id);                   // unk_id
    message.text(45, model.pieces[id].text);  // unk_piece
  }
  return message.take();
}

std::string normalizer_spec(const UnigramModel& model) {
  Message message;
  message.text(2, model.charsmap);
  message.number(3, 1);  // add_dummy_prefix
  message.number(4, 1);  // remove_extra_whitespaces
  message.number(5, 1);  // escape_whitespaces
  return message.take();
}

}  // namespace

std::string serialize(const UnigramModel& model) {
  Message message;
  for (const Piece& piece : model.pieces) message.text(1, piece_message(piece));
  message.text(2, trainer_spec(model));
  message.text(3, normalizer_spec(model));
  return message.take();
}

}  // namespace continuo::weights
