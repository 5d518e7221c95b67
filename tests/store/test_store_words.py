"""Search by words: what is stored is found at once, and no question makes it fail."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from sample_records import SILENT, TENANT, TEXTS, add, sample

from holdfast.ops.framework.fields import TEXT_CHARS
from holdfast.store.port import Store, Table
from holdfast.store.tables import MEMORIES, OBSERVATIONS
from holdfast.store.tokenizer import query

quiet = settings(max_examples=150)


def put(store: Store, id: str, content: str, **changes: Any) -> Any:
    """A memory whose words are all in its content."""
    blank: dict[str, Any] = {"title": "", "concepts": (), "files": (), "type": "", **SILENT}
    return add(store, MEMORIES, id, content=content, **{**blank, **changes})


def found(store: Store, question: str, table: Table[Any] = MEMORIES, limit: int = 100) -> list[str]:
    """Ids of the hits, best first."""
    hits = store.read().words(table, TENANT, query(question), (), limit).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    by_seq = {one.seq: one.id for one in store.read().find(table, TENANT)}
    return [by_seq[hit.seq] for hit in hits]


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("We deployed the services yesterday", "deploying service"),
        ("The migration was running for hours", "run migrations"),
        ("Prefers tabs over spaces", "prefer tab"),
        ("Café crème with naïve piñata", "cafe creme naive pinata"),
        ("The cafe is naive", "café naïve"),
        ("Größe und Straße", "große"),
        ("function getUserName returns the name", "getUserName"),
        ("function getUserName returns it", "user"),
        ("function getUserName returns it", "get_user_name"),
        ("set MAX_RETRY_COUNT to five", "maxRetryCount"),
        ("set MAX_RETRY_COUNT to five", "retry"),
        ("parseHTTPResponse2 failed", "http response"),
        ("the XMLHttpRequest object", "xml"),
        ("login fails with E4031", "E4031"),
        ("login fails with E4031", "error 4031"),
        ("login fails with E4031", "E-4031"),
        ("login fails with error 4031", "E4031"),
        ("ORA00942: no such table", "00942"),
        ("the file src/holdfast/store/port.py", "port.py"),
        ("the file src/holdfast/store/port.py", "src/holdfast/store/port.py"),
        ("uses http://127.0.0.1:3111/agentmemory", "127.0.0.1"),
        ("issue #843 was closed", "#843"),
        ("version 3.51.3 has the fix", "3.51.3"),
        ("東京タワーに行きました", "東京"),
        ("東京タワーに行きました", "タワー"),
        ("東京タワーに行きました", "京"),
        ("我们决定使用数据库迁移工具", "数据库"),
        ("我们决定使用数据库迁移工具", "迁移"),
        ("데이터베이스를 옮겼다", "데이터"),
        ("mixed 日本語text here", "日本語"),
        ("mixed 日本語text here", "text"),
        ("mixed 日本語text here", "日本語text"),
        ("𠮷野家で食べた", "𠮷野家"),
        ("Привет, мир", "привет"),
        ("ΑΘΗΝΑ είναι πόλη", "αθηνα"),
        ("مرحبا بالعالم", "مرحبا"),
        ("नमस्ते दुनिया", "नमस्ते"),
        ("İstanbul trip", "İstanbul"),
        ("deploy 🚀 on friday", "🚀 deploy"),
        ("don't panic", "don't"),
        ("C++ and C# code", "C++"),
        ("what to do", "what to do"),
        ("to be or not to be", "to be"),
        ("the", "the"),
    ],
)
def test_a_memory_is_found_by_a_person_s_way_of_asking(store: Store, content: str, question: str) -> None:
    put(store, "other", "zzz")
    put(store, "wanted", content)
    assert found(store, question) == ["wanted"]


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("東京", "京都"),
        ("数据库", "据点"),
        ("deploy on friday", "monday"),
        ("getUserName", "namelist_zebra_usern"),
        ("printed on A4 with V12", "4 12"),
        ("anything at all", "🚀"),
        ("anything at all", "!!! ??? ..."),
        ("anything at all", ""),
        ("anything at all", "   \n\t"),
        ("anything at all", "_"),
        ("anything at all", '"'),
        ("anything at all", "*"),
    ],
)
def test_what_shares_no_word_is_not_found(store: Store, content: str, question: str) -> None:
    put(store, "other", content)
    assert found(store, question) == []


NASTY = [
    '"',
    '""',
    '"unclosed',
    "a AND b OR NOT c",
    "NOT",
    "AND",
    "OR OR OR",
    "NEAR(a b, 5)",
    "title:secret",
    "{title body}: x",
    "^start",
    "pre*",
    "a + b",
    "(a",
    "a)",
    "-a",
    "col:",
    ";",
    "'; DROP TABLE memories; --",
    "') OR 1=1 --",
    "%_%",
    "\\",
    "?1 :x @y $z",
    "words MATCH 'x'",
    "rank",
    "🙂",
    "🙂 AND 🙃",
    "👩‍👩‍👧‍👦",
    "\u200b",
    "\u202e",
    "\ufeff",
    "a\u0301",
    "\ud7ff",
    "𝕳𝖔𝖑𝖉",
    "the of and",
    "²³¹",
    "ǅ",
    "ﬀ",
    "x" * 100_000,
    "word " * 50_000,
    " ".join(f"w{number}" for number in range(100_000)),
    "日" * 100_000,
    "aB" * 50_000,
    "_" * 100_000,
    '"' * 100_000,
]


def test_no_question_makes_a_search_fail(store: Store) -> None:
    put(store, "plain", "a plain memory about the start of things")
    for question in NASTY:
        assert set(found(store, question)) <= {"plain"}, ascii(question[:24])


def test_a_text_of_any_characters_is_stored_and_does_not_hide_others(store: Store) -> None:
    put(store, "plain", "tourmaline")
    for number, content in enumerate(text for text in NASTY if len(text) < 100):
        put(store, f"nasty{number}", content)
        assert found(store, "tourmaline") == ["plain"], ascii(content)
    assert store.verify() == []


@given(content=TEXTS, question=TEXTS)
@example(content="Aa", question="aA")
@example(content="AǄ", question="AǄ")
@quiet
def test_any_text_can_be_stored_and_any_question_asked(store: Store, content: str, question: str) -> None:
    store.write(lambda tx: tx.replace(MEMORIES, sample(MEMORIES, content=content)))
    assert set(found(store, question)) <= {"one"}


LETTERS = st.characters(categories=["Ll", "Lu", "Lo", "Nd"], exclude_characters="ªº")


@given(word=st.text(LETTERS, min_size=1, max_size=20), around=TEXTS)
@quiet
def test_a_memory_is_found_by_any_word_it_was_given(store: Store, word: str, around: str) -> None:
    """Whatever the script: the very word that was stored finds what it was stored in."""
    content = f"{around} {word} {around}"
    store.write(lambda tx: tx.replace(MEMORIES, sample(MEMORIES, content=content)))
    assert found(store, word) == ["one"]


def test_the_last_word_of_the_longest_memory_is_found(store: Store) -> None:
    filler = "filler words that say little " * (TEXT_CHARS // 29)
    put(store, "long", f"{filler} tanzanite"[-TEXT_CHARS:])
    assert found(store, "tanzanite") == ["long"]


SHAPES = {
    "one long word": "A " + "x" * 20_000,
    "letters and digits": "A " + "x9" * 12_000,
    "parts of a name": "A " + "aB" * 25_000,
    "capitals": "a " + "X" * 50_000,
    "underscores": "A " + "_" * 50_000,
    "digits": "A " + "9" * 50_000,
    "CJK": "A " + "日" * 50_000,
    "short words": "A " + "xy " * 17_000,
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_a_long_text_of_any_shape_is_indexed_quickly(store: Store, text: str) -> None:
    """All other writers wait meanwhile. Seconds of computing, not of waiting: a tenth of one if the time grows with the
    text, and minutes if it grows with its square."""
    begin = time.thread_time()
    put(store, "long", text)
    assert time.thread_time() - begin < 10.0


def test_title_body_and_tags_are_all_searched(store: Store) -> None:
    put(store, "title", "x", title="opal")
    put(store, "body", "opal")
    put(store, "concept", "x", concepts=("opal",))
    put(store, "moment", "x", disclosure="when opal is asked for")
    put(store, "file", "x", files=("src/opal.py",))
    put(store, "type", "x", type="opal")
    assert set(found(store, "opal")) == {"title", "body", "concept", "moment", "file", "type"}


def test_an_observation_is_found_by_every_part_that_was_kept_of_it(store: Store) -> None:
    parts: dict[str, Any] = {
        "title": "jade",
        "subtitle": "jade",
        "narrative": "jade",
        "facts": ("first", "jade"),
        "concepts": ("jade",),
        "files": ("/src/jade.py",),
        "type": "jade",
    }
    for name, value in parts.items():
        add(store, OBSERVATIONS, name, **{name: value})
    assert set(found(store, "jade", OBSERVATIONS)) == set(parts)
    assert found(store, "jade") == []


def test_more_of_the_asked_words_rank_higher(store: Store) -> None:
    put(store, "both", "the amber necklace lies in the drawer")
    put(store, "one", "the amber light means wait a little more")
    for number in range(20):
        put(store, f"n{number}", f"something else entirely number {number}")
    assert found(store, "amber necklace") == ["both", "one"]


def test_a_rare_word_ranks_above_a_common_one(store: Store) -> None:
    for number in range(20):
        put(store, f"common{number}", "a note about deployment")
    put(store, "rare", "a note about peridot")
    assert found(store, "deployment peridot")[0] == "rare"


def test_of_equal_records_the_newest_comes_first(store: Store) -> None:
    for id in "abc":
        put(store, id, "the same words")
    assert found(store, "same words") == ["c", "b", "a"]


def test_the_limit_keeps_the_best(store: Store) -> None:
    for number in range(30):
        put(store, f"n{number}", "topaz " + "filler " * number)
    everything = found(store, "topaz")
    assert len(everything) == 30
    assert found(store, "topaz", limit=7) == everything[:7]


def test_a_changed_record_is_found_by_its_new_words_only(store: Store) -> None:
    first = put(store, "one", "garnet")
    changed = sample(MEMORIES, "one", first.seq, content="beryl", title="", type="", concepts=(), files=())
    store.write(lambda tx: tx.replace(MEMORIES, changed))
    assert found(store, "garnet") == []
    assert found(store, "beryl") == ["one"]


def test_a_search_inside_a_write_sees_what_the_write_has_stored(store: Store) -> None:
    def job(tx: Any) -> int:
        tx.add(MEMORIES, sample(MEMORIES, content="zircon", seq=tx.next_seq(TENANT)))
        return len(tx.words(MEMORIES, TENANT, query("zircon"), (), 5).hits)

    assert store.write(job) == 1
