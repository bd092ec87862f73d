# Everything a person runs. `make help` lists it.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
GROUP ?= runtime
ROUNDS ?= 5

.DEFAULT_GOAL := build
.PHONY: help build demo test check bench bench-peers sanitize coverage format fuzz install clean

help: ## list what make can do
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## install what is missing, build build/bin/skein, skein-bench, skein-sim and skein-tests
	@scripts/setup build
	@test -f build/build.ninja || cmake --preset release
	@cmake --build build -j $(JOBS)

demo: ## install what is missing, build the program, run a swarm, kill an agent, kill the node: nothing is lost
	@scripts/setup build
	@test -f build/build.ninja || cmake --preset release
	@cmake --build build -j $(JOBS) --target skein-cli
	@build/bin/skein demo --agents 4 --tasks 40

test: build ## build, then run every test; ends with 'N passed, N failed'
	@scripts/setup test
	@scripts/run-tests build

check: build ## clang-format, clang-tidy, headers that stand alone, tests/tidy
	@scripts/setup check
	@scripts/check

format: ## lay out every source as .clang-format says
	@scripts/setup check
	@scripts/format -i

bench: build ## run the benchmarks of GROUP (default: runtime)
	@build/bin/skein-bench $(GROUP)

bench-peers: build ## the same work on Erlang, CAF, SQLite or BullMQ, side by side: GROUP, ROUNDS
	@scripts/setup peers
	@scripts/bench-peers $(GROUP) --rounds $(ROUNDS)

sanitize: ## the unit tests under AddressSanitizer with UBSan, and under ThreadSanitizer
	@scripts/setup build sanitize
	@scripts/sanitize

coverage: ## line coverage per layer; fails under 80%
	@scripts/setup build coverage
	@scripts/coverage

fuzz: ## run every fuzz target for SKEIN_FUZZ_SECONDS (default 60)
	@scripts/setup build sanitize
	@scripts/fuzz

install: build ## install into DESTDIR and PREFIX (default /usr/local)
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean: ## remove build/
	rm -rf build
