#include "server/requests/scenes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "server/requests/json.h"
#include "server/requests/scene_text.h"
#include "weights/text_check.h"

namespace continuo::server {

using nlohmann::json;

namespace {

constexpr std::size_t most_entries = 500;
constexpr std::size_t most_words = 500;  // bytes
constexpr std::size_t most_name = 64;
constexpr std::size_t most_file = std::size_t{1} << 20;
constexpr double least_beats = 30.0, most_beats = 240.0;

/// "a, b or c", as far as it stays readable.
template <class Map>
std::string names_of(const Map& map) {
  constexpr std::size_t most = 20;
  std::string list;
  std::size_t count = 0;
  for (const auto& entry : map) {
    if (++count > most) return list + ", ...";
    list += (count > 1 ? ", " : "") + entry.first;
  }
  return list;
}

std::optional<std::string> read_words(Fields& fields) {
  auto words = fields.text("words", most_words);
  if (!words) fields.missing("words", fields.named("words") + " is missing: what the prompt says");
  if (words && !weights::single_line(*words)) fields.refuse("words", fields.named("words") + " must be one line");
  return words;
}

/// A number, or two: at intensity 0 and at 1.
void read_pair(Fields& fields, const std::string& name, double most, float (&pair)[2]) {
  const json* value = fields.any(name);
  if (value == nullptr) return;
  const bool two = value->is_array() && value->size() == 2;
  for (std::size_t i = 0; i < 2; ++i) {
    const json& number = two ? (*value)[i] : *value;
    if (!number.is_number() || !(number.get<double>() >= 0.0 && number.get<double>() <= most)) {
      return fields.refuse(name, fmt::format("{} must be a number from 0 to {:g}, or two of them: at intensity 0 and at 1",
                                             fields.named(name), most));
    }
    pair[i] = static_cast<float>(number.get<double>());
  }
}

bool good_name(const std::string& name) { return !name.empty() && name.size() <= most_name && weights::single_line(name); }

/// The first that is not exceeded counts, so they must rise, and the last one cover the rest.
Parsed<void> check_steps(const std::vector<double>& steps, double end, const std::string& list) {
  const bool rising = std::is_sorted(steps.begin(), steps.end()) && std::adjacent_find(steps.begin(), steps.end()) == steps.end();
  if (rising && !steps.empty() && steps.back() >= end) return {};
  return refuse(422, "invalid_value", list,
                fmt::format("{} must be a list whose up_to rise, the last of them to {:g}", list, end));
}

}  // namespace

const SceneTable& SceneTable::built_in() {
  static const SceneTable table = *parse(built_in_scenes);  // a test reads it
  return table;
}

Result<SceneTable> SceneTable::load(const std::string& path) {
  CONTINUO_TRY(const std::string text, read_text_file(path, most_file));
  auto table = parse(text);
  if (!table) return fail(ErrorCode::corrupt_file, "{}: {}", path, table.error().message);
  return std::move(*table);
}

void SceneTable::read_scenes(Fields& fields) {
  const json* scenes = fields.object("scenes");
  if (scenes == nullptr) return fields.missing("scenes", "scenes is missing: an object of scenes by name");
  for (const auto& [name, value] : scenes->items()) {
    Fields entry(value, "scenes." + weights::printable(name, most_name));
    if (!good_name(name)) fields.refuse("scenes", "a scene's name must be a short line of text");
    Entry scene;
    scene.words = read_words(entry).value_or("");
    read_pair(entry, "guidance_scale", 100.0, scene.guidance);
    read_pair(entry, "temperature", 100.0, scene.temperature);
    if (auto done = entry.finish(); !done) fields.take(done.error());
    scenes_.emplace(name, std::move(scene));
  }
  if (!fields.failed() && (scenes_.empty() || scenes_.size() > most_entries)) {
    fields.refuse("scenes", fmt::format("scenes must hold 1 to {} scenes", most_entries));
  }
}

void SceneTable::read_moods(Fields& fields) {
  const json* moods = fields.object("moods");
  if (moods == nullptr) return;
  for (const auto& [name, value] : moods->items()) {
    const auto* words = value.get_ptr<const std::string*>();
    if (words == nullptr || words->size() > most_words || !weights::single_line(*words) || !good_name(name)) {
      fields.refuse("moods", "moods must give each mood's name a line of words");
      return;
    }
    moods_.emplace(name, *words);
  }
  if (moods_.size() > most_entries) fields.refuse("moods", fmt::format("moods has more than {} moods", most_entries), "too_long");
}

void SceneTable::read_intensities(Fields& fields) {
  const json* list = fields.array("intensity", most_entries);
  if (list == nullptr) return;
  std::vector<double> steps;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Fields entry((*list)[i], fmt::format("intensity[{}]", i));
    const double up_to = entry.number("up_to", {0.0, 1.0}).value_or(0.0);
    intensities_.push_back({up_to, read_words(entry).value_or("")});
    steps.push_back(up_to);
    if (auto done = entry.finish(); !done) fields.take(done.error());
  }
  if (auto rising = check_steps(steps, 1.0, "intensity"); !rising) fields.take(rising.error());
}

