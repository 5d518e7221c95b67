"""Near-duplicates: two texts that say nearly the same are brought together without reading every text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import assume, example, given, settings, strategies as st
from rows import each
from sample_records import TENANT, add, sample

from holdfast.store.minhash import distinct_words, jaccard, keeps_all
from holdfast.store.port import Store
from holdfast.store.tables import MEMORIES
from holdfast.store.tokenizer import STOP_WORDS

quiet = settings(max_examples=75)
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9).filter(lambda word: word not in STOP_WORDS)
ASKED = 8


def near(store: Store, text: str, limit: int = ASKED, project: str | None = None) -> list[int]:
    """Whom the store names when a memory with that text is about to be written."""
    assert MEMORIES.index is not None
    hashes = MEMORIES.index(sample(MEMORIES, content=text, project=project, agent=None)).sketch
    return store.write(lambda tx: tx.near(TENANT, hashes, limit))


def put(store: Store, id: str, content: str, **changes: Any) -> Any:
    return add(store, MEMORIES, id, content=content, **{"project": None, "agent": None, **changes})


@st.composite
def alike_texts(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts that share most of their words, in another order and with words of their own."""
    shared = draw(st.lists(WORD, min_size=6, max_size=60, unique=True))
    most = max(1, len(shared) // 7)
    mine = draw(st.lists(WORD, max_size=most, unique=True))
    theirs = draw(st.lists(WORD, max_size=most, unique=True))
    return " ".join(draw(st.permutations([*shared, *mine]))), " ".join([*shared, *theirs])


@given(pair=alike_texts(), noise=st.lists(st.lists(WORD, min_size=4, max_size=12), max_size=10))
@quiet
def test_a_text_that_shares_three_quarters_of_its_words_is_found(
    store: Store, pair: tuple[str, str], noise: list[list[str]]
) -> None:
    one, other = pair
    assume(jaccard(distinct_words(one), distinct_words(other)) > 0.75)
    project, seqs = settle(store, [one, *(" ".join(words) for words in noise)])
    assert seqs[0] in near(store, other, project=project)


def settle(store: Store, contents: Sequence[str]) -> tuple[str, list[int]]:
    """A project of its own for each example, with these memories and no others; their sequence numbers."""

    def job(tx: Any) -> tuple[str, list[int]]:
        seqs = [tx.next_seq(TENANT) for _ in contents]
        project = f"project-{seqs[0]}"
        for seq, content in zip(seqs, contents, strict=True):
            tx.add(MEMORIES, sample(MEMORIES, f"m{seq}", seq, content=content, project=project, agent=None))
        return project, seqs

    return store.write(job)


@given(text=st.text(max_size=60).filter(lambda text: text.isprintable()))
@example(text="by text")  # one telling word, which the other has as well
@quiet
def test_the_very_same_text_is_always_found(store: Store, text: str) -> None:
    project, seqs = settle(store, [text, "another text altogether"])
    assert seqs[0] in near(store, text, project=project)


def test_the_most_alike_comes_first(store: Store) -> None:
    words = "amber basalt cobalt dolomite emerald feldspar granite hematite".split()
    for shared in (4, 8, 6, 2):
        put(store, f"m{shared}", " ".join(words[:shared] + [f"own{shared}{number}" for number in range(8 - shared)]))
    order = {one.seq: one.id for one in store.read().find(MEMORIES, TENANT)}
    assert [order[seq] for seq in near(store, " ".join(words))] == ["m8", "m6", "m4", "m2"]


def test_a_superseded_memory_is_no_longer_offered_after_a_reopening(place: Any) -> None:
    store = place.open()
    first = put(store, "one", "the deploy runs on friday at noon")
    store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(first, latest=False)))
    store = place.reopen()
    assert near(store, first.content) == []


def test_near_duplicates_are_found_after_a_reopening(place: Any) -> None:
    store = place.open()
    kept = [put(store, f"m{number}", f"the deploy number{number} runs on friday at noon sharp") for number in range(20)]
    store = place.reopen()
    for one in kept:
        assert near(store, one.content)[0] == one.seq


