"""Quotas: what counts, what is refused and how, and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from world import World, running

from holdfast.core.errors import QuotaReached, RateLimited
from holdfast.core.model import Caller
from holdfast.store.port import Usage

pytestmark = pytest.mark.engines

OTHER = Caller(tenant="other", name="other")


@pytest.fixture
def small(tmp_path: Path) -> Any:
    made = World(tmp_path / "small", quota_records=3)
    yield made
    made.close()


def fill(world: World, number: int, caller: Caller | None = None) -> list[str]:
    texts = [f"the {word} gate is painted {word}" for word in ("amber", "birch", "cobalt", "dun", "ebony")]
    return [world.call("remember", caller, content=text)["memory"]["id"] for text in texts[:number]]


def refusal(world: World, operation: str, **arguments: Any) -> QuotaReached:
    with pytest.raises(QuotaReached) as caught:
        world.call(operation, **arguments)
    return caught.value


def test_one_record_more_than_the_quota_is_refused_and_stores_nothing(small: World) -> None:
    fill(small, 3)
    fault = refusal(small, "remember", content="a fourth fact finds no room")
    assert (fault.http_status, fault.exit_code, fault.retryable) == (507, 63, False)
    assert fault.details == {"quota": "records", "limit": 3, "used": 3}
    assert "HOLDFAST_QUOTA_RECORDS" in fault.hint
    assert small.call("memories")["total"] == 3
    assert small.engine.store.usage("default").records == 3


def test_each_tenant_has_its_own(small: World) -> None:
    fill(small, 3)
    assert len(fill(small, 3, OTHER)) == 3
    assert small.engine.store.usage("other").records == 3


def test_forgetting_is_never_refused_and_frees_the_quota(small: World) -> None:
    first = fill(small, 3)[0]
    refusal(small, "remember", content="no room for the lighthouse key")
    small.call("forget", memoryId=first)
    assert small.call("remember", content="no room for the lighthouse key")["success"]


def test_a_fact_that_is_known_needs_no_room(small: World) -> None:
    fill(small, 3)
    assert "deduplicated" in small.call("remember", content="the amber gate is painted amber")


def test_versions_observations_lessons_slots_and_actions_count(small: World) -> None:
    id = fill(small, 1)[0]
    small.call("evolve", memoryId=id, newContent="the amber gate is painted green since May")
    assert small.engine.store.usage("default").records == 2
    small.observe(tool_name="Bash", tool_input={"command": "make"}, tool_output="done")
    assert small.engine.store.usage("default").records == 3
    for operation, arguments in (
        ("evolve", {"memoryId": id, "newContent": "and red since June"}),
        ("lesson_save", {"content": "knock before you enter"}),
        ("slot_create", {"label": "mood", "content": "calm"}),
        ("action_create", {"title": "paint the gate"}),
    ):
        assert refusal(small, operation, **arguments).code == "quota_reached"
    with pytest.raises(QuotaReached):
        small.observe(tool_name="Bash", tool_input={"command": "make test"}, tool_output="failed")


def test_a_batch_stores_what_fits_and_says_which_items_did_not(small: World) -> None:
    texts = ["the ferry leaves at seven", "the bakery closes at noon", "the mill stands still", "the well is deep"]
    answer = small.call("remember_batch", memories=[{"content": text} for text in (*texts, texts[0])])
    assert [one["success"] for one in answer["results"]] == [True, True, True, False, True]
    assert answer["results"][3]["code"] == "quota_reached"


def test_an_import_says_what_it_stored_and_goes_on_once_there_is_room(small: World, tmp_path: Path) -> None:
    source = World(tmp_path / "source", chance=1_000)
    ids = fill(source, 2)
    for rule in ("knock before you enter", "close the gate behind you"):
        source.call("lesson_save", content=rule)
    document = orjson.loads(b"".join(source.call("export").pieces))
    source.close()
    fault = refusal(small, "import_", **document)
    assert fault.details["imported"]["memories"] == 2
    logged = small.call("audit")["entries"]
    imports = [one["details"]["counts"] for one in logged if one["operation"] == "import"]
    assert [counts["imported"]["memories"] for counts in imports] == [2]
    assert small.call("lessons")["lessons"] == []  # a step of an import is stored whole or not at all
    small.call("forget", memoryId=ids[0])
    assert small.call("import_", **{**document, "memories": []})["success"]
    assert small.engine.store.usage("default").records == 3


def test_bytes_are_those_of_the_text(tmp_path: Path) -> None:
    world = World(tmp_path / "bytes", quota_bytes=2_000)
    assert world.engine.store.usage("default") == Usage(0, 0)
    world.call("remember", content="é" * 300)
    used = world.engine.store.usage("default").bytes
    assert 600 < used < 2_000
    fault = refusal(world, "remember", content="the second text has other words " + "ü" * 900)
    assert fault.details == {"quota": "bytes", "limit": 2_000, "used": used}
    assert world.engine.store.usage("default").bytes == used
    world.close()


def test_what_is_counted_while_it_is_written_is_what_is_counted_anew(tmp_path: Path) -> None:
    world = World(tmp_path / "again", quota_records=100, quota_bytes=1_000_000)
    ids = fill(world, 5)
    world.call("evolve", memoryId=ids[0], newContent="the amber gate was taken down")
    world.call("forget", memoryId=ids[1])
    world.call("slot_create", label="mood", content="çalm")
    world.observe(tool_name="Bash", tool_input={"command": "ls"}, tool_output="nothing")
    kept = world.engine.store.usage("default")
    world.close()
    again = World(tmp_path / "again", chance=1_000)
    found = again.engine.store.usage("default")
    again.call("remember", content="written while no quota was set")
    grown = again.engine.store.usage("default")
    again.close()
    assert (found, grown.records) == (kept, kept.records + 1)
    last = World(tmp_path / "again", chance=2_000, quota_records=grown.records)
    refusal(last, "remember", content="one more than was counted")
    last.close()


def test_a_restore_is_never_refused_and_what_it_brings_counts(tmp_path: Path) -> None:
    world = World(tmp_path / "full")
    fill(world, 5)
    made = world.call("snapshot_create")["snapshot"]["id"]
    world.close()
    small = World(tmp_path / "full", chance=1_000, quota_records=2, quota_writes=1)
    for one in small.call("memories", limit=10)["memories"]:
        small.call("forget", memoryId=one["id"])
    assert small.call("snapshot_restore", id=made, yes=True)["success"]
    assert small.engine.store.usage("default").records == 5
    refusal(small, "remember", content="what was restored leaves no room")
    small.close()


def test_writes_of_a_minute_are_counted_and_the_next_may_come_when_it_says(tmp_path: Path) -> None:
    world = World(tmp_path / "pace", quota_writes=2)
    fill(world, 2)
    with pytest.raises(RateLimited) as caught:
        world.call("remember", content="the third one in a minute")
    assert caught.value.http_status == 429
    wait = caught.value.details["retryAfter"]
    assert isinstance(wait, int)
    assert 1 <= wait <= 30
    assert world.call("memories")["total"] == 2  # what was refused is not stored
    assert world.call("search", query="gate")["results"]  # reading is not writing
    fill(world, 1, OTHER)  # another tenant has its own
    world.close()


def test_a_batch_counts_as_one_write(tmp_path: Path) -> None:
    world = World(tmp_path / "pace", quota_writes=1)
    items = [{"content": text} for text in ("the ferry leaves at seven", "the bakery closes at noon")]
    assert world.call("remember_batch", memories=items)["saved"] == 2
    with pytest.raises(RateLimited):
        world.call("remember", content="and one more")
    world.close()


def test_over_http_the_faults_have_their_status_and_say_when_to_retry(tmp_path: Path) -> None:
    with running(tmp_path / "http", quota_records=1, quota_writes=2) as http:
        assert http.post("/agentmemory/remember", json={"content": "the only fact"}).is_success
        full = http.post("/agentmemory/remember", json={"content": "one too many"})
        assert (full.status_code, full.json()["code"]) == (507, "quota_reached")
        assert http.get("/agentmemory/health").json()["quota"] == {"records": {"used": 1, "limit": 1}}
        codes = [one["code"] for one in http.get("/agentmemory/overview").json()["warnings"]]
        assert "quota_reached" in codes
        assert 'holdfast_quota_refusals_total{quota="records"} 1' in http.get("/metrics").text


def test_over_http_too_many_writes_are_refused_with_retry_after(tmp_path: Path) -> None:
    with running(tmp_path / "http", quota_writes=1) as http:
        assert http.post("/agentmemory/remember", json={"content": "the only fact"}).is_success
        answer = http.post("/agentmemory/remember", json={"content": "one too soon"})
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60


def test_requests_that_share_a_transaction_are_refused_one_by_one(tmp_path: Path) -> None:
    """In one write of the store, as the write batcher does it."""
    world = World(tmp_path / "shared", quota_records=2)
    outcomes: list[bool] = []

    def together(_: object) -> None:
        outcomes.clear()
        for text in ("the ferry leaves at seven", "the bakery closes at noon", "the mill stands still"):
            try:
                world.call("remember", content=text)
                outcomes.append(True)
            except QuotaReached:
                outcomes.append(False)

    world.engine.store.write(together, again=True)
    assert outcomes == [True, True, False]
    assert world.engine.store.usage("default").records == world.call("memories")["total"] == 2
    assert world.engine.store.verify() == []
    world.close()


def test_an_idempotency_key_that_met_a_full_quota_may_be_used_again(tmp_path: Path) -> None:
    with running(tmp_path / "http", quota_records=1) as http:
        kept = http.post("/agentmemory/remember", json={"content": "the only fact"}).json()["memory"]["id"]
        for path, body, done in (
            ("remember", {"content": "one that waits"}, 201),
            ("actions", {"title": "one that waits"}, 200),
        ):
            headers = {"Idempotency-Key": path}
            answer = http.post(f"/agentmemory/{path}", json=body, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (507, "quota_reached")
            assert http.post("/agentmemory/forget", json={"memoryId": kept}).is_success
            again = http.post(f"/agentmemory/{path}", json=body, headers=headers)
            assert again.status_code == done
            kept = again.json().get("memory", {}).get("id")
