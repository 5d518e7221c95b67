"""The owner of a memory: decided by structured fields of the request alone.

Text of messages, nicknames and free metadata decide nothing. What an older system stored is read here too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from holdfast.core.errors import InvalidRequest
from holdfast.protocol.access import MemoryFacts, check_writable
from holdfast.protocol.ids import build_user_id, read_user_id, session_id_of
from holdfast.protocol.metadata import MemoryMetadata
from holdfast.protocol.origin import GROUP, UMOInfo, check_origin
from holdfast.protocol.terms import MemoryScope, default_visibility

OWNERSHIP_FIELDS = (
    "user_id",
    "platform_id",
    "sender_id",
    "umo",
    "session_type",
    "session_id",
    "memory_scope",
    "owner_user_id",
    "owner_user_ids",
    "owner_session_id",
    "visibility",
    "speaker_id",
)
# What requests and stores call the same things.
_OTHER_NAMES = ("scope", "owner", "owners", "co_owners", "share_into_groups", "audience", "deprecated")


def _plain(name: str) -> str:
    """One spelling of a name: ownerUserId, OWNER-USER-ID and owner_user_id are the same."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum())


_RESERVED = frozenset(map(_plain, (*OWNERSHIP_FIELDS, *_OTHER_NAMES)))


def decides_ownership(name: str) -> bool:
    """Whether a field of that name, in whatever spelling, names a memory's owner or audience."""
    return _plain(name) in _RESERVED


def without_ownership(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata without fields that decide ownership, and the names of those that were left out."""
    kept = {name: value for name, value in metadata.items() if not decides_ownership(str(name))}
    return kept, tuple(str(name) for name in metadata if name not in kept)


def owned(
    umo: str | None,
    sender_id: str | None,
    *,
    scope: str | None = None,
    visibility: str | None = None,
    owners: Iterable[str] = (),
    share_into_groups: bool = False,
    trusted: Collection[str] | None = None,
) -> MemoryFacts:
    """The owner of a new memory, from its sender and chat.

    Without a chat it is the agent's own: global. In a chat it is personal unless the request names a scope. The
    sender owns it; further owners must be among the trusted sender ids, if these are known.

    Raises:
        InvalidRequest: the fields do not fit together.
        LimitReached: too many owners.
    """
    listed = tuple(dict.fromkeys(owners))
    if not umo and not scope and (sender_id or listed):
        raise InvalidRequest(
            "the memory has an owner but no chat; it would be visible to everyone",
            hint="Send umo: platform:type:session, or scope global if everyone may see it.",
        )
    origin = check_origin(umo) if umo else UMOInfo("", "", "")
    if trusted is not None and not set(listed) <= {*trusted, sender_id}:
        raise InvalidRequest("owners: one is not a known sender of this chat")
    # A caller may keep a memory for another person: then the first in the list owns it.
    owner = sender_id or (listed[0] if listed else "")
    others = tuple(one for one in listed if one != owner)
    wanted = scope or (MemoryScope.PERSONAL if umo else MemoryScope.GLOBAL)
    shown_to = visibility or default_visibility(wanted, owners=1 + len(others))
    # An explicit scope `global` includes all chats.
    shared = share_into_groups or (scope == MemoryScope.GLOBAL and not umo)
    return check_writable(MemoryFacts(wanted, shown_to, origin, owner, others, shared))


def ownership_metadata(memory: MemoryFacts) -> dict[str, Any]:
    """The twelve fields of ownership, as the protocol names them."""
    origin, platform = memory.origin, memory.origin.platform_id
    user = build_user_id(platform, memory.owner) if platform and memory.owner else ""
    others = [build_user_id(platform, one) for one in memory.co_owners] if platform else []
    return {
        "user_id": user,
        "platform_id": platform,
        "sender_id": memory.owner,
        "umo": origin.to_umo() if origin.is_valid else "",
        "session_type": origin.session_type,
        "session_id": origin.session_id,
        "memory_scope": memory.scope,
        "owner_user_id": user,
        "owner_user_ids": [user, *others] if user and others else others,
        "owner_session_id": session_id_of(origin) if origin.is_valid else "",
        "visibility": memory.visibility,
        "speaker_id": memory.owner,
    }


def facts_of(metadata: MemoryMetadata, *, share_into_groups: bool = False) -> MemoryFacts:
    """Whose a stored memory is, from its own fields; a doubtful field gives no owner.

    Ids of the old form are read with the record's platform, so that an underscore in a name is not mistaken.
    """
    origin = _origin(metadata)
    # The id of the chat shows the form: today's has no underscore, the old one always had.
    old = not origin.is_valid or metadata.owner_session_id != session_id_of(origin)
    owner = _sender(metadata.owner_user_id, origin.platform_id, metadata.sender_id, old)
    co_owners = [_sender(one, origin.platform_id, metadata.sender_id, old) for one in metadata.owner_user_ids]
    return MemoryFacts(
        metadata.memory_scope,
        metadata.visibility,
        origin,
        owner,
        tuple(dict.fromkeys(one for one in co_owners if one and one != owner)),
        share_into_groups,
        metadata.deprecated,
    )


def _origin(metadata: MemoryMetadata) -> UMOInfo:
    """Where it was made. Single fields help only where the origin is missing altogether.

    An older record always has a session type, which is "private" also where it was unknown: so only a group is
    trusted, and everything else has no place.
    """
    if metadata.umo:
        return UMOInfo.parse(metadata.umo)
    if metadata.session_type == GROUP:
        return UMOInfo(metadata.platform_id, GROUP, metadata.session_id)
    return UMOInfo("", "", "")


def _sender(user_id: str, platform_id: str, sender_id: str, old: bool) -> str:
    """The sender id behind a user id; the record's own if it has no other or names it plainly."""
    if not user_id:
        return sender_id
    read = read_user_id(user_id, platform_id, old=old) if platform_id else None
    if read:
        return read[1]
    return sender_id if user_id == sender_id else ""
