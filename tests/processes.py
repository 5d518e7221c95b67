"""Real processes: servers and commands that can be killed, starved and lied to, and writers that note what was promised."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import warm
from patience import WAIT_SECONDS
from world import settings

from holdfast.connection import OpenConnection
from holdfast.ops.registry import BY_NAME

WRITERS = 8
PER_SESSION = 20

_OURS = ("HOLDFAST_", "AGENTMEMORY_", "III_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_")
_UNUSED_PORT = "1"
_SYLLABLES = "ba co du fe gi ha jo ku le mi no pu ra so tu ve wi xa yo zu".split()


def environment(**more: str) -> dict[str, str]:
    """The environment without anything that would reach another memory, also a server at the usual port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PORT": _UNUSED_PORT, "HOLDFAST_EMBEDDER": "none", "HOLDFAST_DAEMON": "off", **more}


def holdfast(*words: str) -> list[str]:
    return [sys.executable, "-m", "holdfast.cli.main", *words]


def run(home: Path, *words: str, prefix: Sequence[str] = (), **more: str) -> subprocess.CompletedProcess[str]:
    """A command on the folder; its output as text."""
    return warm.run([*words, "--data", str(home), "--json"], environment(**more), WAIT_SECONDS, prefix=prefix)


def verify(home: Path) -> None:
    """The store is sound, as `holdfast verify` would find it; called here, as a process takes a second to start."""
    with OpenConnection(settings(home)) as connection:
        assert connection.call(BY_NAME["verify"], {})["sound"] is True


def word() -> str:
    """A word that no other record has, and that looks like no secret."""
    return "".join(random.choices(_SYLLABLES, k=7))


class Server:
    """`holdfast serve` as its own process; killed when the block ends if nothing ended it before."""

    def __init__(self, home: Path, *, prefix: Sequence[str] = (), **environ: str):
        words = ("serve", "--data", str(home), "--port", "0", "--json")
        self.home = home
        self._stderr: list[str] = []
        given = environment(**environ)
        self.process = warm.start(words, given, prefix=prefix, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._said: queue.Queue[str | None] = queue.Queue()
        self._threads = [threading.Thread(target=self._listen), threading.Thread(target=self._complain)]
        for thread in self._threads:
            thread.start()
        self.url = ""
        self.http = httpx.Client()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(line)
        self._said.put(None)

    def _complain(self) -> None:
        assert self.process.stderr is not None
        self._stderr.extend(self.process.stderr)

    @property
    def complaints(self) -> str:
        return "".join(self._stderr)

    def ready(self) -> Self:
        """Wait until it listens."""
        said = ""
        while not said.rstrip().endswith("}"):
            line = self._said.get(timeout=WAIT_SECONDS)
            assert line is not None, f"the server ended at its start: {self.complaints}"
            said += line
        self.url = json.loads(said)["url"]
        self.http = httpx.Client(base_url=self.url, timeout=WAIT_SECONDS, trust_env=False)
        return self

    @property
    def pid(self) -> int:
        """The server's own process, also behind a tracer."""
        return int(json.loads((self.home / "server.json").read_bytes())["pid"])

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(f"/agentmemory{path}", params=query)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(f"/agentmemory{path}", json=body)

    def remember(self, text: str, **more: Any) -> httpx.Response:
        return self.post("/remember", content=text, **more)

    def found(self, question: str) -> list[str]:
        answer = self.post("/search", query=question, limit=5)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["results"]]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def ended(self, seconds: float = WAIT_SECONDS) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(seconds)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()
        if self.process.poll() is None:
            with suppress(OSError, KeyError, ValueError):
                os.kill(self.pid, signal.SIGKILL)
            self.process.kill()
        self.ended()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def serving(home: Path, *, prefix: Sequence[str] = (), **environ: str) -> Iterator[Server]:
    """A server that listens."""
    with Server(home, prefix=prefix, **environ) as server:
        yield server.ready()


@dataclass(frozen=True)
class Promise:
    """Something the server said it has."""

    kind: str
    id: str
    word: str
    session: str


@dataclass
class Writers:
    """Threads that remember and observe as fast as they are answered, and note every answer."""

    url: str
    threads: int = WRITERS
    size: int = 0  # characters of filler in each record
    promises: list[Promise] = field(default_factory=list)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _stop: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for number in range(self.threads):
            thread = threading.Thread(target=self._work, args=(number,))
            thread.start()
            self._running.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._running:
            thread.join(WAIT_SECONDS)

    def until(self, met: Callable[[], bool], what: str) -> None:
        """Wait until answers have made the condition true."""
        with self._changed:
            assert self._changed.wait_for(met, WAIT_SECONDS), f"no {what} within {WAIT_SECONDS} s"

    def until_promised(self, number: int) -> None:
        self.until(lambda: len(self.promises) >= number, f"{number} acknowledged writes")

    def _work(self, thread: int) -> None:
        name = word()
        with httpx.Client(base_url=self.url, timeout=WAIT_SECONDS, trust_env=False) as http:
            for number in range(1_000_000):
                if self._stop.is_set():
                    return
                session = f"{name}-{number // PER_SESSION}"
                unique = word()
                try:
                    answer = _send(http, number % 2 == thread % 2, session, unique, "filler " * (self.size // 7))
                except httpx.HTTPError:
                    return  # the server went away: this one was not promised
                with self._changed:
                    self._note(answer, session, unique)
                    self._changed.notify_all()

    def _note(self, answer: httpx.Response, session: str, unique: str) -> None:
        try:
            body = answer.json()
        except ValueError:
            body = {}
        if answer.status_code != 201:
            self.refusals.append((answer.status_code, str(body.get("code"))))
        elif "observationId" in body:
            self.promises.append(Promise("observation", body["observationId"], unique, session))
        else:
            self.promises.append(Promise("memory", body["memory"]["id"], unique, session))


def _send(http: httpx.Client, memory: bool, session: str, unique: str, filler: str) -> httpx.Response:
    if memory:
        text = f"The {unique} was seen near the {word()} and the {word()} {filler}"
        return http.post("/agentmemory/remember", json={"content": text, "sessionId": session})
    body = {
        "sessionId": session,
        "hookType": "post_tool_use",
        "timestamp": "2026-11-15T20:41:34Z",
        "project": "quarry",
        "data": {"tool_name": "Bash", "tool_input": {"command": f"find {unique}"}, "tool_output": f"{word()} {filler}"},
    }
    return http.post("/agentmemory/observe", json=body)


def assert_promises_kept(server: Server, promises: Sequence[Promise]) -> None:
    """Everything that was acknowledged is there, is found by its word, and every session counts right."""
    document = server.get("/export").json()
    memories = {one["id"] for one in document["memories"]}
    observations = {one["id"] for some in document["observations"].values() for one in some}
    have = {"memory": memories, "observation": observations}
    assert [one for one in promises if one.id not in have[one.kind]] == []
    assert [one for one in promises if one.id not in server.found(one.word)] == []
    counted = {one["id"]: one["observationCount"] for one in document["sessions"]}
    assert counted == {id: len(some) for id, some in document["observations"].items()}
