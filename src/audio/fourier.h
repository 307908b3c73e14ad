// The Fourier transform of real samples in double precision, by FFmpeg's.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "base/error.h"

namespace continuo::audio {

class Transform {
 public:
  /// Errors: FFmpeg is missing, or has no transform of that size.
  static Result<Transform> create(int size);
  Transform(Transform&&) noexcept;
  Transform& operator=(Transform&&) noexcept;
  ~Transform();

  /// samples: [size], overwritten; spectrum: [size / 2 + 1]
  void operator()(std::vector<double>& samples, std::vector<std::complex<double>>& spectrum);

 private:
  struct State;
  explicit Transform(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Periodic: it adds up to a constant over a hop of half its size.
std::vector<double> hann_window(std::size_t size);

}  // namespace continuo::audio
