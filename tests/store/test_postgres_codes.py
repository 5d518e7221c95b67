"""Large spaces on PostgreSQL: the nearest by codes in memory, which follow what every server stores."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from postgres_server import as_admin, give_back, new_schema
from sample_records import TENANT, sample

from holdfast.store.port import MadeVector, Store, Tx, Waiting
from holdfast.store.postgres.schema import open_tables
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.postgres.vectors import code_cache, vector_rows
from holdfast.store.tables import MEMORIES

MODEL, DIMS, LARGE = "model", 64, 400

Rows = NDArray[np.float32]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(code_cache, "LEAST", 200)
    monkeypatch.setattr(vector_rows, "FEW_ALLOWED", 50)
    made = new_schema()
    yield made
    give_back(made)


@pytest.fixture
def pair(url: str) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    """Two servers of one database."""
    stores = (PostgresStore(url, lambda event: None), PostgresStore(url, lambda event: None))
    yield stores
    for one in stores:
        one.close()


def unit(count: int, seed: int) -> Rows:
    """Vectors around some centres, as those of texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((20, DIMS))
    rows = centres[chance.integers(0, 20, count)] + 0.7 * chance.standard_normal((count, DIMS))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def put(store: Store, rows: Rows, tenant: str = TENANT, first: int = 0) -> list[int]:
    """Memories with these vectors; their numbers."""

    def job(tx: Tx) -> list[int]:
        seqs = []
        for number in range(len(rows)):
            seqs.append(tx.next_seq(tenant))
            tx.add(MEMORIES, sample(MEMORIES, f"m{first + number}", seqs[-1], tenant=tenant))
        waiting = [Waiting(tenant, "memories", seq, seq) for seq in seqs]
        made = [MadeVector(one, one.seq.to_bytes(16, "big"), row[None]) for one, row in zip(waiting, rows, strict=True)]
        assert tx.put_vectors(MODEL, made) == len(rows)
        return seqs

    return store.write(job)


def nearest(store: Store, query: Rows, limit: int = 10, **more: Any) -> list[int]:
    return [hit.seq for hit in store.read().nearest(TENANT, MODEL, query, limit, **more)]


def exact(seqs: list[int], rows: Rows, query: Rows, limit: int = 10) -> list[int]:
    scores = rows.astype(np.float16).astype(np.float64) @ query
    return [seqs[at] for at in np.argsort(-scores, kind="stable")[:limit]]


def uses_codes(store: PostgresStore) -> bool:
    return any(one.table is not None for one in store._codes._spaces.values())


def test_what_is_found_by_codes_is_what_an_exact_scan_finds(pair: tuple[PostgresStore, PostgresStore]) -> None:
    store, rows, queries = pair[0], unit(LARGE, 1), unit(30, 2)
    seqs = put(store, rows)
    found = [nearest(store, query) for query in queries]
    assert uses_codes(store)
    wanted = [exact(seqs, rows, query) for query in queries]
    same = sum(len(set(one) & set(other)) for one, other in zip(found, wanted, strict=True))
    assert same >= 0.99 * 10 * len(queries)


def test_a_small_space_is_scanned_and_counted_again_later(pair: tuple[PostgresStore, PostgresStore]) -> None:
    store, rows = pair[0], unit(LARGE, 1)
    seqs = put(store, rows[:100])
    assert nearest(store, rows[5], 1) == [seqs[5]]
    assert not uses_codes(store)
    seqs += put(store, rows[100:], first=100)
    for _ in range(code_cache.ASKED_AGAIN + 1):
        assert nearest(store, rows[300], 1) == [seqs[300]]
    assert uses_codes(store)


def test_a_filter_finds_all_that_it_lets_through(pair: tuple[PostgresStore, PostgresStore]) -> None:
    store, rows, queries = pair[0], unit(LARGE, 1), unit(10, 3)
    seqs = put(store, rows)
    for step in (2, 40):  # more than are scanned exactly, and fewer
        allowed = seqs[::step]
        for query in queries:
            best = exact(allowed, rows[::step], query, 5)
            assert nearest(store, query, 5, allowed=np.array(allowed, np.int64)) == best
    assert uses_codes(store)


def test_what_one_server_stores_changes_and_removes_is_so_at_the_other(
    pair: tuple[PostgresStore, PostgresStore],
) -> None:
    one, other = pair
    rows = unit(LARGE, 1)
    seqs = put(one, rows)
    query = unit(1, 9)[0]
    assert len(nearest(other, query)) == 10
    assert uses_codes(other)
    (new,) = put(one, query[None], first=LARGE)
    assert nearest(other, query)[0] == new
    assert one.write(lambda tx: tx.delete(MEMORIES, TENANT, f"m{LARGE}"))
    assert new not in nearest(other, query)
    best = nearest(other, query, 1)[0]
    moved = sample(MEMORIES, f"m{seqs.index(best)}", best, content="another text has another vector")
    one.write(lambda tx: tx.replace(MEMORIES, moved))
    assert best not in nearest(other, query)  # it waits for its vector
    (waiting,) = one.read().index_work(LARGE)
    one.write(lambda tx: tx.put_vectors(MODEL, [MadeVector(waiting, b"h" * 16, -query[None])]))
    assert best not in nearest(other, query)
    assert nearest(other, -query, 1) == [best]


