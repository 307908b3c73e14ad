#include "library/fingerprint_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "library/reference_prompts.h"

namespace continuo::library {
namespace {

/// As text encoders' are: a large common part, one direction with most of the spread, and little else. [rows, 12]
std::vector<float> lopsided(std::size_t rows, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> all;
  for (std::size_t r = 0; r < rows; ++r) {
    const float common = 3.0F * normal(random);
    for (int i = 0; i < 12; ++i) all.push_back(5.0F + common + 0.3F * normal(random));
  }
  return all;
}

double cosine(const FingerprintSpace& space, std::span<const float> a, std::span<const float> b) {
  const auto left = *space.project(a), right = *space.project(b);
  double sum = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += static_cast<double>(left[i]) * right[i];
  return sum;
}

/// Mean of |cosine| over neighbouring rows.
double usual_cosine(SpaceKind kind) {
  const auto space = *FingerprintSpace::fit(lopsided(200), 12, kind, 12);
  const auto others = lopsided(100, 2);
  double sum = 0.0;
  for (std::size_t r = 0; r + 1 < 100; ++r) {
    sum += std::abs(cosine(space, std::span(others).subspan(12 * r, 12), std::span(others).subspan(12 * (r + 1), 12)));
  }
  return sum / 99.0;
}

TEST(FingerprintSpace, TakesAwayWhatAllHaveInCommon) {
  EXPECT_GT(usual_cosine(SpaceKind::raw), 0.9);
  EXPECT_GT(usual_cosine(SpaceKind::centred), 0.8);  // one direction is left that outweighs the others
  EXPECT_LT(usual_cosine(SpaceKind::whitened), 0.4);
}

TEST(FingerprintSpace, WhiteningMakesTheSpreadEqual) {
  const auto all = lopsided(500);
  const auto space = *FingerprintSpace::fit(all, 12, SpaceKind::whitened, 5);
  EXPECT_EQ(5, space.dimensions());
  EXPECT_EQ(12, space.width());
  std::vector<double> square(5);
  for (std::size_t r = 0; r < 500; ++r) {
    for (std::size_t d = 0; d < 5; ++d) {
      double value = 0.0;
      for (std::size_t i = 0; i < 12; ++i) value += space.matrix()[12 * d + i] * (all[12 * r + i] - space.mean()[i]);
      square[d] += value * value;
    }
  }
  for (const double spread : square) EXPECT_NEAR(1.0, spread / square[0], 0.02);
}

TEST(FingerprintSpace, ProjectsToLengthOne) {
  for (const SpaceKind kind : {SpaceKind::raw, SpaceKind::centred, SpaceKind::whitened}) {
    const auto all = lopsided(100);
    const auto space = *FingerprintSpace::fit(all, 12, kind, 6);
    const auto vector = *space.project(std::span(all).first(12));
    double square = 0.0;
    for (const float value : vector) square += static_cast<double>(value) * value;
    EXPECT_NEAR(1.0, square, 1e-5);
    EXPECT_NEAR(1.0, cosine(space, std::span(all).first(12), std::span(all).first(12)), 1e-5);
  }
}

TEST(FingerprintSpace, IsTheSameFromItsParts) {
  const auto all = lopsided(100);
  const auto space = *FingerprintSpace::fit(all, 12, SpaceKind::whitened, 6);
  const auto again = FingerprintSpace::from_parts(space.kind(), {space.mean().begin(), space.mean().end()},
                                                  {space.matrix().begin(), space.matrix().end()});
  ASSERT_TRUE(again);
  EXPECT_EQ(*space.project(std::span(all).first(12)), *again->project(std::span(all).first(12)));
}

TEST(FingerprintSpace, HasAsManyDimensionsAsCanBeEstimated) {
  EXPECT_EQ(12, FingerprintSpace::fit(lopsided(100), 12, SpaceKind::whitened, 64)->dimensions());
  EXPECT_EQ(4, FingerprintSpace::fit(lopsided(9), 12, SpaceKind::whitened, 64)->dimensions());
}

TEST(FingerprintSpace, RefusesWhatSaysNothing) {
  auto all = lopsided(100);
  EXPECT_FALSE(FingerprintSpace::fit({}, 12, SpaceKind::centred, 0));
  EXPECT_FALSE(FingerprintSpace::fit(all, 7, SpaceKind::centred, 0));
  EXPECT_FALSE(FingerprintSpace::fit(all, 0, SpaceKind::centred, 0));
  EXPECT_FALSE(FingerprintSpace::fit(lopsided(2), 12, SpaceKind::whitened, 4));
  EXPECT_FALSE(FingerprintSpace::fit(std::vector<float>(1200, 1.0F), 12, SpaceKind::whitened, 4));
  all[5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(FingerprintSpace::fit(all, 12, SpaceKind::centred, 0));
  EXPECT_FALSE(FingerprintSpace::from_parts(SpaceKind::whitened, {1.0F, 2.0F}, {1.0F}));
  EXPECT_FALSE(FingerprintSpace::from_parts(SpaceKind::raw, {}, {}));
}

TEST(ReferencePrompts, AreManyAndDistinct) {
  const auto prompts = reference_prompts();
  EXPECT_GT(prompts.size(), 200U);
  EXPECT_EQ(prompts.size(), (std::set<std::string_view>(prompts.begin(), prompts.end()).size()));
  EXPECT_EQ(0, std::count(prompts.begin(), prompts.end(), ""));
}

}  // namespace
}  // namespace continuo::library
