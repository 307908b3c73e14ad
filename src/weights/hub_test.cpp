// What can be tested of the hub without one; tests/pull has the rest, against a server.
#include "weights/hub.h"

#include <gtest/gtest.h>

#include <map>

#include "weights/fixtures_test.h"
#include "weights/hub_files.h"
#include "weights/hub_listing.h"

namespace continuo::weights {
namespace {

using namespace testing;

const std::string sha1_text(40, 'a');
const std::string sha256_text(64, 'b');

TEST(HubName, IsOwnerNameAndRevision) {
  const auto plain = parse_hub_name("facebook/musicgen-small");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->id(), "facebook/musicgen-small");
  EXPECT_EQ(plain->revision, "main");
  const auto other = parse_hub_name("a_b/c.d@refs/pr/3");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name, "c.d");
  EXPECT_EQ(other->revision, "refs/pr/3");
  for (const char* wrong :
       {"", "a", "a/", "/a", "a/b/c", "../a", "a/..", "a/b..c", ".a/b", "a/-b", "a/b@", "a b/c", "ä/b", "a/b@\n"}) {
    const auto name = parse_hub_name(wrong);
    ASSERT_FALSE(name) << wrong;
    EXPECT_EQ(name.error().code, ErrorCode::invalid_argument);
  }
}

Result<HubSettings> settings_of(const std::map<std::string, std::string>& variables) {
  return hub_settings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(HubSettings, ComeFromTheEnvironment) {
  const TemporaryFolder home;
  std::map<std::string, std::string> variables{{"HOME", home.path()}};
  auto settings = settings_of(variables);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->endpoint, "https://huggingface.co");
  EXPECT_EQ(settings->token, "");
  std::filesystem::create_directories(home.path(".cache/huggingface"));
  home.write(".cache/huggingface/token", "  hf_file\n");
  EXPECT_EQ(settings_of(variables)->token, "hf_file");
  variables["HF_TOKEN"] = "hf_variable ";
  variables["HF_ENDPOINT"] = "https://mirror.example/hub//";
  settings = settings_of(variables);
  EXPECT_EQ(settings->token, "hf_variable");
  EXPECT_EQ(settings->endpoint, "https://mirror.example/hub");
}

TEST(HubSettings, KeepTheTokenOffUnencryptedLines) {
  EXPECT_EQ(settings_of({{"HF_TOKEN", "hf_x"}, {"HF_ENDPOINT", "http://mirror.example"}})->token, "");
  EXPECT_EQ(settings_of({{"HF_TOKEN", "hf_x"}, {"HF_ENDPOINT", "http://127.0.0.1.example"}})->token, "");
  EXPECT_EQ(settings_of({{"HF_TOKEN", "hf_x"}, {"HF_ENDPOINT", "http://localhost:8000"}})->token, "hf_x");
  EXPECT_EQ(settings_of({{"HF_TOKEN", "hf_x"}, {"HF_ENDPOINT", "http://127.0.0.1:8000"}})->token, "hf_x");
}

TEST(HubSettings, RefuseWhatIsNoTokenWithoutShowingIt) {
  for (const char* wrong : {"two words", "line\nbreak", "ü"}) {
    const auto settings = settings_of({{"HF_TOKEN", wrong}});
    ASSERT_FALSE(settings) << wrong;
    EXPECT_EQ(settings.error().message.find(wrong), std::string::npos);
  }
}

TEST(Http, KnowsOrigins) {
  EXPECT_EQ(origin_of("https://Hub.example/a?b"), "https://hub.example:443");
  EXPECT_EQ(origin_of("HTTP://hub.example:8080/a"), "http://hub.example:8080");
  // What a redirect may try in order to look like the hub.
  EXPECT_NE(origin_of("https://hub.example@evil.example/"), "https://hub.example:443");
  EXPECT_NE(origin_of("https://hub.example.evil.example/"), "https://hub.example:443");
  EXPECT_NE(origin_of("https://hub.example:444/"), "https://hub.example:443");
  for (const char* wrong : {"", "hub.example", "file:///etc/passwd", "ftp://hub.example", "https://", "/a/b"}) {
    EXPECT_EQ(origin_of(wrong), "") << wrong;
  }
}

