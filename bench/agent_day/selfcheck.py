"""Whether the gold fits the scenarios: it must match what was said, and must not be met by accident."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_day.gold import as_current, says
from agent_day.script import Edit, Run, Scenario, Write


def problems(scenarios: Sequence[Scenario]) -> list[str]:
    """A line for each place where gold and scenario disagree."""
    return [f"{one.name}: {line}" for one in scenarios for line in _problems(one, scenarios)]


def _problems(one: Scenario, scenarios: Sequence[Scenario]) -> Iterator[str]:
    said = [text for turn in one.turns() for text in (turn.prompt, *turn.said)]
    yield from _facts(one, said, said + _inputs(one))
    yield from of_questions(one, said)
    yield from _shape(one)
    for stand in one.stands:
        if not any(says(text, stand.any_of) for text in said):
            yield f"no message says what stands: {stand.name}"
    for other in one.foreign:
        if any(says(text, other.any_of) for text in said):
            yield f"the project itself says what is foreign to it: {other.name}"
        elsewhere = (turn.whole for scenario in scenarios if scenario is not one for turn in scenario.turns())
        if not any(says(text, other.any_of) for text in elsewhere):
            yield f"no other project says what is foreign: {other.name}"


def _facts(one: Scenario, said: list[str], done: list[str]) -> Iterator[str]:
    for fact in one.facts:
        if not any(says(text, fact.any_of) for text in said):
            yield f"no message says the fact {fact.name}"
        if not says(fact.wording, fact.any_of):
            yield f"the wording of the fact {fact.name} does not fit it"
        if (fact.kind == "changed") != bool(fact.was):
            yield f"the fact {fact.name} is changed without an earlier value, or the other way round"
        if fact.was and not any(as_current(text, fact.was, fact.any_of) for text in done):
            yield f"nothing states the earlier value of {fact.name}"
        for other in one.facts:
            if as_current(fact.wording, other.was, other.any_of):
                yield f"the wording of {fact.name} states an earlier value of {other.name}"


def of_questions(one: Scenario, said: Sequence[str]) -> Iterator[str]:
    """A line for each question whose gold does not fit what was said."""
    for asked in one.questions:
        if not any(says(text, asked.any_of) for text in said):
            yield f"no message answers {asked.text!r}"
        if not says(asked.answer, asked.any_of):
            yield f"the answer to {asked.text!r} does not fit its gold"
        if says(asked.text, asked.any_of):
            yield f"the question {asked.text!r} answers itself"
        if asked.was and not any(as_current(text, asked.was, asked.any_of) for text in said):
            yield f"no message states the earlier answer to {asked.text!r}"
        if as_current(asked.answer, asked.was, asked.any_of):
            yield f"the answer to {asked.text!r} states the earlier one"


def _shape(one: Scenario) -> Iterator[str]:
    changed = sum(1 for fact in one.facts if fact.was)
    checks = (
        (3 <= len(one.sessions) <= 5, f"{len(one.sessions)} sessions, not three to five"),
        (7 <= len(one.facts) <= 13, f"{len(one.facts)} facts, not seven to thirteen"),
        (8 <= len(one.questions) <= 12, f"{len(one.questions)} questions, not eight to twelve"),
        (2 <= changed <= 4, f"{changed} changed facts, not two to four"),
        (len({fact.name for fact in one.facts}) == len(one.facts), "two facts of one name"),
        (bool(one.stands), "no look-alike that stands"),
    )
    yield from (line for holds, line in checks if not holds)


def _inputs(one: Scenario) -> list[str]:
    texts = []
    for step in (step for turn in one.turns() for step in turn.steps):
        if isinstance(step, Edit):
            texts.append(step.new)
        elif isinstance(step, Write):
            texts.append(step.content)
        elif isinstance(step, Run):
            texts.append(step.command)
    return texts
