#include "weights/pickle.h"

#include <gtest/gtest.h>

#include "weights/torch_fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;
using pickled::global;
using pickled::number;
using pickled::numbers;
using pickled::program;
using pickled::storage;
using pickled::tensor;
using pickled::text;
using pickled::tuple;

Result<Pickle> parse(const std::string& bytes) { return Pickle::parse({bytes.begin(), bytes.end()}); }

std::string bytes_of(std::initializer_list<int> codes) {
  std::string bytes;
  for (const int code : codes) bytes += static_cast<char>(code);
  return bytes;
}

TEST(Pickle, ReadsPlainValues) {
  const std::string body = pickled::dict({{"none", "N"},
                                          {"yes", "\x88"},
                                          {"byte", bytes_of({'K', 200})},
                                          {"short", bytes_of({'M', 0x34, 0x12})},
                                          {"negative", bytes_of({'J', 0xFB, 0xFF, 0xFF, 0xFF})},
                                          {"long", bytes_of({0x8A, 2, 0x00, 0x80})},
                                          {"zero", bytes_of({0x8A, 0})},
                                          {"real", bytes_of({'G', 0x40, 0x04, 0, 0, 0, 0, 0, 0})},
                                          {"list", bytes_of({']', '(', 'K', 1, 'K', 2, 'e', 'K', 3, 'a'})},
                                          {"pair", bytes_of({'K', 1, 'K', 2, 0x86})},
                                          {"again", text("kept") + bytes_of({'q', 9}) + bytes_of({'h', 9, 0x86})},
                                          {"twice", number(1)},
                                          {"twice", number(2)}});
  const auto pickle = parse(program(body));
  ASSERT_TRUE(pickle) << pickle.error().message;
  const auto at = [&](const char* key) { return *pickle->find(pickle->root(), key); };
  EXPECT_NE(pickle->get<PickleNone>(at("none")), nullptr);
  EXPECT_TRUE(*pickle->get<bool>(at("yes")));
  EXPECT_EQ(*pickle->get<std::int64_t>(at("byte")), 200);
  EXPECT_EQ(*pickle->get<std::int64_t>(at("short")), 0x1234);
  EXPECT_EQ(*pickle->get<std::int64_t>(at("negative")), -5);
  EXPECT_EQ(*pickle->get<std::int64_t>(at("long")), -32768);
  EXPECT_EQ(*pickle->get<std::int64_t>(at("zero")), 0);
  EXPECT_EQ(*pickle->get<double>(at("real")), 2.5);
  EXPECT_EQ(pickle->get<PickleList>(at("list"))->items.size(), 3U);
  EXPECT_EQ(pickle->get<PickleTuple>(at("pair"))->items.size(), 2U);
  const auto& again = pickle->get<PickleTuple>(at("again"))->items;
  EXPECT_EQ(again[0], again[1]);  // one value, referred to twice
  EXPECT_EQ(*pickle->get<std::int64_t>(at("twice")), 2);
  EXPECT_FALSE(pickle->find(pickle->root(), "absent"));
  EXPECT_FALSE(pickle->find(at("list"), "none"));
  EXPECT_FALSE(pickle->named_tensors(pickle->root()));
}

TEST(Pickle, ReadsTheFormOfLaterProtocols) {
  const std::string body = bytes_of({0x80, 4, 0x95, 60, 0, 0, 0, 0, 0, 0, 0}) + bytes_of({0x8C, 11}) + "collections" +
                           bytes_of({0x94, 0x8C, 11}) + "OrderedDict" + bytes_of({0x94, 0x93, 0x94, ')', 'R', 0x94, 'h', 0}) +
                           bytes_of({'h', 1, 's', '.'});
  const auto pickle = parse(body);
  ASSERT_TRUE(pickle) << pickle.error().message;
  EXPECT_TRUE(pickle->find(pickle->root(), "collections"));
}

