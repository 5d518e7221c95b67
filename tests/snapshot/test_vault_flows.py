"""A memory and its vaults as a whole: sent, listed, verified, pruned, copied, restored, whatever kind of vault it is."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest
from flows import NEW, OLD, Cli, identity_file, recipient, vault_place
from harm import flip_bit
from hub_server import DATASET, TOKEN, HubServer
from object_server import BUCKET, WRITER, ObjectServer
from repo_samples import AGENT, TENANT, put_sample, sample_bundle, sample_id, sample_manifest
from world import CountingEntropy, StillClock, settings

from holdfast.core.errors import Conflict, VaultUnreachable
from holdfast.core.ports import Upload, Vault
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.remote.transfer import list_vault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.retention import RetentionPolicy
from holdfast.snapshot.sync.vault_maintenance import copy, prune_vault, standing, sync
from holdfast.vault.local import LocalVault
from holdfast.vault.sequential_put import put_each
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

PREFIX = f"{TENANT}/{AGENT}/"


# Every kind through the command line


@pytest.fixture(params=["folder", "objects", "hub"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A vault's name, and the environment that reaches it."""
    if request.param != "hub":
        return vault_place(request, tmp_path)
    hub: HubServer = request.getfixturevalue("hub")
    return f"hf://datasets/{DATASET}", {"HF_TOKEN": TOKEN, "HF_ENDPOINT": hub.url}


