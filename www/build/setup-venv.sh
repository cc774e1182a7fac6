#!/usr/bin/env bash
# setup-venv.sh REQUIREMENTS VENV: a virtual environment of our own, made again when the requirements changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. www/build/apt.sh
requirements=$1
venv=$2

! { [ -x "$venv/bin/python" ] && cmp -s "$requirements" "$venv/.requirements"; } || exit 0
command -v python3 >/dev/null || { echo "setup-venv: no python3: what needs $requirements is skipped" >&2; exit 0; }
echo "setup-venv: installing $requirements into $venv" >&2
mkdir -p .tools
rm -rf "$venv"
if ! python3 -m venv "$venv" >/dev/null 2>&1; then
  # Debian keeps the venv module in a package of its own.
  can_apt || { echo "setup-venv: this Python has no venv module" >&2; exit 1; }
  apt_install python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >&2
cp "$requirements" "$venv/.requirements"
