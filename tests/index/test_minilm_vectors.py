"""The vectors are those of all-MiniLM-L6-v2, whatever stands beside a text and whatever the text is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from plain_bert import PlainBert

from holdfast.core.errors import EmbedderUnavailable
from holdfast.index import LocalEmbedder
from holdfast.index.onnx_session import FRAME, MAX_CHARS, MAX_PARTS, MAX_TOKENS, Session

TEXTS = [
    "The cat sat on the mat.",
    "",
    "   \n\t ",
    "getUserName() raised ValueError in src/app/main.py:42",
    "🦜🔥👩‍👩‍👧‍👦",
    "ユーザーはタブを好む。用户喜欢制表符。",
    "Ünïcödé naïve café",
    "[SEP] [CLS] [MASK] [PAD]",
    "a" * 500,
    "the user prefers tabs over spaces and wants the build to be quiet " * 5,
    "\x00\x01\u200b\ufeff",
    "word " * 400,
]


def test_the_tokens_are_those_of_the_vocabulary(session: Session) -> None:
    (ids,) = session.tokens(["The cat sat on the mat."])
    assert ids.tolist() == [101, 1996, 4937, 2938, 2006, 1996, 13523, 1012, 102]


@pytest.mark.parametrize("text", TEXTS)
def test_a_vector_equals_the_one_computed_in_plain_numpy(
    text: str, minilm: LocalEmbedder, session: Session, plain: PlainBert
) -> None:
    expected = plain.vector(session.tokens([text])[0].tolist())

    assert float(minilm.embed([text])[0] @ expected) > 0.99999
    assert np.abs(minilm.embed([text])[0] - expected).max() < 1e-5


def test_a_text_has_the_same_vector_alone_and_among_others(minilm: LocalEmbedder) -> None:
    together = minilm.embed(TEXTS * 3)
    alone = np.stack([minilm.embed([text])[0] for text in TEXTS] * 3)

    assert together.dtype == np.float32
    assert np.abs(together - alone).max() < 1e-5


def test_a_question_and_a_text_of_the_same_words_have_the_same_vector(minilm: LocalEmbedder) -> None:
    assert np.allclose(minilm.embed_query("why is it slow?"), minilm.embed(["why is it slow?"])[0], atol=1e-6)


def test_what_is_near_in_meaning_is_near_in_angle(minilm: LocalEmbedder) -> None:
    asked, near, far = minilm.embed(
        ["how do we sign users in?", "authentication uses OAuth tokens", "the cake needs more sugar"]
    )
    assert asked @ near > asked @ far + 0.2


def test_nothing_to_embed_is_an_empty_table(minilm: LocalEmbedder) -> None:
    assert minilm.embed([]).shape == (0, minilm.dims)


def test_a_long_text_counts_up_to_the_limit_of_tokens(minilm: LocalEmbedder, session: Session) -> None:
    longest = "word " * (MAX_TOKENS - 2)
    assert len(session.tokens([longest + "more"])[0]) == MAX_TOKENS
    assert np.allclose(minilm.embed_query(longest), minilm.embed_query(longest + "and something else"), atol=1e-6)
    assert not np.allclose(minilm.embed_query(longest), minilm.embed_query(longest[:-5] + "else"), atol=1e-6)


def test_of_a_huge_text_only_the_beginning_is_read(minilm: LocalEmbedder, session: Session) -> None:
    huge = "lorem ipsum " * 2_000_000
    assert session.tokens([huge])[0].tolist() == session.tokens([huge[:MAX_CHARS]])[0].tolist()
    assert np.allclose(minilm.embed([huge])[0], minilm.embed([huge[:MAX_CHARS]])[0], atol=1e-6)


def test_a_text_that_is_read_at_once_is_one_part(minilm: LocalEmbedder) -> None:
    assert minilm.parts([]) == []
    assert minilm.parts(TEXTS) == [[text] if text != TEXTS[-1] else minilm.parts([text])[0] for text in TEXTS]
    assert minilm.parts(["word " * (MAX_TOKENS - FRAME)]) == [["word " * (MAX_TOKENS - FRAME)]]


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from(["one ", "getUserName", " ü", "漢", "닭", "🦜 ", "\n", "e\u0301"]), min_size=30, max_size=900
    )
)
def test_the_parts_are_the_text_and_each_is_read_whole(
    minilm: LocalEmbedder, session: Session, words: list[str]
) -> None:
    text = "".join(words)
    (parts,) = minilm.parts([text])
    assert "".join(parts).strip() == text.strip()
    # A word that is cut in two may have a token more.
    assert all(len(ids) <= MAX_TOKENS for ids in session.tokens(parts))
    assert all(np.array_equal(a, b) for a, b in zip(session.tokens(parts), map(_whole(session), parts), strict=True))


def _whole(session: Session) -> Callable[[str], Any]:
    return lambda text: np.array(session._tokenizer.encode(text.lstrip()).ids)


def test_the_parts_of_a_long_text_are_of_nearly_the_same_length(minilm: LocalEmbedder, session: Session) -> None:
    (parts,) = minilm.parts(["word " * (3 * (MAX_TOKENS - FRAME) + 1)])
    lengths = [len(ids) - FRAME for ids in session.tokens(parts)]
    assert lengths == [190, 191, 191, 191]


@pytest.mark.parametrize("text", ["lorem ipsum " * 2_000_000, "漢字" * 500_000, "a" * 1_000_000, "\x00" * 1_000_000])
def test_a_huge_text_has_only_so_many_parts(minilm: LocalEmbedder, text: str) -> None:
    (parts,) = minilm.parts([text])
    assert 1 <= len(parts) <= MAX_PARTS
    assert text.startswith("".join(parts))


def test_what_a_long_text_says_at_its_end_is_near_to_a_question_about_it(minilm: LocalEmbedder) -> None:
    text = "The harbour was quiet and the boats lay at the quay. " * 60 + "Deploys go through the blue/green switch."
    asked = minilm.embed_query("how do we release a new version?")
    (parts,) = minilm.parts([text])
    near = minilm.embed(parts) @ asked
    assert len(parts) > 1
    assert near.argmax() == len(parts) - 1
    assert near.max() > minilm.embed([text])[0] @ asked


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(), max_size=300), min_size=1, max_size=5))
def test_any_text_has_a_vector_of_length_one(minilm: LocalEmbedder, texts: list[str]) -> None:
    """Halves of surrogate pairs too."""
    rows = minilm.embed(texts)

    assert rows.shape == (len(texts), minilm.dims)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_many_threads_get_the_vectors_of_their_own_texts(minilm: LocalEmbedder) -> None:
    texts = [f"memory number {number} about topic {number * 7}" for number in range(40)]
    expected = minilm.embed(texts)
    wrong: list[int] = []

    def ask(first: int) -> None:
        for place in range(first, len(texts), 4):
            same = np.allclose(minilm.embed_query(texts[place]), expected[place], atol=1e-5)
            both = np.allclose(minilm.embed(texts[place : place + 2]), expected[place : place + 2], atol=1e-5)
            if not (same and both):
                wrong.append(place)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_question_asked_again_is_answered_from_what_was_kept(minilm: LocalEmbedder) -> None:
    first = minilm.embed_query("which port does the server use?")
    assert minilm.embed_query("which port does the server use?") is first


def test_a_kept_vector_cannot_be_changed_by_who_gets_it(minilm: LocalEmbedder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        minilm.embed_query("may I write here?")[0] = 1.0


def test_only_so_many_questions_are_kept(minilm: LocalEmbedder) -> None:
    first = minilm.embed_query("the first question")
    for number in range(256):
        minilm.embed_query(f"q{number}")
    again = minilm.embed_query("the first question")
    assert again is not first
    assert np.allclose(again, first, atol=1e-6)


def test_a_failure_of_the_runtime_is_a_fault_of_ours(session: Session) -> None:
    with pytest.raises(EmbedderUnavailable, match="onnxruntime failed"):
        session.vectors([np.array([30_522], np.int64)])  # one beyond the vocabulary


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        ("42 + 1 ≠ 44", 1.0),
        ("½ of x² in H₂O, nº 5, 3 µm, ① ﬁnd", 1.0),
        ("🦜", 0.0),
        ("“ship it” – 🚀🚀", 0.75),
        ("where is the lock?", 1.0),
        ("Wo hängt der Schlüssel? Nguyễn weiß es.", 1.0),
        ("где ключ", 0.0),
        ("鍵はどこ?", 0.0),
        ("열쇠 key", 0.6),
    ],
)
def test_it_reads_what_is_in_latin_letters(text: str, share: float, minilm: LocalEmbedder) -> None:
    assert minilm.reads(text) == pytest.approx(share)
