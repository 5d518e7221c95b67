"""A restore, its way back and the same restore again, as a program: whoever breaks it at a system call sees what it leaves."""

from __future__ import annotations

import sys
from pathlib import Path

from grafting import graft
from world import settings

from holdfast.core.disk import disk_faults
from holdfast.core.errors import Fault
from holdfast.engine import Engine
from holdfast.store.engine_port import FrozenStore


def main(words: list[str]) -> int:
    """Restore what was captured, go back to what there was, restore it again and drop what is old; say each step."""
    home, captured = Path(words[0]), Path(words[1])

    def restore(live: FrozenStore) -> str:
        building = engine.folder.new_generation()
        with disk_faults("extract"):
            (building / "memory.db").write_bytes(captured.read_bytes())
        graft(building / "memory.db", live.path, "default")
        return engine.folder.finish(building)

    def back(live: FrozenStore) -> str:
        previous = engine.folder.previous()
        live.give_back(previous, "default")
        return previous

    try:
        engine = Engine(settings(home))
        try:
            for step in (restore, back, restore):
                engine.exchange(step, "default")
                print("done", flush=True)
            engine.folder.drop_old(0)
        finally:
            engine.close()
    except Fault as fault:
        print(fault.message, file=sys.stderr)
        return fault.exit_code
    return 0
