"""The same memory for every surface: time that stands still, chance that counts, one prepared folder to copy."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engines import copy_store, store_of
from patience import WAIT_SECONDS

from holdfast.core.model import Caller, Json
from holdfast.engine import Engine
from holdfast.ops.oauth.clients import register
from holdfast.ops.oauth.consents import choice, wait_for_consent
from holdfast.ops.oauth.oauth_records import AccessRequest
from holdfast.ops.registry import BY_NAME
from holdfast.serve.run import RunningServer
from holdfast.settings import Settings, load
from holdfast.store.damage import Damage, note_damage
from holdfast.store.data_folder import DATABASE

NOON = 1_790_000_000_000
MINUTE = 60_000
PROJECT = "harbor"
# Stands in every text of the prepared memory: where another tenant reads it, something leaked.
MARK = "lighthouse"


class StillClock:
    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def steady(self) -> float:
        return self.now / 1000


class CountingEntropy:
    """One row of numbers per length: a server's own run token does not shift the ids of its records."""

    def __init__(self, first: str = "c") -> None:
        self._first = first
        self._given: Counter[int] = Counter()

    def hex(self, chars: int) -> str:
        self._given[chars] += 1
        return self._first + f"{self._given[chars]:0{chars - 1}x}"


def environment(home: Path) -> dict[str, str]:
    """Every setting that the surfaces must share, as the environment gives it."""
    return {
        "HOLDFAST_EMBEDDER": "none",  # vectors come when they come: answers could not be compared
        "HOLDFAST_HOME": str(home),
        "HOLDFAST_STORE": store_of(home),
        "HOLDFAST_DAEMON": "off",
        "HOLDFAST_PORT": "0",
        "HOLDFAST_LLM": "none",
        "HOLDFAST_IMPORT_ROOTS": str(transcripts(home)),
        "HOLDFAST_PAGE_FOLDERS": str(home / "pages"),
    }


def transcripts(home: Path) -> Path:
    """Beside the copies, not inside one: its path stands in requests, so that it is the same for all."""
    return home.parent / "transcripts"


def settings_for(home: Path, **changes: Any) -> Settings:
    return load(changes, environment(home))


@dataclass(frozen=True)
class Prepared:
    """A closed data folder to copy, and the ids of its records by the names that samples use."""

    home: Path
    ids: dict[str, str]

    def copy(self, name: str) -> Path:
        """A folder of its own with the same memory, beside the first."""
        home = self.home.parent / name
        shutil.copytree(self.home, home)
        copy_store(self.home, home)
        return home

    def filled(self, value: Any) -> Any:
        """The value with every "<name>" replaced by the id of that record."""
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        if isinstance(value, str) and value.startswith("<") and value.endswith(">"):
            return self.ids[value[1:-1]]
        return value


