#!/usr/bin/env bash
# The servers of others that tests/servers runs: npm's beside their lock file, PyPI's in virtual environments of their
# own, nginx and haproxy from Debian. Only `make servers` needs them.
set -euo pipefail
cd "$(dirname "$0")/../.."
. www/build/apt.sh
npm=tests/servers

if ! cmp -s $npm/package-lock.json $npm/node_modules/.landfall-lock; then
  echo "setup-servers: npm ci in $npm" >&2
  npm ci --prefix $npm --no-audit --no-fund --loglevel=error >&2
  cp $npm/package-lock.json $npm/node_modules/.landfall-lock
fi
www/build/setup-python.sh
for name in mcp1 fastmcp; do
  www/build/setup-venv.sh $npm/requirements-$name.txt .tools/venv-$name
done

missing=()
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null || missing+=(nginx-light)
command -v haproxy >/dev/null || missing+=(haproxy)
[ ${#missing[@]} -gt 0 ] || exit 0
can_apt || { echo "setup-servers: not here: ${missing[*]}" >&2; exit 0; }
# Debian's packages start what they bring, unless this says that it is not to be.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
fi
apt_install "${missing[@]}"
