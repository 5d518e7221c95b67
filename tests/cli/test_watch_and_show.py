"""holdfast watch and holdfast show, as a person runs them: real processes, a real server."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from rich.console import Console
from rows import each
from world import StillClock, World, running

from holdfast.cli.commands.dashboard import PAGES, age, bars, print_dashboard
from holdfast.cli.commands.watch import EventPrinter, watch
from holdfast.cli.output.lists import LISTINGS, print_listing
from holdfast.cli.output.render import size
from holdfast.core.errors import ServerUnreachable, Unauthorized
from holdfast.core.model import Json

COMMAND = (sys.executable, "-m", "holdfast.cli.main")
PREFIX = "/agentmemory"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202e\u200b\x9b1m\rover"


class Stop(Exception):
    """Enough was seen."""


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOLDFAST_DAEMON") if name in os.environ}
    return {**kept, "HOME": str(home), "HOLDFAST_HOME": str(home / "memory"), "COLUMNS": "200", "LANG": "C.UTF-8"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(tmp_path / "memory") as http:
        yield http


def _url(http: httpx.Client) -> str:
    return str(http.base_url).rstrip("/")


def _watching(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "watch", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(home),
        # Whoever starts the tests in the background has SIGINT ignored, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _ready(http: httpx.Client, process: subprocess.Popen[str]) -> None:
    """Until the first event arrives, one is sent again and again: nobody says when the socket is open."""
    done = threading.Event()

    def knock() -> None:
        while not done.wait(0.1):
            http.post(f"{PREFIX}/actions", json={"title": "knock"})

    knocking = threading.Thread(target=knock)
    knocking.start()
    assert process.stdout is not None
    assert "knock" in process.stdout.readline()
    done.set()
    knocking.join()


def _until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if text in line)


def test_watch_shows_what_is_stored_and_ends_cleanly(server: httpx.Client, tmp_path: Path) -> None:
    process = _watching(tmp_path, "--url", _url(server))
    _ready(server, process)
    server.post(f"{PREFIX}/remember", json={"content": "The harbour light is green.", "project": "harbour"})

    line = _until(process, "harbour light")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT_SECONDS)

    assert " memory " in line
    assert line.rstrip().endswith("harbour")
    assert (process.returncode, "Traceback" in errors) == (0, False)


def test_watch_gives_programs_one_event_a_line(server: httpx.Client, tmp_path: Path) -> None:
    process = _watching(tmp_path, "--json", "--url", _url(server))
    _ready(server, process)
    server.post(f"{PREFIX}/lessons", json={"content": "Measure twice."})

    event = json.loads(_until(process, "Measure twice"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_SECONDS)

    assert (event["type"], event["data"]["lesson"]["content"]) == ("lesson", "Measure twice.")


def test_watch_without_a_server_says_how_to_start_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "watch", "--url", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        env=_environment(tmp_path),
        check=False,
    )

    assert done.returncode == ServerUnreachable.exit_code
    assert "holdfast serve" in done.stderr


def test_a_wrong_secret_ends_watching(tmp_path: Path) -> None:
    with running(tmp_path, secret="a secret of some length") as http, pytest.raises(Unauthorized):
        watch(_url(http), "another secret", lambda event: None, lambda seconds: None)


def test_after_a_break_watching_goes_on(tmp_path: Path) -> None:
    """The server goes away; the next one on the same port is found, and nobody has to start again."""
    with running(tmp_path / "a") as http:
        port = http.base_url.port or 0

    broken = _Broken(tmp_path / "b", port)
    broken.run()

    assert broken.seen == ["before the break", "after the break"]
    assert broken.pauses


class _Broken:
    """Watches a server that is stopped and started again on its port while watching goes on."""

    def __init__(self, home: Path, port: int):
        self.home, self.port = home, port
        self.seen: list[str] = []
        self.pauses: list[float] = []
        self.first_seen, self.lost, self.back = threading.Event(), threading.Event(), threading.Event()

    def _show(self, event: Json) -> None:
        title = event["data"]["action"]["title"]
        if title not in self.seen:
            self.seen.append(title)
        self.first_seen.set()
        if title == "after the break":
            raise Stop

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.lost.set()
        assert self.back.wait(WAIT_SECONDS)

    def _watch(self) -> None:
        with pytest.raises(Stop):
            watch(f"http://127.0.0.1:{self.port}", None, self._show, self._pause)

    def run(self) -> None:
        watching = threading.Thread(target=self._watch)
        with running(self.home, port=self.port) as http:
            watching.start()
            self._knock(http, "before the break", self.first_seen)
        assert self.lost.wait(WAIT_SECONDS)
        with running(self.home, port=self.port) as http:
            self.back.set()
            done = threading.Event()
            threading.Thread(target=lambda: (watching.join(WAIT_SECONDS), done.set())).start()
            self._knock(http, "after the break", done)
        watching.join(WAIT_SECONDS)
        assert not watching.is_alive()

    def _knock(self, http: httpx.Client, title: str, until: threading.Event) -> None:
        while not until.wait(0.05):
            http.post(f"{PREFIX}/actions", json={"title": title})


def _printed(show: Callable[[Console], None]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=200, highlight=False, force_terminal=False))
    return out.getvalue()


@each("kind", ["memory", "compressed_observation", "session", "lesson", "slot", ESCAPES])
def test_no_stored_text_drives_the_terminal(kind: str) -> None:
    body = dict.fromkeys(("title", "project", "agentId", "updatedAt"), ESCAPES)
    event = {"type": kind, "data": {"type": kind, "body": body}}

    text = _printed(lambda console: EventPrinter(console).show(event))

    assert not [char for char in text if not char.isprintable() and char != "\n"]
    assert text.count("\n") == 1
    assert "owned" in text


def test_the_dashboard_prints_stored_text_as_text(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content="x", title=f"Title {ESCAPES}")
    answer = world.call("overview")
    world.close()

    text = _printed(lambda console: print_dashboard(answer, "here", console))

    assert not [char for char in text if not char.isprintable() and char != "\n"]
    assert "Title" in text


def _shown(home: Path, *words: str) -> Any:
    return subprocess.run(
        [*COMMAND, "show", *words], capture_output=True, text=True, env=_environment(home), check=False
    )


def test_show_prints_the_dashboard_without_a_server(tmp_path: Path) -> None:
    world = World(tmp_path / "memory")
    world.call("remember", content="The harbour light is green.")
    world.close()

    done = _shown(tmp_path)

    assert done.returncode == 0
    for part in (
        "warnings",  # there is no snapshot yet
        "Counts",
        "memories 1",
        "Create one: holdfast snapshot create",
        "The harbour light is green.",
    ):
        assert part in done.stdout


def test_an_empty_memory_is_told_what_to_do_first(tmp_path: Path) -> None:
    assert "holdfast connect" in _shown(tmp_path).stdout


def test_show_has_every_page_of_the_viewer(tmp_path: Path) -> None:
    from holdfast.cli.main import main

    world = World(tmp_path / "memory")
    world.observe(tool_name="Bash", tool_input={"command": "make"}, tool_output="done")
    world.call("remember", content="The harbour light is green.", concepts=["light"])
    world.close()

    codes = {
        page: main(
            [
                "show",
                page,
                *(["s1"] if page in ("replay", "context") else []),
                "--json",
                "--data",
                str(tmp_path / "memory"),
            ]
        )
        for page in PAGES
    }

    assert codes == dict.fromkeys(PAGES, 0)


def _listed(page: str, answer: Json, width: int = 100) -> str:
    out = io.StringIO()
    print_listing(page, answer, Console(file=out, width=width, highlight=False, force_terminal=False))
    return out.getvalue()


def _filled(home: Path) -> World:
    world = World(home)
    world.observe(tool_name="Bash", tool_input={"command": "make"}, tool_output=f"done {ESCAPES}")
    world.call("remember", content=f"The harbour light is green. {ESCAPES}", concepts=["light"], project=ESCAPES)
    world.call("lesson_save", content=f"Look twice. {ESCAPES}")
    world.call("action_create", title=f"Mend the net {ESCAPES}")
    world.call("slot_replace", label="persona", content=f"Brief {ESCAPES}")
    world.call("snapshot_create", label="before the storm", sign=True)
    world.call("drill")
    return world


def test_every_list_fits_the_terminal_on_one_line_a_row_and_drives_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcripts = tmp_path / "claude" / "projects"
    transcripts.mkdir(parents=True)
    (transcripts / f"{ESCAPES}.jsonl").write_text("{}\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(transcripts.parent))
    world = _filled(tmp_path / "home")
    world.call("guard_add", place="claude-code")
    answers = {
        page: world.call(name, **arguments, **({second: "s1"} if page == "replay" else {}))
        for page, (name, arguments, second) in PAGES.items()
        if page not in ("dashboard", "context")  # these are no lists
    }
    answers["guarded places"] = world.call("guard_list")
    answers["versions"] = world.call("guard_history", place="claude-code")
    world.close()

    assert answers.keys() == LISTINGS.keys()
    for page, answer in answers.items():
        lines = _listed(page, answer).splitlines()
        assert len(lines) == 1 + len(answer[LISTINGS[page].rows]) > 1, page
        assert max(map(len, lines)) <= 100, page
        assert all(char.isprintable() for line in lines for char in line), page


def test_lists_say_what_their_page_is_about(tmp_path: Path) -> None:
    world = _filled(tmp_path)
    timeline, log = world.call("timeline", before=5, after=0), world.call("audit")
    snapshots = world.call("snapshot_list")
    world.close()

    day = timeline["observations"][0]["timestamp"][:8]
    assert day in _listed("timeline", timeline)
    assert "lesson_save" in _listed("audit", log)
    assert log["entries"][0]["caller"] in _listed("audit", log)
    shown = _listed("snapshots", snapshots, 160)
    assert "signed, not encrypted" in shown
    assert snapshots["snapshots"][0]["id"] in shown


def test_a_list_says_how_many_are_not_shown_and_an_empty_one_what_to_do(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert "holdfast lesson save" in _listed("lessons", world.call("lessons"))
    for number in range(3):
        world.call("lesson_save", content=f"Lesson {number}")

    assert "2 of 3" in _listed("lessons", world.call("lessons", limit=2))
    world.close()


def test_the_dashboard_does_not_call_a_damaged_snapshot_healthy(tmp_path: Path) -> None:
    world = _filled(tmp_path)
    answer = world.call("overview")
    world.close()
    damaged = {"level": "error", "code": "snapshot_damaged", "message": "one is damaged", "hint": "Make another."}

    text = _printed(lambda console: print_dashboard({**answer, "warnings": [damaged]}, "here", console))

    assert "errors" in text
    assert "healthy" not in text


@each(
    "kind, body, text",
    [
        ("slot", {"label": "persona", "content": "Brief."}, "persona: Brief."),
        ("forgotten", {"ids": ["a", "b"], "counts": {"observations": 1, "sessions": 1}}, "2 records"),
        ("lesson_decay", {"lessons": 1}, "1 lesson"),
    ],
)
def test_watch_says_what_an_event_is_about_and_when(kind: str, body: Json, text: str) -> None:
    line = _printed(
        lambda console: EventPrinter(console, StillClock()).show({"type": kind, "data": {"type": kind, kind: body}})
    )

    assert line.rstrip().endswith(text)
    assert line[2] == line[5] == ":"


def test_a_page_that_is_none_is_refused_with_the_list(tmp_path: Path) -> None:
    done = _shown(tmp_path, "nowhere")

    assert done.returncode == 2
    assert "dashboard, memories" in done.stderr


def test_a_replay_needs_a_session(tmp_path: Path) -> None:
    assert _shown(tmp_path, "replay").returncode == 2


@each("counts, text", [([], "–"), ([0, 0], "–"), ([0, 1, 8], " ▂█"), ([3, 3], "██")])
def test_bars_are_as_high_as_the_counts(counts: list[int], text: str) -> None:
    assert bars(counts) == text


@each("count, text", [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (123_456_789, "123 MB"), (10**15, "1000 TB")])
def test_sizes_are_read_by_people(count: int, text: str) -> None:
    assert size(count) == text


@each("ms, text", [(0, "0 min"), (3 * 3_600_000, "3 h"), (72 * 3_600_000, "3 days")])
def test_ages_are_read_by_people(ms: int, text: str) -> None:
    assert age(ms) == text


def test_the_context_is_printed_with_the_reason_for_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from holdfast.cli.main import main

    world = World(tmp_path / "memory")
    kept = world.call("remember", content="The harbour light is green.", project="harbour")["memory"]["id"]
    world.close()

    assert main(["context", "harbour", "--explain", "--data", str(tmp_path / "memory")]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["Decisions and facts in force", "- The harbour light is green."]
    assert re.fullmatch(rf"    memory of \d{{4}}-\d\d-\d\d, fact, importance \d+, {kept}", printed[2])
    assert re.fullmatch(r"\d+ tokens\.", printed[3])
