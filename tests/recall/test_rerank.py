"""The best hits are read again beside the question: which, what follows from it, and where it does not happen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from talk import learn, turn
from world import World

from holdfast.core.errors import EmbedderUnavailable
from holdfast.recall.flow import search
from holdfast.recall.hits import Question
from holdfast.recall.rerank import ANSWERS, READ

pytestmark = pytest.mark.engines


class Opinion:
    """A reranker that has an opinion on some texts."""

    name = "opinion"

    def __init__(self, of: Callable[[str], float], reads: bool = True) -> None:
        self.read: list[str] = []
        self._of, self._reads = of, reads

    def reads(self, question: str) -> bool:
        return self._reads

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [self._of(text) for text in texts]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m", model=HashingEmbedder())
    for at in range(READ + 2):
        turn(made, f"Where is export {at}?", f"Export {at} runs on worker {at}.", session=f"s{at}")
    learn(made)
    made.follow()
    yield made
    made.close()


def found(world: World, model: Opinion | None, reread: bool = True, query: str = "export worker") -> list[Any]:
    ctx = dataclasses.replace(world.context(), reranker=model)
    return search(ctx, Question(query, project="proj", reread=reread))


def texts(hits: Sequence[Any]) -> list[str]:
    return [f"{hit.turn[0].narrative}\n{hit.record.narrative}" for hit in hits]


def test_what_answers_best_comes_first_of_those_that_were_read(world: World) -> None:
    before = texts(found(world, None))
    last = before[READ - 1]
    model = Opinion(lambda text: 9.0 if text == last else -11.0)
    hits = found(world, model)
    assert texts(hits) == [last, *before[: READ - 1], *before[READ:]]
    assert model.read == before[:READ]
    assert hits[0].parts.reread == pytest.approx(20 * ANSWERS)
    assert hits[0].score == pytest.approx(sum(hits[0].parts) - hits[0].parts.neighbours)


def test_none_goes_behind_one_that_was_not_read(world: World) -> None:
    before = texts(found(world, None))
    after = texts(found(world, Opinion(lambda _: -1e9)))
    assert after == before


def _fails(_: str) -> float:
    raise EmbedderUnavailable("out of memory")


@pytest.mark.parametrize(
    ("model", "reread"),
    [(Opinion(_fails), True), (Opinion(lambda _: 1.0), False), (Opinion(lambda _: 1.0, reads=False), True)],
    ids=["that fails", "not asked for", "of other letters"],
)
def test_without_the_model_the_order_of_the_ranking_stands(world: World, model: Opinion, reread: bool) -> None:
    hits = found(world, model, reread)
    assert texts(hits) == texts(found(world, None))
    assert all(hit.parts.reread == 0 for hit in hits)


def test_memories_alone_are_not_read(tmp_path: Path) -> None:
    world = World(tmp_path / "m2", model=HashingEmbedder())
    for at in range(READ):
        world.call("remember", content=f"The export runs on worker {at}, and worker {at} is slow", project="proj")
    world.follow()
    model = Opinion(lambda _: 0.0)
    assert len(found(world, model)) == READ
    assert model.read == []
    world.close()


def test_of_a_turn_the_prompt_and_what_was_stated_are_read(world: World) -> None:
    turn(world, "Why does the export fail?", "Let me look. The export fails because the worker opens orders.csv twice.")
    turn(world, "Does the export fail again?", "Hm.")
    learn(world)
    model = Opinion(lambda _: 0.0)
    found(world, model, query="why does the export fail")
    cause = "The export fails because the worker opens orders.csv twice."
    assert f"Why does the export fail?\n{cause}" in model.read
    assert "Does the export fail again?\nHm." in model.read


def test_a_search_asks_for_it_and_a_prompt_does_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Opinion(lambda _: 0.0)
    world.engine.reranker = model  # type: ignore[assignment]
    prompt = "Why does the export run on worker 3, where export 3 runs"
    world.call("context_prompt", sessionId="s9", prompt=prompt, project="proj")
    assert model.read == []
    world.call("search", query=prompt, project="proj")
    assert len(model.read) == READ
