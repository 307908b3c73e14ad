// quality_tool: what a type of weights, or of keys and values, costs. Prints one line of JSON for each model:
//   quality_tool [--threads N] [--steps N] [--pieces LIST.jsonl]... REFERENCE.gguf [MODEL.gguf | --kv TYPE MODEL.gguf]...
// The first model is what the others are compared with. Keys and values are f32 but for a model with --kv before it. Each line of
// a list is
// {"prompt": "...", "codes": "FILE.npy"}, codes [codebooks, frames], paths from the list's folder. The models are the same
// checkpoint in other types (docs/quality.md says what the numbers mean; make_table.py makes the table).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio/npy.h"
#include "music/delay_pattern.h"
#include "quality/measured_model.h"

namespace continuo::quality {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ModelToMeasure {
  std::string path;
  compute::KvType kv = compute::KvType::f32;
};

constexpr std::pair<const char*, compute::KvType> kv_types[] = {
    {"f32", compute::KvType::f32}, {"f16", compute::KvType::f16}, {"int8", compute::KvType::int8}};

struct Arguments {
  int threads = 0;
  int steps = 500;
  std::vector<std::string> lists;
  std::vector<ModelToMeasure> models;  // the reference first
};

constexpr const char* greedy_prompts[] = {"warm lo-fi piano with soft drums",
                                          "an energetic techno track with a driving bassline"};

/// The places of the logits that predict a frame: index into [steps, codebooks], and the code that stands there.
struct Prediction {
  std::size_t row;
  std::int64_t code;
  int step;
};

std::vector<Prediction> predictions(const weights::DecoderConfig& decoder, const Piece& piece) {
  const music::DelayPattern pattern(decoder.delays, piece.frames);
  std::vector<Prediction> all;
  for (int step = 0; step < pattern.steps(); ++step) {
    for (int k = 0; k < decoder.codebooks; ++k) {
      const int frame = pattern.frame_written(step, k);
      if (frame < 0) continue;
      all.push_back({static_cast<std::size_t>(step * decoder.codebooks + k),
                     piece.codes[static_cast<std::size_t>(k * piece.frames + frame)], step});
    }
  }
  return all;
}

/// Nats: -log softmax(logits)[code].
double surprise(std::span<const float> logits, std::int64_t code) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return std::log(sum) + top - logits[static_cast<std::size_t>(code)];
}

struct Sums {
  double error = 0.0, square = 0.0;   // of logits against the reference's
  double agreed = 0.0, chosen = 0.0;  // greedy codes
  std::vector<int> first_difference;  // a step for each greedy piece; -1: none
  std::vector<double> cross_entropy;  // of each list's codes, nats a code
};

/// Compares on a piece that the reference chose greedily.
void compare_greedy(const weights::DecoderConfig& decoder, const Piece& piece, std::span<const float> got, Sums& sums) {
  const auto entries = static_cast<std::size_t>(decoder.codebook_size);
  int first = -1;
  for (const Prediction& place : predictions(decoder, piece)) {
    const auto logits = got.subspan(place.row * entries, entries);
    const bool same = std::max_element(logits.begin(), logits.end()) - logits.begin() == place.code;
    sums.agreed += same ? 1.0 : 0.0;
    sums.chosen += 1.0;
    if (!same && first < 0) first = place.step;
  }
  sums.first_difference.push_back(first);
}

void compare_logits(const weights::DecoderConfig& decoder, const Piece& piece, std::span<const float> got,
                    std::span<const float> want, Sums& sums) {
  const auto entries = static_cast<std::size_t>(decoder.codebook_size);
  for (const Prediction& place : predictions(decoder, piece)) {
    for (std::size_t i = place.row * entries; i < (place.row + 1) * entries; ++i) {
      sums.error += std::pow(static_cast<double>(got[i]) - want[i], 2);
      sums.square += std::pow(static_cast<double>(want[i]), 2);
    }
  }
}

/// Adds up over a list.
struct Mean {
  double sum = 0.0, count = 0.0;
};