void SceneTable::read_tempos(Fields& fields) {
  const json* list = fields.array("tempo", most_entries);
  if (list == nullptr) return;
  std::vector<double> steps;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Fields entry((*list)[i], fmt::format("tempo[{}]", i));
    Tempo tempo;
    tempo.name = entry.text("name", most_name).value_or("");
    tempo.up_to = entry.number("up_to", {least_beats, most_beats}).value_or(0.0);
    tempo.words = read_words(entry).value_or("");
    if (!good_name(tempo.name)) entry.refuse("name", entry.named("name") + " must be a short line of text");
    steps.push_back(tempo.up_to);
    if (auto done = entry.finish(); !done) fields.take(done.error());
    tempos_.push_back(std::move(tempo));
  }
  if (auto rising = check_steps(steps, most_beats, "tempo"); !rising) fields.take(rising.error());
}

Parsed<SceneTable> SceneTable::parse(std::string_view text) {
  CONTINUO_PARSE(const json object, parse_json_object(text));
  SceneTable table;
  Fields fields(object);
  table.read_scenes(fields);
  table.read_moods(fields);
  table.read_intensities(fields);
  table.read_tempos(fields);
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  table.text_ = object.dump();
  return table;
}

Parsed<std::string> SceneTable::tempo_words(const Scene& scene, const std::string& path) const {
  if (!scene.tempo.empty()) {
    const auto named =
        std::find_if(tempos_.begin(), tempos_.end(), [&](const Tempo& tempo) { return tempo.name == scene.tempo; });
    if (named != tempos_.end()) return named->words;
    return refuse(422, "unknown_tempo", path,
                  fmt::format("there is no tempo '{}'; give beats a minute, {:g} to {:g}, or a word of the table",
                              weights::printable(scene.tempo, 40), least_beats, most_beats));
  }
  if (!scene.beats) return std::string();
  const auto band = std::find_if(tempos_.begin(), tempos_.end(), [&](const Tempo& tempo) { return *scene.beats <= tempo.up_to; });
  return (band == tempos_.end() ? "" : band->words + ", ") + fmt::format("{:.0f} bpm", *scene.beats);
}

Parsed<ScenePrompt> SceneTable::prompt(const Scene& scene, const std::string& path) const {
  const std::string at = path.empty() ? "" : path + ".";
  const auto entry = scenes_.find(scene.scene);
  if (entry == scenes_.end()) {
    return refuse(422, "unknown_scene", at + "scene",
                  fmt::format("there is no scene '{}'; there are {}", weights::printable(scene.scene, 40), names_of(scenes_)));
  }
  const auto mood = moods_.find(scene.mood);
  if (!scene.mood.empty() && mood == moods_.end()) {
    return refuse(422, "unknown_mood", at + "mood",
                  fmt::format("there is no mood '{}'; there are {}", weights::printable(scene.mood, 40), names_of(moods_)));
  }
  CONTINUO_PARSE(const std::string tempo, tempo_words(scene, at + "tempo"));
  const auto step = std::find_if(intensities_.begin(), intensities_.end(),
                                 [&](const Step& candidate) { return scene.intensity <= candidate.up_to; });
  const std::string intensity = step == intensities_.end() ? "" : step->words;
  ScenePrompt result;
  for (const std::string& words : {scene.mood.empty() ? std::string() : mood->second, entry->second.words, intensity, tempo}) {
    if (words.empty()) continue;
    if (!result.prompt.empty()) result.prompt += ", ";
    result.prompt += words;
  }
  const auto between = [&](const float(&pair)[2]) { return pair[0] + static_cast<float>(scene.intensity) * (pair[1] - pair[0]); };
  result.guidance = between(entry->second.guidance);
  result.temperature = between(entry->second.temperature);
  return result;
}

Parsed<Scene> read_scene(const json& object, const std::string& path) {
  Fields fields(object, path);
  Scene scene;
  scene.scene = fields.text("scene", most_name).value_or("");
  scene.mood = fields.text("mood", most_name).value_or("");
  scene.intensity = fields.number("intensity", {0.0, 1.0}).value_or(0.5);
  const json* tempo = fields.any("tempo");
  if (tempo != nullptr && tempo->is_string()) {
    scene.tempo = fields.text("tempo", most_name).value_or("");
  } else {
    scene.beats = fields.number("tempo", {least_beats, most_beats});
  }
  if (!fields.has("scene")) fields.missing("scene", fields.named("scene") + " is missing: a name from GET /v1/scenes");
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return scene;
}

}  // namespace continuo::server
