# awd: `make run` builds and serves, `make test` builds and tests. Both install what is missing from
# Debian's packages first (with sudo where needed) and say so. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

AWD := .build/release/awd
SOURCES := Package.swift Sources Plugins Tests

BUILD_PACKAGES := libicu-dev libsqlite3-dev libsodium-dev libxml2-dev libxmlsec1-dev libssl-dev \
  libuv1-dev libcurl4-openssl-dev libnghttp2-dev libtomlplusplus-dev nettle-dev pkg-config
TEST_PACKAGES := xmlsec1 curl openssl python3 sqlite3
BENCH_PACKAGES := nginx-light wrk python3 curl xmlsec1
CHECKED := --explicit-target-dependency-import-check error

# Installs the packages named in $(1), if any is missing; asks nothing.
define install
missing=(); for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing+=($$p); done; \
if [ $${#missing[@]} -gt 0 ]; then \
  echo "awd: installing $${missing[*]}"; \
  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $${missing[@]} >/dev/null; \
fi
endef

.PHONY: help build run test lint format bench fuzz clean deps test-deps

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps:
	@$(call install,$(BUILD_PACKAGES))

test-deps: deps
	@$(call install,$(TEST_PACKAGES))

build: deps ## install what is missing, build .build/release/awd
	@echo "awd: building $(AWD) (release)"
	@swift build -c release --product awd --static-swift-stdlib

run: build ## build, then serve on http://127.0.0.1:8080 with config/dev.toml
	@echo "awd: serving with config/dev.toml; stop with Ctrl-C"
	@exec $(AWD) serve --config config/dev.toml

test: test-deps ## install, build, and run every test
	@echo "awd: building and running every test"
	@swift build --build-tests $(CHECKED)
	@swift test --skip-build --parallel

lint: deps ## formatting, imports, documentation
	@echo "awd: checking the format"
	@swift format lint --strict --parallel --recursive $(SOURCES)
	@echo "awd: checking the imports"
	@swift build $(CHECKED)

format: ## put the sources into the format
	@swift format --in-place --parallel --recursive $(SOURCES)

clean: ## remove what was built
	@rm -rf .build
