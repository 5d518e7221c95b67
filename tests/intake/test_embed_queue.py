"""The follower: every record gets its vector, once, whatever happens in between."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hashing_embedder import BREAK, HashingEmbedder
from world import World

from holdfast.core.errors import EmbedderUnavailable, Fault
from holdfast.core.model import Caller, CleanText
from holdfast.core.ports import Vectors
from holdfast.intake import embed_queue
from holdfast.intake.embed_queue import BATCH, LONGEST_PAUSE, EmbedQueue
from holdfast.store.tables import MEMORIES, OBSERVATIONS

TENANT = Caller().tenant


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


def follower(world: World, embedder: HashingEmbedder | None) -> EmbedQueue:
    world.engine.embedder = embedder
    return EmbedQueue(world.engine.store, embedder, world.clock)


def finish(one: EmbedQueue) -> int:
    """Step until there is nothing to do; how many steps that took."""
    steps = 0
    while one.step():
        steps += 1
        assert steps < 1_000, "the follower never ends"
    return steps


def remember(world: World, text: str, caller: Caller | None = None) -> str:
    return str(world.call("remember", caller, content=text)["memory"]["id"])


def nearest(world: World, embedder: HashingEmbedder, text: str, limit: int = 3) -> list[str]:
    """Ids of the memories nearest in meaning."""
    reader = world.engine.store.read()
    by_seq = {one.seq: one.id for one in reader.find(MEMORIES, TENANT)}
    hits = reader.nearest(TENANT, embedder.name, embedder.embed_query(CleanText(text)), limit)
    return [by_seq[hit.seq] for hit in hits]


def health(world: World) -> Any:
    return world.call("health")["index"]


def texts(world: World) -> Iterator[str]:
    for number in range(150):
        yield f"the {number} lantern of harbour {number * 7} glows over quay {number * 13}"


def test_what_is_remembered_and_observed_gets_its_vector(world: World, embedder: HashingEmbedder) -> None:
    ids = [remember(world, text) for text in texts(world)]
    world.observe(tool_name="Bash", tool_input={"command": "make lanterns"}, tool_output="done")
    finish(follower(world, embedder))
    assert nearest(world, embedder, "the 41 lantern of harbour 287 glows over quay 533", 1) == [ids[41]]
    total = len(ids) + world.engine.store.read().count(OBSERVATIONS, TENANT)
    assert health(world) == {"pending": 0, "model": "words-1", "done": total, "total": total}
    assert world.engine.store.verify() == []


def test_a_record_is_found_by_the_meaning_of_each_of_its_parts(world: World, embedder: HashingEmbedder) -> None:
    told = ["the tide turns at noon", "seven herons nest on the dyke", "the ferry leaves from pier nine"]
    long = remember(world, BREAK.join(told))
    other = remember(world, "an anchor weighs four tons")
    finish(follower(world, embedder))
    for part in told:
        assert nearest(world, embedder, part) == [long, other]
    assert embedder.given == [*told, "an anchor weighs four tons"]
    assert health(world)["done"] == 2
    assert world.engine.store.verify() == []


def test_long_texts_are_embedded_a_few_at_a_time(world: World, embedder: HashingEmbedder) -> None:
    ids = [remember(world, BREAK.join(f"quay {number} berth {part}" for part in range(30))) for number in range(7)]
    longer = remember(world, BREAK.join(f"dock {part} of {part * 3}" for part in range(BATCH + 5)))
    batches: list[int] = []
    one = follower(world, embedder)
    while one.step():
        batches.append(len(embedder.given))
    sizes = [int(size) for size in np.diff([0, *batches]) if size]
    assert sizes == [60, 60, 60, 30, BATCH + 5]
    assert health(world)["pending"] == 0
    assert nearest(world, embedder, "quay 4 berth 17", 1) == [ids[4]]
    assert nearest(world, embedder, "dock 68 of 204", 1) == [longer]


@pytest.mark.parametrize("answer", [[], [[]], [["a"], ["b"]]])
def test_a_text_in_no_parts_is_not_stored(world: World, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashingEmbedder()
    monkeypatch.setattr(embedder, "parts", lambda texts: answer)
    remember(world, "a buoy")
    assert not follower(world, embedder).step()
    assert health(world)["pending"] == 1
    assert world.engine.store.verify() == []


def test_what_has_to_wait_is_not_cut_each_time(
    world: World, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[int] = []
    parts = embedder.parts
    monkeypatch.setattr(embedder, "parts", lambda texts: cut.append(len(texts)) or parts(texts))
    for number in range(60):
        remember(world, BREAK.join(f"quay {number} berth {part}" for part in range(BATCH // 2)))
    finish(follower(world, embedder))
    assert health(world)["pending"] == 0
    assert sum(cut) <= 60 + 2 * 60


def test_equal_texts_are_embedded_once(world: World, embedder: HashingEmbedder) -> None:
    for session in ("s1", "s2", "s3"):
        world.observe(session, tool_name="Bash", tool_input={"command": "ls"}, tool_output="a.txt")
    finish(follower(world, embedder))
    world.observe("s4", tool_name="Bash", tool_input={"command": "ls"}, tool_output="a.txt")
    finish(follower(world, embedder))
    assert world.engine.store.read().with_vector(TENANT, embedder.name) == 4
    assert len(embedder.given) == 1


def test_equal_texts_of_two_tenants_are_not_shared(world: World, embedder: HashingEmbedder) -> None:
    remember(world, "the tide turns at noon")
    remember(world, "the tide turns at noon", Caller(tenant="other"))
    finish(follower(world, embedder))
    assert len(embedder.given) == 2
    assert world.engine.store.read().with_vector("other", embedder.name) == 1


def test_a_failed_embedder_loses_nothing_and_is_asked_again_later(
    world: World, embedder: HashingEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [remember(world, text) for text in list(texts(world))[:5]]
    embedder.refuse = lambda some: True
    one = follower(world, embedder)
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        for _ in range(30):
            finish(one)
            world.clock.now += int(LONGEST_PAUSE * 1_000)
    assert len(caplog.records) == 1
    assert "lantern" not in caplog.text
    assert health(world)["pending"] == 5
    embedder.refuse = lambda some: False
    finish(one)
    assert health(world)["pending"] == 0
    assert set(nearest(world, embedder, "lantern", 5)) == set(ids)


def test_pauses_grow_and_end_with_the_first_success(world: World, embedder: HashingEmbedder) -> None:
    remember(world, "a buoy")
    embedder.refuse = lambda some: True
    one = follower(world, embedder)
    assert not one.step()
    tried: list[int] = []
    embedder.before = lambda: tried.append(world.clock.now)
    began = world.clock.now
    for _ in range(120):
        world.clock.now += 250
        finish(one)
    waits = [(at - began) / 1_000 for at in tried]
    assert waits == [1, 3, 7, 15]
    embedder.refuse = lambda some: False
    world.clock.now += int(LONGEST_PAUSE * 1_000)
    assert one.step()
    assert health(world)["pending"] == 0


class Missing(HashingEmbedder):
    """Its weights are not installed, until they are."""

    installed = False

    def fault(self) -> Fault | None:
        return None if self.installed else EmbedderUnavailable("words: the weights are not installed")

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        if fault := self.fault():
            raise fault
        return super().embed(texts)


def test_a_pause_for_want_of_a_model_ends_when_there_is_one(world: World) -> None:
    remember(world, "a buoy")
    embedder = Missing()
    one = follower(world, embedder)
    for _ in range(8):
        world.clock.now += int(LONGEST_PAUSE * 1_000)
        finish(one)
    assert health(world)["pending"] == 1
    embedder.installed = True
    finish(one)
    assert health(world)["pending"] == 0


def test_one_text_that_is_always_refused_does_not_hold_up_the_others(world: World, embedder: HashingEmbedder) -> None:
    ids = [remember(world, text) for text in texts(world)]
    embedder.refuse = lambda some: any("lantern of harbour 21 " in text for text in some)
    one = follower(world, embedder)
    for _ in range(200):
        one.step()
        world.clock.now += int(LONGEST_PAUSE * 1_000)
    assert health(world)["pending"] == 1
    assert len(set(embedder.given)) == len(ids) - 1
    embedder.refuse = lambda some: False
    finish(one)
    assert health(world)["pending"] == 0


class Broken(HashingEmbedder):
    """Gives back something that is no vector for each text."""

    def __init__(self, answer: Any):
        super().__init__()
        self._answer = answer

    def embed(self, texts: Any) -> Any:
        return self._answer


@pytest.mark.parametrize(
    "answer",
    [np.zeros((1, 95), np.float32), np.zeros((2, 96), np.float32), np.full((1, 96), np.nan), np.full((1, 96), np.inf)],
    ids=["too short", "too many", "not a number", "endless"],
)
def test_answers_that_are_no_vectors_are_not_stored(world: World, answer: Any) -> None:
    remember(world, "a buoy")
    one = follower(world, Broken(answer))
    assert not one.step()
    assert health(world)["pending"] == 1
    assert world.engine.store.verify() == []


def test_a_vector_of_zeros_or_of_another_length_is_brought_to_length_one(world: World) -> None:
    remember(world, "a buoy")
    finish(follower(world, Broken(np.full((1, 96), 7.0, np.float32))))
    query = np.full(96, 96**-0.5, dtype=np.float32)
    (hit,) = world.engine.store.read().nearest(TENANT, "words-1", query, 5)
    assert hit.cosine == pytest.approx(1, abs=2e-3)
    assert world.engine.store.verify() == []


def test_a_record_deleted_while_it_is_embedded_leaves_nothing(world: World, embedder: HashingEmbedder) -> None:
    gone, kept = remember(world, "an anchor in the mud"), remember(world, "a buoy on the water")

    def forget() -> None:
        embedder.before = lambda: None
        world.call("forget", memoryId=gone)

    embedder.before = forget
    finish(follower(world, embedder))
    assert nearest(world, embedder, "an anchor in the mud") == [kept]
    assert health(world) == {"pending": 0, "model": "words-1", "done": 1, "total": 1}
    assert world.engine.store.verify() == []


def test_a_text_changed_while_it_is_embedded_gets_the_vector_of_the_new_one(
    world: World, embedder: HashingEmbedder
) -> None:
    id = remember(world, "an anchor in the mud")
    store = world.engine.store

    def change() -> None:
        embedder.before = lambda: None
        old = store.read().get(MEMORIES, TENANT, id)
        assert old is not None
        store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(old, title="kite", content="kite in the wind")))

    embedder.before = change
    finish(follower(world, embedder))
    query = embedder.embed_query(CleanText("kite in the wind"))
    (hit,) = store.read().nearest(TENANT, embedder.name, query, 5)
    assert hit.cosine == pytest.approx(1, abs=2e-3)
    assert store.verify() == []


def test_what_is_written_during_a_long_backlog_does_not_wait_for_all_of_it(
    world: World, embedder: HashingEmbedder
) -> None:
    ids = [remember(world, f"quay {number} has {number * 3} berths and {number * 7} bollards") for number in range(300)]
    newest = remember(world, "the ferry leaves from pier nine")
    one = follower(world, embedder)
    one.step()
    assert nearest(world, embedder, "the ferry leaves from pier nine", 1) == [newest]
    assert nearest(world, embedder, "quay 5 has 15 berths and 35 bollards", 1) == [ids[5]]
    finish(one)
    assert health(world)["pending"] == 0
    assert len(embedder.given) == len(set(embedder.given)) == 301


def test_without_an_embedder_nothing_waits_and_later_all_is_found(world: World, embedder: HashingEmbedder) -> None:
    ids = [remember(world, text) for text in texts(world)]
    finish(follower(world, None))
    assert health(world) == {"pending": 0, "model": "none"}
    one = follower(world, embedder)
    assert one.step()
    assert health(world) == {"pending": len(ids), "model": "words-1", "done": 0, "total": len(ids)}
    finish(one)
    assert health(world)["pending"] == 0
    finish(follower(world, None))
    late = remember(world, "a late lighthouse")
    finish(follower(world, None))
    assert health(world) == {"pending": 0, "model": "none"}
    finish(follower(world, embedder))
    assert nearest(world, embedder, "a late lighthouse", 1) == [late]
    assert len(embedder.given) == len(ids) + 1


def test_another_model_takes_over_row_by_row(
    world: World, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_queue, "LOOKED_AT", 40)
    ids = [remember(world, text) for text in texts(world)]
    finish(follower(world, embedder))
    newer = HashingEmbedder("words-2", dims=64)
    one, seen = follower(world, newer), []
    while one.step():
        seen.append(health(world)["done"])
        assert len(nearest(world, newer, "lantern", 500)) == seen[-1]
        assert world.engine.store.verify() == []
    assert seen[0] == 0
    assert len(set(seen)) > 3
    assert health(world) == {"pending": 0, "model": "words-2", "done": len(ids), "total": len(ids)}
    assert nearest(world, embedder, "lantern", 500) == []
    assert world.engine.store.read().with_vector(TENANT, embedder.name) == 0


def test_work_goes_on_where_it_stopped(tmp_path: Path, embedder: HashingEmbedder) -> None:
    world = World(tmp_path / "memory")
    for text in texts(world):
        remember(world, text)
    one = follower(world, embedder)
    assert one.step()
    world.close()
    assert len(embedder.given) == BATCH
    world = World(tmp_path / "memory", chance=1_000, model=embedder)
    assert health(world)["done"] == BATCH
    finish(follower(world, embedder))
    assert len(embedder.given) == len(set(embedder.given)) == 150
    assert health(world)["pending"] == 0
    assert world.engine.store.verify() == []
    world.close()


def test_an_isolated_agent_does_not_learn_how_much_others_wrote(tmp_path: Path, embedder: HashingEmbedder) -> None:
    world = World(tmp_path / "memory", agent_scope="isolated")
    remember(world, "a buoy", Caller(agent="one"))
    finish(follower(world, embedder))
    assert world.call("health", Caller(agent="two"))["index"] == {"pending": 0, "model": "words-1"}
    world.close()


def test_a_worker_that_is_told_to_stop_does_so_between_slices_and_keeps_what_is_done(
    world: World, embedder: HashingEmbedder
) -> None:
    """The rest waits for the next start."""
    for name in ("first", "second", "third"):
        remember(world, f"{name} " + "word " * (embed_queue.SLICE_CHARS // 8))
    world.engine.embedder = embedder
    EmbedQueue(world.engine.store, embedder, world.clock, lambda: len(embedder.given) > 1).step()
    assert health(world)["done"] == 2
    finish(follower(world, embedder))
    assert health(world)["done"] == 3


def test_a_worker_that_is_told_to_stop_before_anything_is_done_loses_nothing(
    world: World, embedder: HashingEmbedder
) -> None:
    remember(world, "word " * embed_queue.SLICE_CHARS)
    world.engine.embedder = embedder
    EmbedQueue(world.engine.store, embedder, world.clock, lambda: True).step()
    assert health(world)["done"] == 0
    finish(follower(world, embedder))
    assert health(world)["done"] == 1
