# The front door. `make help` says what there is.

PROMPT ?= warm lofi beat with a soft electric piano
SECONDS ?= 10
OUT ?= out/
BENCH ?=
COMPARE ?=
FUZZ_SECONDS ?= 60
DAY_REQUESTS ?= 2000
DAY_MODEL ?= models/demo.gguf
SOAK_SECONDS ?= 900
LOAD ?=
TARGET ?=

# In CI warnings are errors.
PRESET := $(if $(filter true,$(CI)),ci,release)
JOBS := $(shell nproc 2>/dev/null || echo 2)
CCACHE := $(shell command -v ccache 2>/dev/null)
LAUNCHER := $(if $(CCACHE),-DCMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE))
# Folders whose tests use threads; ThreadSanitizer has nothing to say about the others.
THREADED := src/base src/compute src/engine tests/golden
has_tests = $(shell find $(1) -name '*_test.cpp' 2>/dev/null)
TSAN_LAYERS := $(notdir $(foreach folder,$(THREADED),$(if $(call has_tests,$(folder)),$(folder))))
SOURCES = $(shell find src tests fuzz bench -name '*.h' -o -name '*.cpp')

export PROMPT OUT

.PHONY: help run build test check test-arm day soak fuzz bench bench-compare bench-server clean format deb deb-check setup setup-tests setup-deb
.DEFAULT_GOAL := help

help:
	@echo 'make run [PROMPT="..."] [SECONDS=10] [OUT=out/]   install what is missing, build, make a clip'
	@echo 'make build    the program, at build/continuo'
	@echo 'make test     build and run all tests'
	@echo 'make check    the tests again under AddressSanitizer, UBSan and ThreadSanitizer'
	@echo 'make test-arm the kernels for ARM64, cross compiled and emulated; needs a cross compiler and QEMU (CONTRIBUTING.md)'
	@echo 'make fuzz [FUZZ_SECONDS=60] [TARGET="gguf wav"]   feeds the parsers of files with damaged ones; needs clang 16 or newer'
	@echo 'make day      2,000 requests of every kind through one engine, a few minutes'
	@echo 'make soak [SOAK_SECONDS=900]   random requests with random faults at one server'
	@echo 'make bench [BENCH="--shape musicgen-small"]       how fast this machine is'
	@echo 'make bench-compare [COMPARE="--rounds 3"]         beside transformers, torch, ggml and OpenVINO; downloads them (bench/README.md)'
	@echo 'make bench-server [LOAD="--clients 1,4,20"]       first sound, throughput and memory of the server under load'
	@echo 'make deb      a Debian package, at build/continuo_VERSION_ARCHITECTURE.deb; make deb-check tests it'
	@echo 'make format   clang-format over the sources'
	@echo 'make clean    remove the build folders'

setup:
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh tests

build: setup
	@cmake --preset $(PRESET) $(LAUNCHER) >/dev/null
	@cmake --build build --target continuo -j $(JOBS)

run: build
	@case "$$OUT" in */) mkdir -p "$$OUT";; esac
	@build/continuo generate -d '$(SECONDS)' -o "$$OUT" -- "$$PROMPT"

test: setup-tests
	@cmake --preset $(PRESET) $(LAUNCHER) >/dev/null
	@cmake --build build -j $(JOBS)
	@python3 tests/run_tests.py --ctest build --python build --pytest build

check: setup-tests
	@cmake --preset asan $(LAUNCHER) >/dev/null
	@cmake --build build-asan -j $(JOBS)
	@cmake --preset tsan $(LAUNCHER) >/dev/null
	@cmake --build build-tsan -j $(JOBS) --target $(TSAN_LAYERS:%=%_tests)
	@python3 tests/run_tests.py --ctest build-asan --ctest build-tsan $(TSAN_LAYERS) --python build-asan

# What it needs is not in scripts/setup.sh: few machines want it.
test-arm:
	@missing=; \
	for tool in aarch64-linux-gnu-g++ qemu-aarch64-static cmake ninja; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	for file in /usr/src/googletest/CMakeLists.txt /usr/include/fmt/format.h /usr/include/tl/expected.hpp; do [ -e $$file ] || missing="$$missing $$file"; done; \
	if [ -n "$$missing" ]; then \
	  echo "test-arm: missing:$$missing; on Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static cmake ninja-build googletest libfmt-dev libexpected-dev" >&2; \
	  exit 1; \
	fi
	@cmake --preset arm $(LAUNCHER) >/dev/null
	@cmake --build build-arm -j $(JOBS)
	@python3 tests/run_tests.py --ctest build-arm

setup-deb:
	@scripts/setup.sh deb

deb: setup-deb build
	@[ -e models/demo.gguf ] || echo 'deb: models/demo.gguf is not there, so the package comes without the demo model'
	@cpack --config build/CPackConfig.cmake -B build

deb-check: deb
	@CONTINUO_BINARY=build/continuo python3 -m unittest discover -v -s tests/package -t tests -p '*_test.py'

# 2,000 requests of every kind on the demo model (src/engine/day_test.cpp); a few minutes.
day: setup-tests
	@cmake --preset $(PRESET) $(LAUNCHER) >/dev/null
	@cmake --build build -j $(JOBS) --target engine_tests
	@CONTINUO_DAY_REQUESTS=$(DAY_REQUESTS) CONTINUO_DAY_MODEL=$(DAY_MODEL) build/tests/engine_tests --gtest_filter='Day.*'

# Random requests of all kinds with random faults (tests/server/soak.py); fails if anything was lost or kept.
soak: setup-tests
	@$(MAKE) --no-print-directory build
	@CONTINUO_BINARY=build/continuo .deps/server-venv/bin/python tests/server/soak.py --seconds $(SOAK_SECONDS)

fuzz: setup
	@JOBS=$(JOBS) fuzz/run.sh $(FUZZ_SECONDS) $(TARGET)

bench: build
	@build/continuo bench $(BENCH)

# Only the table goes to standard output.
bench-compare:
	@$(MAKE) --no-print-directory build >&2
	@JOBS=$(JOBS) bench/compare/setup.sh >&2
	@bench/compare/compare.py $(COMPARE)

# Only the table goes to standard output. Needs nothing beyond Python's own library.
bench-server:
	@$(MAKE) --no-print-directory build >&2
	@CONTINUO_BINARY=build/continuo python3 bench/server_load.py $(LOAD)

format:
	@clang-format -i $(SOURCES)

clean:
	@rm -rf build build-debug build-asan build-tsan build-fuzz build-arm build-compare
