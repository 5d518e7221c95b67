"""Durable writes over 16 connections of different tenants: one server, four servers, and the database alone.

python -m fleet.writes [--seconds 8]        (in bench/)
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import fleet
import psycopg
from client import text
from intake import Server

from fleet.clients import PLAIN, Client, fleet_of, tokens_of
from fleet.database import BIN, Cluster, Load, create_database, database, processor_seconds, sessions
from fleet.figures import Figure, Part, p50, p99, sizing_table, table
from fleet.sizes import Sizes

CONNECTIONS = 16
GOAL = 2.5
TENANTS = [f"writer-{number}" for number in range(CONNECTIONS)]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a load of so many seconds did."""

    writes: int
    seconds: float
    took: list[float]  # milliseconds of each
    clients: float  # processor seconds
    servers: float
    database: float
    log_bytes: float

    @property
    def a_second(self) -> float:
        return self.writes / self.seconds

    def cost(self, part: float) -> float:
        """Milliseconds of processor time a write."""
        return part / self.writes * 1000

    @property
    def busy(self) -> float:
        """Processors that were busy with it."""
        return (self.clients + self.servers + self.database) / self.seconds


def _remember(places: Sequence[tuple[int, str]], seconds: float, seed: int, pipe: Connection) -> None:
    """In a process of its own: a thread for each port and token, each with a connection that is open and in use."""
    took: list[float] = []
    ready, go = threading.Barrier(len(places) + 1), threading.Event()

    def work(port: int, token: str, number: int) -> None:
        chance, client = random.Random(seed * 100 + number), Client(port, token)
        client.post("/remember", {"content": text(chance)})
        # Of no project: memories of one are compared with each other afterwards, which bench/learning.py measures.
        bodies = [{"content": text(chance)} for _ in range(2_000)]
        ready.wait()
        go.wait()
        ended = time.perf_counter() + seconds
        for body in bodies:
            began = time.perf_counter()
            if began > ended:
                break
            status, answer = client.post("/remember", body)
            assert status == 201, answer
            took.append((time.perf_counter() - began) * 1000)
        client.close()

    threads = [threading.Thread(target=work, args=(*place, number)) for number, place in enumerate(places)]
    for thread in threads:
        thread.start()
    ready.wait()
    pipe.send(None)
    pipe.recv()
    began = time.process_time()
    go.set()
    for thread in threads:
        thread.join()
    pipe.send((took, time.process_time() - began))


def load(
    server: Cluster, servers: Sequence[Server], tokens: dict[str, str], seconds: float, seed: int, name: str
) -> Rate:
    places = [(servers[at % len(servers)].port, tokens[tenant]) for at, tenant in enumerate(TENANTS)]
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_remember, args=(places, seconds, seed, there))
    process.start()
    there.close()  # so that a load that fails is noticed
    here.recv()
    used = Load(server)
    before, servers_before, log_before = used.seconds(), _of(servers), _log_place(server, name)
    began = time.perf_counter()
    here.send(None)
    took, clients = here.recv()
    elapsed = time.perf_counter() - began
    log = _log_place(server, name) - log_before
    rate = Rate(len(took), elapsed, took, clients, _of(servers) - servers_before, used.seconds() - before, log)
    process.join()
    return rate


def _of(servers: Sequence[Server]) -> float:
    return sum(processor_seconds(one.process.pid) for one in servers)


def _log_place(server: Cluster, name: str) -> float:
    """Bytes of write-ahead log that were written so far."""
    with psycopg.connect(server.url("postgres", database=name)) as db:
        row = db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return float(row[0])


