"""What every vault must do. A vault's own tests inherit from this and say how one is made.

class TestMyVault(Conformance):
    @pytest.fixture
    def vault(self, tmp_path): ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO, RawIOBase
from typing import BinaryIO, cast

import pytest
from patience import WAIT_SECONDS

from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.core.ports import Upload, Vault, VaultObject

NAMES = ["a", "acme/quill/000001-x.tar.zst", "%2Ehidden/%none/x.sha256", "a-b/c", "A/~x_y", "x" * 200]
NOT_NAMES = [
    "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", ".hidden", "a/.hidden", "a\\b", "a b", "a\nb",
    "a\0b", "ä", "a:b", "a*", "x" * 300, "a/" * 600 + "a", "\ud800",
]  # fmt: skip
LARGE = bytes(range(256)) * 20_000  # five megabytes


class Breaking(RawIOBase):
    """A stream that fails in its middle, each time it is read."""

    def __init__(self) -> None:
        self.left = 3

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.left = 3
        return 0

    def read(self, size: int = -1) -> bytes:
        self.left -= 1
        if not self.left:
            raise NotFound("the source is gone")
        return b"x" * max(min(size, 100), 1)


class Dripping(BytesIO):
    """A stream that gives few bytes at a time, as networks do."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(7 if size is None or size < 0 or size > 7 else size)


def read(vault: Vault, name: str) -> bytes:
    with vault.open(name) as stream:
        return stream.read()


def parcel(name: str, data: bytes) -> Upload:
    return Upload(name, len(data), partial(BytesIO, data))


def names(vault: Vault, prefix: str = "") -> list[str]:
    return [one.name for one in vault.list(prefix)]


def refuses(call: Callable[[str], object], name: str) -> bool:
    """Whether the call says that this is no name."""
    try:
        call(name)
    except InvalidRequest:
        return True
    return False


