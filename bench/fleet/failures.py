"""Writes and searches while a server is killed, the database restarts, or its primary is lost: nothing acknowledged is lost.

    python -m fleet.failures [--seconds 8]        (in bench/)

A client that gets no answer, or one that may be retried, sends the same request with the same idempotency key to the
next server, for ten seconds at most.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from pathlib import Path

import fleet
import psycopg
from client import text
from postgres_cluster import standby

from fleet.clients import PLAIN, Client, fleet_of, tokens_of
from fleet.database import Cluster, database
from fleet.figures import Figure, Part, table
from fleet.sizes import Sizes

CLIENTS, SERVERS = 8, 4
PATIENCE_SECONDS, PAUSE_SECONDS = 10.0, 0.2
TENANTS = [f"agent-{number}" for number in range(CLIENTS)]


@dataclass
class Load:
    """What clients were told."""

    ports: Sequence[int]
    tokens: dict[str, str]
    acknowledged: list[str] = field(default_factory=list)
    requests: int = 0
    again: int = 0  # requests that were sent more than once
    failed: int = 0  # after all tries
    longest: float = 0.0  # seconds
    refusals: Counter[str] = field(default_factory=Counter)  # the last answer to requests that failed
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, number: int) -> None:
        chance, at = random.Random(number), number
        clients = [Client(port, self.tokens[TENANTS[number]], timeout=PATIENCE_SECONDS) for port in self.ports]
        while not self._stop.is_set():
            body, key = {"content": text(chance)}, f"{number}-{chance.random()}"
            began, tries, id = time.monotonic(), 0, None
            refusal = ""
            while id is None and time.monotonic() - began < PATIENCE_SECONDS:
                id, refusal = _id_of(clients[at % len(clients)], body, key)
                tries += 1
                if id is None:  # the next server, and a little later
                    at += 1
                    time.sleep(PAUSE_SECONDS)
            self._note(id, tries, time.monotonic() - began, refusal)

    def _note(self, id: str | None, tries: int, seconds: float, refusal: str) -> None:
        with self._lock:
            self.requests += 1
            self.again += tries > 1
            self.longest = max(self.longest, seconds)
            if id is None:
                self.failed += 1
                self.refusals[refusal] += 1
            else:
                self.acknowledged.append(id)

    def during(self, seconds: float, event: Callable[[], None]) -> None:
        """Work for a third of the time, let it happen, and work on."""
        threads = [threading.Thread(target=self.work, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(seconds / 3)
        event()
        time.sleep(2 * seconds / 3)
        self._stop.set()
        for thread in threads:
            thread.join()


def _id_of(client: Client, body: dict[str, str], key: str) -> tuple[str | None, str]:
    """The id of the memory that was stored; or none, if it is to be tried again, and why."""
    try:
        status, answer = client.post("/remember", body, **{"Idempotency-Key": key})
    except (OSError, HTTPException) as error:
        return None, type(error).__name__
    if status in (200, 201):
        return str(answer["memory"]["id"]), ""
    return None, f"{status} {answer.get('code')}"


def _stored(url: str) -> list[str]:
    with psycopg.connect(url) as db:
        return [id for (id,) in db.execute("SELECT id FROM memories")]


def figure(what: str, load: Load, stored: Sequence[str], goal: float) -> Figure:
    lost = len(set(load.acknowledged) - set(stored))
    twice = len(stored) - len(set(load.acknowledged)) - load.failed
    share = load.failed / load.requests
    more = f"; {twice} stored beside those" if twice > 0 else ""
    return Figure(
        f"{what}: acknowledged and lost; failed after retries",
        f"{load.requests:,} requests, {load.again} sent again, longest {load.longest:.1f} s{more}",
        f"{lost}; {share:.2%}",
        f"0; < {goal:.1%}",
        lost == 0 and share < goal,
        "; ".join(f"{count} × {why}" for why, count in load.refusals.items()),
    )


def killed_server(server: Cluster, folder: Path, sizes: Sizes) -> Figure:
    with fleet_of(SERVERS, folder, server.url(), **PLAIN) as servers:
        load = Load([one.port for one in servers], tokens_of(servers[0].port, TENANTS))
        load.during(3 * sizes.seconds, servers[1].process.kill)
        return figure("one of four servers killed under load", load, _stored(server.url("postgres")), 0.001)


def restarted(server: Cluster, folder: Path, sizes: Sizes) -> Figure:
    def event() -> None:
        server.stop("fast")
        server.start()

    with fleet_of(SERVERS, folder, server.url(), **PLAIN) as servers:
        load = Load([one.port for one in servers], tokens_of(servers[0].port, TENANTS))
        load.during(3 * sizes.seconds, event)
        return figure("PostgreSQL restarted under load", load, _stored(server.url("postgres")), 0.01)


def promoted(server: Cluster, folder: Path, sizes: Sizes) -> Figure:
    with standby(server) as second:
        _wait_for_standby(server)

        def event() -> None:
            server.stop("immediate")
            second.promote()
            second.execute("ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")

        url = f"postgresql://holdfast@/memory?host={server.folder},{second.folder}"
        with fleet_of(SERVERS, folder, url, **PLAIN) as servers:
            load = Load([one.port for one in servers], tokens_of(servers[0].port, TENANTS))
            load.during(3 * sizes.seconds, event)
            return figure("primary lost, synchronous standby promoted", load, _stored(second.url("postgres")), 0.01)


def _wait_for_standby(server: Cluster) -> None:
    sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    for _ in range(600):
        with psycopg.connect(server.url("postgres")) as db:
            if db.execute(sql).fetchone() == (1,):
                return
        time.sleep(0.1)
    raise TimeoutError("the standby does not follow")


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    figures = [killed_server(server, folder / "killed", sizes)]
    for what, run in (("restarted", restarted), ("promoted", promoted)):
        with ExitStack() as stack:
            other = stack.enter_context(database())
            figures.append(run(other, folder / what, sizes))
    note = (
        f"Failures: {CLIENTS} clients over {SERVERS} servers remember as fast as they are answered. A request that gets no answer or one "
        f"that may be retried is sent to the next server with the same idempotency key, every {PAUSE_SECONDS:g} s for {PATIENCE_SECONDS:g} s."
    )
    return Part(figures, notes=[note])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), replace(Sizes(), seconds=given.seconds))
    sys.stdout.write(table(part.figures) + "\n")


if __name__ == "__main__":
    main()
