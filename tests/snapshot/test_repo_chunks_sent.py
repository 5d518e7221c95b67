"""Snapshots in chunks from the repository to vaults: packs are copied, and only those that a vault lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from chunk_samples import PREFIX, Stepping, add_snapshot, chunk_into_repo, context_at, database, ids, names, store_in
from flows import NEW, OLD, Cli, identity_file, recipient, vault_place
from harm import flip_bit
from hub_server import DATASET, TOKEN, HubServer
from world import World

from holdfast.core.errors import VaultRefused, VaultUnreachable
from holdfast.core.ports import Vault
from holdfast.core.system import SystemEntropy
from holdfast.snapshot.create import CreateOptions, create
from holdfast.snapshot.remote.layout import put
from holdfast.snapshot.remote.local_chunks import lies_in_chunks
from holdfast.snapshot.remote.transfer import list_vault
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.retention import RetentionPolicy
from holdfast.snapshot.sync.vault_maintenance import prune_vault, sync
from holdfast.vault.local import LocalVault

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

CHUNKS = {"HOLDFAST_SNAPSHOT_LAYOUT": "chunks"}
LARGE = 100 << 20


def in_repo(context: SnapshotContext) -> set[str]:
    return {path.name for path in (context.repo.root / "packs").iterdir()}


def in_vault(vault: Vault) -> set[str]:
    return {name.rsplit("/")[-1] for name in names(vault, "packs/")}


# Which layout


def test_by_itself_a_snapshot_is_cut_only_where_a_vault_gets_it_so_and_it_is_large(tmp_path: Path) -> None:
    context, folder, hub = context_at(tmp_path, vault_layout="auto"), f"{tmp_path}/vault", "hf://datasets/a/b"
    assert lies_in_chunks(context, [None, folder], LARGE)
    assert not lies_in_chunks(context, [None, folder], 1 << 20)
    assert not lies_in_chunks(context, [None, ""], LARGE)
    assert not lies_in_chunks(context, [None, hub], LARGE)
    assert not lies_in_chunks(context, [folder, hub], LARGE), "the one of the settings gets it too, later"
    assert not lies_in_chunks(context, ["colony:", None], LARGE)
    assert lies_in_chunks(context, ["colony:", folder], LARGE)
    assert not lies_in_chunks(context, ["nonsense://x", None], LARGE)
    for layout in ("whole", "chunks"):
        said = context_at(tmp_path, snapshot_layout=layout)
        assert [lies_in_chunks(said, [place], 1) for place in (None, folder, hub)] == [layout == "chunks"] * 3
    whole = context_at(tmp_path, vault_layout="whole")
    assert not lies_in_chunks(whole, [folder, None], LARGE)


def test_a_large_memory_that_goes_to_a_vault_is_never_written_whole(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    world = World(tmp_path / "memory", vault=str(tmp_path / "vault"))
    text = SystemEntropy()
    for _ in range(30):
        world.call("remember", content=text.hex(500_000))
    context = snapshot_context(world.context())
    made = create(context, CreateOptions())
    world.close()
    assert made.manifest is not None
    assert made.manifest.chunked
    vault = LocalVault(tmp_path / "vault")
    assert in_vault(vault) == in_repo(context)
    assert ids(vault) == [made.id]


# Copied


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A vault's name, and the environment that reaches it."""
    vault, reached = vault_place(request, tmp_path)
    return vault, {**CHUNKS, **reached}


