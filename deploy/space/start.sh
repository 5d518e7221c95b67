#!/bin/sh
# Start of a Hugging Face Space, or of any machine whose disk is empty after each start: restore, serve, sync.
#
#   HOLDFAST_VAULT or AGENTMEMORY_DATASET_REPO   where the memory is kept between two lives, e.g. hf://datasets/you/memory
#   HF_TOKEN                                     a token that may write there
#   HOLDFAST_SECRET                              what clients send; kept in the Space's secrets, not in the dataset
#
# The server restores an empty data folder from the vault before it answers anything, and makes a snapshot every ten
# minutes if something changed, which it sends to the vault. When the Space is stopped, one more snapshot is sent.
set -eu
: "${HOLDFAST_HOST:=0.0.0.0}" "${HOLDFAST_PORT:=${PORT:-7860}}" "${HOLDFAST_SNAPSHOT_EVERY:=10m}"
export HOLDFAST_HOST HOLDFAST_PORT HOLDFAST_SNAPSHOT_EVERY
if [ -z "${HOLDFAST_VAULT:-}${AGENTMEMORY_DATASET_REPO:-}" ]; then
    echo "start.sh: set HOLDFAST_VAULT, or what is remembered here is lost at the next start" >&2
    exit 3
fi

holdfast serve &
server=$!
stop() {
    trap '' TERM INT
    # Through the server while it still runs: it has the folder open.
    holdfast snapshot create --label "stopped" >&2 && holdfast vault sync >&2 || echo "start.sh: the last snapshot was not sent" >&2
    kill -TERM "$server"
}
trap stop TERM INT
# A trap interrupts `wait`; wait again until the server itself has ended.
while kill -0 "$server" 2>/dev/null; do
    wait "$server" && code=0 || code=$?
done
exit "${code:-0}"
