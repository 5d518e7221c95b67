"""A host that may only add to its vault: everything but pruning works, what is there only grows, and whoever takes the
machine over cannot erase it. Pruning is done with other keys."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from chunk_samples import (
    PREFIX,
    Stepping,
    add_snapshot,
    attempt,
    chunk_into_repo,
    context_at,
    database,
    ids,
    names,
    store_in,
)
from flows import NEW, OLD, Cli
from harm import flip_bit
from journal_steps import Journaled
from object_server import APPENDER, BUCKET, LOCKED, WRITER, ObjectServer

from holdfast.core.errors import SnapshotsBusy, VaultRefused, VaultUnreachable
from holdfast.core.ports import Vault
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.chunks.leases import leases
from holdfast.snapshot.journal import journal_compaction
from holdfast.snapshot.remote.layout import put
from holdfast.snapshot.remote.transfer import list_vault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.retention import RetentionPolicy
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.snapshot.sync.vault_maintenance import prune_vault, sync, verify_all
from holdfast.vault.local import LocalVault
from holdfast.vault.objects import object_vault
from holdfast.vault.restriction import AppendOnly
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


class Refusing(VaultWrapper):
    """What a vault does whose credential may only add: the host learns it with each attempt."""

    def delete(self, name: str) -> None:
        raise VaultRefused("vault: the key has no permission for this")


BOUNDS = {"by the setting": AppendOnly, "by the credential": Refusing}


@pytest.fixture(params=list(BOUNDS))
def bound(request: pytest.FixtureRequest) -> type[VaultWrapper]:
    return BOUNDS[request.param]


# With real servers


def reached(objects: ObjectServer, key: tuple[str, str]) -> dict[str, str]:
    return {"vault_endpoint": objects.endpoint, "vault_key_id": key[0], "vault_key": key[1]}


def stored(objects: ObjectServer, bucket: str, below: str) -> dict[str, str]:
    """What the server has, and a tag of its bytes."""
    vault = object_vault("s3", bucket, below, objects.settings(WRITER), SystemEntropy())
    return {one.name: one.tag for one in vault.list()}


@pytest.fixture(params=[BUCKET, LOCKED])
def bucket(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.embedded  # on PostgreSQL there is no journal
@pytest.mark.parametrize("layout", ["whole", "chunks"])
def test_a_memory_is_kept_and_comes_back_with_a_key_that_may_only_add(
    locked_objects: ObjectServer, bucket: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_compaction, "TOGETHER", 4)
    below = SystemEntropy().hex(12)
    given = {**reached(locked_objects, APPENDER), "vault_layout": layout, "snapshot_every": "off"}
    home = Journaled(tmp_path / "home", f"s3://{bucket}/{below}", **given)
    before: dict[str, str] = {}
    for turn in range(3):
        for number in range(6):
            home.remember(f"Fact {turn}.{number}.")
            home.piece()
        home.call("snapshot_create", to=f"s3://{bucket}/{below}")
        home.compaction().put_together(home.line)
        home.compaction().expire(home.line, home.clock.now, home.clock.now)
        now = stored(locked_objects, bucket, below)
        assert before.items() <= now.items(), "nothing went, and nothing was overwritten"
        before = now
    home.remember("The last fact.")
    home.piece()
    done = home.call("drill")
    assert done["sound"], done
    texts = home.texts()
    home.close()

    other = Journaled(tmp_path / "other", f"s3://{bucket}/{below}", 9_000, **given)
    assert other.texts() == texts
    assert len(texts) == 19
    other.close()


def test_pruning_needs_other_keys_and_says_so(objects: ObjectServer, tmp_path: Path) -> None:
    vault = f"s3://{BUCKET}/{SystemEntropy().hex(12)}"
    keys = tmp_path / "prune.keys"
    keys.write_text(f"AWS_ACCESS_KEY_ID={WRITER[0]}\nAWS_SECRET_ACCESS_KEY={WRITER[1]}\n")
    keys.chmod(0o600)
    own = {"AWS_ACCESS_KEY_ID": APPENDER[0], "AWS_SECRET_ACCESS_KEY": APPENDER[1]}
    cli = Cli(tmp_path / "home", HOLDFAST_VAULT_LAYOUT="chunks", AWS_ENDPOINT_URL=objects.endpoint, **own)
    cli.remember(OLD)
    first = cli.create("--to", vault)
    cli.remember(NEW)
    second = cli.create("--to", vault)
    before = stored(objects, *vault.removeprefix("s3://").split("/"))

    refused = cli("vault", "prune", vault, "--keep", "1", "--yes")
    assert (refused.code, refused.fault["code"]) == (34, "vault_refused")
    assert "--credentials FILE" in refused.fault["hint"]
    now = stored(objects, *vault.removeprefix("s3://").split("/"))
    assert {name for name in now if "/condemned/" not in name} == set(before)
    pruned = cli.good("vault", "prune", vault, "--keep", "1", "--credentials", str(keys), "--yes")
    assert (pruned["remove"], pruned["packs"]["waiting"]) == ([first], 0)
    left = stored(objects, *vault.removeprefix("s3://").split("/"))
    assert [name for name in left if first in name or "/leases/" in name or "/ended/" in name] == []
    assert [one["id"] for one in cli.good("vault", "list", vault)["snapshots"]] == [second]
    assert cli.good("vault", "verify", vault)["sound"]


def test_status_and_doctor_tell_what_keeps_a_vault(locked_objects: ObjectServer, tmp_path: Path) -> None:
    def told(bucket: str, key: tuple[str, str], **more: str) -> tuple[Any, str]:
        vault = f"s3://{bucket}/{SystemEntropy().hex(12)}"
        own = {"AWS_ACCESS_KEY_ID": key[0], "AWS_SECRET_ACCESS_KEY": key[1]}
        there = {"AWS_ENDPOINT_URL": locked_objects.endpoint, "HOLDFAST_VAULT": vault}
        cli = Cli(tmp_path / SystemEntropy().hex(8), **own, **there, **more)
        cli.good("vault", "init")
        cli.remember(OLD)
        cli.create()
        (check,) = [one for one in cli("doctor").answer["checks"] if one["name"] == "vault protection"]
        assert check["ok"]
        return cli.good("vault", "status")["protection"], f"{check['found']} {check['hint']}"

    found, said = told(BUCKET, WRITER)
    assert (found["mayDelete"], found["protected"], found["by"]) == (True, False, "nothing")
    assert said.startswith("none: this host can delete")
    found, said = told(BUCKET, APPENDER, HOLDFAST_VAULT_APPEND_ONLY="true")
    assert (found["addOnly"], found["mayDelete"], found["protected"]) == (True, False, True)
    assert "may not delete" in said
    found, said = told(BUCKET, WRITER, HOLDFAST_VAULT_APPEND_ONLY="true")
    assert (found["addOnly"], found["mayDelete"], found["protected"]) == (True, True, False)
    assert "is on, but the credential may delete" in said
    found, said = told(LOCKED, WRITER)
    assert (found["by"], found["protected"], found["files"]) == ("lock", True, 2)
    assert 2.5 < found["days"] < 3.5
    assert f"until {found['until'][:10]}" in said


# Interrupted, damaged and pruned meanwhile


def sends(home: Path, vault: Vault, sequence: int, **overrides: object) -> tuple[SnapshotContext, str]:
    context = context_at(home, **overrides)
    id = add_snapshot(context, sequence, database(changed=(sequence,)))
    put(context, vault, id)
    return context, id


def test_a_lease_that_cannot_be_taken_away_is_noted_as_ended(bound: type[VaultWrapper], tmp_path: Path) -> None:
    inner = LocalVault(tmp_path / "vault")
    context, first = sends(tmp_path / "home", bound(inner), 1)
    _, second = sends(tmp_path / "home", bound(inner), 2)

    assert ids(inner) == [second, first]
    assert len(names(inner, "leases/")) == len(names(inner, "ended/")) == 2
    assert leases(inner, PREFIX) == []
    done = prune_vault(context, inner, RetentionPolicy(last=1))
    assert (done.removed, done.swept.waiting) == ((first,), 0)
    assert names(inner, "leases/") + names(inner, "ended/") == []
    assert store_in(inner, second, tmp_path) == database(changed=(2,))


class Ending(VaultWrapper):
    """A vault whose line breaks before the nth put, and stays broken."""

    def __init__(self, vault: Vault, after: int):
        super().__init__(vault)
        self._left = after

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise VaultUnreachable("vault: no response")

    def put(self, name: str, data: Any) -> None:
        self._step()
        super().put(name, data)

    def put_all(self, parcels: Any) -> None:
        for one in parcels:
            self._step()
            super().put_all([one])


@pytest.mark.parametrize("chunked", [False, True], ids=["whole in the repository", "in chunks"])
def test_what_was_interrupted_anywhere_is_sent_with_the_next_attempt(
    bound: type[VaultWrapper], chunked: bool, tmp_path: Path
) -> None:
    make = chunk_into_repo if chunked else add_snapshot
    context = context_at(tmp_path / "home")
    id = make(context, 1, database())
    for puts in range(1, 12):
        inner = LocalVault(tmp_path / f"vault-{puts}")
        try:
            put(context, Ending(bound(inner), puts), id)
        except VaultUnreachable:
            put(context, bound(inner), id)
        else:
            assert puts > 5
            break
        assert [(one.id, one.damaged) for one in list_vault(inner, "default", "default")] == [(id, None)]
        assert store_in(inner, id, tmp_path) == database()
    else:
        pytest.fail("it never went through")


def test_a_damaged_pack_that_stays_is_gone_round(bound: type[VaultWrapper], tmp_path: Path) -> None:
    inner = LocalVault(tmp_path / "vault")
    context = context_at(tmp_path / "home", vault=str(tmp_path / "vault"))
    put(context, bound(inner), chunk_into_repo(context, 1, database()))
    for path in (tmp_path / "vault").rglob("packs/*"):
        flip_bit(path, path.stat().st_size // 2)
    assert not all(one.sound for one in verify_all(context, inner, SnapshotSelector("", str(tmp_path / "vault"))))

    second = chunk_into_repo(context, 2, database(changed=(7,)))
    put(context, bound(inner), second)
    assert store_in(inner, second, tmp_path) == database(changed=(7,))


def test_a_snapshot_that_lost_its_packs_is_refused_and_the_next_is_whole(
    bound: type[VaultWrapper], tmp_path: Path
) -> None:
    inner = LocalVault(tmp_path / "vault")
    context, first = sends(tmp_path / "home", bound(inner), 1)
    for path in (tmp_path / "vault").rglob("packs/*"):
        path.unlink()

    with pytest.raises(VaultRefused, match="damaged there"):
        put(context, bound(inner), first)
    _, second = sends(tmp_path / "home", bound(inner), 2)
    assert store_in(inner, second, tmp_path) == database(changed=(2,))
    assert [one.id for one in sync(context, inner, 5).sent] == [first], "with other keys"
    assert store_in(inner, first, tmp_path) == database(changed=(1,))


def test_a_refused_prune_condemns_nothing(bound: type[VaultWrapper], tmp_path: Path) -> None:
    inner = LocalVault(tmp_path / "vault")
    context, first = sends(tmp_path / "home", inner, 1)
    _, second = sends(tmp_path / "home", inner, 2)
    with pytest.raises(VaultRefused) as refused:
        prune_vault(context, bound(inner), RetentionPolicy(last=1), tidy=True)

    assert "--credentials FILE" in refused.value.hint
    assert ids(inner) == [second, first]
    _, third = sends(tmp_path / "home", bound(inner), 3)
    assert store_in(inner, third, tmp_path) == database(changed=(3,))


def test_a_lease_that_somebody_ended_does_not_let_a_writer_commit(tmp_path: Path) -> None:
    context = context_at(tmp_path / "home")
    id = add_snapshot(context, 1, database())
    counted = Stepping(LocalVault(tmp_path / "counted"))
    put(context, counted, id)

    stopped = 0
    for at in range(counted.calls):
        vault = LocalVault(tmp_path / f"vault-{at}")
        fault = attempt(lambda at=at, vault=vault: put(context, Stepping(vault, at, lambda: end_all(vault)), id))
        stopped += isinstance(fault, SnapshotsBusy)
        assert fault is None or isinstance(fault, SnapshotsBusy)
        assert ids(vault) == ([] if fault else [id])
    assert stopped > 3


def end_all(vault: Vault) -> None:
    """What somebody can do who may only add."""
    for name in names(vault, "leases/"):
        vault.put(name.replace("/leases/", "/ended/"), BytesIO(b""))
