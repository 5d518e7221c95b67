"""Packing and opening: what goes in comes out, the same input gives the same bytes, and failures leave nothing."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from bundles import FORMS, ID, READER, SMALL, STRANGER, manifest_of, seal, stage
from hypothesis import given, settings, strategies as st

from holdfast.core.errors import Fault, IdentityNeeded, InvalidRequest, SnapshotDamaged, StorageFailed
from holdfast.core.system import LOW
from holdfast.snapshot.bundle import tar_header, writer as packing
from holdfast.snapshot.bundle.encryption import fingerprint, read_identities
from holdfast.snapshot.bundle.manifest import read_manifest
from holdfast.snapshot.bundle.members import CONTENTS, check_members, member_name, place_of, refusal, twin_key
from holdfast.snapshot.bundle.reader import unpack, walk
from holdfast.snapshot.bundle.types import Capture, Redaction, SkippedItem, StagedFile
from holdfast.snapshot.bundle.writer import pack

LONG = "folders/notes/" + "/".join(["deep" * 20] * 5) + "/" + "n" * 120 + ".md"


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


part = st.text(st.characters(codec="utf-8", exclude_characters="/\\", exclude_categories=("Cc", "Cs")), min_size=1)
path = st.lists(part, min_size=1, max_size=4).map(lambda parts: "/".join(["folders", "notes", *parts]))
file_sets = st.dictionaries(path.filter(lambda one: refusal(one) is None), st.binary(max_size=2000), max_size=6)


def without_twins(files: dict[str, bytes]) -> dict[str, bytes]:
    """What a source leaves of the files: those that stand in nobody's place."""
    kept: dict[str, bytes] = {}
    keys: set[str] = set()
    for name, data in files.items():
        key = twin_key(name)
        if not any(one == key or one.startswith(key + "/") or key.startswith(one + "/") for one in keys):
            keys.add(key)
            kept[name] = data
    return kept


