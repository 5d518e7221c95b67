#!/bin/sh
# Installs the real agentmemory clients that tests/clients drives into the folder named by the first argument.
# Their optional packages (800 MB of models and engines) are left out: no client that talks to a server needs them.
set -eu
from=$(dirname "$0")
into=$1
oldest=18.19 # the first node with module.register, which runs the clients' TypeScript parts

has_node() {
    command -v node >/dev/null && command -v npm >/dev/null && node -e '
        const [have, need] = [process.versions.node, process.argv[1]].map((v) => v.split(".").map(Number))
        process.exit(have[0] > need[0] || (have[0] === need[0] && have[1] >= need[1]) ? 0 : 1)' "$oldest"
}

if ! has_node && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q && apt-get install -q -y nodejs npm
fi
if ! has_node; then
    echo "tests/clients needs node $oldest or newer, with npm, on the PATH: the tests drive the real npm clients." >&2
    echo "Found: node $(node --version 2>/dev/null || echo missing), npm $(npm --version 2>/dev/null || echo missing)." >&2
    exit 1
fi

mkdir -p "$into"
cp "$from/package.json" "$from/package-lock.json" "$into/"
cd "$into"
npm install --ignore-scripts --omit=optional --no-audit --no-fund
