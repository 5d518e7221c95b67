"""What was forgotten is nowhere: not in what was drawn from it, not in an answer kept for repetition."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from world import World, running

from holdfast.core.model import Answer, Caller, Insight
from holdfast.serve.background.learning_thread import LearningThread
from holdfast.serve.http.idempotency import KEPT_MS, drop_old_answers
from holdfast.store.port import Tx
from holdfast.store.tables import ANSWERS, INSIGHTS, OBSERVATIONS, STATEMENTS, SUMMARIES

SAID = "We decided to use QUETZALDB because it is faster. Always prefer QUETZALDB for storage."
PREFIX = "/agentmemory"


def _all(world: World) -> str:
    return b"".join(world.call("export").pieces).decode()


def test_the_crystal_of_a_long_session_goes_with_an_observation_it_quotes(world: World) -> None:
    for number in range(220):
        world.observe(at=world.clock.now + number, tool_name="Bash", tool_input={"command": f"step{number}"})
    told = world.observe(hook="prompt_submit", at=world.clock.now + 1_000, prompt=SAID)["observationId"]
    world.call("summarize", sessionId="s1")
    world.call("forget", sessionId="s1", observationIds=[told])
    assert "QUETZALDB" not in json.dumps(world.call("crystals"))


def test_a_forgotten_session_is_not_quoted_in_the_context_by_its_reflection(world: World) -> None:
    world.observe(hook="prompt_submit", prompt=SAID)
    world.call("reflect", sessionId="s1")
    world.call("forget", sessionId="s1")
    assert "QUETZALDB" not in world.call("context", project="proj")["context"]
    assert "QUETZALDB" not in _all(world)


def test_forgetting_an_observation_takes_its_slot_lines_and_no_others_and_counts_them(world: World) -> None:
    told = world.observe(hook="prompt_submit", prompt="Always prefer QUETZALDB for storage.")["observationId"]
    world.observe(hook="prompt_submit", at=world.clock.now + 1, prompt="Never push to the main branch.")
    world.call("reflect", sessionId="s1")
    done = world.call("forget", sessionId="s1", observationIds=[told])
    assert done["counts"]["lines"] == 1
    assert done["deleted"] == sum(done["counts"].values())
    assert world.call("slot", label="guidance", project="proj")["slot"]["content"] == "- Never push to the main branch."


def test_a_line_that_was_said_twice_stays_until_both_are_forgotten(world: World) -> None:
    ids = [
        world.observe(hook="prompt_submit", at=world.clock.now + n, prompt=f"{text}QUETZALDB.")["observationId"]
        for n, text in enumerate(("Always use ", "Hello. Always use "))
    ]
    world.call("reflect", sessionId="s1")
    assert "lines" not in world.call("forget", sessionId="s1", observationIds=ids[:1])["counts"]
    assert world.call("forget", sessionId="s1", observationIds=ids[1:])["counts"]["lines"] == 1
    assert "QUETZALDB" not in _all(world)


def test_a_forgotten_prompt_is_not_repeated_beside_its_answer(world: World) -> None:
    told = world.observe(hook="prompt_submit", prompt="What is QUETZALDB?")["observationId"]
    world.observe(hook="assistant_message", at=world.clock.now + 1, message="A store for rows.")
    answer = next(one for one in world.engine.store.read().find(OBSERVATIONS, "default") if one.id != told)
    assert "QUETZALDB" in answer.subtitle
    world.call("forget", sessionId="s1", observationIds=[told])
    assert "QUETZALDB" not in _all(world)


def test_a_session_is_known_by_the_first_prompt_that_is_left(world: World) -> None:
    told = world.observe(hook="prompt_submit", prompt="What is QUETZALDB?")["observationId"]
    world.observe(hook="prompt_submit", at=world.clock.now + 1, prompt="Sort the rows.")
    world.call("forget", sessionId="s1", observationIds=[told])
    assert world.call("sessions")["sessions"][0]["firstPrompt"] == "Sort the rows."


def test_a_summary_is_made_anew_from_what_is_left(world: World) -> None:
    told = world.observe(hook="prompt_submit", prompt=SAID)["observationId"]
    world.observe(hook="prompt_submit", at=world.clock.now + 1, prompt="Sort the rows.")
    world.call("summarize", sessionId="s1")
    done = world.call("forget", sessionId="s1", observationIds=[told])
    assert done["counts"]["summaries"] == 1
    summary = world.engine.store.read().get(SUMMARIES, "default", "s1")
    assert summary is not None
    assert (summary.title, summary.observation_count) == ("Sort the rows.", 1)


def test_a_lesson_goes_with_the_last_of_its_sources(world: World) -> None:
    ids = [world.observe(at=world.clock.now + n, tool_name="Bash", n=n)["observationId"] for n in range(2)]
    world.call("lesson_save", content="QUETZALDB needs a lock", sourceIds=ids)
    world.call("lesson_save", content="Rows are sorted", sourceIds=[])
    assert "lessons" not in world.call("forget", sessionId="s1", observationIds=ids[:1])["counts"]
    assert world.call("forget", sessionId="s1", observationIds=ids[1:])["counts"]["lessons"] == 1
    assert [one["content"] for one in world.call("lessons")["lessons"]] == ["Rows are sorted"]


def test_statements_of_a_forgotten_observation_are_counted_and_others_stay(world: World) -> None:
    said = "We decided to use {} 14 for the orders service because the managed plan includes it."
    ids = []
    for number, name in enumerate(("QUETZALDB", "Postgres")):
        at = world.clock.now + 10 * number
        world.observe("s1", "prompt_submit", at=at, prompt=f"Which one is number {number}?")
        seen = world.observe("s1", "assistant_message", at=at + 1, message=said.format(name))
        ids.append(seen["observationId"])
    LearningThread(world.engine).learn()
    done = world.call("forget", sessionId="s1", observationIds=ids[:1])
    assert done["counts"]["statements"] == 1
    assert [one.source_id for one in world.engine.store.read().find(STATEMENTS, "default")] == ids[1:]
    assert "QUETZALDB" not in _all(world)


def test_the_bytes_of_a_forgotten_memory_are_gone_from_the_file(tmp_path: Path) -> None:
    world = World(tmp_path / "memory")
    kept = world.call("remember", content="the vault is called XANADUVAULT by everyone")["memory"]["id"]
    world.call("forget", memoryId=kept)
    database = world.engine.folder.database()
    world.close()
    assert b"XANADUVAULT" not in database.read_bytes()


def test_a_kept_answer_does_not_bring_a_forgotten_memory_back(tmp_path: Path) -> None:
    with running(tmp_path / "memory") as http:
        body, key = {"content": "XANADUVAULT is the name"}, {"Idempotency-Key": "k1"}
        kept = http.post(f"{PREFIX}/remember", json=body, headers=key).json()["memory"]["id"]
        http.post(f"{PREFIX}/forget", json={"memoryId": kept})
        again = http.post(f"{PREFIX}/remember", json=body, headers=key)
    assert "XANADUVAULT" not in again.text


def test_a_kept_answer_does_not_hold_a_new_tokens_secret(tmp_path: Path) -> None:
    with running(tmp_path / "memory") as http:
        made = http.post(f"{PREFIX}/tokens", json={"name": "ci"}, headers={"Idempotency-Key": "k1"}).json()
        secret = made["token"].rsplit("_", 1)[1].encode()
        files = [path for path in (tmp_path / "memory").rglob("*") if path.is_file()]
        assert not any(secret in path.read_bytes() for path in files)


def test_old_answers_go_faster_than_they_can_come(world: World) -> None:
    def fill(tx: Tx) -> None:
        for number in range(3_000):
            tx.add(ANSWERS, Answer("default", f"a{number}", tx.next_seq("default"), "hash", 200, "{}", world.clock.now))

    world.engine.store.write(fill)
    world.clock.now += KEPT_MS + 1
    drop_old_answers(world.context())
    assert world.engine.store.read().count(ANSWERS, "default") == 0


def test_old_answers_of_a_tenant_that_only_has_actions_are_swept_too(world: World) -> None:
    world.call("action_create", Caller(tenant="busy"), title="a thing to do")
    assert "busy" in world.engine.store.read().tenants()


def test_forgetting_looks_at_each_insight_once_not_once_per_record(world: World) -> None:
    """Counted in steps of SQLite's machine, so that it does not depend on how fast this one is."""
    for number in range(40):
        world.observe(at=world.clock.now + number, tool_name="Bash", tool_input={"command": f"step{number}"})
    few = _steps_to_forget(world, 0, range(20))
    many = _steps_to_forget(world, 400, range(20, 40))
    assert many < few * 20, f"{few} steps without insights, {many} with 400"


def _steps_to_forget(world: World, insights: int, which: range) -> int:
    def fill(tx: Tx) -> None:
        for number in range(insights):
            tx.add(INSIGHTS, _insight(number, tx.next_seq("default")))

    world.engine.store.write(fill)
    seen = world.call("observations", sessionId="s1")["observations"]
    ids = [one["id"] for one in seen[: len(which)]]
    writer: Any = world.engine.store._writer  # type: ignore[attr-defined]
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    writer.set_progress_handler(count, 100)
    try:
        assert world.call("forget", sessionId="s1", observationIds=ids)["counts"]["observations"] == len(ids)
    finally:
        writer.set_progress_handler(None, sys.maxsize >> 33)
    return steps


def _insight(number: int, seq: int) -> Insight:
    sources = tuple(f"elsewhere_{number}_{at}" for at in range(50))
    return Insight(
        "default", f"sem_{number}", seq, "semantic", "t", "c", (), (), sources, "p", None, 1.0, "x", 0, 0
    )  # fmt: skip
