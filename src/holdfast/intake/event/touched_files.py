"""Finds the files that an event touched: named fields, patch headers, commands and mentions in prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.intake.event.hook_event import HookEvent

MAX_FILES = 20
MAX_PATH = 511
MAX_SHOWN = 48

_PATH_KEYS = frozenset(
    "file_path filepath path filePath file AbsolutePath absolutePath absolute_path notebook_path "
    "notebookPath TargetFile target_file relative_path DirectoryPath SearchPath old_path new_path".split()
)
_LIST_KEYS = frozenset({"files", "paths", "file_paths", "filePaths"})
_NESTED_KEYS = frozenset({"edits", "changes", "diffs", "file", "items", "files"})
_PATTERN_KEYS = ("pattern", "glob", "glob_pattern")

_EXTENSIONS = frozenset(
    """py pyi ipynb js mjs cjs jsx ts tsx mts vue svelte json jsonl toml yaml yml ini cfg conf env lock
    md mdx rst txt csv tsv rs go java kt kts scala c h cc cpp hpp cs swift m rb php pl lua r jl sh bash zsh
    fish ps1 bat sql db sqlite html htm css scss sass less xml svg png jpg jpeg gif pdf proto graphql tf hcl
    gradle ex exs erl hs ml clj dart zig nim sol log diff patch makefile dockerfile""".split()
)
_FOLDERS = frozenset(
    "src lib app apps tests test docs doc scripts bin cmd pkg packages internal include config examples "
    "services components crates public assets migrations .github tools".split()
)
_BARE_NAMES = frozenset({"makefile", "dockerfile", "justfile", "procfile", "gemfile", "rakefile"})
_TOKEN = re.compile(r"[^\s'\"`()<>|;&,=]+")
_LINE_SUFFIX = re.compile(r"(?::\d+){1,2}:?$|::\S*$")
_PATTERN_SIGNS = re.compile(r"[*?\[\](){}|^$+\\]")
_SED = re.compile(r"[sy]([/|#,]).*\1.*\1")
_PATCH_HEADER = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ b/|--- a/)(?P<path>[^\n\t]{1,511})",
    re.MULTILINE,
)


def files_of(happening: HookEvent, command: str) -> tuple[str, ...]:
    """At most 20 different paths, in the order in which they were found."""
    return tuple(_kept(_every_path(happening, command)))


def _every_path(happening: HookEvent, command: str) -> Iterator[str]:
    yield from _named(happening.input, 2)
    yield from _named(happening.fields, 2)
    if isinstance(happening.output, dict):
        yield from _named(
            {key: happening.output[key] for key in ("filePath", "file_path") if key in happening.output}, 0
        )
    for key in _PATTERN_KEYS:
        pattern = happening.input.get(key)
        if isinstance(pattern, str) and not _PATTERN_SIGNS.search(pattern) and looks_like_path(pattern):
            yield pattern
    yield from patched_paths(patch_of(happening))
    yield from mentioned_paths(command.partition("<<")[0][:4_000])
    yield from mentioned_paths(f"{happening.prompt[:8_000]}\n{happening.said[:8_000]}")


def patch_of(happening: HookEvent) -> str:
    """The text of a patch, wherever the tool takes it, or nothing."""
    texts = [
        happening.input_text,
        *(happening.input.get(key) for key in ("input", "patch", "patchText", "diff", "command")),
    ]
    for text in texts:
        if isinstance(text, list):
            text = "\n".join(part for part in text if isinstance(part, str))
        if isinstance(text, str) and ("*** Begin Patch" in text or "\n+++ b/" in text or text.startswith("--- a/")):
            return text
    return ""


def patched_paths(patch: str) -> list[str]:
    return [match.group("path").strip() for match in _PATCH_HEADER.finditer(patch)]


def mentioned_paths(text: str) -> Iterator[str]:
    """Words of a command or a prompt that are surely paths."""
    for token in _TOKEN.findall(text):
        if len(token) > MAX_PATH + 40:
            continue
        word = _LINE_SUFFIX.sub("", token.lstrip("@").rstrip(".:!?"))
        if not _SED.match(word) and looks_like_path(word):
            yield word


def looks_like_path(word: str) -> bool:
    """A known ending, or a beginning that only paths have; never a URL, an option or a version."""
    if not 2 <= len(word) <= MAX_PATH or "://" in word or word.startswith("-") or any(sign in word for sign in "*{}$"):
        return False
    if any(char.isspace() for char in word) or word.startswith(("/dev/", "//")):
        return False
    name = word.replace("\\", "/").rpartition("/")[2]
    if has_known_ending(name) or name.lower() in _BARE_NAMES:
        return True
    first = word.partition("/")[0]
    return "/" in word and (first in _FOLDERS or first in (".", "..", "~")) and len(name) > 1


def has_known_ending(name: str) -> bool:
    stem, _, ending = name.rpartition(".")
    return bool(stem) and ending.lower() in _EXTENSIONS


def _named(value: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in _PATH_KEYS and isinstance(item, str):
            yield item
        elif key in _LIST_KEYS and isinstance(item, list):
            yield from (part for part in item if isinstance(part, str))
        if key in _NESTED_KEYS and depth:
            for part in item if isinstance(item, list) else [item]:
                yield from _named(part, depth - 1)


def _kept(paths: Iterable[str]) -> list[str]:
    kept: dict[str, None] = {}
    for path in paths:
        clean = path.strip()
        if (
            clean
            and len(clean) <= MAX_PATH
            and clean.isprintable()
            and not clean.startswith(("data:", "[image]", "/dev/"))
        ):
            kept.setdefault(clean)
        if len(kept) == MAX_FILES:
            break
    return list(kept)


def short_path(path: str, cwd: str = "") -> str:
    """How a title names a path: as seen from the working folder, whole when that is short, else its last two parts."""
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        path = path[len(cwd.rstrip("/")) + 1 :]
    if len(path) <= MAX_SHOWN and not path.startswith(("/", "~")) and path[1:3] != ":\\":
        return path
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    return "/".join(parts[-2:]) if parts else path
