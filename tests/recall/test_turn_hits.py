"""A search answers with the answer: turns, what came since, the caller's project, and short passages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import warm
from engines import store_of
from hashing_embedder import HashingEmbedder
from hypothesis import given, strategies as st
from patience import WAIT_SECONDS
from processes import environment
from talk import learn, turn
from world import DAY, World, running

from holdfast.cli.output.render import print_answer
from holdfast.connection import LocalConnection
from holdfast.core.model import Caller
from holdfast.recall.passage import passage
from holdfast.serve.mcp.tools import call_for_agent

CAUSE = "The export fails because the worker opens `orders.csv` twice."
OLD = "The database is Postgres 14 on `db.internal`."
NEW = "I moved the database from Postgres 14 to Postgres 16."


def passages(world: World, query: str, **more: Any) -> list[Any]:
    found: list[Any] = world.call("search", query=query, format="passages", **more)["results"]
    return found


# Turns


def test_a_prompt_leads_to_its_answer(world: World) -> None:
    _, said = turn(world, "Why does the nightly export fail?", CAUSE)
    assert world.found("why does the nightly export fail")[0] == said


def test_prompt_and_messages_of_a_turn_are_one_hit(world: World) -> None:
    ids = turn(world, "Why does the export fail?", "I look at the export first.", CAUSE)
    assert world.found("export fail") == [ids[-1]]
    (hit,) = passages(world, "export fail")
    assert hit["text"].startswith("User: Why does the export fail? → ")
    assert CAUSE in hit["text"]


def test_a_prompt_without_an_answer_is_found_itself(world: World) -> None:
    (asked,) = turn(world, "Why does the export fail?")
    assert world.found("export fail") == [asked]


def test_a_question_without_an_answer_does_not_stand_before_the_answer(world: World) -> None:
    _, said = turn(world, "What about the nightly job?", CAUSE)
    asked = "Why does the worker's export fail with orders?"
    turn(world, asked, session="s2")  # the agent looks it up before it answers
    assert world.found(asked)[0] == said


def test_turns_of_one_session_are_hits_of_their_own(world: World) -> None:
    _, first = turn(world, "Why does the export fail?", CAUSE)
    _, second = turn(world, "When does the export start?", "The export starts at 02:30.")
    assert set(world.found("export")) == {first, second}


def test_prompts_of_the_same_moment_are_turns_of_their_own(world: World) -> None:
    for text in ("granite for the wall", "basalt for the floor"):
        world.observe(hook="prompt_submit", prompt=text)
    assert passages(world, "basalt")[0]["text"] == "User: basalt for the floor"
    assert passages(world, "granite")[0]["text"] == "User: granite for the wall"


def explained(world: World, query: str) -> dict[str, Any]:
    """Why each hit was found, by its id, best first."""
    return {one["id"]: one["why"] for one in world.call("search", query=query, explain=True)["results"]}


@pytest.fixture
def near(tmp_path: Path) -> Iterator[World]:
    """A memory that is searched by meaning too."""
    world = World(tmp_path / "near", model=HashingEmbedder())
    yield world
    world.close()


def test_a_turn_about_the_question_stands_before_one_that_matches_in_half(near: World) -> None:
    about = turn(near, "Is the granite wall footing safe", "Yes, granite wall and footing hold.")[1]
    in_half = turn(near, "granite wall footing", "Lunch was late because no cook came today.", session="s2")[1]
    near.follow()
    why = explained(near, "granite wall footing")
    assert list(why)[:2] == [about, in_half]
    assert why[in_half]["words"] > why[about]["words"]
    assert why[in_half]["turn"] < 0 < why[about]["turn"]


def test_what_was_stated_and_what_is_newer_counts(near: World) -> None:
    chore = turn(near, "rename the export worker", "Done.")[1]
    stated = turn(near, "Why does the export worker fail?", CAUSE, session="s2")[1]
    learn(near)
    near.follow()
    why = explained(near, "export worker")
    assert why[chore]["worth"] < why[stated]["worth"]
    assert why[chore]["newer"] < 0 < why[stated]["newer"]


def test_output_of_a_tool_loses_only_beside_turns(world: World) -> None:
    ran = {"tool_name": "Bash", "tool_input": {"command": "quarry"}, "tool_response": {"stdout": "granite 12 t"}}
    world.observe(hook="post_tool_use", **ran)
    (alone,) = explained(world, "granite").values()
    _, said = turn(world, "How much granite is left?", "12 t of granite are left.")
    beside = explained(world, "granite")
    assert next(iter(beside)) == said
    (printed,) = [why for id, why in beside.items() if id != said]
    assert printed["deed"] < alone["deed"]


ADDED = ("words", "meaning", "speaker", "date", "exact", "asking", "recent", "important", "recalled", "disclosed", "deed",
         "turn", "worth", "newer")  # fmt: skip


def test_the_reasons_of_a_turn_add_up_to_its_score(near: World) -> None:
    turn(near, "Why does the export fail?", "I look at the export first.", CAUSE)
    turn(near, "When does the export start?", session="s2")
    near.observe(
        hook="post_tool_use", tool_name="Bash", tool_input={"command": "export"}, tool_response={"stdout": "no"}
    )
    near.call("remember", content="The export is a nightly job", project="proj")
    learn(near)
    near.follow()
    found = explained(near, "export")
    assert len(found) == 4
    for why in found.values():
        assert sum(why[name] for name in ADDED) == pytest.approx(why["score"], abs=0.001)


def test_without_turns_nothing_is_added(near: World) -> None:
    for text in ("The kiln is fired on Mondays", "The kiln stands in the yard"):
        near.call("remember", content=text, project="p")
    near.follow()
    for why in explained(near, "kiln").values():
        assert (why["turn"], why["worth"], why["newer"]) == (0, 0, 0)


# What came since


def changed(world: World) -> tuple[str, str]:
    old = turn(world, "Which database do we use here?", OLD)[1]
    world.clock.now += DAY
    new = turn(world, "Postgres 14 is too old, please upgrade it", NEW, session="s2")[1]
    learn(world)
    return old, new


@pytest.mark.parametrize("query", ["Which database do we use here?", "Postgres 14 db.internal"])
def test_a_superseded_hit_is_marked_and_stands_behind_its_successor(world: World, query: str) -> None:
    old, new = changed(world)
    assert world.found(query)[:2] == [new, old]
    first, second = passages(world, query)[:2]
    assert "outdated" not in first
    assert (second["outdated"], second["supersededBy"]) == (True, new)
    assert f"[Outdated since 2026-09-22: {NEW}]" in second["text"]
    full = world.call("search", query=query)["results"][1]
    assert full["supersededBy"]["text"] == NEW


def test_a_hit_that_was_found_by_meaning_alone_is_marked_too(tmp_path: Path) -> None:
    class Same(HashingEmbedder):
        def _word(self, word: str) -> Any:  # every text means the same
            return super()._word("x")

    world = World(tmp_path / "m", model=Same())
    old, new = changed(world)
    world.follow()
    found = passages(world, "quel moteur")
    assert [one["id"] for one in found][:2] == [new, old]
    assert found[1]["outdated"]
    world.close()


def test_a_memory_that_another_superseded_leads_to_its_latest_version(world: World) -> None:
    old = world.call("remember", content="The kiln is fired on Mondays", project="p")["memory"]["id"]
    new = world.call("remember", content="Pottery starts each Wednesday", project="p")["memory"]["id"]
    world.call("relate", sourceId=new, targetId=old, type="supersedes")
    newest = world.call("evolve", memoryId=new, newContent="Pottery starts each Friday")["memory"]["id"]
    first, second = passages(world, "kiln Mondays")[:2]
    assert (first["id"], second["id"], second["supersededBy"]) == (newest, old, newest)
    assert "Pottery starts each Friday" in second["text"]


@pytest.mark.parametrize(
    ("newer", "first"),
    [
        ("The kiln is fired on Fridays by the potter, early", "newer"),
        ("Clay arrives by boat, and the kiln was swept", "older"),
    ],
    ids=["fits the question as well", "is about something else"],
)
def test_what_only_perhaps_replaces_a_hit_goes_before_it_where_it_fits_the_question(
    world: World, newer: str, first: str
) -> None:
    old = world.call("remember", content="The kiln is fired on Mondays by the potter", project="p")["memory"]["id"]
    new = world.call("remember", content=newer, project="p")["memory"]["id"]
    world.call("relate", sourceId=new, targetId=old, type="updates")
    found = passages(world, "when is the kiln fired by the potter")
    assert [one["id"] for one in found] == ([new, old] if first == "newer" else [old, new])
    (marked,) = [one for one in found if "marked" in one]
    assert (marked["id"], newer in marked["text"]) == (old, True)


@pytest.mark.parametrize("named", ["id", "marked"])
def test_what_still_holds_is_not_marked(world: World, named: str) -> None:
    changed(world)
    query = "Which database do we use here?"
    (hit,) = [one for one in passages(world, query) if "outdated" in one]
    world.call("still_true", id=hit[named])
    assert not any("marked" in one for one in passages(world, query))


def test_the_command_line_names_the_command_that_takes_a_mark_away(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(world)
    answer = world.call("search", query="Which database do we use here?", format="passages")
    (marked,) = [one["marked"] for one in answer["results"] if "marked" in one]
    print_answer(answer, "search")
    assert f"holdfast still-true {marked}\n" in capsys.readouterr().out
    print_answer(world.call("still_true", id=marked), "still_true")
    assert capsys.readouterr().out.startswith(f"Holds again: {marked}. Marks removed: ")


def test_the_terminal_shows_complete_records_whole(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    changed(world)
    long = f"The export is slow because {'the worker reads every order again and ' * 40}nothing is cached."
    turn(world, "Why is the export slow?", long, session="s3")
    world.observe(session="s3", tool_name="Bash", tool_input={"command": "make export"}, tool_output="start\nno cache")
    learn(world)

    def printed(query: str) -> str:
        print_answer(world.call("search", query=query, full=True), "search")
        return capsys.readouterr().out

    assert f"   User: Why is the export slow?\n   {long}\n" in printed("why is the export slow")
    assert "   command: make export\n   start\n   no cache\n" in printed("make export")
    assert f"   Outdated; said anew: {NEW}\n" in printed("Which database do we use here?")
    print_answer(world.call("search", query="export", full=True, min_confidence=1.0), "search")
    assert capsys.readouterr().out.startswith("No hit is that sure")


def test_a_mark_on_what_the_user_said_goes_with_the_id_of_the_hit(world: World) -> None:
    _, said = turn(world, "The database is Postgres 14 on `db.internal`.", "Noted.")
    world.clock.now += DAY
    turn(world, "Postgres 14 is too old, please upgrade it", NEW, session="s2")
    learn(world)
    assert world.call("still_true", id=said)["restored"]


def test_of_a_chain_of_changes_the_last_is_named(world: World) -> None:
    old, middle = changed(world)
    world.clock.now += DAY
    last = turn(world, "Postgres 16 is too slow, please upgrade",
                "I moved the database from Postgres 16 to Postgres 17.", session="s3")[1]  # fmt: skip
    learn(world)
    hits = {one["id"]: one for one in passages(world, "Which database do we use here? Postgres")}
    assert hits[old]["supersededBy"] == last
    assert hits[middle]["supersededBy"] == last
    assert "outdated" not in hits[last]


# Here


def two_projects(world: World) -> tuple[str, str]:
    mine = turn(world, "Where does the gateway listen?", "The gateway listens on port 8080.", project="mine")[1]
    other = turn(world, "Where does the gateway listen?", "The gateway listens on port 9090.", session="s2",
                 project="other")[1]  # fmt: skip
    return mine, other


def test_the_callers_project_answers_alone_where_it_can(world: World) -> None:
    mine, _ = two_projects(world)
    found = passages(world, "gateway port", here="mine")
    assert [one["id"] for one in found] == [mine]
    assert "project" not in found[0]


def test_other_projects_answer_where_it_cannot_and_are_named(world: World) -> None:
    _, other = two_projects(world)
    turn(world, "Where is the tea?", "The tea is in the cupboard.", session="s3", project="third")
    found = passages(world, "gateway port 9090", here="third")
    others = [(one["id"], one["project"]) for one in found if "project" in one]
    assert others[0] == (other, "other")


def test_another_project_takes_one_place_at_most(world: World) -> None:
    two_projects(world)
    found = passages(world, "where does the gateway listen", here="third")
    assert [one["project"] in ("mine", "other") for one in found] == [True]


def test_memories_of_no_project_answer_everywhere(world: World) -> None:
    kept = world.call("remember", content="Gateways are restarted on Mondays")["memory"]["id"]
    two_projects(world)
    assert kept in [one["id"] for one in passages(world, "gateway restarted", here="mine")]


# Short answers


def many(call: Any) -> None:
    text = "The gateway of hall {at} listens on port {port}. " + "Much more is said about gateways there. " * 60
    for at in range(8):
        call(at, text.format(at=at, port=8000 + at))


def test_five_hits_take_few_characters_over_mcp_and_all_fields_over_rest(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client:
        many(lambda at, text: client.post("/agentmemory/observe", json={
            "sessionId": f"s{at}", "hookType": "assistant_message", "timestamp": "2026-09-21T13:00:00Z",
            "data": {"message": text}, "project": "proj", "cwd": "/w"}).raise_for_status())  # fmt: skip
        ask = {"name": "memory_recall", "arguments": {"query": "gateway port", "limit": 5}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ask}
        headers = {"Accept": "application/json, text/event-stream"}
        said = client.post("/mcp", json=body, headers=headers).json()["result"]["content"][0]["text"]
        assert len(json.loads(said)["results"]) == 5
        assert len(said) <= 3_000
        rest = client.post("/agentmemory/search", json={"query": "gateway port", "limit": 5}).json()["results"]
        assert set(rest[0]) >= {"id", "obsId", "sessionId", "title", "score", "content", "observation", "vectorScore"}
        assert len(rest[0]["content"]) > 1_000
        whole = {**ask, "arguments": {**ask["arguments"], "full": True}}
        said = client.post("/mcp", json={**body, "params": whole}, headers=headers).json()["result"]["content"][0]
        assert len(json.loads(said["text"])["results"][0]["content"]) > 1_000


def test_five_hits_take_few_characters_on_the_command_line(tmp_path: Path) -> None:
    world = World(tmp_path / "m")
    many(lambda at, text: world.observe(f"s{at}", hook="assistant_message", message=text))
    world.close()
    words = ("recall", "gateway port", "--limit", "5", "--data", str(tmp_path / "m"))
    done = warm.run(words, environment(HOLDFAST_STORE=store_of(tmp_path / "m")), WAIT_SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("gateway of hall") >= 5
    assert len(done.stdout) <= 3_000


def test_an_agent_in_a_folder_gets_its_project_first(world: World) -> None:
    mine, _ = two_projects(world)
    connection = LocalConnection(world.engine, Caller())
    answer = call_for_agent(connection, "memory_recall", {"query": "gateway port"}, "mine")
    assert [one["id"] for one in answer["results"]] == [mine]


def test_a_passage_holds_the_sentence_that_answers() -> None:
    filler = "Nothing of interest happened on that day. " * 40
    found = passage(f"{filler}The gateway listens on port 8080. {filler}", "gateway port", 120)
    assert "The gateway listens on port 8080." in found
    assert len(found) <= 120


@given(st.text(max_size=2_000), st.text(max_size=60), st.integers(20, 500))
def test_a_passage_is_never_longer_than_asked(text: str, query: str, chars: int) -> None:
    assert len(passage(text, query, chars)) <= chars
