#include "audio/fourier.h"

#include <cmath>
#include <numbers>

#include "audio/ffmpeg.h"

namespace continuo::audio {

struct Transform::State {
  Owned<AVTXContext> context{nullptr, [](AVTXContext* owned) { ffmpeg().av_tx_uninit(&owned); }};
  av_tx_fn function = nullptr;
};

Transform::Transform(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transform::Transform(Transform&&) noexcept = default;
Transform& Transform::operator=(Transform&&) noexcept = default;
Transform::~Transform() = default;

Result<Transform> Transform::create(int size) {
  CONTINUO_CHECK(load_ffmpeg());
  auto state = std::make_unique<State>();
  AVTXContext* context = nullptr;
  const double scale = 1.0;
  const int status = ffmpeg().av_tx_init(&context, &state->function, AV_TX_DOUBLE_RDFT, 0, size, &scale, AV_TX_UNALIGNED);
  if (status < 0) return fail(ErrorCode::unsupported, "FFmpeg cannot transform {} samples", size);
  state->context.reset(context);
  return Transform(std::move(state));
}

void Transform::operator()(std::vector<double>& samples, std::vector<std::complex<double>>& spectrum) {
  state_->function(state_->context.get(), spectrum.data(), samples.data(), sizeof(double));
}

std::vector<double> hann_window(std::size_t size) {
  std::vector<double> window(size);
  for (std::size_t i = 0; i < size; ++i) {
    window[i] = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size));
  }
  return window;
}

}  // namespace continuo::audio
