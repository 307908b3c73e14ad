// The small dialects: POST /generate in its two forms, and Hugging Face's text-to-audio shape.
#pragma once

#include "server/http/router.h"
#include "server/parts.h"

namespace continuo::server {

/// Earlier prompts like this one, as a JSON list, most similar first. Empty list: none, or no index.
using FindSimilar = std::function<Task<std::string>(const std::string& prompt)>;

class GenerateRoutes {
 public:
  GenerateRoutes(const Parts& parts, FindSimilar similar) : parts_(parts), similar_(std::move(similar)) {}
  void add_to(Router& router);

 private:
  Task<void> generate(Exchange& exchange);
  Task<void> answer_json(Exchange& exchange, JobSpec spec, bool use_cache);
  Task<void> huggingface(Exchange& exchange);

  const Parts& parts_;
  FindSimilar similar_;
};

}  // namespace continuo::server
