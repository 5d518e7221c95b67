"""Verify a snapshot on disk: what it is, whether it is whole, who sealed it. Only reports; raises for no finding.

Nothing is decompressed or decrypted before the raw bytes are those of the manifest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Protocol

from holdfast.core.bundle_names import SIDECAR
from holdfast.core.didkey import verify_signature
from holdfast.core.errors import (
    Fault,
    IdentityNeeded,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotOlder,
    SnapshotTooNew,
    SnapshotUntrusted,
    StorageFailed,
)
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.manifest import MOST_BYTES, is_id, manifest_name, read_manifest, signed_bytes
from holdfast.snapshot.bundle.reader import open_regular, walk
from holdfast.snapshot.bundle.types import Code, Finding, Manifest, Report
from holdfast.snapshot.chunks.chunk_index import read_packs
from holdfast.snapshot.chunks.reader import pack_path, read_chunk_index
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.repo.paths import read_sidecar

_PIECE = 1024 * 1024
_MOST_SIDECAR = 512

# In the order in which they are reported: an attacker that changes bytes can also change what comes later.
_FAULTS: dict[Code, type[Fault]] = {
    "damaged": SnapshotDamaged,
    "untrusted": SnapshotUntrusted,
    "too_new": SnapshotTooNew,
    "foreign": SnapshotForeign,
    "older": SnapshotOlder,
    "locked": IdentityNeeded,
}


UNSIGNED_HINT = (
    "This memory has a signing key, so signatures are required. If you know where the snapshot comes from, pass "
    "--allow-unsigned."
)
TRUST_HINT = "If you know whose key this is, trust it: holdfast key trust {}"


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a snapshot must be to be accepted."""

    tenant: str | None  # None: any
    agent: str | None
    mark: int = 0  # the highest sequence number known
    allow_unsigned: bool = False
    older_is_note: bool = False
    require_sidecars: bool = True
    schema: tuple[tuple[str, int], ...] = ()  # by name, the highest version that can be read
    signer: str | None = None  # a key that the caller trusts for this one
    passed: int = 0  # a higher number that lies in the same place, and was passed over


def verify(
    folder: Path,
    id: str,
    keyring: Keyring,
    expect: Expectations,
    identities: Sequence[str] = (),
    members: bool = True,
    place: str | None = None,
    raw: bool = True,
) -> Report:
    """The report on the snapshot of that id in the folder.

    With a place, the highest sequence number that the keyring has seen of the signer there counts as well.

    Raises:
        DataDamaged: the keyring's own files cannot be relied on.
    """
    looking = _Verification(folder, id)
    manifest = looking.manifest(expect)
    if manifest is not None:
        looking.bundle(manifest, expect, raw)
        looking.signature(manifest, keyring, expect)
        looking.sequence(manifest, keyring, expect, place)
        looking.owner(manifest, expect)
        looking.members(manifest, identities, members)
    found, checked, unchecked = tuple(looking.findings), tuple(looking.checked), tuple(looking.unchecked)
    return Report(id, manifest, found, checked, unchecked, looking.digest, tuple(looking.packs))


def is_genuine(manifest: Manifest, keyring: Keyring) -> bool:
    """Whether a trusted key signed it; without a key here nothing is signed, and it counts as genuine."""
    if manifest.signer is None or manifest.signature is None:
        return not keyring.demands()
    signed = verify_signature(manifest.signer, signed_bytes(manifest), manifest.signature)
    return signed and keyring.accepts(manifest.signer)


def fault_of(report: VerifyReport) -> Fault | None:
    """The fault of the gravest finding; None if nothing speaks against the snapshot."""
    for code, fault in _FAULTS.items():
        for one in report.findings:
            if one.code == code and not one.note:
                return _with_hint(fault(one.message), report)
    return None


def _with_hint(fault: Fault, report: VerifyReport) -> Fault:
    """The fault with what can be done about this one snapshot."""
    if not isinstance(fault, SnapshotUntrusted):
        return fault
    signer = report.manifest.signer if isinstance(report, Report) and report.manifest else None
    if signer is None:
        fault.hint = UNSIGNED_HINT
    else:
        fault.hint = TRUST_HINT.format(signer)
        fault.details = {"signer": signer}
    return fault


class VerifyReport(Protocol):
    """Any report of a verification."""

    @property
    def findings(self) -> tuple[Finding, ...]: ...


