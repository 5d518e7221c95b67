"""How the kept questions were answered at the moment of a snapshot, so that a restored one can be compared with it.

<home>/questions/<tenant>/answers/<id of the snapshot>.json, written by the server from its own copy soon after the
snapshot was made. Only ids and hashes: the text comes from the restored memory itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.context import CallContext
from holdfast.recall.check.code_version import code_version
from holdfast.recall.check.kept_questions import (
    Answer,
    KeptQuestion,
    question_of,
    question_row,
    questions_folder,
    read_json,
    read_questions,
    write_json,
)
from holdfast.recall.check.replay import as_answer, models_of, replay
from holdfast.store.tables import MEMORIES, OBSERVATIONS

MOST_SNAPSHOTS = 60
_ID = re.compile(r"[0-9A-Za-z-]{1,80}")


@dataclass(frozen=True, slots=True)
class SnapshotAnswers:
    """The questions, with their answers at that moment, and what answered them."""

    version: str
    embedder: str
    questions: tuple[KeptQuestion, ...]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a restored memory answers."""

    asked: int = 0
    same: int = 0
    changed: tuple[str, ...] = ()  # ids of questions
    missing: int = 0  # questions one of whose hits is not in that memory as it was
    version: str = ""  # of Holdfast, when the answers were noted; "" if none were
    comparable: bool = True  # the same version and embedder answer now, so any difference is one of the memory


def note_answers(
    past: CallContext, home: Path, snapshot: str, stop: Callable[[], bool] = lambda: False
) -> SnapshotAnswers | None:
    """Note how the memory of a snapshot answers; None if there is nothing to note, or it was stopped.

    Raises:
        StorageFull, StorageFailed: nothing is noted.
    """
    found: list[KeptQuestion] = []
    for question in read_questions(home, past.tenant):
        if stop():
            return None
        answer = replay(past, question)
        if answer:
            found.append(question.answered(as_answer(answer), question.seq))
    noted = SnapshotAnswers(code_version(), models_of(past), tuple(found))
    rows = [question_row(replace(one, text="")) for one in found]
    path = _path(home, past.tenant, snapshot)
    write_json(path, {"version": 1, "holdfast": noted.version, "embedder": noted.embedder, "questions": rows})
    _make_room(path.parent)
    return noted


def has_answers(home: Path, tenant: str, snapshot: str) -> bool:
    return _path(home, tenant, snapshot).is_file()


def read_answers(home: Path, tenant: str, snapshot: str) -> SnapshotAnswers | None:
    """What was noted of a snapshot; None if nothing was."""
    found = read_json(_path(home, tenant, snapshot))
    rows, version, embedder = (found.get(name) for name in ("questions", "holdfast", "embedder"))
    if not isinstance(rows, list) or not isinstance(version, str) or not isinstance(embedder, str):
        return None
    texts = {one.id: one.text for one in read_questions(home, tenant)}
    questions = (one for row in rows if (one := question_of(row)) is not None)
    asked = (replace(one, text=texts.get(one.id, "")) for one in questions)
    return SnapshotAnswers(version, embedder, tuple(one for one in asked if one.source or one.text))


def compare_answers(past: CallContext, noted: SnapshotAnswers, pause: Callable[[], None]) -> ReplayResult:
    """Ask a restored memory what was asked of the snapshot. `pause` is called between two questions and may raise."""
    changed: list[str] = []
    missing = 0
    for question in noted.questions:
        pause()
        found = replay(past, question)
        if found is None or not same_answer(question.answer, as_answer(found)):
            changed.append(question.id)
            missing += found is None or _lacks(past, question)
    asked = len(noted.questions)
    comparable = (noted.version, noted.embedder) == (code_version(), models_of(past))
    return ReplayResult(asked, asked - len(changed), tuple(changed), missing, noted.version, comparable)


def same_answer(before: Answer, now: Answer) -> bool:
    """Whether the first hit and all of them together are the same records, as they were."""
    return before[:1] == now[:1] and set(before) == set(now)


def _lacks(past: CallContext, question: KeptQuestion) -> bool:
    """Whether one of the records that answered is not there, or says something else."""
    reader = past.store.read()
    for one in question.answer:
        found = reader.get(OBSERVATIONS, past.tenant, one.id) or reader.get(MEMORIES, past.tenant, one.id)
        if found is None or not found.content_hash.startswith(one.digest):
            return True
    return False


def _path(home: Path, tenant: str, snapshot: str) -> Path:
    if not _ID.fullmatch(snapshot):
        raise ValueError("not the id of a snapshot")
    return questions_folder(home, tenant) / "answers" / f"{snapshot}.json"


def _make_room(folder: Path) -> None:
    """The newest stay: ids begin with a number that only grows."""
    for path in sorted(folder.glob("*.json"), reverse=True)[MOST_SNAPSHOTS:]:
        with suppress(OSError):
            path.unlink()
