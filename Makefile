# landfall. Each target does its own set-up, and nothing twice; `make` alone lists them.
SHELL := bash
env := www/build/env.sh
package := target/npm
modules := target/modules
raw := $(or $(CARGO_TARGET_DIR),target)/wasm32-unknown-unknown/release/landfall.wasm
papers := README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE
# The command line tool and the crate must be of one version: Cargo.toml has it.
bindgen := $(shell sed -n 's/^wasm-bindgen = "=\(.*\)"/\1/p' Cargo.toml)
geckodriver := 0.37.1
cargofuzz := 0.13.2
# Parts that do not depend on each other run side by side.
parallel := @$(MAKE) --no-print-directory -j4
# What cargo would make of make's job server, whose pipes its recipes do not have, is a warning.
unexport MAKEFLAGS MFLAGS

.PHONY: help demo check test engines packaging relay servers conformance soak bench mutants fuzz matrix load build size api pack clean distclean
help: ## this list
	@sed -n 's/^\([a-z]*\): [^#]*## \(.*\)/  make \1	\2/p; s/^\([a-z]*\): ## \(.*\)/  make \1	\2/p' Makefile

demo: ## one call through scripted network faults, in the terminal (ONCE=1: and then ends)
	$(parallel) .build
	@$(env) node www/demo/demo.mjs $(if $(ONCE),--once)

check: ## the quick loop: formats, lints, types, native tests, the driver and the wrapper in Node
	$(parallel) .build .setup-npm
	@$(env) node www/build/test.mjs --quick

test: ## everything, browsers and real servers too
	$(parallel) .build .setup-test .setup-npm
	@$(env) node www/build/test.mjs

engines: ## the driver's cases in browsers, in their workers, in Node and Deno
	$(parallel) .setup-npm .setup-geckodriver
	@$(env) node www/build/test.mjs driver

packaging: ## the packed package in every runtime and bundler
	$(parallel) .build .setup-browsers .setup-npm
	@$(env) node www/build/test.mjs packaging

matrix: ## every fault against landfall and the clients that others wrote, as a table
	$(parallel) .build .setup-npm
	@$(env) node tests/matrix/matrix.mjs

relay: ## a relay before the server UPSTREAM, on this machine: www/relay/README.md
	$(parallel) .build
	@mkdir -p www/relay/node_modules && ln -sfn ../../../target/npm www/relay/node_modules/landfall
	@$(env) env PUBLIC=$(if $(SECRET),$(PUBLIC),1) TOOLS='$(or $(TOOLS),*)' PORT=$(or $(PORT),8787) node www/relay/node.mjs

load: ## 10 000 calls through seeded faults, 500 at once, and what they cost (SECONDS, CALLS, AT_ONCE, SEED, PARTS)
	$(parallel) .build .setup-npm
	@$(env) env SECONDS=$(SECONDS) CALLS=$(CALLS) AT_ONCE=$(AT_ONCE) SEED=$(SEED) node tests/load/main.mjs $(PARTS)

servers: ## the servers that others wrote, over landfall's ways in, as a table
	$(parallel) .build .setup-servers .setup-npm
	@$(env) node tests/servers/matrix.mjs

conformance: ## the official conformance suite, scenario by scenario
	$(parallel) .build .setup-npm
	@$(env) node tests/conformance/main.mjs

soak: .setup-wasm ## a million schedules of the simulation (SCHEDULES)
	@$(env) env LANDFALL_SOAK=$(or $(SCHEDULES),1000000) cargo test --locked --release --test proto sim -- --nocapture

bench: ## what events, calls and sessions cost in Node, workerd, Chromium and the core, beside others (WORDS: only those; PICTURE=1: draws it)
	$(parallel) .build .setup-browsers .setup-npm
	@$(env) node www/bench/all.mjs $(WORDS)
	$(if $(PICTURE),@$(env) node www/bench/picture.mjs && node www/docs/pictures.mjs)

mutants: build ## every recorded break, alone: does its test notice? (WORDS: only those that have one of them)
	@$(env) node www/build/mutants.mjs $(WORDS)

fuzz: .setup-wasm .setup-fuzz ## the core under hostile bytes and sequences of events, FUZZ_SECONDS (300) per target
	@$(env) node www/build/fuzz.mjs $(or $(FUZZ_SECONDS),300)

build: ## the npm package, in target/npm
	$(parallel) .build

size: ## what takes the space, in the module and in the JavaScript; fails above the budget (LOWER=1: lowers it)
	$(parallel) .build
	@$(env) node www/build/size.mjs $(modules) $(package) $(raw) $(if $(LOWER),--lower)

api: ## writes the report of the public types (tests/api) that make check compares
	$(parallel) .build .setup-npm
	@$(env) node www/build/api.mjs $(package) --write

pack: build ## its tarball, in target
	@cd $(package) && npm pack --silent --pack-destination ..

clean: ## removes what was built
	rm -rf target

distclean: clean ## and what was installed into this folder
	rm -rf .tools node_modules tests/servers/node_modules

# ---- The package: cargo -> wasm-bindgen -> factory -> wasm-opt, and tsc -> bundle
.PHONY: .build FORCE
.build: $(package)/package.json

$(package)/package.json: $(modules)/core/core.js $(wildcard src/ts/* src/ts/*/*.ts) $(papers) pkg.json Cargo.toml tsconfig.json \
    www/build/stage.mjs www/build/bundle.mjs www/build/notice.mjs Cargo.lock | .setup-build
	@$(env) node www/build/stage.mjs $(modules) $(package)

$(modules)/core/core.js: $(raw) package-lock.json www/build/core.mjs www/build/factory.mjs | .setup-bindgen .setup-build
	@$(env) node www/build/core.mjs $(raw) $(modules)

# Cargo knows when there is something to do; if not, the module keeps its time, and nothing after it is made again.
$(raw): FORCE | .setup-wasm
	@$(env) cargo build --locked --release --lib --target wasm32-unknown-unknown

# ---- Set-up. What apt-get installs, one after the other.
.PHONY: .setup-wasm .setup-bindgen .setup-build .setup-npm .setup-test .setup-browsers .setup-geckodriver .setup-fuzz .setup-python \
    .setup-servers
.setup-wasm:
	@www/build/setup-wasm.sh

# Any cargo can build a native tool, so this need not wait for the wasm target, unless that brings the cargo.
.setup-bindgen: | $(if $(shell command -v cargo),,.setup-wasm)
	@www/build/setup-tool.sh wasm-bindgen-cli $(bindgen) wasm-bindgen

# What builds and the demo need; whoever asks for all of npm's, too, has them by that.
.setup-build: | $(filter .setup-npm,$(MAKECMDGOALS))
	@www/build/setup-npm.sh --workspace www

.setup-npm:
	@www/build/setup-npm.sh

.setup-test: .setup-geckodriver .setup-fuzz .setup-python

.setup-browsers: | .setup-wasm
	@www/build/setup-browsers.sh

.setup-geckodriver: | .setup-browsers .setup-bindgen .setup-fuzz
	@! command -v firefox >/dev/null || www/build/setup-tool.sh geckodriver $(geckodriver) geckodriver

# libFuzzer is C++; without a compiler the suite is skipped, and says why.
.setup-fuzz: | $(if $(shell command -v cargo),,.setup-wasm)
	@! (command -v c++ || command -v g++ || command -v clang++) >/dev/null || \
	    www/build/setup-tool.sh cargo-fuzz $(cargofuzz) cargo-fuzz

.setup-python: | .setup-browsers
	@www/build/setup-python.sh

.setup-servers: | .setup-npm
	@www/build/setup-servers.sh