@settings(max_examples=40)
@given(file_sets.map(without_twins), st.sampled_from(["plain", "encrypted"]))
def test_whatever_is_packed_comes_out_again(files: dict[str, bytes], form: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sealed = seal(Path(folder), form, {"store/memory.db": b"rows", **files})

        artifacts = unpack(sealed.bundle, sealed.manifest, Path(folder) / "into", sealed.identities)

        assert files_below(Path(folder) / "into") == {"store/memory.db": b"rows", **files}
        assert [one.path for one in artifacts] == sorted({"store/memory.db", *files}, key=place_of)
        assert all(one.sha256 == hashlib.sha256(files.get(one.path, b"rows")).hexdigest() for one in artifacts)


@settings(max_examples=40)
@given(file_sets.map(without_twins), st.randoms(use_true_random=False))
def test_the_same_files_give_the_same_bytes(files: dict[str, bytes], chance: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        staged = list(stage(Path(folder) / "staging", files))
        first = pack(Capture(tuple(staged)), Path(folder) / "first", ID)
        chance.shuffle(staged)  # type: ignore[attr-defined]
        for one in staged:
            os.utime(one.source, (1, 1))
            one.source.chmod(0o644)

        second = pack(Capture(tuple(staged)), Path(folder) / "second", "000008-20270101T000000Z-ffffff")

        assert (first.sha256, first.artifacts) == (second.sha256, second.artifacts)
        assert (Path(folder) / "first").read_bytes() == (Path(folder) / "second").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_names_that_do_not_fit_a_plain_header_come_out_under_their_own(tmp_path: Path, form: str) -> None:
    files = {"store/memory.db": b"rows", LONG: b"far down", LONG + "x": b"further", "folders/notes/" + "é" * 90: b"e"}
    assert refusal(LONG) is None
    assert member_name(LONG).startswith("long/")
    sealed = seal(tmp_path, form, files)

    unpack(sealed.bundle, sealed.manifest, tmp_path / "into", sealed.identities)

    assert files_below(tmp_path / "into") == files
    assert not (tmp_path / "into" / "long").exists()
    assert sealed.codes() == []


@pytest.mark.parametrize("form", ["plain", "encrypted"])
def test_only_what_is_wanted_is_written(tmp_path: Path, form: str) -> None:
    sealed = seal(tmp_path, form, {"store/memory.db": b"rows", "folders/notes/a": b"a", LONG: b"b", LONG + "x": b"c"})

    artifacts = unpack(sealed.bundle, sealed.manifest, tmp_path / "into", sealed.identities, lambda path: path == LONG)

    assert files_below(tmp_path / "into") == {LONG: b"b"}
    assert len(artifacts) == 4


def test_files_and_folders_that_are_unpacked_are_the_owners_alone(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    unpack(sealed.bundle, sealed.manifest, tmp_path / "into")

    modes = {path.is_file(): path.stat().st_mode & 0o777 for path in (tmp_path / "into").rglob("*")}
    assert modes == {True: 0o600, False: 0o700}
    assert (tmp_path / "into").stat().st_mode & 0o777 == 0o700


def test_unpacking_the_same_bundle_twice_into_two_folders_works(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    for name in ("one", "two"):
        unpack(sealed.bundle, sealed.manifest, tmp_path / name)

    assert files_below(tmp_path / "one") == files_below(tmp_path / "two") == dict(SMALL)


def test_a_plain_bundle_is_a_tar_that_every_tar_reads(tmp_path: Path) -> None:
    sealed = seal(tmp_path, files={**SMALL, "folders/notes/" + "a" * 80 + "/" + "b" * 60: b"split"})
    tar = zstandard.ZstdDecompressor().stream_reader(sealed.bundle.read_bytes()).read()

    with tarfile.open(fileobj=BytesIO(tar)) as read:
        found = {one.name: read.extractfile(one).read() for one in read}  # type: ignore[union-attr]
    listed = subprocess.run(["tar", "-tf", "-"], input=tar, capture_output=True, check=True).stdout.decode().split()

    assert found == {**SMALL, "folders/notes/" + "a" * 80 + "/" + "b" * 60: b"split"}
    assert listed == [one.path for one in sealed.manifest.artifacts or ()]
    assert listed[0] == "store/memory.db"


def test_a_member_of_eight_gigabytes_has_a_header_that_tar_reads() -> None:
    header = tar_header.header("store/memory.db", 9 * 1024**3)

    assert tar_header.read_header(header) == ("store/memory.db", 9 * 1024**3)
    assert tarfile.TarInfo.frombuf(header, "utf-8", "strict").size == 9 * 1024**3


@settings(max_examples=300)
@given(st.binary(min_size=512, max_size=512) | st.binary(max_size=600))
def test_random_bytes_are_no_header(block: bytes) -> None:
    with pytest.raises(ValueError, match="tar"):
        tar_header.read_header(block)


@given(path, st.integers(0, 2**50))
def test_a_header_that_is_written_is_read(name: str, size: int) -> None:
    name = member_name(name)

    assert tar_header.read_header(tar_header.header(name, size)) == (name, size)


def test_an_encrypted_bundle_ends_with_the_list_of_what_it_holds(tmp_path: Path) -> None:
    left = (SkippedItem("folders/notes/link", "symlink"),)
    redaction = Redaction(applied=True, rules=(("aws", 2),), files=("folders/notes/MEMORY.md",))
    sealed = seal(tmp_path, "both", left=left, redaction=redaction)

    contents = walk(sealed.bundle, read_manifest(sealed.manifest_file.read_bytes()), identities=sealed.identities)

    assert contents.left == left
    assert contents.files == redaction.files
    assert [one.path for one in contents.artifacts] == ["store/memory.db", "folders/notes/MEMORY.md"]


def test_the_manifest_of_an_encrypted_bundle_tells_nothing_of_what_is_inside(tmp_path: Path) -> None:
    left = (SkippedItem("folders/notes/link", "symlink"),)
    sealed = seal(tmp_path, "both", left=left, redaction=Redaction(True, (), ("folders/notes/MEMORY.md",)))
    text = sealed.manifest_file.read_text()

    for data in SMALL.values():
        assert hashlib.sha256(data).hexdigest() not in text
    for word in ("notes", "MEMORY", "memory.db", "link"):
        assert word not in text
    assert read_manifest(text.encode()).hidden_left == 1
    assert read_manifest(text.encode()).redaction.hidden == 1


# Who can open it


def test_each_of_several_recipients_opens_it_alone(tmp_path: Path) -> None:
    recipients = [str(one.to_public()) for one in (READER, STRANGER)]
    bundle = pack(Capture(stage(tmp_path / "staging", SMALL)), tmp_path / "bundle", ID, recipients)
    manifest = manifest_of(bundle, recipients)

    for number, one in enumerate((READER, STRANGER)):
        unpack(tmp_path / "bundle", manifest, tmp_path / str(number), [str(one)])
        assert files_below(tmp_path / str(number)) == dict(SMALL)
    assert manifest.recipients == tuple(fingerprint(one) for one in recipients)


@pytest.mark.parametrize("identities", [[], [str(STRANGER)]], ids=["none", "another"])
def test_without_the_right_identity_nothing_is_opened(tmp_path: Path, identities: list[str]) -> None:
    sealed = seal(tmp_path, "encrypted")

    with pytest.raises(IdentityNeeded):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "into", identities)

    assert not (tmp_path / "into").exists()


def test_an_ssh_key_opens_what_was_encrypted_for_it(tmp_path: Path) -> None:
    key = tmp_path / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    recipient = key.with_suffix(".pub").read_text().strip()
    bundle = pack(Capture(stage(tmp_path / "staging", SMALL)), tmp_path / "bundle", ID, [recipient])

    unpack(tmp_path / "bundle", manifest_of(bundle, [recipient]), tmp_path / "into", read_identities(key))

    assert files_below(tmp_path / "into") == dict(SMALL)


def test_an_ssh_key_with_a_passphrase_is_refused_at_once(tmp_path: Path) -> None:
    key = tmp_path / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "tea with milk", "-f", str(key)], check=True)

    with pytest.raises(InvalidRequest, match="passphrase"):
        read_identities(key)


@pytest.mark.parametrize(
    "recipient",
    ["", "age1q", "age1xyz", str(READER), "ssh-ed25519 AAAA", "someone@example.org"],
    ids=["empty", "short", "letters", "private key", "ssh", "address"],
)
def test_a_wrong_recipient_is_refused_before_anything_is_written(tmp_path: Path, recipient: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        pack(Capture(stage(tmp_path / "staging", SMALL)), tmp_path / "bundle", ID, [recipient])

    assert not (tmp_path / "bundle").exists()
    assert not recipient or recipient not in str(caught.value), "somebody may have given the private key"


def test_identities_are_read_as_age_keygen_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "key.txt"
    file.write_text(f"# created: today\n# public key: {READER.to_public()}\n{READER}\n\n{STRANGER}\n")

    assert read_identities(file) == (str(READER), str(STRANGER))


SECRET = str(READER)[:-1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# only a comment\n",
        SECRET.encode(),
        b"age-encryption.org/v1\n-> scrypt x 18\n",
        b"-----BEGIN AGE ENCRYPTED FILE-----\n",
        b"\xff\xfe",
        b"x" * 65_537,
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + SECRET.encode() + b"\n-----END OPENSSH PRIVATE KEY-----\n",
    ],
    ids=["empty", "comment", "cut", "passphrase", "armoured passphrase", "binary", "large", "ssh"],
)
def test_a_file_without_usable_identities_is_refused_without_a_word_of_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key.txt"
    file.write_bytes(content)

    with pytest.raises(InvalidRequest) as caught:
        read_identities(file)

    fault: BaseException | None = caught.value
    while fault:
        assert SECRET[:30] not in str(fault)
        fault = fault.__cause__ or fault.__context__


@pytest.mark.parametrize("thing", ["missing", "folder", "fifo"])
def test_an_identity_file_is_a_regular_file(tmp_path: Path, thing: str) -> None:
    place = tmp_path / "key"
    if thing == "folder":
        place.mkdir()
    elif thing == "fifo":
        os.mkfifo(place)

    with pytest.raises(InvalidRequest):
        read_identities(place)


# What fails


def _one(path: str, source: Path, kind: str = "file") -> Capture:
    return Capture((StagedFile(path, kind, source),))  # type: ignore[arg-type]


def test_a_staged_file_that_grows_while_it_is_packed_is_a_fault(tmp_path: Path) -> None:
    """The file is a pipe's worth longer each time it is looked at: procfs tells a size of nought for it."""
    with pytest.raises(StorageFailed, match="changed"):
        pack(_one("folders/notes/a", Path("/proc/self/status")), tmp_path / "bundle", ID)

    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_staged_file_that_shrinks_while_it_is_packed_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encrypted: bool
) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(5 * 1024 * 1024))
    header = tar_header.header

    def shrinking(name: str, size: int) -> bytes:
        os.truncate(source, 3)
        return header(name, size)

    monkeypatch.setattr(packing.tar_header, "header", shrinking)
    recipients = [str(READER.to_public())] if encrypted else []

    with pytest.raises(StorageFailed, match="changed"):
        pack(_one("folders/notes/a", source), tmp_path / "bundle", ID, recipients)

    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_full_disk_is_never_a_success_and_leaves_nothing(tmp_path: Path, encrypted: bool) -> None:
    """A limit on the size of files makes the kernel refuse, as a full disk does."""
    staged = stage(tmp_path / "staging", {"store/memory.db": os.urandom(300_000)})
    recipients = [str(READER.to_public())] if encrypted else []
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from holdfast.core.errors import Fault\n"
        "from holdfast.snapshot.bundle.writer import pack\n"
        "from holdfast.snapshot.bundle.types import Capture, StagedFile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)\n"
        "try:\n"
        "    pack(Capture((StagedFile('store/memory.db', 'store', Path(sys.argv[1])),)), Path(sys.argv[2]), "
        f"'{ID}', sys.argv[4:])\n"
        "except Fault as fault:\n"
        "    print(fault.code)\n"
        "else:\n"
        "    print('packed')\n"
    )
    said = []
    for limit in (1_000_000, 300_000, 299_000, 150_000, 1):
        out = tmp_path / f"bundle-{limit}"
        command = [sys.executable, "-c", script, str(staged[0].source), str(out), str(limit), *recipients]
        said.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        assert out.exists() == (limit == 1_000_000)

    assert said == ["packed", *["storage_failed"] * 4]


