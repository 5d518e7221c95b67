"""Memories for measurements: texts by Zipf's law and mixed vectors, stored by the code of the store itself.

The vectors bear the name of the embedding model, but are drawn: they tell of cost and not of what is relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from scale import memory, texts
from vectors import made_seeds, mixed

from holdfast.core.model import Note
from holdfast.engine import Engine
from holdfast.learn.statements.learner import CURSOR, KEPT, TURNS
from holdfast.settings import load as settings_of
from holdfast.store.port import MadeVector, Tx, Waiting
from holdfast.store.postgres.batch import FIRST
from holdfast.store.postgres.pool import View, connected
from holdfast.store.postgres.space_copy import load
from holdfast.store.queries.word_update import KIND, VERSION
from holdfast.store.tables import MEMORIES, NOTES

AT_ONCE, NOTED_AT_ONCE = 1_000, 50
SEEDS = 4_000
Vectors = NDArray[np.float32]


def opened(home: Path, store: str = "") -> Engine:
    return Engine(settings_of({"home": str(home)}, {"HOLDFAST_STORE": store} if store else {}))


def fill(engine: Engine, tenants: Sequence[str], memories: int, seed: int = 1) -> None:
    """Memories of each tenant with words and vectors; not compacted."""
    assert engine.embedder is not None
    model, chance = engine.embedder.name, np.random.default_rng(seed)
    seeds, drawn = made_seeds(SEEDS, chance), texts(len(tenants) * memories, seed)
    engine.store.write(lambda tx: tx.follow_model(model))
    for tenant in tenants:
        for first in range(1, memories + 1, AT_ONCE):
            some = list(islice(drawn, min(AT_ONCE, memories + 1 - first)))
            _store(engine, tenant, some, model, mixed(seeds, len(some), chance))


def _store(engine: Engine, tenant: str, contents: Sequence[str], model: str, vectors: Vectors) -> None:
    def write(tx: Tx) -> None:
        made = []
        for content, vector in zip(contents, vectors, strict=True):
            seq = tx.next_seq(tenant)
            one = replace(memory(seq, content, f"project-{seq % 7}"), tenant=tenant)
            tx.add(MEMORIES, one)
            made.append(MadeVector(Waiting(tenant, "memories", seq, seq), seq.to_bytes(16, "big"), vector[None]))
        assert tx.put_vectors(model, made) == len(contents)

    engine.store.write(write)


def carry(engine: Engine, tenants: Sequence[str], url: str, folder: Path) -> None:
    """Make tenants of an embedded store live in a database, as a restore does."""
    for tenant in tenants:
        file = folder / "carried.db"
        engine.capture(file, tenant, check=False)
        with connected(url) as db:
            register_vector(db)
            with db.transaction():
                space = load(View(db), file, tenant, FIRST)
                db.execute("INSERT INTO tenants (tenant, live) VALUES (%s, %s)", (tenant, space))
        file.unlink()


def mark_followed(engine: Engine) -> None:
    """Have the model followed, so that no server looks through all rows for missing vectors first."""
    assert engine.embedder is not None
    name = engine.embedder.name
    if engine.store.read().followed_model() != name:
        engine.store.write(lambda tx: tx.follow_model(name))
    for missing in _missing(engine, name):
        engine.store.write(lambda tx, missing=missing: tx.queue(name, missing))  # type: ignore[misc]


def mark_learnt(engine: Engine, tenants: Sequence[str]) -> None:
    """Have what the tenants' memories replace be known, and that their words are cut as now, as where they came one by
    one: no server compares or reads them all first."""

    def write(tx: Tx, some: Sequence[str]) -> None:
        for tenant in some:
            for id in (TURNS, KEPT):
                seq = tx.next_seq(tenant)
                tx.add(NOTES, Note(tenant, id, seq, CURSOR, str(seq), engine.clock.now_ms()))
            tx.add(NOTES, Note(tenant, KIND, tx.next_seq(tenant), KIND, VERSION, engine.clock.now_ms()))

    for first in range(0, len(tenants), NOTED_AT_ONCE):
        engine.store.write(partial(write, some=sorted(tenants)[first : first + NOTED_AT_ONCE]))


def _missing(engine: Engine, name: str) -> Iterator:
    while (missing := engine.store.read().missing(name, 10_000)) is not None:
        yield missing
