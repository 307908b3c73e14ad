// FFmpeg's libraries, opened when audio is first read, resampled or encoded. Linked the ordinary way they and the hundred
// libraries behind them would add 75 to 100 ms to every start of the program, `continuo --version` included; so they are opened
// by name, in the major version of the headers that this was compiled against, and the program starts (and generates WAV files)
// without them too.
//
// A function is called through the table: `ffmpeg().av_frame_alloc()`. Its type is that of FFmpeg's own declaration.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libavutil/tx.h>
#include <libswresample/swresample.h>
}

#include <memory>

#include "base/error.h"

#define CONTINUO_FFMPEG_FUNCTIONS(X)          \
  X(avutil, av_channel_layout_copy)           \
  X(avutil, av_channel_layout_default)        \
  X(avutil, av_channel_layout_uninit)         \
  X(avutil, av_dict_free)                     \
  X(avutil, av_dict_set)                      \
  X(avutil, av_frame_alloc)                   \
  X(avutil, av_frame_free)                    \
  X(avutil, av_frame_get_buffer)              \
  X(avutil, av_frame_unref)                   \
  X(avutil, av_free)                          \
  X(avutil, av_log_set_level)                 \
  X(avutil, av_malloc)                        \
  X(avutil, av_opt_set)                       \
  X(avutil, av_opt_set_double)                \
  X(avutil, av_opt_set_int)                   \
  X(avutil, av_opt_set_sample_fmt)            \
  X(avutil, av_tx_init)                       \
  X(avutil, av_tx_uninit)                     \
  X(avcodec, av_packet_alloc)                 \
  X(avcodec, av_packet_free)                  \
  X(avcodec, av_packet_rescale_ts)            \
  X(avcodec, av_packet_unref)                 \
  X(avcodec, avcodec_alloc_context3)          \
  X(avcodec, avcodec_find_decoder)            \
  X(avcodec, avcodec_find_encoder_by_name)    \
  X(avcodec, avcodec_free_context)            \
  X(avcodec, avcodec_get_name)                \
  X(avcodec, avcodec_open2)                   \
  X(avcodec, avcodec_parameters_from_context) \
  X(avcodec, avcodec_parameters_to_context)   \
  X(avcodec, avcodec_receive_frame)           \
  X(avcodec, avcodec_receive_packet)          \
  X(avcodec, avcodec_send_frame)              \
  X(avcodec, avcodec_send_packet)             \
  X(avformat, av_read_frame)                  \
  X(avformat, av_write_frame)                 \
  X(avformat, av_write_trailer)               \
  X(avformat, avformat_alloc_context)         \
  X(avformat, avformat_alloc_output_context2) \
  X(avformat, avformat_close_input)           \
  X(avformat, avformat_find_stream_info)      \
  X(avformat, avformat_free_context)          \
  X(avformat, avformat_new_stream)            \
  X(avformat, avformat_open_input)            \
  X(avformat, avformat_write_header)          \
  X(avformat, avio_alloc_context)             \
  X(avformat, avio_context_free)              \
  X(swresample, swr_alloc_set_opts2)          \
  X(swresample, swr_convert)                  \
  X(swresample, swr_free)                     \
  X(swresample, swr_init)

namespace continuo::audio {

struct Ffmpeg {
#define CONTINUO_DECLARE(library, function) decltype(&::function) function = nullptr;
  CONTINUO_FFMPEG_FUNCTIONS(CONTINUO_DECLARE)
#undef CONTINUO_DECLARE
};

/// Opens the libraries, once in a process, and silences FFmpeg's own log (our errors say what went wrong). Any thread may call
/// it.
Status load_ffmpeg();

/// Only after load_ffmpeg() succeeded.
const Ffmpeg& ffmpeg();

/// An object of FFmpeg's and the function that frees it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

Owned<SwrContext> own(SwrContext* context);

}  // namespace continuo::audio
