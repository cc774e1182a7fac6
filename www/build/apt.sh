#!/usr/bin/env bash
# Sourced by the set-up scripts. Debian's packages, where we are root.

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Installs those of the packages that are missing.
apt_install() {
  local package missing=()
  for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  printf 'apt-get install %s\n' "${missing[*]}" >&2
  apt-get -qq -o DPkg::Lock::Timeout=300 update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends \
    install "${missing[@]}" >/dev/null 2> >(grep -v '^debconf: delaying' >&2)
}
