# Everything a person runs. `make help` lists it.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := build
.PHONY: help setup build demo test clean install

help: ## list what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 16

build/build.ninja:
	cmake --preset release

build: build/build.ninja ## build build/bin/skein, skein-bench, skein-sim and skein-tests
	cmake --build build -j $(JOBS)

clean: ## remove build/
	rm -rf build