def test_many_that_are_gone_are_not_looked_at_for_ever(pair: tuple[PostgresStore, PostgresStore]) -> None:
    one, other = pair
    rows = unit(LARGE, 1)
    seqs = put(one, rows)
    assert len(nearest(other, rows[0])) == 10
    for number in range(LARGE - 40):
        one.write(lambda tx, number=number: tx.delete(MEMORIES, TENANT, f"m{number}"))  # type: ignore[misc]
    left = exact(seqs[LARGE - 40 :], rows[LARGE - 40 :], rows[0])
    assert nearest(other, rows[0]) == left
    assert nearest(other, rows[0]) == left
    assert not uses_codes(other)  # few are left: they are scanned


def test_writers_at_two_servers_lose_no_vector_for_a_reader_that_follows(
    pair: tuple[PostgresStore, PostgresStore],
) -> None:
    rows = unit(LARGE, 1)
    put(pair[0], rows)
    assert len(nearest(pair[0], rows[0])) == 10
    more = unit(60, 4)

    def write(number: int) -> int:
        return put(pair[number % 2], more[number : number + 1], first=1_000 + number)[0]

    with ThreadPoolExecutor(6) as threads:
        written = [threads.submit(write, number) for number in range(len(more))]
        while not all(one.done() for one in written):
            assert len(nearest(pair[0], rows[0])) == 10  # follows in the middle of it
    for one, row in zip(written, more, strict=True):
        assert nearest(pair[0], row, 1) == [one.result()]


def test_other_tenants_are_never_among_the_nearest(pair: tuple[PostgresStore, PostgresStore]) -> None:
    store, rows = pair[0], unit(LARGE, 1)
    mine = put(store, rows)
    put(store, rows, tenant="other")
    found = {hit.seq for hit in store.read().nearest("other", MODEL, rows[3], 10)}
    assert uses_codes(store)
    spaces = {key[0] for key in store._codes._spaces}
    assert nearest(store, rows[3], 1) == [mine[3]]
    assert len({key[0] for key in store._codes._spaces} - spaces) == 1
    assert found <= set(range(1, 2 * LARGE + 1))


def test_vectors_of_a_server_that_knows_no_places_are_followed(
    url: str, pair: tuple[PostgresStore, PostgresStore]
) -> None:
    """The version before names the columns that it knows by their order."""
    store, rows = pair[0], unit(LARGE, 1)
    seqs = put(store, rows[:-1])
    query = rows[-1]
    assert len(nearest(store, query)) == 10
    with psycopg.connect(as_admin(url)) as db:
        values = db.execute(
            "SELECT space, seq, part, model, dims, hash, numbers, luck, checksum FROM vectors WHERE seq = %s",
            (seqs[0],),
        ).fetchone()
        assert values is not None
        db.execute("DELETE FROM vectors WHERE seq = %s", (seqs[0],))
        text = "[" + ",".join(map(str, query.tolist())) + "]"
        db.execute("INSERT INTO vectors VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", (*values[:6], text, *values[7:]))
    assert nearest(store, query, 1) == [seqs[0]]


def test_the_codes_of_spaces_that_are_not_searched_make_room(
    pair: tuple[PostgresStore, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_cache, "MOST", LARGE + 50)
    store, rows = pair[0], unit(LARGE, 1)
    mine = put(store, rows)
    put(store, rows, tenant="other")
    for _ in range(2):
        assert nearest(store, rows[3], 1) == [mine[3]]
        store.read().nearest("other", MODEL, rows[3], 1)
        assert len(store._codes._spaces) == 1


def test_a_write_sees_its_own_vectors_and_leaves_the_codes_alone(pair: tuple[PostgresStore, PostgresStore]) -> None:
    store, rows = pair[0], unit(LARGE, 1)
    put(store, rows[:-1])
    assert len(nearest(store, rows[0])) == 10

    def job(tx: Tx) -> None:
        (seq,) = put(store, rows[-1:], first=LARGE)  # part of this write
        assert [hit.seq for hit in tx.nearest(TENANT, MODEL, rows[-1], 1)] == [seq]
        raise LookupError

    with pytest.raises(LookupError):
        store.write(job)
    hits = store.read().nearest(TENANT, MODEL, rows[-1], 1)
    assert hits[0].cosine < 0.999


def test_the_step_leaves_no_table_open_and_an_index_that_is_valid(url: str) -> None:
    PostgresStore(url, lambda event: None).close()
    with psycopg.connect(as_admin(url)) as db:
        assert open_tables(db) == []  # type: ignore[arg-type]
        rows = db.execute(
            "SELECT i.indisvalid FROM pg_index AS i WHERE i.indexrelid = 'vectors_by_place'::regclass"
        ).fetchall()
        assert rows == [(True,)]
