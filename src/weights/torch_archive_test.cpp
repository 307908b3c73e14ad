#include "weights/torch_archive.h"

#include <gtest/gtest.h>

#include "weights/torch_checkpoint.h"
#include "weights/torch_fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;
using pickled::program;
using pickled::storage;
using pickled::tensor;

std::string floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += raw(value);
  return bytes;
}

/// A file with one tensor 't' in a storage of six numbers, 0 to 5.
std::string six(const std::string& described) {
  return zip_of(torch_members(program(pickled::dict({{"t", described}})), {{"0", floats({0, 1, 2, 3, 4, 5})}}));
}

Result<std::vector<float>> read(const std::string& path, std::string_view name, std::uint64_t first, std::uint64_t count) {
  CONTINUO_TRY(TorchArchive archive, TorchArchive::open(path));
  const PickleId root = archive.pickle().root();
  CONTINUO_TRY(const TorchCheckpoint checkpoint, TorchCheckpoint::open(std::move(archive), root));
  std::vector<float> values;
  CONTINUO_CHECK(checkpoint.stream(name, first, count, [&](std::span<const float> part) -> Status {
    values.insert(values.end(), part.begin(), part.end());
    return {};
  }));
  return values;
}

TEST(TorchArchive, ReadsViewsOfAStorage) {
  const TemporaryFolder folder;
  const std::string numbers = storage("FloatStorage", "0", 6);
  const struct {
    std::string described;
    std::uint64_t first, count;
    std::vector<float> expected;
  } views[] = {
      {tensor(numbers, 0, {2, 3}, {3, 1}), 0, 6, {0, 1, 2, 3, 4, 5}},
      {tensor(numbers, 0, {2, 3}, {3, 1}), 2, 3, {2, 3, 4}},
      {tensor(numbers, 2, {3}, {1}), 0, 3, {2, 3, 4}},
      {tensor(numbers, 2, {3}, {1}), 1, 2, {3, 4}},
      {tensor(numbers, 5, {}, {}), 0, 1, {5}},
      {tensor(numbers, 6, {0, 2}, {2, 1}), 0, 0, {}},
      {tensor(numbers, 0, {3, 2}, {1, 3}), 0, 6, {0, 3, 1, 4, 2, 5}},  // transposed
      {tensor(numbers, 0, {3, 2}, {1, 3}), 1, 3, {3, 1, 4}},
      {tensor(numbers, 1, {2, 2}, {3, 1}), 0, 4, {1, 2, 4, 5}},  // a column cut off
      {tensor(numbers, 0, {3}, {2}), 0, 3, {0, 2, 4}},
      {tensor(numbers, 4, {2, 2}, {0, 1}), 0, 4, {4, 5, 4, 5}},  // expanded
  };
  for (const auto& view : views) {
    const auto values = read(folder.write("t.bin", six(view.described)), "t", view.first, view.count);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, view.expected);
  }
}

TEST(TorchArchive, ReadsFloatsOfThreeTypes) {
  const TemporaryFolder folder;
  Tensors tensors;
  tensors["full"] = {{2, 2}, {1.0F, -2.5F, 0.1F, 3e30F}};
  tensors["half"] = {{3}, {1.0F, -0.5F, 65504.0F}, "F16"};
  tensors["brain"] = {{1, 2}, {1.5F, -256.0F}, "BF16"};
  tensors["count"] = {{}, {7.0F}, "I64"};
  const std::string path = folder.write("a.bin", torch_of(tensors));
  for (const char* name : {"full", "half", "brain"}) {
    const auto values = read(path, name, 0, tensors[name].values.size());
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, tensors[name].values) << name;
  }
  const auto count = read(path, "count", 0, 1);  // may stand in the file, but is no float
  ASSERT_FALSE(count);
  EXPECT_NE(count.error().message.find("I64"), std::string::npos);
}

