#!/usr/bin/env bash
# setup-tool.sh NAME VERSION BINARY: a Rust program, by name, into .tools/, never over the user's own.
# Idempotent; a moment when it is there in that version.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1 version=$2 binary=$3

have=$(.tools/bin/"$binary" --version 2>/dev/null | sed -n '1s/^[^0-9]*\([0-9.]*[0-9]\).*/\1/p' || true)
[ "$have" != "$version" ] || exit 0
printf 'setup-tool: building %s %s into .tools (once; about a minute)\n' "$name" "$version" >&2

# Unoptimised it takes half as long to build and a quarter of a second more per run.
build=$PWD/.tools/build/$name
install_tool() {
  env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET \
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_TARGET_DIR="$build" \
    cargo install --quiet --force --no-default-features "$name" --version "=$version" --root .tools "$@"
}
# A mirror may lack a version that the tool's lock file names.
install_tool --locked || {
  echo "setup-tool: $name can't be had as its lock file says; taking what fits" >&2
  install_tool
}
rm -rf "$build"
