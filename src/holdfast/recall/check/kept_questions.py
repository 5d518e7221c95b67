"""The questions of a tenant that are kept, and the small files they lie in: ids and hashes of their answers.

<home>/questions/<tenant>/kept.json has the questions, checks.json what the last check of them found. A question is the
id of the observation that holds its text, so it is forgotten with it; only where the settings say so it is the text
itself. None of this is memory: files that cannot be read count as empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from holdfast.core.background import AnsweredRecord
from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.core.session_keys import key_of

MOST_KEPT = 500
MOST_HITS = 5  # of an answer: what a caller reads
_MOST_BYTES = 4_000_000
_VERSION = 1

Answer = tuple[AnsweredRecord, ...]


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """A question, and how it was answered last."""

    id: str
    at: int  # when it was asked; a replay takes it for now
    source: str  # id of the observation whose text it is; "" if the text itself is kept
    text: str
    project: str | None
    here: str | None
    agent: str | None
    kinds: tuple[str, ...]
    limit: int
    answer: Answer
    seq: int  # the last write before that answer

    def answered(self, answer: Answer, seq: int) -> KeptQuestion:
        """The same with a newer answer."""
        return replace(self, answer=answer, seq=seq)


def question_id(*parts: object) -> str:
    """One id for the same question in the same place."""
    return f"q_{sha256(repr(parts).encode()).hexdigest()[:16]}"


def questions_folder(home: Path, tenant: str) -> Path:
    return home / "questions" / key_of(tenant)


def read_questions(home: Path, tenant: str) -> list[KeptQuestion]:
    """All that are kept, the oldest first."""
    return [one for row in _read(_kept(home, tenant)) if (one := question_of(row)) is not None]


def write_questions(home: Path, tenant: str, questions: Iterable[KeptQuestion]) -> None:
    """Keep these and no others.

    Raises:
        StorageFull, StorageFailed: those that were kept before still are.
    """
    rows = [question_row(one) for one in questions]
    write_json(_kept(home, tenant), {"version": _VERSION, "questions": rows})


def with_new(kept: Sequence[KeptQuestion], new: Iterable[KeptQuestion]) -> list[KeptQuestion]:
    """Both, the same question once; if they are too many, those go that lie closest to others in time, so that those
    that stay are spread over all of it."""
    latest = {one.id: one for one in (*kept, *new)}
    rows = sorted(latest.values(), key=lambda one: one.at)
    while len(rows) > MOST_KEPT:
        gaps = (rows[at + 1].at - rows[at - 1].at for at in range(1, len(rows) - 1))
        del rows[1 + min(enumerate(gaps), key=lambda pair: pair[1])[0]]
    return rows


def write_json(path: Path, value: Any) -> None:
    """Replace a file by this value, durably.

    Raises:
        StorageFull, StorageFailed: it holds what it held.
    """
    with disk_faults(f"write {path.name}"):
        make_folder(path.parent)
    write_durably(path, orjson.dumps(value))


def read_json(path: Path) -> dict[str, Any]:
    """What a file holds; {} if there is none, or it cannot be read."""
    try:
        with path.open("rb") as file:
            value = orjson.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) and value.get("version") == _VERSION else {}


def answer_rows(answer: Answer) -> list[list[str]]:
    return [[one.id, one.line, one.digest] for one in answer]


def answer_of(rows: Any) -> Answer | None:
    """The answer that such rows are; None if they are none."""
    if not isinstance(rows, list) or not all(_is_record(row) for row in rows):
        return None
    return tuple(AnsweredRecord(*row) for row in rows)


def _is_record(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(part, str) for part in row)


def _kept(home: Path, tenant: str) -> Path:
    return questions_folder(home, tenant) / "kept.json"


def _read(path: Path) -> list[Any]:
    rows = read_json(path).get("questions")
    return rows if isinstance(rows, list) else []


def question_row(one: KeptQuestion) -> dict[str, Any]:
    """A question as it is written."""
    row = {name: getattr(one, name) for name in KeptQuestion.__slots__}
    return row | {"answer": answer_rows(one.answer), "kinds": list(one.kinds)}


_TYPES = {
    "id": str, "at": int, "source": str, "text": str, "project": str | None, "here": str | None, "agent": str | None,
    "limit": int, "seq": int,
}  # fmt: skip


def question_of(row: Any) -> KeptQuestion | None:
    """The question that a row is; None if it is none."""
    if not isinstance(row, dict) or set(row) != set(KeptQuestion.__slots__):
        return None
    answer, kinds = answer_of(row["answer"]), row["kinds"]
    if answer is None or not isinstance(kinds, list) or not set(map(str, kinds)) <= {"memory", "observation"}:
        return None
    if not all(isinstance(row[name], kind) for name, kind in _TYPES.items()):
        return None
    return KeptQuestion(**{**row, "answer": answer, "kinds": tuple(kinds)})
