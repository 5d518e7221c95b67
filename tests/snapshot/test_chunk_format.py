"""The format of chunks as docs/vaults.md has it, by a reader that knows nothing but that page."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from hashlib import sha256
from pathlib import Path

import pyrage
import pytest
import zstandard
from chunk_samples import add_snapshot, context_at, database, store_in
from flows import READER, identity_file, recipient

from holdfast.snapshot.remote.layout import put
from holdfast.vault.local import LocalVault

GOLDEN = Path(__file__).parent / "golden" / "chunks-1"


class Reader:
    """Any snapshot of a memory's folder, as a tar."""

    def __init__(self, folder: Path, identity: str | None = None):
        self.folder = folder
        self.identity = [pyrage.x25519.Identity.from_str(identity)] if identity else None

    def frame(self, data: bytes) -> bytes:
        if self.identity:
            data = pyrage.decrypt(data, self.identity)
        return zstandard.ZstdDecompressor().decompress(data)

    def tar(self, id: str) -> bytes:
        manifest = json.loads((self.folder / f"{id}.manifest.json").read_bytes())
        assert manifest["version"] == 2
        bundle = (self.folder / manifest["body"]["name"]).read_bytes()
        assert sha256(bundle).hexdigest() == manifest["body"]["sha256"]
        line, _, rest = bundle.partition(b"\n")
        packs = [self.chunks(pack) for pack in json.loads(line)["packs"]]
        plain = self.frame(rest)
        size, count = struct.unpack_from("<QI", plain)
        numbers = struct.unpack_from(f"<{3 * count}I", plain, 12)
        runs = zip(numbers[:count], numbers[count : 2 * count], numbers[2 * count :], strict=True)
        tar = b"".join(b"".join(packs[pack][first : first + many]) for pack, first, many in runs)
        assert len(tar) == size
        return tar

    def chunks(self, pack: dict[str, object]) -> list[bytes]:
        data = (self.folder / "packs" / str(pack["name"])).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (pack["size"], pack["sha256"])
        assert data.startswith(b"holdfast pack 1\n")
        (size,) = struct.unpack_from("<I", data, 16)
        at = 20 + size
        assert (at, sha256(data[:at]).hexdigest()) == (pack["head"], pack["headSha256"])
        directory = self.frame(data[20:at])
        blocks, chunks = struct.unpack_from("<II", directory)
        key = directory[8:40]
        numbers = struct.unpack_from(f"<{2 * blocks + chunks}I", directory, 40)
        ids = directory[40 + 4 * len(numbers) :]
        sizes, found = list(numbers[2 * blocks :]), []
        for stored, count in zip(numbers[:blocks], numbers[blocks : 2 * blocks], strict=True):
            block = io.BytesIO(self.frame(data[at : at + stored]))
            at += stored
            for _ in range(count):
                chunk = block.read(sizes[len(found)])
                digest = sha256(chunk).digest()
                own = digest if not any(key) else sha256(key + digest).digest()
                assert ids[24 * len(found) : 24 * len(found) + 24] == own[:24]
                found.append(chunk)
        assert at == len(data)
        return found


def members(tar: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(tar)) as context:
        return {one.name: context.extractfile(one).read() for one in context}  # type: ignore[union-attr]


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_reader_written_from_the_page_alone_reads_every_snapshot(encrypted: bool, tmp_path: Path) -> None:
    keys = {"snapshot_recipients": recipient(), "snapshot_identity": identity_file(tmp_path)} if encrypted else {}
    context, vault = context_at(tmp_path / "home", **keys), LocalVault(tmp_path / "vault")
    made = {}
    for sequence in (1, 2, 3):
        files = {f"{number}.md": b"# note\n" * 400 * number for number in range(1, 3 + sequence)}
        store = database(changed=range(0, 3 * sequence, 2))
        id = add_snapshot(context, sequence, store, files, [recipient()] if encrypted else [])
        put(context, vault, id)
        made[id] = {"store/memory.db": store, **{f"folders/memory/{name}": data for name, data in files.items()}}

    reader = Reader(tmp_path / "vault" / "default" / "default", str(READER) if encrypted else None)
    for id, wanted in made.items():
        found = members(reader.tar(id))
        assert {name: data for name, data in found.items() if name != "contents.json"} == wanted


def test_a_vault_of_the_first_version_is_still_read(tmp_path: Path) -> None:
    vault, about = LocalVault(GOLDEN / "vault"), json.loads((GOLDEN / "about.json").read_text())
    for id, one in about["snapshots"].items():
        identities = [about["identity"]] if one["encrypted"] else []
        assert sha256(store_in(vault, id, tmp_path, identities)).hexdigest() == one["store"]
