"""What came of drills: a file for each, written when everything was checked, and signed with the key of the folder.

    <home>/drills/<tenant>/<agent>/<id>.json     canonical JSON; the newest hundred stay

A drill that restored a snapshot leaves a receipt. One that failed, or could not open an encrypted snapshot, leaves a
record that says so, which is no receipt. One that was interrupted leaves nothing. Only what this folder's key or a
trusted one signed counts; without any key nothing is signed, and the list says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from holdfast.core.didkey import verify_signature
from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.core.version import VERSION
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, Malformed
from holdfast.snapshot.bundle.manifest import is_id
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.paths import new_id, parse_id, place_of

DRILLS = "drills"
MOST_KEPT = 100
_MOST_BYTES = 200_000
_MOST_NAMES = 1_000
_FORMAT, _VERSION = "holdfast-drill", 1
_DOMAIN = b"holdfast drill record 1\n"

Outcome = Literal["restored", "locked", "failed"]
"""locked: only what needs no identity was checked, as the snapshot is encrypted and none is on this machine."""
OUTCOMES = ("restored", "locked", "failed")


@dataclass(frozen=True, slots=True)
class DrillQuestions:
    """Questions that were asked of the snapshot when it was made, and of what was restored."""

    asked: int = 0
    same: int = 0
    changed: tuple[str, ...] = ()
    missing: int = 0  # one of their hits is not in what was restored as it was
    version: str = ""  # of Holdfast, when the answers were noted; "" if none were
    comparable: bool = True  # the same version and embedder answered both times


@dataclass(frozen=True, slots=True)
class DrillRecord:
    """What came of one drill."""

    id: str
    tenant: str
    agent: str
    outcome: Outcome
    place: str  # where the snapshot lies, without credentials; "" for the local repository
    snapshot: str
    began: int
    took_ms: int
    moment: int | None = None  # that was restored, if it is not the snapshot's own
    created_at: int | None = None  # of the snapshot
    sha256: str | None = None  # of its bundle
    size: int = 0
    rows: tuple[tuple[str, int], ...] = ()
    folders: tuple[str, ...] = ()
    questions: DrillQuestions = field(default_factory=DrillQuestions)
    code: str | None = None  # of the fault that a failed one ended with
    message: str | None = None
    hint: str | None = None
    holdfast: str = VERSION
    signer: str | None = None
    signature: str | None = None


Standing = Literal["signed", "unsigned", "untrusted", "damaged"]


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record in the list; None if its file is not what was written."""

    id: str
    standing: Standing
    record: DrillRecord | None

    @property
    def proves(self) -> bool:
        """Whether it is a receipt that counts."""
        return self.record is not None and self.record.outcome == "restored" and self.counts

    @property
    def counts(self) -> bool:
        return self.standing in ("signed", "unsigned")


def records_folder(context: SnapshotContext) -> Path:
    return context.home.joinpath(DRILLS, *place_of(context.tenant, context.agent))


def keep_record(context: SnapshotContext, record: DrillRecord) -> DrillRecord:
    """Sign the record if there is a key, and keep it, durably. It is there whole or not at all.

    Raises:
        StorageFull, StorageFailed: it is not there.
    """
    folder, keyring = records_folder(context), context.keyring
    with disk_faults("keep the drill's record"):
        make_folder(folder)
    ids = _ids(folder)
    number = 1 + max((parse_id(id).sequence for id in ids), default=0)
    record = replace(record, id=new_id(number, context.clock.now_ms(), context.entropy.hex(6)))
    if (own := keyring.own()) is not None:
        record = replace(record, signer=own)
        record = replace(record, signature=keyring.sign(_signed(record)))
    write_durably(folder / f"{record.id}.json", canonical.dumps(_shape(record), newline=True))
    for id in ids[MOST_KEPT - 1 :]:
        with suppress(OSError):
            (folder / f"{id}.json").unlink()
    return record


def each_record(context: SnapshotContext) -> Iterator[ListedRecord]:
    """What came of the drills of this memory, the newest first."""
    folder = records_folder(context)
    return (_listed(context, folder, id) for id in _ids(folder))


def _ids(folder: Path) -> list[str]:
    """The newest first."""
    found = [path.stem for path in folder.glob("[0-9]*.json")] if folder.is_dir() else []
    return sorted(filter(is_id, found), key=lambda id: parse_id(id).sequence, reverse=True)


def _listed(context: SnapshotContext, folder: Path, id: str) -> ListedRecord:
    try:
        record = _read(folder / f"{id}.json")
    except (Malformed, OSError):
        return ListedRecord(id, "damaged", None)
    if (record.id, record.tenant, record.agent) != (id, context.tenant, context.agent):
        return ListedRecord(id, "damaged", None)
    if record.signer is None or record.signature is None:
        return ListedRecord(id, "unsigned", record)
    if not verify_signature(record.signer, _signed(record), record.signature):
        return ListedRecord(id, "damaged", None)
    trusted = context.keyring.accepts(record.signer)
    return ListedRecord(id, "signed" if trusted else "untrusted", record)


def _signed(record: DrillRecord) -> bytes:
    shape = _shape(record)
    del shape["signature"]
    return _DOMAIN + canonical.dumps(shape)


def _shape(record: DrillRecord) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in DrillRecord.__slots__}
    asked = {name: getattr(record.questions, name) for name in DrillQuestions.__slots__}
    return {
        **row,
        "format": _FORMAT,
        "formatVersion": _VERSION,
        "rows": dict(record.rows),
        "folders": list(record.folders),
        "questions": {**asked, "changed": list(record.questions.changed)},
    }


def _read(path: Path) -> DrillRecord:
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    fields = Fields(canonical.loads(data, newline=True, most_bytes=_MOST_BYTES), "record")
    if fields.text("format") != _FORMAT:
        raise Malformed("it has an unknown format")
    fields.number("formatVersion", _VERSION, _VERSION)
    outcome = fields.text("outcome")
    if outcome not in OUTCOMES:
        raise Malformed("it has an unknown outcome")
    texts = {name: fields.text(name) for name in ("id", "tenant", "agent", "place", "snapshot", "holdfast")}
    optional = ("sha256", "code", "message", "hint", "signer", "signature")
    found = {name: fields.text_or_none(name, most=4_096) for name in optional}
    record = DrillRecord(
        **texts,
        outcome=cast(Outcome, outcome),
        began=fields.number("began"),
        took_ms=fields.number("took_ms"),
        size=fields.number("size"),
        moment=_number_or_none(fields, "moment"),
        created_at=_number_or_none(fields, "created_at"),
        rows=fields.pairs("rows", int),
        folders=fields.texts("folders", _MOST_NAMES),
        questions=_questions(Fields(fields.take("questions"), "questions")),
        sha256=found["sha256"],
        code=found["code"],
        message=found["message"],
        hint=found["hint"],
        signer=found["signer"],
        signature=found["signature"],
    )
    fields.end()
    return record


def _questions(fields: Fields) -> DrillQuestions:
    read = DrillQuestions(
        asked=fields.number("asked"),
        same=fields.number("same"),
        changed=fields.texts("changed", _MOST_NAMES),
        missing=fields.number("missing"),
        version=fields.text("version"),
        comparable=fields.flag("comparable"),
    )
    fields.end()
    return read


def _number_or_none(fields: Fields, key: str) -> int | None:
    value = fields.take(key)
    if value is not None and (type(value) is not int or value < 0):
        raise Malformed(f"{key} is not a number")
    return value