TEST(Http, QuotesWords) { EXPECT_EQ(url_quoted("refs/pr 1%\xC3\xA4-._~"), "refs%2Fpr%201%25%C3%A4-._~"); }

Result<HubRepository> listing_of(const std::string& json) { return parse_listing(json, HubName{"a", "b", "main"}); }

TEST(HubListing, ReadsSizesHashesAndTheLicence) {
  const auto repository =
      listing_of(R"({"sha":")" + sha1_text + R"(","cardData":{"license":"cc-by-nc-4.0"},"safetensors":{"total":123},"siblings":[
        {"rfilename":"config.json","size":7,"blobId":")" +
                 sha1_text + R"("},
        {"rfilename":"model.safetensors","size":130,"blobId":")" +
                 sha1_text + R"(","lfs":{"sha256":")" + sha256_text +
                 R"(","size":1000,"pointerSize":130}},
        {"rfilename":"bare"},{"rfilename":"wrong","size":-1,"blobId":"xyz"},{"rfilename":7},8]})");
  ASSERT_TRUE(repository) << repository.error().message;
  EXPECT_EQ(repository->commit, sha1_text);
  EXPECT_EQ(repository->license, "CC-BY-NC-4.0");
  EXPECT_EQ(repository->parameters, 123);
  ASSERT_EQ(repository->files.size(), 4U);
  EXPECT_EQ(repository->files[0].git_blob, sha1_text);
  EXPECT_EQ(repository->files[1].size, 1000U);
  EXPECT_EQ(repository->files[1].sha256, sha256_text);
  EXPECT_EQ(repository->files[1].git_blob, "");  // that of the pointer, not of the content
  EXPECT_EQ(repository->files[3].size, 0U);
  EXPECT_EQ(repository->files[3].git_blob, "");
}

