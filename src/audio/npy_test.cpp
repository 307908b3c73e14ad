#include "audio/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "audio/bytes.h"

namespace continuo::audio {
namespace {

std::vector<std::byte> file_with(std::string header, std::size_t data_bytes, int version = 1) {
  std::vector<std::byte> bytes;
  append_text(bytes, "\x93NUMPY");
  append(bytes, static_cast<std::uint8_t>(version));
  append(bytes, std::uint8_t{0});
  if (version == 1) append(bytes, static_cast<std::uint16_t>(header.size()));
  if (version != 1) append(bytes, static_cast<std::uint32_t>(header.size()));
  append_text(bytes, header);
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

TEST(Npy, RoundTrip) {
  const std::vector<std::int64_t> shape{2, 3};
  const std::vector<std::int64_t> codes{0, -1, 2047, 5, 6, std::int64_t{1} << 40};
  const auto integers = decode_npy(encode_npy(shape, codes), "x");
  ASSERT_TRUE(integers.has_value()) << integers.error().message;
  EXPECT_TRUE(integers->is_integer());
  EXPECT_EQ(integers->shape, shape);
  EXPECT_EQ(std::get<0>(integers->values), codes);
  const std::vector<float> hidden{1.5F, -2.0F};
  const auto floats = decode_npy(encode_npy(std::vector<std::int64_t>{2}, hidden), "x");
  ASSERT_TRUE(floats.has_value()) << floats.error().message;
  EXPECT_EQ(std::get<1>(floats->values), hidden);
}

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const auto bytes = encode_npy(std::vector<std::int64_t>{4, 500}, std::vector<std::int64_t>(2000));
  EXPECT_EQ((bytes.size() - 16000) % 64, 0U);
  EXPECT_EQ(text_at(bytes, 10, 59), "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 500),");
  EXPECT_EQ(text_at(bytes, bytes.size() - 16001, 1), "\n");
  const auto flat = encode_npy(std::vector<std::int64_t>{2}, std::vector<float>(2));
  EXPECT_NE(text_at(flat, 10, flat.size() - 10).find("'shape': (2,), }"), std::string_view::npos);
  const auto single = encode_npy(std::vector<std::int64_t>{}, std::vector<float>(1));
  EXPECT_TRUE(decode_npy(single, "x").has_value());
}

TEST(Npy, ReadsWhatOthersWrite) {
  const auto accepted = [](const std::string& header, std::size_t data, int version = 1) {
    return decode_npy(file_with(header, data, version), "x").has_value();
  };
  EXPECT_TRUE(accepted("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 5), }    \n", 80));
  EXPECT_TRUE(accepted("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 5), }    \n", 80, 2));
  EXPECT_TRUE(accepted("{\"shape\":(4,5),\"descr\":\"<f4\",\"fortran_order\":False}", 80));
  EXPECT_TRUE(
      accepted("{'descr': '<f4', 'fortran_order': True, 'shape': (5,), }", 20));  // both orders are the same in one dimension
  EXPECT_TRUE(accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }", 0));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto refused = [](const std::string& header, std::size_t data, int version = 1) {
    return !decode_npy(file_with(header, data, version), "x").has_value();
  };
  EXPECT_TRUE(refused("{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }", 16));
  EXPECT_TRUE(refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2), }", 32));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 15));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 17));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (-2,), }", 16));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (1,1,1,1,2), }", 16));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)", 16));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, }", 8));
  EXPECT_TRUE(refused("{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (), }", 8));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (), 'more': 1}", 8));
  EXPECT_TRUE(refused("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2,), }", 16));
  EXPECT_TRUE(refused("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", 8, 3));
  EXPECT_TRUE(refused("", 0));
  EXPECT_TRUE(refused(std::string(70'000, ' '), 0, 2));
}

TEST(Npy, AStrangeTypeIsEscapedInTheMessage) {
  const auto array = decode_npy(file_with("{'descr': '\x1b[2J\x9A', 'fortran_order': False, 'shape': (2,), }", 16), "x");
  ASSERT_FALSE(array.has_value());
  const std::string& message = array.error().message;
  EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; })) << message;
}

TEST(Npy, RefusesEveryTruncation) {
  const auto bytes = encode_npy(std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>(4));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_npy(std::span(bytes).first(size), "x").has_value()) << size;
  }
}

TEST(Npy, AnyDamageIsAnErrorOrAnotherArray) {
  const auto good = encode_npy(std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>(4));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0x00, 0x20, 0x27, 0x28, 0x29, 0x39, 0x7D, 0x80, 0xFF}) {
      auto bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      const auto array = decode_npy(bytes, "x");
      if (array && array->is_integer()) {
        EXPECT_LE(std::get<0>(array->values).size(), good.size());
      }
    }
  }
}

TEST(Npy, FilesRoundTrip) {
  const std::string path = std::filesystem::temp_directory_path() / "continuo_npy_test.npy";
  ASSERT_TRUE(write_npy(path, std::vector<std::int64_t>{1, 2}, std::vector<std::int64_t>{7, 8}).has_value());
  EXPECT_EQ(std::get<0>(read_npy(path)->values), (std::vector<std::int64_t>{7, 8}));
  std::filesystem::remove(path);
  EXPECT_FALSE(read_npy(path).has_value());
}

}  // namespace
}  // namespace continuo::audio