def test_a_memory_goes_to_a_vault_as_it_lies_and_comes_back(place: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    vault, environment = place
    cli = Cli(tmp_path / "home", **environment)
    cli.remember(OLD)
    first = cli.create("--to", vault)
    cli.remember(NEW)
    second = cli.create()
    assert cli.good("vault", "status", vault)["missing"] == [second]
    assert cli.good("vault", "sync", vault)["sent"][0]["id"] == second
    assert cli.good("vault", "sync", vault)["sent"] == []
    assert [one["layout"] for one in cli.good("vault", "list", vault)["snapshots"]] == ["chunks", "chunks"]
    assert cli.good("vault", "verify", vault)["sound"]
    other = Cli(tmp_path / "new", HOLDFAST_VAULT=vault, **environment)
    assert other.texts() == {OLD, NEW}
    cli.good("vault", "prune", vault, "--keep", "1", "--yes")
    cli.good("snapshot", "delete", first)
    other.good("snapshot", "restore", second, "--from", vault, "--yes")
    assert other.texts() == {OLD, NEW}


def test_only_packs_that_the_vault_lacks_are_sent(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, chunk_into_repo(context, 1, database()))
    before = in_vault(vault)
    put(context, vault, id := chunk_into_repo(context, 2, database(changed=(7,))))
    assert in_vault(vault) == in_repo(context) > before
    size = sum(one.size for one in vault.list())
    put(context, vault, id)
    assert sum(one.size for one in vault.list()) == size
    assert names(vault, "leases/") == []
    assert store_in(vault, id, tmp_path) == database(changed=(7,))


def test_a_vault_with_chunks_of_whole_snapshots_goes_on_beside_copied_ones(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, old := add_snapshot(context, 1, database()))
    put(context, vault, new := chunk_into_repo(context, 2, database(changed=(1,))))
    put(context, vault, late := add_snapshot(context, 3, database(changed=(2,))))
    for id, data in ((old, database()), (new, database(changed=(1,))), (late, database(changed=(2,)))):
        assert store_in(vault, id, tmp_path) == data
    prune_vault(context, vault, RetentionPolicy(last=1))
    assert ids(vault) == [late]
    assert store_in(vault, late, tmp_path) == database(changed=(2,))


def test_an_encrypted_one_goes_to_the_vault_though_nobody_here_can_open_it(tmp_path: Path) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    id = chunk_into_repo(context, 1, database(), recipients=[recipient()])
    sync(context, vault, 5)
    assert [one.chunked for one in list_vault(vault, "default", "default")] == [True]
    identity = Path(identity_file(tmp_path)).read_text().strip()
    assert store_in(vault, id, tmp_path, [identity]) == database()


def test_what_another_key_signed_goes_as_it_was_sealed(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), str(tmp_path / "vault")
    cli.good("key", "new")
    cli.remember(OLD)
    id = cli.create()
    cli.good("key", "new", "--replace")
    cli.good("vault", "sync", vault)
    sent = (tmp_path / "vault" / PREFIX / f"{id}.manifest.json").read_bytes()
    assert sent == (cli.repo / f"{id}.manifest.json").read_bytes()


# Interrupted, damaged


def test_an_interrupted_copy_is_no_snapshot_and_goes_on(tmp_path: Path) -> None:
    counting = _scene(tmp_path / "count")
    put(counting[0], counting[1], counting[2])

    def away() -> None:
        raise VaultUnreachable("vault: away")

    for at in range(counting[1].calls):
        folder = tmp_path / str(at)
        context, failing, id = _scene(folder, at, away)
        vault = LocalVault(folder / "vault")
        try:
            put(context, failing, id)
        except VaultUnreachable:
            assert ids(vault) in ([], [id])
        if ids(vault):
            assert store_in(vault, id, folder) == database()
        sync(context, vault, 5)
        assert store_in(vault, id, folder) == database()
        assert in_vault(vault) == in_repo(context)
        put(context, vault, chunk_into_repo(context, 2, database(changed=(1,))))
        assert names(vault, "leases/") == [], "the lease of the broken run is taken away"


def _scene(folder: Path, at: int = -1, work: object = lambda: None) -> tuple[SnapshotContext, Stepping, str]:
    context, vault = context_at(folder / "home"), LocalVault(folder / "vault")
    return context, Stepping(vault, at, work), chunk_into_repo(context, 1, database())  # type: ignore[arg-type]


@pytest.mark.parametrize("harm", ["gone", "cut off"])
def test_what_the_vault_lost_is_sent_again(tmp_path: Path, harm: str) -> None:
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    put(context, vault, id := chunk_into_repo(context, 1, database()))
    (pack,) = (tmp_path / "vault" / PREFIX / "packs").iterdir()
    if harm == "gone":
        pack.unlink()
    else:
        pack.write_bytes(pack.read_bytes()[:-5])
    assert [sent.id for sent in sync(context, vault, 5).sent] == [id]
    assert store_in(vault, id, tmp_path) == database()


def test_a_pack_that_was_found_damaged_in_the_vault_is_mended_by_the_next_snapshot(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    cli.create("--to", str(vault))
    (pack,) = (vault / PREFIX / "packs").iterdir()
    flip_bit(pack)
    assert cli("vault", "verify", str(vault)).code == 40
    cli.remember(NEW)
    cli.create("--to", str(vault))
    assert cli.good("vault", "verify", str(vault))["sound"], "the repository has the right bytes"


def test_a_damaged_pack_of_the_repository_does_not_reach_the_vault(tmp_path: Path) -> None:
    cli, vault = Cli(tmp_path / "home", **CHUNKS), tmp_path / "vault"
    cli.remember(OLD)
    id = cli.create()
    (pack,) = (cli.repo / "packs").iterdir()
    flip_bit(pack)
    assert cli("vault", "sync", str(vault)).code == 40
    assert not list(vault.rglob("*.manifest.json"))
    assert cli("snapshot", "verify", id).code == 40


# Vaults that get whole snapshots


def test_a_vault_that_takes_no_chunks_gets_one_body(hub: HubServer, tmp_path: Path) -> None:
    vault = f"hf://datasets/{DATASET}"
    cli = Cli(tmp_path / "home", HF_TOKEN=TOKEN, HF_ENDPOINT=hub.url, **CHUNKS)
    did = cli.good("key", "new")["did"]
    cli.remember(OLD)
    first = cli.create("--to", vault)
    cli.remember(NEW)
    second = cli.create()
    cli.good("vault", "sync", vault)
    listed = cli.good("vault", "list", vault)["snapshots"]
    assert [(one["id"], one["layout"], one["status"]) for one in listed] == [
        (second, "whole", "complete"),
        (first, "whole", "complete"),
    ]
    assert cli.good("vault", "verify", vault)["sound"]
    other = Cli(tmp_path / "other", HF_TOKEN=TOKEN, HF_ENDPOINT=hub.url)
    other.good("key", "trust", did)
    other.good("snapshot", "restore", second, "--from", vault, "--yes")
    assert other.texts() == {OLD, NEW}


def test_an_encrypted_one_reaches_it_as_it_is_made_and_later_only_with_its_identity(tmp_path: Path) -> None:
    vault = str(tmp_path / "vault")
    environment = {**CHUNKS, "HOLDFAST_VAULT_LAYOUT": "whole", "HOLDFAST_SNAPSHOT_RECIPIENTS": recipient()}
    cli = Cli(tmp_path / "home", **environment)
    cli.remember(OLD)
    cli.create("--to", vault)
    assert [one["layout"] for one in cli.good("vault", "list", vault)["snapshots"]] == ["whole"]
    late = cli.create()
    refused = cli("vault", "sync", vault)
    assert refused.code == VaultRefused.exit_code
    assert "is stored in chunks" in refused.err
    reader = identity_file(tmp_path)
    able = Cli(tmp_path / "home", HOLDFAST_SNAPSHOT_IDENTITY=reader, **environment)
    able.good("vault", "sync", vault)
    other = Cli(tmp_path / "other")
    other.good("snapshot", "restore", late, "--from", vault, "--yes", "--identity", reader)
    assert other.texts() == {OLD}
