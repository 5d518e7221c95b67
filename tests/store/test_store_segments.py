"""Words in segments: whatever is folded, merged, dropped or killed in between, searches answer as FTS5 would."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings, strategies as st
from sample_records import OTHER, SILENT, TENANT, sample

from holdfast.store.fulltext.segments import Compactor
from holdfast.store.port import Condition, WordHit
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES, OBSERVATIONS
from holdfast.store.tokenizer import query, stems

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se", "to", "vu") for b in ("bin", "dor", "fex", "gam", "hul")]
PROJECTS = ("north", "south", None)


@pytest.fixture
def store(quick_folder: Path) -> Iterator[SqliteStore]:
    made = opened(quick_folder)
    yield made
    made.close()


def opened(folder: Path) -> SqliteStore:
    """A store that folds often: sixteen rows a segment, three segments merged."""
    made = SqliteStore(folder / "memory.db", lambda event: None)
    made._compactor = Compactor(made._readers.mine, made._write_words, rows=16, merge=3)
    return made


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, weights=[1 / (1 + at) for at in range(len(WORDS))], k=chance.randint(1, 30)))


def put(store: SqliteStore, id: str, content: str, **changes: Any) -> None:
    blank: dict[str, Any] = {"title": "", "concepts": (), "files": (), "type": "", "project": None, **SILENT, **changes}

    def job(tx: Any) -> None:
        had = tx.get(MEMORIES, TENANT, id)
        tx.replace(MEMORIES, sample(MEMORIES, id, had.seq if had else tx.next_seq(TENANT), content=content, **blank))

    store.write(job)


def asked(store: SqliteStore, question: str, *conditions: Condition, limit: int = 20) -> list[WordHit]:
    return store.read().words(MEMORIES, TENANT, query(question), conditions, limit).hits


def by_fts5(store: SqliteStore, question: str, limit: int = 20) -> list[tuple[int, float]]:
    """What FTS5 itself answers over the same records."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')")
    for one in store.read().find(MEMORIES, TENANT):
        db.execute("INSERT INTO t (rowid, body) VALUES (?, ?)", (one.seq, one.content))
    match = " OR ".join(f'"{word}"' for word in query(question))
    sql = "SELECT rowid, -bm25(t) FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid DESC"
    rows: Any = db.execute(sql, (match,)).fetchall() if match else []
    best = sorted(((seq, round(score, 9)) for seq, score in rows), key=lambda pair: (-pair[1], -pair[0]))
    return best[:limit]


def same_as_fts5(store: SqliteStore, question: str) -> None:
    hits = [(hit.seq, round(hit.score, 9)) for hit in asked(store, question)]
    assert sorted(hits, key=lambda pair: (-pair[1], -pair[0])) == by_fts5(store, question)


