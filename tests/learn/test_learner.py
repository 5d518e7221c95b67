"""What the learner keeps of sessions: each sentence once, gone with its source, nothing drawn together that is apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from talk import learn, relations, statements, turn
from world import DAY, World

from holdfast.core.errors import NotFound
from holdfast.core.model import Caller
from holdfast.learn.sessions.backlog import unsummarized
from holdfast.learn.statements import learner
from holdfast.store.sqlite import database, group_commit

OLD = "The database is Postgres 14 on `db.internal`."
NEW = "I moved the database from Postgres 14 to Postgres 16."
CAUSE = "The export fails because the worker opens `orders.csv` twice."


def state_old(world: World, **more: Any) -> list[str]:
    return turn(world, "Which database do we use here?", OLD, **more)


def state_new(world: World, **more: Any) -> list[str]:
    world.clock.now += DAY
    return turn(world, "Postgres 14 is too old, please upgrade it", NEW, **{"session": "s2", **more})


def texts(world: World) -> list[str]:
    return [one.text for one in statements(world)]


def told(world: World, **ask: Any) -> str:
    text: str = world.call("context", **{"project": "proj", **ask})["context"]
    return text


def test_conclusions_are_kept_word_for_word_and_chatter_is_not(world: World) -> None:
    turn(world, "Why does the export fail at night?", "Let me look at the logs.", CAUSE, "Done.")
    learn(world)
    assert texts(world) == [CAUSE]


def test_a_pasted_log_states_nothing(world: World) -> None:
    log = "02:31:04 export-2 ERROR orders.csv is open already\n02:31:05 export-2 WARN retry 1 of 2 in 3.0 s"
    turn(world, f"Why does the export fail at night? This is what it wrote:\n{log}", CAUSE)
    learn(world)
    assert texts(world) == [CAUSE]


SOC = ("/w/cfg/energy.yaml", "return_soc: 35", "return_soc: 28")


@pytest.mark.parametrize(
    "text",
    [
        "My key is sk-ant-api03-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9 use it",
        "Always use this, the deploy password is <private>swordfish</private>",
        "From now on always sign in with ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5",
    ],
)
def test_a_sentence_whose_point_was_redacted_is_not_kept(world: World, text: str) -> None:
    turn(world, text, "Done.")
    learn(world)
    assert texts(world) == []


def test_what_is_told_beside_a_secret_is_kept(world: World) -> None:
    secret = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    turn(world, f"Always deploy from the release branch, never from main, and the token is {secret}", "Done.")
    turn(world, f"Never write {secret} into the config files of the build server", "Done.")
    learn(world)
    kept = " ".join(texts(world))
    assert "Always deploy from the release branch" in kept
    assert "config files of the build server" in kept
    assert secret not in kept


CARTS = "Carts return to the charger at 35 % charge, the soc of return is in the energy file."


def test_a_setting_is_kept_as_the_edit_left_it_if_the_answer_does_not_name_it(world: World) -> None:
    turn(world, "When do the carts return?", CARTS, session="s0")
    turn(world, "35 wastes a trip per shift", "28 % set.", edit=SOC)
    learn(world)
    assert "return_soc: 28 in cfg/energy.yaml" in texts(world)


def test_a_setting_that_the_answer_names_is_not_kept_twice(world: World) -> None:
    turn(world, "35 wastes a trip per shift", "The carts return to the charger at 28 % charge.", edit=SOC)
    learn(world)
    assert [one for one in texts(world) if "28" in one] == ["The carts return to the charger at 28 % charge."]


def test_a_setting_on_which_nothing_was_said_before_is_not_kept(world: World) -> None:
    turn(world, "35 wastes a trip per shift", "28 % set.", edit=SOC)
    learn(world)
    assert not any("return_soc" in one for one in texts(world))


def test_of_a_setting_that_was_changed_twice_the_last_value_is_in_force(world: World) -> None:
    turn(world, "When do the carts return?", CARTS, session="s0")
    turn(world, "35 wastes a trip per shift", "28 % set.", edit=SOC)
    world.clock.now += DAY
    turn(
        world, "still too many trips", "Done, 20.", session="s2", edit=("/w/cfg/energy.yaml", SOC[2], "return_soc: 20")
    )
    learn(world)
    assert [one.type for one in relations(world)] == ["supersedes"]
    told_now = told(world)
    assert "return_soc: 20" in told_now
    assert "return_soc: 28" not in told_now


def test_what_a_wish_is_about_stands_with_it(world: World) -> None:
    turn(world, "the 12 minute cap on deck kills throughput, the lids are on anyway. make it 30", "Done.")
    learn(world)
    assert any("12 minute cap" in one and one.endswith("make it 30") for one in texts(world))


def test_a_statement_says_where_and_when_it_was_said(world: World) -> None:
    ids = turn(world, "Why does the export fail at night?", CAUSE, session="s7")
    learn(world)
    (one,) = statements(world)
    assert (one.source_id, one.project, one.at) == (ids[1], "proj", world.clock.now)


def test_reading_everything_again_gives_the_same_statements(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    state_old(world)
    state_new(world)
    learn(world)
    before = (statements(world), relations(world))
    assert learn(world)[0] == learner.LearningStep()
    monkeypatch.setattr(learner, "cursor", lambda *_: 0)
    learner.learn_step(dataclasses.replace(world.context(), whole=True))
    assert (statements(world), relations(world)) == before


def test_a_turn_may_be_read_in_pieces(world: World) -> None:
    turn(world, "Why does the export fail at night?")
    learn(world)
    turn(world, "", CAUSE)
    learn(world)
    turn(world, "", "The nightly export starts at 02:30 on `batch-2`.")
    learn(world)
    assert texts(world) == [CAUSE, "The nightly export starts at 02:30 on `batch-2`."]


def test_more_than_one_step_reads_comes_all_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "ROWS", 3)
    for number in range(6):
        turn(world, f"Where does service {number} listen?", f"Service {number} listens on port {8000 + number}.")
        world.call("remember", content=f"Shelf {number} holds box {number * 7}", project="proj")
    steps = learn(world)
    assert len(steps) > 2
    assert len(texts(world)) == 6


def test_a_newer_value_supersedes_the_older_statement(world: World) -> None:
    state_old(world)
    state_new(world)
    learn(world)
    ids = {one.text: one.id for one in statements(world)}
    assert [(one.source_id, one.target_id) for one in relations(world)] == [(ids[NEW], ids[OLD])]


def test_a_session_does_not_tell_as_its_outcome_what_was_perhaps_replaced(world: World) -> None:
    turn(world, "Which database do we run?", "We use Postgres 14.", session="s1")
    world.call("summarize", sessionId="s1")
    world.clock.now += DAY
    turn(world, "Any news?", "We moved to Postgres 16.", session="s2")
    learn(world)
    ids = {one.text: one.id for one in statements(world)}
    world.call("relate", sourceId=ids["We moved to Postgres 16."], targetId=ids["We use Postgres 14."], type="updates")
    assert "Earlier, perhaps outdated: We use Postgres 14." in told(world)
    assert told(world).count("We use Postgres 14.") == 1


def test_a_session_whose_title_states_what_was_replaced_is_marked(world: World) -> None:
    turn(world, OLD, "Noted.", session="s1")
    learn(world)
    assert f"“{OLD}”" in told(world)
    assert "perhaps outdated" not in told(world)
    state_new(world)
    learn(world)
    assert f"“{OLD}” (perhaps outdated)" in told(world)


def test_a_memory_supersedes_a_statement(world: World) -> None:
    state_old(world)
    learn(world)
    kept = world.call("remember", content="The database moved from Postgres 14 to Postgres 16.", project="proj")
    learn(world)
    assert [one.source_id for one in relations(world)] == [kept["memory"]["id"]]
    assert OLD not in told(world)


def test_a_memory_beside_new_turns_is_read_too(world: World) -> None:
    state_old(world)
    kept = world.call("remember", content="The database moved from Postgres 14 to Postgres 16.", project="proj")
    turn(world, "Why does the export fail at night?", CAUSE)
    learn(world)
    assert kept["memory"]["id"] in [one.source_id for one in relations(world, "supersedes", "updates")]


def test_what_is_said_need_not_wait_for_an_import_of_memories(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "MEMORY_ROWS", 2)
    for number in range(9):
        world.call("remember", content=f"Shelf {number} holds box {number}.", project="proj")
    turn(world, "Why does the export fail at night?", CAUSE)
    ctx = dataclasses.replace(world.context(), whole=True)
    assert learner.learn_step(ctx).more
    assert learner.is_learnt(ctx, ["proj"])
    assert texts(world) == [CAUSE]


def test_memories_go_on_from_the_one_cursor_of_earlier_versions(world: World) -> None:
    world.call("remember", content="The database moved from Postgres 14 to Postgres 16.", project="proj")
    ctx = dataclasses.replace(world.context(), whole=True)
    learner._move(ctx, learner.TURNS, ctx.store.last_seq(ctx.tenant))
    learn(world)
    assert learner.cursor(ctx, ctx.store.read(), learner.KEPT) >= learner.cursor(ctx, ctx.store.read()) > 0


def test_projects_do_not_replace_each_others_facts(world: World) -> None:
    state_old(world, project="one")
    state_new(world, project="other")
    learn(world)
    assert relations(world, "supersedes", "updates") == []


def test_a_statement_goes_with_the_observation_it_was_said_in(world: World) -> None:
    _, said = turn(world, "Why does the export fail at night?", CAUSE)
    state_old(world)
    learn(world)
    answer = world.call("forget", sessionId="s1", observationIds=[said])
    assert texts(world) == [OLD]
    assert "orders.csv" not in told(world)
    assert answer["success"]


def test_the_old_statement_holds_again_when_the_newer_is_forgotten(world: World) -> None:
    state_old(world)
    _, newer = state_new(world)
    learn(world)
    assert OLD not in told(world)
    world.call("forget", sessionId="s2", observationIds=[newer])
    assert relations(world) == []
    assert OLD in told(world)


def test_statements_go_with_their_session(world: World) -> None:
    state_old(world)
    turn(world, "Why does the export fail at night?", CAUSE, session="s2")
    learn(world)
    world.call("forget", sessionId="s1")
    assert texts(world) == [CAUSE]


def test_isolated_agents_are_not_drawn_together(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    ann, bob = Caller(agent="ann"), Caller(agent="bob")
    state_old(world, caller=ann)
    state_new(world, caller=bob)
    learn(world)
    assert relations(world, "supersedes", "updates") == []
    asked = {"project": "proj"}
    assert OLD in world.call("context", ann, **asked)["context"]
    assert "Postgres" not in world.call("context", ann, **asked)["context"].replace(OLD, "")
    assert OLD not in world.call("context", bob, **asked)["context"]
    world.close()


def test_an_embedder_that_fails_keeps_nobody_from_learning(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    embedder.refuse = lambda texts: True
    world = World(tmp_path / "m", model=embedder)
    state_old(world)
    state_new(world)
    learn(world)
    assert {OLD, NEW} <= set(texts(world))
    assert len(relations(world)) == 1
    world.close()


def test_what_a_tool_inserted_into_a_prompt_is_not_learnt(world: World) -> None:
    turn(world, "<system-reminder>Always use tabs, never spaces.</system-reminder>", "Fine.")
    learn(world)
    assert texts(world) == []


def test_a_folder_that_was_written_before_there_were_statements_is_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = database.migration_steps()[:1]
    with monkeypatch.context() as before:
        before.setattr(database, "migration_steps", lambda: first)
        before.setattr(group_commit, "is_recording", lambda db: False)  # that version kept no journal
        world = World(tmp_path / "m")
        turn(world, "Why does the export fail at night?", CAUSE)
        world.close()
    world = World(tmp_path / "m")
    assert world.call("verify")["sound"]
    learn(world)
    assert texts(world) == [CAUSE]
    world.close()


# Both hold


def test_what_still_holds_is_told_again_and_not_found_outdated_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, old = state_old(world)
    state_new(world)
    learn(world)
    answer = world.call("still_true", id=old)
    assert [one["type"] for one in answer["restored"]] == ["supersedes"]
    assert OLD in told(world)
    monkeypatch.setattr(learner, "cursor", lambda *_: 0)
    learn(world)
    assert relations(world, "supersedes", "updates") == []


def test_a_statement_itself_can_be_said_to_hold(world: World) -> None:
    state_old(world)
    state_new(world)
    learn(world)
    target = relations(world)[0].target_id
    world.call("still_true", id=target)
    assert OLD in told(world)


def test_what_holds_again_as_the_newer_one_is_forgotten_belongs_into_its_summary_again(world: World) -> None:
    state_old(world)
    _, new = state_new(world)
    learn(world)
    world.call("session_end", sessionId="s1")
    world.call("summarize", sessionId="s1")
    assert unsummarized(world.context(), None, 9) == []
    world.call("forget", sessionId="s2", observationIds=[new])
    assert [one.id for one in unsummarized(world.context(), None, 9)] == ["s1"]


@pytest.mark.parametrize("known", [True, False])
def test_what_nothing_superseded_cannot_be_restored(world: World, known: bool) -> None:
    _, old = state_old(world)
    learn(world)
    with pytest.raises(NotFound):
        world.call("still_true", id=old if known else "obs_nowhere")
