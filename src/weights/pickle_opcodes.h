// The opcodes of the pickle format that torch.save emits, in protocol 2 and the later ones (Python's pickletools).
#pragma once

#include <cstdint>

namespace continuo::weights {

enum Opcode : std::uint8_t {
  op_mark = '(',
  op_stop = '.',
  op_binfloat = 'G',
  op_binint = 'J',
  op_binint1 = 'K',
  op_binint2 = 'M',
  op_none = 'N',
  op_binpersid = 'Q',
  op_reduce = 'R',
  op_short_binstring = 'U',
  op_binunicode = 'X',
  op_empty_list = ']',
  op_append = 'a',
  op_build = 'b',
  op_global = 'c',
  op_appends = 'e',
  op_binget = 'h',
  op_long_binget = 'j',
  op_binput = 'q',
  op_long_binput = 'r',
  op_setitem = 's',
  op_tuple = 't',
  op_setitems = 'u',
  op_empty_dict = '}',
  op_empty_tuple = ')',
  op_proto = 0x80,
  op_tuple1 = 0x85,
  op_tuple2 = 0x86,
  op_tuple3 = 0x87,
  op_newtrue = 0x88,
  op_newfalse = 0x89,
  op_long1 = 0x8A,
  op_short_binunicode = 0x8C,
  op_stack_global = 0x93,
  op_memoize = 0x94,
  op_frame = 0x95,
};

}  // namespace continuo::weights
