"""A row that was changed in the database behind the server's back: it is told, never sealed, and restored."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from postgres_server import as_admin, give_back, new_schema
from world import World

from holdfast.core.errors import DataDamaged

OLD, FORGED = "The amber cabinet holds the spare fuses", "The amber cabinet is empty"


def test_a_row_changed_by_hand_is_told_never_sealed_and_restored(tmp_path: Path) -> None:
    url = new_schema()
    world = World(tmp_path / "memory", store=url)
    try:
        world.call("remember", content=OLD)
        kept = world.call("snapshot_create")["id"]
        with psycopg.connect(as_admin(url)) as db:
            db.execute("UPDATE memories SET content = %s", (FORGED,))

        assert world.call("verify")["hint"] == "Restore the newest snapshot: holdfast snapshot restore latest --yes"
        (told,) = [one for one in world.call("overview")["warnings"] if one["level"] == "error"]
        assert "checksum" in told["message"]
        with pytest.raises(DataDamaged, match="checksum"):
            world.call("snapshot_create")
        assert [one["id"] for one in world.call("snapshot_list")["snapshots"]] == [kept]
        assert world.call("snapshot_restore", id="latest", yes=True)["before"] is None
        assert [one["content"] for one in world.call("memories")["memories"]] == [OLD]
        assert world.call("verify")["sound"]
    finally:
        world.close()
        give_back(url)
