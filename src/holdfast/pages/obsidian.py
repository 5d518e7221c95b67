"""Records as a folder of Markdown notes with front matter and links between them, as Obsidian and others read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.disk import disk_faults
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Insight, Json, Lesson, Memory, Session
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso
from holdfast.recall.links import seen_relations
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import INSIGHTS, LESSONS, MEMORIES, RELATIONS, SESSIONS
from holdfast.text.excerpt import clip

KINDS = ("memories", "lessons", "crystals", "sessions")
SESSIONS_SHOWN = 500
INDEX = "MOC.md"
_UNSAFE = re.compile(r"[^\w.@+-]")
_LINK_SIGNS = str.maketrans({"[": "(", "]": ")", "|": "/", "\n": " "})


@dataclass(frozen=True, slots=True)
class PageNote:
    """One note: its name without a folder, how the index calls it, and its text."""

    name: str
    title: str
    text: str


def export_pages(ctx: CallContext, folder: Path, kinds: Iterable[str]) -> dict[str, int]:
    """Write the notes that the caller may see into a folder, and an index of them; how many of each kind.

    Notes of an earlier export are replaced; those of records that are gone stay.

    Raises:
        InvalidRequest: one of its folders is a link, or a file.
    """
    counts = dict.fromkeys(KINDS, 0)
    index: dict[str, list[str]] = {}
    with disk_faults("write notes"), ctx.store.snapshot() as reader:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in kinds:
            own = _own_folder(folder, kind)
            for note in _NOTES[kind](ctx, reader):
                _write(own / f"{note.name}.md", note.text)
                counts[kind] += 1
                index.setdefault(kind, []).append(f"- [[{kind}/{note.name}|{_label(note.title)}]]")
        _write(folder / INDEX, _index(ctx, index))
    return counts


def _own_folder(folder: Path, kind: str) -> Path:
    own = folder / kind
    own.mkdir(exist_ok=True)
    if own.is_symlink() or not own.is_dir():
        raise InvalidRequest(f"vaultDir: {kind} in it is a link, not a folder")
    return own


def _write(path: Path, text: str) -> None:
    """Replace the note by a rename, which follows no link."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    with temporary.open("x", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def _index(ctx: CallContext, index: Mapping[str, list[str]]) -> str:
    parts = [front_matter({"type": "moc", "exported": iso(ctx.clock.now_ms())}), "", "# Memory"]
    for kind, lines in index.items():
        parts += ["", f"## {kind.capitalize()} ({len(lines)})", *lines]
    return "\n".join([*parts, ""])


def front_matter(fields: Json) -> str:
    """The fields as YAML; JSON texts and lists are YAML too, and none of their signs can end a field."""
    lines = [f"{name}: {orjson.dumps(value).decode()}" for name, value in fields.items() if value not in (None, "")]
    return "\n".join(["---", *lines, "---"])


def _name(id: str) -> str:
    return _UNSAFE.sub("_", id)[:120].lstrip(".") or "_"


def _label(title: str) -> str:
    return clip(title.translate(_LINK_SIGNS), 100)


def _links(heading: str, ids: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(map(_name, ids)))
    return ["", f"## {heading}", *(f"- [[{one}]]" for one in names)] if names else []


def _note(id: str, title: str, fields: Json, body: str, *more: str) -> PageNote:
    head = front_matter({"id": id, **fields})
    return PageNote(_name(id), title, "\n".join([head, "", f"# {clip(title, 100)}", "", body, *more, ""]))


def _memories(ctx: CallContext, reader: Reader) -> Iterator[PageNote]:
    for one in reader.each(MEMORIES, ctx.tenant, *ctx.sees_memories(), *where(latest=True)):
        if ctx.may_see(one):
            yield _memory(one, _related(ctx, reader, one))


def _memory(one: Memory, related: list[str]) -> PageNote:
    fields = {
        "type": one.type,
        "project": one.project,
        "created": iso(one.created_at),
        "updated": iso(one.updated_at),
        "version": one.version,
        "concepts": list(one.concepts),
        "files": list(one.files),
        "tags": [_UNSAFE.sub("-", concept) for concept in one.concepts],
    }
    more = (*_links("Related", related), *_links("Supersedes", one.supersedes))
    return _note(one.id, one.title, fields, one.content, *more)


def _related(ctx: CallContext, reader: Reader, one: Memory) -> list[str]:
    both = [
        relation
        for end in ("source_id", "target_id")
        for relation in reader.find(RELATIONS, ctx.tenant, *ctx.sees(), Condition(end, "=", one.id), order="seq")
    ]
    ends = [end for found in seen_relations(ctx, reader, both) for end in (found.source_id, found.target_id)]
    return [end for end in ends if end != one.id]


def _lessons(ctx: CallContext, reader: Reader) -> Iterator[PageNote]:
    for one in reader.each(LESSONS, ctx.tenant, *ctx.sees_shared(), *where(deleted=False)):
        yield _lesson(one)


def _lesson(one: Lesson) -> PageNote:
    fields = {
        "type": "lesson",
        "project": one.project,
        "created": iso(one.created_at),
        "confidence": one.confidence,
        "reinforcements": one.reinforcements,
        "tags": [_UNSAFE.sub("-", tag) for tag in one.tags],
    }
    context = ("", "## Context", one.context) if one.context else ()
    return _note(one.id, one.content, fields, one.content, *context, *_links("Sources", one.source_ids))


def _crystals(ctx: CallContext, reader: Reader) -> Iterator[PageNote]:
    for one in reader.each(INSIGHTS, ctx.tenant, *ctx.sees(), *where(kind="crystal")):
        yield _crystal(one)


def _crystal(one: Insight) -> PageNote:
    fields = {"type": "crystal", "project": one.project, "created": iso(one.created_at), "files": list(one.files)}
    return _note(one.id, one.title, fields, one.content)


def _sessions(ctx: CallContext, reader: Reader) -> Iterator[PageNote]:
    for one in reader.find(SESSIONS, ctx.tenant, *ctx.sees(), order="-started_at", limit=SESSIONS_SHOWN):
        yield _session(one)


def _session(one: Session) -> PageNote:
    fields: dict[str, Any] = {
        "type": "session",
        "project": one.project,
        "status": one.status,
        "started": iso(one.started_at),
        "ended": iso(one.ended_at) if one.ended_at else None,
        "observations": one.observation_count,
    }
    return _note(session_name(one.id), one.title or one.first_prompt or one.project or one.id, fields, one.first_prompt)


_NOTES = {"memories": _memories, "lessons": _lessons, "crystals": _crystals, "sessions": _sessions}
