// The scene table: what a game or a page knows of the moment, {scene, mood, intensity, tempo}, as a prompt, a guidance and a
// temperature. A small JSON file that anybody can edit (docs/http.md); the built-in one is complete.
//
// The same scene always gives the same sentence: mood, scene, intensity and tempo each add their words, in that order.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/requests/api_error.h"

namespace continuo::server {

class Fields;

/// What a client said of the moment.
struct Scene {
  std::string scene;
  std::string mood;             // empty: none
  double intensity = 0.5;       // 0 to 1
  std::optional<double> beats;  // a minute, 30 to 240
  std::string tempo;            // a word of the table, in place of beats; empty: none

  bool operator==(const Scene&) const = default;
};

struct ScenePrompt {
  std::string prompt;
  float guidance = 3.0F;
  float temperature = 1.0F;
};

class SceneTable {
 public:
  /// The one in the program.
  static const SceneTable& built_in();
  /// Errors: 422, with the place in the table that is wrong.
  static Parsed<SceneTable> parse(std::string_view json);
  static Result<SceneTable> load(const std::string& path);

  Parsed<ScenePrompt> prompt(const Scene& scene, const std::string& path = {}) const;
  /// As it was read: GET /v1/scenes.
  const std::string& text() const { return text_; }

 private:
  struct Entry {
    std::string words;
    float guidance[2] = {3.0F, 3.0F};  // at intensity 0 and 1
    float temperature[2] = {1.0F, 1.0F};
  };
  struct Step {
    double up_to;
    std::string words;
  };
  struct Tempo {
    std::string name;
    double up_to;
    std::string words;
  };

  void read_scenes(Fields& fields);
  void read_moods(Fields& fields);
  void read_intensities(Fields& fields);
  void read_tempos(Fields& fields);
  Parsed<std::string> tempo_words(const Scene& scene, const std::string& path) const;

  std::map<std::string, Entry> scenes_;
  std::map<std::string, std::string> moods_;
  std::vector<Step> intensities_;
  std::vector<Tempo> tempos_;
  std::string text_;
};

/// {"scene", "mood", "intensity", "tempo": beats a minute or a word}.
Parsed<Scene> read_scene(const nlohmann::json& object, const std::string& path);

}  // namespace continuo::server
