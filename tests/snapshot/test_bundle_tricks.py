"""Bundles that were not packed here: tars, frames and lists with a trick in them are refused and leave nothing."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from bundles import SMALL, Sealed, seal
from forging import alter, artifact, compress, entry, forge, forge_tar, tar_of
from rows import each

from holdfast.core.errors import SnapshotDamaged, StorageFailed
from holdfast.snapshot.bundle import canonical, tar_header
from holdfast.snapshot.bundle.contents import Contents, contents_bytes
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.bundle.reader import unpack
from holdfast.snapshot.bundle.zstd_frame import SingleFrame
from holdfast.snapshot.verify import fault_of

pytestmark = pytest.mark.quick

PATH = "folders/notes/a.md"
DATA = b"tea"
GOOD = [artifact(PATH, DATA)]

encrypted_or_not = pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])


def refused(sealed: Sealed, tmp: Path) -> None:
    """Verification finds damage, and unpacking writes nothing."""
    assert isinstance(fault_of(sealed.look()), SnapshotDamaged)
    with pytest.raises(SnapshotDamaged):
        unpack(sealed.bundle, sealed.manifest, tmp / "into", sealed.identities)
    assert not (tmp / "into").exists()


@encrypted_or_not
def test_a_bundle_forged_without_a_trick_is_whole(tmp_path: Path, encrypted: bool) -> None:
    """Otherwise the tests below would refuse for another reason."""
    sealed = forge_tar(tmp_path, entry(PATH, DATA), GOOD, encrypted)

    assert sealed.codes() == []
    assert unpack(sealed.bundle, sealed.manifest, tmp_path / "into", sealed.identities) == tuple(GOOD)
    assert (tmp_path / "into" / PATH).read_bytes() == DATA


def member(name: str = PATH, data: bytes = DATA, form: int = tarfile.USTAR_FORMAT, **fields: Any) -> bytes:
    """A member as Python's tarfile writes it."""
    info = tarfile.TarInfo(name)
    info.mode, info.size = 0o600, len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE):
        info.size, data = 0, b""
    return info.tobuf(form) + data + bytes(-len(data) % 512)


def test_a_member_of_tarfile_is_one_of_ours_if_nothing_is_odd_about_it() -> None:
    odd = bytearray(member())
    ours = entry(PATH, DATA)

    assert tar_header.read_header(ours[:512]) == (PATH, len(DATA))
    assert tarfile.TarInfo.frombuf(ours[:512], "utf-8", "strict").name == PATH
    assert odd[:148] == ours[:148]


