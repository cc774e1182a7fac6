#!/usr/bin/env bash
# npm ci, when the lock file is not the one that node_modules was made from.
set -euo pipefail
cd "$(dirname "$0")/../.."
stamp=node_modules/.landfall-lock

! cmp -s package-lock.json "$stamp" || exit 0
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' ||
  { echo "setup-npm: Node 20 or newer is needed, this is $(node --version)" >&2; exit 1; }
echo "setup-npm: npm ci" >&2
npm ci --no-audit --no-fund --loglevel=error >&2
# The Node 24 that some tools need must not become the Node of everything else here.
rm -f node_modules/.bin/node
cp package-lock.json "$stamp"
