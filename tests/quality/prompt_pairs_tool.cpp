// prompt_pairs_tool MODEL.gguf [PAIRS.tsv]: how well the cosine of two prompts' fingerprints tells labelled pairs apart, for each
// kind of space, and for a comparison of the letters alone. Prints the tables of docs/quality.md. Works with any model, so also
// with one that has the genuine T5.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "engine/engine.h"
#include "library/fingerprint_space.h"
#include "library/reference_prompts.h"

namespace continuo::quality {
namespace {

using library::FingerprintSpace;
using library::SpaceKind;

struct Pair {
  bool similar;
  std::string a, b;
};

Result<std::vector<Pair>> read_pairs(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::not_found, "cannot read {}", path);
  std::vector<Pair> pairs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) return fail(ErrorCode::corrupt_file, "{}: '{}' is not a pair", path, line);
    pairs.push_back({line[0] == '1', line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return pairs;
}

struct Scored {
  double score;
  bool similar;
};

struct Measured {
  double precision = 0.0, recall = 0.0;
  double f1() const { return precision + recall > 0.0 ? 2.0 * precision * recall / (precision + recall) : 0.0; }
};

Measured at_threshold(const std::vector<Scored>& scored, double threshold) {
  double found = 0.0, right = 0.0, similar = 0.0;
  for (const Scored& pair : scored) {
    similar += pair.similar ? 1.0 : 0.0;
    if (pair.score < threshold) continue;
    found += 1.0;
    right += pair.similar ? 1.0 : 0.0;
  }
  return {found > 0.0 ? right / found : 1.0, right / similar};
}

/// The chance that a similar pair scores above a different one.
double area(const std::vector<Scored>& scored) {
  double sum = 0.0, count = 0.0;
  for (const Scored& yes : scored) {
    for (const Scored& no : scored) {
      if (!yes.similar || no.similar) continue;
      sum += yes.score > no.score ? 1.0 : yes.score == no.score ? 0.5 : 0.0;
      count += 1.0;
    }
  }
  return sum / count;
}

/// The largest recall with at least that precision, and its threshold.
std::pair<double, Measured> for_precision(const std::vector<Scored>& scored, double precision) {
  std::pair<double, Measured> best{2.0, {1.0, 0.0}};
  for (const Scored& pair : scored) {
    const Measured measured = at_threshold(scored, pair.score);
    if (measured.precision >= precision && measured.recall > best.second.recall) best = {pair.score, measured};
  }
  return best;
}

void print_row(const std::string& name, const std::vector<Scored>& scored) {
  double threshold = 0.0;
  for (const Scored& pair : scored) {
    if (at_threshold(scored, pair.score).f1() > at_threshold(scored, threshold).f1()) threshold = pair.score;
  }
  const Measured best = at_threshold(scored, threshold), usual = at_threshold(scored, 0.85);
  const auto [strict, precise] = for_precision(scored, 0.9);
  std::printf("| %s | %.3f | %.0f / %.0f %% | %.2f: %.0f / %.0f %% | %s |\n", name.c_str(), area(scored), 100 * usual.precision,
              100 * usual.recall, threshold, 100 * best.precision, 100 * best.recall,
              strict > 1.0 ? "none" : fmt::format("{:.2f}: {:.0f} %", strict, 100 * precise.recall).c_str());
}

void print_thresholds(const std::string& name, const std::vector<Scored>& scored) {
  std::printf("\n%s\n\n| threshold | precision | recall |\n| --- | --- | --- |\n", name.c_str());
  for (int hundredths = 40; hundredths <= 95; hundredths += 5) {
    const Measured measured = at_threshold(scored, hundredths / 100.0);
    std::printf("| %.2f | %.0f %% | %.0f %% |\n", hundredths / 100.0, 100 * measured.precision, 100 * measured.recall);
  }
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

class Encoder {
 public:
  explicit Encoder(engine::Engine& engine) : engine_(engine) {}

  /// Mean of T5's last hidden states over the tokens.
  Result<std::vector<float>> operator()(const std::string& prompt) {
    CONTINUO_TRY(const std::vector<int> ids, engine_.tokenize(prompt));
    CONTINUO_TRY(const std::vector<float> hidden, engine_.encode_text(ids));
    const std::size_t width = hidden.size() / ids.size();
    std::vector<float> mean(width);
    for (std::size_t i = 0; i < hidden.size(); ++i) mean[i % width] += hidden[i] / static_cast<float>(ids.size());
    return mean;
  }

 private:
  engine::Engine& engine_;
};

/// Shares of letter groups of 3 to 5, the rarer among the reference prompts the weightier.
class Letters {
 public:
  Letters() {
    for (const std::string_view prompt : library::reference_prompts()) {
      for (const auto& [group, count] : groups(std::string(prompt))) documents_[group] += 1.0;
    }
  }

  double similarity(const std::string& a, const std::string& b) const {
    const auto left = groups(a), right = groups(b);
    double sum = 0.0;
    for (const auto& [group, count] : left) {
      if (const auto other = right.find(group); other != right.end())
        sum += count * other->second * weight(group) * weight(group);
    }
    return sum / (length(left) * length(right));
  }

 private:
  using Groups = std::map<std::string, double>;

  static Groups groups(const std::string& prompt) {
    std::string text = " ";
    for (const char letter : prompt) {
      const auto c = static_cast<unsigned char>(letter);
      text.push_back(std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : ' ');
    }
    text.push_back(' ');
    Groups found;
    for (std::size_t size = 3; size <= 5; ++size) {
      for (std::size_t at = 0; at + size <= text.size(); ++at) found[text.substr(at, size)] += 1.0;
    }
    return found;
  }
  double weight(const std::string& group) const {
    const auto place = documents_.find(group);
    return std::log(300.0 / (1.0 + (place == documents_.end() ? 0.0 : place->second)));
  }
  double length(const Groups& all) const {
    double square = 0.0;
    for (const auto& [group, count] : all) square += count * count * weight(group) * weight(group);
    return std::sqrt(square);
  }

  Groups documents_;
};

Status run(const std::string& model, const std::string& path) {
  CONTINUO_TRY(const std::vector<Pair> pairs, read_pairs(path));
  CONTINUO_TRY(auto source, weights::open_model(model));
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(source), {.threads = 1}));
  Encoder encode(*engine);
  std::vector<float> references;
  int width = 0;
  for (const std::string_view prompt : library::reference_prompts()) {
    CONTINUO_TRY(const std::vector<float> one, encode(std::string(prompt)));
    width = static_cast<int>(one.size());
    references.insert(references.end(), one.begin(), one.end());
  }
  std::printf("%zu reference prompts, %zu pairs, width %d\n\n", library::reference_prompts().size(), pairs.size(), width);
  std::printf(
      "| fingerprint | area | precision / recall at 0.85 | best F1 | recall at 90 %% precision |\n| --- | --- | --- | --- | --- |\n");
  std::map<std::string, std::vector<Scored>> kept;
  const auto measure = [&](const std::string& name, SpaceKind kind, int dimensions) -> Status {
    CONTINUO_TRY(const FingerprintSpace space, FingerprintSpace::fit(references, width, kind, dimensions));
    std::vector<Scored> scored;
    for (const Pair& pair : pairs) {
      CONTINUO_TRY(const std::vector<float> a, encode(pair.a));
      CONTINUO_TRY(const std::vector<float> b, encode(pair.b));
      CONTINUO_TRY(const std::vector<float> in_a, space.project(a));
      CONTINUO_TRY(const std::vector<float> in_b, space.project(b));
      scored.push_back({cosine(in_a, in_b), pair.similar});
    }
    print_row(name, scored);
    kept[name] = scored;
    return {};
  };
  CONTINUO_CHECK(measure("mean of the hidden states", SpaceKind::raw, 0));
  CONTINUO_CHECK(measure("centred", SpaceKind::centred, 0));
  for (const int dimensions : {8, 16, 32, 64, 96}) {
    if (dimensions <= width)
      CONTINUO_CHECK(measure(fmt::format("whitened, {} dimensions", dimensions), SpaceKind::whitened, dimensions));
  }
  const Letters letters;
  std::vector<Scored> by_letters;
  for (const Pair& pair : pairs) by_letters.push_back({letters.similarity(pair.a, pair.b), pair.similar});
  print_row("letters alone", by_letters);
  for (const auto& [name, scored] : kept) print_thresholds(name, scored);
  print_thresholds("letters alone", by_letters);
  return {};
}

}  // namespace
}  // namespace continuo::quality

int main(int count, char** words) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: prompt_pairs_tool MODEL.gguf [PAIRS.tsv]\n");
    return 2;
  }
  const auto status = continuo::quality::run(words[1], count == 3 ? words[2] : "tests/library/prompt_pairs.tsv");
  if (status) return 0;
  std::fprintf(stderr, "prompt_pairs_tool: %s\n", status.error().message.c_str());
  return 1;
}