TAR_TRICKS: dict[str, bytes] = {
    "symlink": member(type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": member(type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    "character device": member(type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    "block device": member(type=tarfile.BLKTYPE, devmajor=8),
    "fifo": member(type=tarfile.FIFOTYPE),
    "folder": member(type=tarfile.DIRTYPE),
    "contiguous": member(type=tarfile.CONTTYPE),
    "old type": member(type=tarfile.AREGTYPE),
    "sparse": member(type=tarfile.GNUTYPE_SPARSE),
    "setuid": member(mode=0o4600),
    "executable": member(mode=0o700),
    "owner": member(uid=1000, uname="somebody"),
    "time": member(mtime=1),
    "link name": member(linkname="x"),
    "PAX header": member(form=tarfile.PAX_FORMAT, pax_headers={"path": "/etc/passwd"}),
    "PAX size": member(form=tarfile.PAX_FORMAT, pax_headers={"size": "1"}),
    "global PAX": tarfile.TarInfo.create_pax_global_header({"path": "/x"}) + entry(PATH, DATA),
    "GNU long name": member(name="folders/notes/" + "a" * 300, form=tarfile.GNU_FORMAT),
    "GNU header": member(form=tarfile.GNU_FORMAT),
    "absolute": member(name="/" + PATH),
    "upwards": member(name="folders/../../etc/passwd"),
    "dot": member(name="./" + PATH),
    "doubled slash": member(name="folders//notes/a.md"),
    "backslash": member(name="folders\\notes"),
    "another place": member(name="elsewhere/a.md"),
    "checksum": entry(PATH, DATA)[:148] + b"000000\0 " + entry(PATH, DATA)[156:],
    "unused bytes": entry(PATH, DATA)[:511] + b"x" + entry(PATH, DATA)[512:],
    "padding": entry(PATH, DATA)[:-1] + b"x",
    "size as text": entry(PATH, DATA)[:124] + b"0000000000x\0" + entry(PATH, DATA)[136:],
    "negative size": entry(PATH, DATA)[:124] + b"\xff" * 12 + entry(PATH, DATA)[136:],
    "empty header": bytes(512) + entry(PATH, DATA),
    "twice": entry(PATH, DATA) * 2,
    "another one more": entry(PATH, DATA) + entry("folders/notes/b.md", DATA),
    "none": b"",
    "other bytes": entry(PATH, b"toe"),
    "shorter": entry(PATH, b"te"),
    "list in the middle": entry("contents.json", b"{}") + entry(PATH, DATA),
    "broken off": entry(PATH, DATA)[:-100],
}


@encrypted_or_not
@pytest.mark.parametrize("trick", TAR_TRICKS)
def test_a_trick_in_the_tar_is_refused(tmp_path: Path, trick: str, encrypted: bool) -> None:
    refused(forge_tar(tmp_path, TAR_TRICKS[trick], GOOD, encrypted), tmp_path)


@encrypted_or_not
@pytest.mark.parametrize(
    "end", [b"", bytes(512), bytes(1536), bytes(10240), bytes(1023), tar_header.END + b"x", entry("x", b"")], ids=len
)
def test_a_tar_ends_with_two_empty_blocks_and_nothing_else(tmp_path: Path, end: bytes, encrypted: bool) -> None:
    refused(forge_tar(tmp_path, entry(PATH, DATA), GOOD, encrypted, end=end), tmp_path)


SKIPPABLE = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"


def _wide_window(data: bytes) -> bytes:
    wide = zstandard.ZstdCompressionParameters(
        window_log=24, compression_level=3, write_checksum=True, write_content_size=False
    )
    return compress_with(wide, data)


def compress_with(parameters: zstandard.ZstdCompressionParameters, data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(data) + compressor.flush()


def _bad_checksum(frame: bytes) -> bytes:
    return frame[:-1] + bytes([frame[-1] ^ 1])


FRAME_TRICKS: dict[str, Callable[[bytes], bytes]] = {
    "two frames": lambda tar: compress(tar[:512]) + compress(tar[512:]),
    "an empty frame after": lambda tar: compress(tar) + compress(b""),
    "an empty frame before": lambda tar: compress(b"") + compress(tar),
    "a skippable frame before": lambda tar: SKIPPABLE + compress(tar),
    "a skippable frame after": lambda tar: compress(tar) + SKIPPABLE,
    "a byte after": lambda tar: compress(tar) + b"\0",
    "no checksum": lambda tar: compress(tar, write_checksum=False),
    "wrong checksum": lambda tar: _bad_checksum(compress(tar)),
    "a large window": _wide_window,
    "a frame in a frame": lambda tar: compress(compress(tar)),
    "not compressed": lambda tar: tar,
    "nothing": lambda tar: b"\0",
    "broken off in the checksum": lambda tar: compress(tar)[:-1],
    "broken off before the checksum": lambda tar: compress(tar)[:-4],
    "broken off in the header": lambda tar: compress(tar)[:5],
    "gzip": gzip.compress,
}


@encrypted_or_not
@pytest.mark.parametrize("trick", FRAME_TRICKS)
def test_anything_but_one_whole_plain_frame_is_refused(tmp_path: Path, trick: str, encrypted: bool) -> None:
    listed = entry("contents.json", contents_bytes(Contents(tuple(GOOD), (), ()))) if encrypted else b""
    tar = entry(PATH, DATA) + listed + tar_header.END

    refused(forge(tmp_path, FRAME_TRICKS[trick](tar), GOOD, encrypted), tmp_path)


@each("cut", [1, 2, 3, 5, 7, 64])
def test_a_frame_is_walked_alike_however_it_is_cut(cut: int) -> None:
    frame = compress(bytes(range(256)) * 4000)
    source = io.BytesIO(frame)

    class Small:
        def read(self, size: int) -> bytes:
            return source.read(cut)

    walked = SingleFrame(Small())
    assert b"".join(iter(lambda: walked.read(4096), b"")) == frame


# Lists


def test_a_manifest_that_lists_fewer_or_more_members_is_refused(tmp_path: Path) -> None:
    files = {"folders/notes/a.md": b"a", "folders/notes/b.md": b"b"}
    a, b = (artifact(path, data) for path, data in files.items())

    for number, listed in enumerate(([], [a], [b], [a, b, artifact("folders/notes/c.md", b"c")])):
        folder = tmp_path / str(number)
        folder.mkdir()
        refused(forge_tar(folder, tar_of(files), listed), folder)


@encrypted_or_not
def test_members_in_another_order_are_refused(tmp_path: Path, encrypted: bool) -> None:
    files = {"folders/notes/b.md": b"b", "folders/notes/a.md": b"a"}
    listed = [artifact(path, data) for path, data in sorted(files.items())]

    refused(forge_tar(tmp_path, tar_of(files), listed, encrypted), tmp_path)


BAD_PATHS = {
    "absolute": ["/etc/passwd"],
    "upwards": ["folders/notes/../../x"],
    "dot": ["folders/notes/./x"],
    "empty part": ["folders/notes//x"],
    "trailing slash": ["folders/notes/"],
    "backslash": ["folders/notes/a\\b"],
    "newline": ["folders/notes/a\nb"],
    "delete": ["folders/notes/a\x7f"],
    "elsewhere": ["keys/own.json"],
    "list itself": ["contents.json"],
    "hashed": ["long/" + "0" * 64],
    "too long a part": ["folders/notes/" + "a" * 256],
    "too long": ["folders/notes/" + "a/" * 60 + "b" * 200 + "/" + "c" * 255 + ("/" + "d" * 255) * 7],
    "too deep": ["folders/notes" + "/a" * 70],
    "twice": ["folders/notes/a", "folders/notes/a"],
    "case": ["folders/notes/A", "folders/notes/a"],
    "accents": ["folders/notes/e\u0301", "folders/notes/\u00e9"],
    "sharp s": ["folders/notes/STRASSE", "folders/notes/straße"],
    "below a file": ["folders/notes/a", "folders/notes/a/b"],
    "below another case": ["folders/notes/A/b", "folders/notes/a"],
    "out of order": ["folders/notes/b", "folders/notes/a"],
    "store not first": ["folders/notes/a", "store/memory.db"],
}


@pytest.mark.parametrize("trick", BAD_PATHS)
def test_a_manifest_with_such_paths_is_refused(tmp_path: Path, trick: str) -> None:
    sealed = seal(tmp_path)
    listed = [
        {"path": path, "kind": artifact(path, b"").kind, "size": 0, "sha256": "0" * 64} for path in BAD_PATHS[trick]
    ]

    alter(sealed, artifacts=listed)

    assert isinstance(fault_of(sealed.look()), SnapshotDamaged)
    with pytest.raises(SnapshotDamaged):
        read_manifest(sealed.manifest_file.read_bytes())


@pytest.mark.parametrize("trick", [one for one in BAD_PATHS if one not in ("too long", "hashed", "list itself")])
def test_an_encrypted_list_with_such_paths_is_refused(tmp_path: Path, trick: str) -> None:
    paths = BAD_PATHS[trick]
    listed = [artifact(path, b"") for path in paths]

    refused(forge_tar(tmp_path, b"".join(_lenient(path) for path in paths), listed, encrypted=True), tmp_path)


def _lenient(path: str) -> bytes:
    try:
        return entry(path, b"")
    except canonical.Malformed:
        return entry("folders/notes/other", b"")


def test_an_artifact_of_another_kind_than_its_path_is_refused(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    shape = orjson.loads(sealed.manifest_file.read_bytes())
    shape["artifacts"][1]["kind"] = "store"

    alter(sealed, artifacts=shape["artifacts"])

    assert sealed.codes() == ["damaged"]


def test_an_encrypted_list_must_have_what_the_manifest_counts(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")

    alter(sealed, leftCount=1)

    assert "damaged" in sealed.codes()


def test_an_encrypted_manifest_that_lists_its_members_is_refused(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")

    alter(sealed, artifacts=[])

    assert sealed.codes() == ["damaged"]


@pytest.mark.parametrize("name", ["bundle", "manifest"])
@pytest.mark.parametrize("thing", ["link", "fifo", "folder"])
def test_a_file_of_a_snapshot_is_a_regular_file(tmp_path: Path, name: str, thing: str) -> None:
    sealed = seal(tmp_path)
    path = sealed.bundle if name == "bundle" else sealed.manifest_file
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    if thing == "link":
        path.symlink_to(elsewhere)
    elif thing == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()

    assert isinstance(fault_of(sealed.look()), SnapshotDamaged)


def test_unpacking_never_follows_a_link_that_lies_in_its_way(tmp_path: Path) -> None:
    sealed, outside = seal(tmp_path), tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "into" / "folders").symlink_to(outside)

    with pytest.raises(StorageFailed):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "into")

    assert list(outside.iterdir()) == []
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["folders"]


def test_unpacking_never_overwrites_a_file(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    mine = tmp_path / "into" / "store" / "memory.db"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")

    with pytest.raises(StorageFailed):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "into")

    assert mine.read_bytes() == b"mine"
    assert SMALL["store/memory.db"] != b"mine"
