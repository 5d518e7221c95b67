"""The ranking: what is promised of every order, and what each signal does."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.recall.rank import Candidate, Corpus, RankedCandidate, RankingQuery, rank

NOW = 1_763_260_000_000
DAY = 86_400_000
TERMS = ("lock", "queue", "retri")


def asked(text: str = "which lock guards the queue", terms: tuple[str, ...] = TERMS, now: int = NOW) -> RankingQuery:
    return RankingQuery(text, terms, now)


def corpus(documents: int = 1000, average: float = 20.0, **frequency: int) -> Corpus:
    return Corpus(documents, average, frequency or {term: 10 for term in TERMS})


def one(seq: int, *terms: str, **fields: object) -> Candidate:
    plain = Candidate(
        seq=seq,
        session=None,
        at=NOW - 300 * DAY,
        length=20,
        weights={term: 1.0 for term in terms},
        cosine=0.2,
        text="something was said",
        importance=5,
        recalls=0,
    )
    return plain._replace(**fields)


def order(found: list[RankedCandidate]) -> list[int]:
    return [entry.seq for entry in found]


def total(found: list[RankedCandidate]) -> dict[int, float]:
    return {entry.seq: entry.score for entry in found}


numbers = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def candidates(draw: st.DrawFn, sane: bool = False) -> list[Candidate]:
    cosine = st.floats(-1, 1) if sane else numbers
    weight = st.floats(0, 50) if sane else numbers
    return [
        Candidate(
            seq=seq,
            session=draw(st.sampled_from([None, "", "a", "b"])),
            at=draw(st.integers(0, 2 * NOW) if sane else st.integers(-(2**62), 2**62)),
            length=draw(st.integers(1, 500) if sane else st.integers(-5, 2**40)),
            weights=draw(st.dictionaries(st.sampled_from([*TERMS, "other"]), weight)),
            cosine=draw(st.none() | cosine),
            text=draw(
                st.sampled_from(["", "Jon: why?", "What? No. E4031", "a/b.py says so", "日本語?"])
                | st.text(max_size=30)
            ),
            importance=draw(st.integers(-3, 99)),
            recalls=draw(st.integers(-3, 10**12)),
        )
        for seq in draw(st.lists(st.integers(1, 10**9), unique=True, max_size=12))
    ]


questions = st.builds(
    RankingQuery,
    st.sampled_from(["", "What did Jon say about E4031 last week?", "in May 2023", "29 February", "???"])
    | st.text(max_size=50),
    st.sampled_from([(), TERMS, ("lock",)]),
    st.integers(-(2**62), 2**62),
    st.floats(0, 1),
)
stores = st.builds(
    Corpus, st.integers(-1, 10**9), numbers, st.dictionaries(st.sampled_from(TERMS), st.integers(-5, 10**10))
)


@given(questions, candidates(), stores, st.integers(-1, 20))
@settings(max_examples=150)
def test_every_input_gets_finite_scores_once_each_best_first(
    question: RankingQuery, rows: list[Candidate], store: Corpus, limit: int
) -> None:
    found = rank(question, rows, store, limit)

    assert len(found) == max(0, min(limit, len(rows)))
    assert len(set(order(found))) == len(found)
    assert all(math.isfinite(entry.score) for entry in found)
    assert all(math.isfinite(value) for entry in found for value in entry.parts._asdict().values())
    scores = [round(entry.score, 6) for entry in found]
    assert scores == sorted(scores, reverse=True)


@given(questions, candidates(), stores, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_the_candidates_does_not_matter(
    question: RankingQuery, rows: list[Candidate], store: Corpus, chance: random.Random
) -> None:
    mixed = rows.copy()
    chance.shuffle(mixed)

    assert rank(question, rows, store, 20) == rank(question, mixed, store, 20)


@given(questions, candidates(sane=True), st.data())
@settings(max_examples=150)
def test_a_better_match_is_never_below_one_it_dominates(
    question: RankingQuery, rows: list[Candidate], data: st.DataObject
) -> None:
    worse = one(10**9 + 1, *data.draw(st.sets(st.sampled_from(TERMS))), cosine=data.draw(st.floats(-1, 0.9)))
    weights = {term: worse.weights.get(term, 0) + data.draw(st.integers(0, 3)) for term in TERMS}
    better = worse._replace(
        seq=10**9 + 2,
        weights={term: weight for term, weight in weights.items() if weight},
        cosine=(worse.cosine or 0) + data.draw(st.floats(0, 0.1)),
        length=worse.length - data.draw(st.integers(0, 10)),
    )

    found = order(rank(question, [worse, *rows, better], corpus(), 100))

    assert found.index(better.seq) < found.index(worse.seq)


@given(candidates(sane=True))
@settings(max_examples=80)
def test_the_parts_add_up_to_the_score(rows: list[Candidate]) -> None:
    for entry in rank(asked(), rows, corpus(), 20):
        parts = entry.parts._asdict()
        parts.pop("neighbours")
        assert entry.score == pytest.approx(sum(parts.values()))


def test_all_tie_breakers_together_never_beat_one_more_word_of_the_question() -> None:
    plain = one(1, "lock", "queue")
    favoured = one(2, "lock", at=NOW, importance=10, recalls=10**6)

    assert order(rank(asked(), [plain, favoured], corpus(), 2)) == [1, 2]


def test_all_tie_breakers_together_never_beat_a_clearly_nearer_meaning() -> None:
    far = [one(seq, cosine=0.0) for seq in range(10, 20)]
    plain = one(1, "lock", cosine=0.60)
    favoured = one(2, "lock", cosine=0.55, at=NOW, importance=10, recalls=10**6)

    assert order(rank(asked(), [plain, favoured, *far], corpus(), 2)) == [1, 2]


@each("fields", [{"at": NOW}, {"importance": 9}, {"recalls": 4}])
def test_equal_matches_are_ordered_by_recency_importance_and_recalls(fields: dict[str, int]) -> None:
    rows = [one(2, "lock"), one(1, "lock", **fields)]

    assert order(rank(asked(), rows, corpus(), 2)) == [1, 2]


def test_complete_ties_go_to_the_newer() -> None:
    assert order(rank(asked(), [one(1, "lock"), one(3, "lock"), one(2, "lock")], corpus(), 3)) == [3, 2, 1]


def turns(length: int) -> list[Candidate]:
    """A question, its reply, and two turns far off, all of one length."""
    texts = ["Who holds the lock of the queue now?", "The second worker.", "Fine.", "Good.", "Bye."]
    rows = [
        one(at + 1, session="s", at=NOW - DAY + at, length=length, cosine=0.1, text=text)
        for at, text in enumerate(texts)
    ]
    return [rows[0]._replace(weights={"lock": 1.0, "queue": 1.0}, cosine=0.6), *rows[1:]]


def test_a_short_turn_borrows_from_the_turn_before_it() -> None:
    found = rank(asked(), turns(length=6), corpus(average=6), 5)

    assert {entry.seq: entry.parts.neighbours > 0.05 for entry in found}[2]
    assert total(found)[2] > total(found)[3] > total(found)[5]


def test_a_long_message_borrows_almost_nothing() -> None:
    found = rank(asked(), turns(length=400), corpus(average=400), 5)

    assert abs({entry.seq: entry.parts.neighbours for entry in found}[2]) < 0.01


def test_the_reply_to_a_question_stands_above_the_question() -> None:
    rows = turns(length=6)
    rows[1] = rows[1]._replace(cosine=0.5)

    assert order(rank(asked(), rows, corpus(average=6), 1)) == [2]


def test_nothing_is_borrowed_across_sessions_or_without_one() -> None:
    apart = [row._replace(session=f"s{row.seq}") for row in turns(length=6)]
    loose = [row._replace(session=None) for row in turns(length=6)]

    for rows in (apart, loose):
        found = rank(asked(), rows, corpus(average=6), 5)
        assert all(entry.parts.words == 0 for entry in found if entry.seq != 1)


def test_a_neighbour_more_than_three_turns_away_lends_nothing() -> None:
    found = rank(asked(), turns(length=6), corpus(average=6), 5)

    assert {entry.seq: entry.parts.words for entry in found}[5] == 0


def test_without_vectors_words_decide() -> None:
    rows = [one(1, cosine=None), one(2, "lock", "queue", cosine=None), one(3, "lock", cosine=None)]
    found = rank(asked(), rows, corpus(), 3)

    assert order(found) == [2, 3, 1]
    assert {entry.parts.meaning for entry in found} == {0.0}


def test_a_record_whose_vector_is_still_to_come_is_found_by_its_words() -> None:
    rows = [one(seq, cosine=0.3) for seq in range(1, 8)] + [one(9, *TERMS, cosine=None)]

    assert order(rank(asked(), rows, corpus(), 1)) == [9]


def test_without_useful_terms_meaning_decides() -> None:
    rows = [one(1, cosine=0.1), one(2, cosine=0.7), one(3, cosine=0.4)]

    assert order(rank(asked("what is it about", ()), rows, corpus(), 3)) == [2, 3, 1]


def test_with_nothing_to_go_by_the_newest_comes_first_whatever_its_importance() -> None:
    rows = [
        one(1, cosine=None, at=NOW - DAY, importance=1),
        one(2, cosine=None, at=NOW - 2 * DAY, importance=10, recalls=99),
        one(3, cosine=None, at=NOW, importance=1),
    ]

    assert order(rank(asked("", ()), rows, corpus(), 3)) == [3, 1, 2]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    rows = [one(1, "queue"), one(2, "lock")]

    assert order(rank(asked(), rows, corpus(lock=2, queue=600), 2)) == [2, 1]


def test_words_that_cover_little_of_the_question_leave_the_decision_to_the_meaning() -> None:
    rows = [one(1, "lock", cosine=0.1), one(2, cosine=0.6), one(3, cosine=0.0)]
    long = (*TERMS, "a1", "b2", "c3", "d4", "e5", "f6")

    assert order(rank(asked(terms=("lock",)), rows, corpus(), 1)) == [1]
    assert order(rank(asked(terms=long), rows, corpus(), 1)) == [2]


def test_words_count_less_where_the_meaning_is_clear_and_more_where_many_are_alike() -> None:
    rows = [one(1, "lock", cosine=0.2), one(2, cosine=0.6), one(3, cosine=0.0)]
    clear = rank(asked(), [*rows, *(one(seq, cosine=0.1) for seq in range(10, 50))], corpus(), 50)
    alike = rank(asked(), [*rows, *(one(seq, cosine=0.59) for seq in range(10, 50))], corpus(), 50)
    few = rank(asked(), rows, corpus(), 50)
    clear_words, few_words, alike_words = (
        next(entry.parts.words for entry in found if entry.seq == 1) for found in (clear, few, alike)
    )
    assert clear_words < few_words < alike_words
    assert alike_words / clear_words == pytest.approx(0.65 / 0.35)


def test_words_count_more_the_less_of_the_question_can_be_read() -> None:
    rows = [one(1, "lock", cosine=0.35), one(2, cosine=0.6), *(one(seq, cosine=0.0) for seq in range(10, 40))]
    read, half, unread = (replace(asked(), read=share) for share in (1.0, 0.5, 0.0))
    scores = [total(rank(question, rows, corpus(), 40)) for question in (read, half, unread)]
    leads = [score[1] - score[2] for score in scores]

    assert leads[0] < 0 < leads[2]
    assert leads[1] == pytest.approx((leads[0] + leads[2]) / 2)


def test_a_word_said_over_and_over_counts_no_more_than_a_full_match() -> None:
    often = one(1, weights={term: 40.0 for term in TERMS}, cosine=0.2)
    found = rank(asked(), [often, one(2, cosine=0.3)], corpus(), 2)
    assert max(entry.parts.words for entry in found) == pytest.approx(0.5)


def test_the_speaker_named_in_the_question_is_preferred() -> None:
    rows = [one(1, "lock", text="Gina: I took it."), one(2, "lock", text="Jon: I took it.")]

    assert order(rank(asked("What did Gina take?"), rows, corpus(), 1)) == [1]


def test_a_role_is_not_a_speaker() -> None:
    rows = [one(1, "lock", text="user: I took it.")]

    assert rank(asked("Which user took it?"), rows, corpus(), 1)[0].parts.speaker == 0


def test_the_month_asked_for_is_preferred() -> None:
    may, june = 1_683_979_200_000, 1_686_657_600_000  # 13 May and 13 June 2023
    rows = [one(1, "lock", at=may), one(2, "lock", at=june)]

    assert order(rank(asked("Which lock was it in May 2023?"), rows, corpus(), 1)) == [1]
    assert order(rank(asked("Which lock was it in June?"), rows, corpus(), 1)) == [2]


def test_words_like_yesterday_count_from_the_moment_of_the_question() -> None:
    rows = [one(1, "lock", at=NOW - DAY), one(2, "lock", at=NOW - 20 * DAY)]

    assert order(rank(asked("what lock yesterday"), rows, corpus(), 1)) == [1]
    assert order(rank(asked("what lock yesterday", now=NOW - 19 * DAY), rows, corpus(), 1)) == [2]


@each("name", ["HF-1182", "src/queue/lock.py", "get_user_name", "getUserName", "E4031"])
def test_a_code_or_path_is_preferred_where_it_stands_letter_by_letter(name: str) -> None:
    rows = [one(2, "lock", text=f"{name}x and lock"), one(1, "lock", text=f"see {name}, lock")]

    assert order(rank(asked(f"where is {name}?"), rows, corpus(), 1)) == [1]


def test_a_short_question_stands_below_an_equal_statement() -> None:
    rows = [one(2, "lock", text="Which lock?"), one(1, "lock", text="That lock.")]

    assert order(rank(asked(), rows, corpus(), 1)) == [1]


def test_thousands_of_candidates_are_ranked() -> None:
    chance = random.Random(5)
    rows = [
        one(
            seq,
            *chance.sample(TERMS, chance.randint(0, 3)),
            session=f"s{seq // 9}",
            cosine=chance.random(),
            text="a? " * 400,
        )
        for seq in range(1, 5001)
    ]

    found = rank(asked(), rows, corpus(), 5000)

    assert sorted(order(found)) == list(range(1, 5001))


def test_a_question_about_the_user_prefers_what_the_user_said() -> None:
    rows = [one(1, "lock"), one(2, "lock", by_user=True), one(3, "lock", text="user: I use the lock")]

    about_me = rank(asked("which lock did I want"), rows, corpus(), 3)
    about_it = rank(asked("which lock guards the queue"), rows, corpus(), 3)

    assert {entry.seq for entry in about_me[:2]} == {2, 3}
    assert all(entry.parts.own > 0 and entry.parts.turn == 0 for entry in about_me[:2])
    assert all(entry.parts.own == 0 for entry in about_it)


@each("question", ["how many locks are there", "when was the lock taken", "which version of lock"])
def test_a_question_after_a_number_prefers_a_record_that_has_one(question: str) -> None:
    rows = [one(1, "lock", text="the lock is held"), one(2, "lock", text="the lock is held 3 times")]

    best = rank(asked(question), rows, corpus(), 2)[0]
    assert (best.seq, best.parts.number > 0, best.parts.worth) == (2, True, 0.0)
    assert all(entry.parts.number == 0 for entry in rank(asked("what is a lock"), rows, corpus(), 2))
