#include "audio/ffmpeg.h"

#include <dlfcn.h>

#include <cassert>
#include <string>

namespace continuo::audio {

namespace {

Result<void*> open_library(const std::string& name, int version) {
  const std::string file = fmt::format("lib{}.so.{}", name, version);
  // Never closed: FFmpeg and what it brings keep state for the whole process.
  if (void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  return fail(
      ErrorCode::unsupported,
      "this needs FFmpeg, and its library {} is not installed (on Debian and Ubuntu: apt install lib{}{}); generating WAV files "
      "at the model's own rate goes without",
      file, name, version);
}

Result<Ffmpeg> open_all() {
  CONTINUO_TRY(void* const avutil, open_library("avutil", LIBAVUTIL_VERSION_MAJOR));
  CONTINUO_TRY(void* const avcodec, open_library("avcodec", LIBAVCODEC_VERSION_MAJOR));
  CONTINUO_TRY(void* const avformat, open_library("avformat", LIBAVFORMAT_VERSION_MAJOR));
  CONTINUO_TRY(void* const swresample, open_library("swresample", LIBSWRESAMPLE_VERSION_MAJOR));
  Ffmpeg table;
#define CONTINUO_LOOK_UP(library, function)                                                 \
  table.function = reinterpret_cast<decltype(table.function)>(::dlsym(library, #function)); \
  if (table.function == nullptr) {                                                          \
    return fail(ErrorCode::unsupported, "FFmpeg's lib{} has no {}", #library, #function);   \
  }
  CONTINUO_FFMPEG_FUNCTIONS(CONTINUO_LOOK_UP)
#undef CONTINUO_LOOK_UP
  table.av_log_set_level(AV_LOG_QUIET);
  return table;
}

const Result<Ffmpeg>& loaded() {
  static const Result<Ffmpeg> table = open_all();
  return table;
}

}  // namespace

Status load_ffmpeg() {
  if (!loaded()) return forward_error(loaded().error());
  return {};
}

const Ffmpeg& ffmpeg() {
  assert(loaded());
  return *loaded();
}

Owned<SwrContext> own(SwrContext* context) {
  return {context, [](SwrContext* owned) { ffmpeg().swr_free(&owned); }};
}

}  // namespace continuo::audio
