"""`holdfast snapshot verify`: one exit code for each kind of finding, and nothing changed by looking."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from flows import NEW, OLD, STRANGER, Cli, identity_file, recipient
from harm import flip_bit

from holdfast.snapshot.repo.paths import sidecar

DAMAGED, UNTRUSTED, OLDER, TOO_NEW, FOREIGN, IDENTITY = 40, 41, 42, 43, 44, 45


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "memory")
    made.remember(OLD)
    return made


def exported(cli: Cli, id: str, to: Path) -> str:
    """The path of a copy's manifest."""
    cli.good("snapshot", "export", id, "--to", str(to))
    return str(to / f"{id}.manifest.json")


def code(cli: Cli, *words: str) -> int:
    """The exit code of `verify`, which `restore` has too; the answer says the same."""
    said = cli("snapshot", "verify", *words)
    if said.out:
        assert said.answer["exitCode"] == said.code
        assert said.answer["sound"] is (said.code == 0)
    before = cli.texts()
    used = cli("snapshot", "restore", *words, "--yes")
    assert used.code == said.code, used.out + used.err
    if said.code:
        assert cli.texts() == before
    return said.code


def memory_files(cli: Cli) -> dict[str, bytes]:
    """All but the lock of snapshots, which says who held it last, and the note of what was done."""
    return {name: data for name, data in cli.files().items() if name not in ("snapshots/.lock", "snapshots/.work")}


