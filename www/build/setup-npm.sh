#!/usr/bin/env bash
# setup-npm.sh [--workspace www]: npm ci, when node_modules was not made from this lock file; of all that is in it, or of
# what builds and the demo need.
set -euo pipefail
cd "$(dirname "$0")/../.."
all=node_modules/.landfall-lock
some=node_modules/.landfall-lock-www

! cmp -s package-lock.json $all || exit 0
[ $# -eq 0 ] || ! cmp -s package-lock.json $some || exit 0
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' ||
  { echo "setup-npm: Node 20 or newer is needed, this is $(node --version)" >&2; exit 1; }
echo "setup-npm: npm ci $*" >&2
npm ci "$@" --no-audit --no-fund --loglevel=error >&2
# The Node 24 that some tools need must not become the Node of everything else here.
rm -f node_modules/.bin/node
if [ $# -eq 0 ]; then cp package-lock.json $all; else cp package-lock.json $some; fi
