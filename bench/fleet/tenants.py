"""Many tenants: the first search of one that the server never saw, and what a server takes that serves all of them.

python -m fleet.tenants [--tenants 1000] [--memories 1000]        (in bench/)
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import fleet
from client import text
from intake import Server
from scale import questions

from fleet.clients import QUIET, Client, fleet_of, tokens_of
from fleet.copies import copy_tenant
from fleet.database import Cluster, Meter, database, size_of
from fleet.figures import Figure, Part, p50, sizing_table, table
from fleet.filling import carry, fill, mark_followed, mark_learnt, opened
from fleet.sizes import Sizes
from fleet.space import space_of
from holdfast.store.postgres.pool import moment
from holdfast.store.postgres.integrity import _space

CHECKED = 10  # tenants whose rows are verified
SETTLED = 10.0  # seconds


def fill_all(server: Cluster, folder: Path, sizes: Sizes) -> list[str]:
    """The tenants of the database, made of templates that the embedded store keeps as well; their names."""
    templates = [f"template-{number}" for number in range(sizes.templates)]
    embedded = opened(folder / "embedded")
    fill(embedded, templates, sizes.memories)
    shared = opened(folder / "filler", server.url())
    try:
        carry(embedded, templates, server.url(), folder)
        mark_followed(embedded), mark_followed(shared)
        embedded.store.compact_words(), shared.store.compact_words()
        each = sizes.tenants // sizes.templates
        names = {one: [f"{one}-{number}" for number in range(each)] for one in templates}
        for template, copies in names.items():
            copy_tenant(server, template, copies)
        server.execute("VACUUM ANALYZE", "CHECKPOINT")
        every = [name for copies in names.values() for name in copies]
        mark_learnt(embedded, templates), mark_learnt(shared, [*templates, *every])
        check(shared, random.Random(1).sample(every, min(CHECKED, len(every))))
    finally:
        embedded.close(), shared.close()
    return every


def check(shared, tenants: Sequence[str]) -> None:  # type: ignore[no-untyped-def]
    """The rows of some tenants are what the store would have written itself, by its own verification."""
    with moment(shared.store.pool) as view:
        for tenant in tenants:
            ((space,),) = view.db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchall()
            assert not list(_space(view.see(space), space)), tenant


def template_of(tenant: str) -> str:
    return tenant.rpartition("-")[0]


def search(client: Client, question: str, meter: Meter | None = None) -> tuple[float, float]:
    """Milliseconds by the clock, and of a processor."""
    before, began = meter.milliseconds() if meter else 0.0, time.perf_counter()
    status, answer = client.post("/search", {"query": question, "format": "compact"})
    took = (time.perf_counter() - began) * 1000
    assert status == 200, answer
    assert answer["results"]
    return took, (meter.milliseconds() if meter else 0.0) - before


def never_seen(
    server: Cluster, ours: Server, theirs: Server, tokens: dict[str, str], alone: dict[str, str], sampled: int
) -> Figure:
    """The first search of random tenants, and in turns the embedded server's, which has searched its tenants before."""
    chance, asked = random.Random(2), questions(60)
    for tenant, token in alone.items():  # warm
        for question in asked[:3]:
            search(Client(theirs.port, token), f"{question} {len(tenant)}")
    for tenant in chance.sample(list(tokens), 3):  # the embedding model is there, and connections are
        search(Client(ours.port, tokens.pop(tenant)), asked[0])
    meter, other_meter = Meter([ours.process.pid], server), Meter([theirs.process.pid])
    time.sleep(SETTLED)  # what a start does at once is over; it goes on sweeping its tenants, one each second
    background = _background(meter)
    cold, again, warm = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    for number, tenant in enumerate(chance.sample(list(tokens), min(sampled, len(tokens)))):
        question = f"{chance.choice(asked)} {number}"  # another text: it has to be embedded
        client, other = Client(ours.port, tokens[tenant]), Client(theirs.port, alone[template_of(tenant)])
        cold.append(search(client, question, meter))
        warm.append(search(other, question, other_meter))
        again.append(search(client, f"{question} again", meter))
        client.close(), other.close()
    clock, processor = ([p50([one[at] for one in some]) for some in (cold, warm, again)] for at in (0, 1))
    ratio = processor[0] / processor[1]
    return Figure(
        f"first search of a random tenant of {len(tokens) + 3:,}, by a server that never saw it / embedded store, warm, p50",
        f"{processor[0]:.1f} / {processor[1]:.1f} ms, its second search {processor[2]:.1f}; by the clock {clock[0]:.0f} / {clock[1]:.0f} ms "
        f"({clock[0] / clock[1]:.1f}), second {clock[2]:.0f}",
        f"{ratio:.2f}",
        "≤ 2",
        ratio <= 2,
        f"some 14 round trips a search, 7 more the first time, and pages that the database has to fetch; what runs in the background takes {background:.0f} ms of each "
        f"second, and of each search its share by the clock; {len(cold)} tenants were asked, at a load of {os.getloadavg()[0]:.0f}",
    )


def _background(meter: Meter) -> float:
    """Milliseconds of a processor in each second while nothing is asked."""
    before, began = meter.milliseconds(), time.perf_counter()
    time.sleep(SETTLED)
    return (meter.milliseconds() - before) / (time.perf_counter() - began)


def resident(server: Server, tokens: dict[str, str], start: float) -> Figure:
    """Each tenant searches and writes."""
    asked = questions(60)

    def use(tenant: str) -> None:
        chance, client = random.Random(tenant), Client(server.port, tokens[tenant])
        search(client, chance.choice(asked))
        status, answer = client.post("/remember", {"content": f"{tenant} {text(chance)}"})
        assert status == 201, answer
        client.close()

    with ThreadPoolExecutor(4) as threads:
        assert len(list(threads.map(use, tokens))) == len(tokens)
    used = server.resident_mb()
    return Figure(
        f"memory of a server after searches and writes of {len(tokens):,} tenants",
        f"{start:.0f} MB before its first request",
        f"{used:.0f} MB",
        "< 400",
        used < 400,
        "the embedding model; 24 MB of words at most are held, of the tenants that were searched last",
    )


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    tenants = fill_all(server, folder, sizes)
    sizing = space_of(server, len(tenants) * sizes.memories)
    sizing.append(("database of all tenants", f"{size_of(server) / 1e9:.1f} GB"))
    with fleet_of(1, folder, server.url(), **QUIET) as (ours,):
        start = ours.resident_mb()
        tokens = tokens_of(ours.port, tenants)
    theirs = Server(folder / "embedded", **QUIET)
    try:
        alone = tokens_of(theirs.port, sorted({template_of(one) for one in tenants}))
        with fleet_of(1, folder / "fresh", server.url(), **QUIET) as (ours,):
            start = ours.resident_mb()
            first = never_seen(server, ours, theirs, dict(tokens), alone, sizes.sampled)
            figures = [first, resident(ours, tokens, start)]
    finally:
        theirs.stop()
    note = (
        f"Many tenants: {len(tenants) * sizes.memories:,} memories in {len(tenants):,} tenants, copied from {sizes.templates} templates inside the "
        f"database; {CHECKED} of the tenants were verified by the store. What is to be learnt of them counts as learnt, and no insights are drawn: a "
        "server does both for its tenants little by little after its start."
    )
    return Part(figures, sizing, [note])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--memories", type=int, default=1_000)
    given = parser.parse_args()
    sizes = replace(Sizes(), tenants=given.tenants, memories=given.memories)
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), sizes)
    sys.stdout.write(f"{table(part.figures)}\n\n{sizing_table(part.sizing)}\n")


if __name__ == "__main__":
    main()
