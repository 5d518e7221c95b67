"""Memories of every scope, visibility and place, each with a word of its own, and everybody who may ask."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

from holdfast.core.errors import Fault
from holdfast.protocol.access import MemoryFacts, Viewer, may_see
from holdfast.protocol.ownership import owned
from holdfast.protocol.terms import SCOPES, VISIBILITIES

A_PRIVATE, B_PRIVATE = "tg:FriendMessage:A", "tg:FriendMessage:B"
G1, G2, OTHER = "tg:GroupMessage:G1", "tg:GroupMessage:G2", "tg:OtherMessage:G1"

VIEWERS: dict[str, Viewer] = {
    "A in private": Viewer(A_PRIVATE, "A"),
    "A in G1": Viewer(G1, "A"),
    "A in G2": Viewer(G2, "A"),
    "A in another kind of chat": Viewer(OTHER, "A"),
    "B in private": Viewer(B_PRIVATE, "B"),
    "B in G1": Viewer(G1, "B"),
    "D in G1": Viewer(G1, "D"),
    "C in G2": Viewer(G2, "C"),
    "nobody in G1": Viewer(G1),
    "no chat": Viewer(),
    "no chat, but a name": Viewer("", "A"),
    "A on another platform": Viewer("qq:FriendMessage:A", "A"),
    "G1 of another platform": Viewer("qq:GroupMessage:G1", "A"),
    "a private chat called G1": Viewer("tg:FriendMessage:G1", "D"),
    "a chat that cannot be": Viewer("tg:channel:G1", "A"),
}


@dataclass(frozen=True)
class Kept:
    """A memory that was written, with what says who may see it."""

    word: str
    facts: MemoryFacts
    id: str


def combinations() -> list[dict[str, Any]]:
    """The arguments of every memory that may be written, beside its content."""
    made: list[dict[str, Any]] = []
    sides = (SCOPES, VISIBILITIES, (None, A_PRIVATE, G1, OTHER), ((), ("B",)), (False, True))
    for scope, visibility, umo, owners, shared in itertools.product(*sides):
        arguments = {
            "scope": scope, "visibility": visibility, "umo": umo, "senderId": "A" if umo else None,
            "owners": list(owners), "shareIntoGroups": shared,
        }  # fmt: skip
        try:
            facts_of(arguments)
        except Fault:
            continue
        made.append(arguments)
    # The agent's own: about a project, kept by a session, neither, and named as meant for everybody.
    plain = {"visibility": None, "umo": None, "senderId": None, "owners": [], "shareIntoGroups": False}
    for scope, project, session in itertools.product((None, "global"), (None, "harbour"), (None, "s1")):
        made.append({**plain, "scope": scope, "project": project, "sessionId": session})
    return made


def facts_of(arguments: dict[str, Any]) -> MemoryFacts:
    facts = owned(
        arguments["umo"],
        arguments["senderId"],
        scope=arguments["scope"],
        visibility=arguments["visibility"],
        owners=arguments["owners"],
        share_into_groups=arguments["shareIntoGroups"],
    )
    return replace(facts, of_work=bool(arguments.get("project") or arguments.get("sessionId")))


def content_of(number: int) -> tuple[str, str]:
    """A word that stands nowhere else, and a text of common words and that one."""
    word = f"pebble{number:03d}x"
    return word, f"The harbour keeper wrote {word} on the wall {number} times."


def asked_by(viewer: Viewer) -> dict[str, Any]:
    given = {"umo": viewer.umo, "senderId": viewer.sender_id}
    return {name: value for name, value in given.items() if value}


def seen_by(viewer: Viewer, kept: list[Kept]) -> set[str]:
    """The words that the viewer may read, by the predicate itself."""
    return {one.word for one in kept if may_see(one.facts, viewer)}


def words_in(text: str, kept: list[Kept]) -> set[str]:
    """The words of memories that stand in an answer, or whose ids do."""
    return {one.word for one in kept if one.word in text or one.id in text}
