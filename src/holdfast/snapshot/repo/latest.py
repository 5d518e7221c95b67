"""Which snapshot `latest` means: the newest that is whole, and whose memory was not given up.

A restore and an undo first keep what is live in a snapshot. That is then the newest, but the one that was not
wanted any more: restoring `latest` twice would bring it back. A merge keeps what is live too, but gives nothing up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from holdfast.snapshot.bundle.types import Identity, Maker

T = TypeVar("T")

BY_RESTORE: Maker = "before-restore"
RESTORE_LABEL = "before restore"
UNDO_LABEL = "before undo"


def choose(found: Iterable[T], identity_of: Callable[[T], Identity | None]) -> T | None:
    """The latest of some that come newest first; None if all of them were given up.

    What was given up for a restore that was undone later is live again. It is the one below the undo's.
    """
    brought_back = False
    for one in found:
        identity = identity_of(one)
        if identity is None or brought_back or not is_given_up(identity):
            return one
        brought_back = identity.label == UNDO_LABEL
    return None


def is_given_up(identity: Identity) -> bool:
    """Whether it was made only because a restore or an undo was to replace it."""
    return identity.created_by == BY_RESTORE and identity.label in (RESTORE_LABEL, UNDO_LABEL)
