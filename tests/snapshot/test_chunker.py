"""Where a tar is cut: nothing is lost, sizes are bounded, and what moved or stayed gives the same chunks again."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from chunk_samples import database
from hypothesis import given, strategies as st

from holdfast.core.age import PullReader
from holdfast.snapshot.bundle import tar_header
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.reader import DecompressedTar
from holdfast.snapshot.chunks.chunker import LEAST, MOST, QUARTER, STRETCH, ContentChunker, cut_tar


def by_content(data: bytes, key: bytes = b"", step: int = 1 << 20) -> list[bytes]:
    cutting, found = ContentChunker(key), []
    for at in range(0, len(data), step):
        cutting.add(data[at : at + step])
        found += [bytes(chunk) for chunk, _ in cutting.whole()]
    return found + [bytes(chunk) for chunk, _ in cutting.rest()]


def tar(members: dict[str, bytes]) -> bytes:
    pieces = [
        piece
        for name, data in members.items()
        for piece in (tar_header.header(name, len(data)), data, bytes(tar_header.padding(len(data))))
    ]
    return b"".join(pieces) + tar_header.END


def cut(data: bytes, step: int = 1 << 16, key: bytes = b"") -> list[tuple[bytes, int]]:
    def pieces() -> Iterator[bytes]:
        for at in range(0, len(data), step):
            yield data[at : at + step]

    return [(bytes(chunk), size) for chunk, size in cut_tar(DecompressedTar(PullReader(pieces()), len(data)), key)]


def texts(seed: int, size: int) -> bytes:
    """Text with words that come back, as memory folders have it."""
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randrange(2, 9)).hex() for _ in range(500)]
    return " ".join(chance.choices(words, k=size // 8)).encode()[:size]


samples = st.one_of(
    st.binary(max_size=60_000),
    st.builds(bytes, st.integers(0, 60_000)),
    st.builds(texts, st.integers(0, 9), st.integers(0, 90_000)),
    st.builds(lambda unit, times: unit * times, st.binary(min_size=1, max_size=40), st.integers(0, 2_000)),
)


@given(data=samples, key=st.binary(max_size=8))
def test_chunks_are_the_bytes_and_their_sizes_are_bounded(data: bytes, key: bytes) -> None:
    found = by_content(data, key)

    assert b"".join(found) == data
    assert all(LEAST <= len(one) <= MOST for one in found[:-1])
    assert all(0 < len(one) <= MOST for one in found)


@given(seed=st.integers(0, 50), step=st.integers(700, 1 << 20))
def test_cuts_do_not_depend_on_how_the_bytes_arrive(seed: int, step: int) -> None:
    data = random.Random(seed).randbytes(1_300_000)

    assert by_content(data, step=step) == by_content(data, step=len(data))


@given(seed=st.integers(0, 200), at=st.integers(0, 199_999), new=st.binary(min_size=1, max_size=300))
def test_inserted_bytes_change_the_chunks_around_them_only(seed: int, at: int, new: bytes) -> None:
    data = texts(seed, 200_000)
    before, after = by_content(data), by_content(data[:at] + new + data[at:])

    fresh = sum(len(one) for one in set(after) - set(before))
    assert fresh <= 6 * MOST, "chunks fall into step again soon after the change"


def test_another_key_cuts_elsewhere() -> None:
    data = random.Random(4).randbytes(400_000)

    assert len(set(by_content(data, b"one")) & set(by_content(data, b"other"))) <= 2


@given(pages=st.integers(1, 40), more=st.integers(0, 3), step=st.integers(100, 9_000))
def test_databases_are_cut_into_quarters_of_pages_and_the_rest_by_content(pages: int, more: int, step: int) -> None:
    data = tar({"store/memory.db": database(pages=pages), **{f"folders/{n}/a": texts(n, 5_000) for n in range(more)}})
    found = cut(data, step)

    assert b"".join(one for one, _ in found) == data
    quarters = [one for one, size in found if size == QUARTER and len(one) % STRETCH == 0]
    assert b"".join(quarters) == database(pages=pages)


def test_a_change_in_a_page_changes_one_quarter() -> None:
    before, after = (cut(tar({"store/memory.db": database(changed=changed)})) for changed in ((), (7,)))
    quarters = [{one[at : at + 1024] for one, _ in some for at in range(0, len(one), 1024)} for some in (before, after)]

    assert len(quarters[1] - quarters[0]) == 1


@given(data=st.binary(max_size=3_000), cut_off=st.integers(1, 2_000))
def test_what_is_no_tar_is_refused(data: bytes, cut_off: int) -> None:
    whole = tar({"store/memory.db": database(pages=2), "folders/a/b": b"x" * 900})
    for wrong in (data, whole[:-1024][:-cut_off]):
        with pytest.raises(Malformed):
            cut(wrong)
