#include "weights/model_card.h"

#include <gtest/gtest.h>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

TEST(ModelCard, FindsTheLicenceInTheFrontMatter) {
  EXPECT_EQ(license_in_card("---\r\nlicense: cc-by-nc-4.0\r\n---\r\n"), "CC-BY-NC-4.0");
  EXPECT_EQ(license_in_card("---\ntags: [a]\nlicense:   'mit'  # why not\n---\n"), "MIT");
  EXPECT_EQ(license_in_card("---\nlicense: other\nlicense_name: house-rules\n---\n"), "house-rules");
  EXPECT_EQ(license_in_card("---\nlicense_link: x\n---\nlicense: mit\n"), "");  // only the front matter counts
  EXPECT_EQ(license_in_card("# Card\nlicense: mit\n"), "");
  EXPECT_EQ(license_in_card(""), "");
  EXPECT_EQ(license_in_card("---\nlicense: " + std::string(200, 'x')), "");
}

TEST(ModelCard, WritesSpdxNames) {
  EXPECT_EQ(spdx_name("apache-2.0"), "Apache-2.0");
  EXPECT_EQ(spdx_name("bsd-3-clause"), "BSD-3-Clause");
  EXPECT_EQ(spdx_name("cc0-1.0"), "CC0-1.0");
  EXPECT_EQ(spdx_name("openrail"), "openrail");
}

TEST(ModelCard, FallsBackToTheLicenceFile) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(read_license(folder.path()), "unknown");
  folder.write("LICENSE", "Attribution-NonCommercial 4.0 International\n\n====\n");
  EXPECT_EQ(read_license(folder.path()), "CC-BY-NC-4.0");
  folder.write("README.md", "---\nlicense: cc-by-4.0\n---\n");
  EXPECT_EQ(read_license(folder.path()), "CC-BY-4.0");
}

}  // namespace
}  // namespace continuo::weights
