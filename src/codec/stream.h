// The streaming decoder: frames of codes go in as they are made, samples come out as soon as they are certain.
//
// Exact: the samples are bit for bit those of the whole clip decoded at once, for any division into chunks. There are no windows
// and no context decoded twice: every layer carries what it still needs (stream_layers.h), so a frame costs the same in every
// chunk but for the weights, which a push reads once.
//
// Latency: n frames, if more may follow, let exactly CodecDecoder::samples_ready(n) samples leave; finish() lets out the rest.
// EnCodec at 32 kHz is not causal: a frame is complete when 4 more are in (CodecDecoder::look_ahead), and the first samples leave
// with the fourth frame.
//
// The state belongs to the stream. Streams of one decoder may run interleaved, on its executor's thread, and end at any time; a
// push is passes of the executor, so it ends the life of other tensors. Memory is bounded for any length: bytes() between two
// pushes (40 KB a channel at 32 kHz), and in a push the executor's tensors for at most `pass_frames` frames.
//
// Streams are decoded one after the other. Nothing in their state ties them to a pass, so several could share one, and the
// weights' way through the caches, once join and lstm take a carry for each group of rows (compute/executor.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/decoder.h"
#include "codec/stream_layers.h"

namespace continuo::codec {

/// Frames that go through the first layers together; more come in turn. Those layers have few rows and most of the weights, which
/// are read once for all rows.
inline constexpr int pass_frames = 32;
/// The last layers have many rows and few weights: from where a frame is `many_rows` rows, they take `piece_rows` rows at a time
/// from end to end, so that what one layer writes is still in the cache when the next reads it.
inline constexpr int many_rows = 32, piece_rows = 96;

/// One channel.
class ChannelStream {
 public:
  ChannelStream(const CodecDecoder& decoder, int codebooks);

  /// ids [frames, codebooks], all within their codebooks; adds the new samples to `out`. `last`: no frames follow.
  void push(std::span<const std::int32_t> ids, bool last, std::vector<float>& out);
  std::int64_t bytes() const;

 private:
  struct Stage {
    TransposeStream up;
    std::vector<ResidualStream> residuals;
  };
  void pass(std::span<const std::int32_t> ids, bool last, std::vector<float>& out);
  compute::Tensor upsample(compute::Tensor x, std::size_t first_stage, std::size_t last_stage, bool last);

  compute::Executor& executor_;
  std::span<const compute::Table> codebooks_;
  ConvStream in_;
  LstmStream lstm_;
  std::vector<Stage> stages_;
  std::size_t split_ = 0;  // the stages from here on go piece by piece
  ConvStream out_;
};

/// A clip of one or two channels.
class DecoderStream {
 public:
  /// The decoder must outlive the stream. `codebooks` of all channels together, a multiple of them; the channels' codebooks take
  /// turns: left, right, left, right. As many a channel as the codec has, or fewer.
  static Result<DecoderStream> start(const CodecDecoder& decoder, int codebooks, int channels = 1);

  /// codes [codebooks, frames], frames >= 0 -> the samples that are now certain, [samples, channels], not clamped.
  /// Errors: codes of another number, or outside their codebook; the stream is then as before.
  Result<std::vector<float>> push(std::span<const std::int64_t> codes, int frames);
  /// The rest: after it frames() * hop samples of each channel have left. Nothing may be pushed afterwards.
  std::vector<float> finish();

  /// Frames pushed so far.
  std::int64_t frames() const { return frames_; }
  /// What the stream holds between two pushes.
  std::int64_t bytes() const;

 private:
  DecoderStream(const CodecDecoder& decoder, int codebooks, int channels);
  std::vector<float> interleaved(std::span<const std::vector<float>> samples) const;

  const CodecDecoder* decoder_;
  int codebooks_;  // of one channel
  std::int64_t frames_ = 0;
  bool finished_ = false;
  std::vector<ChannelStream> channels_;
};

}  // namespace continuo::codec
