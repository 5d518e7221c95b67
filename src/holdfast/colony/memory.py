"""ColonyMemory: backup, restore, listing and pruning, each as its steps in order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.colony.encryption import read_identities, read_recipients
from holdfast.colony.file_names import Series, age_order, next_id, series_of
from holdfast.colony.files import FileMissing, VaultBackend, VaultFiles
from holdfast.colony.inventory import VaultListing
from holdfast.colony.manifest import (
    FORMAT,
    Manifest,
    SnapshotInfo,
    build,
    pointer_text,
    read_part,
)
from holdfast.colony.payload import MOST_BYTES, pack, unpack
from holdfast.colony.plan import (
    Deletion,
    abandoned,
    affordable,
    checked_keep,
    plan_backup,
    prunable,
    rate_limited,
)
from holdfast.colony.pointer import TRIES, PointerFiles
from holdfast.colony.signature import Signer, did_of_signer, trusted_did
from holdfast.colony.state import ClientState
from holdfast.colony.survey import ExaminedSnapshot, FileVanished, RefusedSnapshot, SnapshotState, Surveyor, lacking
from holdfast.colony.upload import settle, store
from holdfast.core.disk import user_path
from holdfast.core.errors import ColonyConflict, ColonyDamaged, ColonyInvalid, ColonyMemoryError, SnapshotNotFound
from holdfast.core.ports import Clock, Entropy
from holdfast.core.system import SystemClock, SystemEntropy


class ColonyMemory:
    """An agent's memory in its Colony vault.

    Args:
        api_key: The agent's key, unless a `backend` is given.
        base_url: Another address than the Colony's own.
        backend: A client to use instead: `colony_sdk.ColonyClient`, or any object with its vault methods.
        signer: Signs every backup. Its own key is trusted.
        trusted: The did:keys whose snapshots are taken. With these or a signer, all others are refused.
        recipients: age public keys (`age1…`, `ssh-…`); with any, backups are encrypted for them.
        identities: age identities (`AGE-SECRET-KEY-1…`) that open encrypted snapshots.
        most_bytes: What a snapshot may unpack to, whatever it claims.
        state: A file that remembers which snapshots were seen, so that a vault that was set back is refused in the next
            process too. One for each vault.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        backend: VaultBackend | None = None,
        signer: Any = None,
        trusted: Iterable[str] | None = None,
        recipients: Iterable[str] = (),
        identities: Iterable[str] = (),
        most_bytes: int = MOST_BYTES,
        state: str | Path | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ):
        self.signer = signer
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._trusted = None if trusted is None else frozenset(map(trusted_did, _several(trusted, "trusted")))
        self._recipients = read_recipients(_several(recipients, "recipients"))
        self._identities = read_identities(_several(identities, "identities"))
        self._most_bytes = most_bytes
        self._files = VaultFiles(backend if backend is not None else self._client(api_key, base_url), self._clock)
        self._pointers = PointerFiles(self._files, self._now)
        self._state = ClientState(None if state is None else user_path(state, "state", ColonyInvalid))

    def _client(self, api_key: str | None, base_url: str | None) -> VaultBackend:
        if not isinstance(api_key, str) or not api_key:
            raise ColonyInvalid("api_key: missing", hint="Pass the agent's Colony API key, or a backend.")
        try:
            from holdfast.colony.colony_client import VaultClient
        except ImportError:
            raise ColonyMemoryError(
                "ColonyMemory: colony-sdk is not installed", hint="Run pip install 'holdfast[colony]'."
            ) from None
        return VaultClient(api_key, self._clock, base_url)

    # Backup

    def backup(
        self, documents: dict[str, str], *, label: str = "default", signer: Any = None, prune_keep: int | None = None
    ) -> SnapshotInfo:
        """Store the documents as a new snapshot, and return what was stored.

        With `prune_keep`, only that many snapshots of the label stay. They are deleted after the new one is stored;
        before it only if there is no room otherwise, and then as late as possible.

        Raises:
            ColonyInvalid: a value cannot be accepted; also a ValueError.
            UnicodeEncodeError: a text holds half a surrogate pair.
            QuotaExceeded: it does not fit; nothing was changed.
            ColonyRateLimited: too many changes within the hour; details has retry_after.
            ColonyMemoryError: the vault failed. What was written is withdrawn; if the snapshot was whole by then, it
                stays, and details has its id as `stored`.
        """
        series = series_of(label)
        keep = None if prune_keep is None else checked_keep(prune_keep, "prune_keep")
        by: Signer | None = signer if signer is not None else self.signer
        packed = pack(documents, self._recipients)
        listing = self._files.list()
        self._check_spelling(listing, series, writing=True)
        seen = self._state.newest(series.label)
        id = next_id(listing.ids() | ({seen} if seen else set()), self._clock.now_ms(), self._entropy.hex(6))
        built = build(packed, series, id, self._now(), by)
        text = pointer_text(series, id, self._now())
        drops = self._may_go(listing, series, keep)
        room = self._files.room()
        left = self._files.changes_left(listing)
        plan = plan_backup(built, text, room, drops, left, self._files.seconds_to_wait())
        for drop in plan.first:
            self._state.gone(series.label, drop.id)
        store(self._files, built, room, [(drop.size, listing.files_of(series, drop.id)) for drop in plan.first])
        try:
            settle(self._files, built, series)
            self._pointers.move(series, id)
            self._state.spell(series.label, series.given or series.label)
            self._state.saw(series.label, id)
            for drop in plan.after:
                self._files.delete_all(listing.files_of(series, drop.id))
        except ColonyMemoryError as fault:
            fault.details["stored"] = id
            raise
        return built.info

    def _may_go(self, listing: VaultListing, series: Series, keep: int | None) -> list[Deletion]:
        """What a backup may delete, the least needed first. The new snapshot is the first of those that are kept."""
        leftover = abandoned(listing.orphaned(series), self._clock.now_ms())
        snapshots = [] if keep is None else self._survey().all(listing, series)
        old = [] if keep is None else prunable(snapshots, keep - 1)
        return [self._drop(listing, series, id, finished=id in old) for id in [*leftover, *old]]

    # Restore

    def restore(self, *, label: str = "default", snapshot_id: str | None = None, verify: bool = True) -> dict[str, str]:
        """The documents of the newest complete snapshot, or of the one named.

        `verify=False` skips signature and trust; sizes and SHA-256 are checked always.

        Raises:
            SnapshotNotFound: the vault answered, and there is none.
            ColonyDamaged, ColonyUntrusted, ColonyUnknown: it must not be used, or the vault was set back to an older
                one than this client has seen; also a ValueError.
            ColonyLocked: it is encrypted, and no identity opens it.
            ColonyMemoryError: the vault failed. That implies nothing about what is stored.
        """
        series = series_of(label)
        for _ in range(TRIES):
            listing = self._files.list()
            self._check_spelling(listing, series)
            try:
                if snapshot_id is None:
                    return self._documents(self._newest(listing, series, verify=verify))
                return self._documents(self._named(listing, series, snapshot_id, verify=verify))
            except FileVanished:
                continue
        raise ColonyConflict("restore: another writer keeps deleting what is being read")

    def _newest(self, listing: VaultListing, series: Series, *, verify: bool = True) -> Manifest:
        """The newest snapshot of which everything is there. A damaged or foreign one is not passed over."""
        ids = listing.finished(series)
        for id in ids:
            manifest = self._survey().manifest(series, id, verify=verify)
            if not lacking(listing, manifest):
                if verify:
                    self._state.check_newest(series.label, id)
                    self._state.saw(series.label, id)
                return manifest
        if verify:
            self._state.check_newest(series.label, None)
        if ids:
            raise ColonyDamaged(f"restore: no snapshot of {series.label} has all its parts", hint="Make a new backup.")
        if series.pointer in listing:
            raise ColonyDamaged(
                f"restore: {series.label} has a pointer, but the snapshot is missing", hint="Make a new backup."
            )
        raise SnapshotNotFound(f"restore: there is no snapshot of {series.label}")

    def _named(self, listing: VaultListing, series: Series, id: str, *, verify: bool) -> Manifest:
        if id not in listing.finished(series):
            if id in listing.orphaned(series):
                raise ColonyDamaged(f"restore: snapshot {series.label} {id} has parts, but no manifest")
            raise SnapshotNotFound(f"restore: there is no such snapshot of {series.label}")
        manifest = self._survey().manifest(series, id, verify=verify)
        if lost := lacking(listing, manifest):
            raise ColonyDamaged(f"restore: {len(lost)} parts of snapshot {series.label} {id} are missing")
        return manifest

    def _documents(self, manifest: Manifest) -> dict[str, str]:
        survey = self._survey()
        chunks: list[str] = []
        left = manifest.expected.blob_chars
        for seq, name in enumerate(manifest.parts):
            chunks.append(read_part(survey.text(name), manifest, seq))
            left -= len(chunks[-1])
            if left < 0:
                raise ColonyDamaged("restore: the parts are larger than the manifest states")
        documents = unpack("".join(chunks), manifest.expected, self._identities, self._most_bytes)
        if not manifest.encrypted and sorted(documents) != manifest.info.doc_names:
            raise ColonyDamaged("restore: the documents differ from the manifest")
        return documents

    # Listing

    def list_snapshots(self, *, label: str | None = None) -> list[SnapshotInfo]:
        """The snapshots that could be restored, newest first; of all labels, unless one is named.

        Others may be in the vault too: refused_snapshots() lists them with the reason.
        """
        found = [
            one.manifest.info
            for _, one in self._examined(label)
            if one.state is SnapshotState.COMPLETE and one.manifest is not None
        ]
        return sorted(found, key=lambda info: age_order(info.snapshot_id), reverse=True)

    def refused_snapshots(self, *, label: str | None = None) -> list[RefusedSnapshot]:
        """The snapshots that have a manifest and would not be restored, with the reason; newest first."""
        found = [
            RefusedSnapshot(one.id, series.label, one.reason)
            for series, one in self._examined(label)
            if one.state is not SnapshotState.COMPLETE
        ]
        return sorted(found, key=lambda refused: age_order(refused.snapshot_id), reverse=True)

    def _examined(self, label: str | None) -> list[tuple[Series, ExaminedSnapshot]]:
        listing = self._files.list()
        every = [Series(name) for name in listing.labels()] if label is None else [series_of(label)]
        found = [(series, one) for series in every for one in self._survey().all(listing, series)]
        for series, one in found:
            if one.state is SnapshotState.COMPLETE:
                self._state.saw(series.label, one.id)
        return found

    def latest(self, *, label: str = "default") -> SnapshotInfo | None:
        """What restore() would give; None when the vault has nothing of that label.

        Raises:
            ColonyDamaged, ColonyUntrusted, ColonyUnknown: the newest snapshot must not be used.
        """
        series = series_of(label)
        for _ in range(TRIES):
            try:
                listing = self._files.list()
                self._check_spelling(listing, series)
                return self._newest(listing, series).info
            except SnapshotNotFound:
                return None
            except FileVanished:
                continue
        raise ColonyConflict("latest: another writer keeps deleting what is being read")

    def status(self) -> dict[str, Any]:
        """The vault's quota_bytes, used_bytes, available_bytes and file_count."""
        return self._files.status()

    # Deleting

    def prune(self, *, label: str, keep: int = 5) -> int:
        """Delete all but the newest `keep` complete snapshots, and what unfinished backups left; how many snapshots.

        The newest complete snapshot always stays, and so does what another signer wrote. If the hour's changes do not
        suffice for all, only whole snapshots are deleted.

        Raises:
            ColonyInvalid: keep is not a number from 1.
            ColonyRateLimited: the hour's changes do not suffice for one.
        """
        keep = checked_keep(keep, "keep")
        series = series_of(label)
        listing = self._files.list()
        self._check_spelling(listing, series)
        snapshots = self._survey().all(listing, series)
        old = prunable(snapshots, keep)
        wanted = [
            *(self._drop(listing, series, id, finished=False) for id in listing.orphaned(series)),
            *(self._drop(listing, series, id, finished=True) for id in old),
        ]
        left = self._files.changes_left(listing)
        drops = affordable(wanted, left)
        if wanted and not drops:
            raise rate_limited("prune", wanted[0].files, left or 0, self._files.seconds_to_wait())
        if old:
            self._pointers.leave(
                listing, series, old, instead=next(one.id for one in snapshots if one.state is SnapshotState.COMPLETE)
            )
        for drop in drops:
            self._delete_drop(series, drop)
        return sum(drop.finished for drop in drops)

    def _delete_drop(self, series: Series, drop: Deletion) -> None:
        """Delete it as it is now: leftover parts may have got their manifest since they were listed."""
        listing = self._files.list()
        if drop.finished or drop.id in listing.orphaned(series):
            self._files.delete_all(listing.files_of(series, drop.id))

    def delete_snapshot(self, *, label: str, snapshot_id: str) -> None:
        """Delete one snapshot; a missing one is no error.

        Raises:
            ColonyMemoryError: the vault did not delete all of it.
        """
        series = series_of(label)
        listing = self._files.list()
        self._check_spelling(listing, series)
        rest = [id for id in listing.finished(series) if id != snapshot_id]
        names = listing.files_of(series, snapshot_id)
        left = self._files.changes_left(listing)
        if left is not None and len(names) + 1 > left:
            raise rate_limited("delete", len(names) + 1, left, self._files.seconds_to_wait())
        self._state.gone(series.label, snapshot_id, instead=rest[0] if rest else None)
        self._pointers.leave(listing, series, [snapshot_id], instead=rest[0] if rest else None)
        self._files.delete_all(names)

    def forget_newest(self, *, label: str = "default") -> None:
        """Accept what the vault has of the label, though a newer snapshot was seen: it was deleted elsewhere."""
        self._state.forget(series_of(label).label)

    # Progenly

    def to_progenly_export(self, documents: dict[str, str]) -> dict[str, Any]:
        """The documents as the memory of a parent in a Progenly merge."""
        return {"memory": dict(documents), "memory_format": FORMAT}

    @staticmethod
    def from_progenly_export(export: dict[str, Any]) -> dict[str, str]:
        """The documents in such an export.

        Raises:
            ColonyInvalid: it is none.
        """
        memory = export.get("memory") if isinstance(export, dict) else None
        if not isinstance(memory, dict) or export.get("memory_format") != FORMAT:
            raise ColonyInvalid(f"export: not in the format {FORMAT}")
        if not all(isinstance(name, str) and isinstance(text, str) for name, text in memory.items()):
            raise ColonyInvalid("export: names and texts must be str")
        return dict(memory)

    # Shared helpers

    def _survey(self) -> Surveyor:
        own = frozenset() if self.signer is None else frozenset({did_of_signer(self.signer)})
        trusted = None if self._trusted is None and not own else (self._trusted or frozenset()) | own
        return Surveyor(self._files, trusted)

    def _check_spelling(self, listing: VaultListing, series: Series, *, writing: bool = False) -> None:
        """Refuse a label that only became the same as another one. What a label became may be read under that name too.

        Raises:
            ColonyInvalid: the series was begun under a label that is spelled differently.
        """
        if series.given is None and not writing:
            return
        # Earlier versions noted the spelling in the pointer.
        given = self._pointers.read(listing, series).given or self._state.spelled(series.label)
        known = {series.given or series.label} if given is None else {given}
        if (series.given or series.label) not in known:
            raise ColonyInvalid(
                f"label: {series.label} is in use for a label that is spelled differently",
                hint="Use a label of a-z, 0-9, _ and -.",
            )

    def _drop(self, listing: VaultListing, series: Series, id: str, *, finished: bool) -> Deletion:
        names = listing.files_of(series, id)
        return Deletion(id, len(names), sum(self._size(listing, name) for name in names), finished)

    def _size(self, listing: VaultListing, name: str) -> int:
        size = listing[name].size
        if size is not None:
            return size
        try:
            return len(self._files.read(name).text.encode())
        except FileMissing:
            return 0

    def _now(self) -> str:
        return f"{datetime.fromtimestamp(self._clock.now_ms() // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _several(values: Iterable[str], name: str) -> list[str]:
    if isinstance(values, str):
        raise ColonyInvalid(f"{name}: must be a list, not a string")
    return list(values)
