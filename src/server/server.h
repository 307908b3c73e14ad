// The server as a whole: from options and model files to an orderly end.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "server/options.h"

namespace continuo::server {

struct ModelFile {
  std::string id;    // what requests call it
  std::string path;  // of a GGUF file
};

/// Serves until SIGTERM or SIGINT. models: at least one, the default first, no id twice.
/// Errors: what cannot be right about the options or the models, before anything is served; a port that is taken.
Status serve(const ServerOptions& options, const std::vector<ModelFile>& models, const engine::EngineOptions& engine);

}  // namespace continuo::server
