#include "weights/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <optional>
#include <utility>

#include "weights/text_check.h"

namespace continuo::weights {

struct YamlFields::Node {
  YAML::Node yaml;
};

namespace {

constexpr std::size_t text_bytes_max = std::size_t{256} << 10;
constexpr std::size_t depth_max = 32;
constexpr std::size_t list_max = 64;
constexpr int interpolations_max = 16;  // followed for one value; a cycle takes more

/// A bound on how deep the parser can nest, found before it runs: brackets open at once, and what stands in front of a line.
bool nested_too_deeply(std::string_view text) {
  std::size_t open = 0;     // brackets
  std::size_t in_line = 0;  // "- - - " and "? ? ? " open a level each
  std::size_t indent = 0;
  bool at_start = true;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (c == '\n') {
      at_start = true;
      in_line = indent = 0;
    } else if (at_start && c == ' ') {
      ++indent;
    } else if (at_start && (c == '-' || c == '?')) {
      ++in_line;
    } else {
      at_start = false;
    }
    if (open > depth_max || in_line > depth_max || indent > 4 * depth_max) return true;
  }
  return false;
}

/// What stands between "${" and "}", if that is the whole text.
std::optional<std::string> interpolated(const YAML::Node& node) {
  if (!node.IsDefined() || !node.IsScalar()) return std::nullopt;
  const std::string& text = node.Scalar();
  if (text.find("${") == std::string::npos) return std::nullopt;
  const std::string inner = text.starts_with("${") && text.ends_with('}') ? text.substr(2, text.size() - 3) : "";
  const bool plain = !inner.empty() && inner.front() != '.' && inner.find_first_of("${}:[] ") == std::string::npos;
  if (!plain) throw YAML::Exception(node.Mark(), "the interpolation '" + printable(text) + "' is not supported");
  return inner;
}

/// Follows a path, and interpolations on the way, from `root`. `budget` bounds the latter.
YAML::Node follow(const YAML::Node& root, const std::string& path, int& budget) {
  YAML::Node node(root);  // a Node refers; assigning to one would change the tree, so reset() it is
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    if (!node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node next = std::as_const(node)[path.substr(start, end - start)];  // const: looking adds nothing
    if (!next.IsDefined()) return YAML::Node(YAML::NodeType::Undefined);
    node.reset(next);
    while (const auto target = interpolated(node)) {
      if (--budget < 0) throw YAML::Exception(node.Mark(), "its interpolations go round in circles or are too many");
      const YAML::Node found = follow(root, *target, budget);
      if (!found.IsDefined()) throw YAML::Exception(node.Mark(), "'${" + printable(*target) + "}' leads nowhere");
      node.reset(found);
    }
    start = end + 1;
  }
  return node;
}

}  // namespace

Result<YamlFields> YamlFields::parse(std::string_view text, std::string where) {
  if (text.size() > text_bytes_max) {
    return fail(ErrorCode::corrupt_file, "{} has {} bytes; at most {} are accepted", where, text.size(), text_bytes_max);
  }
  if (nested_too_deeply(text)) return fail(ErrorCode::corrupt_file, "{}: the yaml is nested too deeply", where);
  YamlFields fields(std::move(where));
  try {
    fields.root_ = std::make_shared<Node>(Node{YAML::Load(std::string(text))});
    if (fields.root_->yaml.IsMap()) return fields;
  } catch (const std::exception& error) {
    return fail(ErrorCode::corrupt_file, "{}: this is not valid yaml: {}", fields.where_, printable(error.what()));
  }
  return fail(ErrorCode::corrupt_file, "{}: the yaml is not a map", fields.where_);
}

YamlFields::Node YamlFields::find(const std::string& path) {
  try {
    int budget = interpolations_max;
    return {follow(root_->yaml, path, budget)};
  } catch (const YAML::Exception& error) {
    if (status_) status_ = fail(ErrorCode::corrupt_file, "{}: '{}': {}", where_, path, error.msg);
  } catch (const std::exception& error) {
    if (status_) status_ = fail(ErrorCode::corrupt_file, "{}: '{}': {}", where_, path, printable(error.what()));
  }
  return {YAML::Node(YAML::NodeType::Undefined)};
}

void YamlFields::complain(const std::string& path, const char* expected) {
  if (status_) status_ = fail(ErrorCode::corrupt_file, "{}: '{}' is not {}", where_, path, expected);
}

bool YamlFields::has(const std::string& path) {
  const Node node = find(path);
  return node.yaml.IsDefined() && !node.yaml.IsNull();
}

std::vector<std::string> YamlFields::keys(const std::string& path) {
  std::vector<std::string> names;
  const Node node = find(path);
  if (!node.yaml.IsDefined() || !node.yaml.IsMap()) return names;
  for (const auto& item : node.yaml) names.push_back(item.first.IsScalar() ? item.first.Scalar() : std::string("?"));
  return names;
}

template <class T>
void YamlFields::get_scalar(const std::string& path, T& value, const char* expected) {
  const Node node = find(path);
  if (!node.yaml.IsDefined() || node.yaml.IsNull()) return;
  T read{};
  if (!node.yaml.IsScalar() || !YAML::convert<T>::decode(node.yaml, read))
    complain(path, expected);
  else
    value = std::move(read);
}

template <class T>
void YamlFields::get_list(const std::string& path, std::vector<T>& values, const char* expected) {
  const Node node = find(path);
  if (!node.yaml.IsDefined() || node.yaml.IsNull()) return;
  std::vector<T> read;
  if (node.yaml.IsSequence() && node.yaml.size() <= list_max) {
    for (const auto& item : node.yaml) {
      T one{};
      if (item.IsScalar() && YAML::convert<T>::decode(item, one)) read.push_back(std::move(one));
    }
  }
  if (!node.yaml.IsSequence() || read.size() != node.yaml.size())
    complain(path, expected);
  else
    values = std::move(read);
}

void YamlFields::get(const std::string& path, int& value) { get_scalar(path, value, "a whole number of usual size"); }
void YamlFields::get(const std::string& path, bool& value) { get_scalar(path, value, "true or false"); }
void YamlFields::get(const std::string& path, std::string& value) { get_scalar(path, value, "a text"); }
void YamlFields::get(const std::string& path, double& value) {
  double read = value;
  get_scalar(path, read, "a number");
  if (!std::isfinite(read))
    complain(path, "a number of usual size");
  else
    value = read;
}
void YamlFields::get(const std::string& path, std::vector<int>& values) {
  get_list(path, values, "a short list of whole numbers");
}
void YamlFields::get(const std::string& path, std::vector<std::string>& values) {
  get_list(path, values, "a short list of texts");
}

}  // namespace continuo::weights