def inside(arguments: Json, home: Path) -> Json:
    """The arguments with every {home} replaced by the folder of the copy."""
    return {
        name: value.replace("{home}", str(home)) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def still_engine(settings: Settings, *, rescue: bool = False) -> Engine:
    """An engine whose answers depend on the requests alone."""
    return Engine(settings, StillClock(), CountingEntropy(), rescue=rescue)


def prepare(home: Path, nexo: Path) -> Prepared:
    """Fill a folder with at least one record of every kind; the bundle of the earlier system lies beside it."""
    _write_transcript(transcripts(home))
    clock = StillClock(NOON - 60 * MINUTE)
    engine = Engine(settings_for(home), clock, CountingEntropy("b"))

    def call(operation: str, **arguments: Any) -> Any:
        clock.now += MINUTE
        return BY_NAME[operation].call(engine.context(Caller()), arguments)

    try:
        ids = {**_sessions(call, clock), **_kept(call)}
        call("guard_add", place=str(transcripts(home)), redact=False)
        _keep_a_damaged_one(engine)
        clock.now = NOON  # such a request waits for minutes only
        ids["consent"] = _waiting_client(engine)
    finally:
        engine.close()
    (home / "pages").mkdir()
    (home / "pages" / "harbour.md").write_text("# Harbour\n\nIt is deep. It was dug by hand long ago.\n", "utf-8")
    (home / "vault").mkdir()  # empty: a folder that does not exist is none
    return Prepared(
        home, {**ids, "transcripts": str(transcripts(home)), "back": str(home.parent / "back"), "nexo": str(nexo)}
    )


def _keep_a_damaged_one(engine: Engine) -> None:
    """A generation that a restore would have kept aside, older than the live one."""
    damaged = engine.path / "gen-000000"
    damaged.mkdir()
    engine.capture(damaged / DATABASE, Caller().tenant)
    note_damage(damaged, Damage("unknown", "a page cannot be read"))


def _waiting_client(engine: Engine) -> str:
    """The code under which a client that registered waits for consent."""
    ctx, back = engine.context(Caller()), "https://harbor.example/back"
    client = register(ctx, {"client_name": "Harbor desk", "redirect_uris": [back]})["client_id"]
    asked = AccessRequest(client, "Harbor desk", back, "c" * 43, "s", ("read", "write"))
    code, _ = wait_for_consent(ctx, asked, choice(asked, "", "harbor-desk", ("read",)))
    return code


def _sessions(call: Any, clock: StillClock) -> dict[str, str]:
    ids: dict[str, str] = {}
    for session in ("s-build", "s-ended", "s-gone"):
        call("session_start", sessionId=session, project=PROJECT, cwd=f"/w/{MARK}", title=f"The {MARK} {session}")
        for number, (hook, data) in enumerate(_EVENTS):
            seen = call(
                "observe",
                sessionId=session,
                hookType=hook,
                timestamp=clock.now,
                data=data,
                project=PROJECT,
                cwd=f"/w/{MARK}",
            )
            ids[f"{session}/{number}"] = seen["observationId"]
        call("session_commit", sha=f"abc{session[2:]}000", sessionId=session, branch="main", message=f"Paint {MARK}")
    for session in ("s-ended", "s-gone"):
        call("session_end", sessionId=session)
    call("summarize", sessionId="s-gone")
    return ids


_EVENTS: tuple[tuple[str, Json], ...] = (
    ("user_prompt_submit", {"prompt": f"Always paint the {MARK} white, please. Never use red."}),
    (
        "post_tool_use",
        {"tool_name": "Edit", "tool_input": {"file_path": f"/w/{MARK}/lamp.py"}, "tool_output": "done"},
    ),
    (
        "post_tool_failure",
        {"tool_name": "Bash", "tool_input": {"command": f"make {MARK}"}, "error": f"Error: no {MARK} rule"},
    ),
)


def _kept(call: Any) -> dict[str, str]:
    ids = {}
    call("create_entities", entities=[{"name": "Ada", "entityType": "", "observations": [f"walks round the {MARK}"]}])
    for name, text in _MEMORIES.items():
        kept = call(
            "remember",
            content=text,
            project=PROJECT,
            concepts=["coast", name],
            files=[f"/w/{MARK}/{name}.py"],
            sessionId="s-build",
            scope="global",  # also for chats
        )
        ids[name] = kept["memory"]["id"]
    for name, text in _LESSONS.items():
        ids[name] = call("lesson_save", content=text, project=PROJECT, tags=["sea"])["lesson"]["id"]
    for name in ("action", "action-other"):
        ids[name] = call("action_create", title=f"Oil the {MARK} {name}", project=PROJECT, priority=7)["action"]["id"]
    ids |= _coordinated(call, ids)
    call("address_alias", id=ids["memory"], alias=f"facts://{MARK}/lamp")
    call("relate", sourceId=ids["memory"], targetId=ids["memory-other"], type="supports")
    call("relate", sourceId=ids["memory"], targetId=ids["memory-outdated"], type="supersedes")
    lamp = {"text": f"The {MARK} lamp burns oil", "n": 9}
    call("items_put", items=[{"namespace": ["lamps", MARK, "old"], "key": "south", "value": lamp}])
    call("slot_create", label="keepers", content=f"Two keepers live in the {MARK}.", scope="global", sizeLimit=200)
    call("slot_create", label="fogs", content=f"Fog around the {MARK}.", scope="global")
    call("second_brain_write", file="coast.md", content=f"# The {MARK} coast")
    ids["snapshot"] = call("snapshot_create", label=f"The {MARK} at dawn")["id"]
    call("remember", content=f"The {MARK} keeper sleeps late on Sundays.", project=PROJECT)
    ids["snapshot-later"] = call("snapshot_create", label=f"The {MARK} at noon")["id"]
    ids["token"] = call("token_create", name=MARK, scopes=["read"])["record"]["id"]
    return ids


def _coordinated(call: Any, ids: dict[str, str]) -> dict[str, str]:
    made = {}
    made["checkpoint"] = call("checkpoint", name=f"The {MARK} is inspected", type="ci")["checkpoint"]["id"]
    for name in ("sentinel", "sentinel-other"):
        made[name] = call("sentinel_create", name=f"{MARK} {name}", type="approval")["sentinel"]["id"]
    for name in ("sketch", "sketch-other"):
        made[name] = call("sketch_create", title=f"{MARK} {name}", project=PROJECT)["sketch"]["id"]
        call("sketch_add", sketchId=made[name], title=f"Draw the {MARK}")
    steps = [{"title": f"Sweep the {MARK}"}, {"title": "Lock the door", "dependsOn": [0]}]
    made["routine"] = call("routine_create", name=f"{MARK} morning", steps=steps)["routine"]["id"]
    made["run"] = call("routine_run", routineId=made["routine"], project=PROJECT)["run"]["id"]
    for dimension, value in (("area", "coast"), ("team", "sea")):
        call("facet_tag", targetType="memory", targetId=ids["memory-other"], dimension=dimension, value=value)
    call("team_share", itemType="memory", itemId=ids["memory"])
    photo = {"text": f"A photo of the {MARK} door", "imageData": "iVBORw0KGgo="}
    call("agent_observe", sessionId="s-photo", project=PROJECT, **photo)
    return made


_MEMORIES = {
    "memory": f"The {MARK} lamp turns once every ten seconds.",
    "memory-other": f"Ships greet the {MARK} with two short blasts of the horn.",
    "memory-old": f"The harbor master of the {MARK} keeps his ledger in green ink.",
    "memory-outdated": f"The {MARK} lamp turns once every twenty seconds.",
    "memory-forgotten": f"Gulls nest under the eastern gallery of the {MARK} in spring.",
    "memory-governed": f"Oil for the {MARK} arrives by barge on the first Monday.",
}
_LESSONS = {
    "lesson": f"Trim the wick of the {MARK} before the storm comes in.",
    "lesson-wrong": f"Salt keeps the windows of the {MARK} clean.",
}


def _write_transcript(folder: Path) -> None:
    folder.mkdir()
    lines = [
        {
            "type": "user",
            "message": {"role": "user", "content": f"Count the stairs of the {MARK}"},
            "uuid": f"00000000-0000-4000-8000-00000000000{number}",
            "sessionId": "5c1e2a40-1111-4222-8333-444455556666",
            "cwd": "/w/stairs",
            "timestamp": f"2026-03-02T10:00:0{number}.000Z",
        }
        for number in (1, 2)
    ]
    (folder / "stairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@contextmanager
def still_folders() -> Iterator[None]:
    """Folders opened by a command or a client in this process have still time, and chance that goes on counting."""
    clock, entropy = StillClock(), CountingEntropy()

    def opened(settings: Settings, *, rescue: bool = False) -> Engine:
        return Engine(settings, clock, entropy, rescue=rescue)

    with patch("holdfast.connection.Engine", opened):
        yield


@dataclass(frozen=True)
class Serving:
    """A running server and its engine."""

    url: str
    server: RunningServer

    @property
    def engine(self) -> Engine:
        return self.server.engine


@contextmanager
def still_server(settings: Settings) -> Iterator[Serving]:
    """A real server on loopback with still time. Its background work never falls due: it would shift ids."""
    ready = threading.Event()
    urls: list[str] = []

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    with (
        patch("holdfast.serve.run.Engine", still_engine),
        patch("holdfast.serve.background.maintenance.INDEX_SECONDS", 3_600.0),
        patch("holdfast.serve.background.vector_worker.VectorWorker.start", lambda self: None),
        patch("holdfast.serve.background.learning_thread.LearningThread.start", lambda self: None),
        patch("holdfast.serve.background.schedule.LOOK_SECONDS", 3_600.0),
    ):
        server = RunningServer(settings, on_ready)
        thread = threading.Thread(target=server.run, name="still-server")
        thread.start()
        try:
            assert ready.wait(WAIT_SECONDS), "the server did not come up"
            yield Serving(urls[0], server)
        finally:
            server.stop()
            thread.join(WAIT_SECONDS)
