"""A context in a past memory: the same caller, asking the store of a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NotRequired

from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.background import LearningProgress, RecallCounter
from holdfast.core.errors import Forbidden
from holdfast.core.times import iso
from holdfast.ops.framework.fields import moment
from holdfast.snapshot.browse import past
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.paths import is_id_prefix
from holdfast.snapshot.resolve import LATEST, SnapshotSelector


class SnapshotShape(TypedDict):
    """Which snapshot an answer comes from, and up to when the journal added to it."""

    id: str
    label: str
    createdAt: str
    upto: NotRequired[str]
    notes: NotRequired[list[str]]


@contextmanager
def past_ctx(ctx: CallContext, at: int | str, identity: str | None) -> Iterator[tuple[CallContext, SnapshotShape]]:
    """The context as it would have stood in the snapshot, for the length of a block, and which snapshot that is.

    Raises:
        NotFound: there is no such snapshot, or none as old as that.
        InvalidRequest: it is neither an id nor a time.
    """
    if identity and not ctx.caller.may("root"):
        raise Forbidden("identity: this credential may not read or write files on the server")
    with snapshot_ctx(ctx, selector_at(ctx, at, identity)) as then:
        yield then


@contextmanager
def snapshot_ctx(ctx: CallContext, named: SnapshotSelector) -> Iterator[tuple[CallContext, SnapshotShape]]:
    """The same in the snapshot that is named."""
    with past(snapshot_context(ctx), named) as then:
        about = then.manifest.identity
        told: SnapshotShape = {"id": about.id, "label": about.label, "createdAt": iso(about.created_at)}
        if then.journal is not None and then.journal.fetched is not None:
            told["upto"] = iso(then.journal.upto)
            if then.journal.notes:
                told["notes"] = list(then.journal.notes)
        # What is recalled there must not count here: its sequence numbers may belong to other records.
        yield (
            dataclasses.replace(ctx, store=then.store, live=None, recalls=RecallCounter(), learning=LearningProgress()),
            told,
        )


def selector_at(ctx: CallContext, at: int | str, identity: str | None = None) -> SnapshotSelector:
    """The snapshot that is named, or the memory of a moment.

    Raises:
        InvalidRequest: it is neither an id nor a time.
    """
    if isinstance(at, str) and (at == LATEST or is_id_prefix(at)):
        return SnapshotSelector(at, identity=identity)
    return SnapshotSelector(LATEST, identity=identity, moment=moment(ctx, at, "at") or 0)