TEST(Pickle, ReadsTensorsAndPassesOverTheirAttributes) {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") +
                                tuple({tensor(storage("HalfStorage", "7", 6), 1, {2, 2}, {2, 1}), "\x88", "}"}) + "R";
  const std::string state = global("collections", "OrderedDict") + ")R(" + text("weight") + parameter + "u}" + text("_metadata") +
                            "}sb";  // as state_dict() of a module is pickled
  const auto pickle = parse(program(state));
  ASSERT_TRUE(pickle) << pickle.error().message;
  const auto named = pickle->named_tensors(pickle->root());
  ASSERT_TRUE(named) << named.error().message;
  ASSERT_EQ(named->size(), 1U);
  const TorchTensor& found = pickle->tensors()[named->at("weight")];
  EXPECT_EQ(found.offset, 1);
  EXPECT_EQ(found.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(pickle->storages()[found.storage].dtype, "F16");
  EXPECT_EQ(pickle->storages()[found.storage].key, "7");
}

TEST(Pickle, KnowsWhatIsContiguous) {
  const auto contiguous = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> stride) {
    return TorchTensor{0, 0, std::move(shape), std::move(stride)}.contiguous();
  };
  EXPECT_TRUE(contiguous({}, {}));
  EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
  EXPECT_TRUE(contiguous({2, 1, 3}, {3, 99, 1}));  // the stride of a single step means nothing
  EXPECT_TRUE(contiguous({0, 3}, {7, 7}));
  EXPECT_TRUE(contiguous({std::int64_t{1} << 62, 4, 0}, {7, 7, 7}));  // whose product must not be taken in this order
  EXPECT_FALSE(contiguous({3, 2}, {1, 3}));
  EXPECT_FALSE(contiguous({2, 3}, {4, 1}));
}

struct Malformed {
  const char* kind;
  std::string bytes;
  const char* reason;
};

const std::string four = storage("FloatStorage", "0", 4);
const std::int64_t huge = std::int64_t{1} << 62;

std::string called(const std::string& function, const std::vector<std::string>& arguments) {
  return program(function + tuple(arguments) + "R");
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += part;
  return all;
}

