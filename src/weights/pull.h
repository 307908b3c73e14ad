// From a name on the hub to an installed model: list, lock, check the space, download, check, convert, clean up.
//
// Downloads lie in CACHE/OWNER/NAME/COMMIT/ until the model is installed, so that any interruption (Ctrl-C, a lost line, a full
// disk, a crash) costs only what was not yet on the disk. One process at a time works on a model: it holds a lock on
// CACHE/OWNER/NAME. The configuration is checked before the weights are fetched: what cannot be converted is refused before
// gigabytes are spent on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/tensor.h"
#include "weights/hub.h"

namespace continuo::weights {

enum class PullStage { downloading, checking, converting };

struct PullPlan {
  std::string license;            // empty: the hub does not say
  std::string source;             // OWNER/NAME@COMMIT, also written into the model file
  std::uint64_t bytes = 0;        // of all files
  std::uint64_t bytes_there = 0;  // of them from earlier tries
};

struct PullOptions {
  HubOptions hub;
  std::string cache;  // folders are made as needed
  std::string models;
  std::string name;  // of the installed model; empty: the hub's
  DType type = DType::f32;
  std::string t5;     // folder of the text encoder, for a repository in audiocraft's layout
  bool keep = false;  // the downloaded files stay
  std::function<bool()> cancelled;
  std::function<void(const PullPlan& plan)> planned;  // before anything large is fetched
  std::function<void(PullStage stage, const std::string& what, std::uint64_t done, std::uint64_t total)> progress;
};

struct Pulled {
  std::string path, name, license, source;
  std::uint64_t bytes = 0;       // of the model file
  std::uint64_t downloaded = 0;  // in this run
  bool was_there = false;        // the same commit and type was installed already; nothing was done
};

/// A model of that name that came from elsewhere is not replaced; one of another commit or type of the same repository is.
Result<Pulled> pull(const HubName& name, const PullOptions& options);

/// $XDG_CACHE_HOME/continuo/hub, else ~/.cache/continuo/hub.
Result<std::string> default_pull_cache(const Environment& environment);

}  // namespace continuo::weights
