"""Operations that merge two diverged memories, and list what merges set aside."""

from __future__ import annotations

from typing import Literal, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import Forbidden, InvalidRequest
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import Name, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.snapshots.restore import PREVIEW_FIRST, WAITING
from holdfast.ops.snapshots.selection import SnapshotUse, audit_snapshot, offering, root_for
from holdfast.snapshot.diff import NOW
from holdfast.snapshot.merge_run import MergeResult, merge
from holdfast.snapshot.recovery.alternatives import also_in_vault
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.store.port import where
from holdfast.store.queries.merge_notes import MERGED
from holdfast.store.tables import NOTES


class SnapshotMerge(Request):
    a: Name = Field(
        description="A snapshot: its id, a prefix of it, latest, or the path of a bundle; a line of the journal in a "
        "vault; or now for the live memory."
    )
    b: Name = Field(default=NOW, description="The other snapshot, or now for the live memory.")
    source: Name | None = Field(default=None, alias="from", description="Vault to fetch the first snapshot from.")
    prefer: Literal["newest", "a", "b"] = Field(
        default="newest", description="Which side wins where both changed. The other version stays in the history."
    )
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts them.")
    trust: Name | None = Field(default=None, description="did:key of the signer, trusted for this merge only.")
    allow_unsigned: bool = Field(
        default=False, description="Accept an unsigned snapshot where signatures are required."
    )
    dry_run: bool = Field(default=False, description="Preview the conflicts and the changes. Nothing is changed.")
    yes: bool = Field(default=False, description="Confirm that the merged memory replaces the live one.")
    limit: int = limit(100, 10_000)

    def sides(self, ctx: CallContext) -> tuple[SnapshotSelector | None, SnapshotSelector | None]:
        """What both mean; None is the memory as it is now."""
        root_for(ctx, trust=self.trust)
        return self._named(ctx, self.a, self.source, self.trust), self._named(ctx, self.b, None)

    def _named(
        self, ctx: CallContext, name: str, source: str | None, trust: str | None = None
    ) -> SnapshotSelector | None:
        if name == NOW:
            return None
        # An older one is fine: what is newer wins, whichever side has it.
        use = {"id": name, "from": source, "identity": self.identity, "allowOlder": True}
        return SnapshotUse.model_validate(use | {"allowUnsigned": self.allow_unsigned}).named(ctx, trust=trust)


class SnapshotMergeAnswer(TypedDict):
    success: bool
    dryRun: bool
    a: str
    b: str
    added: dict[str, int]
    changed: dict[str, int]
    removed: dict[str, int]
    conflicts: list[Json]
    conflictCount: int
    folders: list[str]
    generation: NotRequired[str | None]
    before: NotRequired[str | None]
    waiting: NotRequired[str]  # why the vault lacks the snapshot of what was live


def snapshot_merge(ctx: CallContext, ask: SnapshotMerge) -> SnapshotMergeAnswer:
    """Merge two diverged memories of the same agent without loss, and make the result the live memory.

    Where both sides changed a memory, the newest version wins and the other stays in its history. A memory that one
    side removed stays removed unless the other side changed it later. With dryRun, only shows the conflicts. The live
    memory is saved in a snapshot first and can be restored with undo. If the first side has nothing new, nothing is
    changed.
    """
    if not (ask.dry_run or ask.yes):
        raise InvalidRequest(
            "snapshot_merge: this replaces the live memory and requires confirmation",
            hint=PREVIEW_FIRST,
        )
    if ask.a == ask.b == NOW:
        raise InvalidRequest("snapshot_merge: both sides are the live memory", hint="Name a snapshot.")
    context = snapshot_context(ctx)
    one, other = (also_in_vault(context, side) if side else None for side in ask.sides(ctx))
    with offering(ctx, context, one or other or SnapshotSelector(""), "holdfast snapshot merge {} now --yes"):
        done = merge(context, one, other, ask.prefer, dry_run=ask.dry_run)
    answer = merged_shape(done, ask.limit)
    if ask.dry_run:
        return {"success": True, "dryRun": True, **answer}  # type: ignore[typeddict-item]
    # Also of one that brought nothing: the log is the evidence that this memory holds it.
    lines = {"line": " ".join(done.lines)} if done.lines else {}
    audit_snapshot(ctx, "snapshot_merge", done.a, other=done.b, generation=done.generation, **lines)
    made = {"generation": done.generation, "before": done.before}
    if done.waiting:
        made["waiting"] = f"{WAITING} {done.waiting}"
    return {"success": True, "dryRun": False, **answer, **made}  # type: ignore[typeddict-item]


def merged_shape(done: MergeResult, most: int) -> Json:
    """Sides are called as they were named: a and b."""
    sides = ("a", "b") if done.base == "a" else ("b", "a")
    names = {"base": sides[0], "other": sides[1]}
    clashes = done.done.clashes
    return {
        "a": done.a,
        "b": done.b,
        "added": done.done.added,
        "changed": done.done.changed,
        "removed": done.done.removed,
        "conflicts": [
            {
                "table": one.table,
                "id": one.id,
                "kept": names[one.winner],
                "otherStays": one.how,
                names["base"]: one.base,
                names["other"]: one.other,
            }
            for one in clashes[:most]
        ],
        "conflictCount": len(clashes),
        "folders": list(done.folders),
    }


class SetAside(Request):
    limit: int = limit(100, 10_000)


class SetAsideAnswer(TypedDict):
    records: list[Json]
    count: int


def snapshot_set_aside(ctx: CallContext, ask: SetAside) -> SetAsideAnswer:
    """List what merges set aside: the losing side of conflicts in records that have no versions."""
    if ctx.settings.isolated and not ctx.caller.may("admin"):
        raise Forbidden("snapshot_set_aside: agents are isolated; this requires the scope admin")
    reader = ctx.store.read()
    found = reader.find(NOTES, ctx.tenant, *where(kind=MERGED), limit=ask.limit)
    return {
        "records": [{**orjson.loads(one.content), "changedAt": iso(one.updated_at)} for one in found],
        "count": reader.count(NOTES, ctx.tenant, *where(kind=MERGED)),
    }


MERGING = (
    Operation(
        snapshot_merge,
        "POST",
        "/snapshots/merge",
        effect="destroy",
        scope="admin",
        tool="memory_snapshot_merge",
        cli="snapshot merge",
        positional=("a", "b"),
        paths=("a", "b", "from", "identity"),
        long=True,
    ),
    Operation(snapshot_set_aside, "GET", "/snapshots/set-aside", scope="admin", cli="snapshot set-aside"),
)
