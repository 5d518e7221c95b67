"""Bad input on PostgreSQL: each case ends with one sentence, a hint and an exit code of its own, and writes nothing."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from patience import until
from postgres_cluster import PASSWORD, Cluster, cluster
from postgres_server import empty_schema
from processes import environment, holdfast
from rows import each
from sample_records import TENANT, add
from small_disks import disk_of
from world import World

from holdfast.cli.main import main
from holdfast.core.errors import (
    Fault,
    InvalidRequest,
    InvalidSettings,
    StorageFull,
    StoreAmbiguous,
    StoreForbidden,
    StoreForeign,
    StoreLoginRefused,
    StoreTooNew,
    StoreUnreachable,
    StoreUnsuited,
)
from holdfast.store.postgres import connect_faults
from holdfast.store.postgres.pool import conninfo, fault_of
from holdfast.store.postgres.schema import AHEAD, known_steps
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import MEMORIES


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def served(quick_folder: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """What `holdfast serve` with an address ends with: its exit code, and what it says."""

    def serve(address: str) -> tuple[int, str]:
        code = main(["serve", "--data", str(quick_folder / "home"), "--port", "0", "--store", address])
        return code, capsys.readouterr().err

    return serve


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1").fetchall()
    return [name for (name,) in rows]


def assert_refused(found: tuple[int, str], fault: type[Fault], words: str) -> None:
    code, said = found
    assert code == fault.exit_code, said
    assert words in said
    assert len(said.strip().splitlines()) <= 2, "one sentence, and what to do"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://holdfast:{PASSWORD}@[::1/memory",
        f"postgresql://holdfast:{PASSWORD}@db:port/memory",
        f"postgresql://holdfast:{PASSWORD}@db/memory?no_such_option=1",
        f"mysql://holdfast:{PASSWORD}@db/memory",
    ],
)
def test_a_wrong_address_is_refused_without_its_password(served, address: str) -> None:  # type: ignore[no-untyped-def]
    code, said = served(address)
    assert code == InvalidSettings.exit_code
    assert "HOLDFAST_STORE" in said or "--store" in said
    assert PASSWORD not in said


def test_an_address_of_another_form_is_told_the_form(served) -> None:  # type: ignore[no-untyped-def]
    assert_refused(served("db.example/memory"), InvalidSettings, "must be sqlite or an address like postgresql://")


def test_an_address_that_is_given_twice_is_refused(server: Cluster, quick_folder: Path) -> None:
    """Of two the last one would win without a word."""
    words = ["--data", str(quick_folder / "home"), "--store", "sqlite", "--store", server.url()]
    done = subprocess.run(holdfast("serve", *words), env=environment(), capture_output=True, text=True, check=False)
    assert_refused((done.returncode, done.stderr), InvalidRequest, "--store is given twice")
    assert not (quick_folder / "home").exists()


def test_a_server_that_cannot_be_reached(served, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    found = served(f"postgresql://holdfast:{PASSWORD}@/memory?host={quick_folder}")
    assert_refused(found, StoreUnreachable, "does not answer: no server listens at this address")


def test_a_host_that_has_no_address(served) -> None:  # type: ignore[no-untyped-def]
    found = served(f"postgresql://holdfast:{PASSWORD}@no-such-host.invalid/memory")
    assert_refused(found, StoreUnreachable, "the name of its host is not known")
    assert "no-such-host" not in found[1], "clients are sent this fault as well"


def test_a_server_that_only_answers_questions(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute("CREATE DATABASE closing OWNER holdfast")
    server.execute("ALTER DATABASE closing SET default_transaction_read_only = on")
    assert_refused(served(server.url(database="closing")), StoreUnreachable, "takes no writes")


def test_a_server_without_a_free_connection(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute("CREATE ROLE crowd LOGIN CONNECTION LIMIT 1")
    with psycopg.connect(server.url("crowd", database="postgres")):
        found = served(server.url("crowd"))
    assert_refused(found, StoreUnreachable, "no connection left")


@each(
    "said, words",
    [
        ("server does not support SSL, but SSL was required", "no TLS connection"),
        ("SSL error: certificate verify failed", "no TLS connection"),
        ("received invalid response to SSL negotiation: H", "no PostgreSQL server"),
        ('root certificate file "root.crt" does not exist', "no TLS connection"),
        ("connection timeout expired", "did not respond in time"),
        ("FATAL:  the database system is starting up", "starting or stopping"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("something else", "does not answer (OperationalError)"),
    ],
)
def test_what_libpq_says_is_told_in_words_of_our_own(said: str, words: str) -> None:
    fault = fault_of(psycopg.OperationalError(f'connection to server at "10.0.0.7", port 5432 failed: {said}'))
    assert words in fault.message
    assert "10.0.0.7" not in fault.message


@pytest.mark.parametrize(
    ("role", "password", "database", "words"),
    [
        ("guarded", "wrong-" + PASSWORD, "memory", "the password is wrong, or there is no such role"),
        ("guarded", "", "memory", "it asks for a password, and none was given"),
        ("nobody_at_all", "", "memory", "there is no such role, or it may not log in this way"),
        ("silent", "", "memory", "there is no such role, or it may not log in this way"),
        ("holdfast", "", "no_such_database", "there is no such database"),
        ("guarded", PASSWORD, "closed_to_others", "the role may not connect to this database"),
    ],
)
def test_a_refused_login_says_what_the_server_tells_of_the_reason(  # type: ignore[no-untyped-def]
    served, server: Cluster, role: str, password: str, database: str, words: str
) -> None:
    if database == "closed_to_others":
        server.execute(f"CREATE DATABASE {database}", f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    if role == "silent":
        server.execute("CREATE ROLE silent NOLOGIN")
    found = served(server.url(role, password=password, database=database))
    assert_refused(found, StoreLoginRefused, f"refused the login: {words}")
    assert PASSWORD not in found[1]


LOGINS = (
    ("guarded", "wrong-" + PASSWORD, "memory", "28P01"),
    ("nobody_at_all", "", "memory", "28000"),
    ("holdfast", "", "no_such_database", "3D000"),
)


@pytest.mark.parametrize(("role", "password", "database", "code"), LOGINS)
def test_a_refused_login_is_known_by_its_code_whatever_language_its_message_has(
    server: Cluster, monkeypatch: pytest.MonkeyPatch, role: str, password: str, database: str, code: str
) -> None:
    url = server.url(role, password=password, database=database)
    assert connect_faults.refusal_code(conninfo(url)) == code
    monkeypatch.setattr(connect_faults, "_ENGLISH", re.compile("(?!)"))  # no message is understood
    with pytest.raises(StoreLoginRefused):
        PostgresStore(url, lambda event: None)


def test_a_login_that_is_not_refused_has_no_such_code(
    server: Cluster, quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connect_faults.refusal_code(conninfo(server.url())) is None
    nowhere = f"postgresql://holdfast@/memory?host={quick_folder}"
    assert connect_faults.refusal_code(conninfo(nowhere)) is None
    server.execute("ALTER ROLE guarded CONNECTION LIMIT 0")
    try:
        full = server.url("guarded", password=PASSWORD)
        assert connect_faults.refusal_code(conninfo(full)) == "53300"  # too many connections: that passes
        monkeypatch.setattr(connect_faults, "_NO_ROOM", re.compile("(?!)"))  # no message is understood
        with pytest.raises(StoreUnreachable, match="no connection left"):
            PostgresStore(full, lambda event: None)
    finally:
        server.execute("ALTER ROLE guarded CONNECTION LIMIT -1")


def test_a_server_without_pgvector(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute(
        "CREATE ROLE bare LOGIN",
        "ALTER ROLE bare SET extension_control_path = '/nowhere'",
        "CREATE DATABASE bare OWNER bare TEMPLATE template0",
    )
    url = server.url("bare", database="bare")
    assert_refused(served(url), StoreUnsuited, "pgvector")
    assert tables(url) == []


def test_a_role_that_may_not_install_pgvector(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute("CREATE DATABASE uninstalled OWNER holdfast TEMPLATE template0")
    url = server.url(database="uninstalled")
    assert_refused(served(url), StoreForbidden, "CREATE EXTENSION vector")
    assert tables(url) == []


def test_a_role_that_may_not_create_tables(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute("CREATE ROLE plain LOGIN", "CREATE DATABASE closed")
    url = server.url("plain", database="closed")
    assert_refused(served(url), StoreForbidden, "may not change it")
    assert tables(url) == []


def test_a_role_that_may_not_use_the_tables(served, server: Cluster) -> None:  # type: ignore[no-untyped-def]
    server.execute("CREATE ROLE reader LOGIN", "CREATE DATABASE owned OWNER holdfast")
    PostgresStore(server.url(database="owned"), lambda event: None).close()
    server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", database="owned")
    assert_refused(served(server.url("reader", database="owned")), StoreForbidden, "may not read and write")


def test_a_schema_of_a_newer_version(served) -> None:  # type: ignore[no-untyped-def]
    url = empty_schema()
    PostgresStore(url, lambda event: None).close()
    newer = len(known_steps()) + AHEAD + 1
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO holdfast_schema (step) VALUES (%s)", (newer,))
    assert_refused(served(url), StoreTooNew, f"schema {newer}")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE customers (id bigint)",
        "CREATE TABLE memories (id bigint)",
        "CREATE TABLE holdfast_schema (version text)",
        "CREATE TABLE holdfast_schema (step bigint); INSERT INTO holdfast_schema VALUES (2)",
    ],
)
def test_a_database_of_something_else(served, statement: str) -> None:  # type: ignore[no-untyped-def]
    url = empty_schema()
    with psycopg.connect(url) as db:
        db.execute(statement.encode())
    before = tables(url)
    assert_refused(served(url), StoreForeign, "Holdfast")
    assert tables(url) == before


def test_a_full_disk_of_the_database(served, server: Cluster, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    with disk_of(200_000, server.folder / "small") as disk:
        shutil.chown(disk, server.data.owner())
        server.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        server.execute("CREATE DATABASE crowded OWNER holdfast")
        server.execute("ALTER DATABASE crowded SET default_tablespace = small")
        server.execute("GRANT CREATE ON TABLESPACE small TO holdfast")
        url = server.url(database="crowded")
        assert_refused(served(url), StorageFull, "no room")
        assert tables(url) == []
        server.execute("DROP DATABASE crowded (FORCE)", "DROP TABLESPACE small")


def add_many(store: PostgresStore) -> None:
    for number in range(1_000):
        add(store, MEMORIES, f"m{number}", content=f"basalt {number} " * 1_000)


def test_a_disk_that_fills_up_refuses_writes_and_answers_reads(server: Cluster) -> None:
    with disk_of(30_000_000, server.folder / "filling") as disk:
        shutil.chown(disk, server.data.owner())
        server.execute(f"CREATE TABLESPACE filling LOCATION '{disk}'", "GRANT CREATE ON TABLESPACE filling TO holdfast")
        server.execute("CREATE DATABASE filling OWNER holdfast")
        server.execute("ALTER DATABASE filling SET default_tablespace = filling")
        store = PostgresStore(server.url(database="filling"), lambda event: None)
        try:
            add(store, MEMORIES, "kept", content="amber")
            ballast = disk / "ballast"
            with pytest.raises(OSError, match="No space"):
                ballast.write_bytes(bytes(40_000_000))
            with pytest.raises(StorageFull):
                add_many(store)
            assert store.read().get(MEMORIES, TENANT, "kept") is not None
            ballast.unlink()
            add(store, MEMORIES, "after", content="cedar")
            assert store.verify() == []
        finally:
            store.close()
        server.execute("DROP DATABASE filling (FORCE)", "DROP TABLESPACE filling")


def test_an_empty_database_beside_a_folder_with_a_memory(served, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    with_memory = World(quick_folder / "home")
    with_memory.call("remember", content="the amber cabinet holds the spare keys")
    with_memory.close()
    url = empty_schema()
    assert_refused(served(url), StoreAmbiguous, "the data folder holds a memory")
    assert tables(url) == []


def test_a_folder_whose_memory_is_in_a_database_gets_no_second_one(served, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    World(quick_folder / "home", store=empty_schema()).close()
    assert_refused(served("sqlite"), StoreAmbiguous, "kept in postgresql")
    assert not list((quick_folder / "home").glob("*/memory.db"))


def test_a_folder_with_a_memory_beside_a_database_with_another_one(served, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    url = empty_schema()
    remembered(World(quick_folder / "elsewhere", chance=1_000, store=url), "the ferry leaves from pier nine")
    remembered(World(quick_folder / "home"), "the amber cabinet holds the spare keys")
    assert_refused(served(url), StoreAmbiguous, "holds another one")
    assert not (quick_folder / "home" / "STORE").exists()


def test_a_folder_whose_memory_was_moved_is_no_second_one(quick_folder: Path) -> None:
    home, url = quick_folder / "home", empty_schema()
    remembered(World(home), "the amber cabinet holds the spare keys")
    assert main(["move", "--from", str(home), "--to", url, "--json"]) == 0
    for number in (1, 2):
        remembered(World(home, chance=1_000 * number, store=url), f"the ferry leaves from pier {number}")


def test_an_empty_database_for_a_folder_of_another_one(served, quick_folder: Path) -> None:  # type: ignore[no-untyped-def]
    remembered(World(quick_folder / "home", store=empty_schema()), "the amber cabinet holds the spare keys")
    other = empty_schema()
    assert_refused(served(other), StoreAmbiguous, "used with another one")
    assert tables(other) == []
    (quick_folder / "home" / "STORE").unlink()  # as the hint says
    remembered(World(quick_folder / "home", store=other), "the ferry leaves from pier nine")


def test_a_database_that_nothing_was_written_to_is_known_again(quick_folder: Path) -> None:
    url = empty_schema()
    for _ in range(2):
        World(quick_folder / "home", store=url).close()


def remembered(world: World, text: str) -> None:
    world.call("remember", content=text)
    world.close()


def test_no_password_is_logged_or_printed(server: Cluster, quick_folder: Path) -> None:
    url = server.url("guarded", password="wrong-" + PASSWORD)
    command = holdfast("serve", "--data", str(quick_folder / "home"), "--port", "0", "--store", url)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == StoreLoginRefused.exit_code
    assert PASSWORD not in done.stdout + done.stderr
    kept = [path.read_bytes() for path in (quick_folder / "home").rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in one for one in kept)


def test_a_pool_that_cannot_connect_logs_no_password(server: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    server.execute("CREATE DATABASE passing OWNER guarded")
    store = PostgresStore(server.url("guarded", password=PASSWORD, database="passing"), lambda event: None)

    def refused() -> bool:
        # Each time: the pool may just make one more connection, which was let in by the old password.
        server.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'passing'")
        try:
            store.read().get(MEMORIES, TENANT, "m1")
        except StoreUnreachable:
            return True
        return False

    try:
        with caplog.at_level(logging.DEBUG):
            server.execute("ALTER ROLE guarded PASSWORD 'another'")
            until(refused, "the pool has no connection left")
    finally:
        store.close()
        server.execute(f"ALTER ROLE guarded PASSWORD '{PASSWORD}'")
    assert PASSWORD not in caplog.text
