"""What is in a vault, by the names alone. Presence is decided here: a file exists if it is listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from holdfast.colony.file_names import Series, age_order, read_name


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a vault, as listed."""

    name: str
    size: int | None = None
    updated_ms: int | None = None


@dataclass(slots=True)
class _FileLister:
    manifest: str | None = None
    parts: dict[int, str] = field(default_factory=dict)


class VaultListing:
    """All files of a vault at one moment."""

    def __init__(self, files: Iterable[ListedFile]):
        self._files = {one.name: one for one in files}
        self._snapshots: dict[tuple[str, str], _FileLister] = {}
        for name in self._files:
            if named := read_name(name):
                of = self._snapshots.setdefault((named.label, named.id), _FileLister())
                if named.seq is None:
                    of.manifest = name
                else:
                    of.parts[named.seq] = name

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def __getitem__(self, name: str) -> ListedFile:
        return self._files[name]

    def __iter__(self) -> Iterator[ListedFile]:
        return iter(self._files.values())

    def ids(self) -> set[str]:
        """Every id of every label, finished or not."""
        return {id for _, id in self._snapshots}

    def labels(self) -> list[str]:
        """Every label that has a manifest."""
        return sorted({label for (label, _), files in self._snapshots.items() if files.manifest})

    def finished(self, series: Series) -> list[str]:
        """The ids that have a manifest, newest first."""
        return self._of(series, with_manifest=True)

    def orphaned(self, series: Series) -> list[str]:
        """The ids that have parts and no manifest, newest first: being written, or left by a writer that stopped."""
        return self._of(series, with_manifest=False)

    def _of(self, series: Series, *, with_manifest: bool) -> list[str]:
        found = [
            id
            for (label, id), files in self._snapshots.items()
            if label == series.label and (files.manifest is not None) is with_manifest
        ]
        return sorted(found, key=age_order, reverse=True)

    def files_of(self, series: Series, id: str) -> list[str]:
        """The names of a snapshot's files in the order they are deleted: the manifest first.

        A snapshot that is only half deleted is then no snapshot any more, rather than a broken one.
        """
        files = self._snapshots.get((series.label, id), _FileLister())
        first = [files.manifest] if files.manifest else []
        return first + [files.parts[seq] for seq in sorted(files.parts)]
