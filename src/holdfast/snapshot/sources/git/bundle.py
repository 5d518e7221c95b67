"""Histories as git bundles: made of a repository's objects, and taken apart without trusting them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from holdfast.snapshot.sources.git.git_command import OID, Git, GitFailed, is_ref

_MAGIC = b"# v2 git bundle\n"
_REFS = 100_000
_LINE = 2_000


@dataclass(frozen=True, slots=True)
class BundleHeads:
    """What a bundle claims to hold."""

    refs: Mapping[str, str]
    head: str | None  # what HEAD pointed to


def make_bundle(git: Git, refs: Mapping[str, str], head: str | None, shallow: Iterable[str], out: Path) -> None:
    """Write the whole history of the refs and HEAD; the same repository gives the same bytes.

    Raises:
        GitFailed: an object is missing or broken.
    """
    packed = "".join(f"{oid} {name}\n" for name, oid in sorted(refs.items()))
    (git.folder / "packed-refs").write_text(packed)
    (git.folder / "HEAD").write_text(f"{head}\n" if head else "ref: refs/heads/none\n")
    write_shallow(git, shallow)
    git.run("bundle", "create", "--quiet", "--version=2", str(out), "--all", *(["HEAD"] if head else []))


def take_bundle(git: Git, bundle: Path, shallow: Iterable[str] = ()) -> BundleHeads:
    """Put a bundle's objects into an empty repository, every one of them checked; no ref is set.

    `git fetch` looks at a bundle's objects only since 2.46, so the pack goes through index-pack, which always does.

    Raises:
        GitFailed: it is no bundle, or objects are malformed, dangerous or missing.
    """
    write_shallow(git, shallow)
    try:
        with bundle.open("rb") as file:
            heads = _heads(file)
            # git reads from the handle itself, where Python's reader is already further.
            os.lseek(file.fileno(), file.tell(), os.SEEK_SET)
            git.run("index-pack", "--stdin", "--strict", given=file)
    except OSError as error:
        raise GitFailed("the bundle cannot be read") from error
    tips = sorted({*heads.refs.values(), *([heads.head] if heads.head else [])})
    git.run("rev-list", "--objects", "--quiet", "--stdin", given="".join(f"{tip}\n" for tip in tips).encode())
    return heads


def write_shallow(git: Git, shallow: Iterable[str]) -> None:
    lines = "".join(f"{oid}\n" for oid in sorted(shallow))
    if lines:
        (git.folder / "shallow").write_text(lines)


def _heads(file: IO[bytes]) -> BundleHeads:
    if file.readline(_LINE) != _MAGIC:
        raise GitFailed("not a git bundle")
    refs: dict[str, str] = {}
    head = None
    while (line := file.readline(_LINE)) != b"\n":
        oid, _, name = line.decode("utf-8", "replace").removesuffix("\n").partition(" ")
        # A line beginning with "-" names what must be there already: a part of a history is no memory.
        if not line.endswith(b"\n") or not OID.fullmatch(oid) or len(refs) >= _REFS:
            raise GitFailed("the bundle's head is malformed")
        if name == "HEAD":
            head = oid
        elif is_ref(name) and name not in refs:
            refs[name] = oid
        else:
            raise GitFailed("the bundle has invalid refs")
    return BundleHeads(refs, head)
