"""Data sets for retrieval: documents, questions and which documents answer them.

Nothing here ranks. LoCoMo is read from where it lies; it is not part of this repository.
"""

from __future__ import annotations

import ast
import json
import lzma
import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from pydoc_data.topics import topics

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TURN_MS = 20_000  # LoCoMo dates sessions, not turns: its turns are laid this far apart


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    text: str
    session: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Collection:
    """What one store holds, and what it is asked."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def locomo(path: Path) -> list[Collection]:
    """One collection per conversation; a turn is a document, a session a session."""
    return [_conversation(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(entry: dict[str, object]) -> Collection:
    documents = tuple(_turns(entry["conversation"]))
    known = {document.id for document in documents}
    queries = []
    for asked in entry["qa"]:
        # Some evidence holds several ids in one string, or a leading zero.
        found = re.findall(r"D:?(\d+):(\d+)", " ".join(asked.get("evidence") or []))
        gold = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in found) & known
        if gold:
            queries.append(Query(asked["question"], gold, CATEGORIES[asked["category"]]))
    return Collection(entry["sample_id"], documents, tuple(queries))


def _turns(conversation: dict[str, object]) -> Iterator[Document]:
    number = 1
    while f"session_{number}_date_time" in conversation:
        start = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        at = int(start.replace(tzinfo=UTC).timestamp() * 1000)
        for place, turn in enumerate(conversation.get(f"session_{number}") or []):
            text = f"{turn['speaker']}: {turn['text']}"
            if turn.get("blip_caption"):
                text += f" [shares a photo: {turn['blip_caption']}]"
            yield Document(turn["dia_id"], text, f"S{number}", at + place * TURN_MS)
        number += 1


def chats(path: Path) -> list[Collection]:
    """Conversations with turns and questions, one collection each; read from where they lie."""
    return [_chat(f"{path.stem} {number}", entry) for number, entry in enumerate(json.loads(path.read_text()))]


def _chat(name: str, entry: dict[str, object]) -> Collection:
    documents, last = [], 0
    for turn in entry["turns"]:
        said = int(datetime.fromisoformat(turn["at"]).timestamp() * 1000) if turn["at"] else 0
        last = max(said, last + TURN_MS if not turn["at"] else last + 1)  # turns of one moment stay in their order
        documents.append(Document(turn["id"], turn["text"], turn["session"], last))
    known = {document.id for document in documents}
    asked = ((one, frozenset(one["evidence"]) & known) for one in entry["questions"])
    queries = tuple(Query(one["question"], gold, str(one["category"])) for one, gold in asked if gold)
    return Collection(name, tuple(documents), queries)


def at_length(collections: list[Collection]) -> list[Collection]:
    """The same with long records: each session as one, and three sessions as one with all collections in one store."""
    whole = [_joined(one, 1) for one in collections]
    mixed = [_joined(one, 1, alternate=True) for one in collections]
    tripled = [_joined(one, 3) for one in collections]
    return [
        _together("sessions", whole),
        _together("sessions and turns", mixed),
        _together("three sessions", tripled),
    ]


def long_replies(collections: list[Collection]) -> Collection:
    """The same turns, but every four answers of a session are one: short remarks among long answers."""
    return _together("long replies", [_longer(one) for one in collections])


def _longer(collection: Collection) -> Collection:
    records, of, open_replies = [], {}, dict[str | None, list[Document]]()
    for turn in collection.documents:
        if not turn.text.startswith("assistant: "):
            records.append(turn)
            continue
        replies = open_replies.setdefault(turn.session, [])
        replies.append(turn)
        of[turn.id] = replies[0].id
        if len(replies) == 4:
            del open_replies[turn.session]
    for first in dict.fromkeys(of.values()):
        turns = [turn for turn in collection.documents if of.get(turn.id) == first]
        records.append(Document(first, "\n".join(turn.text for turn in turns), turns[0].session, turns[0].at))
    return Collection(collection.name, tuple(records), _asked_of(collection, of))


def _asked_of(collection: Collection, of: dict[str, str]) -> tuple[Query, ...]:
    """The same questions, where some documents became part of others."""
    return tuple(
        Query(one.text, frozenset(of.get(id, id) for id in one.gold), one.category) for one in collection.queries
    )


def _joined(collection: Collection, count: int, alternate: bool = False) -> Collection:
    """Every `count` sessions as one record without a session; with `alternate` every other record stays in turns."""
    sessions: dict[str, list[Document]] = {}
    for document in collection.documents:
        sessions.setdefault(document.session or document.id, []).append(document)
    names, records, of = list(sessions), [], {}
    for start in range(0, len(names), count):
        turns = [turn for name in names[start : start + count] for turn in sessions[name]]
        if alternate and start % 2:
            records += turns
        else:
            records.append(Document(f"from {names[start]}", "\n".join(turn.text for turn in turns), None, turns[0].at))
            of |= {turn.id: records[-1].id for turn in turns}
    return Collection(collection.name, tuple(records), _asked_of(collection, of))


def _together(name: str, collections: list[Collection]) -> Collection:
    """All of them in one store."""

    def within(collection: Collection, id: str | None) -> str | None:
        return id and f"{collection.name}/{id}"

    documents = [
        Document(within(one, document.id) or "", document.text, within(one, document.session), document.at)
        for one in collections
        for document in one.documents
    ]
    queries = [
        Query(query.text, frozenset(within(one, id) or "" for id in query.gold), query.category)
        for one in collections
        for query in one.queries
    ]
    return Collection(name, tuple(documents), tuple(queries))


def assistant() -> list[Collection]:
    """Months of three invented people with an assistant: short requests with facts in passing, long answers."""
    return [_history(path) for path in sorted((Path(__file__).parent / "assistant").glob("*.json"))]


def _history(path: Path) -> Collection:
    entry = json.loads(path.read_text(encoding="utf-8"))
    documents = []
    for session in entry["sessions"]:
        at = int(datetime.fromisoformat(session["date"]).timestamp() * 1000)
        for place, turn in enumerate(session["turns"]):
            text = f"{turn['role']}: {turn['text']}"
            documents.append(Document(turn["id"], text, session["id"], at + place * TURN_MS))
    queries = tuple(Query(one["text"], frozenset(one["evidence"]), one["type"]) for one in entry["questions"])
    return Collection(path.stem, tuple(documents), queries)


MODULES = (
    "calendar concurrent.futures._base configparser contextlib csv difflib email.message ftplib functools heapq "
    "json.decoder mimetypes random shlex shutil smtplib statistics tempfile textwrap threading urllib.parse"
).split()


def library(sessions: bool) -> Collection:
    """Python's own library: the first line of a docstring asks for the code or the prose under it.

    Functions of a module are in the order of the file, as the turns of a session if `sessions`.
    """
    root = Path(sysconfig.get_path("stdlib"))
    documents: list[Document] = []
    queries: list[Query] = []
    for module in MODULES:
        path = root / (module.replace(".", "/") + ".py")
        if path.exists():
            _module(module, path.read_text(encoding="utf-8"), sessions, documents, queries)
    return Collection(f"library{'' if sessions else ', no sessions'}", tuple(documents), tuple(queries))


def _module(name: str, text: str, sessions: bool, documents: list[Document], queries: list[Query]) -> None:
    lines = text.splitlines()
    functions = (node for node in ast.walk(ast.parse(text)))
    for node in sorted(functions, key=lambda node: getattr(node, "lineno", 0)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
            continue
        summary, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
        body = node.body[1:] if summary else node.body
        if not body:
            continue
        code = "\n".join(lines[node.lineno - 1 : body[0].lineno - 1][:1] + lines[body[0].lineno - 1 : node.end_lineno])
        id = f"{name}:{node.lineno}"
        at = len(documents) * TURN_MS
        session = name if sessions else None
        documents.append(Document(id, code[:4000], session, at))
        prose = " ".join(rest.split())
        asked = " ".join(summary.split())
        gold = {id}
        if len(prose.split()) >= 12:
            documents.append(Document(f"{id}/prose", prose, session, at + 1))
            gold.add(f"{id}/prose")
        if 4 <= len(asked.split()) <= 25 and not asked.startswith(("See ", "Implement ")):
            queries.append(Query(asked, frozenset(gold), "with prose" if len(gold) > 1 else "code"))


MANUAL_WORDS = 150  # of a passage: as long as a long message


def manual() -> Collection:
    """Python's own reference manual: a sentence asks for the passage it was taken out of; a topic is a session."""
    documents: list[Document] = []
    queries: list[Query] = []
    for topic, text in sorted(topics.items()):
        for passage in _passages(text):
            id = f"{topic}:{len(documents)}"
            sentences = re.split(r"(?<=[.:])\s+(?=[A-Z])", passage)
            # The middle one: the first often names the topic, which every passage of the topic shares.
            taken = sentences[len(sentences) // 2] if len(sentences) >= 4 else ""
            if 8 <= len(taken.split()) <= 30:
                sentences.remove(taken)
                queries.append(Query(taken, frozenset({id}), "manual"))
            documents.append(Document(id, " ".join(sentences), topic, len(documents) * TURN_MS))
    return Collection("manual", tuple(documents), tuple(queries))


def _passages(text: str) -> Iterator[str]:
    """Paragraphs put together until they make a passage, without headings and rulers."""
    words: list[str] = []
    for paragraph in text.split("\n\n"):
        if not re.search(r"[*=\-^\"]{4,}\n?$", paragraph):
            words += paragraph.split()
        if len(words) >= MANUAL_WORDS:
            yield " ".join(words)
            words = []
    if words:
        yield " ".join(words)


PACKAGES, PACKAGES_ASKED = 1_500, 400  # of a language
SHORTEST_LINE, SHORTEST_TEXT = 8, 60  # characters
_PACKAGE = re.compile(r"^Package: (\S+)\n(?:.*\n)*?Description-(?!md5)\S+: (.*)\n((?: .*\n?)*)", re.MULTILINE)


def packages(folder: Path) -> list[Collection]:
    """Debian's packages as each language describes them: the first line asks for the text under it.

    The folder holds Translation-<language>.xz, as a mirror has them under dists/bookworm/main/i18n.
    """
    return [_described(path) for path in sorted(folder.glob("Translation-*.xz"))]


def _described(path: Path) -> Collection:
    language = path.name.removeprefix("Translation-").removesuffix(".xz")
    found: dict[str, tuple[str, str]] = {}  # by the text: many packages share one
    lines: set[str] = set()
    for block in lzma.open(path, "rt", encoding="utf-8").read().split("\n\n"):
        if (entry := _PACKAGE.match(block)) is None:
            continue
        name, line = entry[1], entry[2].strip()
        text = " ".join(word for part in entry[3].splitlines() if part.strip() != "." for word in part.split())
        long_enough = len(line) >= SHORTEST_LINE and len(text) >= SHORTEST_TEXT
        if long_enough and line not in lines and text not in found and line.lower() not in text.lower():
            found[text] = (name, line)
            lines.add(line)
    rows = [(name, line, text[:1500]) for text, (name, line) in found.items()]
    random.Random(7).shuffle(rows)
    rows = rows[:PACKAGES]
    documents = tuple(Document(name, text, None, place * TURN_MS) for place, (name, _, text) in enumerate(rows))
    queries = tuple(Query(line, frozenset({name}), language) for name, line, _ in rows[:PACKAGES_ASKED])
    return Collection(language, documents, queries)
