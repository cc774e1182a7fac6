#!/usr/bin/env bash
# The MCP servers of tests/interop run in a virtual environment of our own: .tools/venv. Only `make test` needs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. www/build/apt.sh
requirements=tests/interop/requirements.txt
venv=.tools/venv

! cmp -s "$requirements" "$venv/.requirements" || exit 0
command -v python3 >/dev/null || { echo "setup-python: no python3: the tests against real servers are skipped" >&2; exit 0; }
echo "setup-python: installing $requirements into $venv" >&2
mkdir -p .tools
rm -rf "$venv"
if ! python3 -m venv "$venv" >/dev/null 2>&1; then
  # Debian keeps the venv module in a package of its own.
  can_apt || { echo "setup-python: this Python has no venv module" >&2; exit 1; }
  apt_install python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >&2
cp "$requirements" "$venv/.requirements"
