"""The memory of a moment: its snapshot is fetched, and its pieces are applied to the snapshot's store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from holdfast.core.disk import disk_faults
from holdfast.core.errors import InvalidRequest
from holdfast.core.ports import Vault
from holdfast.core.version import VERSION
from holdfast.snapshot.bundle.canonical import dumps
from holdfast.snapshot.bundle.manifest import bundle_name, manifest_bytes
from holdfast.snapshot.bundle.types import FORMAT_VERSION, Capture, Identity, Manifest, Redaction, StagedFile
from holdfast.snapshot.bundle.writer import pack
from holdfast.snapshot.journal.journal_lines import placed
from holdfast.snapshot.journal.journal_moment import Moment
from holdfast.snapshot.journal.journal_reader import FetchedPiece
from holdfast.snapshot.journal.journal_rows import apply_changes, columns_of
from holdfast.snapshot.journal.piece import changes_of
from holdfast.snapshot.remote.transfer import fetch
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.repo.paths import NOTHING, new_id
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.sources.capture import STATE, STORE
from holdfast.store.journal.journal_port import Changes, JournalPlace
from holdfast.store.portable import FileWriter, open_file, runtime_state, store_schema


def fetch_base(context: SnapshotContext, vault: Vault, found: Moment, repo: SnapshotRepository) -> SnapshotEntry:
    """The snapshot that the moment begins with, in a private repository; one with nothing in it if there is none."""
    if found.snapshot is not None:
        return fetch(vault, context.tenant, context.agent, found.snapshot, repo)
    with repo.staging() as staging:
        manifest = _empty(context, found, staging)
        repo.put(staging / manifest.bundle_name, manifest, manifest_bytes(manifest))
    return repo.find(manifest.identity.id)


def _empty(context: SnapshotContext, found: Moment, staging: Path) -> Manifest:
    """A snapshot of a memory in which nothing was stored yet."""
    begun = found.fetched.pieces[0].since if found.fetched else 0
    identity = Identity(
        new_id(1, begun, NOTHING), context.tenant, context.agent, "start of the journal", 1, None, begun, "schedule"
    )
    store, state = staging / STORE, staging / STATE
    with disk_faults("stage an empty memory"):
        store.parent.mkdir(mode=0o700)
        state.parent.mkdir(mode=0o700)
    FileWriter(store, context.tenant).finish(0)
    restate(staging, context.tenant)
    capture = Capture((StagedFile(STORE, "store", store), StagedFile(STATE, "state", state)))
    bundle = pack(capture, staging / bundle_name(identity.id, False), identity.id, ())
    return Manifest(
        identity=identity,
        bundle_name=bundle.name,
        bundle_size=bundle.size,
        bundle_sha256=bundle.sha256,
        schema=(("manifest", FORMAT_VERSION), ("store", store_schema())),
        artifacts=bundle.artifacts,
        redaction=Redaction(applied=False),
        left=(),
        recipients=(),
        tools=(("holdfast", VERSION),),
    )


def restate(staging: Path, tenant: str) -> None:
    """Let the state beside a store be as that has it."""
    with disk_faults("stage the runtime state"):
        (staging / STATE).write_bytes(dumps(runtime_state(staging / STORE, tenant)))


def line_of(manifest: Manifest, found: Moment | None) -> str:
    """The line of the journal that a restored memory comes from; "" if there was none."""
    return found.fetched.line if found is not None and found.fetched is not None else placed(manifest).line


def place_of_copy(manifest: Manifest, found: Moment | None) -> JournalPlace | None:
    """The last piece of the journal that a restored memory has; None if there was no journal."""
    if found is not None and found.fetched is not None and found.fetched.pieces:
        last = found.fetched.pieces[-1].read()
        header = last.header
        return JournalPlace(header.line, header.number, last.hash, header.place, header.seeded)
    made = placed(manifest)
    return JournalPlace(made.line, made.number, made.hash, 0, False) if made.line else None


def replay(
    database: Path, tenant: str, found: Moment | None, identities: Sequence[str], take_over: str | None = None
) -> None:
    """Bring a snapshot's store to the moment. It is thrown away if this fails, and not synced.

    The last piece comes first, so that each row is written once, as it was at the end.

    Raises:
        SnapshotDamaged, SnapshotTooNew: a piece does not hold what was written.
        IdentityNeeded: a piece is encrypted, and no identity given opens it.
    """
    if found is None or found.fetched is None or not found.fetched.pieces:
        return
    if take_over:
        raise InvalidRequest(
            "as: another agent's memory cannot be restored to a moment between two snapshots",
            hint="Restore one of its snapshots by its id.",
        )
    pieces = found.fetched.pieces
    with closing(open_file(database)) as store:
        store.skip_to(_changes(pieces[-1], identities).seq)
        seen: set[tuple[str, int]] = set()
        for piece in reversed(pieces):
            apply_changes(store, tenant, _unseen(_changes(piece, identities), seen))
        store.compact_words()


def _changes(piece: FetchedPiece, identities: Sequence[str]) -> Changes:
    return changes_of(piece.read(), columns_of, identities)


def _unseen(changes: Changes, seen: set[tuple[str, int]]) -> Changes:
    """Without rows that a later piece has."""
    put = {}
    for table, rows in changes.put.items():
        at = columns_of(table).index("seq")
        put[table] = [row for row in rows if (table, row[at]) not in seen]
    gone = {
        table: [number for number in numbers if (table, number) not in seen] for table, numbers in changes.gone.items()
    }
    for table, rows in put.items():
        at = columns_of(table).index("seq")
        seen.update((table, row[at]) for row in rows)
    for table, numbers in gone.items():
        seen.update((table, number) for number in numbers)
    return Changes(changes.place, changes.whole, changes.seq, put, gone)
