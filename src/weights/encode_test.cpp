#include "weights/encode.h"

#include <ggml.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "weights/tensor_sink.h"

namespace continuo::weights {
namespace {

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  for (std::size_t i = 0; i < 256; ++i) values[i] = 0.0F;  // a block without a scale
  return values;
}

std::vector<std::byte> room_for(DType type, std::size_t count) {
  return std::vector<std::byte>(static_cast<std::size_t>(*tensor_bytes(type, Shape{static_cast<std::int64_t>(count)})));
}

constexpr std::size_t count = 3 * (std::size_t{1} << 16) + 512;  // several tasks and a part of one

TEST(Encode, EqualsGgmlsReferenceWithAnyNumberOfThreads) {
  const std::vector<float> values = normal_values(count);
  for (const DType type : {DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}) {
    std::vector<std::byte> expected = room_for(type, count);
    ggml_get_type_traits(static_cast<ggml_type>(type))->from_float_ref(values.data(), expected.data(), count);
    for (const int n : {1, 3}) {
      ThreadPool threads(n);
      std::vector<std::byte> bytes = room_for(type, count);
      EXPECT_FALSE(encode(type, values, bytes, threads));
      EXPECT_TRUE(bytes == expected) << name_of(type) << ", " << n << " threads";
    }
  }
}

TEST(Encode, StaysWithinTheErrorOfItsType) {
  const std::vector<float> values = normal_values(count);
  ThreadPool threads(1);
  const struct {
    DType type;
    double error;  // rms over the values' rms; half of a step is spread evenly, so steps / sqrt(12)
  } bounds[] = {{DType::f16, 3e-4}, {DType::bf16, 2.5e-3}, {DType::q8_0, 8e-3}, {DType::q4_0, 0.12}, {DType::q4_k, 0.09}};
  for (const auto& bound : bounds) {
    std::vector<std::byte> bytes = room_for(bound.type, count);
    encode(bound.type, values, bytes, threads);
    std::vector<float> back(count);
    TensorView{bound.type, Shape{static_cast<std::int64_t>(count)}, bytes}.to_float(back);
    double errors = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      errors += std::pow(static_cast<double>(back[i]) - values[i], 2);
      squares += std::pow(static_cast<double>(values[i]), 2);
    }
    EXPECT_LT(std::sqrt(errors / squares), bound.error) << name_of(bound.type);
    EXPECT_GT(std::sqrt(errors / squares), bound.error / 3.0) << name_of(bound.type);
    for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(back[i], 0.0F);
  }
}

TEST(Encode, NamesTheFirstValueBeyondTheType) {
  std::vector<float> values = normal_values(count);
  values[count - 700] = -std::numeric_limits<float>::max();
  values[count - 600] = 3e38F;
  for (const DType type : {DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}) {
    ThreadPool threads(3);
    std::vector<std::byte> bytes = room_for(type, count);
    const auto beyond = encode(type, values, bytes, threads);
    ASSERT_TRUE(beyond) << name_of(type);
    EXPECT_EQ(*beyond, values[count - 700]) << name_of(type);
  }
}

TEST(TensorSink, TakesPiecesOfAnyLength) {
  const std::vector<float> values = normal_values(2048);
  const std::string path = ::testing::TempDir() + "continuo-sink-" + std::to_string(::getpid());
  for (const DType type : {DType::f32, DType::f16, DType::q8_0, DType::q4_k}) {
    std::vector<std::byte> expected = room_for(type, values.size());
    ThreadPool threads(2);
    encode(type, values, expected, threads);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{31}, std::size_t{300}, values.size()}) {
      AtomicFile file = *AtomicFile::open(path);
      GgufWriter writer;
      ASSERT_TRUE(writer.add_tensor("t", type, Shape{8, 256}));
      ASSERT_TRUE(writer.begin(file));
      TensorSink sink(writer, file, threads);
      sink.start("t", type);
      for (std::size_t i = 0; i < values.size(); i += piece) {
        ASSERT_TRUE(sink.write(std::span(values).subspan(i, std::min(piece, values.size() - i))));
      }
      ASSERT_TRUE(writer.finish()) << "pieces of " << piece;
      ASSERT_TRUE(file.commit());
      const MappedFile written = *MappedFile::open(path);
      const auto tail = written.bytes().last(expected.size());  // whole numbers of 32 bytes: no padding behind
      EXPECT_TRUE(std::equal(tail.begin(), tail.end(), expected.begin())) << name_of(type) << " in pieces of " << piece;
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace continuo::weights
