"""What a context holds: in which order, how much of what, nothing twice, nothing that is not the caller's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from recall_records import lesson, memory, slot, standing
from rows import each
from talk import learn, statements, turn
from world import DAY, World

from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Caller
from holdfast.learn.statements.supersession import supersede
from holdfast.recall.context.build import FILES, IN_FORCE, OPEN, OPENING, PAST, RULES, ContextSources, build
from holdfast.text.tokens import estimate

pytestmark = pytest.mark.quick

CAUSE = "The export fails because the worker opens `orders.csv` twice."
LONG = "the quick brown fox jumps over the lazy dog and runs away. "


def facts(many: int, project: str | None = None) -> tuple[str, ...]:
    names = "amber birch cedar delta ember fjord grove heath inlet jetty knoll ledge mesa notch oasis prairie".split()
    return tuple(f"{names[at % 16]}{at} is kept in drawer{at * 7} by person{at * 13}" for at in range(many))


def shown(world: World, **ask: object) -> list[str]:
    """The memories of a context, in order."""
    text = world.call("context", **{"project": "proj", **ask})["context"]
    return section(text, IN_FORCE)


def section(text: str, head: str) -> list[str]:
    """What the items of a section say, in order."""
    after = text.partition(f"## {head}\n")[2].partition("\n## ")[0]
    return [one.removeprefix("- ") for one in after.split("\n") if one.startswith("- ")]


# The block


def test_one_long_slot_leaves_room_for_everything_else() -> None:
    sources = ContextSources(
        slots=(slot(LONG * 500),),
        files=("tea.py",),
        lessons=(lesson("Boil water first"),),
        memories=(memory("The kettle is red"),),
    )
    made = build(sources, 500)
    assert all(part in made.text for part in (f"## {RULES}", "tea.py", "Boil water", "kettle"))
    assert made.shortened == {RULES: 1}
    assert made.omitted == {}
    assert f"Shortened: 1 of {RULES}." in made.text
    assert made.tokens <= 500


def test_many_full_slots_do_not_starve_the_sections_after_them() -> None:
    sources = ContextSources(
        slots=tuple(slot(LONG * 30, label=f"slot_{at}") for at in range(12)),
        lessons=tuple(lesson(f"{text} always") for text in facts(10)),
        memories=tuple(memory(text) for text in facts(20)),
    )
    made = build(sources, 1000)
    assert {f"## {RULES}", f"## {IN_FORCE}"} <= set(made.text.split("\n"))
    assert set(made.omitted) >= {RULES}
    assert f"{made.omitted[RULES]} of {RULES}" in made.text


def test_room_that_others_do_not_need_is_used() -> None:
    sources = ContextSources(memories=tuple(memory(text) for text in facts(20)))
    made = build(sources, 800)
    assert made.omitted == {}
    assert made.shortened == {}


def test_the_same_is_said_once() -> None:
    sources = ContextSources(
        slots=(slot("Be brief.\nPrefer tabs"),),
        lessons=(lesson("Use uv for installs."), lesson("prefer TABS!")),
        memories=(memory("use UV for installs"), memory("The API returns cents"), memory("The  API returns cents")),
    )
    text = build(sources, 1000).text.lower()
    assert text.count("prefer tabs") == 1
    assert text.count("use uv") == 1
    assert text.count("returns cents") == 1


def test_texts_that_differ_are_both_said() -> None:
    made = build(ContextSources(memories=(memory("port 80"), memory("port 81"), memory("🚀"), memory("🎉"))), 500)
    assert [part for part in ("port 80", "port 81", "🚀", "🎉") if part in made.text] == [
        "port 80",
        "port 81",
        "🚀",
        "🎉",
    ]


@each("budget", [0, 1, 10, 35, 50, 60, 75, 100, 150, 250, 400, 1000, 5000])
def test_no_budget_is_overrun_and_nothing_vanishes_uncounted(budget: int) -> None:
    sources = ContextSources(
        slots=(slot(LONG * 3), slot("ж" * 800, label="b"), slot("🚀" * 300, label="c")),
        files=("tea.py", "kettle.py"),
        lessons=tuple(lesson(text) for text in facts(5)),
        memories=(*(memory(text) for text in facts(30)[10:]), memory("é" * 3000)),
    )
    made = build(sources, budget)
    assert made.tokens == estimate(made.text) <= budget
    lines = [one for one in made.text.split("\n") if one.startswith("- ")]
    assert len(lines) + sum(made.omitted.values()) == 3 + 1 + 5 + 21
    if not made.text:
        assert budget < estimate(OPENING) + 30


def test_fifty_tokens_still_say_something_short() -> None:
    made = build(ContextSources(memories=(memory("Port 8080"), *(memory(text) for text in facts(20)))), 60)
    assert "Port 8080" in made.text
    assert made.omitted == {IN_FORCE: 20}


# The memories that matter


def test_the_session_decides_which_memories_come_first(world: World) -> None:
    for text in facts(30):
        world.call("remember", content=text, project="proj")
    world.call("remember", content="Invoices are rounded half to even", project="proj")
    for text in facts(60)[30:]:
        world.call("remember", content=text, project="proj")
    assert not any("rounded" in one for one in shown(world))
    world.call("observe", sessionId="s1", hookType="prompt_submit", timestamp=world.clock.now, project="proj", cwd="/",
               data={"prompt": "Why are invoices rounded like this?"})  # fmt: skip
    assert "rounded" in shown(world, sessionId="s1")[0]


def test_a_session_started_with_a_title_gets_what_answers_it(world: World) -> None:
    world.call("remember", content="Kettles are descaled with vinegar")
    for text in facts(40):
        world.call("remember", content=text, project="proj")
    started = world.call("session_start", sessionId="s1", project="proj", cwd="/", title="Descale the kettles")
    assert "vinegar" in section(started["context"], IN_FORCE)[0]


def test_important_memories_come_first_however_old(world: World) -> None:
    world.call("remember", content="Never deploy on a Friday", importance=5)
    for text in facts(260):
        world.call("remember", content=text)
    world.clock.now += 300 * DAY
    world.call("remember", content="A new but unimportant thing", importance=1)
    assert shown(world)[0] == "Never deploy on a Friday"


def test_other_projects_superseded_and_expired_memories_stay_out(world: World) -> None:
    world.call("remember", content="teapot facts of another house", project="other")
    old = world.call("remember", content="The teapot is green", project="proj")["memory"]
    world.call("evolve", memoryId=old["id"], newContent="The teapot is blue now")
    world.call("remember", content="The teapot is lent out this week", project="proj", ttlDays=7)
    world.clock.now += 8 * DAY
    world.call("session_start", sessionId="s1", project="proj", cwd="/", title="teapot")
    assert shown(world, sessionId="s1") == ["The teapot is blue now"]
    assert "lent out" not in world.call("enrich", terms=["teapot"], project="proj")["context"]


def test_an_isolated_agent_gets_nothing_of_another(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    ann, bob = Caller(agent="ann"), Caller(agent="bob")
    world.call("remember", ann, content="Ann's teapot secret", project="proj")
    world.call("lesson_save", ann, content="Ann's teapot lesson")
    world.call("session_start", ann, sessionId="s1", project="proj", cwd="/", title="teapot")
    world.call("session_start", bob, sessionId="s1", project="proj", cwd="/", title="teapot")
    assert "Ann" not in str(world.call("context", bob, project="proj", sessionId="s1"))
    assert "Ann's teapot secret" in world.call("context", ann, project="proj", sessionId="s1")["context"]
    world.close()


def test_lessons_of_other_projects_do_not_crowd_out_ours(world: World) -> None:
    for text in facts(210):
        world.call("lesson_save", content=text, project="other", confidence=0.9)
    world.call("lesson_save", content="Warm the pot", project="proj", confidence=0.2)
    assert "Warm the pot" in world.call("context", project="proj")["context"]


def test_a_convention_is_told_among_the_rules_only(world: World) -> None:
    world.call("remember", content="Always name tests as sentences", type="convention", project="proj")
    text = world.call("context", project="proj")["context"]
    assert text.count("name tests as sentences") == 1
    assert section(text, RULES) == ["Always name tests as sentences"]


def test_the_same_store_gives_the_same_context(world: World) -> None:
    for text in facts(40):
        world.call("remember", content=text, project="proj")
    assert world.call("context", project="proj") == world.call("context", project="proj")


# Enrichment


def test_enrichment_knows_memories_of_no_project_and_says_a_text_once(world: World) -> None:
    world.call("remember", content="lamp.py needs oil", files=["lamp.py"])
    world.call("remember", content="lamp.py needs oil", files=["lamp.py"], project="proj")
    text = world.call("enrich", files=["lamp.py"], terms=["oil"], project="proj")["context"]
    assert text.count("needs oil") == 1


def test_enrichment_for_an_agent_has_only_its_own(world: World) -> None:
    world.call("remember", content="the lamp takes rape oil", agentId="keeper")
    world.call("remember", content="the oil of the lamp froze", agentId="diver", type="bug")
    text = world.call("enrich", terms=["lamp", "oil"], agentId="keeper")["context"]
    assert "rape oil" in text
    assert "froze" not in text


def test_enrichment_says_how_much_it_left_out(world: World) -> None:
    for at in range(30):
        world.call("remember", content=f"wick{at} " + f"oil lamp{at} word{at} " * 40, files=["lamp.py", f"f{at}.py"])
    files = ["lamp.py", "f1.py", "f2.py", "f3.py", "f4.py"]
    text = world.call("enrich", files=files, terms=["oil", "lamp"])["context"]
    assert len(text) <= 4_000
    assert text.split("\n")[-1].startswith("Left out for space: ")


# What was said in sessions


def test_slots_lessons_memories_and_statements_share_a_section() -> None:
    sources = ContextSources(
        slots=tuple(slot(LONG * 30, label=f"slot_{at}") for at in range(6)),
        lessons=tuple(lesson(f"{text} always") for text in facts(40)),
        memories=tuple(memory(f"{text} by convention", type="convention") for text in facts(40)),
        statements=tuple(standing(f"never touch {text}", kind="preference") for text in facts(40)),
    )
    text = build(sources, 1000).text
    assert all(part in text for part in ("- slot_0:", "always", "by convention", "never touch"))


def test_what_is_kept_does_not_crowd_out_what_was_said() -> None:
    sources = ContextSources(
        memories=tuple(memory(f"{text} {LONG * 4}") for text in facts(24)),
        statements=tuple(standing(f"{text} as decided", kind="decision", session_id=f"s{at}")
                         for at, text in enumerate(facts(24))),
    )  # fmt: skip
    assert "as decided" in build(sources, 800).text


def test_a_doubtful_statement_says_so() -> None:
    sure, doubtful = standing("The port is 80", worth=0.9), standing("The host is alpha", doubtful=True, worth=0.8)
    assert section(build(ContextSources(statements=(doubtful, sure)), 500).text, IN_FORCE) == [
        "The port is 80",
        "Earlier, perhaps outdated: The host is alpha",
    ]


@each("asked", ["Does core still run on 18?", "can you walk me through the ledger once, I forgot"])
def test_a_question_of_the_user_is_no_wish_that_stands(asked: str) -> None:
    said = (standing(asked, id="a", source_id="one"), standing("The port is 80", id="b", source_id="two"))
    assert section(build(ContextSources(statements=said), 500).text, IN_FORCE) == ["The port is 80"]


def test_what_was_said_earlier_stands_below_what_is_newer() -> None:
    said = (
        standing("Releases go out on Friday", id="old", source_id="one", newer="new", at=1),
        standing("We ship on Tuesdays", id="new", source_id="two", newer="last", at=2),
        standing("Marek ships each Monday", id="last", source_id="three", at=3),
    )
    assert section(build(ContextSources(statements=said), 500).text, IN_FORCE) == [
        "Marek ships each Monday. Earlier: We ship on Tuesdays. Earlier: Releases go out on Friday"
    ]


def test_what_was_said_earlier_stands_below_no_other_sentence_of_the_newer_message() -> None:
    said = (
        standing("The worker retries forever", id="old", source_id="one", newer="new", at=1),
        standing("The worker gives up after 5 attempts", id="new", source_id="two", at=2, seq=1),
        standing("Ops is alerted by a rule", id="other", source_id="two", at=2, seq=2),
        standing("The cache held an old browser", id="older", source_id="three", newer="gone", at=1, worth=0.8),
        standing("Images are cached too", id="same", source_id="three", at=1, worth=0.7),
    )
    assert section(build(ContextSources(statements=said), 500).text, IN_FORCE) == [
        "Ops is alerted by a rule",
        "The worker gives up after 5 attempts. Earlier: The worker retries forever",
        "Earlier: The cache held an old browser",
        "Images are cached too",
    ]


def test_what_was_said_earlier_stands_below_a_sentence_that_shares_its_subject_or_alone(world: World) -> None:
    said = {
        "Which file is the worker?": "The queue worker is `src/worker/confirm.ts`.",
        "What happens to an order that cannot be confirmed?": "The worker gives up after 5 attempts and moves the order to the queue `confirm-dead`.",
        "Who is told of it?": "Ops is alerted by the Grafana rule `dead-letters`.",
        "What unit do prices have?": "Prices are stored in cents since 2021.",
    }
    for number, (asked, answer) in enumerate(said.items()):
        turn(world, asked, answer, session=f"s{number}")
    learn(world)
    ids = {one.text: one.id for one in statements(world)}
    worker, stops, ops, prices = (ids[text] for text in said.values())
    ctx = world.context()
    for newer, older in ((stops, worker), (ops, worker), (ops, prices)):
        ctx.store.write(partial(supersede, ctx, new=newer, old=older, said="related", agent=None))
    told = shown(world)
    _, newest, *_ = said.values()
    assert f"{newest} Earlier: The queue worker is `src/worker/confirm.ts`." in told
    assert "Earlier: Prices are stored in cents since 2021." in told


def test_what_was_said_earlier_stands_alone_where_the_newer_is_not_told() -> None:
    said = (
        standing("Releases go out on Friday", id="old", source_id="one", newer="new"),
        standing("perhaps Tuesday", id="new", source_id="two", worth=0.1),
    )
    assert section(build(ContextSources(statements=said), 500).text, IN_FORCE) == ["Earlier: Releases go out on Friday"]


def test_statements_that_lead_to_each_other_are_both_told() -> None:
    said = (
        standing("Releases go out on Friday", id="a", source_id="one", newer="b"),
        standing("We ship on Tuesdays", id="b", source_id="two", newer="a"),
    )
    text = build(ContextSources(statements=said), 500).text
    assert "Friday" in text
    assert "Tuesdays" in text


def test_a_statement_that_is_hardly_worth_anything_is_not_told() -> None:
    made = build(ContextSources(statements=(standing("perhaps so", worth=0.1), standing("The port is 80"))), 500)
    assert "perhaps so" not in made.text


def test_what_a_memory_says_is_not_told_again_as_a_statement() -> None:
    sources = ContextSources(memories=(memory("The port is 80"),), statements=(standing("the port is 80."),))
    assert build(sources, 500).text.lower().count("the port is 80") == 1


def test_what_was_said_twice_is_told_once() -> None:
    sources = ContextSources(
        statements=(
            standing("The port is 80", id="a", source_id="one"),
            standing("The port is 80!", id="b", source_id="other", session_id="s1"),
        )
    )
    assert build(sources, 500).text.count("The port is 80") == 1


def test_each_line_says_why_it_is_told_and_of_which_records(world: World) -> None:
    kept = world.call("remember", content="The kettle is red", project="proj")["memory"]["id"]
    _, said = turn(world, "Why does the export fail?", CAUSE)
    learn(world)
    lines = world.call("context", project="proj", explain=True)["lines"]
    ids = {one["text"]: one["ids"] for one in lines}
    assert ids["- The kettle is red"] == [kept]
    assert said in ids[f"- {CAUSE}"]
    assert all(one["reason"] for one in lines)
    assert "lines" not in world.call("context", project="proj")


def test_nothing_superseded_is_told_as_current(world: World) -> None:
    turn(world, "Which database?", "The database is Postgres 14 on `db.internal`.")
    turn(world, "Postgres 14 is too old, please upgrade it",
         "I moved the database from Postgres 14 to Postgres 16.", session="s2")  # fmt: skip
    learn(world)
    told = section(world.call("context", project="proj")["context"], IN_FORCE)
    assert told == ["I moved the database from Postgres 14 to Postgres 16."]


def test_open_work_that_was_taken_up_is_told_no_more(world: World) -> None:
    turn(world, "What is left?", "The migration of the invoices table is still missing.")
    learn(world)
    assert section(world.call("context", project="proj")["context"], OPEN) != []
    turn(world, "Go on", "The migration of the invoices table now runs in `0042_invoices.sql`.", session="s2")
    learn(world)
    assert section(world.call("context", project="proj")["context"], OPEN) == []


def test_a_failing_run_that_passed_since_is_open_no_more(world: World) -> None:
    failing = "Not done yet: three tests of the checkout still fail."
    turn(world, "What is left?", failing)
    learn(world)
    assert section(world.call("context", project="proj")["context"], OPEN) != []
    turn(world, "And the lint?", "The lint passes on `checkout.py` and on `currency.py`.", session="s2")
    learn(world)
    assert section(world.call("context", project="proj")["context"], OPEN) != []
    turn(world, "Mend it", "The currency is set in `checkout.py` now, and all 214 tests pass again.", session="s3")
    learn(world)
    assert section(world.call("context", project="proj")["context"], OPEN) == []


def test_the_last_sessions_are_told_with_how_they_ended(world: World) -> None:
    world.call("session_start", sessionId="s1", project="proj", cwd="/", title="Mend the export")
    turn(world, "Why does the export fail?", CAUSE)
    learn(world)
    world.call("session_start", sessionId="s2", project="proj", cwd="/", title="Next")
    text = world.call("context", project="proj", sessionId="s2")["context"]
    assert [one[:29] for one in section(text, PAST)] == ["2026-09-21 “Mend the export”"]
    assert "Next" not in text


def test_files_that_were_changed_most_often_are_told(world: World) -> None:
    for at, file in enumerate(["a.py", "b.py", "b.py"]):
        world.clock.now += 1_000
        world.observe(tool_name="Edit", tool_input={"file_path": file, "old_string": f"x{at}", "new_string": "y"})
    world.observe(tool_name="Read", tool_input={"file_path": "c.py"})
    assert section(world.call("context", project="proj")["context"], FILES) == ["b.py, a.py"]


def test_files_are_told_relative_to_the_folders_that_were_worked_in(world: World) -> None:
    world.call("session_start", sessionId="s1", project="proj", cwd="/home/ada/proj/web")
    world.call("session_start", sessionId="s2", project="proj", cwd="/home/ada/proj")
    for session, file in (("s1", "web/a.py"), ("s1", "web/a.py"), ("s2", "b.py")):
        world.clock.now += 1_000
        edit = {"file_path": f"/home/ada/proj/{file}", "old_string": str(world.clock.now), "new_string": "y"}
        world.observe(session, tool_name="Edit", tool_input=edit)
    world.observe("s2", tool_name="Edit", tool_input={"file_path": "/home/ada/project/c.py", "new_string": "y"})
    told = section(world.call("context", project="proj")["context"], FILES)
    assert sorted(told[0].split(", ")) == ["/home/ada/project/c.py", "b.py", "web/a.py"]


def test_two_projects_of_one_folder_name_are_told_apart(world: World) -> None:
    one, other = "github.com/acme/shop", "github.com/borealis/shop"
    for session, project, cwd in (("s1", one, "/a/shop"), ("s2", other, "/b/shop")):
        world.call("session_start", sessionId=session, project=project, cwd=cwd)
        turn(world, "Where does it listen?", f"The shop of {project} listens on port 80.", session=session,
             project=project)  # fmt: skip
    learn(world)
    assert other not in world.call("context", project=one)["context"]
    assert one in world.call("context", project=one)["context"]
    with pytest.raises(InvalidRequest, match="2 projects"):
        world.call("context", project="shop")
