// The models that a server has loaded, by the names that requests use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace continuo::server {

class Models {
 public:
  struct Model {
    std::string id;
    engine::Engine* engine = nullptr;  // null while it is being loaded
  };
  virtual ~Models() = default;
  /// Null: there is none of this name. The model stays where it is as long as this does.
  virtual const Model* find(std::string_view id) const = 0;
  /// The default first; at least one.
  virtual std::vector<const Model*> list() const = 0;
};

}  // namespace continuo::server
