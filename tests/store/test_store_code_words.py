"""Names in code are found by their parts; an index of an earlier version answers as it is and is brought up to date."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from sample_records import TENANT, add

from holdfast.store import tables
from holdfast.store.fulltext.postings import count, pack, packings
from holdfast.store.port import IndexText, Store
from holdfast.store.queries import word_update
from holdfast.store.queries.word_update import update_words
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS
from holdfast.store.tokenizer import code_terms, index_text, query, stems

COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"
# A row of words as an earlier version wrote it.
OLD_TERMS = "getusernam\nget\nuser\nname\nsrc\nstore\nword\npy\nin".split("\n")


def put(store: Store, id: str, content: str) -> Any:
    return add(store, MEMORIES, id, content=content, project=None, agent=None)


def found(store: Store, question: str) -> list[str]:
    reader = store.read()
    hits = reader.words(MEMORIES, TENANT, query(question), (), 20).hits
    ids = {one.seq: one.id for one in reader.find(MEMORIES, TENANT)}
    return [ids[hit.seq] for hit in hits]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("getUserName is slow", "username"),
        ("the column user_name is too short", "username"),
        ("the column user_name is too short", "userName"),
        ("MAX_RETRY_COUNT is five", "retrycount"),
        ("the flag holdfastHome names it", "holdfast_home"),
        ("look at src/store/words.py for it", "words.py"),
        ("look at src/store/test_words.py for it", "test_words.py"),
        (f"it was broken by {COMMIT}", COMMIT[:7]),
        (f"it was broken by {COMMIT}", COMMIT[:11].upper()),
        (f"it was broken by {COMMIT[:7]} or so", COMMIT),
        ("it was broken by 1234567ab90e", "1234567"),
        ("\uff21\uff22\uff23 is written wide", "abc"),
        ("abc is written narrow", "\uff21\uff22\uff23"),
        ("\uff2f\uff4b\uff01 version \uff11\uff12", "12"),
    ],
)
def test_a_name_in_code_is_found(store: Store, text: str, question: str) -> None:
    for number in range(5):
        put(store, f"other{number}", f"a line of something else, number {number}, in src/other/page.txt by Ann")
    put(store, "wanted", text)
    assert found(store, question)[:1] == ["wanted"]
    store.compact_words(least=1)
    assert found(store, question)[:1] == ["wanted"]
    assert store.verify() == []


@pytest.mark.parametrize(
    ("text", "question"),
    [("paths such as src/store/words.py", "store.py"), (f"by {COMMIT}", COMMIT[:6]), ("e.g. this i.e. that", "eg")],
)
def test_what_only_looks_alike_is_not_found_by_it(store: Store, text: str, question: str) -> None:
    put(store, "other", text)
    wanted = set(stems(question.replace(".", "")))
    reader = store.read()
    assert reader.words(MEMORIES, TENANT, tuple(wanted), (), 20).hits == []


@given(st.text(alphabet=st.sampled_from("aB_0.f7 \uff21\u4e2d-x"), max_size=60))
@example("12345678 deadbeef 9fceb02d0 user__name_ .py a.py _")
def test_every_word_that_a_text_asks_for_is_one_that_it_is_found_by(text: str) -> None:
    held = count(IndexText("", index_text(text), "", codes=" ".join(code_terms(text)))).weights
    assert {stem for word in query(text) for stem in stems(word)} <= held.keys()


def test_names_do_not_make_a_record_longer() -> None:
    text = IndexText("", index_text("getUserName in src/words.py"), "", codes="getus username wordspi")
    assert count(text).length == count(replace(text, codes="")).length
    assert count(text).weights.keys() > count(replace(text, codes="")).weights.keys()


def test_a_row_of_an_earlier_version_is_right() -> None:
    text = "getUserName in src/store/words.py"
    index = IndexText("", index_text(text), "", codes=" ".join(code_terms(text)))
    old = (0, 9, "\n".join(sorted(OLD_TERMS)), b"\x02\x00" * 9)
    assert packings(index) == [pack(index), old]
    assert pack(index) != old


@pytest.fixture
def older(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose words an earlier version cut: some are compacted, some wait, and one was stored again."""
    with monkeypatch.context() as earlier:
        earlier.setattr(tables, "code_terms", lambda text: [])
        first = put(store, "one", "getUserName is slow")
        put(store, "two", "the column user_name is short")
        put(store, "plain", "a user without a name")
        store.write(lambda tx: tx.replace(MEMORIES, replace(first, importance=4, concepts=("x",))))
        store.compact_words(least=1)
        put(store, "three", f"userName came with {COMMIT}")
        add(store, OBSERVATIONS, "seen", title="getUserName", narrative="")
    return store


def test_an_index_of_an_earlier_version_verifies_and_answers(older: Store) -> None:
    assert older.verify() == []
    assert found(older, "username") == ["three"]
    assert sorted(found(older, "user name")) == ["one", "plain", "three", "two"]


def test_an_index_of_an_earlier_version_is_brought_up_to_date(older: Store) -> None:
    before = older.read().find(MEMORIES, TENANT)
    assert update_words(older, TENANT, 0) == 4
    assert sorted(found(older, "username")) == ["one", "three", "two"]
    assert found(older, COMMIT[:8]) == ["three"]
    assert older.verify() == []
    assert older.read().find(MEMORIES, TENANT) == before  # no record changed
    older.compact_words(least=1, thorough=True)
    assert sorted(found(older, "username")) == ["one", "three", "two"]
    assert older.verify() == []


def test_an_update_that_was_stopped_is_finished_by_the_next(older: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_update, "BATCH", 1)
    stops = iter([False, False, True])
    assert update_words(older, TENANT, 0, lambda: next(stops)) < 4
    assert older.verify() == []
    update_words(older, TENANT, 0)
    assert sorted(found(older, "username")) == ["one", "three", "two"]


def test_a_large_memory_is_looked_through_once(older: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_update, "NOTED", 2)
    assert update_words(older, TENANT, 0) == 4
    assert update_words(older, TENANT, 0) == 0
    assert older.read().count(NOTES, TENANT) == 1
    assert older.verify() == []


def test_a_repair_brings_an_index_of_an_earlier_version_up_to_date(older: Store) -> None:
    older.repair_index()
    assert sorted(found(older, "username")) == ["one", "three", "two"]
    assert older.verify() == []


def test_two_servers_that_update_one_index_leave_it_whole(older: Store) -> None:
    """Each does all of it: what the first has written anew, the second leaves as it is."""
    update_words(older, TENANT, 0)
    last = older.last_seq(TENANT)
    update_words(older, TENANT, 0)
    assert older.last_seq(TENANT) == last
