// A job's spec as JSON and back. Both ways walk over the same list of fields, so that nothing is written that is not read;
// structured bindings make a forgotten field an error of compilation where the language allows it.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "server/jobs/job.h"

namespace continuo::server {

namespace {

using Json = nlohmann::ordered_json;
constexpr int version = 1;

struct Wrong {
  std::string what;
};

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) { json_ = Json::object(); }

  template <class T>
  void operator()(const char* name, const T& value) {
    json_[name] = written(value);
  }

 private:
  static Json written(bool value) { return value; }
  static Json written(int value) { return value; }
  static Json written(std::uint64_t value) { return value; }
  static Json written(float value) { return static_cast<double>(value); }
  static Json written(double value) { return value; }
  // Text that is not UTF-8 never gets here: requests are checked. Should it, it is written so that reading refuses nothing.
  static Json written(const std::string& value) { return value; }
  template <class E>
  requires std::is_enum_v<E>
  static Json written(E value) { return static_cast<int>(value); }
  template <class T>
  static Json written(const std::optional<T>& value) {
    return value ? written(*value) : Json();
  }
  template <class T>
  static Json written(const std::vector<T>& values) {
    Json all = Json::array();
    for (const T& value : values) all.push_back(written(value));
    return all;
  }
  template <class T>
  requires std::is_class_v<T>
  static Json written(const T& value) {
    Json json;
    Writer writer(json);
    fields(writer, value);
    return json;
  }

  Json& json_;
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {
    if (!json.is_object()) throw Wrong{"an object is missing"};
  }

  template <class T>
  void operator()(const char* name, T& value) {
    const auto found = json_.find(name);
    if (found == json_.end()) throw Wrong{fmt::format("'{}' is missing", name)};
    ++known_;
    read(name, *found, value);
  }
  void finish() const {
    if (known_ != json_.size()) throw Wrong{"it has fields that nobody knows"};
  }

 private:
  [[noreturn]] static void wrong(const char* name) { throw Wrong{fmt::format("'{}' is not what it should be", name)}; }

  static void read(const char* name, const Json& json, bool& value) {
    if (!json.is_boolean()) wrong(name);
    value = json.get<bool>();
  }
  static void read(const char* name, const Json& json, int& value) {
    if (!json.is_number_integer()) wrong(name);
    // A number beyond 63 bits is an unsigned one.
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      wrong(name);
    const auto wide = json.get<std::int64_t>();
    if (wide < std::numeric_limits<int>::min()) wrong(name);
    value = static_cast<int>(wide);
  }
  static void read(const char* name, const Json& json, std::uint64_t& value) {
    if (!json.is_number_unsigned()) wrong(name);
    value = json.get<std::uint64_t>();
  }
  static void read(const char* name, const Json& json, double& value) {
    if (!json.is_number() || !std::isfinite(json.get<double>())) wrong(name);
    value = json.get<double>();
  }
  static void read(const char* name, const Json& json, float& value) {
    double wide = 0.0;
    read(name, json, wide);
    value = static_cast<float>(wide);
    if (static_cast<double>(value) != wide) wrong(name);
  }
  static void read(const char* name, const Json& json, std::string& value) {
    if (!json.is_string()) wrong(name);
    value = json.get<std::string>();
  }
  template <class E>
  requires std::is_enum_v<E>
  static void read(const char* name, const Json& json, E& value) {
    int number = 0;
    read(name, json, number);
    if (number < 0 || number > static_cast<int>(last_of(E{}))) wrong(name);
    value = static_cast<E>(number);
  }
  template <class T>
  static void read(const char* name, const Json& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) read(name, json, value.emplace());
  }
  template <class T>
  static void read(const char* name, const Json& json, std::vector<T>& values) {
    if (!json.is_array()) wrong(name);
    values.clear();
    for (const Json& each : json) read(name, each, values.emplace_back());
  }
  template <class T>
  requires std::is_class_v<T>
  static void read(const char*, const Json& json, T& value) {
    Reader reader(json);
    fields(reader, value);
    reader.finish();
  }

  static engine::Strategy last_of(engine::Strategy) { return engine::Strategy::greedy; }
  static engine::Join last_of(engine::Join) { return engine::Join::crossfaded; }
  static engine::Service last_of(engine::Service) { return engine::Service::realtime; }
  static audio::FileFormat last_of(audio::FileFormat) { return audio::FileFormat::opus; }
  static audio::SampleFormat last_of(audio::SampleFormat) { return audio::SampleFormat::float32; }

  const Json& json_;
  std::size_t known_ = 0;
};

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class Walk, Is<engine::Segment> T>
void fields(Walk& walk, T& segment) {
  auto& [prompt, seconds, join] = segment;
  walk("prompt", prompt);
  walk("seconds", seconds);
  walk("join", join);
}

