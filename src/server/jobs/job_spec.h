// What a job is to do: as data alone, so that requests can be read (and fuzzed) without what runs them.
#pragma once

#include <optional>
#include <string>

#include "engine/engine.h"
#include "server/media/rendition_format.h"

namespace continuo::server {

/// What a client asked for, checked and complete: nothing is left to draw or to default.
struct JobSpec {
  std::string family;       // who asked, for metrics: "speech", "jobs", "generate", "huggingface", "stream", "batch"
  std::string model;        // id, one of /v1/models
  engine::Request request;  // of take 1; takes 2 and on differ in the number alone. prompt_codes and melody are filled in later
  int takes = 1;
  std::string continue_upload;             // id of an upload whose end is continued
  std::optional<double> continue_seconds;  // only its last seconds
  std::string melody_upload;
  RenditionFormat output;  // of the audio links without a query
  std::string title;       // of its takes in the library; empty: the prompt
  bool keep = true;        // its takes go into the library
  std::string webhook;     // empty: none
  std::string client;      // who asks
  std::string batch;       // id of the batch that it is part of; empty: none
  bool streamed = false;   // belongs to a connection and is cancelled with it; not resumed after a restart
};

}  // namespace continuo::server
