"""Snapshots that lie in a vault as chunks: sent, resumed, listed, verified, restored, copied and pruned."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chunk_samples import PREFIX, Stepping, add_snapshot, context_at, database, ids, names, store_in
from flows import NEW, OLD, READER, STRANGER, Cli, identity_file, recipient, tree, vault_place
from harm import flip_bit
from hub_server import DATASET, TOKEN, HubServer
from object_server import BUCKET, ObjectServer

from holdfast.core.errors import SnapshotDamaged, VaultRefused, VaultUnreachable
from holdfast.core.ports import Vault
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.chunks.packfile import id_of
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.remote.layout import put
from holdfast.snapshot.remote.transfer import list_vault
from holdfast.snapshot.sync.vault_maintenance import copy, standing, sync
from holdfast.vault.local import LocalVault
from holdfast.vault.objects import object_vault
from holdfast.vault.restriction import ReadOnly

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

CHUNKS = {"HOLDFAST_VAULT_LAYOUT": "chunks"}


# Every operation, through the command line


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A vault's name, and the environment that reaches it."""
    vault, reached = vault_place(request, tmp_path)
    return vault, {**CHUNKS, **reached}


def test_a_list_shows_what_lacks_a_pack_as_damaged(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    cli.create("--to", str(vault))
    (one,) = cli.good("vault", "list", str(vault))["snapshots"]
    assert (one["layout"], one["status"]) == ("chunks", "complete")
    next(vault.rglob("packs/*")).unlink()

    assert "packs are missing" in cli.good("vault", "list", str(vault))["snapshots"][0]["status"]


def test_a_memory_goes_to_a_vault_in_chunks_and_comes_back(place: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    vault, environment = place
    cli = Cli(tmp_path / "home", **environment)
    cli.remember(OLD)
    first = cli.create("--to", vault)
    cli.remember(NEW)
    second = cli.create()
    status = cli.good("vault", "status", vault)
    assert (status["snapshots"], status["newest"], status["missing"]) == (1, first, [second])
    assert cli.good("vault", "sync", vault)["sent"][0]["id"] == second
    assert cli.good("vault", "sync", vault)["sent"] == []
    listed = cli.good("vault", "list", vault)["snapshots"]
    assert [(one["id"], one["layout"], one["status"]) for one in listed] == [
        (second, "chunks", "complete"),
        (first, "chunks", "complete"),
    ]
    assert cli.good("vault", "verify", vault)["sound"]

    started = Cli(tmp_path / "new", HOLDFAST_VAULT=vault, **environment)
    assert started.texts() == {OLD, NEW}, "an empty folder begins with the newest"
    started.good("snapshot", "restore", first, "--from", vault, "--yes")
    assert started.texts() == {OLD}

    pruned = cli.good("vault", "prune", vault, "--keep", "2", "--yes")
    assert (pruned["remove"], pruned["packs"]["kept"], pruned["packs"]["waiting"]) == ([first], None, 0)
    assert cli.good("vault", "status", vault)["damaged"] == []
    started.good("snapshot", "restore", second, "--from", vault, "--yes")
    assert started.texts() == {OLD, NEW}


def test_both_layouts_live_in_one_vault(tmp_path: Path) -> None:
    vault = str(tmp_path / "vault")
    whole, chunks = Cli(tmp_path / "home", HOLDFAST_VAULT_LAYOUT="whole"), Cli(tmp_path / "home", **CHUNKS)
    whole.remember(OLD)
    made = [whole.create("--to", vault), chunks.create("--to", vault), whole.create("--to", vault)]
    listed = {one["id"]: one["layout"] for one in whole.good("vault", "list", vault)["snapshots"]}
    assert [listed[id] for id in made] == ["whole", "chunks", "whole"]
    assert chunks.good("vault", "sync", vault)["sent"] == []
    assert whole.good("vault", "verify", vault)["sound"]
    for id in made:
        whole.good("snapshot", "restore", id, "--from", vault, "--yes")
    chunks.good("vault", "prune", vault, "--keep", "1", "--yes")
    assert [one.name for one in (tmp_path / "vault" / PREFIX / "packs").iterdir()] == []


def test_small_snapshots_go_whole_unless_chunks_are_asked_for(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    cli.remember(OLD)
    cli.create("--to", str(tmp_path / "vault"))

    assert cli.good("vault", "list", str(tmp_path / "vault"))["snapshots"][0]["layout"] == "whole"


def test_a_large_snapshot_goes_in_chunks_by_itself_and_the_next_costs_little(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home", vault_layout="auto"), LocalVault(tmp_path / "vault")
    first = database(pages=1200)
    put(context, vault, add_snapshot(context, 1, first))
    before = _size(vault)
    second = database(pages=1200, changed=range(0, 1200, 100))
    put(context, vault, id := add_snapshot(context, 2, second, {"note.md": b"new\n"}))

    assert [one.chunked for one in list_vault(vault, "default", "default")] == [True, True]
    assert _size(vault) - before < before / 100
    assert store_in(vault, id, tmp_path) == second


def _size(vault: Vault) -> int:
    return sum(one.size for one in vault.list())


# Encrypted


def test_a_host_that_cannot_read_its_snapshots_still_sends_only_what_is_new(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    cli = Cli(tmp_path / "home", HOLDFAST_SNAPSHOT_RECIPIENTS=recipient(), **CHUNKS)
    cli.remember(OLD, "a secret of nobody's business")
    cli.create("--to", str(vault))
    (first,) = (vault / PREFIX / "packs").iterdir()
    cli.remember(NEW)
    second = cli.create("--to", str(vault))
    assert second in {path.name.split(".")[0] for path in vault.rglob("*.chunks.age")}
    new = next(path for path in (vault / PREFIX / "packs").iterdir() if path != first)
    assert new.stat().st_size < first.stat().st_size, "most chunks are those of the first"
    assert not [name for name, data in tree(vault).items() if b"nobody's business" in data]

    other = Cli(tmp_path / "other")
    other.remember("something else")
    said = other("snapshot", "restore", second, "--from", str(vault), "--yes")
    assert said.code == 45
    assert other("vault", "verify", str(vault), "--identity", identity_file(tmp_path, STRANGER)).code == 45
    looked = other.good("vault", "verify", str(vault))
    assert looked["sound"], "bytes, signature and packs can be checked by anybody"
    assert other.good("vault", "verify", str(vault), "--identity", identity_file(tmp_path))["sound"]
    other.good("snapshot", "restore", second, "--from", str(vault), "--yes", "--identity", identity_file(tmp_path))
    assert NEW in other.texts()


def test_other_recipients_get_packs_of_their_own(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    for sequence, who in ((1, READER), (2, STRANGER)):
        add_snapshot(context, sequence, database(), recipients=[str(who.to_public())])
        mine = context_at(
            tmp_path / "home",
            snapshot_recipients=str(who.to_public()),
            snapshot_identity=identity_file(tmp_path, who),
        )
        assert sync(mine, vault, 1).sent
    found = {one.id: one.chunked for one in list_vault(vault, "default", "default")}
    assert list(found.values()) == [True, True]
    assert store_in(vault, min(found), tmp_path, [str(READER)]) == database()
    assert store_in(vault, max(found), tmp_path, [str(STRANGER)]) == database()
    assert len(names(vault, "packs/")) == 2, "nothing is shared between those who must not read each other's"


def test_an_encrypted_snapshot_that_nobody_here_can_open_goes_whole(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    id = add_snapshot(context, 1, database(), recipients=[recipient()])
    sync(context, vault, 1)

    assert [one.chunked for one in list_vault(vault, "default", "default")] == [False]
    assert store_in(vault, id, tmp_path, [str(READER)]) == database()


def test_the_vault_learns_no_hash_of_what_is_encrypted(tmp_path: Path) -> None:
    context = context_at(tmp_path / "home", snapshot_recipients=recipient(), snapshot_identity=identity_file(tmp_path))
    vault = LocalVault(tmp_path / "vault")
    data = database()
    put(context, vault, add_snapshot(context, 1, data, recipients=[recipient()]))
    stored = b"".join(tree(tmp_path / "vault").values()) + b"".join(tree(tmp_path / "home" / "cache").values())

    assert list_vault(vault, "default", "default")[0].chunked
    for at in range(0, len(data), 1024):
        assert id_of(data[at : at + 1024]) not in stored
    assert (tmp_path / "home" / "keys" / "chunks.json").stat().st_mode & 0o077 == 0


# Signatures


def test_what_was_signed_is_signed_in_chunks_too(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    did = cli.good("key", "new")["did"]
    cli.remember(OLD)
    id = cli.create("--to", str(vault))
    manifest = read_manifest((vault / PREFIX / f"{id}.manifest.json").read_bytes())
    assert (manifest.signer, manifest.chunked) == (did, True)
    assert cli.good("vault", "verify", str(vault))["sound"]

    stranger = Cli(tmp_path / "other")
    stranger.good("key", "new")
    assert stranger("snapshot", "restore", id, "--from", str(vault), "--yes").code == 41


def test_what_another_key_signed_goes_whole_as_it_was_sealed(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), str(tmp_path / "vault")
    cli.good("key", "new")
    cli.remember(OLD)
    id = cli.create()
    cli.good("key", "new", "--replace")
    cli.good("vault", "sync", vault)

    assert cli.good("vault", "list", vault)["snapshots"][0] | {"size": 0} == {
        "id": id,
        "size": 0,
        "layout": "whole",
        "status": "complete",
    }
    assert cli.good("vault", "verify", vault)["sound"]


def test_directories_of_a_vault_are_believed_only_as_far_as_a_signature_reaches(tmp_path: Path) -> None:
    """A vault that claims to have chunks would keep a new host from sending them."""
    vault = LocalVault(tmp_path / "vault")
    liar = context_at(tmp_path / "liar")
    put(liar, vault, add_snapshot(liar, 1, database()))
    assert len(names(vault, "packs/")) == 1

    unsigned, keyed = context_at(tmp_path / "one"), context_at(tmp_path / "two")
    put(unsigned, vault, add_snapshot(unsigned, 2, database()))
    assert len(names(vault, "packs/")) == 1, "where nothing is signed, what is there is used"
    Keyring(tmp_path / "two" / "keys").new()
    put(keyed, vault, add_snapshot(keyed, 3, database()))
    assert len(names(vault, "packs/")) == 2


# Interruption


def _failing(vault: Vault, at: int) -> Stepping:
    def away() -> None:
        raise VaultUnreachable("vault: away")

    return Stepping(vault, at, away)


def test_an_interrupted_send_is_no_snapshot_and_goes_on_at_the_next_sync(tmp_path: Path) -> None:
    counting, scene = _scene(tmp_path / "count")
    put(scene, counting, max(one.id for one in scene.repo.each()))
    for at in range(counting.calls):
        folder = tmp_path / str(at)
        failing, context = _scene(folder, at)
        newest = max(one.id for one in context.repo.each())
        try:
            put(context, failing, newest)
        except VaultUnreachable:
            vault = LocalVault(folder / "vault")
            if newest in ids(vault):
                assert store_in(vault, newest, folder) == database(changed=(2, 9))
            else:
                assert len(ids(vault)) == 1
        before = set(names(LocalVault(folder / "vault"), "packs/"))
        sync(context, vault := LocalVault(folder / "vault"), 5)
        assert store_in(vault, newest, folder) == database(changed=(2, 9))
        assert len(set(names(vault, "packs/")) - before) <= 1
        assert set(names(vault, "packs/")) >= before
        put(context, vault, add_snapshot(context, 3, database()))
        assert names(vault, "leases/") == [], "the lease of the broken run is taken away"


def _scene(folder: Path, at: int = -1) -> tuple[Stepping, Any]:
    context, vault = context_at(folder / "home"), LocalVault(folder / "vault")
    put(context, vault, add_snapshot(context, 1, database()))
    add_snapshot(context, 2, database(changed=(2, 9)))
    return _failing(vault, at), context


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1].split(":")
from pathlib import Path
from chunk_samples import Stepping, context_at
from holdfast.snapshot.chunks import writer
from holdfast.snapshot.remote.layout import put
from holdfast.vault.local import LocalVault
writer.PACK = 100_000
folder = Path(sys.argv[2])
context = context_at(folder / "home")
vault = LocalVault(folder / "vault")
packs = []
class Killing(LocalVault):
    def put(self, name, data):
        super().put(name, data)
        packs.append("/packs/" in name)
        if sum(packs) == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
put(context, Killing(folder / "vault"), next(iter(context.repo.each())).id)
"""


def killed_after_packs(count: int, place: Path) -> None:
    """A process that sends what lies in the repository there, and is killed once the vault took so many packs."""
    paths = ":".join(path for path in sys.path if path)
    ended = subprocess.run([sys.executable, "-c", KILLED, paths, str(place), str(count)], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_a_process_killed_while_it_sends_leaves_no_snapshot_and_the_next_uses_what_arrived(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    id = add_snapshot(context, 1, database(pages=100))
    killed_after_packs(2, tmp_path)

    assert ids(vault) == []
    arrived, leases = names(vault, "packs/"), names(vault, "leases/")
    assert (len(arrived), len(leases)) == (2, 1)
    sync(context, vault, 1)
    assert store_in(vault, id, tmp_path) == database(pages=100)
    assert names(vault, "leases/") == []
    used = json.loads((tmp_path / "vault" / PREFIX / f"{id}.chunks").read_bytes().split(b"\n")[0])["packs"]
    assert len({one["name"] for one in used} & {name.rsplit("/", 1)[1] for name in arrived}) >= 1


def test_a_process_killed_right_after_it_took_its_lease_holds_up_nobody(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    id = add_snapshot(context, 1, database(pages=100))
    killed_after_packs(0, tmp_path)

    assert len(names(vault, "leases/")) == 1
    sync(context, vault, 1)
    assert ids(vault) == [id]
    assert names(vault, "leases/") == []


# What this machine knows of a vault


def test_a_lost_cache_is_made_again_from_the_directories(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, add_snapshot(context, 1, database()))
    shutil.rmtree(tmp_path / "home" / "cache")
    before = _size(vault)
    put(context, vault, id := add_snapshot(context, 2, database(changed=(5,))))

    assert _size(vault) - before < before / 10
    assert store_in(vault, id, tmp_path) == database(changed=(5,))


def test_a_damaged_cache_costs_bytes_and_nothing_else(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, add_snapshot(context, 1, database()))
    for sequence, path in enumerate(sorted(p for p in (tmp_path / "home" / "cache").rglob("*") if p.is_file()), 2):
        if path.name == ".lock":
            continue
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] + b"\0" + data[len(data) // 2 + 1 :])
        put(context, vault, id := add_snapshot(context, sequence, database(changed=(sequence,))))
        assert store_in(vault, id, tmp_path) == database(changed=(sequence,))


def test_what_the_vault_lost_is_not_believed_to_be_there(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, first := add_snapshot(context, 1, database()))
    for name in names(vault, "packs/"):
        vault.delete(name)
    put(context, vault, id := add_snapshot(context, 2, database(changed=(1,))))
    assert store_in(vault, id, tmp_path) == database(changed=(1,))

    seen = standing(context, vault)
    assert [(one.id, bool(one.damaged)) for one in seen.snapshots] == [(id, False), (first, True)]
    assert seen.missing == (first,)
    sync(context, vault, 5)
    assert store_in(vault, first, tmp_path) == database()
    assert standing(context, vault).missing == ()


def test_a_pack_that_verification_found_damaged_is_referred_to_no_more_and_can_be_mended(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    first = cli.create("--to", str(vault))
    (pack,) = (vault / PREFIX / "packs").iterdir()
    flip_bit(pack)
    assert cli("vault", "verify", str(vault)).code == 40
    second = cli.create("--to", str(vault))
    sound = {one["snapshot"]: one["sound"] for one in cli("vault", "verify", str(vault)).answer["snapshots"]}
    assert sound == {second: True, first: False}

    pack.unlink()
    assert cli.good("vault", "status", str(vault))["missing"] == [first]
    cli.good("vault", "sync", str(vault))
    assert cli.good("vault", "verify", str(vault))["sound"]


# Damage


FILES = ("manifest.json", "manifest.json.sha256", "chunks", "chunks.sha256", "pack")


@pytest.mark.parametrize("kind", FILES)
def test_a_flipped_bit_in_any_file_is_found_and_nothing_is_restored(kind: str, tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    id = cli.create("--to", str(vault))
    path = next((vault / PREFIX / "packs").iterdir()) if kind == "pack" else vault / PREFIX / f"{id}.{kind}"
    good = path.read_bytes()
    other = Cli(tmp_path / "other")
    other.remember(NEW)
    for at in range(0, len(good), max(1, len(good) // 5)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        assert cli("vault", "verify", str(vault)).code in (40, 43, 44)
        assert other("snapshot", "restore", id, "--from", str(vault), "--yes").code in (40, 43, 44)
    assert other.texts() == {NEW}
    path.write_bytes(good)
    assert cli("vault", "verify", str(vault)).code == 0


@pytest.mark.parametrize("trick", ["gone", "empty", "longer", "swapped", "other chunk index"])
def test_other_tricks_of_a_vault_are_found(trick: str, tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, add_snapshot(context, 1, database()))
    put(context, vault, id := add_snapshot(context, 2, database(changed=range(30))))
    folder = tmp_path / "vault" / PREFIX
    one, other = sorted((folder / "packs").iterdir())
    old = min(ids(vault))
    if trick == "gone":
        one.unlink()
    elif trick == "empty":
        one.write_bytes(b"")
    elif trick == "longer":
        one.write_bytes(one.read_bytes() + b"x")
    elif trick == "swapped":
        data = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(data)
    else:
        for suffix in (".chunks", ".chunks.sha256"):
            shutil.copy(folder / f"{old}{suffix}", folder / f"{id}{suffix}")

    with pytest.raises(SnapshotDamaged):
        store_in(vault, id, tmp_path)


# Copying, and vaults that take no chunks


def test_chunks_are_copied_between_vaults_once(objects: ObjectServer, tmp_path: Path) -> None:
    context, one = context_at(tmp_path / "home"), LocalVault(tmp_path / "one")
    made = []
    for sequence in (1, 2, 3):
        made.append(add_snapshot(context, sequence, database(changed=range(sequence))))
        put(context, one, made[-1])
    two = object_vault("s3", BUCKET, SystemEntropy().hex(12), objects.settings(), SystemEntropy())
    three = LocalVault(tmp_path / "three")
    for source, target in ((one, two), (two, three)):
        assert [one.id for one in copy(context, ReadOnly(source), target, 10).sent] == made[::-1]
        assert copy(context, ReadOnly(source), target, 10).sent == ()
        assert [name.rsplit("/")[-1] for name in names(target, "packs/")] == [
            name.rsplit("/")[-1] for name in names(one, "packs/")
        ]
    for sequence, id in enumerate(made, 1):
        assert store_in(three, id, tmp_path) == database(changed=range(sequence))


def test_a_damaged_pack_does_not_reach_another_vault(tmp_path: Path) -> None:
    context, one, two = context_at(tmp_path / "home"), LocalVault(tmp_path / "one"), LocalVault(tmp_path / "two")
    put(context, one, add_snapshot(context, 1, database()))
    (pack,) = (tmp_path / "one" / PREFIX / "packs").iterdir()
    flip_bit(pack)
    done = copy(context, one, two, 5)

    assert (len(done.damaged), names(two, "")) == (1, [])


def test_a_vault_that_takes_no_chunks_gets_whole_snapshots(hub: HubServer, tmp_path: Path) -> None:
    vault = f"hf://datasets/{DATASET}"
    cli = Cli(tmp_path / "home", HF_TOKEN=TOKEN, HF_ENDPOINT=hub.url, **CHUNKS)
    cli.remember(OLD)
    cli.create("--to", vault)
    assert cli.good("vault", "list", vault)["snapshots"][0]["layout"] == "whole"

    context, one = context_at(tmp_path / "other"), LocalVault(tmp_path / "one")
    put(context, one, add_snapshot(context, 1, database()))
    with pytest.raises(VaultRefused, match="whole snapshots only"):
        copy(context, one, ReadOnly(LocalVault(tmp_path / "two")), 5)


def test_a_snapshot_of_chunks_is_not_put_on_the_repository(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    id = cli.create("--to", str(vault))

    path = str(vault / PREFIX / f"{id}.manifest.json")
    assert cli.good("snapshot", "verify", path)["sound"], "a folder that is a vault can be read as it lies"
    other = Cli(tmp_path / "other")
    other.remember(NEW)
    assert other("snapshot", "import", path).code != 0
    other.good("snapshot", "restore", path, "--yes")
    assert other.texts() == {OLD}
