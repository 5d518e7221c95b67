"""Every single change of a sealed snapshot's files is refused: each byte and each length in all four forms, and each bit
in the form that is signed and encrypted. What finds them is the same in all: the checksum of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bundles import FORMS, SMALL, Sealed, seal

from holdfast.core.errors import SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.verify import fault_of

FILES = ("bundle", "bundle sidecar", "manifest", "manifest sidecar")


@pytest.fixture(params=FORMS)
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> Sealed:
    """The smallest snapshot: flips are made of every bit of it."""
    return seal(tmp_path, request.param, {"store/memory.db": SMALL["store/memory.db"]})


def flips(data: bytes, *, every_bit: bool = True) -> Iterator[bytes]:
    """Each bit changed in turn, or one of each byte."""
    for byte in range(len(data)):
        for bit in range(8) if every_bit else (byte % 8,):
            changed = bytearray(data)
            changed[byte] ^= 1 << bit
            yield bytes(changed)


def lengths(data: bytes) -> Iterator[bytes]:
    """Every truncation, and extensions by a byte, by blocks and by itself."""
    yield from (data[:length] for length in range(len(data)))
    yield from (data + more for more in (b"\0", b"\n", b" ", b"x", bytes(512), bytes(1024), bytes(10240), data))
    yield b"\0" + data


def accepted(sealed: Sealed, path: Path, changes: Iterator[bytes]) -> list[bytes]:
    """Which of the changed contents of the file go through as whole."""
    whole = path.read_bytes()
    through = []
    for changed in changes:
        path.write_bytes(changed)
        if not isinstance(fault_of(sealed.look()), SnapshotDamaged):
            through.append(changed)
    path.write_bytes(whole)
    assert sealed.look().sound, "back as it was, it is whole again"
    return through


def file_of(sealed: Sealed, name: str) -> Path:
    return sealed.files[FILES.index(name)]


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_bit_is_refused_as_damage(sealed: Sealed, name: str) -> None:
    path = file_of(sealed, name)
    both = sealed.manifest.encrypted and sealed.keyring.own() is not None

    assert accepted(sealed, path, flips(path.read_bytes(), every_bit=both)) == []


@pytest.mark.parametrize("name", FILES)
def test_every_other_length_is_refused_as_damage(sealed: Sealed, name: str) -> None:
    path = file_of(sealed, name)

    assert accepted(sealed, path, lengths(path.read_bytes())) == []


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_as_damage(sealed: Sealed, name: str) -> None:
    file_of(sealed, name).unlink()

    assert isinstance(fault_of(sealed.look()), SnapshotDamaged)


@pytest.mark.parametrize("form", ["signed", "both"])
def test_a_signed_manifest_needs_no_sidecar_to_show_a_flipped_bit(tmp_path: Path, form: str) -> None:
    """Whoever changes the manifest changes its sidecar too."""
    sealed = seal(tmp_path, form, {"store/memory.db": b"rows"})
    data = sealed.manifest_file.read_bytes()
    through = []

    for changed in flips(data, every_bit=form == "both"):
        sealed.put_bytes(changed)
        if sealed.look().sound:
            through.append(changed)

    assert through == []


@pytest.mark.parametrize("form", FORMS)
def test_no_flipped_or_shortened_manifest_is_read_as_the_same_one(tmp_path: Path, form: str) -> None:
    sealed = seal(tmp_path, form, {"store/memory.db": b"rows"})
    data = sealed.manifest_file.read_bytes()
    same = []

    for changed in (*flips(data), *lengths(data)):
        try:
            found = read_manifest(changed)
        except (SnapshotDamaged, SnapshotTooNew):
            continue
        if found == sealed.manifest:
            same.append(changed)

    assert same == []
