"""Object storage as a vault, through obstore: a real S3 server, and one that fails in every way there is."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, RawIOBase
from typing import BinaryIO, cast

import obstore
import pytest
from conformance import Conformance, names, read
from object_server import BUCKET, READER, STRANGER, WRITER, ObjectServer

from holdfast.core.errors import (
    Conflict,
    Fault,
    LimitReached,
    NotFound,
    VaultBusy,
    VaultFull,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.core.ports import Vault, VaultObject
from holdfast.core.system import SystemEntropy
from holdfast.settings import load
from holdfast.vault.objects import IN_ONE_REQUEST, ObjectVault, object_vault
from holdfast.vault.vault_url import vault_from

BIG = bytes(range(256)) * ((IN_ONE_REQUEST + 9_000_000) // 256)


def vault_of(objects: ObjectServer, below: str, key: tuple[str, str] = WRITER) -> ObjectVault:
    return object_vault("s3", BUCKET, below, objects.settings(key), SystemEntropy())


@pytest.fixture
def below() -> str:
    return SystemEntropy().hex(12)


class TestObjectVault(Conformance):
    @pytest.fixture
    def vault(self, objects: ObjectServer, below: str) -> Vault:
        return vault_of(objects, below)


class TestObjectVaultAsItIsUsed(Conformance):
    """With the wrappers that the settings put around it."""

    @pytest.fixture
    def vault(self, objects: ObjectServer, below: str) -> Vault:
        known = objects.settings(vault_quota=10**9, vault_calls_per_hour=100_000)
        return vault_from(f"s3://{BUCKET}/{below}", known)


def hidden(vault: ObjectVault) -> list[str]:
    return [one["path"] for page in obstore.list(vault._store, ".incoming") for one in page]


def test_what_is_too_large_for_one_request_is_put_in_parts_and_never_over_another(
    objects: ObjectServer, below: str
) -> None:
    vault = vault_of(objects, below)
    vault.put("a/big", BytesIO(BIG))

    assert read(vault, "a/big") == BIG
    assert list(vault.list()) == [VaultObject("a/big", len(BIG))]
    with pytest.raises(Conflict):
        vault.put("a/big", BytesIO(b"x" + BIG))
    assert vault.stat("a/big").size == len(BIG)
    assert hidden(vault) == []


class Meanwhile(BytesIO):
    """A stream at whose end somebody else does something."""

    def __init__(self, data: bytes, vault: Vault, name: str):
        super().__init__(data)
        self._vault, self._name = vault, name

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data:
            self._vault.put(self._name, BytesIO(b"somebody's"))
        return data


def test_who_comes_first_while_parts_are_sent_is_not_overwritten(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)

    with pytest.raises(Conflict):
        vault.put("a", Meanwhile(BIG, vault, "a"))
    assert read(vault, "a") == b"somebody's"
    assert hidden(vault) == []


class Ending(RawIOBase):
    """A long stream that fails near its end."""

    def __init__(self, size: int):
        self._left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._left <= 0:
            raise NotFound("the source is gone")
        self._left -= size
        return bytes(size)


def test_parts_of_a_source_that_fails_leave_nothing(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)

    with pytest.raises(NotFound, match="source"):
        vault.put("a", cast(BinaryIO, Ending(IN_ONE_REQUEST + 20_000_000)))
    assert names(vault) == []
    assert hidden(vault) == []


def test_what_killed_uploads_left_is_neither_listed_nor_swept_while_it_is_new(
    objects: ObjectServer, below: str
) -> None:
    vault = vault_of(objects, below)
    obstore.put(vault._store, ".incoming/left", b"x")
    vault.put("a", BytesIO(BIG))

    assert names(vault) == ["a"]
    assert hidden(vault) == [".incoming/left"]


def test_only_what_fits_in_one_request_is_replaced(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    vault.put("a", BytesIO(b"x"))

    with pytest.raises(LimitReached):
        vault.replace("a", BytesIO(BIG), vault.stat("a").tag)
    assert read(vault, "a") == b"x"


class Zeros(RawIOBase):
    def __init__(self, size: int):
        self._left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        count = min(size, self._left)
        self._left -= count
        return bytes(count)


def test_memory_does_not_grow_with_what_is_sent(objects: ObjectServer, below: str) -> None:
    """By what Python holds: the pieces it hands over, whatever is in flight."""
    vault = vault_of(objects, below)
    most = []
    for size in (IN_ONE_REQUEST + 1, 5 * IN_ONE_REQUEST):
        tracemalloc.start()
        vault.put(f"{size}", cast(BinaryIO, Zeros(size)))
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < most[0] + IN_ONE_REQUEST
    assert vault.stat(f"{5 * IN_ONE_REQUEST}").size == 5 * IN_ONE_REQUEST


def test_vaults_below_other_prefixes_are_other_vaults(objects: ObjectServer, below: str) -> None:
    one, other = vault_of(objects, f"{below}/one"), vault_of(objects, f"{below}/other")
    one.put("a", BytesIO(b"1"))

    assert names(other) == []
    assert names(vault_of(objects, below)) == ["one/a"]


def test_a_prefix_ends_a_list_also_between_many(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    put = [f"m/{number:04}" for number in range(1_100)] + ["m-1", "m0", "l", "n"]
    for name in put:
        vault.put(name, BytesIO(b""))

    assert names(vault, "m/") == sorted(name for name in put if name.startswith("m/"))
    assert names(vault, "m/10") == sorted(name for name in put if name.startswith("m/10"))
    assert names(vault) == sorted(put)


# Faults


def test_a_key_that_may_only_read_is_refused(objects: ObjectServer, below: str) -> None:
    vault_of(objects, below).put("a", BytesIO(b"x"))
    reader = vault_of(objects, below, READER)

    assert read(reader, "a") == b"x"
    for call in (lambda: reader.put("b", BytesIO(b"x")), lambda: reader.delete("a")):
        with pytest.raises(VaultRefused):
            call()


@pytest.mark.parametrize("key", [STRANGER, (WRITER[0], "wrong")], ids=["unknown", "wrong"])
def test_a_key_that_is_not_taken_is_told_as_such_and_not_repeated(
    objects: ObjectServer, below: str, key: tuple[str, str]
) -> None:
    vault = vault_of(objects, below, key)
    for call in (
        lambda: vault.put("a", BytesIO(b"x")),
        lambda: vault.open("a"),
        lambda: list(vault.list()),
        vault.state,
    ):
        with pytest.raises(VaultUnauthorized) as caught:
            call()
        assert not any(part in str(caught.value.to_dict()) for part in key)
        assert caught.value.__cause__ is None


def test_a_bucket_that_is_not_there_is_no_empty_vault(objects: ObjectServer) -> None:
    vault = object_vault("s3", "nobodys-bucket", "", objects.settings(), SystemEntropy())
    for call in (lambda: vault.open("a"), lambda: list(vault.list()), lambda: vault.stat("a"), vault.state):
        with pytest.raises(VaultRefused):
            call()


class Answering(ThreadingHTTPServer):
    """A store that gives the same answer to everything; none at all for 0."""

    status, body = 200, b""
    asked = 0


class _Answer(BaseHTTPRequestHandler):
    server: Answering
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.server.asked += 1
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.server.status:
            self.close_connection = True
            return
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.server.body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def answering() -> Iterator[Answering]:
    server = Answering(("127.0.0.1", 0), _Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _s3(server: Answering) -> Vault:
    given = {"vault_endpoint": f"http://127.0.0.1:{server.server_port}", "vault_key_id": "id", "vault_key": "hunter2"}
    return object_vault("s3", "b", "", load(given, environ={}), SystemEntropy())


def _azure(server: Answering) -> Vault:
    given = {
        "vault_endpoint": f"http://127.0.0.1:{server.server_port}",
        "azure_account": "account",
        "azure_sas_token": "sv=2024-01-01&sig=hunter2",
    }
    return object_vault("az", "b", "", load(given, environ={}), SystemEntropy())


@pytest.mark.parametrize("kind", [_s3, _azure], ids=["s3", "azure"])
@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (401, b"", VaultUnauthorized),
        (403, b"", VaultRefused),
        (403, b"<Code>ExpiredToken</Code>", VaultUnauthorized),
        (404, b"<Code>NoSuchKey</Code>", NotFound),
        (404, b"<Code>NoSuchBucket</Code>", VaultRefused),
        (404, b"<Code>ContainerNotFound</Code>", VaultRefused),
        (400, b"<Code>Strange</Code>", VaultRefused),
        (429, b"", VaultBusy),
        (503, b"<Code>SlowDown</Code>", VaultBusy),
        (507, b"", VaultFull),
        (500, b"", VaultUnreachable),
        (0, b"", VaultUnreachable),
    ],
    ids=lambda value: value.code if isinstance(value, type) else None,
)
def test_faults_keep_their_kind_and_tell_no_secret(
    answering: Answering, kind: object, status: int, body: bytes, fault: type[Fault]
) -> None:
    answering.status, answering.body = status, body
    vault = kind(answering)  # type: ignore[operator]

    with pytest.raises(fault) as caught:
        read(vault, "a")
    assert "hunter2" not in str(caught.value.to_dict())
    if fault is not NotFound:
        with pytest.raises(fault):
            list(vault.list())
        with pytest.raises(Fault) as put:
            vault.put("a", BytesIO(b"x"))
        assert "hunter2" not in str(put.value.to_dict())


def test_nobody_there_is_unreachable() -> None:
    known = load({"vault_endpoint": "http://127.0.0.1:1", "vault_key_id": "id", "vault_key": "key"}, environ={})
    vault = object_vault("s3", "b", "", known, SystemEntropy())

    with pytest.raises(VaultUnreachable):
        vault.open("a")
