#!/usr/bin/env bash
# Chromium, Firefox and WebKitGTK for the tests in browsers. Installed where we are root on Debian; elsewhere the user's
# are used, and the tests report what is missing as skipped.
set -euo pipefail
. "$(dirname "$0")/apt.sh"

missing=()
command -v chromedriver >/dev/null || missing+=(chromium chromium-driver)
command -v firefox >/dev/null || missing+=(firefox-esr)
command -v WebKitWebDriver >/dev/null || missing+=(webkit2gtk-driver)
# WebKitGTK wants a display.
command -v xvfb-run >/dev/null || missing+=(xvfb xauth)
[ ${#missing[@]} -gt 0 ] || exit 0
if can_apt && apt_install "${missing[@]}"; then exit 0; fi
echo "setup-browsers: not here: ${missing[*]}" >&2
