"""Nothing disappears in a merge: every record and version of both sides is there, or was removed on purpose since."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from engines import forget_stores
from hypothesis import given, settings, strategies as st
from world import World

from holdfast.core.errors import NotFound
from holdfast.snapshot.merge.conflict_rules import RULES
from holdfast.store.port import Reader, where
from holdfast.store.queries.merge_notes import MERGED
from holdfast.store.queries.removals import REMOVING
from holdfast.store.tables import AUDIT, INSIGHTS, MEMORIES, NOTES, RELATIONS

TEXTS = ("amber cabinet fuses", "orchard gate green", "harbour tide tables", "ferry noon island", "lamp oil north wall")
SLOTS = ("harbour", "orchard")
# What is likely to meet: chance alone rarely lets both sides change the same thing.
GROUPS = (
    ("remember", "evolve", "forget", "relate"),
    ("slot", "slot", "slot_delete"),
    ("lesson", "lesson_delete", "action"),
    ("observe", "observe", "forget_session"),
    ("uri", "evolve", "forget"),
)

Step = tuple[str, str, int, int]


def _of(kinds: tuple[str, ...]) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.sampled_from(["base", "a", "b"]), st.sampled_from(kinds), st.integers(0, 2), st.integers(0, 9))
    return st.lists(step, min_size=4, max_size=12)


steps = st.sampled_from(GROUPS).flatmap(_of)


class Host:
    """A world in which time passes with every step."""

    def __init__(self, home: Path, chance: int):
        self.world = World(home, chance=chance)

    def step(self, kind: str, which: int, much: int, now: int) -> None:
        self.world.clock.now = now
        getattr(self, f"_{kind}")(which, much)

    def memory(self, which: int) -> str | None:
        found = self.world.call("memories", limit=50)["memories"]
        return found[which % len(found)]["id"] if found else None

    def _remember(self, which: int, much: int) -> None:
        self.world.call("remember", content=f"{TEXTS[which]} number {much} " + "x" * much)

    def _evolve(self, which: int, much: int) -> None:
        if id := self.memory(which):
            self.world.call("evolve", memoryId=id, newContent=f"{TEXTS[which]} as of {much}")

    def _forget(self, which: int, much: int) -> None:
        if id := self.memory(which):
            self.world.call("forget", memoryId=id)

    def _slot(self, which: int, much: int) -> None:
        label = SLOTS[which % 2]
        known = {one["label"] for one in self.world.call("slots")["slots"] if not one.get("default")}
        if label in known:
            self.world.call("slot_replace", label=label, content=f"{TEXTS[which]} {much}")
        else:
            self.world.call("slot_create", label=label, content=f"{TEXTS[which]} {much}", scope="global")

    def _slot_delete(self, which: int, much: int) -> None:
        known = {one["label"] for one in self.world.call("slots")["slots"]}
        if SLOTS[which % 2] in known:
            self.world.call("slot_delete", label=SLOTS[which % 2])

    def _lesson(self, which: int, much: int) -> None:
        self.world.call("lesson_save", content=TEXTS[which], context=f"seen {much}")

    def _lesson_delete(self, which: int, much: int) -> None:
        found = self.world.call("lessons")["lessons"]
        if found:
            self.world.call("lesson_delete", lessonId=found[which % len(found)]["id"])

    def _observe(self, which: int, much: int) -> None:
        self.world.observe(f"session {which % 2}", tool_name="Read", tool_input={"file_path": f"/w/{which}-{much}.py"})

    def _forget_session(self, which: int, much: int) -> None:
        with suppress(NotFound):  # there may be none yet
            self.world.call("forget", sessionId=f"session {which % 2}")

    def _action(self, which: int, much: int) -> None:
        self.world.call("action_create", title=f"{TEXTS[which]} {much}")

    def _relate(self, which: int, much: int) -> None:
        one, other = self.memory(which), self.memory(which + 1)
        if one and other and one != other:
            self.world.call("relate", sourceId=one, targetId=other, type="related")

    def _uri(self, which: int, much: int) -> None:
        self.world.call("remember", content=f"at an address {TEXTS[which]} {much}", uri=f"core://place-{which % 2}")


def removed(*sides: Reader) -> dict[str, int]:
    gone: dict[str, int] = {}
    for side in sides:
        for entry in side.each(AUDIT, "default"):
            if entry.operation in REMOVING:
                gone |= {id: max(entry.at, gone.get(id, 0)) for id in entry.target_ids}
    return gone


def missing_memories(side: Reader, result: Reader, gone: dict[str, int]) -> list[str]:
    said = {(one.root, one.content) for one in result.each(MEMORIES, "default")}
    return [
        one.id
        for one in side.each(MEMORIES, "default")
        if (one.root, one.content) not in said and max(gone.get(one.id, 0), gone.get(one.root, 0)) < one.updated_at
    ]


def missing_records(side: Reader, result: Reader, gone: dict[str, int]) -> list[str]:
    aside = [orjson.loads(one.content)["record"] for one in result.each(NOTES, "default", *where(kind=MERGED))]
    lost: list[str] = []
    for rule in RULES:
        for one in side.each(rule.table, "default"):
            if gone.get(one.id, 0) >= getattr(one, rule.changed) or _drawn(rule.table, one, gone):
                continue
            known = result.get(rule.table, "default", one.id)
            texts = [known, *(record for record in aside if record["id"] == one.id)]
            if known is None or not all(any(_says(text, one, name) for text in texts) for name in rule.said):
                lost.append(f"{rule.table.name} {one.id}")
    return lost


def _says(kept: Any, one: Any, name: str) -> bool:
    value = getattr(one, name)
    there = kept[name] if isinstance(kept, dict) else getattr(kept, name)
    return not value or there == value or list(there) == list(value)


def _drawn(table: Any, one: Any, gone: dict[str, int]) -> bool:
    if table is INSIGHTS:
        return not gone.keys().isdisjoint(one.source_ids)
    return table is RELATIONS and (one.source_id in gone or one.target_id in gone)


@settings(max_examples=15)
@given(script=steps, prefer=st.sampled_from(["newest", "a", "b"]))
def test_every_record_of_both_sides_is_there_or_was_removed_on_purpose(
    tmp_path: Path, script: list[Step], prefer: str
) -> None:
    shutil.rmtree(tmp_path, ignore_errors=True)
    forget_stores(tmp_path)
    tmp_path.mkdir()
    here = Host(tmp_path / "here", 0)
    now = here.world.clock.now
    for at, (_, kind, which, much) in enumerate(one for one in script if one[0] == "base"):
        here.step(kind, which, much, now + at * 1000)
    made = here.world.call("snapshot_create")
    here.world.call("snapshot_restore", id=made["id"], into=str(tmp_path / "there"))
    there = Host(tmp_path / "there", 500_000)
    for at, (side, kind, which, much) in enumerate(script):
        if side != "base":
            (there if side == "a" else here).step(kind, which, much, now + 100_000 + at * 1000)
    other = there.world.call("snapshot_create")
    mine = here.world.call("snapshot_create")
    here.world.call("snapshot_merge", a=other["path"], b="now", prefer=prefer, yes=True)

    result = here.world.engine.store.read()
    with there.world.engine.store.snapshot() as a:
        gone = removed(a, result)
        assert missing_memories(a, result, gone) == []
        assert missing_records(a, result, gone) == []
    here.world.call("snapshot_restore", id=mine["id"], into=str(tmp_path / "before"))
    before = World(tmp_path / "before")
    with before.engine.store.snapshot() as b:
        assert missing_memories(b, result, gone) == []
        assert missing_records(b, result, gone) == []
    latest = [one.root for one in result.each(MEMORIES, "default", *where(latest=True))]
    assert len(latest) == len(set(latest))
    assert here.world.engine.store.verify() == []
    again = here.world.call("snapshot_merge", a=other["path"], b="now", prefer=prefer, dryRun=True)
    assert (again["added"], again["removed"]) == ({}, {})
    for world in (here.world, there.world, before):
        world.close()