def rewrite(path: Path, **changes: Any) -> None:
    """Change an unsigned manifest as anybody can, with its sidecar."""
    shape = json.loads(path.read_text())
    data = json.dumps({**shape, **changes}, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    path.write_bytes(data)
    path.with_name(f"{path.name}.sha256").write_bytes(sidecar(sha256(data).hexdigest(), path.name))


@pytest.mark.parametrize("end", [".tar.zst", ".manifest.json", ".tar.zst.sha256", ".manifest.json.sha256"])
def test_a_changed_byte_is_damage(cli: Cli, end: str) -> None:
    cli.create()
    id = cli.create()
    path = cli.repo / f"{id}{end}"
    flip_bit(path, path.stat().st_size // 2)

    assert code(cli, id) == DAMAGED
    listed = {one["id"]: one["damaged"] for one in cli.good("snapshot", "list")["snapshots"]}
    assert listed[id]
    assert not list(listed.values())[1]


def test_a_body_that_is_gone_is_damage(cli: Cli) -> None:
    id = cli.create()
    (cli.repo / f"{id}.tar.zst").unlink()
    assert code(cli, id) == DAMAGED
    assert cli.good("snapshot", "list")["snapshots"][0]["damaged"]


def test_a_key_that_is_not_trusted_makes_it_untrusted_until_it_is(cli: Cli, tmp_path: Path) -> None:
    other = Cli(tmp_path / "other")
    other.remember(NEW)
    bundle = exported(other, other.create("--sign"), tmp_path / "out")

    assert code(cli, bundle) == UNTRUSTED
    assert cli("snapshot", "verify", bundle, "--allow-unsigned").code == UNTRUSTED
    cli.good("key", "trust", other.good("key", "show")["did"])
    assert code(cli, bundle) == 0
    assert cli.texts() == {NEW}


def test_an_unsigned_one_is_untrusted_where_a_key_is_pinned(cli: Cli, tmp_path: Path) -> None:
    id = cli.create()
    assert code(cli, id) == 0
    other = Cli(tmp_path / "other")
    cli.good("key", "trust", other.good("key", "new")["did"])

    assert code(cli, id) == UNTRUSTED
    assert cli.good("snapshot", "verify", id, "--allow-unsigned")["sound"]
    cli.good("snapshot", "restore", id, "--yes", "--allow-unsigned")


def test_a_copy_that_is_older_than_the_newest_known_is_older(cli: Cli, tmp_path: Path) -> None:
    bundle = exported(cli, cli.create(), tmp_path / "out")
    assert code(cli, bundle) == 0
    cli.create()

    assert code(cli, bundle) == OLDER
    assert cli.good("snapshot", "verify", bundle, "--allow-older")["sound"]


def test_the_latest_is_older_when_the_newest_was_taken_away_behind_the_back(cli: Cli) -> None:
    first, second = cli.create(), cli.create()
    for path in cli.repo.glob(f"{second}*"):
        path.unlink()

    assert code(cli, "latest") == OLDER
    assert code(cli, first) == 0  # named by its id it is what was asked for


def test_the_latest_in_a_vault_is_older_when_the_newest_was_taken_away(cli: Cli, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    cli.create("--to", str(vault))
    second = cli.create("--to", str(vault))
    assert code(cli, "latest", "--from", str(vault)) == 0
    for path in vault.rglob(f"{second}*"):
        path.unlink()
    assert code(cli, "latest", "--from", str(vault)) == OLDER


def test_a_newer_format_is_too_new(cli: Cli) -> None:
    id = cli.create()
    path = cli.repo / f"{id}.manifest.json"
    shape = json.loads(path.read_text())
    rewrite(path, schemaVersions={**shape["schemaVersions"], "store": 10_000})
    assert code(cli, id) == TOO_NEW


def test_a_newer_manifest_is_too_new(cli: Cli) -> None:
    id = cli.create()
    rewrite(cli.repo / f"{id}.manifest.json", version=10_000)
    assert code(cli, id) == TOO_NEW


def test_another_agents_snapshot_is_foreign_unless_it_is_taken_over(cli: Cli, tmp_path: Path) -> None:
    other = Cli(tmp_path / "other", HOLDFAST_AGENT="quill")
    other.remember(NEW)
    bundle = exported(other, other.create(), tmp_path / "out")
    before = memory_files(cli)

    assert cli("snapshot", "restore", bundle, "--yes").code == FOREIGN
    assert cli("snapshot", "verify", bundle).code == FOREIGN
    assert memory_files(cli) == before
    assert cli("snapshot", "restore", bundle, "--yes", "--as", "somebody").code == 2
    cli.good("snapshot", "restore", bundle, "--yes", "--as", "default")
    assert cli.texts() == {NEW}


def test_another_tenants_snapshot_is_foreign(cli: Cli, tmp_path: Path) -> None:
    id = cli.create()
    folder = tmp_path / "out"
    bundle = Path(exported(cli, id, folder))
    rewrite(bundle, tenant="acme")
    before = memory_files(cli)

    assert cli("snapshot", "verify", str(bundle)).code == FOREIGN
    assert cli("snapshot", "restore", str(bundle), "--yes").code == FOREIGN
    assert cli("snapshot", "restore", str(bundle), "--yes", "--as", "default").code == FOREIGN
    assert memory_files(cli) == before


def test_an_encrypted_one_is_checked_as_far_as_it_goes_without_its_identity(cli: Cli, tmp_path: Path) -> None:
    id = cli.create("--sign", "--encrypt", recipient())

    report = cli.good("snapshot", "verify", id)
    assert report["sound"]
    assert {"bytes", "signature"} <= set(report["checked"])
    assert report["unchecked"] == ["members: encrypted, no identity given"]
    assert cli("snapshot", "verify", id, "--identity", identity_file(tmp_path, STRANGER)).code == IDENTITY
    assert cli("snapshot", "restore", id, "--yes").code == IDENTITY
    assert cli("snapshot", "restore", id, "--yes", "--identity", identity_file(tmp_path, STRANGER)).code == IDENTITY
    assert cli("snapshot", "search", id, "fuses").code == IDENTITY
    assert code(cli, id, "--identity", identity_file(tmp_path)) == 0


def test_verify_answers_in_words_too(cli: Cli, tmp_path: Path) -> None:
    id = cli.create()
    shutil.copytree(cli.repo, tmp_path / "copy")
    assert cli("snapshot", "verify", str(tmp_path / "copy" / f"{id}.tar.zst")).code == 0
    assert cli("snapshot", "verify", str(tmp_path / "copy")).code == 0
    assert cli("snapshot", "verify", str(tmp_path / "nowhere")).code == 4
    assert cli("snapshot", "verify", "000099").code == 4
