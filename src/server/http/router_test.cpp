#include "server/http/router.h"

#include <gtest/gtest.h>

namespace continuo::server {
namespace {

Router::Handler nothing() {
  return [](Exchange&) -> Task<void> { co_return; };
}

TEST(RouterTest, CapturesStandForPartsOfASegment) {
  Router::Captures captures;
  EXPECT_TRUE(path_fits("/v1/jobs/{id}/audio.{ext}", "/v1/jobs/ab12/audio.wav", captures));
  EXPECT_EQ(captures.at("id"), "ab12");
  EXPECT_EQ(captures.at("ext"), "wav");
  EXPECT_FALSE(path_fits("/v1/jobs/{id}", "/v1/jobs/", captures));
  EXPECT_FALSE(path_fits("/v1/jobs/{id}", "/v1/jobs/a/b", captures));
  EXPECT_FALSE(path_fits("/v1/jobs/{id}/audio.{ext}", "/v1/jobs/x/audio.", captures));
  EXPECT_FALSE(path_fits("/v1/jobs", "/v1/jobs/", captures));
  EXPECT_TRUE(path_fits("/", "/", captures));
}

TEST(RouterTest, SaysWhichMethodsAPathHas) {
  Router router;
  router.add("GET", "/v1/jobs/{id}", nothing());
  router.add("DELETE", "/v1/jobs/{id}", nothing());
  const auto found = router.find("POST", "/v1/jobs/a");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_EQ(found.allowed, (std::vector<std::string>{"GET", "HEAD", "DELETE"}));
  EXPECT_TRUE(router.find("GET", "/nothing").allowed.empty());
}

TEST(RouterTest, TheFirstThatFitsAnswersAndHeadIsAnsweredByGet) {
  Router router;
  router.add("GET", "/v1/jobs/new", nothing());
  router.add("GET", "/v1/jobs/{id}", nothing());
  EXPECT_EQ(router.find("GET", "/v1/jobs/new").route->pattern, "/v1/jobs/new");
  EXPECT_EQ(router.find("HEAD", "/v1/jobs/old").route->pattern, "/v1/jobs/{id}");
  EXPECT_EQ(router.find("HEAD", "/v1/jobs/old").captures.at("id"), "old");
}

}  // namespace
}  // namespace continuo::server
