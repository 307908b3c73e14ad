#!/usr/bin/env bash
# Brings what the comparison needs and this machine lacks, all of it into .deps/ and build-compare/:
#   the other programs of requirements.txt, from PyPI (torch's wheel comes with the GPU libraries: about 3 GB);
#   ggml a second time, compiled for this very machine (some minutes);
#   ggml_linear, built against either ggml.
# With BENCH_PYTHON naming a Python that has torch and transformers already, only OpenVINO is downloaded. What cannot be had is
# said and left out; compare.py names it in its table. Safe to run again.
set -uo pipefail
cd "$(dirname "$0")/../.."

say() { printf 'compare: %s\n' "$*" >&2; }

venv=.deps/compare-venv
install_python() {
  local wanted=bench/compare/requirements.txt mark
  [ -n "${BENCH_PYTHON:-}" ] && wanted=bench/compare/openvino-requirements.txt
  mark=$venv/$(cat bench/compare/*requirements.txt tests/reference/requirements.txt "$wanted" | sha256sum | cut -c1-16).done
  [ -e "$mark" ] && return
  say "installing the packages of $wanted into $venv"
  [ -x $venv/bin/pip ] || python3 -m venv $venv || return
  $venv/bin/pip install --quiet --disable-pip-version-check -r "$wanted" </dev/null && touch "$mark"
}

native=.deps/ggml-native
install_native_ggml() {
  local version
  version=$(sed -n 's/^libggml-python==\([^ ]*\).*/\1/p' scripts/ggml-requirements.txt)
  [ -e "$native/libggml_python-$version.dist-info" ] && return
  say "compiling ggml $version for this machine into $native"
  rm -rf $native
  # Without --no-cache-dir pip would hand out a wheel that it built with other settings.
  CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} CMAKE_ARGS="-DGGML_NATIVE=ON -DGGML_LLAMAFILE=ON" \
    $venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-binary libggml-python \
    --target $native "libggml-python==$version" </dev/null
}

# build_against NAME FOLDER: ggml_linear at build-compare/NAME for the ggml in FOLDER.
build_against() {
  local config
  config=$(find "$PWD/$2" -path '*/cmake/ggml' -type d 2>/dev/null | head -n 1)
  [ -n "$config" ] || { say "there is no ggml in $2"; return 1; }
  cmake -S bench/compare -B "build-compare/$1" -G Ninja -Dggml_DIR="$config" >/dev/null &&
    cmake --build "build-compare/$1" -j "${JOBS:-2}" >/dev/null
}

install_python || say "the packages could not all be installed"
build_against wheel .deps/ggml || say "ggml_linear could not be built for the ggml that continuo uses"
install_native_ggml || say "ggml could not be compiled for this machine"
build_against native $native || say "ggml_linear could not be built for that ggml"
