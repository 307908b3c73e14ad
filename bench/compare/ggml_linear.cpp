// Times ggml on the linear layers of a MusicGen decoder, for types of weights, layouts and numbers of rows, and prints one JSON
// object.
//
//     ggml_linear [--types q8_0,q4_0] [--rows 2,8] [--threads 2] [--passes 12] [--width 1024] [--layers 24]
//
// Fails if a product is further from the exact one than rounding explains: a time for wrong numbers would say nothing.
#include <ggml-cpu.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "ggml_network.h"

namespace {

using continuo::compare::Layout;
using continuo::compare::Network;
using continuo::compare::Sizes;
using Json = nlohmann::ordered_json;

// Activations rounded to 8 bits in blocks of 32 cost 0.4% of the rms.
constexpr double most_error = 0.02;

struct Plan {
  std::vector<ggml_type> types = {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0};
  std::vector<int> rows = {2, 8};
  int threads = 2;
  int passes = 12;
  Sizes sizes;
};

[[noreturn]] void stop(const std::string& sentence) {
  std::fprintf(stderr, "ggml_linear: %s\n", sentence.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

int number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < 1 || value > 1'000'000) stop("'" + text + "' is not a number of at least 1");
  return static_cast<int>(value);
}

ggml_type type_named(const std::string& name) {
  for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_F16}) {
    if (std::string word = ggml_type_name(type); word == name || (name == "q4_k" && type == GGML_TYPE_Q4_K)) return type;
  }
  stop("'" + name + "' is not a type that is compared; there are q8_0, q4_0, q4_k and f16");
}

Plan parse(int count, char** words) {
  Plan plan;
  for (int i = 1; i < count; i += 2) {
    const std::string_view option = words[i];
    if (i + 1 == count) stop(std::string(option) + " needs a value");
    const std::string value = words[i + 1];
    if (option == "--types") {
      plan.types.clear();
      for (const std::string& name : split(value)) plan.types.push_back(type_named(name));
    } else if (option == "--rows") {
      plan.rows.clear();
      for (const std::string& text : split(value)) plan.rows.push_back(number(text));
    } else if (option == "--threads") {
      plan.threads = number(value);
    } else if (option == "--passes") {
      plan.passes = number(value);
    } else if (option == "--width") {
      plan.sizes.width = number(value);
    } else if (option == "--layers") {
      plan.sizes.layers = number(value);
    } else {
      stop("there is no option '" + std::string(option) + "'");
    }
  }
  // Blocks of 32, and 256 for the K types; layouts take up to 16 channels together.
  if (plan.sizes.width % 256 != 0) stop("--width must be a multiple of 256");
  return plan;
}

/// What this build of the back-end was compiled for and the machine has, such as "AVX2 FMA REPACK".
std::string features(ggml_backend_t backend) {
  ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
  const auto get =
      reinterpret_cast<ggml_backend_get_features_t>(ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features"));
  std::string words;
  for (ggml_backend_feature* feature = get == nullptr ? nullptr : get(reg); feature != nullptr && feature->name != nullptr;
       ++feature) {
    if (std::string_view(feature->value) == "1") words += (words.empty() ? "" : " ") + std::string(feature->name);
  }
  return words;
}

// Else repacking tells of every tensor.
void only_trouble(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

}  // namespace

int main(int count, char** words) {
  const Plan plan = parse(count, words);
  ggml_log_set(only_trouble, nullptr);
  const ggml_backend_ptr backend(ggml_backend_cpu_init());
  if (!backend) stop("ggml has no CPU back-end");
  // Threads that stay between passes, as in a program that runs on.
  ggml_threadpool_params parameters = ggml_threadpool_params_default(plan.threads);
  ggml_threadpool* pool = ggml_threadpool_new(&parameters);
  ggml_backend_cpu_set_n_threads(backend.get(), plan.threads);
  ggml_backend_cpu_set_threadpool(backend.get(), pool);

  Json runs = Json::array();
  bool right = true;
  for (const ggml_type type : plan.types) {
    const std::vector<Layout> layouts = layouts_for(backend.get(), type, plan.sizes);
    const Network network(type, plan.sizes, layouts);
    for (const int rows : plan.rows) {
      const std::vector<double> times = network.time(backend.get(), rows, plan.passes);
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        const double error = network.error(backend.get(), i, rows);
        right = right && error < most_error;
        runs.push_back({{"type", ggml_type_name(type)},
                        {"layout", layouts[i].name},
                        {"rows", rows},
                        {"ms", times[i]},
                        {"bytes", network.weight_bytes()},
                        {"error", error}});
      }
    }
  }
  const Json result{
      {"version", ggml_version()}, {"features", features(backend.get())}, {"threads", plan.threads}, {"runs", runs}};
  std::printf("%s\n", result.dump().c_str());
  ggml_backend_cpu_set_threadpool(backend.get(), nullptr);
  ggml_threadpool_free(pool);
  if (!right) std::fprintf(stderr, "ggml_linear: a product is wrong; see \"error\"\n");
  return right ? 0 : 1;
}
