#!/usr/bin/env bash
# The MCP servers of tests/interop run in a virtual environment of our own: .tools/venv. Only `make test` needs it.
exec "$(dirname "$0")/setup-venv.sh" tests/interop/requirements.txt .tools/venv
