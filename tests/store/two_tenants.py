"""A memory of two tenants with everything a store holds: vectors, versions, forgotten records, tokens, kept answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hashing_embedder import HashingEmbedder
from world import World

from holdfast.core.model import Answer, Caller, CleanText
from holdfast.store.port import Tx
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import ANSWERS, MEMORIES

OURS, THEIRS = Caller(tenant="acme"), Caller(tenant="borealis")
EMBEDDER = HashingEmbedder()


def world_at(home: Path, **overrides: Any) -> World:
    return World(home, model=EMBEDDER, **overrides)


def fill(world: World, caller: Caller, name: str, number: int = 12) -> list[str]:
    """Memories with a word of their own, one of them changed and one forgotten; the ids of those that are left."""
    ids = [
        world.call(
            "remember", caller, content=f"{name}{at} lies in harbour {at * 7} near {name}", project=f"p{at % 3}"
        )["memory"]["id"]
        for at in range(number)
    ]
    world.call("forget", caller, memoryId=ids.pop())
    world.call("evolve", caller, memoryId=ids[0], newContent=f"{name}0 was moved to the {name} lighthouse")
    world.call("observe", caller, sessionId=f"s-{name}", hookType="notification", timestamp=world.clock.now, data={})
    world.call("lesson_save", caller, content=f"always knock at the {name} door")
    world.follow()

    def keep(tx: Tx) -> None:
        tx.add(ANSWERS, Answer(caller.tenant, name, tx.next_seq(caller.tenant), "hash", 200, f"{name} was answered", 0))

    world.engine.store.write(keep)
    return ids


def token(world: World, caller: Caller, name: str) -> str:
    return str(world.call("token_create", caller, name=name)["record"]["id"])


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, lambda event: None)


def assert_sound(path: Path) -> None:
    store = opened(path)
    try:
        assert store.verify() == []
    finally:
        store.close()


def contents(path: Path, tenant: str) -> list[str]:
    store = opened(path)
    try:
        return [one.content for one in store.read().find(MEMORIES, tenant, order="seq")]
    finally:
        store.close()


def nearest(path: Path, tenant: str, text: str) -> list[int]:
    store = opened(path)
    try:
        query = EMBEDDER.embed_query(CleanText(text))
        return [hit.seq for hit in store.read().nearest(tenant, EMBEDDER.name, query, 3)]
    finally:
        store.close()
