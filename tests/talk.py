"""Sessions in which something is said, and the learner that reads them: for tests of what is learnt and told."""

from __future__ import annotations

import dataclasses
from typing import Any

from world import World

from holdfast.core.model import Caller, Relation, Statement
from holdfast.learn.statements.learner import LearningStep, learn_step
from holdfast.store.tables import RELATIONS, STATEMENTS

MINUTE = 60_000


def turn(
    world: World,
    prompt: str,
    *said: str,
    session: str = "s1",
    project: str = "proj",
    caller: Caller | None = None,
    edit: tuple[str, str, str] | None = None,
) -> list[str]:
    """Ask, change a file perhaps, and answer; the ids of prompt and messages."""

    def observe(hook: str, **data: Any) -> str:
        world.clock.now += MINUTE
        seen = world.call(
            "observe", caller, sessionId=session, hookType=hook, timestamp=world.clock.now, data=data,
            project=project, cwd="/w",
        )  # fmt: skip
        id: str = seen["observationId"]
        return id

    ids = [observe("prompt_submit", prompt=prompt)] if prompt else []
    if edit is not None:
        file, old, new = edit
        observe("post_tool_use", tool_name="Edit", tool_input={"file_path": file, "old_string": old, "new_string": new})
    return ids + [observe("assistant_message", message=text) for text in said]


def learn(world: World) -> list[LearningStep]:
    """Let the learner read all that is new; what each of its steps did."""
    ctx = dataclasses.replace(world.context(), whole=True)
    steps = [learn_step(ctx)]
    while steps[-1].more:
        steps.append(learn_step(ctx))
    return steps


def statements(world: World) -> list[Statement]:
    return world.engine.store.read().find(STATEMENTS, "default", order="seq")


def relations(world: World, *types: str) -> list[Relation]:
    found = world.engine.store.read().find(RELATIONS, "default", order="seq")
    return [one for one in found if one.type in (types or ("supersedes",))]
