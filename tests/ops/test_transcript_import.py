"""What an import of transcripts leaves behind: each event once, and no session that waits for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from world import World

from holdfast.core.errors import InvalidRequest
from holdfast.core.times import iso

pytestmark = pytest.mark.engines


def transcript(folder: Path, now: int, *minutes_ago: int) -> Path:
    """A transcript of Claude Code with a prompt at each of these moments before now."""
    lines = [
        {
            "type": "user", "sessionId": "old-session", "uuid": f"prompt-{at}", "cwd": "/work/shed",
            "timestamp": iso(now - at * 60_000), "message": {"role": "user", "content": f"Sort shelf number {at}"},
        }
        for at in minutes_ago
    ]  # fmt: skip
    folder.mkdir(exist_ok=True)
    path = folder / "old-session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def only_session(world: World) -> dict[str, Any]:
    (session,) = world.call("sessions")["sessions"]
    return session  # type: ignore[no-any-return]


def test_an_imported_session_is_ended_at_its_last_event(tmp_path: Path) -> None:
    world = World(tmp_path / "m", import_roots=str(tmp_path / "t"))
    path = transcript(tmp_path / "t", world.clock.now, 300, 200)
    for _ in range(2):
        world.call("import_jsonl", path=str(path))
        session = only_session(world)
        assert (session["status"], session["endedAt"]) == ("completed", iso(world.clock.now - 200 * 60_000))
    world.close()


def test_a_session_that_may_go_on_is_not_ended_by_an_import(tmp_path: Path) -> None:
    world = World(tmp_path / "m", import_roots=str(tmp_path / "t"))
    world.call("import_jsonl", path=str(transcript(tmp_path / "t", world.clock.now, 300, 5)))
    assert only_session(world)["status"] == "active"
    world.close()


def test_an_older_copy_of_a_transcript_does_not_end_a_session_that_went_on(tmp_path: Path) -> None:
    world = World(tmp_path / "m", import_roots=str(tmp_path / "t"))
    world.call("import_jsonl", path=str(transcript(tmp_path / "t", world.clock.now, 300, 5)))
    world.call("import_jsonl", path=str(transcript(tmp_path / "t", world.clock.now, 300)))
    assert only_session(world)["status"] == "active"
    world.close()


def test_transcripts_are_imported_once(tmp_path: Path) -> None:
    folder = Path(__file__).parent.parent / "intake" / "transcripts"
    world = World(tmp_path / "m", import_roots=str(folder))
    first = world.call("import_jsonl", path=str(folder))
    assert first["observations"] > 0
    assert first["sessionIds"]
    again = world.call("import_jsonl", path=str(folder))
    assert again["observations"] == 0
    assert again["duplicates"] == first["observations"] + first["duplicates"]
    sessions = world.call("sessions")["sessions"]
    assert sum(one["observationCount"] for one in sessions) == first["observations"]
    assert {one["status"] for one in sessions} == {"completed"}
    with pytest.raises(InvalidRequest, match="not in a folder"):
        world.call("import_jsonl", path="/etc")
    world.close()
