"""Near-identical results are shown once; sessions take turns only on request."""

from __future__ import annotations

from hypothesis import given, strategies as st
from rows import each

from holdfast.recall.dedupe import diverse, group_repeats
from holdfast.recall.rank import Candidate, Corpus, RankedCandidate, RankingQuery, rank

LONG = (
    "the nightly job of the loader failed because the disk of the second machine was full and nobody had looked at "
    "the warning that came before"
)


def ranked(count: int) -> list[RankedCandidate]:
    rows = [Candidate(seq, None, seq, 5, {}, None, "", 5, 0) for seq in range(1, count + 1)]
    return rank(RankingQuery("", (), 0), rows, Corpus(count, 5.0, {}), count)[::-1]


def groups(*texts: str) -> list[list[int]]:
    found = group_repeats(ranked(len(texts)), dict(enumerate(texts, start=1)))
    return [[one.seq for one in group] for group in found]


def kept(*texts: str) -> list[int]:
    return [group[0] for group in groups(*texts)]


def test_the_better_of_two_nearly_identical_texts_stays() -> None:
    assert kept(LONG, LONG.replace("nobody", "somebody").upper(), LONG + " again", "another thing") == [1, 2, 4]


def test_what_repeats_a_better_result_is_in_its_group() -> None:
    assert groups(LONG, "another thing", LONG.upper(), f"{LONG} again") == [[1, 3, 4], [2]]


def test_case_and_punctuation_make_no_difference() -> None:
    assert kept("Use pnpm, not npm.", "use PNPM not npm") == [1]


@each("word, other", [("second", "2nd"), ("nightly", "E4031"), ("nobody", "Dana"), ("was full", "was not full")])
def test_a_number_a_name_or_a_negation_makes_another_fact(word: str, other: str) -> None:
    assert kept(LONG, LONG.replace(word, other)) == [1, 2]


def test_short_texts_that_differ_in_a_word_both_stay() -> None:
    assert kept("the cache is warm", "the cache is cold", "", "") == [1, 2, 3, 4]


@given(st.lists(st.text(max_size=60), max_size=12))
def test_the_best_stays_and_nothing_is_reordered(texts: list[str]) -> None:
    found = groups(*texts) if texts else []
    seqs = [group[0] for group in found]

    assert sorted(seq for group in found for seq in group) == list(range(1, len(texts) + 1))
    assert seqs == sorted(seqs)
    assert seqs[:1] == list(range(1, len(texts) + 1))[:1]
    assert (
        {frozenset(texts[seq - 1].lower().split()) for seq in seqs} >= {frozenset(texts[0].lower().split())}
        if texts
        else True
    )


def test_sessions_take_turns_on_request_and_records_without_one_always_may() -> None:
    found = ranked(6)
    sessions = {1: "a", 2: "a", 3: "a", 4: "b", 5: None, 6: None}

    assert [one.seq for one in diverse(found, sessions, most=1)] == [1, 4, 5, 6, 2, 3]
    assert [one.seq for one in diverse(found, sessions, most=9)] == [1, 2, 3, 4, 5, 6]
