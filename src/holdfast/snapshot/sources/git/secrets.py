"""Secrets anywhere in a history: in files of any commit, in messages, in names of files and refs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from holdfast.snapshot.sources.git.bundle import take_bundle
from holdfast.snapshot.sources.git.git_command import Git, GitFailed
from holdfast.snapshot.sources.text_chunks import Counts, Read, clean, pieces

_TREE = 64_000_000
_OID = 20


def rules_in_history(bundle: Path, shallow: tuple[str, ...], scratch: Path) -> tuple[Counts, int]:
    """Rules that found something in the bundle and how often; and how many of its files are no text.

    Raises:
        GitFailed: the history cannot be scanned.
    """
    git = Git.make(scratch / "scan")
    heads = take_bundle(git, bundle, shallow)
    counts: Counts = Counter()
    for name in heads.refs:
        clean(name.encode(), counts)
    unscanned = 0
    for kind, size, stream in git.objects():
        if kind == "tree":
            for entry in _names(stream, size):
                clean(entry, counts)
            continue
        texts = [clean(piece, counts) is not None for piece in pieces(_bounded(stream, size))]
        unscanned += not all(texts)
    return counts, unscanned


def _bounded(stream: IO[bytes], size: int) -> Read:
    """Reads of one object's bytes, which end where it ends."""
    rest = size

    def read(most: int) -> bytes:
        nonlocal rest
        data = stream.read(min(most, rest))
        if not data and rest:
            raise GitFailed("git cat-file failed")
        rest -= len(data)
        return data

    return read


def _names(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """The names in a tree: each entry is a mode, a space, the name, a zero byte and 20 bytes of id."""
    if size > _TREE:
        raise GitFailed("a folder in the history is too large")
    data = stream.read(size)
    at = 0
    while at < len(data):
        space, end = data.find(b" ", at), data.find(b"\0", at)
        if not at < space < end:
            raise GitFailed("a folder in the history is malformed")
        yield data[space + 1 : end]
        at = end + 1 + _OID