TEST(TorchArchive, StreamsALongTensorInPieces) {
  const TemporaryFolder folder;
  Tensors tensors;
  tensors["long"].shape = {3, 1'000'000};
  for (int i = 0; i < 3'000'000; ++i) tensors["long"].values.push_back(static_cast<float>(i));
  auto archive = TorchArchive::open(folder.write("a.bin", torch_of(tensors)));
  ASSERT_TRUE(archive) << archive.error().message;
  std::size_t seen = 0;
  int pieces = 0;
  const auto status =
      archive->stream(archive->pickle().tensors()[0], "long", 0, 3'000'000, [&](std::span<const float> part) -> Status {
        EXPECT_EQ(part.front(), static_cast<float>(seen));
        seen += part.size();
        ++pieces;
        return {};
      });
  EXPECT_TRUE(status);
  EXPECT_EQ(seen, 3'000'000U);
  EXPECT_GT(pieces, 1);
}

struct Malformed {
  const char* kind;
  std::string bytes;
  const char* reason;
};

TEST(TorchArchive, RefusesMalformedFilesByKind) {
  const std::string numbers = storage("FloatStorage", "0", 6);
  const std::string pickle = program(pickled::dict({{"t", tensor(numbers, 0, {6}, {1})}}));
  const std::string data = floats({0, 1, 2, 3, 4, 5});
  const std::string good = zip_of(torch_members(pickle, {{"0", data}}));
  const auto members = [&] { return torch_members(pickle, {{"0", data}}); };
  const auto changed = [&](auto change) {
    auto all = members();
    change(all);
    return zip_of(all);
  };
  using Members = std::vector<ZipMember>;
  std::string wrong_signature = good;
  wrong_signature[wrong_signature.find("PK\1\2")] = 'Q';
  std::string far_directory = good;
  far_directory[good.size() - 4] = '\x7F';
  const Malformed malformed[] = {
      {"empty", "", "not a torch file"},
      {"a text", "hello, world", "not a torch file"},
      {"a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"},
      {"torch before 1.6", "\x80\x02\x8A\x0Al\xFC\x9C\x46\xF9 j\xA8P\x19.", "torch before 1.6"},
      {"the first bytes alone", good.substr(0, 40), "truncated or damaged"},
      {"half", good.substr(0, good.size() / 2), "truncated or damaged"},
      {"the last byte missing", good.substr(0, good.size() - 1), "truncated or damaged"},
      {"no directory", wrong_signature, "truncated or damaged"},
      {"a directory beyond the end", far_directory, "truncated or damaged"},
      {"too many entries", zip_of(members(), 0xFFFF), "truncated or damaged"},
      {"too few entries", zip_of(members(), 1), "truncated or damaged"},
      {"no entries", zip_of({}), "not a torch file"},
      {"no data.pkl", changed([](Members& all) { all.erase(all.begin()); }), "no data.pkl"},
      {"data.pkl without a root", changed([](Members& all) { all[0].name = "data.pkl"; }), "no data.pkl"},
      {"two structures", changed([](Members& all) {
         all.push_back({"u/data.pkl", all[0].data});
       }),
       "two entries data.pkl"},
      {"a name twice", changed([](Members& all) { all.push_back(all[2]); }), "occurs twice"},
      {"a name that leads up", changed([](Members& all) {
         all.push_back({"t/../../etc/passwd", "x"});
       }),
       "impossible name"},
      {"a name from the root", changed([](Members& all) {
         all.push_back({"/etc/passwd", "x"});
       }),
       "impossible name"},
      {"a name with a backslash", changed([](Members& all) {
         all.push_back({"t\\..\\x", "x"});
       }),
       "impossible name"},
      {"a name with a line feed", changed([](Members& all) {
         all.push_back({"t/a\nb", "x"});
       }),
       "impossible name"},
      {"a name that is not UTF-8", changed([](Members& all) {
         all.push_back({"t/\xFF", "x"});
       }),
       "impossible name"},
      {"no name", changed([](Members& all) {
         all.push_back({"", "x"});
       }),
       "impossible name"},
      {"another name before the data", changed([](Members& all) { all[2].local_name = "t/data/1"; }), "truncated or damaged"},
      {"a compressed structure", changed([](Members& all) { all[0].method = 8; }), "compressed or encrypted"},
      {"a compressed storage of 4 GiB", changed([](Members& all) { all[2].method = 8, all[2].size = 0xFFFFFFF0U; }),
       "compressed or encrypted"},
      {"a stored entry of two sizes", changed([](Members& all) { all[2].size = 0x7FFFFFFFU; }), "claims 2147483647 bytes"},
      {"an encrypted entry", changed([](Members& all) { all[2].flags = 1; }), "encrypted"},
      {"a header beyond the end", changed([](Members& all) { all[2].header_place = 0x7FFFFFFFU; }), "truncated or damaged"},
      {"a header elsewhere", changed([](Members& all) { all[2].header_place = 3; }), "truncated or damaged"},
      {"two entries in one place", changed([](Members& all) {
         all.push_back({"t/data/9", all[2].data, 0, 0, {}, {}, 0U});
       }),
       "truncated or damaged"},
      {"big-endian", changed([](Members& all) { all[1].data = "big"; }), "byte order 'big'"},
      {"a byte order without end", changed([](Members& all) { all[1].data = std::string(1000, 'l'); }),
       "at most 64 are accepted"},
      {"a structure of 9 MB", changed([](Members& all) { all[0].data = std::string(9'000'000, 'N'); }), "at most 8388608 are"},
      {"an evil structure", changed([](Members& all) { all[0].data = program(pickled::global("os", "system")); }), "'os.system'"},
      {"a storage that is missing", changed([](Members& all) { all.erase(all.begin() + 2); }), "lacks the numbers data/0"},
      {"a storage that is short", changed([](Members& all) { all[2].data.pop_back(); }), "data/0 has 23 bytes, but 6 numbers"},
      {"a storage that is long", changed([](Members& all) { all[2].data += "x"; }), "data/0 has 25 bytes, but 6 numbers"},
      {"a storage of another type",
       changed([](Members& all) { all[0].data = program(tensor(storage("DoubleStorage", "0", 6), 0, {6}, {1})); }),
       "type F64 take 48"},
  };
  const TemporaryFolder folder;
  for (const Malformed& example : malformed) {
    SCOPED_TRACE(example.kind);
    const std::string path = folder.write("bad.bin", example.bytes);
    const auto opened = TorchArchive::open(path);
    if (opened) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    const std::string& message = opened.error().message;
    EXPECT_NE(message.find(example.reason), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(path)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_TRUE(TorchArchive::open(folder.write("good.bin", good)));
  EXPECT_FALSE(TorchArchive::open(folder.path()));
  EXPECT_FALSE(TorchArchive::open(folder.path("absent.bin")));
}

TEST(TorchArchive, NoticesDamagedNumbers) {
  const TemporaryFolder folder;
  std::string bytes = six(tensor(storage("FloatStorage", "0", 6), 0, {6}, {1}));
  bytes[bytes.find(floats({3}))] ^= 1;
  const auto values = read(folder.write("t.bin", bytes), "t", 0, 6);
  ASSERT_FALSE(values);
  EXPECT_NE(values.error().message.find("data/0' does not fit its checksum"), std::string::npos) << values.error().message;
}

TEST(TorchArchive, SaysWhatIsNoDictionaryOfTensors) {
  const TemporaryFolder folder;
  const auto reason = [&](const std::string& body) {
    const auto values = read(folder.write("t.bin", zip_of(torch_members(program(body), {}))), "t", 0, 0);
    return values ? std::string("accepted") : values.error().message;
  };
  EXPECT_NE(reason("]").find("does not hold a dictionary"), std::string::npos);
  EXPECT_NE(reason(pickled::dict({{"epoch", "N"}})).find("'epoch' is not a tensor"), std::string::npos);
  EXPECT_NE(reason("}NNs").find("name is not a text"), std::string::npos);
}

TEST(TorchArchive, SurvivesChangedBytes) {
  const std::string good = six(tensor(storage("FloatStorage", "0", 6), 0, {2, 3}, {3, 1}));
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (i % 3 == 0 ? 0xFF : i % 3 == 1 ? 0x80 : 0x01));
    const auto opened = TorchArchive::open(folder.write("t.bin", bad));
    if (!opened) continue;
    for (const TorchTensor& view : opened->pickle().tensors()) {
      (void)opened->stream(view, "t", 0, static_cast<std::uint64_t>(view.elements()), [](auto) { return Status(); });
    }
  }
}

}  // namespace
}  // namespace continuo::weights
