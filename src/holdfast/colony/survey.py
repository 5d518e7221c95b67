"""The state of a label's snapshots: which can be restored, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from holdfast.colony.file_names import Series
from holdfast.colony.files import FileMissing, VaultFiles
from holdfast.colony.inventory import VaultListing
from holdfast.colony.manifest import Manifest, read_manifest
from holdfast.colony.signature import check_signature
from holdfast.core.errors import ColonyDamaged, ColonyMemoryError, ColonyUnknown, ColonyUntrusted


@dataclass(frozen=True, slots=True)
class RefusedSnapshot:
    """A snapshot that is in the vault and would not be restored."""

    snapshot_id: str
    label: str
    reason: str


class SnapshotState(Enum):
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"  # its manifest is sound, but not all parts are there
    DAMAGED = "damaged"
    STRANGE = "strange"  # of another signer or a format unknown here: another client may need it


@dataclass(frozen=True, slots=True)
class ExaminedSnapshot:
    """One snapshot with a manifest."""

    id: str
    state: SnapshotState
    manifest: Manifest | None = None
    reason: str = ""


class FileVanished(Exception):
    """A listed file was gone when it was read: another client deletes at the same time."""


@dataclass(frozen=True)
class Surveyor:
    """Reads and judges manifests."""

    files: VaultFiles
    trusted: frozenset[str] | None  # None: a signature is not needed, and any that holds is taken

    def manifest(self, series: Series, id: str, *, verify: bool = True) -> Manifest:
        """The manifest of a listed snapshot.

        Raises:
            ColonyDamaged, ColonyUnknown, ColonyUntrusted: it cannot be relied on.
            Vanished: it is gone.
        """
        manifest = read_manifest(self.text(series.manifest(id)), series, id)
        if verify:
            name = f"snapshot {series.label} {id}"
            check_signature(manifest.signature, manifest.message, self.trusted, name)
        return manifest

    def text(self, name: str) -> str:
        """The text of a listed file.

        Raises:
            Vanished: it is gone.
        """
        try:
            return self.files.read(name).text
        except FileMissing:
            raise FileVanished(name) from None

    def examine(self, listing: VaultListing, series: Series, id: str) -> ExaminedSnapshot:
        """The state of a snapshot, judged by its manifest and the names of its parts."""
        try:
            manifest = self.manifest(series, id)
        except (ColonyUntrusted, ColonyUnknown) as fault:
            return ExaminedSnapshot(id, SnapshotState.STRANGE, reason=_why(fault))
        except ColonyDamaged as fault:
            return ExaminedSnapshot(id, SnapshotState.DAMAGED, reason=_why(fault))
        if lost := lacking(listing, manifest):
            return ExaminedSnapshot(id, SnapshotState.INCOMPLETE, manifest, f"{len(lost)} of its parts are missing")
        return ExaminedSnapshot(id, SnapshotState.COMPLETE, manifest)

    def all(self, listing: VaultListing, series: Series) -> list[ExaminedSnapshot]:
        """Every snapshot of the series that has a manifest, newest first; one that goes meanwhile is left out."""
        found = []
        for id in listing.finished(series):
            try:
                found.append(self.examine(listing, series, id))
            except FileVanished:
                continue
        return found


def lacking(listing: VaultListing, manifest: Manifest) -> list[str]:
    """The parts that are not there."""
    return [name for name in manifest.parts if name not in listing]


def _why(fault: ColonyMemoryError) -> str:
    return fault.message.partition(": ")[2] or fault.message
