#include "server/service.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>

#include "server/openapi/openapi.h"

namespace continuo::server {
namespace {

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : folder_(std::filesystem::temp_directory_path() / ("continuo_service_" + std::to_string(::getpid()))) {
    options_.port = 0;
    options_.data_folder = folder_.string();
    options_.log_level = "off";
  }
  ~ServiceTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Service>> open() {
    return Service::open(options_, {{"demo", std::string(CONTINUO_SOURCE_DIR) + "/models/demo.gguf"}});
  }

  std::filesystem::path folder_;
  ServerOptions options_;
};

TEST_F(ServiceTest, EveryRouteIsDescribedAndEveryDescriptionHasARoute) {
  const auto service = open();
  ASSERT_TRUE(service) << service.error().message;
  for (const std::string& difference : openapi_differences((*service)->routes())) ADD_FAILURE() << difference;
}

TEST_F(ServiceTest, AnotherAddressNeedsAKeyOrTheWord) {
  options_.host = "0.0.0.0";
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("--api-key-file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_));  // nothing was begun
  options_.expose_without_key = true;
  EXPECT_TRUE(open());
}

TEST_F(ServiceTest, OneServerAtATimeHasADataFolder) {
  const auto first = open();
  ASSERT_TRUE(first);
  EXPECT_FALSE(open());
}

TEST_F(ServiceTest, WhatCannotBeIsSaidBeforeAnythingIsServed) {
  options_.api_key_file = (folder_ / "none").string();
  EXPECT_FALSE(open());
  options_.api_key_file.clear();
  options_.scenes_file = (folder_ / "none").string();
  EXPECT_FALSE(open());
  options_.scenes_file.clear();
  options_.host = "not an address";
  EXPECT_FALSE(open());
}

}  // namespace
}  // namespace continuo::server
