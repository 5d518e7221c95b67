"""A copy takes over: it takes what the vault still has, and is a memory of its own from then on.

The note that the folder no longer follows is the commit point. Before it the line that was followed is noted, so that
the line that begins here names it, and with it what other hosts had written by then: what they write afterwards is
noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.core.background import FollowProgress, FollowState
from holdfast.core.errors import Conflict, Fault
from holdfast.snapshot.follow.follow_note import FollowNote
from holdfast.snapshot.follow.follower import Follower
from holdfast.snapshot.journal.journal_queue import LineNote, journal_folder, write_note
from holdfast.snapshot.journal.other_lines import note_known
from holdfast.snapshot.recovery.bootstrap import is_blank
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.switch import live_of
from holdfast.store.journal.journal_port import JournalPlace

FRESH_SECONDS = 30.0
STOP_FIRST = (
    "Stop the server of that host first. To go on anyway, pass --yes: what it writes from now on can be merged later."
)


@dataclass(frozen=True, slots=True)
class Promotion:
    """Whose place was taken, and up to where its journal is here."""

    line: str  # "" if only a snapshot was copied
    number: int
    host: str
    last_at: int | None
    missed: str  # why not all that the vault may have is here; "" if it is


def promote(context: SnapshotContext, note: FollowNote, progress: FollowProgress, *, anyway: bool) -> Promotion:
    """End following. `anyway`: also while the host that is followed still writes, or the vault does not answer.

    Raises:
        Conflict: it is not the time for it, or nothing was copied yet.
    """
    with progress.turn:
        arrived = progress.state.arrived  # not with what is fetched now, which may be old
        follower = Follower(context, note, progress)
        missed = _catch_up(follower)
        store = live_of(context).own_store
        changes = store.change_log()
        place = changes.followed(context.tenant) if changes else None
        if place is None and is_blank(context, store.read()):
            raise Conflict("promote: nothing was copied yet", hint=missed.hint if missed else "Run holdfast doctor.")
        if not anyway:
            _check(context, replace(progress.state, arrived=arrived), missed)
        if place is not None:  # else it is the copy of a snapshot alone, and the line that begins here names none
            _note(context, place, follower.past(place.line))
        live_of(context).end_following()
        state = progress.state
        line, number = (place.line, place.number) if place else ("", 0)
        return Promotion(line, number, state.host, state.last_at, missed.message if missed else "")


def _catch_up(follower: Follower) -> Fault | None:
    try:
        follower.look()
    except Fault as fault:
        return fault
    return None


def _check(context: SnapshotContext, state: FollowState, missed: Fault | None) -> None:
    if missed is not None:
        raise Conflict(
            f"promote: this copy may lack what the vault has: {missed.message}",
            hint="Let the vault be reached first. To go on anyway, pass --yes: what is missing can be merged later.",
        )
    clock = context.clock
    ages = [(clock.now_ms() - state.last_at) / 1000] if state.last_at is not None else []
    ages += [clock.steady() - state.arrived] if state.arrived is not None else []
    if ages and min(ages) < FRESH_SECONDS:
        ago = max(0, round(min(ages)))
        raise Conflict(
            f"promote: host {state.host or 'unknown'} still writes; its last write is {ago} s old", hint=STOP_FIRST
        )


def _note(context: SnapshotContext, place: JournalPlace, past: Mapping[str, int]) -> None:
    folder = journal_folder(context.home, context.tenant, context.agent)
    write_note(folder, LineNote(place.line))
    note_known(folder, {**past, place.line: place.number})
