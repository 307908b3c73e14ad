#include "server/requests/scenes.h"

#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace continuo::server {
namespace {

using nlohmann::json;

std::string sentence(const Scene& scene) {
  const auto prompt = SceneTable::built_in().prompt(scene);
  EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
  return prompt ? prompt->prompt : "";
}

TEST(ScenesTest, TheBuiltInTableSpeaksForAllOfItsNames) {
  const json table = json::parse(SceneTable::built_in().text());
  EXPECT_EQ(table["scenes"].size(), 12U);
  EXPECT_EQ(table["moods"].size(), 8U);
  for (const auto& [scene, words] : table["scenes"].items()) {
    for (const auto& [mood, unused] : table["moods"].items()) {
      for (const double intensity : {0.0, 0.25, 0.5, 1.0}) {
        const auto prompt = SceneTable::built_in().prompt({scene, mood, intensity, 120.0, ""});
        ASSERT_TRUE(prompt.has_value()) << scene << mood;
        EXPECT_NE(prompt->prompt.find(words["words"].get<std::string>()), std::string::npos);
        EXPECT_LT(prompt->prompt.size(), 400U);
        EXPECT_GE(prompt->guidance, 1.0F);
        EXPECT_GT(prompt->temperature, 0.0F);
      }
    }
  }
}

TEST(ScenesTest, TheSameSceneIsTheSameSentence) {
  const Scene scene{"village", "joyful", 0.6, 128.0, ""};
  EXPECT_EQ(
      sentence(scene),
      "joyful and bright, village folk music with acoustic guitar, fiddle, flute and hand drum, energetic, fast tempo, 128 bpm");
  EXPECT_EQ(sentence(scene), sentence(scene));
  EXPECT_EQ(sentence({"village", "", 0.2, std::nullopt, ""}),
            "village folk music with acoustic guitar, fiddle, flute and hand drum, very soft and sparse");
  EXPECT_EQ(sentence({"village", "", 0.2, std::nullopt, "very slow"}),
            "village folk music with acoustic guitar, fiddle, flute and hand drum, very soft and sparse, very slow tempo");
}

TEST(ScenesTest, BordersBelongToTheSofter) {
  EXPECT_NE(sentence({"menu", "", 0.25, 60.0, ""}).find("very soft and sparse, very slow tempo, 60 bpm"), std::string::npos);
  EXPECT_NE(sentence({"menu", "", 0.2501, 60.5, ""}).find("restrained, slow tempo"), std::string::npos);
  EXPECT_NE(sentence({"menu", "", 1.0, 240.0, ""}).find("intense, loud and dense, very fast tempo, 240 bpm"), std::string::npos);
}

TEST(ScenesTest, NumbersFollowTheIntensity) {
  const auto calm = SceneTable::built_in().prompt({"battle", "", 0.0, std::nullopt, ""});
  const auto half = SceneTable::built_in().prompt({"battle", "", 0.5, std::nullopt, ""});
  const auto wild = SceneTable::built_in().prompt({"battle", "", 1.0, std::nullopt, ""});
  EXPECT_EQ(calm->guidance, 3.0F);
  EXPECT_EQ(half->guidance, 3.5F);
  EXPECT_EQ(wild->guidance, 4.0F);
  EXPECT_FLOAT_EQ(half->temperature, 0.95F);
}

TEST(ScenesTest, WhatIsNotInTheTableIsNamed) {
  const auto scene = SceneTable::built_in().prompt({"beach", "", 0.5, std::nullopt, ""}, "scene");
  ASSERT_FALSE(scene.has_value());
  EXPECT_EQ(scene.error().param, "scene.scene");
  EXPECT_EQ(scene.error().message,
            "there is no scene 'beach'; there are battle, boss, chase, city, dungeon, exploration, menu, puzzle, space, stealth, "
            "victory, village");
  EXPECT_EQ(SceneTable::built_in().prompt({"city", "sleepy", 0.5, std::nullopt, ""}).error().param, "mood");
  EXPECT_EQ(SceneTable::built_in().prompt({"city", "", 0.5, std::nullopt, "presto"}).error().message,
            "there is no tempo 'presto'; give beats a minute, 30 to 240, or a word of the table");
}

TEST(ScenesTest, ReadsAScene) {
  EXPECT_EQ(read_scene(json::parse(R"({"scene": "city", "mood": "calm", "intensity": 0.1, "tempo": 90})"), "scene").value(),
            (Scene{"city", "calm", 0.1, 90.0, ""}));
  EXPECT_EQ(read_scene(json::parse(R"({"scene": "city", "tempo": "slow"})"), "scene").value(),
            (Scene{"city", "", 0.5, {}, "slow"}));
  const auto message = [](const char* text) { return read_scene(json::parse(text), "scene").error().message; };
  EXPECT_EQ(message(R"({"mood": "calm"})"), "scene.scene is missing: a name from GET /v1/scenes");
  EXPECT_EQ(message(R"({"scene": "city", "intensity": 1.5})"), "scene.intensity must be from 0 to 1, not 1.5");
  EXPECT_EQ(message(R"({"scene": "city", "tempo": 500})"), "scene.tempo must be from 30 to 240, not 500");
  EXPECT_EQ(message(R"({"scene": "city", "tempo": []})"), "scene.tempo must be a number");
  EXPECT_EQ(message(R"({"scene": "city", "weather": "rain"})"), "there is no field 'weather' in scene");
}

struct BadTable {
  const char* text;
  const char* message;
};

TEST(ScenesTest, ABadTableSaysWhere) {
  for (
      const BadTable& bad : {
          BadTable{"{}", "scenes is missing: an object of scenes by name"},
          BadTable{R"({"scenes": {}})", "scenes must hold 1 to 500 scenes"},
          BadTable{R"({"scenes": {"a": {}}})", "scenes.a.words is missing: what the prompt says"},
          BadTable{R"({"scenes": {"a": "b"}})", "scenes.a must be a JSON object"},
          BadTable{R"({"scenes": {"a": {"words": "x\ny"}}})", "scenes.a.words must be one line"},
          BadTable{R"({"scenes": {"a": {"words": "x", "guidance_scale": [1, 200]}}})",
                   "scenes.a.guidance_scale must be a number from 0 to 100, or two of them: at intensity 0 and at 1"},
          BadTable{R"({"scenes": {"a": {"words": "x"}}, "moods": {"m": 3}})", "moods must give each mood's name a line of words"},
          BadTable{R"({"scenes": {"a": {"words": "x"}}, "intensity": [{"up_to": 0.5, "words": "y"}]})",
                   "intensity must be a list whose up_to rise, the last of them to 1"},
          BadTable{
              R"({"scenes": {"a": {"words": "x"}}, "tempo": [{"name": "n", "up_to": 240, "words": "y"}, {"name": "o", "up_to": 100, "words": "y"}]})",
              "tempo must be a list whose up_to rise, the last of them to 240"},
          BadTable{R"({"scenes": {"a": {"words": "x"}}, "mood": {}})", "there is no field 'mood'; did you mean moods?"},
      }) {
    const auto table = SceneTable::parse(bad.text);
    ASSERT_FALSE(table.has_value()) << bad.text;
    EXPECT_EQ(table.error().message, bad.message);
  }
}

TEST(ScenesTest, ATableOfOnesOwnFromAFile) {
  const std::string path = testing::TempDir() + "scenes_test.json";
  std::ofstream(path) << R"({"scenes": {"harbour": {"words": "sea shanty", "guidance_scale": 2}}})";
  const auto table = SceneTable::load(path);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const auto prompt = table->prompt({"harbour", "", 0.9, 100.0, ""});
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->prompt, "sea shanty, 100 bpm");
  EXPECT_EQ(prompt->guidance, 2.0F);
  std::ofstream(path) << "{";
  const auto broken = SceneTable::load(path);
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().message.find(path), 0U);
  EXPECT_FALSE(SceneTable::load(path + ".missing").has_value());
}

}  // namespace
}  // namespace continuo::server
