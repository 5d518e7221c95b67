"""Small bundles for tests: plain, signed, encrypted or both, sealed in a folder as a snapshot is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyrage
from world import NOON

from holdfast.snapshot.bundle.encryption import fingerprint
from holdfast.snapshot.bundle.manifest import manifest_bytes, manifest_name, signed_bytes
from holdfast.snapshot.bundle.members import kind_of
from holdfast.snapshot.bundle.types import (
    BundleFile,
    Capture,
    Identity,
    Manifest,
    Redaction,
    Report,
    SkippedItem,
    StagedFile,
)
from holdfast.snapshot.bundle.writer import pack
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.repo.paths import sidecar
from holdfast.snapshot.verify import Expectations, verify

ID = "000007-20260921T133320Z-0a1b2c"
SECOND = "000008-20260921T133321Z-0a1b2d"
FORMS = ("plain", "signed", "encrypted", "both")

# Keys for tests only; making one takes longer than using it.
READER = pyrage.x25519.Identity.generate()
STRANGER = pyrage.x25519.Identity.generate()

SMALL = {"store/memory.db": b"rows", "folders/notes/MEMORY.md": b"keep the tea dry\n"}


def stage(folder: Path, files: Mapping[str, bytes]) -> tuple[StagedFile, ...]:
    """The files in a staging folder, each under a number."""
    folder.mkdir(parents=True, exist_ok=True)
    staged = []
    for number, (path, data) in enumerate(files.items()):
        source = folder / str(number)
        source.write_bytes(data)
        kind = kind_of(path)
        assert kind, path
        staged.append(StagedFile(path, kind, source))
    return tuple(staged)


def manifest_of(bundle: BundleFile, recipients: Sequence[str] = (), capture: Capture | None = None) -> Manifest:
    capture = capture or Capture(())
    return Manifest(
        identity=Identity(bundle.name.split(".")[0], "acme", "coder", "", int(bundle.name[:6]), None, NOON, "hand"),
        bundle_name=bundle.name,
        bundle_size=bundle.size,
        bundle_sha256=bundle.sha256,
        schema=(("manifest", 1), ("store", 9)),
        artifacts=None if recipients else bundle.artifacts,
        redaction=capture.redaction,
        left=capture.left,
        recipients=tuple(map(fingerprint, recipients)),
        tools=(("holdfast", "0.1.0"),),
    )


@dataclass
class Sealed:
    """A snapshot in a folder, and who can sign and read it."""

    folder: Path
    keyring: Keyring
    manifest: Manifest

    @property
    def id(self) -> str:
        return self.manifest.identity.id

    @property
    def bundle(self) -> Path:
        return self.folder / self.manifest.bundle_name

    @property
    def manifest_file(self) -> Path:
        return self.folder / manifest_name(self.id)

    @property
    def files(self) -> list[Path]:
        return [
            path for one in (self.bundle, self.manifest_file) for path in (one, one.with_name(f"{one.name}.sha256"))
        ]

    @property
    def identities(self) -> tuple[str, ...]:
        return (str(READER),) if self.manifest.encrypted else ()

    def look(self, expect: Expectations | None = None, members: bool = True, **given: object) -> Report:
        expect = expect or Expectations("acme", "coder")
        return verify(self.folder, self.id, self.keyring, expect, self.identities, members, **given)  # type: ignore[arg-type]

    def codes(self, expect: Expectations | None = None, **given: object) -> list[str]:
        """The codes of what speaks against it."""
        return [one.code for one in self.look(expect, **given).findings if not one.note]  # type: ignore[arg-type]

    def put(self, manifest: Manifest) -> None:
        """Exchange the manifest, with its sidecar; the bundle's sidecar follows it too."""
        self.manifest = manifest
        self.put_bytes(manifest_bytes(manifest))
        self._sidecar(self.bundle, manifest.bundle_sha256)

    def put_bytes(self, data: bytes) -> None:
        self.manifest_file.write_bytes(data)
        self._sidecar(self.manifest_file, hashlib.sha256(data).hexdigest())

    def _sidecar(self, path: Path, sha256: str) -> None:
        path.with_name(f"{path.name}.sha256").write_bytes(sidecar(sha256, path.name))

    def sign(self, keyring: Keyring | None = None) -> None:
        keyring = keyring or self.keyring
        manifest = replace(self.manifest, signer=keyring.own(), signature=None)
        self.put(replace(manifest, signature=keyring.sign(signed_bytes(manifest))))


def seal(
    tmp: Path,
    form: str = "plain",
    files: Mapping[str, bytes] = SMALL,
    id: str = ID,
    left: Sequence[SkippedItem] = (),
    redaction: Redaction | None = None,
) -> Sealed:
    """A snapshot of the form, made as the flow makes it."""
    folder = tmp / "shelf"
    folder.mkdir(exist_ok=True)
    recipients = (str(READER.to_public()),) if form in ("encrypted", "both") else ()
    capture = Capture(stage(tmp / "staging", files), tuple(left), redaction or Redaction(applied=False))
    bundle = pack(capture, folder / "packing", id, recipients)
    (folder / "packing").rename(folder / bundle.name)
    sealed = Sealed(folder, Keyring(tmp / "keys"), manifest_of(bundle, recipients, capture))
    sealed.put(sealed.manifest)
    if form in ("signed", "both"):
        if sealed.keyring.own() is None:
            sealed.keyring.new()
        sealed.sign()
    return sealed
