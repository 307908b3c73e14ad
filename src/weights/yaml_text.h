// The yaml of an audiocraft checkpoint ("xp.cfg"), with the ${...} interpolations of OmegaConf resolved where a value is read.
//
// A path is "seanet.causal". Interpolations of the form ${a.b.c}, absolute and whole-valued, are followed, along a path too;
// other forms (${oc.env:...}, parts of a text) are refused where they are read, and so are cycles.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace continuo::weights {

/// Reads values by path, keeping the first complaint. A value that is absent or null keeps what stands in the variable.
class YamlFields {
 public:
  /// Refuses more than 256 KiB, nesting deeper than 32 and what is not a map. `where` begins every message.
  static Result<YamlFields> parse(std::string_view text, std::string where);

  void get(const std::string& path, int& value);
  void get(const std::string& path, double& value);
  void get(const std::string& path, bool& value);
  void get(const std::string& path, std::string& value);
  void get(const std::string& path, std::vector<int>& values);
  void get(const std::string& path, std::vector<std::string>& values);
  /// The same for a value that must be there.
  template <class T>
  void need(const std::string& path, T& value) {
    if (!has(path)) return complain(path, "there");
    get(path, value);
  }
  /// True if the value is there and not null.
  bool has(const std::string& path);
  /// The keys of a map; none if it is absent, null or empty.
  std::vector<std::string> keys(const std::string& path);

  const std::string& where() const { return where_; }
  /// The first complaint. What was read in vain is then not to be used.
  const Status& status() const { return status_; }

 private:
  struct Node;
  explicit YamlFields(std::string where) : where_(std::move(where)) {}
  Node find(const std::string& path);
  template <class T>
  void get_scalar(const std::string& path, T& value, const char* expected);
  template <class T>
  void get_list(const std::string& path, std::vector<T>& values, const char* expected);
  void complain(const std::string& path, const char* expected);

  std::string where_;
  std::shared_ptr<Node> root_;
  Status status_;
};

}  // namespace continuo::weights
