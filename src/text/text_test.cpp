#include <gtest/gtest.h>

#include "text/t5_encoder.h"
#include "text/tokenizer.h"

namespace continuo::text {
namespace {

TEST(RelativeBucket, FollowsT5) {
  // First distances of the buckets of T5-base (32 buckets, 128 at most): 0 to 7, then 8, 12, 16, 23, 32, 46, 64, 91.
  const int first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  for (int distance = 0; distance < 3000; ++distance) {
    int bucket = 0;
    for (int i = 0; i < 16; ++i) {
      if (distance >= first[i]) bucket = i;
    }
    EXPECT_EQ(bucket, relative_bucket(-distance, 32, 128)) << distance;
    EXPECT_EQ(distance == 0 ? 0 : bucket + 16, relative_bucket(distance, 32, 128)) << distance;
  }
}

TEST(Tokenizer, RefusesWhatIsNotAModel) {
  weights::TokenizerConfig config;
  config.model_proto = "this is no SentencePiece model";
  const auto tokenizer = Tokenizer::create(config, 100);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(ErrorCode::corrupt_file, tokenizer.error().code);
}

}  // namespace
}  // namespace continuo::text
