"""A server writes its journal to the vault, and holds nobody up for it."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from journal_steps import Journaled, journal_objects
from object_server import BUCKET, WRITER, ObjectServer
from patience import until
from world import World, running

from holdfast.serve.background import journal_thread


def remember(client: httpx.Client, text: str) -> None:
    answer = client.post("/agentmemory/remember", json={"content": text})
    assert answer.status_code in (200, 201), answer.text


def texts_in(scratch: Path, vault: Path) -> set[str]:
    """What an empty folder gets from the vault as it is now."""
    if not journal_objects(vault):
        return set()
    return texts(scratch / f"try-{uuid4().hex}", str(vault))


def is_sent(client: httpx.Client) -> bool:
    """Whether the vault has everything, as the server reports it."""
    journal = client.get("/agentmemory/health").json()["snapshots"].get("journal")
    return journal is not None and not journal["waiting"] and not journal["behindSeconds"]


def warned(client: httpx.Client) -> set[str]:
    return {one["code"] for one in client.get("/agentmemory/overview").json()["warnings"]}


def texts(home: Path, vault: str, **overrides: str) -> set[str]:
    other = World(home, 70_000, vault=vault, **overrides)
    try:
        return {one["content"] for one in other.call("memories", limit=100)["memories"]}
    finally:
        other.engine.close()


def test_what_a_server_stored_is_in_the_vault_without_any_snapshot(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "home", vault=str(vault)) as client:
        for number in range(5):
            remember(client, f"Fact {number}.")
        wanted = {f"Fact {number}." for number in range(5)}
        until(lambda: texts_in(tmp_path, vault) == wanted, "all of it is in the vault")
    assert not list(vault.glob("*/*/*.manifest.json"))


def test_what_was_stored_just_before_the_end_is_sent(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "home", vault=str(vault)) as client:
        remember(client, "Fact one.")

    assert texts(tmp_path / "other", str(vault)) == {"Fact one."}


def test_a_server_without_the_setting_writes_none(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "home", vault=str(vault), journal="false") as client:
        remember(client, "Fact one.")
        assert "journal" not in client.get("/agentmemory/health").json()["snapshots"]

    assert journal_objects(vault) == []


def test_turned_off_and_on_again_the_journal_lacks_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number, journal in enumerate(("true", "false", "true")):
        with running(tmp_path / "home", vault=str(vault), journal=journal) as client:
            remember(client, f"Fact {number}.")

    assert texts(tmp_path / "other", str(vault)) == {"Fact 0.", "Fact 1.", "Fact 2."}


def test_while_the_vault_is_away_writes_go_on_and_everyone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_thread, "WATCH_SECONDS", 0.0)
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "home", vault=str(vault)) as client:
        remember(client, "Fact one.")
        until(lambda: texts_in(tmp_path, vault) == {"Fact one."}, "the first is sent")
        vault.rename(tmp_path / "away")
        remember(client, "Fact two.")
        until(lambda: not is_sent(client), "the server knows that the vault is behind")
        health = client.get("/agentmemory/health").json()["snapshots"]["journal"]
        assert health["behindSeconds"] > 0
        metrics = client.get("/metrics").text
        assert "holdfast_journal_behind_seconds 0\n" not in metrics
        assert "holdfast_journal_behind_seconds " in metrics
        until(lambda: "vault_refused" in warned(client), "the page says that the folder is gone")
        (tmp_path / "away").rename(vault)
        until(lambda: is_sent(client), "the vault has everything")
        until(lambda: "vault_refused" not in warned(client), "the page says so no longer")
        status = client.get("/agentmemory/vault").json()
        assert status["journal"]["waiting"] == 0
        assert status["journal"]["objects"] >= 2
    assert texts(tmp_path / "other", str(vault)) == {"Fact one.", "Fact two."}


def test_a_restore_by_a_server_begins_a_line_that_is_sent(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    with running(tmp_path / "home", vault=str(vault)) as client:
        remember(client, "Fact one.")
        id = client.post("/agentmemory/snapshots", json={}).json()["id"]
        remember(client, "Fact two.")
        client.post("/agentmemory/snapshots/restore", json={"id": id, "yes": True})
        remember(client, "Fact three.")

    assert texts(tmp_path / "other", str(vault)) == {"Fact one.", "Fact three."}


def test_an_object_store_gets_it_too(tmp_path: Path, objects: ObjectServer) -> None:
    given = {
        "vault_endpoint": objects.endpoint,
        "vault_key_id": WRITER[0],
        "vault_key": WRITER[1],
    }
    place = f"s3://{BUCKET}/{tmp_path.name}"
    with running(tmp_path / "home", vault=place, **given) as client:
        for number in range(5):
            remember(client, f"Fact {number}.")

    assert texts(tmp_path / "other", place, **given) == {f"Fact {number}." for number in range(5)}


def test_many_small_objects_become_one(tmp_path: Path) -> None:
    home = Journaled(tmp_path / "home", tmp_path / "vault")
    moments = []
    for number in range(70):
        home.remember(f"Fact {number}.")
        moments.append(home.piece())
    assert home.compaction().put_together(home.line) == 64

    found = journal_objects(tmp_path / "vault")
    assert len(found) == 7
    assert found[0].name == "000000000001-000000000064"
    assert texts(tmp_path / "other", str(tmp_path / "vault")) == {f"Fact {number}." for number in range(70)}
