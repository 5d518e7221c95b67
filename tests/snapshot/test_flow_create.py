"""Making snapshots of a real memory: what they say of themselves, what they hold, and one moment while others write."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyrage
import pytest
from flows import NEW, OLD, READER, STRANGER, Cli, identity_file, recipient
from memory_repositories import SECRET
from world import DAY, NOON, World

from holdfast.core.errors import Forbidden
from holdfast.core.model import Caller
from holdfast.snapshot.browse import past
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.store.tables import MEMORIES

pytestmark = pytest.mark.quick

FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "signed": {"sign": True},
    "encrypted": {"encrypt": [recipient()]},
    "both": {"sign": True, "encrypt": [recipient()]},
}


def bundle(world: World, id: str) -> bytes:
    return snapshot_context(world.context()).repo.find(id).path.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_snapshot_of_every_form_is_sound_and_says_what_it_is(tmp_path: Path, form: str) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_AGENT="quill")
    cli.remember(OLD)
    words = ["--sign"] if "sign" in FORMS[form] else []
    words += ["--encrypt", recipient()] if "encrypt" in FORMS[form] else []
    first, second = cli.create("--label", "monday", *words), cli.create(*words)

    about = cli.good("snapshot", "show", first)["snapshot"]
    assert (about["label"], about["tenant"], about["agent"]) == ("monday", "default", "quill")
    assert (about["sequence"], about["parent"], about["createdBy"]) == (1, None, "hand")
    assert about["encrypted"] is ("encrypt" in FORMS[form])
    assert (about["signer"] or "").startswith("did:key:") is ("sign" in FORMS[form])
    later = cli.good("snapshot", "show", second)["snapshot"]
    assert (later["sequence"], later["parent"]) == (2, first)

    identity = ["--identity", identity_file(tmp_path)] if "encrypt" in FORMS[form] else []
    report = cli.good("snapshot", "verify", first, *identity)
    assert report["sound"]
    assert "members" in report["checked"]


def test_the_same_memory_gives_the_same_bytes_and_a_changed_one_others(world: World) -> None:
    world.call("remember", content=OLD)
    first = world.call("snapshot_create")["id"]
    world.clock.now += DAY
    again = world.call("snapshot_create", label="again")["id"]
    world.call("remember", content=NEW)
    other = world.call("snapshot_create")["id"]

    assert bundle(world, first) == bundle(world, again)
    assert bundle(world, first) != bundle(world, other)


def test_an_encrypted_bundles_bytes_open_to_those_of_a_plain_one(world: World) -> None:
    world.call("remember", content=OLD)
    plain = world.call("snapshot_create")["id"]
    sealed = world.call("snapshot_create", encrypt=[recipient(), recipient(STRANGER)])["id"]

    opened = [pyrage.decrypt(bundle(world, sealed), [one]) for one in (READER, STRANGER)]
    assert opened[0] == opened[1]
    # The encrypted one has one member more: what its manifest does not say.
    assert len(opened[0]) > len(bundle(world, plain))


def test_a_snapshot_is_one_moment_while_others_write(world: World) -> None:
    """A new version and the end of the old one are one transaction: at any moment exactly one is the latest."""
    first = world.call("remember", content="version 0")["memory"]["id"]
    stop = threading.Event()
    broke: list[Exception] = []

    def write() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                world.call("evolve", memoryId=first, newContent=f"version {number}")
        except Exception as error:  # noqa: BLE001 - told below
            broke.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        ids = [world.call("snapshot_create")["id"] for _ in range(4)]
    finally:
        stop.set()
        writer.join()
    assert not broke
    sizes = []
    for id in ids:
        with past(snapshot_context(world.context()), SnapshotSelector(id)) as then:
            versions = list(then.store.read().each(MEMORIES, "default"))
        assert [one.content for one in versions if one.latest] == [f"version {len(versions) - 1}"]
        sizes.append(len(versions))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1], "the writer wrote nothing meanwhile"


def test_what_is_secret_in_a_memory_folder_is_not_in_the_snapshot_and_the_report_says_so(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text(f"the token is {SECRET}\n")
    (notes / "link.md").symlink_to("/etc/hostname")
    (notes / "large.md").write_text("x" * 300)
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={notes}", HOLDFAST_SNAPSHOT_FILE_LIMIT="200")
    cli.remember(OLD)
    id = cli.create()

    about = cli.good("snapshot", "show", id)["snapshot"]
    assert about["redaction"]["applied"] is True
    assert list(about["redaction"]["files"]) == ["folders/notes/MEMORY.md"]
    assert sum(about["redaction"]["rules"].values()) == 1
    assert {(one["path"], one["reason"]) for one in about["left"]} == {
        ("folders/notes/link.md", "symlink"),
        ("folders/notes/large.md", "too large"),
    }
    restored = tmp_path / "notes"
    assert SECRET in (restored / "MEMORY.md").read_text()  # the live file is its owner's business
    cli.good("snapshot", "restore", id, "--yes")
    assert SECRET not in (notes / "MEMORY.md").read_text()


def test_a_snapshot_without_redaction_says_so(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text(f"the token is {SECRET}\n")
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={notes}")
    cli.remember(OLD)
    id = cli.create("--no-redact")

    assert cli.good("snapshot", "show", id)["snapshot"]["redaction"]["applied"] is False
    (notes / "MEMORY.md").write_text("gone\n")
    cli.good("snapshot", "restore", id, "--yes")
    assert SECRET in (notes / "MEMORY.md").read_text()


def test_the_manifest_of_an_encrypted_snapshot_tells_nothing_of_what_is_in_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "divorce-plans.md").write_text(f"the token is {SECRET}\n")
    (notes / "passport.md").symlink_to("/etc/hostname")
    cli = Cli(tmp_path / "memory", HOLDFAST_MEMORY_FOLDERS=f"notes={notes}")
    cli.remember(OLD)
    plain, sealed = cli.create(), cli.create("--encrypt", recipient())

    shown = json.loads((cli.repo / f"{plain}.manifest.json").read_text())
    hidden = (cli.repo / f"{sealed}.manifest.json").read_text()
    for word in ("divorce", "passport", "notes", *(one["sha256"] for one in shown["artifacts"])):
        assert word not in hidden
    about = cli.good("snapshot", "show", sealed)["snapshot"]
    assert about["artifacts"] is None
    assert about["redaction"]["files"] == []
    assert sum(about["redaction"]["rules"].values()) == 1
    assert about["left"] == []
    assert (about["redaction"]["hidden"], about["hiddenLeft"]) == (1, 1)
    assert recipient() not in hidden


def test_a_recipient_that_is_none_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    assert cli("snapshot", "create", "--encrypt", "age1nobody").code == 2
    assert cli.good("snapshot", "list")["count"] == 0


def test_a_copy_goes_to_the_vault_that_is_named(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    id = cli.create("--to", str(tmp_path / "vault"))
    assert cli.good("snapshot", "verify", id, "--from", str(tmp_path / "vault"))["sound"]
    assert cli.good("snapshot", "verify", "latest", "--from", str(tmp_path / "vault"))["sound"]


def test_ids_are_of_the_time_and_in_order(world: World) -> None:
    world.call("remember", content=OLD)
    ids = [world.call("snapshot_create")["id"] for _ in range(3)]
    world.clock.now = NOON - 400 * DAY  # the clock jumps back: the order stays
    ids.append(world.call("snapshot_create")["id"])
    assert [one["id"] for one in world.call("snapshot_list")["snapshots"]] == ids[::-1]
    assert ids[0].startswith("000001-20260921T141320Z-")


def test_whoever_may_only_write_neither_makes_the_servers_key_nor_leaves_a_signature_out(tmp_path: Path) -> None:
    writer = Caller(tenant="acme", name="acme", scopes=frozenset({"read", "write"}))
    world = World(tmp_path / "memory", snapshot_sign=True)
    try:
        world.call("remember", writer, content=OLD)
        with pytest.raises(Forbidden):
            world.call("snapshot_create", writer, sign=True)
        assert not (world.engine.path / "keys" / "own.json").exists()
        with pytest.raises(Forbidden):
            world.call("snapshot_create", writer, sign=False)
        world.call("key_new")
        assert world.call("snapshot_create", writer, sign=True)["snapshot"]["signer"]
    finally:
        world.close()
