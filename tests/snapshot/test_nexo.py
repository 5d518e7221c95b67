"""Bundles of the earlier system: whole ones are taken over, and every trick is refused within little memory."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyrage
import pytest
import zstandard
from hypothesis import given, settings, strategies as st
from nexo_bundles import (
    COLUMNS,
    ROWS,
    SCHEMAS,
    bundle,
    database,
    digest,
    header,
    manifest_of,
    packed,
    tar_of,
    usual,
    write_bundle,
)
from patience import WAIT_SECONDS

from holdfast.core.errors import IdentityNeeded, InvalidRequest, NotFound, SnapshotDamaged, SnapshotTooNew
from holdfast.snapshot.nexo.reader import NexoRow, import_nexo, verify_nexo

FILES = {
    "MEMORY.md": b"# Memory\n",
    "topics/" + "long-name-" * 15 + ".md": b"long\n",
}


def refused(path: Path) -> str:
    """What verification says about a bundle that import refuses too."""
    report = verify_nexo(path)
    assert not report.sound
    with pytest.raises((SnapshotDamaged, SnapshotTooNew)):
        import_nexo(path)
    return report.findings[-1].message


def test_a_whole_bundle_is_sound(tmp_path: Path) -> None:
    report = verify_nexo(bundle(tmp_path))

    assert report.sound
    assert report.findings == ()
    assert report.checked == ("bytes", "seal", "members")
    assert report.manifest is not None
    assert (report.manifest.agent, report.manifest.tenant, report.manifest.label) == ("ana", "default", None)
    assert len(report.manifest.artifacts) == 5


def test_memories_and_files_are_taken_over(tmp_path: Path) -> None:
    with import_nexo(bundle(tmp_path)) as found:
        assert list(found.memories) == [
            NexoRow(
                "m1",
                "ana",
                "The amber cabinet holds fuses",
                ("home",),
                ("cabinet", "fuse"),
                "project",
                1_700_000_000_000,
            ),
            NexoRow("m2", "ana", "Prefers tea", (), (), None, 1_700_000_100_000),
        ]
        assert {one.path: one.source.read_bytes() for one in found.files} == FILES
        folder = found.folder

    assert not folder.exists()


def test_a_bundle_without_database_or_files_gives_none(tmp_path: Path) -> None:
    with import_nexo(bundle(tmp_path, {})) as found:
        assert list(found.memories) == []
        assert found.files == ()


def test_an_encrypted_bundle_is_opened_with_its_identity(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    path = bundle(tmp_path, recipient=str(identity.to_public()))

    assert verify_nexo(path, [str(identity)]).checked == ("bytes", "seal", "members")
    with import_nexo(path, [str(identity)]) as found:
        assert len(list(found.memories)) == 2


def test_an_encrypted_bundle_without_identity_is_checked_as_far_as_it_goes(tmp_path: Path) -> None:
    path = bundle(tmp_path, recipient=str(pyrage.x25519.Identity.generate().to_public()))

    report = verify_nexo(path)

    assert report.sound
    assert report.checked == ("bytes",)
    assert report.unchecked == ("members: encrypted, no identity given",)
    with pytest.raises(IdentityNeeded):
        import_nexo(path)


def test_a_wrong_identity_is_said_to_be_wrong(tmp_path: Path) -> None:
    path = bundle(tmp_path, recipient=str(pyrage.x25519.Identity.generate().to_public()))
    other = str(pyrage.x25519.Identity.generate())

    assert [one.code for one in verify_nexo(path, [other]).findings] == ["locked"]
    with pytest.raises(IdentityNeeded):
        import_nexo(path, [other])


def test_an_identity_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    path = bundle(tmp_path, recipient=str(pyrage.x25519.Identity.generate().to_public()))

    with pytest.raises(InvalidRequest) as caught:
        import_nexo(path, ["AGE-SECRET-KEY-1WRONG"])
    assert "WRONG" not in str(caught.value)


def test_nothing_decrypted_is_left_behind(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    path = bundle(tmp_path / "b", recipient=str(identity.to_public()))
    (tmp_path / "scratch").mkdir()

    verify_nexo(path, [str(identity)], tmp_path / "scratch")
    import_nexo(path, [str(identity)], tmp_path / "scratch").__exit__()

    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_bundle_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verify_nexo(tmp_path / "none.tar.zst")
    with pytest.raises(NotFound):
        import_nexo(tmp_path / "none.tar.zst")


def test_a_missing_sidecar_is_noted_only(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    path.with_name(path.name + ".sha256").unlink()

    report = verify_nexo(path)

    assert report.sound
    assert [one.note for one in report.findings] == [True]
    import_nexo(path).__exit__()


@pytest.mark.parametrize("sidecar", ["", "0" * 64, "{}\n", "  {}", "{}  name"])
def test_another_sidecar_is_refused(tmp_path: Path, sidecar: str) -> None:
    path = bundle(tmp_path)
    path.with_name(path.name + ".sha256").write_text(sidecar.format(digest(path.read_bytes())))

    assert "its content differs" in refused(path)


# Every change


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    place = tmp_path_factory.mktemp("small")
    content = {"memory_files/a.md": b"a memory\n", "memory_files/b.md": b"another\n"}
    return place, tar_of([("manifest.json", manifest_of(content)), *content.items()])


@settings(max_examples=200)
@given(data=st.data())
def test_a_changed_bit_of_the_tar_is_refused_or_means_the_same(small: tuple[Path, bytes], data: st.DataObject) -> None:
    """Below the sidecar, which refuses every change: bits that the hashes inside do not cover say nothing."""
    place, tar = small
    at = data.draw(st.integers(0, len(tar) * 8 - 1))
    changed = bytearray(tar)
    changed[at // 8] ^= 1 << (at % 8)
    path = write_bundle(place, zstandard.ZstdCompressor(level=1).compress(bytes(changed)))

    try:
        found = import_nexo(path)
    except (SnapshotDamaged, SnapshotTooNew):
        return
    with found:
        assert {one.path: one.source.read_bytes() for one in found.files} == {
            "a.md": b"a memory\n",
            "b.md": b"another\n",
        }


@given(cut=st.integers(0, 400))
def test_a_bundle_cut_anywhere_is_refused(small: tuple[Path, bytes], cut: int) -> None:
    place, tar = small
    bundle = packed(tar)

    refused(write_bundle(place, bundle[: min(cut, len(bundle) - 8)]))


@pytest.mark.parametrize("more", [b"x", bytes(512), packed(b"x"), packed(bytes(512))])
def test_a_bundle_that_goes_on_is_refused(small: tuple[Path, bytes], more: bytes) -> None:
    place, tar = small

    refused(write_bundle(place, packed(tar) + more))
    refused(write_bundle(place, packed(tar + more)))


def test_a_member_that_is_not_what_the_manifest_says_is_refused(tmp_path: Path) -> None:
    content = {"memory_files/a.md": b"good"}
    tar = tar_of([("manifest.json", manifest_of(content)), ("memory_files/a.md", b"evil")])

    assert "differs from the manifest" in refused(write_bundle(tmp_path, packed(tar)))


@pytest.mark.parametrize(
    "members",
    [
        [("memory_files/a.md", b"a")],
        [("memory_files/a.md", b"a"), ("memory_files/b.md", b"b"), ("memory_files/c.md", b"c")],
        [("memory_files/a.md", b"a"), ("memory_files/a.md", b"a")],
        [("memory_files/b.md", b"b"), ("memory_files/b.md", b"b"), ("memory_files/a.md", b"a")],
        [("memory_files/a.md", b"a"), ("manifest.json", b"b")],
    ],
)
def test_other_members_than_listed_are_refused(tmp_path: Path, members: list[tuple[str, bytes]]) -> None:
    listed = {"memory_files/a.md": b"a", "memory_files/b.md": b"b"}

    refused(write_bundle(tmp_path, packed(tar_of([("manifest.json", manifest_of(listed)), *members]))))


def test_the_manifest_must_come_first(tmp_path: Path) -> None:
    content = {"memory_files/a.md": b"a"}

    refused(write_bundle(tmp_path, packed(tar_of([*content.items(), ("manifest.json", manifest_of(content))]))))


@pytest.mark.parametrize(
    "path",
    [
        "memory_files//tmp/evil",
        "memory_files/../evil",
        "memory_files/./a",
        "memory_files/a/",
        "memory_files/a\\b",
        "memory_files/a\nb",
        "memory_files/" + "x/" * 3_000 + "y",
    ],
)
def test_paths_that_lead_out_are_refused(tmp_path: Path, path: str) -> None:
    refused(bundle(tmp_path, {path: b"evil"}))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "elsewhere/a", "manifest.json", "memory_files/", "sqlite/other.sqlite"]
)
def test_places_that_no_bundle_has_are_refused(tmp_path: Path, path: str) -> None:
    content = {"memory_files/a": b"evil"}
    value = json.loads(manifest_of(content))
    value["artifacts"][0]["path_in_bundle"] = path

    refused(write_bundle(tmp_path, packed(tar_of([("manifest.json", json.dumps(value).encode()), (path, b"evil")]))))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", tarfile.SYMTYPE),
        ("type", tarfile.LNKTYPE),
        ("type", tarfile.CHRTYPE),
        ("type", tarfile.FIFOTYPE),
        ("type", tarfile.DIRTYPE),
        ("type", tarfile.GNUTYPE_SPARSE),
        ("mode", 0o4755),
        ("mode", 0o644),
        ("mtime", 5),
        ("linkname", "/etc/passwd"),
    ],
)
def test_members_that_are_no_plain_files_are_refused(tmp_path: Path, field: str, value: Any) -> None:
    content = {"memory_files/a": b""}
    info = header("memory_files/a", 0)
    setattr(info, field, value)
    start = tar_of([("manifest.json", manifest_of(content))])[:-1_024]

    refused(write_bundle(tmp_path, packed(start + info.tobuf(tarfile.GNU_FORMAT) + bytes(1_024))))


def test_extended_headers_are_refused(tmp_path: Path) -> None:
    content = {"memory_files/a": b""}
    info = header("memory_files/a", 0)
    info.pax_headers = {"path": "/etc/evil"}
    start = tar_of([("manifest.json", manifest_of(content))])[:-1_024]

    refused(write_bundle(tmp_path, packed(start + info.tobuf(tarfile.PAX_FORMAT) + bytes(1_024))))


@pytest.mark.parametrize("version", [{"manifest_version": 2}, {"schema_versions": {**SCHEMAS, "long_term": 2}}])
def test_later_versions_are_said_to_be_too_new(tmp_path: Path, version: dict[str, Any]) -> None:
    path = bundle(tmp_path, {}, **version)

    assert [one.code for one in verify_nexo(path).findings] == ["too_new"]
    with pytest.raises(SnapshotTooNew):
        import_nexo(path)


@pytest.mark.parametrize(
    "change",
    [
        {"bundle_format": "other"},
        {"bundle_sha256": "0" * 64},
        {"snapshot_id": "../../x"},
        {"artifacts": None},
        {"artifacts": [{}]},
        {"created_at_ms": "now"},
        {"agent_id": 5},
        {"schema_versions": {}},
        {"manifest_version": True},
        {"manifest_version": 0},
    ],
)
def test_manifests_that_no_writer_makes_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    refused(bundle(tmp_path, {}, **change))


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]", b"null", b"[" * 100_000, b'{"a":1,"a":2}', b"\xff"])
def test_manifests_that_are_none_are_refused(tmp_path: Path, manifest: bytes) -> None:
    refused(write_bundle(tmp_path, packed(tar_of([("manifest.json", manifest)]))))


# Bombs, in a child that may not have much memory

CHILD = """
import resource, sys
from pathlib import Path
from holdfast.snapshot.nexo.reader import verify_nexo
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
print(verify_nexo(Path(sys.argv[1])).sound)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def verified_in_little_memory(path: Path) -> tuple[str, int]:
    """What verification answers in 1.5 GB of addresses (libraries take most of them), and the memory it really took."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(3 << 29)],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    answer, peak = done.stdout.split()
    return answer, int(peak) * 1_024


def _zeros(path: Path, head: bytes, count: int) -> None:
    """A bundle of some zeros more than would fit anywhere, packed as zstd can."""
    with path.open("wb") as out, zstandard.ZstdCompressor(level=1).stream_writer(out) as writer:
        writer.write(head)
        for _ in range(count):
            writer.write(bytes(1 << 20))
    path.with_name(path.name + ".sha256").write_text(digest(path.read_bytes()))


def test_a_member_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    content = {"memory_files/a": b""}
    value = json.loads(manifest_of(content))
    value["artifacts"][0]["size_bytes"] = 4 << 30
    manifest = json.dumps(value).encode()
    head = tar_of([("manifest.json", manifest)])[:-1_024] + header("memory_files/a", 4 << 30).tobuf(tarfile.GNU_FORMAT)
    _zeros(tmp_path / "bomb.tar.zst", head, 1_024)

    answer, peak = verified_in_little_memory(tmp_path / "bomb.tar.zst")

    assert answer == "False"
    assert peak < 256 << 20


def test_a_manifest_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    _zeros(tmp_path / "bomb.tar.zst", header("manifest.json", 4 << 30).tobuf(tarfile.GNU_FORMAT), 1_024)

    answer, peak = verified_in_little_memory(tmp_path / "bomb.tar.zst")

    assert answer == "False"
    assert peak < 256 << 20


def test_a_large_window_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=27)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(out, closefd=False) as writer:
        writer.write(tar_of([("manifest.json", manifest_of({}))]))

    assert "unpacked" in refused(write_bundle(tmp_path, out.getvalue()))


def test_a_large_whole_bundle_is_verified_in_little_memory(tmp_path: Path) -> None:
    piece = b"".join(b"%d words of a long memory\n" % number for number in range(400_000))
    content = {f"memory_files/{number}.md": piece for number in range(20)}
    tar = tar_of([("manifest.json", manifest_of(content)), *content.items()])
    path = write_bundle(tmp_path, zstandard.ZstdCompressor(level=1).compress(tar))

    answer, peak = verified_in_little_memory(path)

    assert answer == "True"
    assert peak < 256 << 20
    assert len(tar) > 200 << 20


# The database


def imported(place: Path, data: bytes) -> tuple[list[NexoRow], int]:
    with import_nexo(bundle(place, {"sqlite/long_term.sqlite": data})) as found:
        return list(found.memories), found.memories.skipped


def test_an_older_database_without_types_and_concepts_is_read(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "old.sqlite")
    db.execute("CREATE TABLE memories(id TEXT PRIMARY KEY, content TEXT, created_at INTEGER)")
    db.execute("INSERT INTO memories VALUES ('a', 'text', 5)")
    db.commit()
    db.close()

    assert imported(tmp_path, (tmp_path / "old.sqlite").read_bytes()) == (
        [NexoRow("a", "", "text", (), (), None, 5)],
        0,
    )


def test_rows_that_hold_no_text_are_skipped_and_counted(tmp_path: Path) -> None:
    rows = [
        ("a", "x", b"\xff\xfe", "[]", 1, "[]", None),
        ("b", "x", "", "[]", 1, "[]", None),
        ("c", "x", "fine", "no json", -5, '[1, "yes", ""]', "bare"),
        ("d", "x", "fine", '{"a": 1}', 1 << 62, "[" * 3_000, "5"),
    ]

    found, skipped = imported(tmp_path, database(tmp_path / "x.sqlite", rows))

    assert skipped == 2
    assert found == [
        NexoRow("c", "x", "fine", (), ("yes",), "bare", None),
        NexoRow("d", "x", "fine", (), (), "5", None),
    ]


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE VIEW memories AS SELECT 'a' AS id, 'x' AS agent_id, 'evil' AS content, '' AS tags, 1 AS created_at, "
        "'' AS concept_tags, NULL AS memory_type",
        f"CREATE TABLE memories({COLUMNS}, made TEXT AS (content || 'x'))",
        "CREATE VIRTUAL TABLE memories USING fts5(id, agent_id, content, tags, created_at, concept_tags, memory_type)",
        "CREATE TABLE memories(id TEXT, content TEXT)",
        "CREATE TABLE others(id TEXT)",
    ],
)
def test_memories_that_are_no_plain_table_are_refused(tmp_path: Path, schema: str) -> None:
    with pytest.raises(SnapshotDamaged, match="plain table"):
        imported(tmp_path, database(tmp_path / "x.sqlite", (), schema))


def test_a_database_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotDamaged):
        imported(tmp_path, b"no database" * 500)


def test_a_table_that_nothing_promises_is_looked_at_before_it_is_read(tmp_path: Path) -> None:
    rows = [(f"m{number}", "x", "words " * 200, "[]", number, "[]", None) for number in range(400)]
    data = bytearray(database(tmp_path / "x.sqlite", rows))
    page = data.index(b"words words") // 4096 * 4096
    data[page : page + 4096] = bytes(4096)

    with pytest.raises(SnapshotDamaged):
        imported(tmp_path, bytes(data))


@settings(max_examples=60)
@given(data=st.data())
def test_a_database_with_changed_bytes_gives_rows_or_a_fault(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("flip")
    raw = bytearray(database(place / "x.sqlite"))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    try:
        found, _ = imported(place, bytes(raw))
    except SnapshotDamaged:
        return
    assert len(found) <= len(ROWS)


def test_the_bundle_itself_is_never_written_to(tmp_path: Path) -> None:
    path = bundle(tmp_path, usual(tmp_path))
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    with import_nexo(path) as found:
        list(found.memories)
    verify_nexo(path)

    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
