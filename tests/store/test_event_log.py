"""The log of live events on PostgreSQL: written only while it is watched, read in order, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
from postgres_server import as_admin
from sample_records import TENANT, sample

from holdfast.core.model import Event
from holdfast.store.port import Tx
from holdfast.store.postgres.shared.watched_spaces import WatchedSpaces
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import MEMORIES

Opened = Callable[[], PostgresStore]


def tell(store: PostgresStore, id: str, **fields: Any) -> None:
    """Store a memory and publish it."""

    def job(tx: Tx) -> None:
        memory = sample(MEMORIES, id, tx.next_seq(TENANT), **fields)
        tx.add(MEMORIES, memory)
        tx.publish(Event(TENANT, "memory", memory, audience=memory.audience))

    store.write(job)


def watching(store: PostgresStore) -> WatchedSpaces:
    watched = WatchedSpaces(store.pool.connection, store.fleet.server)
    watched.add(TENANT)
    return watched


def news(watched: WatchedSpaces) -> list[Any]:
    found: list[Event] = []
    watched.catch_up(found.append)
    return [event.body["ids"] if isinstance(event.body, dict) else event.body.id for event in found]


def logged(url: str) -> int:
    with psycopg.connect(as_admin(url)) as db:
        row = db.execute("SELECT count(*) FROM live_events").fetchone()
    return int(row[0]) if row else 0


def test_nothing_is_logged_while_no_server_watches(url: str, opened: Opened) -> None:
    store = opened()
    tell(store, "m1")
    assert logged(url) == 0
    watching(opened())
    tell(store, "m2")
    assert logged(url) == 1


def test_events_of_other_servers_are_read_once_and_in_order(opened: Opened) -> None:
    here, there = opened(), opened()
    tell(there, "before")
    watched = watching(here)
    for number in range(3):
        tell(there, f"there{number}")
        tell(here, f"here{number}")
    assert news(watched) == ["there0", "there1", "there2"]
    assert news(watched) == []


def test_what_is_no_record_is_logged_itself(opened: Opened) -> None:
    here, there = opened(), opened()
    watched = watching(here)
    there.write(lambda tx: tx.publish(Event(TENANT, "forgotten", {"ids": ["m1"], "counts": {}})))
    assert news(watched) == [["m1"]]


def test_a_record_that_was_forgotten_since_is_not_shown(opened: Opened) -> None:
    here, there = opened(), opened()
    watched = watching(here)
    tell(there, "kept")
    tell(there, "gone")
    there.write(lambda tx: tx.delete(MEMORIES, TENANT, "gone"))
    assert news(watched) == ["kept"]


def test_who_may_see_an_event_is_decided_by_what_the_record_is_now(opened: Opened) -> None:
    here, there = opened(), opened()
    watched = watching(here)
    tell(there, "m1")
    there.write(lambda tx: tx.replace(MEMORIES, sample(MEMORIES, "m1", tx.next_seq(TENANT), audience=("user:ann",))))
    found: list[Event] = []
    watched.catch_up(found.append)
    assert [event.audience for event in found] == [("user:ann",)]


def test_a_server_that_was_away_for_long_goes_on_from_now(opened: Opened) -> None:
    here, there = opened(), opened()
    watched = watching(here)
    tell(there, "missed")
    watched.skip()
    tell(there, "seen")
    assert news(watched) == ["seen"]


def test_a_tenant_that_is_watched_before_its_first_write_misses_nothing(opened: Opened) -> None:
    watched = watching(opened())
    tell(opened(), "first")
    assert news(watched) == ["first"]


def test_nothing_is_missed_while_several_servers_write(opened: Opened) -> None:
    here, others = opened(), [opened() for _ in range(3)]
    watched, each = watching(here), 30

    def write(store: PostgresStore, name: int) -> None:
        for number in range(each):
            tell(store, f"{name}-{number}")

    threads = [threading.Thread(target=write, args=(store, name)) for name, store in enumerate(others)]
    for thread in threads:
        thread.start()
    found: list[str] = []
    while any(thread.is_alive() for thread in threads):
        found += news(watched)
    found += news(watched)
    assert len(found) == len(set(found)) == 3 * each
    for name in range(3):  # those of one server in its own order
        assert [id for id in found if id.startswith(f"{name}-")] == [f"{name}-{number}" for number in range(each)]


def test_a_log_that_was_read_is_dropped_after_a_while(url: str, opened: Opened) -> None:
    here, there = opened(), opened()
    watched = watching(here)
    tell(there, "m1")
    watched.renew()
    assert logged(url) == 1
    with psycopg.connect(as_admin(url)) as db:
        db.execute("UPDATE live_events SET at = at - interval '1 hour'")
    watched.renew()
    assert logged(url) == 0


def test_a_server_that_watches_no_more_reads_nothing(opened: Opened) -> None:
    watched = watching(opened())
    watched.remove(TENANT)
    tell(opened(), "m1")
    assert news(watched) == []
