"""Asking a past memory, comparing it, and who may do what with whose snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flows import NEW, OLD, Cli, identity_file, recipient
from world import DAY, World, running

from holdfast.client import Holdfast
from holdfast.core.errors import Conflict, Forbidden, NotFound
from holdfast.core.model import Caller

A = "/agentmemory"
SECRET = "a-secret-of-the-operator"


def texts(answer: Any) -> list[str]:
    return [one["observation"]["content"] for one in answer["results"]]


def test_a_snapshot_is_searched_by_id_time_and_words(world: World) -> None:
    world.call("remember", content=OLD)
    world.clock.now += DAY
    first = world.call("snapshot_create")["id"]
    world.clock.now += DAY
    world.call("remember", content=NEW)
    second = world.call("snapshot_create")["id"]
    world.clock.now += DAY

    for at in (first, first[:6], world.clock.now - 2 * DAY, "2 days ago"):
        assert texts(world.call("search", query="ferry island noon", at=at)) == []
        assert texts(world.call("search", query="amber cabinet", at=at)) == [OLD]
    for at in (second, "latest", world.clock.now, "1 day ago"):
        assert texts(world.call("search", query="ferry island noon", at=at)) == [NEW]
    assert texts(world.call("snapshot_search", id=first, query="amber cabinet")) == [OLD]
    with pytest.raises(NotFound):
        world.call("search", query="amber", at=world.clock.now - 10 * DAY)


def test_recall_on_the_command_line_answers_from_then(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    id = cli.create("--encrypt", recipient())
    cli.remember(NEW)
    identity = identity_file(tmp_path)

    assert cli.found("snapshot", "search", id, "ferry island", "--identity", identity) == []
    assert cli.found("recall", "amber cabinet", "--at", id, "--identity", identity) == [OLD]
    assert cli("recall", "amber cabinet", "--at", id).code == 45
    assert cli("recall", "amber cabinet", "--at", "no such day at all").code == 2


def test_a_past_memory_is_read_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with Holdfast(tmp_path / "memory") as memory:
        memory.remember(OLD)
        id = memory.snapshots.create("then")["id"]
        memory.remember(NEW)
        with memory.snapshots.open(id) as then:
            assert [one["observation"]["content"] for one in then.search("amber cabinet")] == [OLD]
            assert then.search("ferry island") == []
        assert memory.snapshots.search("latest", "amber")[0]["observation"]["content"] == OLD
        assert memory.snapshots.diff(id)["same"] is False
        memory.snapshots.restore(id)
        assert memory.search("ferry island") == []
        memory.snapshots.undo()
        assert len(memory.search("ferry island")) == 1


def test_asking_the_past_changes_nothing_now(world: World) -> None:
    world.call("remember", content=OLD)
    id = world.call("snapshot_create")["id"]
    world.call("search", query="amber", at=id)
    assert world.call("snapshot_diff", a=id)["same"]
    assert not world.engine.recalls.take()


def test_a_difference_names_what_was_added_changed_and_removed(world: World) -> None:
    kept = world.call("remember", content=OLD)["memory"]["id"]
    gone = world.call("remember", content="The gulls nest under the eastern gallery")["memory"]["id"]
    first = world.call("snapshot_create")["id"]
    world.call("forget", memoryId=gone)
    new = world.call("remember", content=NEW)["memory"]["id"]
    second = world.call("snapshot_create")["id"]

    for found in (world.call("snapshot_diff", a=first, b=second), world.call("snapshot_diff", a=first)):
        memories = next(one for one in found["tables"] if one["table"] == "memories")
        assert {one["id"]: one["change"] for one in memories["records"]} == {gone: "removed", new: "added"}
        assert all(one["title"] for one in memories["records"])
        assert kept not in str(memories)
    back = world.call("snapshot_diff", a=second, b=first)
    memories = next(one for one in back["tables"] if one["table"] == "memories")
    assert (memories["added"], memories["removed"]) == (1, 1)
    assert world.call("snapshot_diff", a=second, b=second)["same"]


def test_isolated_agents_do_not_see_each_other_in_a_snapshot(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", agent_scope="isolated")
    try:
        one, other = (Caller(name=name, agent=name, scopes=frozenset({"read", "write"})) for name in ("ana", "ben"))
        world.call("remember", one, content=OLD)
        world.call("remember", other, content=NEW)
        id = world.call("snapshot_create")["id"]
        assert texts(world.call("search", one, query="amber ferry cabinet island", at=id)) == [OLD]
        assert texts(world.call("snapshot_search", other, id=id, query="amber ferry cabinet island")) == [NEW]
        with pytest.raises(Forbidden):
            world.call("snapshot_diff", one, a=id)
    finally:
        world.close()


def test_another_tenant_sees_and_touches_nothing(world: World) -> None:
    world.call("remember", content=OLD)
    id = world.call("snapshot_create")["id"]
    admin = Caller(tenant="acme", name="acme", scopes=frozenset({"admin"}))
    world.call("remember", admin, content=NEW)

    assert world.call("snapshot_list", admin)["snapshots"] == []
    for operation, arguments in (
        ("snapshot_show", {"id": id}),
        ("snapshot_verify", {"id": id}),
        ("snapshot_search", {"id": id, "query": "amber"}),
        ("search", {"at": id, "query": "amber"}),
        ("snapshot_diff", {"a": id}),
        ("snapshot_restore", {"id": id, "yes": True}),
        ("snapshot_restore", {"id": id, "dryRun": True}),
        ("snapshot_delete", {"id": id}),
    ):
        with pytest.raises(NotFound):
            world.call(operation, admin, **arguments)
    own = world.call("snapshot_create", admin)["id"]
    stored = next(world.engine.path.glob(f"snapshots/*/*/{own}.tar.zst"))
    assert "acme" in str(stored)
    with pytest.raises(Conflict):  # the last good one
        world.call("snapshot_delete", admin, id=own)
    world.call("snapshot_restore", admin, id=own, yes=True)
    assert texts(world.call("search", query="amber cabinet")) == [OLD]
    assert texts(world.call("search", admin, query="ferry island")) == [NEW]
    assert world.call("snapshot_prune", admin, keep=1, dryRun=True)["remove"] == [own]


FILES = [
    ("snapshot_create", {"to": "/tmp/vault"}),
    ("snapshot_verify", {"id": "/tmp/x/000001-20260921T133320Z-0a1b2c.manifest.json"}),
    ("snapshot_verify", {"id": "000001-20260921T133320Z-0a1b2c.tar.zst"}),
    ("snapshot_verify", {"id": "latest", "from": "/tmp/vault"}),
    ("snapshot_verify", {"id": "latest", "identity": "/etc/passwd"}),
    ("snapshot_diff", {"a": "../../x"}),
    ("snapshot_diff", {"a": "latest", "identity": "/etc/passwd"}),
    ("snapshot_search", {"id": "latest", "query": "a", "identity": "/etc/passwd"}),
    ("search", {"at": "latest", "query": "a", "identity": "/etc/passwd"}),
    ("snapshot_restore", {"id": "/tmp/x", "yes": True}),
    ("snapshot_restore", {"id": "latest", "into": "/tmp/new"}),
    ("snapshot_restore", {"id": "latest", "yes": True, "alone": True}),
    ("snapshot_restore", {"id": "latest", "from": "/tmp/vault", "dryRun": True}),
    ("snapshot_restore", {"id": "latest", "identity": "/etc/passwd", "dryRun": True}),
]


@pytest.mark.parametrize(("operation", "arguments"), FILES)
def test_files_and_places_of_the_server_are_for_root(world: World, operation: str, arguments: dict[str, Any]) -> None:
    world.call("remember", content=OLD)
    world.call("snapshot_create")
    with pytest.raises(Forbidden):
        world.call(operation, Caller(name="admin", scopes=frozenset({"admin"})), **arguments)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("scopes") / "memory", secret=SECRET) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        assert client.post(f"{A}/remember", json={"content": OLD}).is_success
        yield client


@pytest.mark.parametrize(
    ("scope", "method", "path", "body", "allowed"),
    [
        ("read", "GET", "/snapshots", None, True),
        ("read", "POST", "/snapshots", {}, False),
        ("read", "POST", "/snapshots/verify", {"id": "latest"}, True),
        ("read", "POST", "/snapshots/search", {"id": "latest", "query": "amber"}, True),
        ("read", "POST", "/snapshots/verify", {"id": "latest", "allowOlder": True}, False),
        ("write", "POST", "/snapshots", {}, True),
        ("write", "POST", "/snapshots", {"redact": False}, False),
        ("write", "POST", "/snapshots/restore", {"id": "latest", "yes": True}, False),
        ("write", "POST", "/snapshots/restore", {"id": "latest", "dryRun": True}, False),
        ("write", "POST", "/snapshots/undo", {"yes": True}, False),
        ("write", "POST", "/snapshots/prune", {"keep": 1}, False),
        ("write", "DELETE", "/snapshots/latest", {}, False),
        ("admin", "POST", "/snapshots", {"redact": False}, True),
        ("admin", "POST", "/snapshots/restore", {"id": "latest", "dryRun": True}, True),
        ("admin", "POST", "/snapshots/export", {"id": "latest", "to": "/tmp/x"}, False),
        ("admin", "POST", "/snapshots/import", {"path": "/tmp/x"}, False),
        ("admin", "POST", "/keys", {}, False),
        ("admin", "POST", "/keys/trust", {"did": "did:key:z6Mk"}, False),
    ],
)
def test_a_tokens_scope_decides(
    server: httpx.Client, scope: str, method: str, path: str, body: Any, allowed: bool
) -> None:
    assert server.post(f"{A}/snapshots", json={}).status_code == 201
    token = server.post(f"{A}/tokens", json={"scopes": [scope]}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    answer = server.request(method, A + path, json=body, headers=headers)
    assert answer.is_success is allowed, answer.text
    if not allowed:
        assert answer.status_code == 403
    assert "/memory/" not in answer.text, "where the server keeps its files"
