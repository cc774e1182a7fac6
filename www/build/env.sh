#!/usr/bin/env bash
# The environment of everything that builds or runs here: source it, or `www/build/env.sh COMMAND...`.
# Our own tools come first; cargo is the one that setup-wasm.sh found to build for wasm32.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
toolchain=
if [ -f "$root/.tools/toolchain" ]; then read -r toolchain _ <"$root/.tools/toolchain"; fi
case $toolchain in
  debian-web) export RUSTUP_TOOLCHAIN=debian-web ;;
  debian) PATH=/usr/bin:$PATH ;;
esac
export PATH="$root/.tools/bin:$root/node_modules/.bin:$PATH"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=wasm-bindgen-test-runner
# For the wasm tests in browsers; the runner's own limit is 20 s for a whole run.
export WASM_BINDGEN_TEST_WEBDRIVER_JSON=$root/tests/browser/webdriver.json
export WASM_BINDGEN_TEST_TIMEOUT=${WASM_BINDGEN_TEST_TIMEOUT:-180}
# Where test.mjs starts the fault server: compiled into the wasm tests, since a page has no environment.
export LANDFALL_FAULT_SERVER=${LANDFALL_FAULT_SERVER:-http://127.0.0.1:8917}
unset root toolchain
if [ "${BASH_SOURCE[0]}" = "$0" ]; then exec "$@"; fi