TEST(HubListing, FindsTheLicenceWhereverItStands) {
  const std::string start = R"({"sha":")" + sha1_text + R"(","siblings":[],)";
  EXPECT_EQ(listing_of(start + R"("tags":["music",3,"license:mit"]})")->license, "MIT");
  EXPECT_EQ(listing_of(start + R"("cardData":{"license":"other","license_name":"my-own"}})")->license, "my-own");
  EXPECT_EQ(listing_of(start + R"("cardData":{"license":["mit"]}})")->license, "");
  EXPECT_EQ(listing_of(start + R"("cardData":{"license":"a\u001b[31m"}})")->license, "");
  EXPECT_EQ(listing_of(start + R"("cardData":null})")->license, "");
}

TEST(HubListing, RefusesListsThatNoModelHas) {
  const auto listing = [](const std::string& entry, int count) {
    std::string entries = entry;
    for (int i = 1; i < count; ++i) entries += "," + entry;
    return listing_of(R"({"sha":")" + sha1_text + R"(","siblings":[)" + entries + "]}");
  };
  const std::string file = R"({"rfilename":"a","size":1,"blobId":")" + sha1_text + R"("})";
  EXPECT_TRUE(listing(file, 20'000));
  EXPECT_NE(listing(file, 20'001).error().message.find("does not list its files"), std::string::npos);
  // Sixteen megabytes of these would be half a gigabyte as a tree.
  EXPECT_NE(listing("[]", 1'000'000).error().message.find("more than 400000 values"), std::string::npos);
}

TEST(HubListing, ReadsTheHeadersOfAFile) {
  RemoteFile file;
  HttpReply reply;
  reply.headers = {
      {"etag", "\"nothing\""}, {"x-linked-etag", "\"" + sha256_text + "\""}, {"x-linked-size", "99"}, {"content-length", "3"}};
  ASSERT_TRUE(read_metadata(reply, file));
  EXPECT_EQ(file.sha256, sha256_text);
  EXPECT_EQ(file.size, 99U);
  file = {};
  reply.headers = {{"etag", "W/\"" + sha1_text + "\""}, {"content-length", "3"}};
  ASSERT_TRUE(read_metadata(reply, file));
  EXPECT_EQ(file.git_blob, sha1_text);
  EXPECT_EQ(file.size, 3U);
  file = {};
  reply.headers = {{"etag", "\"weak\""}, {"content-length", "3"}};
  EXPECT_FALSE(read_metadata(reply, file));  // what cannot be checked is not taken
  for (const char* size : {"", "-1", "3x", "99999999999999999999999"}) {
    reply.headers = {{"etag", sha1_text}, {"content-length", size}};
    EXPECT_FALSE(read_metadata(reply, file)) << size;
  }
}

std::vector<std::string> names_of(const std::vector<RemoteFile>& files) {
  std::vector<std::string> names;
  for (const RemoteFile& file : files) names.push_back(file.name);
  return names;
}

Result<NeededFiles> needed_of(const std::vector<std::string>& names) {
  std::vector<RemoteFile> files;
  for (const std::string& name : names) files.push_back(RemoteFile{name, 1, {}, {}});
  return needed_files(files, "a/b");
}

using Names = std::vector<std::string>;

TEST(NeededFiles, AreOfOneFormat) {
  const Names all{"config.json",  "model.safetensors", "pytorch_model.bin", "state_dict.bin", "compression_state_dict.bin",
                  "spiece.model", "tokenizer.json",    "README.md",         "tf_model.h5"};
  EXPECT_EQ(names_of(needed_of(all)->weights), Names{"model.safetensors"});
  EXPECT_EQ(names_of(needed_of(all)->about), (Names{"config.json", "spiece.model", "README.md"}));
  EXPECT_EQ(names_of(needed_of({"config.json", "tokenizer.json", "pytorch_model.bin"})->weights), Names{"pytorch_model.bin"});
  EXPECT_EQ(names_of(needed_of({"config.json", "tokenizer.json", "pytorch_model.bin"})->about),
            (Names{"config.json", "tokenizer.json"}));
  EXPECT_EQ(names_of(needed_of({"state_dict.bin", "compression_state_dict.bin"})->weights),
            (Names{"state_dict.bin", "compression_state_dict.bin"}));
}

TEST(NeededFiles, KnowShardsByTheirNames) {
  const Names listed{"config.json",
                     "model.safetensors.index.json",
                     "model-00001-of-00002.safetensors",
                     "model-00002-of-00002.safetensors",
                     "model-1-of-2.safetensors",
                     "model-00001-of-00002.safetensors.bak",
                     "../model-00001-of-00002.safetensors",
                     "model-000/1-of-00002.safetensors",
                     "model_00001-of-00002.safetensors"};
  EXPECT_EQ(names_of(needed_of(listed)->weights),
            (Names{"model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}));
  EXPECT_EQ(names_of(needed_of({"config.json", "pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"})->weights),
            (Names{"pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"}));
}

TEST(NeededFiles, TakeAFileThatIsListedTwiceOnce) {
  const Names listed{"config.json", "config.json", "model.safetensors.index.json", "model-00001-of-00001.safetensors",
                     "model-00001-of-00001.safetensors"};
  EXPECT_EQ(names_of(needed_of(listed)->about), Names{"config.json"});
  EXPECT_EQ(names_of(needed_of(listed)->weights), (Names{"model.safetensors.index.json", "model-00001-of-00001.safetensors"}));
}

TEST(NeededFiles, AreRefusedWhereThereAreNone) {
  for (const Names& names :
       {Names{}, Names{"config.json"}, Names{"model.safetensors"}, Names{"config.json", "model.safetensors.index.json"},
        Names{"config.json", "sub/model.safetensors"}, Names{"state_dict.bin"}}) {
    EXPECT_FALSE(needed_of(names));
  }
}

TEST(NeededFiles, AddUpWithoutWrapping) {
  EXPECT_EQ(total_bytes({RemoteFile{"a", ~0ULL, {}, {}}, RemoteFile{"b", 5, {}, {}}}), ~0ULL);
}

}  // namespace
}  // namespace continuo::weights