class Conformance:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("data", [b"", b"x", LARGE], ids=["empty", "small", "large"])
    def test_what_is_put_is_read_back(self, vault: Vault, name: str, data: bytes) -> None:
        vault.put(name, BytesIO(data))

        assert read(vault, name) == data
        assert list(vault.list()) == [VaultObject(name, len(data))]

    def test_a_stream_may_come_in_small_pieces(self, vault: Vault) -> None:
        vault.put("a", Dripping(b"0123456789" * 10))

        assert read(vault, "a") == b"0123456789" * 10

    def test_nothing_is_overwritten(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"first"))

        with pytest.raises(Conflict):
            vault.put("a/b", BytesIO(b"second"))
        assert read(vault, "a/b") == b"first"
        assert list(vault.list()) == [VaultObject("a/b", 5)]

    def test_of_many_that_put_one_name_one_wins(self, vault: Vault) -> None:
        ready = threading.Barrier(8)

        def put(number: int) -> bool:
            ready.wait(WAIT_SECONDS)
            try:
                vault.put("a/b", BytesIO(bytes([number]) * 100_000))
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(put, range(8)))
        assert sum(won) == 1
        assert read(vault, "a/b") == bytes([won.index(True)]) * 100_000
        assert names(vault) == ["a/b"]

    def test_many_names_are_put_at_once(self, vault: Vault) -> None:
        def put(number: int) -> None:
            vault.put(f"a/{number:03}", BytesIO(b"x" * number))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(60)))
        assert list(vault.list("a/")) == [VaultObject(f"a/{number:03}", number) for number in range(60)]

    def test_a_source_that_fails_leaves_nothing(self, vault: Vault) -> None:
        with pytest.raises(NotFound, match="source"):
            vault.put("a/b", cast(BinaryIO, Breaking()))
        assert names(vault) == []
        vault.put("a/b", BytesIO(b"whole"))
        assert read(vault, "a/b") == b"whole"

    def test_what_is_not_there_is_not_found(self, vault: Vault) -> None:
        vault.put("a/b/c", BytesIO(b"x"))

        for name in ("a", "a/b", "a/b/c/d"):
            with pytest.raises(NotFound):
                vault.open(name)

    def test_an_empty_vault_lists_nothing_and_finds_nothing(self, vault: Vault) -> None:
        assert list(vault.list()) == []
        assert list(vault.list("a/b")) == []
        with pytest.raises(NotFound):
            vault.open("a")
        vault.delete("a")

    def test_names_are_listed_in_their_order_and_by_their_beginning(self, vault: Vault) -> None:
        put = ["a", "a-b", "a.b", "b/c", "b-", "b/c-", "b/c/d", "b0", "B", "b/%41", "c/1/x", "c/10/x", "c/2/x"]
        put.remove("b/c")  # a name is not the beginning of another's path
        for name in reversed(put):
            vault.put(name, BytesIO(name.encode()))

        assert names(vault) == sorted(put)
        for prefix in ("", "a", "a.", "b", "b/", "b/c", "b/c/", "c/1", "c/1/", "nothing", "b/c/d", "b/c/d/"):
            assert names(vault, prefix) == sorted(name for name in put if name.startswith(prefix)), prefix

    def test_what_is_deleted_is_gone_and_can_be_put_anew(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"old"))
        vault.put("a/c", BytesIO(b"other"))
        vault.delete("a/b")
        vault.delete("a/b")
        vault.delete("a")

        assert names(vault) == ["a/c"]
        with pytest.raises(NotFound):
            vault.open("a/b")
        vault.put("a/b", BytesIO(b"new"))
        assert read(vault, "a/b") == b"new"

    def test_what_is_being_read_can_be_read_to_its_end(self, vault: Vault) -> None:
        vault.put("a", BytesIO(LARGE))
        with vault.open("a") as stream:
            assert stream.read(10) == LARGE[:10]
            assert stream.read() == LARGE[10:]

    def test_what_is_no_name_is_refused(self, vault: Vault) -> None:
        for call in (
            vault.open,
            vault.stat,
            vault.delete,
            lambda name: vault.put(name, BytesIO(b"x")),
            lambda name: vault.put_all([parcel(name, b"x")]),
            lambda name: vault.replace(name, BytesIO(b"x"), "tag"),
        ):
            assert [name for name in NOT_NAMES if not refuses(call, name)] == []
        assert names(vault) == []

    def test_what_begins_no_name_is_refused(self, vault: Vault) -> None:
        vault.put("a", BytesIO(b"x"))

        prefixes = ["/", "../", "..", "a/../b", ".", "./a", "//", "a//b", "\0", "a b"]
        assert [one for one in prefixes if not refuses(lambda prefix: list(vault.list(prefix)), one)] == []

    def test_a_list_goes_on_after_any_name(self, vault: Vault) -> None:
        put = ["a", "a-b", "b/c", "b/d/e", "b/d-", "b-", "c/1", "c/2"]
        for name in put:
            vault.put(name, BytesIO(b"x"))

        for after in ("", "0", "a", "a-b", "a0", "b", "b/", "b/c", "b/d/", "b/d/e", "c/1", "c/2", "d"):
            assert [one.name for one in vault.list("", after)] == sorted(name for name in put if name > after), after
            expected = sorted(name for name in put if name > after and name.startswith("b/"))
            assert [one.name for one in vault.list("b/", after)] == expected, after

    def test_what_is_listed_is_what_a_look_says(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"12345"))

        (listed,) = vault.list("a/")
        looked = vault.stat("a/b")
        assert (listed, listed.tag) == (looked, looked.tag) == (VaultObject("a/b", 5), looked.tag)
        assert looked.tag

    def test_a_look_at_nothing_is_not_found(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"x"))

        for name in ("a", "a/b/c", "x"):
            with pytest.raises(NotFound):
                vault.stat(name)

    def test_all_are_put_in_their_order(self, vault: Vault) -> None:
        vault.put_all([parcel("a/2", b"two"), parcel("a/1", b""), parcel("b", LARGE)])

        assert list(vault.list()) == [VaultObject("a/1", 0), VaultObject("a/2", 3), VaultObject("b", len(LARGE))]
        assert [read(vault, name) for name in ("a/1", "a/2", "b")] == [b"", b"two", LARGE]
        vault.put_all([])

    def test_of_all_nothing_is_overwritten(self, vault: Vault) -> None:
        vault.put("a/2", BytesIO(b"first"))

        with pytest.raises(Conflict):
            vault.put_all([parcel("a/1", b"new"), parcel("a/2", b"second"), parcel("a/3", b"new")])
        assert read(vault, "a/2") == b"first"
        assert names(vault) == (["a/2"] if vault.can.together else ["a/1", "a/2"])

    def test_bytes_are_replaced_if_they_are_still_the_same(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"one"))
        first = vault.stat("a/b").tag
        vault.replace("a/b", BytesIO(b"two!"), first)

        assert read(vault, "a/b") == b"two!"
        assert list(vault.list()) == [VaultObject("a/b", 4)]
        with pytest.raises(Conflict):
            vault.replace("a/b", BytesIO(b"three"), first)
        assert read(vault, "a/b") == b"two!"

    def test_what_is_gone_is_not_replaced(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"one"))
        tag = vault.stat("a/b").tag
        vault.delete("a/b")

        with pytest.raises(Conflict):
            vault.replace("a/b", BytesIO(b"two"), tag)
        assert names(vault) == []

    def test_of_many_that_replace_the_same_bytes_one_wins(self, vault: Vault) -> None:
        vault.put("a/b", BytesIO(b"old"))
        tag = vault.stat("a/b").tag
        ready = threading.Barrier(6)

        def replace(number: int) -> bool:
            ready.wait(WAIT_SECONDS)
            try:
                vault.replace("a/b", BytesIO(bytes([number]) * 10_000), tag)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(replace, range(6)))
        assert sum(won) == 1
        assert read(vault, "a/b") == bytes([won.index(True)]) * 10_000

    def test_a_replacement_whose_source_fails_changes_nothing(self, vault: Vault) -> None:
        vault.put("a", BytesIO(b"old"))

        with pytest.raises(NotFound, match="source"):
            vault.replace("a", cast(BinaryIO, Breaking()), vault.stat("a").tag)
        assert read(vault, "a") == b"old"

    def test_it_says_how_it_is(self, vault: Vault) -> None:
        vault.put("a", BytesIO(b"x"))
        state = vault.state()

        assert state.free is None or state.free >= 0
        assert not state.public

    def test_it_says_where_it_is(self, vault: Vault) -> None:
        assert vault.place
        assert vault.place.isprintable()
