#!/usr/bin/env bash
# run.sh SECONDS [TARGET...]: builds the fuzz targets with clang and runs each for that long, one after the other.
# What an input teaches is kept in build-fuzz/corpus/TARGET; an input that breaks something in build-fuzz/found/TARGET.
# FUZZ_CXX names the compiler, else the newest clang++ from 16 to 21 is taken. JOBS is how many compilers run at once.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift

compiler=${FUZZ_CXX:-}
for version in 21 20 19 18 17 16; do
  [ -n "$compiler" ] || compiler=$(command -v "clang++-$version" || true)
done
if [ -z "$compiler" ]; then
  printf 'fuzz: no clang++ of version 16 or newer is here (Debian 12: apt-get install clang-16 libclang-rt-16-dev)\n' >&2
  exit 1
fi

cmake --preset fuzz -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
  for source in fuzz/*_fuzz.cpp; do
    name=$(basename "$source")
    targets+=("${name%_fuzz.cpp}")
  done
fi
cmake --build build-fuzz -j "${JOBS:-2}" --target "${targets[@]/#/fuzz_}"

# An allocation above 256 MiB counts as a failure, and so does an input that takes 20 seconds; one that takes a second is reported.
status=0
for target in "${targets[@]}"; do
  mkdir -p "build-fuzz/corpus/$target" "build-fuzz/found/$target"
  printf '== %s\n' "$target"
  log=build-fuzz/found/$target.log
  build-fuzz/fuzz/"fuzz_$target" "build-fuzz/corpus/$target" "fuzz/corpus/$target" -max_total_time="$seconds" -max_len=65536 \
    -malloc_limit_mb=256 -rss_limit_mb=1024 -report_slow_units=1 -timeout=20 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="build-fuzz/found/$target/" </dev/null >"$log" 2>&1 || { status=1; tail -n 60 "$log"; }
  grep -E '^stat::(number_of_executed_units|slowest_unit_time_sec|peak_rss_mb)|^Done' "$log" || true
done
exit "$status"
