"""The holdfast command as a process of its own whose time stands still, whose chance counts, and whose folder is that of
no project: a search would prefer it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the helpers of all tests

from parity_world import still_engine

import holdfast.cli.hook.hook_payload
import holdfast.connection
from holdfast.cli.main import main

if __name__ == "__main__":
    holdfast.connection.Engine = still_engine  # type: ignore[misc,assignment]
    holdfast.cli.hook.hook_payload.project = lambda folder, environ: ""
    sys.exit(main())
