"""A server whose memory is exchanged while clients write and search: told to try again, never failed, nothing lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from grafting import graft
from patience import WAIT_SECONDS
from world import settings

from holdfast.core.model import Caller
from holdfast.serve.run import RunningServer
from holdfast.store.data_folder import DATABASE
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.frozen_store import FrozenFile
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES

A = "/agentmemory"
TENANT = Caller().tenant


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[RunningServer, str]]:
    ready, urls = threading.Event(), []

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    server = RunningServer(settings(tmp_path / "memory"), on_ready)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(WAIT_SECONDS)
    yield server, urls[0]
    server.stop()
    thread.join(WAIT_SECONDS)


@contextmanager
def clients(url: str, number: int) -> Iterator[tuple[list[str], Counter[tuple[int, str]], threading.Condition]]:
    """Clients that remember, observe and search until the block ends: what was promised, and every answer."""
    stop, changed = threading.Event(), threading.Condition()
    promised: list[str] = []
    answers: Counter[tuple[int, str]] = Counter()

    def work(client: int) -> None:
        with httpx.Client(base_url=url, timeout=WAIT_SECONDS, trust_env=False) as http:
            for at in range(100_000):
                if stop.is_set():
                    return
                text = f"quartz{client}x{at} of client{client} number{at} was seen near the mill"
                # Long ones are prepared in a thread; both ways lead over the batcher.
                filler = " and so on" * (300 if at % 5 == 0 else 0)
                answer = http.post(f"{A}/remember", json={"content": text + filler})
                found = http.post(f"{A}/search", json={"query": "mill"})
                with changed:
                    answers[found.status_code, "search"] += 1
                    answers[answer.status_code, str(answer.json().get("code"))] += 1
                    if answer.status_code == 201:
                        promised.append(answer.json()["memory"]["id"])
                    changed.notify_all()

    threads = [threading.Thread(target=work, args=(client,)) for client in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield promised, answers, changed
    finally:
        stop.set()
        for thread in threads:
            thread.join(WAIT_SECONDS)


def test_exchanges_under_load_cost_nobody_an_acknowledged_write_and_end_in_no_failure(
    server: tuple[RunningServer, str], tmp_path: Path
) -> None:
    engine, url = server[0].engine, server[1]
    captured = tmp_path / "captured.db"
    capture_store(engine.store.path, captured, TENANT)

    def copy(live: FrozenFile) -> str:
        building = engine.folder.new_generation()
        (building / DATABASE).write_bytes(captured.read_bytes())
        graft(building / DATABASE, live.path, TENANT)
        return engine.folder.finish(building)

    def back(live: FrozenFile) -> str:
        previous = engine.folder.previous()
        assert previous is not None
        live.give_back(previous, TENANT)
        return previous

    with clients(url, 6) as (promised, answers, changed):
        for number in range(6):
            with changed:
                have = len(promised)
                assert changed.wait_for(lambda: len(promised) >= have + 30, WAIT_SECONDS)  # noqa: B023 - waited for here
            engine.exchange(back if number % 2 else copy, TENANT)
        with changed:
            assert changed.wait_for(lambda: len(promised) >= have + 60, WAIT_SECONDS)
    assert set(answers) <= {(201, "None"), (503, "restoring"), (200, "search")}, answers
    kept: set[str] = set()
    for name in engine.folder.generations():
        store = SqliteStore(engine.folder.home / name / DATABASE, lambda event: None)
        assert store.verify() == []
        kept |= {one.id for one in store.read().find(MEMORIES, TENANT)}
        store.close()
    assert [id for id in promised if id not in kept] == []


def test_a_token_that_was_revoked_after_the_snapshot_opens_nothing_after_the_restore(
    server: tuple[RunningServer, str], tmp_path: Path
) -> None:
    engine, url = server[0].engine, server[1]
    captured = tmp_path / "captured.db"
    with httpx.Client(base_url=url, timeout=WAIT_SECONDS, trust_env=False) as http:
        made = http.post(f"{A}/tokens", json={"name": "laptop"}).json()
        bearer = {"Authorization": f"Bearer {made['token']}"}
        capture_store(engine.store.path, captured, TENANT)
        assert http.post(f"{A}/search", json={"query": "x"}, headers=bearer).status_code == 200
        assert http.delete(f"{A}/tokens/{made['record']['id']}").status_code == 200

        def copy(live: FrozenFile) -> str:
            building = engine.folder.new_generation()
            (building / DATABASE).write_bytes(captured.read_bytes())
            graft(building / DATABASE, live.path, TENANT)
            return engine.folder.finish(building)

        engine.exchange(copy, TENANT)
        assert http.post(f"{A}/search", json={"query": "x"}, headers=bearer).status_code == 401


def test_whoever_writes_during_an_exchange_is_told_when_to_come_back(server: tuple[RunningServer, str]) -> None:
    engine, url = server[0].engine, server[1]
    told: list[httpx.Response] = []

    def ask(live: FrozenFile) -> str:
        with httpx.Client(base_url=url, timeout=WAIT_SECONDS, trust_env=False) as http:
            text = {"content": "The weir is opened at dusk"}
            told.append(http.post(f"{A}/remember", json=text))
            told.append(http.post(f"{A}/mcp/call", json={"name": "memory_save", "arguments": text}))
        return engine.folder.current()

    engine.exchange(ask, TENANT)

    assert [(one.status_code, one.headers.get("retry-after")) for one in told] == [(503, "1"), (503, "1")]