def test_a_near_duplicate_is_found_among_many(store: Store) -> None:
    def fill(tx: Any) -> None:
        for number in range(1_500):
            words = f"quarry{number % 50} seam{number % 70} shaft{number} depth{number * 7} rock"
            blank = {"project": None, "agent": None}
            tx.add(MEMORIES, sample(MEMORIES, f"m{number}", tx.next_seq(TENANT), content=words, **blank))

    wanted = put(store, "wanted", "quarry1 seam1 holds a vein of turquoise near the old gate")
    store.write(fill)
    assert near(store, "quarry1 seam1 holds a vein of turquoise near the new gate")[0] == wanted.seq


def test_a_memory_that_was_stored_again_and_again_does_not_push_others_out(store: Store) -> None:
    """Replacing a record must not count its hashes twice."""
    near(store, "the look-up is filled before anything is stored")
    wanted = put(store, "wanted", "amber basalt cobalt dolomite emerald feldspar")
    for id in range(ASKED):
        noisy = put(store, f"noisy{id}", f"amber noise{id} sound{id} tone{id} hum{id} din{id}")
        for _ in range(9):
            store.write(lambda tx, noisy=noisy: tx.replace(MEMORIES, noisy))
    assert near(store, "amber basalt cobalt dolomite emerald feldspar")[0] == wanted.seq


def test_what_a_rolled_back_job_stored_is_not_taken_for_another_record(store: Store) -> None:
    def job(tx: Any) -> None:
        tx.add(
            MEMORIES,
            sample(
                MEMORIES, "lost", tx.next_seq(TENANT), content="amber basalt cobalt dolomite", project=None, agent=None
            ),
        )
        raise KeyError

    for _ in range(3):
        with suppress(KeyError):
            store.write(job)
    kept = put(store, "kept", "wholly unlike words stand here")
    found = near(store, "amber basalt cobalt dolomite")
    assert set(found) <= {kept.seq}
    wanted = put(store, "again", "amber basalt cobalt dolomite")
    assert wanted.seq in near(store, "amber basalt cobalt dolomite")


def test_asking_for_few_gives_few(store: Store) -> None:
    for number in range(10):
        put(store, f"m{number}", "amber basalt cobalt dolomite emerald")
    assert len(near(store, "amber basalt cobalt dolomite emerald", limit=3)) == 3
    assert near(store, "", limit=3) == []


@each(
    "old, new",
    [
        ("The code of the shed is 4711", "The code of the shed is 4712"),
        ("Anna likes green tea in the morning", "Ben likes green tea in the morning"),
        ("Ben owes Anna the money for lunch", "Anna owes Ben the money for lunch"),
        ("We do meet at the club", "We do not meet at the club"),
        ("We don't meet at the club", "We meet at the club"),
        ("We meet with Anna and Ben", "We meet with Anna"),
        ("We meet at seven", "We meet at nine"),
        ("我每天早上七点在公园跑步", "我每天早上八点在公园跑步"),
        ("我喜欢喝绿茶", "我不喜欢喝绿茶"),
        ("安娜住在北京的河边", "安娜住在上海的河边"),
        ("anna likes green tea in the morning", "ben likes green tea in the morning"),
        ("ben owes anna the money for lunch", "anna owes ben the money for lunch"),
        ("she likes green tea in the morning", "anna likes green tea in the morning"),
        ("we meet at the club on monday", "we meet at the club on tuesday"),
        ("we do meet at the club", "we dont meet at the club"),
        ("we can meet at the club", "we cannot meet at the club"),
        ("We meet at the club", "We hardly meet at the club"),
        ("the limit is twenty requests", "the limit is thirty requests"),
    ],
)
def test_another_name_number_or_denial_says_something_else(old: str, new: str) -> None:
    assert not keeps_all(old, new)


@each(
    "old, new",
    [
        ("The key lies under the stone", "The key lies under the third stone now"),
        ("Use JWT in the API", "Use JWT in the REST API"),
        ("We don't meet at the club", "We dont meet at the old club"),
        ("We will not meet at a club", "We won\u2019t meet at the club"),
        ("anna meets ben", "Today Anna meets Ben at 7"),
        ("我喜欢喝绿茶", "我现在很喜欢喝绿茶"),
        ("", "anything"),
    ],
)
def test_other_words_for_the_same_keep_it(old: str, new: str) -> None:
    assert keeps_all(old, new)


@given(st.text(max_size=60))
def test_every_text_keeps_itself(text: str) -> None:
    assert keeps_all(text, text)