template <class Walk, Is<engine::Sampling> T>
void fields(Walk& walk, T& sampling) {
  auto& [strategy, temperature, top_k, top_p, guidance] = sampling;
  walk("strategy", strategy);
  walk("temperature", temperature);
  walk("top_k", top_k);
  walk("top_p", top_p);
  walk("guidance", guidance);
}

// All but prompt_codes, prompt_frames and melody, which are made of the uploads.
template <class Walk, Is<engine::Request> T>
void fields(Walk& walk, T& request) {
  using Base = std::conditional_t<std::is_const_v<T>, const engine::Sampling, engine::Sampling>;
  walk("sampling", static_cast<Base&>(request));
  walk("prompt", request.prompt);
  walk("seconds", request.seconds);
  walk("seed", request.seed);
  walk("take", request.take);
  walk("segments", request.segments);
  walk("crossfade_seconds", request.crossfade_seconds);
  walk("service", request.service);
  walk("realtime_or_nothing", request.realtime_or_nothing);
  walk("endless", request.endless);
  walk("chunk_seconds", request.chunk_seconds);
  walk("buffer_seconds", request.buffer_seconds);
}

template <class Walk, Is<audio::GateOptions> T>
void fields(Walk& walk, T& gate) {
  auto& [threshold, hysteresis, attack, hold, release] = gate;
  walk("threshold_db", threshold);
  walk("hysteresis_db", hysteresis);
  walk("attack_seconds", attack);
  walk("hold_seconds", hold);
  walk("release_seconds", release);
}

template <class Walk, Is<audio::LoopOptions> T>
void fields(Walk& walk, T& loop) {
  auto& [crossfade, search, seconds] = loop;
  walk("crossfade_seconds", crossfade);
  walk("search_seconds", search);
  walk("seconds", seconds);
}

template <class Walk, Is<audio::FinishOptions> T>
void fields(Walk& walk, T& finish) {
  auto& [rate, channels, loudness, gate, loop, fade_in, fade_out, keep_level, level_rest, level_anew, ceiling] = finish;
  walk("sample_rate", rate);
  walk("channels", channels);
  walk("loudness", loudness);
  walk("gate", gate);
  walk("loop", loop);
  walk("fade_in", fade_in);
  walk("fade_out", fade_out);
  walk("keep_level", keep_level);
  walk("level_rest", level_rest);
  walk("level_anew", level_anew);
  walk("ceiling_db", ceiling);
}

template <class Walk, Is<RenditionFormat> T>
void fields(Walk& walk, T& output) {
  auto& [format, samples, bit_rate, finish, whole] = output;
  walk("format", format);
  walk("samples", samples);
  walk("bit_rate", bit_rate);
  walk("finish", finish);
  walk("whole", whole);
}

template <class Walk, Is<JobSpec> T>
void fields(Walk& walk, T& spec) {
  auto& [family, model, request, takes, continue_upload, continue_seconds, melody_upload, output, title, keep, webhook, client,
         batch, streamed] = spec;
  walk("family", family);
  walk("model", model);
  walk("request", request);
  walk("takes", takes);
  walk("continue_upload", continue_upload);
  walk("continue_seconds", continue_seconds);
  walk("melody_upload", melody_upload);
  walk("output", output);
  walk("title", title);
  walk("keep", keep);
  walk("webhook", webhook);
  walk("client", client);
  walk("batch", batch);
  walk("streamed", streamed);
}

}  // namespace

std::string write_spec(const JobSpec& spec) {
  Json json;
  Writer writer(json);
  writer("version", version);
  fields(writer, spec);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<JobSpec> read_spec(const std::string& text) {
  const auto refused = [](const std::string& why) {
    return fail(ErrorCode::corrupt_file, "the record of a job cannot be read: {}", why);
  };
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return refused("it is not JSON");
  JobSpec spec;
  try {
    Reader reader(json);
    int written_by = 0;
    reader("version", written_by);
    if (written_by != version) return refused(fmt::format("it is of version {}, not {}", written_by, version));
    fields(reader, spec);
    reader.finish();
  } catch (const Wrong& wrong) {
    return refused(wrong.what);
  }
  return spec;
}

}  // namespace continuo::server
