#!/usr/bin/env bash
# Makes `cargo build --target wasm32-unknown-unknown` work here, and notes in .tools/toolchain which rustc does it
# (env.sh reads that). Idempotent; a fraction of a second when nothing is to do.
#
# WASM_SETUP_ROUTE=auto     whichever already works, else rustup, else debian (the default)
#                  rustup   `rustup target add`
#                  debian   Debian's rustc-web, with std built once from rust-web-src; needs root and apt-get.
#                           For machines that reach package registries but not rustup's server.
set -euo pipefail
cd "$(dirname "$0")/../.."
. www/build/apt.sh

target=wasm32-unknown-unknown
link=debian-web # the name under which rustup knows Debian's toolchain
route=${WASM_SETUP_ROUTE:-auto}
note=.tools/toolchain

log() { printf 'setup-wasm: %s\n' "$*" >&2; }

# rustc as a choice would run it: rustup (its default toolchain), a linked toolchain, or Debian's by path.
rustc_of() {
  case $1 in
    rustup) rustc "${@:2}" ;;
    "$link") RUSTUP_TOOLCHAIN=$link rustc "${@:2}" ;;
    debian) /usr/bin/rustc "${@:2}" ;;
  esac
}

# Does it compile and link a library that needs std? A target that is listed may still lack its linker.
links_wasm() {
  local dir status=0
  dir=$(mktemp -d)
  printf '#[no_mangle]\npub extern "C" fn f(n: u32) -> usize { vec![0u8; n as usize].len() }\n' >"$dir/t.rs"
  rustc_of "$1" --edition 2021 --crate-type cdylib --target "$target" -o "$dir/t.wasm" "$dir/t.rs" \
    >/dev/null 2>&1 || status=1
  rm -rf "$dir"
  return "$status"
}

identity() { { echo "$1"; rustc_of "$1" -vV; } 2>/dev/null | cksum | cut -d' ' -f1; }

via_rustup() {
  command -v rustup >/dev/null || { log "no rustup"; return 1; }
  # Where rustup's server can't be reached it may take its time to say so; macOS has no `timeout`.
  local limit=()
  ! command -v timeout >/dev/null || limit=(timeout 300)
  ${limit[@]+"${limit[@]}"} rustup target add "$target" && links_wasm rustup && choice=rustup
}

# rustc looks for its wasm linker under the name rust-lld in its own folder.
debian_linker() {
  local llvm host bin
  llvm=$(/usr/bin/rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
  bin=$(/usr/bin/rustc --print sysroot)/lib/rustlib/$host/bin
  apt_install "lld-$llvm"
  [ -e "$bin/rust-lld" ] || { mkdir -p "$bin" && ln -sfn "/usr/bin/lld-$llvm" "$bin/rust-lld"; }
}

# Debian ships no std for this target. `test` is what `cargo test` links; the bitcode is what `lto = true` needs.
debian_std() {
  local lib work stamp
  lib=$(/usr/bin/rustc --print sysroot)/lib/rustlib/$target
  stamp=$(identity debian)
  [ "$(cat "$lib/.built-for" 2>/dev/null)" = "$stamp" ] && links_wasm debian && return
  log "building std for $target with $(/usr/bin/rustc -V)"
  work=$(mktemp -d)
  mkdir "$work/src" && : >"$work/src/lib.rs"
  printf '[package]\nname = "stdbuild"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$work/Cargo.toml"
  (
    cd "$work"
    env -u RUSTUP_TOOLCHAIN -u CARGO_TARGET_DIR PATH="/usr/bin:$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
      CARGO_ENCODED_RUSTFLAGS=-Cembed-bitcode=yes CARGO_PROFILE_RELEASE_DEBUG=0 \
      /usr/bin/cargo build -q -Z build-std=std,panic_abort,proc_macro,test --target "$target" --release \
      --target-dir "$work/out"
  )
  rm -rf "$lib.new" && mkdir -p "$lib.new/lib"
  find "$work/out/$target/release/deps" -name '*.rlib' ! -name 'libstdbuild-*' -exec cp {} "$lib.new/lib/" \;
  printf '%s\n' "$stamp" >"$lib.new/.built-for"
  rm -rf "$lib" "$work" && mv "$lib.new" "$lib"
}

via_debian() {
  can_apt || { log "the Debian route needs root and apt-get"; return 1; }
  apt_install rustc-web cargo-web rust-web-src rust-web-clippy rustfmt-web
  debian_linker
  debian_std
  links_wasm debian || { log "std for $target was built, but a test program does not link"; return 1; }
  choice=debian
  command -v rustup >/dev/null || return 0
  [ "$(readlink "$(rustup show home)/toolchains/$link" 2>/dev/null)" = /usr ] || rustup toolchain link "$link" /usr
  # For this checkout only, so that plain `cargo` commands work in it too.
  rustup override set "$link" --path "$PWD" >/dev/null 2>&1
  choice=$link
}

first_that_works() {
  local candidate
  for candidate in rustup "$link" debian; do
    if links_wasm "$candidate"; then choice=$candidate && return 0; fi
  done
  return 1
}

if [ -f "$note" ]; then
  read -r choice stamp <"$note"
  # A choice made earlier stands while its rustc is the same one, unless another route is asked for.
  if [ "$stamp" = "$(identity "$choice")" ]; then
    case $route:$choice in auto:* | rustup:rustup | debian:debian | "debian:$link") exit 0 ;; esac
  fi
fi

choice=
case $route in
  auto) first_that_works || via_rustup || via_debian || true ;;
  rustup) via_rustup || true ;;
  debian) via_debian || true ;;
  *) log "WASM_SETUP_ROUTE is auto, rustup or debian, not '$route'" && exit 2 ;;
esac
[ -n "$choice" ] || { log "no rustc here builds $target"; exit 1; }

mkdir -p .tools
printf '%s %s\n' "$choice" "$(identity "$choice")" >"$note"
log "$(rustc_of "$choice" -V), $target in $(rustc_of "$choice" --print sysroot)"