def segments(store: SqliteStore) -> int:
    return int(store._writer.execute("SELECT count(*) FROM word_segments").get)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_folded_or_not_the_answers_are_those_of_fts5(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(150):
        put(store, f"m{number}", text(chance))
        if number % 40 == 0:
            store.compact_words()
    for number in chance.sample(range(150), 20):
        put(store, f"m{number}", text(chance))
    for number in chance.sample(range(150), 20):
        store.write(lambda tx, id=f"m{number}": tx.delete(MEMORIES, TENANT, id))
    questions = [text(chance) for _ in range(10)] + ["kabin", "nothing", ""]
    for _ in range(3):
        for question in questions:
            same_as_fts5(store, question)
        assert store.verify() == []
        store.compact_words(least=1)
    assert segments(store) > 1


def test_small_segments_become_one_and_the_gone_leave(store: SqliteStore) -> None:
    chance = random.Random(1)
    for number in range(96):
        put(store, f"m{number}", text(chance))
    assert store.compact_words() == 6 + 2
    assert segments(store) == 2
    for number in range(40):
        store.write(lambda tx, id=f"m{number}": tx.delete(MEMORIES, TENANT, id))
    store.compact_words()
    assert store._writer.execute("SELECT count(*) FROM word_gone").get == 0
    assert store.verify() == []
    same_as_fts5(store, "kabin lodor")


def test_a_thorough_fold_leaves_no_word_of_a_single_forgotten_record(store: SqliteStore) -> None:
    for number in range(48):
        put(store, f"m{number}", "granite" if number else "uraninite")
    store.compact_words(least=1)
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m0"))
    sql = "SELECT count(*) FROM word_postings WHERE term = ?"
    store.compact_words()
    assert store._writer.execute(sql, (stems("uraninite")[0],)).get == 1
    store.compact_words(thorough=True)
    assert store._writer.execute(sql, (stems("uraninite")[0],)).get == 0
    assert len(asked(store, "granite", limit=100)) == 47
    assert store.verify() == []


def test_nothing_of_a_forgotten_record_is_left_once_its_segment_is_written_anew(store: SqliteStore) -> None:
    for number in range(20):
        put(store, f"m{number}", "granite" if number else "uraninite")
    store.compact_words(least=1)
    for number in range(4):
        store.write(lambda tx, id=f"m{number}": tx.delete(MEMORIES, TENANT, id))
    assert asked(store, "uraninite") == []
    store.compact_words()
    sql = "SELECT count(*) FROM word_postings WHERE term = ?"
    assert store._writer.execute(sql, (stems("uraninite")[0],)).get == 0


@pytest.mark.parametrize("folded", [False, True])
def test_filters_lose_nothing(store: SqliteStore, folded: bool) -> None:
    chance = random.Random(7)
    for number in range(200):
        changes = {
            "project": chance.choice(PROJECTS),
            "latest": chance.random() < 0.7,
            "session_ids": tuple(chance.sample(["s1", "s2", "s3"], 2)),
            "concepts": tuple(chance.sample(["x" * 100, "new\nline", "plain"], 1)),
            "created_at": number,
            "valid_from": number * 2,
        }
        put(store, f"m{number}", text(chance), **changes)
    if folded:
        store.compact_words(least=1)
    every = {one.seq: one for one in store.read().find(MEMORIES, TENANT)}
    filters = [
        (Condition("project", "=", "north"),),
        (Condition("project", "in", ["north", "south"]), Condition("latest", "=", True)),
        (Condition("project", "is null"),),
        (Condition("session_ids", "has", "s2"), Condition("created_at", ">", 50), Condition("created_at", "<=", 120)),
        (Condition("concepts", "has", "x" * 100),),
        (Condition("concepts", "has", "new\nline"), Condition("valid_from", "<", 300)),
        (Condition("created_at", "<", 30), Condition("created_at", ">=", 3)),
        (Condition("project", "=", "nowhere"),),
        (Condition("project", "in", []),),
    ]
    for conditions in filters:
        kept = {one.seq for one in store.read().find(MEMORIES, TENANT, *conditions)}
        want = [hit for hit in asked(store, "kabin lodor mifex", limit=1000) if hit.seq in kept]
        assert asked(store, "kabin lodor mifex", *conditions, limit=1000) == want
        assert asked(store, "kabin lodor mifex", *conditions, limit=5) == want[:5]
    assert every


def test_a_tenant_s_words_are_its_own(store: SqliteStore) -> None:
    for number in range(40):
        put(store, f"m{number}", "granite and gneiss")
    store.write(lambda tx: tx.add(MEMORIES, sample(MEMORIES, "o", tx.next_seq(OTHER), tenant=OTHER, content="granite")))
    store.compact_words(least=1)
    hits = store.read().words(MEMORIES, OTHER, query("granite"), (), 50)
    assert (len(hits.hits), hits.documents, hits.frequency) == (1, 1, {stems("granite")[0]: 1})


def test_records_of_a_session_are_listed_by_when_they_were_said(store: SqliteStore) -> None:
    for number in range(30):
        put(store, f"m{number}", "x", session_ids=("s",) if number % 2 else (), created_at=100 - number)
    want = [one.seq for one in sorted(store.read().find(MEMORIES, TENANT), key=lambda one: one.created_at)]
    want = [
        seq for seq in want if "s" in store.read().find(MEMORIES, TENANT, Condition("seq", "=", seq))[0].session_ids
    ]
    for _ in range(2):
        every = store.read().beside(MEMORIES, TENANT, "session_ids", {"s": want[:1]}, 100)
        assert every == {"s": want}
        few = store.read().beside(MEMORIES, TENANT, "session_ids", {"s": [want[5], want[7], 999]}, 1)
        assert few == {"s": want[4:9]}
        assert store.read().beside(OBSERVATIONS, TENANT, "session_id", {"s": want}, 3) == {"s": []}
        store.compact_words(least=1)


@pytest.mark.parametrize("folded", [False, True])
def test_all_records_that_meet_conditions_are_listed_unless_they_are_many(store: SqliteStore, folded: bool) -> None:
    for number in range(30):
        put(store, f"m{number}", "x", project="north" if number % 3 else "south", valid_from=number)
    if folded:
        store.compact_words(least=1)
    for conditions in ((Condition("project", "=", "south"),), (Condition("valid_from", "<", 5),), ()):
        want = sorted(one.seq for one in store.read().find(MEMORIES, TENANT, *conditions))
        found = store.read().within(MEMORIES, TENANT, conditions, 30)
        assert found is not None
        assert found.tolist() == want
    assert store.read().within(MEMORIES, TENANT, (), 29) is None


def test_a_record_tells_how_often_it_holds_what_was_asked(store: SqliteStore) -> None:
    put(store, "one", "running runs and ran to the run", title="A run of luck")
    (hit,) = store.read().words(MEMORIES, TENANT, query("run luck"), (), 5).hits
    for _ in range(2):
        counted = store.read().words(MEMORIES, TENANT, query("run luck"), (), 5).among.counted([hit.seq, 999])
        assert counted[hit.seq].weights == {"run": 3 + 2, "luck": 2}
        assert (counted[hit.seq].length, set(counted)) == (7 + 4, {hit.seq})
        store.compact_words(least=1)


class Killed(Exception):
    """The process ends here."""


@pytest.mark.parametrize("survives", range(12))
def test_a_fold_that_is_cut_off_anywhere_changes_no_answer(quick_folder: Path, survives: int) -> None:
    store, chance = opened(quick_folder), random.Random(3)
    for number in range(60):
        put(store, f"m{number}", text(chance))
    store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m3"))
    writes = iter(range(1000))

    def write(tenant: str, job: Any) -> Any:
        if next(writes) >= survives:
            raise Killed
        return store._write_words(tenant, job)

    with contextlib.suppress(Killed):
        Compactor(store._readers.mine, write, rows=16, merge=3).compact_all()
    for again in (store, None):
        current = again or opened(quick_folder)
        same_as_fts5(current, "kabin lodor mifex")
        assert current.verify() == []
        current.close()
    current = opened(quick_folder)
    current.compact_words()
    same_as_fts5(current, "kabin lodor mifex")
    assert current.verify() == []
    listed = "SELECT count(*) FROM word_postings WHERE segment NOT IN (SELECT segment FROM word_segments)"
    assert current._writer.execute(listed).get == 0
    current.close()


def test_what_is_dropped_while_a_fold_is_under_way_stays_dropped(store: SqliteStore) -> None:
    for number in range(48):
        put(store, f"m{number}", f"granite number{number}")

    def write(tenant: str, job: Any) -> Any:
        if store.read().get(MEMORIES, TENANT, "m5"):
            store.write(lambda tx: tx.delete(MEMORIES, TENANT, "m5"))
            put(store, "m6", "gneiss instead")
        return store._write_words(tenant, job)

    Compactor(store._readers.mine, write, rows=16, merge=3).compact_all()
    assert asked(store, "number5") == []
    assert asked(store, "number6") == []
    assert len(asked(store, "gneiss")) == 1
    assert len(asked(store, "granite", limit=100)) == 46
    assert store.verify() == []


def test_searches_miss_nothing_while_words_are_written_folded_and_merged(store: SqliteStore) -> None:
    put(store, "first", "granite number0")
    done, wrong = threading.Event(), list[str]()
    written = [1]

    def search() -> None:
        while not done.is_set():
            least = written[0]
            found = len(asked(store, "granite", limit=1000))
            if not least <= found <= written[0] + 1:
                wrong.append(f"{found} found where {least} to {written[0] + 1} are")

    def fold() -> None:
        while not done.is_set():
            store.compact_words()

    threads = [threading.Thread(target=search) for _ in range(2)] + [threading.Thread(target=fold)]
    for thread in threads:
        thread.start()
    for number in range(300):
        put(store, f"m{number}", f"granite number{number}")
        written[0] += 1
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.verify() == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 12), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)),
        st.tuples(st.just("drop"), st.integers(0, 12), st.just("")),
        st.tuples(st.sampled_from(["fold", "fold few", "ask", "reopen", "undo"]), st.just(0), st.just("")),
    ),
    max_size=60,
)


@given(steps=STEPS)
@settings(max_examples=60)
def test_any_history_ends_in_the_answers_of_fts5(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("words")
    store = opened(folder)
    store._compactor = Compactor(store._readers.mine, store._write_words, rows=3, merge=2)
    for step, number, content in steps:
        if step == "put":
            put(store, f"m{number}", content)
        elif step == "drop":
            store.write(lambda tx, id=f"m{number}": tx.delete(MEMORIES, TENANT, id))
        elif step == "fold":
            store.compact_words(least=1)
        elif step == "fold few":
            store.compact_words()
        elif step == "ask":
            same_as_fts5(store, "kabin lodor mifex")
        elif step == "undo":
            with pytest.raises(Killed):
                store.write(_undone)
        else:
            store.close()
            store = opened(folder)
            store._compactor = Compactor(store._readers.mine, store._write_words, rows=3, merge=2)
    same_as_fts5(store, " ".join(WORDS[:10]))
    assert store.verify() == []
    store.close()


def _undone(tx: Any) -> None:
    tx.add(MEMORIES, sample(MEMORIES, "undone", tx.next_seq(TENANT), content="kabin"))
    assert tx.words(MEMORIES, TENANT, ("kabin",), (), 5).hits
    raise Killed