def test_a_memory_goes_to_any_vault_and_comes_back(place: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    vault, environment = place
    cli = Cli(tmp_path / "home", **environment)
    cli.remember(OLD)
    first = cli.create("--to", vault)
    cli.remember(NEW)
    second = cli.create()

    status = cli.good("vault", "status", vault)
    assert (status["snapshots"], status["newest"], status["missing"]) == (1, first, [second])
    done = cli.good("vault", "sync", vault)
    assert ([one["id"] for one in done["sent"]], done["remaining"]) == ([second], 0)
    assert [one["id"] for one in cli.good("vault", "list", vault)["snapshots"]] == [second, first]
    assert cli.good("vault", "verify", vault)["sound"]
    assert cli.good("vault", "sync", vault)["sent"] == []

    started = Cli(tmp_path / "new", HOLDFAST_VAULT=vault, **environment)
    assert started.texts() == {OLD, NEW}, "an empty folder begins with the newest"
    third = started.good("snapshot", "restore", first, "--from", vault, "--yes")["before"]
    assert started.texts() == {OLD}
    assert [one["id"] for one in cli.good("vault", "list", vault)["snapshots"]] == [third, second, first]

    assert cli.good("vault", "prune", vault, "--keep", "2", "--yes")["remove"] == [first]
    assert cli.good("vault", "status", vault)["missing"] == [first]


def test_a_memory_is_copied_through_all_kinds_of_vaults(objects: ObjectServer, hub: HubServer, tmp_path: Path) -> None:
    environment = {
        "HOLDFAST_VAULT_KEY_ID": WRITER[0],
        "HOLDFAST_VAULT_KEY": WRITER[1],
        "HOLDFAST_VAULT_ENDPOINT": objects.endpoint,
        "HOLDFAST_HUB_TOKEN": TOKEN,
        "HOLDFAST_HUB_URL": hub.url,
    }
    cli = Cli(tmp_path / "home", **environment)
    cli.remember(OLD)
    ids = [cli.create("--encrypt", recipient()) for _ in range(2)]
    one, two, three = str(tmp_path / "vault"), f"s3://{BUCKET}/{SystemEntropy().hex(12)}", f"hf://datasets/{DATASET}"
    cli.good("vault", "sync", one)
    for source, target in ((one, two), (two, three)):
        done = cli.good("vault", "copy", source, target)
        assert [sent["id"] for sent in done["sent"]] == ids[::-1]
        assert cli.good("vault", "copy", source, target)["sent"] == []

    for vault in (one, two, three):
        found = cli.good("vault", "verify", vault, "--identity", identity_file(tmp_path))
        assert [(each["snapshot"], each["sound"]) for each in found["snapshots"]] == [(id, True) for id in ids[::-1]]
    assert len(hub.dataset.commits) == 1 + len(ids), "one commit for each snapshot"


def test_credentials_of_a_file_reach_the_vault_and_show_nowhere(objects: ObjectServer, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"AWS_ACCESS_KEY_ID={WRITER[0]}\nAWS_SECRET_ACCESS_KEY={WRITER[1]}\n")
    keys.chmod(0o600)
    vault = f"s3://{BUCKET}/{SystemEntropy().hex(12)}"
    cli = Cli(tmp_path / "home", HOLDFAST_VAULT_ENDPOINT=objects.endpoint, HOLDFAST_VAULT_CREDENTIALS=str(keys))
    cli.remember(OLD)
    cli.create("--to", vault)

    answers = str([cli.good("vault", word, vault) for word in ("status", "list", "verify")])
    stored = b"".join(cli.files().values())
    assert not [key for key in WRITER if key in answers or key.encode() in stored]


def test_a_vault_that_refuses_says_so_by_its_own_exit_code(objects: ObjectServer, tmp_path: Path) -> None:
    environment = {"AWS_ACCESS_KEY_ID": "AKnobody", "AWS_SECRET_ACCESS_KEY": "hunter2"}
    cli = Cli(tmp_path / "home", AWS_ENDPOINT_URL=objects.endpoint, **environment)
    said = cli("vault", "status", f"s3://{BUCKET}")

    assert (said.code, said.fault["code"]) == (33, "vault_unauthorized")
    assert "hunter2" not in said.out + said.err


def test_verification_does_not_trust_the_vault(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home"), tmp_path / "vault"
    cli.remember(OLD)
    first, second = cli.create("--to", str(vault)), cli.create("--to", str(vault))
    bundle = next(vault.rglob(f"{first}.tar.zst"))
    flip_bit(bundle)

    said = cli("vault", "verify", str(vault))
    found = {one["snapshot"]: one["sound"] for one in said.answer["snapshots"]}
    assert (said.code, found) == (40, {second: True, first: False})
    for path in vault.rglob(f"{second}*"):
        path.unlink()
    assert cli("vault", "verify", str(vault)).answer["exitCode"] in (40, 42)


def test_what_is_damaged_in_a_vault_is_told_to_people_and_goes_as_the_hint_says(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home"), tmp_path / "vault"
    cli.remember(OLD)
    good, bad = cli.create("--to", str(vault)), cli.create("--to", str(vault))
    bundle = next(vault.rglob(f"{bad}.tar.zst"))
    flip_bit(bundle)

    said = cli.plain("vault", "verify", str(vault))
    assert said.code == 40
    for part in (good, bad, "damaged", f"{bad}: findings", "vault sync"):
        assert part in said.out
    for path in vault.rglob(f"{bad}*"):
        path.unlink()
    assert [one["id"] for one in cli.good("vault", "sync", str(vault))["sent"]] == [bad]
    assert cli.good("vault", "verify", str(vault))["sound"]


@pytest.mark.parametrize(
    "words",
    [
        ("vault", "list", "GONE"),
        ("vault", "verify", "GONE"),
        ("vault", "prune", "GONE", "--keep", "1", "--yes"),
        ("vault", "copy", "GONE", "OTHER"),
        ("snapshot", "restore", "latest", "--from", "GONE", "--yes"),
    ],
)
def test_a_folder_that_is_not_there_is_no_empty_vault(tmp_path: Path, words: tuple[str, ...]) -> None:
    cli = Cli(tmp_path / "home")
    cli.remember(OLD)
    places = {"GONE": str(tmp_path / "gone"), "OTHER": str(tmp_path / "other")}

    said = cli(*(places.get(word, word) for word in words))
    assert "does not exist" in said.fault["error"]
    assert said.code == 34
    assert not (tmp_path / "gone").exists()


def test_an_old_snapshot_in_the_place_of_the_newest_is_noticed(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home"), tmp_path / "vault"
    cli.remember(OLD)
    cli.create("--to", str(vault))
    second = cli.create("--to", str(vault))
    assert cli("vault", "verify", str(vault)).code == 0
    cli.good("snapshot", "restore", "latest", "--from", str(vault), "--yes")
    for path in vault.rglob(f"{second}*"):
        path.unlink()

    assert cli("vault", "verify", str(vault)).code == 42


# Interruption, damage and others


class Failing(VaultWrapper):
    """A vault whose network ends after so many puts."""

    def __init__(self, vault: Vault, puts: int):
        super().__init__(vault)
        self.left = puts
        self.put_names: list[str] = []

    def put(self, name: str, data: BinaryIO) -> None:
        if not self.left:
            raise VaultUnreachable("vault: away")
        self.left -= 1
        super().put(name, data)
        self.put_names.append(name)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        put_each(self, parcels)


@pytest.fixture
def context(tmp_path: Path) -> SnapshotContext:
    known = settings(tmp_path / "home", agent=AGENT)
    return SnapshotContext(tmp_path / "home", known, StillClock(), CountingEntropy(), TENANT)


@pytest.fixture
def vault(tmp_path: Path) -> LocalVault:
    return LocalVault(tmp_path / "vault")


def ids(vault: Vault) -> list[str]:
    return [one.id for one in list_vault(vault, TENANT, AGENT) if not one.damaged]


@pytest.mark.parametrize("puts", range(12))
def test_an_interrupted_sync_goes_on_where_it_was(context: SnapshotContext, vault: LocalVault, puts: int) -> None:
    for sequence in (1, 2, 3):
        put_sample(context.repo, sequence)
    with pytest.raises(VaultUnreachable):
        sync(context, Failing(vault, puts), 10)
    assert ids(vault) == [sample_id(3 - done) for done in range(puts // 4)]

    again = Failing(vault, 100)
    done = sync(context, again, 10)
    assert len(again.put_names) == 12 - puts
    assert len(done.sent) == 3 - puts // 4
    assert ids(vault) == [sample_id(3), sample_id(2), sample_id(1)]


def test_a_sync_in_steps_says_what_remains(context: SnapshotContext, vault: LocalVault) -> None:
    for sequence in (1, 2, 3):
        put_sample(context.repo, sequence)

    done = [sync(context, vault, 1) for _ in range(4)]
    assert [[sent.id for sent in one.sent] for one in done] == [[sample_id(3)], [sample_id(2)], [sample_id(1)], []]
    assert [len(one.remaining) for one in done] == [2, 1, 0, 0]


def test_what_is_damaged_on_the_repository_is_told_and_not_sent(context: SnapshotContext, vault: LocalVault) -> None:
    put_sample(context.repo, 1)
    broken = put_sample(context.repo, 2)
    broken.path.unlink()
    done = sync(context, vault, 10)

    assert [id for id, _ in done.damaged] == [sample_id(2)]
    assert ids(vault) == [sample_id(1)]


def test_what_is_damaged_in_one_vault_does_not_reach_another(
    context: SnapshotContext, vault: LocalVault, tmp_path: Path
) -> None:
    for sequence in (1, 2, 3):
        put_sample(context.repo, sequence)
    sync(context, vault, 10)
    bundle = tmp_path / "vault" / PREFIX / f"{sample_id(2)}.tar.zst"
    bundle.write_bytes(b"X" + sample_bundle(2)[1:])
    (tmp_path / "vault" / PREFIX / f"{sample_id(3)}.tar.zst.sha256").unlink()
    other = LocalVault(tmp_path / "other")
    done = copy(context, vault, other, 10)

    assert [one.id for one in done.sent] == [sample_id(1)]
    assert [id for id, _ in done.damaged] == [sample_id(3), sample_id(2)]
    assert {one.name.split(".")[0] for one in other.list()} == {f"{PREFIX}{sample_id(1)}"}


def test_other_bytes_under_a_name_stop_a_sync(context: SnapshotContext, vault: LocalVault) -> None:
    put_sample(context.repo, 1)
    vault.put(f"{PREFIX}{sample_id(1)}.tar.zst", BytesIO(b"somebody's"))

    with pytest.raises(Conflict):
        sync(context, vault, 10)


def test_pruning_removes_the_manifest_first_and_never_the_newest_whole_one(
    context: SnapshotContext, vault: LocalVault
) -> None:
    for sequence in range(1, 6):
        put_sample(context.repo, sequence)
    sync(context, vault, 10)
    deleted: list[str] = []

    class Noting(VaultWrapper):
        def delete(self, name: str) -> None:
            deleted.append(name)
            super().delete(name)

    looked = prune_vault(context, Noting(vault), RetentionPolicy(last=2), dry_run=True)
    assert (looked.plan.remove, deleted) == ((sample_id(3), sample_id(2), sample_id(1)), [])
    done = prune_vault(context, Noting(vault), RetentionPolicy(last=2))
    assert done.removed == looked.plan.remove
    assert ids(vault) == [sample_id(5), sample_id(4)]
    del deleted[0]  # of the look whether it may delete
    assert [name for name in deleted[::4]] == [f"{PREFIX}{id}.manifest.json" for id in done.removed]
    assert len(deleted) == 12


def test_damaged_ones_do_not_count_as_kept(context: SnapshotContext, vault: LocalVault) -> None:
    for sequence in (1, 2):
        put_sample(context.repo, sequence)
    sync(context, vault, 10)
    vault.delete(f"{PREFIX}{sample_id(2)}.tar.zst")
    done = prune_vault(context, vault, RetentionPolicy(last=1))

    assert done.removed == ()
    assert ids(vault) == [sample_id(1)]


def test_what_was_sent_halfway_is_counted_and_goes_only_if_that_is_asked_for(
    context: SnapshotContext, vault: LocalVault
) -> None:
    put_sample(context.repo, 1)
    sync(context, vault, 10)
    manifest = sample_manifest(9, b"x")
    vault.put(f"{PREFIX}{manifest.bundle_name}", BytesIO(b"x"))

    assert standing(context, vault).leftovers == 1
    assert prune_vault(context, vault, RetentionPolicy(last=1)).leftovers == 0
    assert prune_vault(context, vault, RetentionPolicy(last=1), tidy=True, dry_run=True).leftovers == 1
    assert standing(context, vault).leftovers == 1
    prune_vault(context, vault, RetentionPolicy(), tidy=True)
    assert standing(context, vault).leftovers == 0
    assert ids(vault) == [sample_id(1)]
    vault.put(f"{PREFIX}{sample_id(9)}.manifest.json", BytesIO(manifest_bytes(manifest)))
    assert [one.id for one in list_vault(vault, TENANT, AGENT) if one.damaged] == [sample_id(9)]