@dataclass
class _Verification:
    """One verification as it goes on: what was found, and what was looked at."""

    folder: Path
    id: str
    findings: list[Finding] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    digest: str | None = None  # of the manifest's file
    packs: list[str] = field(default_factory=list)  # that are damaged

    def manifest(self, expect: Expectations) -> Manifest | None:
        """The manifest, if it can be read at all."""
        if not is_id(self.id):
            self._find("damaged", "invalid snapshot id")
            return None
        try:
            data = _read(self.folder / manifest_name(self.id), MOST_BYTES)
            self.digest = hashlib.sha256(data).hexdigest()
            self._sidecar(manifest_name(self.id), self.digest, expect.require_sidecars)
            manifest = read_manifest(data)
        except (SnapshotDamaged, SnapshotTooNew) as fault:
            self._find("too_new" if isinstance(fault, SnapshotTooNew) else "damaged", fault.message)
            return None
        if manifest.identity.id != self.id:
            self._find("damaged", "snapshot: the manifest belongs to another snapshot")
        return manifest

    def bundle(self, manifest: Manifest, expect: Expectations, raw: bool) -> None:
        """The sidecar, then the raw bytes if they are wanted."""
        self._sidecar(manifest.bundle_name, manifest.bundle_sha256, expect.require_sidecars)
        self.checked.append("files")
        self._too_new(manifest, expect)
        if not raw:
            self.unchecked.append("bytes: not requested")
            return
        try:
            _check_bytes(self.folder / manifest.bundle_name, manifest)
            if manifest.chunked:
                self._packs(self.folder / manifest.bundle_name, manifest)
        except SnapshotDamaged as fault:
            self._find("damaged", fault.message)
        self.checked.append("bytes")

    def _packs(self, bundle: Path, manifest: Manifest) -> None:
        """The raw bytes of every pack that the chunk index names, also after one was found damaged."""
        try:
            packs = read_packs(read_chunk_index(bundle, manifest))
        except Malformed as error:
            raise SnapshotDamaged(f"snapshot: the bundle is damaged: {error}") from error
        for one in packs:
            try:
                _check_file(pack_path(bundle, one.name), one.size, one.sha256, f"pack {one.name}", "the chunk index")
            except SnapshotDamaged as fault:
                self.packs.append(one.name)
                self._find("damaged", fault.message)

    def signature(self, manifest: Manifest, keyring: Keyring, expect: Expectations) -> None:
        if manifest.signer is None or manifest.signature is None:
            if keyring.demands():
                self._find("untrusted", "snapshot: not signed", note=expect.allow_unsigned)
            self.unchecked.append("signature: not signed")
            return
        if not verify_signature(manifest.signer, signed_bytes(manifest), manifest.signature):
            self._find("damaged", "snapshot: the signature does not match the manifest")
        if manifest.signer != expect.signer and not keyring.accepts(manifest.signer):
            self._find("untrusted", f"snapshot: signed by {manifest.signer}, which is not trusted here")
        self.checked.append("signature")

    def sequence(self, manifest: Manifest, keyring: Keyring, expect: Expectations, place: str | None) -> None:
        seen = keyring.mark(manifest.signer, place) if place is not None else 0
        mark, own = max(expect.mark, seen), manifest.identity.sequence
        if max(own, expect.passed) < mark:
            message = f"snapshot: its sequence number is {own}, but {mark} is known to exist"
            self._find("older", message, note=expect.older_is_note)
        self.checked.append("sequence")

    def owner(self, manifest: Manifest, expect: Expectations) -> None:
        for name, is_, should in (
            ("tenant", manifest.identity.tenant, expect.tenant),
            ("agent", manifest.identity.agent, expect.agent),
        ):
            if should is not None and is_ != should:
                self._find("foreign", f"snapshot: it belongs to another {name}")
        self.checked.append("owner")

    def members(self, manifest: Manifest, identities: Sequence[str], wanted: bool) -> None:
        """Decompress to nowhere, if the bytes are those that a trusted key has sealed."""
        if reason := self._against_opening(manifest, identities, wanted):
            self.unchecked.append(f"members: {reason}")
            return
        try:
            walk(self.folder / manifest.bundle_name, manifest, identities=identities)
        except IdentityNeeded as fault:
            self._find("locked", fault.message)
            self.unchecked.append("members: encrypted, and none of the given identities can decrypt them")
        except (SnapshotDamaged, StorageFailed) as fault:
            self._find("damaged", fault.message)
            self.checked.append("members")
        else:
            self.checked.append("members")

    def _against_opening(self, manifest: Manifest, identities: Sequence[str], wanted: bool) -> str | None:
        refused = {one.code for one in self.findings if not one.note}
        if not wanted:
            return "not requested"
        if "damaged" in refused:
            return "the bundle is damaged"
        if "untrusted" in refused:
            return "the bundle is not trusted"
        if manifest.encrypted and not identities:
            return "encrypted, no identity given"
        return None

    def _too_new(self, manifest: Manifest, expect: Expectations) -> None:
        own = dict(manifest.schema)
        for name, highest in expect.schema:
            if own.get(name, 0) > highest:
                self._find(
                    "too_new", f"snapshot: its {name} has version {own[name]}; this version supports up to {highest}"
                )

    def _sidecar(self, name: str, sha256: str, required: bool) -> None:
        path = self.folder / f"{name}{SIDECAR}"
        if not required and not path.exists():
            return
        try:
            said = read_sidecar(_read(path, _MOST_SIDECAR), name)
        except SnapshotDamaged as fault:
            self._find("damaged", fault.message)
            return
        if said != sha256:
            self._find("damaged", f"snapshot: {path.name} has invalid content")

    def _find(self, code: Code, message: str, note: bool = False) -> None:
        self.findings.append(Finding(code, message, note))


def _read(path: Path, most: int) -> bytes:
    try:
        with open_regular(path) as file:
            data = _read_whole(file, most)
    except OSError as error:
        raise SnapshotDamaged(f"snapshot: {path.name} cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise SnapshotDamaged(f"snapshot: {path.name} has more than {most} bytes")
    return data


def _read_whole(file: FileIO, most: int) -> bytes:
    pieces, size = [], 0
    while size <= most and (piece := file.read(most + 1 - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _check_bytes(path: Path, manifest: Manifest) -> None:
    _check_file(path, manifest.bundle_size, manifest.bundle_sha256, "the bundle", "its manifest")


def _check_file(path: Path, size: int, sha256: str, name: str, said: str) -> None:
    digest, buffer, seen = hashlib.sha256(), memoryview(bytearray(_PIECE)), 0
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size != size:
                raise SnapshotDamaged(f"snapshot: the size of {name} differs from {said}")
            while seen <= size and (count := file.readinto(buffer)):
                digest.update(buffer[:count])
                seen += count
    except OSError as error:
        raise SnapshotDamaged(f"snapshot: {path.name} cannot be read: {error.strerror}") from error
    if seen != size or digest.hexdigest() != sha256:
        raise SnapshotDamaged(f"snapshot: the SHA-256 of {name} differs from {said}")
