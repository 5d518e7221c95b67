"""age encryption in one place: what a reader or writer raises comes out, and a wrong key is not damage."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from rows import each

import holdfast
from holdfast.core.age import (
    NotIntact,
    WrongIdentity,
    decrypt,
    decrypt_stream,
    encrypt,
    encrypt_stream,
    identity_of,
    is_pair,
    recipient_of,
)

pytestmark = pytest.mark.quick

IDENTITY, STRANGER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
DATA = b"rows of a memory" * 40_000


@pytest.fixture
def sealed() -> bytes:
    return encrypt(DATA, [IDENTITY.to_public()])


def test_a_wrong_key_and_damage_are_told_apart(sealed: bytes) -> None:
    assert decrypt(sealed, [STRANGER, IDENTITY]) == DATA
    with pytest.raises(WrongIdentity):
        decrypt(sealed, [STRANGER])
    with pytest.raises(NotIntact):
        decrypt(sealed[:-1], [IDENTITY])


def test_a_stream_tells_them_apart_too(sealed: bytes) -> None:
    plain = bytearray()
    decrypt_stream(iter([sealed[:9], sealed[9:]]), plain.extend, [IDENTITY])
    assert plain == DATA
    with pytest.raises(WrongIdentity):
        decrypt_stream(iter([sealed]), plain.extend, [STRANGER])
    with pytest.raises(NotIntact):
        decrypt_stream(iter([sealed[:-1]]), plain.extend, [IDENTITY])


class OfTheSource(OSError):
    pass


class OfTheDisk(OSError):
    pass


def _broken(data: bytes) -> Iterator[bytes]:
    yield data[:70_000]
    raise OfTheSource


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_what_the_source_or_the_disk_raises_is_raised(sealed: bytes, taken: int) -> None:
    def full(data: bytes) -> None:
        written.append(data)
        if len(written) > taken:
            raise OfTheDisk

    for work, data, key in (
        (decrypt_stream, sealed, IDENTITY), (encrypt_stream, DATA, IDENTITY.to_public()),
    ):  # fmt: skip
        written: list[bytes] = []
        with pytest.raises(OfTheDisk):
            work(iter([data]), full, [key])
        with pytest.raises(OfTheSource):
            work(_broken(data), [].append, [key])


@each("text", ["", "age1", "AGE-SECRET-KEY-1QQQ", "ssh-ed25519 AAAA", 7, None])
def test_what_is_no_key_is_none(text: object) -> None:
    assert recipient_of(text) is None
    assert identity_of(text) is None


def test_a_pair_opens_what_is_encrypted_for_it() -> None:
    assert is_pair(IDENTITY.to_public(), [STRANGER, IDENTITY])
    assert not is_pair(IDENTITY.to_public(), [STRANGER])


def test_no_other_module_imports_the_library() -> None:
    found = [
        path.name
        for path in Path(holdfast.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import) and any(one.name.split(".")[0] == "pyrage" for one in node.names)
    ]
    assert found == ["age.py"]
