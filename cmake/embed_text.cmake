# cmake -DINPUT=FILE -DOUTPUT=FILE.cpp -DNAME=NAME -P embed_text.cmake: a text file as `continuo::server::NAME()`, so that the program
# needs no file beside it.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REPEAT "0x..," 24 line)
string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include <string_view>

namespace continuo::server {

namespace {

constexpr unsigned char bytes[] = {
    ${bytes}};

}  // namespace

std::string_view ${NAME}() { return {reinterpret_cast<const char*>(bytes), sizeof bytes}; }

}  // namespace continuo::server
")
