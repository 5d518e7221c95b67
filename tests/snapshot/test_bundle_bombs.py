"""Bundles that would fill memory, disk or time are refused by a process that has little of them.

Each runs in a child process: its address space ends 256 MB above what the interpreter and its libraries take, and the
memory it really used must stay under 256 MB altogether.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyrage
import pytest
from bundles import READER, Sealed, seal
from forging import alter, artifact, compress, entry, forge, forge_tar, reseal_bundle

from holdfast.snapshot.bundle import tar_header
from holdfast.snapshot.bundle.members import MOST_MEMBERS
from holdfast.snapshot.bundle.types import Artifact

MEGABYTE = 1024 * 1024
LIMIT = 256 * MEGABYTE

CHILD = """
import json, resource, sys
from pathlib import Path
from holdfast.core.errors import Fault
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.bundle.reader import unpack
from holdfast.snapshot.verify import Expectations, verify

folder, id, identity, into, limit = sys.argv[1:]
def of(what):
    return next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").open() if line.startswith(what))

own = of("VmSize")
resource.setrlimit(resource.RLIMIT_AS, (own + int(limit), own + int(limit)))
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
report = verify(Path(folder), id, Keyring(Path(folder) / "keys"), Expectations(None, None), [identity])
said = [one.code for one in report.findings]
if report.manifest is not None:
    try:
        unpack(Path(folder) / report.manifest.bundle_name, report.manifest, Path(into), [identity])
        said.append("unpacked")
    except Fault as fault:
        said.append(fault.code)
