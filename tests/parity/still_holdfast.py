"""The holdfast command as a process of its own whose time stands still and whose chance counts."""

from __future__ import annotations

import sys

from parity_world import still_engine

import holdfast.door
from holdfast.cli.main import main

if __name__ == "__main__":
    holdfast.door.Engine = still_engine  # type: ignore[misc,assignment]
    sys.exit(main())