def test_packing_never_overwrites_a_file(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(b"mine")

    with pytest.raises(Fault):
        pack(Capture(stage(tmp_path / "staging", SMALL)), tmp_path / "bundle", ID)

    assert (tmp_path / "bundle").read_bytes() == b"mine"


def test_a_staged_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")

    with pytest.raises(StorageFailed):
        pack(_one("folders/notes/a", tmp_path / "link"), tmp_path / "bundle", ID)


@pytest.mark.parametrize(
    "path", ["../x", "/x", CONTENTS, "folders/notes/a\nb", "folders/notes/\udcff", "long/" + "0" * 64]
)
def test_a_staged_path_that_no_reader_takes_is_not_packed(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidRequest):
        pack(_one(path, tmp_path), tmp_path / "bundle", ID)


def test_a_staged_file_of_another_kind_than_its_path_is_not_packed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")

    with pytest.raises(InvalidRequest, match="type"):
        pack(_one("folders/notes/a", tmp_path / "x", "store"), tmp_path / "bundle", ID)


def test_a_bundle_that_changes_after_it_was_verified_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    assert sealed.look().sound
    data = sealed.bundle.read_bytes()
    sealed.bundle.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    with pytest.raises(SnapshotDamaged):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "into")

    assert not (tmp_path / "into").exists()