TEST(Pickle, RefusesMalformedOnesByKind) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const Malformed malformed[] = {
      {"empty", "", "truncated"},
      {"no end", "\x80\x02N", "truncated"},
      {"an old version", "\x80\x01N.", "version 1"},
      {"a future version", "\x80\x06N.", "version 6"},
      {"a number cut off", "\x80\x02J\x01", "truncated"},
      {"a text cut off", "\x80\x02X\x09", "truncated"},
      {"a text of 4 GiB", "\x80\x02X\xFF\xFF\xFF\xFF hello.", "truncated"},
      {"a name without end",
       "\x80\x02"
       "cos",
       "truncated"},
      {"a name too long", program("c" + std::string(5000, 'x') + "\n"), "a name of more than 256 bytes"},
      {"a call of os.system", called(global("os", "system"), {text("true")}), "refers to 'os.system'"},
      {"a call of builtins.eval", called(global("builtins", "eval"), {text("1")}), "refers to 'builtins.eval'"},
      {"the same by the stack", program(text("builtins") + text("exec") + "\x93"), "refers to 'builtins.exec'"},
      {"the same from Python 2", called(global("__builtin__", "eval"), {text("1")}), "refers to '__builtin__.eval'"},
      {"a name with a line feed in it", program(text("os\nx") + text("system") + "\x93"), "refers to 'os?x.system'"},
      {"a class of somebody's", program(global("my.module", "Model")), "refers to 'my.module.Model'"},
      {"torch.load itself", program(global("torch", "load")), "refers to 'torch.load'"},
      {"INST", program("(ios\nsystem\n"), "opcode 0x69"},
      {"OBJ", program("(" + global("collections", "OrderedDict") + "o"), "opcode 0x6F"},
      {"NEWOBJ", program(global("collections", "OrderedDict") + ")\x81"), "opcode 0x81"},
      {"EXT1", program("\x82\x01"), "opcode 0x82"},
      {"a persistent id as a line", program("P0\n"), "opcode 0x50"},
      {"a tuple of nothing", program("\x86"), "empty stack"},
      {"a tuple that reaches below a mark", program("NN(\x86"), "empty stack"},
      {"an item for nothing", program("NNs"), "empty stack"},
      {"a mark that was not set", program("Nt"), "did not open"},
      {"a mark that stays", program("(N"), "ends with 1 values"},
      {"two results", program("NN"), "ends with 2 values"},
      {"no result", program(""), "ends with 0 values"},
      {"a value that was not kept", program("h\x05"), "recalls the value 5"},
      {"keeping nothing", program("q\x05"), "empty stack"},
      {"marks nested deeply", program(std::string(100000, '(')), "nested more than 64 deep"},
      {"tuples nested deeply", program("N" + std::string(100000, '\x85')), "nested more than 64 deep"},
      {"lists nested deeply", program(std::string(1000, ']') + std::string(999, 'a')), "nested more than 64 deep"},
      {"two million values", program(std::string(2'000'000, 'N')), "more than 1048576 values"},
      {"a million recalls", program("Nq\1" + repeated("h\1", 1'100'000)), "stacks more than"},
      {"a number of 9 bytes",
       program("\x8A\x09"
               "123456789"),
       "a number of 9 bytes"},
      {"a text that is not UTF-8", program(text("\xFF\xFE")), "not UTF-8"},
      {"an item into a list", program("]NNs"), "not a dictionary"},
      {"an item onto a dictionary", program("}Na"), "not a list"},
      {"a key without a value", program("}(Nu"), "a key without a value"},
      {"attributes of a tensor", program(tensor(four, 0, {4}, {1}) + "}b"), "attributes to something unexpected"},
      {"a call of a text", called(text("os.system"), {}), "not a function"},
      {"a call of a type", called(global("torch", "FloatStorage"), {}), "'torch.FloatStorage', which is a type"},
      {"a dictionary of arguments", called(global("collections", "OrderedDict"), {"]"}), "in an unusual way"},
      {"a parameter of nothing", called(global("torch._utils", "_rebuild_parameter"), {"N", "\x88", "}"}), "not a tensor"},
      {"a persistent id that is a text", program(text("storage") + "Q"), "not a tuple of five"},
      {"a persistent id of something else", program(tuple({text("module"), "N", "N", "N", "N"}) + "Q"), "not a storage"},
      {"a storage without a type", program(tuple({text("storage"), "N", text("0"), text("cpu"), number(1)}) + "Q"), "no type"},
      {"a storage outside", program(storage("FloatStorage", "../../etc/passwd", 4)), "not a short word"},
      {"a negative storage", program(storage("FloatStorage", "0", -1)), "impossible number of elements"},
      {"a storage whose bytes wrap", program(storage("FloatStorage", "0", huge)), "impossible number of elements"},
      {"a tensor of two arguments", called(rebuild, {four, number(0)}), "wrong number of arguments"},
      {"a tensor without a storage", called(rebuild, {"N", number(0), numbers({4}), numbers({1})}), "not a storage"},
      {"a negative offset", program(tensor(four, -1, {4}, {1})), "offset is not"},
      {"a negative size", program(tensor(four, 0, {-4}, {1})), "not two tuples"},
      {"a negative stride", program(tensor(four, 3, {4}, {-1})), "not two tuples"},
      {"more sizes than strides", program(tensor(four, 0, {2, 2}, {1})), "not two tuples"},
      {"nine dimensions", program(tensor(four, 0, std::vector<std::int64_t>(9, 1), std::vector<std::int64_t>(9, 1))),
       "not two tuples"},
      {"a shape larger than the storage", program(tensor(four, 0, {5}, {1})), "more elements than its storage"},
      {"a shape whose product wraps", program(tensor(four, 0, {huge, 4}, {1, 1})), "more elements than its storage"},
      {"one element a terabyte of times", program(tensor(four, 0, {huge}, {0})), "more elements than its storage"},
      {"an offset beyond the end", program(tensor(four, 4, {1}, {1})), "beyond the end"},
      {"a stride beyond the end", program(tensor(four, 0, {2, 2}, {3, 1})), "beyond the end"},
      {"a stride that wraps", program(tensor(four, 0, {3}, {huge})), "beyond the end"},
      {"an offset that wraps", program(tensor(four, std::numeric_limits<std::int64_t>::max(), {2}, {1})), "beyond the end"},
  };
  for (const Malformed& example : malformed) {
    SCOPED_TRACE(example.kind);
    const auto pickle = parse(example.bytes);
    if (pickle) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    EXPECT_NE(pickle.error().message.find(example.reason), std::string::npos) << pickle.error().message;
    EXPECT_EQ(pickle.error().message.find('\n'), std::string::npos) << pickle.error().message;
    EXPECT_LT(pickle.error().message.size(), 400U);
  }
}

TEST(Pickle, SurvivesEveryCutAndEveryChangedByte) {
  const std::string good = program(pickled::dict({{"a", tensor(four, 0, {2, 2}, {2, 1})}, {"b", "]"}, {"c", number(7)}}));
  ASSERT_TRUE(parse(good));
  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse(good.substr(0, length)));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      const auto pickle = parse(bad);
      if (pickle) (void)pickle->named_tensors(pickle->root());
    }
  }
}

TEST(Pickle, RefusesANameThatOccursTwice) {
  const std::string one = tensor(four, 0, {4}, {1});
  const auto pickle = parse(program(pickled::dict({{"a", one}, {"a", one}})));
  ASSERT_TRUE(pickle) << pickle.error().message;
  const auto named = pickle->named_tensors(pickle->root());
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().message.find("'a' occurs twice"), std::string::npos);
}

}  // namespace
}  // namespace continuo::weights