void add_surprise(const weights::DecoderConfig& decoder, const Piece& piece, std::span<const float> got, Mean& mean) {
  const auto entries = static_cast<std::size_t>(decoder.codebook_size);
  for (const Prediction& place : predictions(decoder, piece)) {
    mean.sum += surprise(got.subspan(place.row * entries, entries), place.code);
    mean.count += 1.0;
  }
}

/// [codebooks, frames]
Result<std::vector<std::int64_t>> read_codes(const std::string& file, const weights::DecoderConfig& decoder) {
  CONTINUO_TRY(audio::NpyArray array, audio::read_npy(file));
  if (!array.is_integer() || array.shape.size() != 2 || array.shape[0] != decoder.codebooks || array.shape[1] < 1) {
    return fail(ErrorCode::corrupt_file, "{} is not whole numbers [{}, frames]", file, decoder.codebooks);
  }
  auto codes = std::get<std::vector<std::int64_t>>(std::move(array.values));
  for (const std::int64_t code : codes) {
    if (code < 0 || code >= decoder.codebook_size) return fail(ErrorCode::corrupt_file, "{} holds the code {}", file, code);
  }
  return codes;
}

Result<std::vector<Piece>> read_list(const std::string& path, const weights::DecoderConfig& decoder) {
  std::vector<Piece> pieces;
  std::ifstream list(path);
  if (!list) return fail(ErrorCode::not_found, "there is no list {}", path);
  for (std::string line; std::getline(list, line);) {
    const json entry = json::parse(line, nullptr, false);
    const auto text = [&](const char* name) { return entry.is_object() && entry.value(name, json()).is_string(); };
    if (!text("prompt") || !text("codes") || (entry.contains("heard") && !text("heard"))) {
      return fail(ErrorCode::corrupt_file, "{}: line {} is not {{\"prompt\": ..., \"codes\": ...}}", path, pieces.size() + 1);
    }
    const auto beside = [&](const char* name) { return fs::path(path).parent_path() / entry[name].get<std::string>(); };
    Piece piece;
    piece.prompt = entry["prompt"];
    CONTINUO_TRY(piece.codes, read_codes(beside("codes"), decoder));
    if (entry.contains("heard")) {
      CONTINUO_TRY(piece.heard, read_codes(beside("heard"), decoder));
      if (piece.heard.size() != piece.codes.size()) return fail(ErrorCode::corrupt_file, "{}: heard is of another length", path);
    }
    piece.frames = static_cast<int>(piece.codes.size() / static_cast<std::size_t>(decoder.codebooks));
    pieces.push_back(std::move(piece));
  }
  if (pieces.empty()) return fail(ErrorCode::corrupt_file, "{} lists no pieces", path);
  return pieces;
}

/// What the reference says, which the others are compared with.
struct Expected {
  std::vector<Piece> greedy;
  std::vector<std::vector<Piece>> lists;
  std::vector<std::vector<float>> logits;  // prompted, of the greedy pieces
  float guidance = 3.0F;
};

Result<Expected> look_at_reference(MeasuredModel& model, const Arguments& arguments) {
  Expected expected;
  expected.guidance = model.config().defaults.guidance;
  for (const std::string& path : arguments.lists) {
    CONTINUO_TRY(auto pieces, read_list(path, model.config().decoder));
    expected.lists.push_back(std::move(pieces));
  }
  const int late = music::DelayPattern(model.config().decoder.delays, 1).largest_delay();
  for (const char* prompt : greedy_prompts) {
    CONTINUO_TRY(Piece piece, model.greedy(prompt, arguments.steps - late, expected.guidance));
    CONTINUO_TRY(auto logits, model.logits(piece, 1.0F));
    expected.logits.push_back(std::move(logits));
    expected.greedy.push_back(std::move(piece));
  }
  return expected;
}