def test_a_folder_that_was_there_keeps_what_it_had_when_unpacking_fails(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    (tmp_path / "into" / "folders").mkdir(parents=True)
    (tmp_path / "into" / "mine").write_bytes(b"mine")
    sealed.bundle.write_bytes(sealed.bundle.read_bytes()[:-1])

    with pytest.raises(SnapshotDamaged):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "into")

    assert sorted(path.name for path in (tmp_path / "into").rglob("*")) == ["folders", "mine"]


def test_no_thread_and_no_handle_is_left_behind(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted", {"store/memory.db": os.urandom(3_000_000)})

    def left() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    before = left()
    for number, identity in enumerate((READER, STRANGER)):
        try:
            unpack(sealed.bundle, sealed.manifest, tmp_path / str(number), [str(identity)])
        except IdentityNeeded:
            continue
    sealed.bundle.write_bytes(sealed.bundle.read_bytes()[:1_000_000])
    with pytest.raises(SnapshotDamaged):
        unpack(sealed.bundle, sealed.manifest, tmp_path / "cut", [str(READER)])

    assert left() == before


def test_paths_in_order_without_twins_are_members() -> None:
    check_members(["store/memory.db", "folders/a.json", "folders/a/x", "state/runtime.json"])


@pytest.mark.parametrize("form", ["plain", "encrypted"])
def test_a_member_of_many_pieces_comes_out_again(tmp_path: Path, form: str) -> None:
    data = os.urandom(9_000_001)
    sealed = seal(tmp_path, form, {"store/memory.db": data, "folders/notes/a": b"a"})

    unpack(sealed.bundle, sealed.manifest, tmp_path / "into", sealed.identities)

    assert files_below(tmp_path / "into") == {"store/memory.db": data, "folders/notes/a": b"a"}


def test_a_member_of_many_pieces_with_another_hash_is_refused_and_leaves_no_thread(tmp_path: Path) -> None:
    sealed = seal(tmp_path, files={"store/memory.db": os.urandom(9_000_001)})
    (artifact,) = sealed.manifest.artifacts or ()
    manifest = replace(sealed.manifest, artifacts=(replace(artifact, sha256="0" * 64),))
    before = threading.active_count()

    with pytest.raises(SnapshotDamaged, match="SHA-256 of a member"):
        unpack(sealed.bundle, manifest, tmp_path / "into")

    assert threading.active_count() == before
    assert not (tmp_path / "into").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux only")
def test_whoever_compresses_yields_to_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nice: set[int] = set()
    header = tar_header.header

    def looking(name: str, size: int) -> bytes:
        own = set(os.listdir("/proc/self/task")) - others
        nice.update(os.getpriority(os.PRIO_PROCESS, int(task)) for task in own)
        return header(name, size)

    monkeypatch.setattr(tar_header, "header", looking)
    before, others = os.getpriority(os.PRIO_PROCESS, 0), set(os.listdir("/proc/self/task"))

    seal(tmp_path, "plain", {"store/memory.db": b"rows", "folders/notes/a.md": b"one"})

    assert max(nice) == max(before, LOW)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
