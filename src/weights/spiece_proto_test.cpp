#include "weights/spiece_proto.h"

#include <gtest/gtest.h>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

TEST(SpieceProto, CountsPieces) {
  const auto summary = inspect_spiece(spiece_of(10));
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->count, 10);
  EXPECT_EQ(summary->unknown_id, 2);
}

TEST(SpieceProto, ReadsAGenuineModel) {
  const std::string path = source_path("tests/goldens/tiny-a/model/spiece.model");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no goldens";
  const auto summary = inspect_spiece(read_file(path));
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->count, 420);
  EXPECT_EQ(summary->unknown_id, 2);
}

TEST(SpieceProto, RefusesWhatIsNone) {
  EXPECT_FALSE(inspect_spiece(""));
  EXPECT_FALSE(inspect_spiece("this is text"));
  EXPECT_FALSE(inspect_spiece(std::string(20, '\xFF')));  // a number without end
  EXPECT_FALSE(
      inspect_spiece("\x0A\x7F"
                     "short"));                               // a piece longer than the file
  EXPECT_FALSE(inspect_spiece(spiece_of(2)));                 // none for the unknown
  EXPECT_FALSE(inspect_spiece(spiece_of(3) + spiece_of(3)));  // two
  const std::string whole = spiece_of(10);
  EXPECT_FALSE(inspect_spiece(std::string_view(whole).substr(0, whole.size() - 1)));
}

}  // namespace
}  // namespace continuo::weights
