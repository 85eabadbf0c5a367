#!/bin/sh
# install.sh DIR: puts the agents whose readings ours is compared with into DIR/node_modules.
#
# Exact versions, because what a loader does with a damaged file changes between releases and a comparison
# is only worth something when both sides are named. Install scripts are off: only the modules are imported,
# nothing of them is run as a program. The registry is whatever npm is configured with.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: install.sh DIR" >&2
  exit 2
fi
mkdir -p "$1"
cd "$1"
[ -e package.json ] || printf '{"private":true}\n' > package.json
npm install --no-audit --no-fund --ignore-scripts --save-exact \
  "@oh-my-pi/pi-coding-agent@18.2.3" \
  "@mariozechner/pi-coding-agent@0.73.0" \
  "@earendil-works/pi-coding-agent@1.6.0" \
  "bun@1.4.5" >&2
# The bun package fetches its binary in its install script, so that one has to run.
npm rebuild bun >&2
bun=$(pwd)/node_modules/.bin/bun
"$bun" --version > /dev/null
echo "PEERS=$(pwd)"
