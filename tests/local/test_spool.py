"""The spool: a request that was written is there after any crash, in its place, and nothing odd in it is obeyed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.local import spool

pytestmark = pytest.mark.quick


def put(folder: Path, number: int, body: object = None) -> bool:
    return spool.keep(
        str(folder), "/agentmemory/observe", {"n": number} if body is None else body, number, f"{number:04d}"
    )


def test_requests_come_back_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    for number in (3, 1, 10, 2):
        put(tmp_path, number)
    names = spool.waiting(str(tmp_path))
    found = [spool.read(str(tmp_path), name) for name in names]
    assert [entry.body["n"] for entry in found if entry] == [1, 2, 3, 10]


def test_a_file_of_the_spool_is_for_its_owner_alone(tmp_path: Path) -> None:
    put(tmp_path, 1)
    (file,) = (tmp_path / "spool").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def test_what_was_half_written_does_not_count(tmp_path: Path) -> None:
    put(tmp_path, 1)
    (tmp_path / "spool/.000000000000002-0002.json").write_text('{"version": 1, "pa')
    assert len(spool.waiting(str(tmp_path))) == 1
    assert spool.spool_status(str(tmp_path)).waiting == 1


def test_a_full_spool_keeps_what_it_has_and_counts_what_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_FILES", 2)
    assert [put(tmp_path, number) for number in (1, 2, 3, 4)] == [True, True, False, False]
    status = spool.spool_status(str(tmp_path))
    assert (status.waiting, status.dropped, status.oldest) == (2, 2, 1)
    first = spool.read(str(tmp_path), spool.waiting(str(tmp_path))[0])
    assert first is not None
    assert first.body == {"n": 1}


def test_the_size_of_the_spool_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 300)
    assert put(tmp_path, 1, {"text": "x" * 100})
    assert not put(tmp_path, 2, {"text": "x" * 200})


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "{}", '{"version": 2, "id": "a", "path": "/x", "body": {}, "at": 1}']
)
def test_a_file_that_is_no_request_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool/1-1.json").write_text(text)
    assert spool.read(str(tmp_path), "1-1.json") is None


def test_a_link_in_the_spool_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "secret").write_text(json.dumps({"version": 1, "id": "a", "path": "/x", "body": {}, "at": 1}))
    os.symlink(tmp_path / "secret", tmp_path / "spool/1-1.json")
    with pytest.raises(OSError, match="symbolic"):
        spool.read(str(tmp_path), "1-1.json")


def test_what_is_put_aside_is_counted_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_REFUSED", 2)
    for number in (1, 2, 3):
        put(tmp_path, number)
    for name in spool.waiting(str(tmp_path)):
        spool.refuse(str(tmp_path), name)
    assert spool.spool_status(str(tmp_path)) == spool.Status(0, 0, 2, 0, None)


def test_a_folder_without_a_spool_has_nothing_waiting(tmp_path: Path) -> None:
    assert spool.spool_status(str(tmp_path)) == spool.Status()
    assert spool.waiting(str(tmp_path)) == []
