// What a job needs of the store of uploads.
#pragma once

#include <optional>
#include <string>

#include "audio/wav.h"
#include "base/error.h"

namespace continuo::server {

class UploadedSounds {
 public:
  virtual ~UploadedSounds() = default;
  /// I/O thread. Keeps an upload until it is let go, as often as it was pinned. Its length in seconds; nothing: there is none.
  virtual std::optional<double> pin(const std::string& id) = 0;
  virtual void unpin(const std::string& id) = 0;
  /// Pool. The whole sound.
  virtual Result<audio::Sound> sound(const std::string& id) = 0;
  /// I/O thread: whoever had pinned uploads before a restart has done so again.
  virtual void settle() {}
};

}  // namespace continuo::server