def inserts(server: Cluster, name: str, bytes_a_write: int, seconds: float) -> tuple[float, float]:
    """What the database does with pgbench alone: one row of the size of a write in a transaction, 16 connections. How
    many a second, and the processor seconds of the database for each."""
    with psycopg.connect(server.url("postgres", database=name), autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS plain_rows")
        db.execute(
            "CREATE TABLE plain_rows (space bigint, seq bigint GENERATED ALWAYS AS IDENTITY, body text, PRIMARY KEY (space, seq))"
        )
        db.execute("ALTER TABLE plain_rows ALTER body SET STORAGE EXTERNAL")
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        # From a table of its own, so that the text is not sent by the client: the size of the row is what is measured.
        script.write(f"INSERT INTO plain_rows (space, body) VALUES (:client_id, repeat('x', {bytes_a_write}));\n")
        script.flush()
        used = Load(server)
        before = used.seconds()
        command = [
            str(BIN / "pgbench"), "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "2", "-T", str(int(max(2, seconds))),
            "-f", script.name, server.url("postgres", database=name),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    rate = float(done.stdout.split("tps = ")[1].split()[0])
    count = int(done.stdout.split("number of transactions actually processed: ")[1].split()[0].split("/")[0])
    return rate, (used.seconds() - before) / count


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    name = "writes"
    url = create_database(server, name)
    with fleet_of(4, folder, url, **PLAIN) as servers:
        tokens = tokens_of(servers[0].port, TENANTS)
        load(server, servers, tokens, 1.0, 99, name)  # tables, plans and caches are warm
        one, four = [], []
        for seed in range(sizes.rounds):  # in turns
            one.append(load(server, servers[:1], tokens, sizes.seconds, seed, name))
            four.append(load(server, servers, tokens, sizes.seconds, seed + 50, name))
        idle = alone(servers[0], tokens[TENANTS[0]])
        memory = _memory(server, servers)
    log = int(statistics.median(rate.log_bytes / rate.writes for rate in one))
    plain, plain_cost = inserts(server, name, log, sizes.seconds)
    part = _part(_middle(one), _middle(four), plain, plain_cost, log, idle)
    return replace(part, sizing=[*part.sizing, *memory])


def _memory(server: Cluster, servers: Sequence[Server]) -> list[tuple[str, str]]:
    held, number = sessions(server), len(servers)
    used = statistics.mean(one.resident_mb() for one in servers)
    return [
        ("memory of a server without an embedding model, after these writes", f"{used:.0f} MB"),
        (f"sessions of {number} servers at the database", f"{len(held)}"),
        (
            "memory of a session at the database that it does not share, mean / most",
            f"{statistics.mean(held):.1f} / {max(held):.1f} MB",
        ),
    ]


def alone(server: Server, token: str) -> list[float]:
    """Milliseconds of writes of one connection while no other writes."""
    client, chance, took = Client(server.port, token), random.Random(77), []
    for _ in range(200):
        began = time.perf_counter()
        client.post("/remember", {"content": text(chance)})
        took.append((time.perf_counter() - began) * 1000)
    client.close()
    return took


def _middle(rates: Sequence[Rate]) -> Rate:
    return sorted(rates, key=lambda one: one.a_second)[len(rates) // 2]


def _part(one: Rate, four: Rate, plain: float, plain_cost: float, log: int, idle: list[float]) -> Part:
    ratio, cores = four.a_second / one.a_second, os.cpu_count() or 1
    bound = _bound(one, four, cores)
    figures = [
        Figure(
            "durable `remember`, 16 connections of 16 tenants, 4 servers / 1 server",
            f"{four.a_second:,.0f} / {one.a_second:,.0f} a second, p99 {p99(four.took):.0f} / {p99(one.took):.0f} ms",
            f"{ratio:.2f}",
            f"≥ {GOAL} where the processors allow it",
            ratio >= GOAL,
            bound,
        ),
        Figure(
            "… / pgbench, one plain row of as many bytes in each transaction",
            f"{four.a_second:,.0f} / {plain:,.0f} a second",
            f"{four.a_second / plain:.2f}",
            "",
            None,
            f"the database takes {four.cost(four.database):.2f} ms of a processor for a `remember` and {plain_cost * 1000:.2f} ms for a plain row",
        ),
    ]
    sizing = [
        ("`remember`, processor time of the server / of the database", f"{one.cost(one.servers):.2f} / {one.cost(one.database):.2f} ms"),
        ("… at four servers", f"{four.cost(four.servers):.2f} / {four.cost(four.database):.2f} ms"),
        ("`remember` a second, for each processor of servers / of the database", f"{1000 / four.cost(four.servers):,.0f} / {1000 / four.cost(four.database):,.0f}"),
        ("`remember` of one connection, no other writes, p50 / p99", f"{p50(idle):.1f} / {p99(idle):.1f} ms"),
        ("log (WAL) of a `remember`", f"{log:,} bytes"),
    ]  # fmt: skip
    return Part(figures, sizing)


def _bound(one: Rate, four: Rate, cores: int) -> str:
    used = f"{one.busy:.1f} of {cores} processors are busy with one server, its clients and the database, {four.busy:.1f} with four"
    if four.busy < 0.75 * cores:  # an honest figure needs a machine of its own
        return f"other programs: {used}, and the others had the rest"
    return f"the processors: {used}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), replace(Sizes(), seconds=given.seconds))
    sys.stdout.write(f"{table(part.figures)}\n\n{sizing_table(part.sizing)}\n")


if __name__ == "__main__":
    main()