print(json.dumps([said, of("VmHWM")]))
"""


def said(sealed: Sealed) -> list[str]:
    """What a process with little memory finds, and how unpacking ends for it."""
    into = sealed.folder.parent / "into"
    command = [sys.executable, "-c", CHILD, str(sealed.folder), sealed.id, str(READER), str(into), str(LIMIT)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    codes, memory = json.loads(done.stdout)
    assert memory < LIMIT
    if "unpacked" not in codes:
        assert not into.exists()
    return codes


def test_a_small_bundle_unpacks_with_that_little(tmp_path: Path) -> None:
    assert said(seal(tmp_path, "encrypted")) == ["unpacked"]


def repeated(total: int, first: bytes) -> bytes:
    """A frame of a few bytes for each 128 kB: first a raw block, then blocks that repeat a zero."""
    window = b"\x58"  # 2 MB
    frame = b"\x28\xb5\x2f\xfd\x04" + window
    frame += (len(first) << 3).to_bytes(3, "little") + first
    size = 128 * 1024
    frame += ((size << 3 | 1 << 1).to_bytes(3, "little") + b"\0") * (total // size)
    return frame + (1).to_bytes(3, "little") + b"\0\0\0\0"  # an empty last block, and a checksum that is wrong


def test_more_bytes_than_the_manifest_declares_are_not_unpacked(tmp_path: Path) -> None:
    bomb = repeated(64 * 1024 * MEGABYTE, tar_header.header("store/memory.db", 4))

    assert len(bomb) < 3 * MEGABYTE
    assert said(forge(tmp_path, bomb, [artifact("store/memory.db", b"rows")])) == ["damaged", "snapshot_damaged"]


def test_a_declared_size_beyond_all_reason_is_refused_before_it_is_read(tmp_path: Path) -> None:
    size = 2**40
    bomb = repeated(1024 * MEGABYTE, tar_header.header("store/memory.db", size))

    assert said(forge(tmp_path, bomb, [Artifact("store/memory.db", "store", size, "0" * 64)])) == [
        "damaged",
        "snapshot_damaged",
    ]


def test_an_encrypted_member_beyond_all_reason_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bomb = repeated(1024 * MEGABYTE, tar_header.header("store/memory.db", 2**40))

    assert said(forge(tmp_path, bomb, [], encrypted=True)) == ["damaged", "snapshot_damaged"]


def test_an_encrypted_list_beyond_all_reason_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bomb = repeated(1024 * MEGABYTE, tar_header.header("contents.json", 512 * MEGABYTE))

    assert said(forge(tmp_path, bomb, [], encrypted=True)) == ["damaged", "snapshot_damaged"]


def test_a_frame_that_asks_for_a_gigabyte_is_refused(tmp_path: Path) -> None:
    frame = bytearray(compress(entry("store/memory.db", b"rows") + tar_header.END))
    frame[5] = 0xA0  # window of 1 GB

    assert said(forge(tmp_path, bytes(frame), [artifact("store/memory.db", b"rows")])) == [
        "damaged",
        "snapshot_damaged",
    ]


def test_a_large_member_passes_through_little_memory(tmp_path: Path) -> None:
    """Half a gigabyte of zeros is no bomb: all of it is declared. The child may write a megabyte only."""
    sealed = seal(tmp_path, "encrypted", {"store/memory.db": bytes(512 * MEGABYTE)})

    assert said(sealed) == ["storage_failed"]


def test_one_member_too_many_is_refused_where_the_list_comes_last(tmp_path: Path) -> None:
    tar = b"".join(tar_header.header(f"folders/notes/{number:06}", 0) for number in range(MOST_MEMBERS + 1))
    sealed = forge_tar(tmp_path, tar, [], encrypted=True)

    report = sealed.look()

    assert [one.code for one in report.findings] == ["damaged"]
    assert "too many members" in report.findings[0].message


def listed(count: int) -> list[dict[str, object]]:
    return [
        {"path": f"folders/notes/{number:06}", "kind": "file", "size": 0, "sha256": "0" * 64} for number in range(count)
    ]


def test_one_member_too_many_in_a_manifest_is_refused(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    alter(sealed, artifacts=listed(MOST_MEMBERS + 1))

    assert sealed.codes() == ["damaged"]


BIG = 64 * MEGABYTE


TEXTS: dict[str, Callable[[], bytes]] = {
    "lists": lambda: b'{"a":[' + b"[]," * (BIG // 3 - 4) + b"[]]}",
    "deep": lambda: b"[" * (BIG - 1),
    "objects": lambda: b'{"a":[' + b'{"a":0},' * (BIG // 8 - 4) + b"{}]}",
    "objects just not too many": lambda: b'{"a":[' + b'{"a":0},' * 490_000 + b"{}]}",
    "lists just not too many": lambda: b'{"a":[' + b'["a"],' * 490_000 + b"[]]}",
    "empty strings": lambda: b'{"a":[' + b'"",' * (BIG // 3 - 4) + b'""]}',
    "one string": lambda: b'{"a":"' + b"a" * (BIG - 10) + b'"}',
    "one number": lambda: b'{"a":' + b"1" * (BIG - 10) + b"}",
    "strings just not too long": lambda: b'{"a":[' + (b'"' + b"a" * 60_000 + b'",') * 1_100 + b'""]}',
    "keys": lambda: b"{" + b",".join(b'"%d":1' % number for number in range(2_000_000)) + b"}",
    "colons": lambda: b'{"a":' * (BIG // 6),
    "spaces": lambda: b" " * BIG,
    "quotes": lambda: b'"' * BIG,
    "backslashes": lambda: b'"' + b"\\" * (BIG - 4) + b'"',
    "too long": lambda: b"\0" * (2 * BIG),
}


@pytest.mark.parametrize("name", TEXTS)
def test_json_that_would_fill_the_memory_is_refused(tmp_path: Path, name: str) -> None:
    sealed = seal(tmp_path)

    sealed.put_bytes(TEXTS[name]() + b"\n")

    assert said(sealed) == ["damaged"]


@pytest.mark.parametrize("name", ["manifest", "bundle sidecar"])
def test_a_file_without_an_end_is_refused(tmp_path: Path, name: str) -> None:
    sealed = seal(tmp_path)
    path = sealed.manifest_file if name == "manifest" else sealed.files[1]

    with path.open("r+b") as file:
        file.truncate(2**40)  # no disk is used for it

    assert said(sealed)[0] == "damaged"


def test_a_bundle_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    with sealed.bundle.open("r+b") as file:
        file.truncate(2**40)

    assert said(sealed) == ["damaged", "snapshot_damaged"]


def test_an_age_header_without_an_end_is_refused(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")
    raw = sealed.bundle.read_bytes()
    stanza = b"-> X25519 " + b"A" * 43 + b"\n" + b"B" * 43 + b"\n"

    reseal_bundle(sealed, raw[:22] + stanza * 400_000 + raw[22:])

    assert said(sealed)[0] in ("damaged", "locked")


def test_a_passphrase_of_great_cost_is_not_tried(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")
    raw = pyrage.passphrase.encrypt(b"x", "tea")

    reseal_bundle(sealed, raw.replace(raw[raw.index(b"scrypt") :].split(b"\n")[0].split(b" ")[2], b"63", 1))

    assert said(sealed) == ["locked", "identity_needed"]