Result<Sums> measure(MeasuredModel& model, const Expected& expected) {
  const weights::DecoderConfig& decoder = model.config().decoder;
  Sums sums;
  std::size_t next = 0;
  for (const Piece& piece : expected.greedy) {
    CONTINUO_TRY(const auto guided, model.logits(piece, expected.guidance));
    compare_greedy(decoder, piece, guided, sums);
    CONTINUO_TRY(const auto prompted, model.logits(piece, 1.0F));
    compare_logits(decoder, piece, prompted, expected.logits[next++], sums);
  }
  for (const auto& pieces : expected.lists) {
    Mean mean;
    for (const Piece& piece : pieces) {
      CONTINUO_TRY(const auto prompted, model.logits(piece, 1.0F));
      add_surprise(decoder, piece, prompted, mean);
    }
    sums.cross_entropy.push_back(mean.sum / mean.count);
  }
  return sums;
}

const char* name_of(compute::KvType type) {
  for (const auto& [name, value] : kv_types) {
    if (value == type) return name;
  }
  return "?";
}

void print(const ModelToMeasure& measured, const MeasuredModel& model, const Sums& sums) {
  nlohmann::ordered_json line{{"model", fs::path(measured.path).filename().string()},
                              {"kv", name_of(measured.kv)},
                              {"file_bytes", fs::file_size(measured.path)},
                              {"step_bytes", model.step_bytes()},
                              {"logit_error", std::sqrt(sums.error / sums.square)},
                              {"greedy_agreement", sums.agreed / sums.chosen},
                              {"first_difference", sums.first_difference},
                              {"cross_entropy", sums.cross_entropy}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

const compute::KvType* find_kv(const std::string& word) {
  for (const auto& [name, type] : kv_types) {
    if (word == name) return &type;
  }
  return nullptr;
}

Result<Arguments> parse(int count, char** words) {
  Arguments arguments;
  compute::KvType kv = compute::KvType::f32;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      arguments.models.push_back({word, std::exchange(kv, compute::KvType::f32)});
      continue;
    }
    if (++i == count) return fail(ErrorCode::invalid_argument, "{} needs a value", word);
    if (word == "--threads")
      arguments.threads = std::atoi(words[i]);
    else if (word == "--steps")
      arguments.steps = std::atoi(words[i]);
    else if (word == "--pieces")
      arguments.lists.emplace_back(words[i]);
    else if (const auto* type = find_kv(words[i]); word == "--kv" && type != nullptr)
      kv = *type;
    else if (word == "--kv")
      return fail(ErrorCode::invalid_argument, "--kv is f32, f16 or int8, not '{}'", words[i]);
    else
      return fail(ErrorCode::invalid_argument, "there is no option {}", word);
  }
  if (arguments.models.empty() || arguments.steps < 32) {
    return fail(ErrorCode::invalid_argument, "say which models, the reference first; at least 32 steps");
  }
  return arguments;
}

Status run(int count, char** words) {
  CONTINUO_TRY(const Arguments arguments, parse(count, words));
  Expected expected;
  weights::DecoderConfig decoder;  // the reference's
  for (const ModelToMeasure& measured : arguments.models) {
    CONTINUO_TRY(MeasuredModel model, MeasuredModel::open(measured.path, measured.kv, arguments.threads));
    if (expected.greedy.empty()) {
      CONTINUO_TRY(expected, look_at_reference(model, arguments));
      decoder = model.config().decoder;
    }
    const weights::DecoderConfig& own = model.config().decoder;
    if (own.codebooks != decoder.codebooks || own.codebook_size != decoder.codebook_size || own.delays != decoder.delays) {
      return fail(ErrorCode::invalid_argument, "{} is another model than {}", measured.path, arguments.models.front().path);
    }
    CONTINUO_TRY(const Sums sums, measure(model, expected));
    print(measured, model, sums);
  }
  return {};
}

}  // namespace
}  // namespace continuo::quality

int main(int count, char** words) {
  const auto status = continuo::quality::run(count, words);
  if (status) return 0;
  std::fprintf(stderr, "quality_tool: %s\n", status.error().message.c_str());
  return 1;
}
