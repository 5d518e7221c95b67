"""Memories that an earlier version stored get the key by which chats see them.

Earlier, every caller in a chat held the key of all global memories. Now chats hold a key of their own, so whatever an
earlier version wrote about a project is hidden there. What chats may see, as it is about no project and by no session
or was made in a chat, has to be given that key. That happens at a chat's first request; until then it is hidden there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from weakref import WeakKeyDictionary

from holdfast.core.errors import Fault
from holdfast.core.model import EVERYBODY
from holdfast.intake.remember import audience_of
from holdfast.protocol.terms import MemoryScope
from holdfast.store.port import Condition, Reader, Store, Tx, where
from holdfast.store.tables import MEMORIES

BATCH = 500  # rows in one transaction, so that no writer waits long behind it

_seen: WeakKeyDictionary[Store, set[str]] = WeakKeyDictionary()


def add_audience_keys(store: Store, tenant: str) -> None:
    """Give the key to memories that lack it, once for each store and tenant that this process has open."""
    if tenant in _seen.setdefault(store, set()):
        return
    ids = list(_without_key(store.read(), tenant))
    # Where a store takes no writes now they stay unseen in chats; everything else is read as before.
    with suppress(Fault):
        for first in range(0, len(ids), BATCH):
            store.write(partial(_add_key, tenant=tenant, ids=ids[first : first + BATCH]))
        _seen[store].add(tenant)


def _without_key(reader: Reader, tenant: str) -> Iterator[str]:
    bounds = (*where(scope=MemoryScope.GLOBAL, state="active"), Condition("audience", "has", EVERYBODY))
    for may_be_told in (Condition("project", "is null"), Condition("umo", "not null")):
        for memory in reader.each(MEMORIES, tenant, *bounds, may_be_told):
            if audience_of(memory) != memory.audience:
                yield memory.id


def _add_key(tx: Tx, tenant: str, ids: list[str]) -> None:
    for id in ids:
        memory = tx.get(MEMORIES, tenant, id)
        if memory is not None and memory.state == "active" and memory.audience == (EVERYBODY,):
            tx.replace(MEMORIES, dataclasses.replace(memory, audience=audience_of(memory)))
