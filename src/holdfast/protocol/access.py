"""Who may see a memory: one predicate, and the same predicate as keys that a store can look up.

A memory is hidden unless a rule here shows it:

| memory | who sees it |
|---|---|
| global | a caller who names no chat |
| global, saved for chats, or about no project and by no session | all callers in all chats too |
| personal, made in a private chat | its owners, in private chats only; in all chats if the owner opted in |
| personal, made elsewhere | its owners, in all chats of the platform |
| group | all callers in the group where it was made |
| conversation | all callers in the chat where it was made |
| deprecated, or of an unknown scope or place | no caller |

Owners of a personal memory are its one owner and, with visibility `group`, the listed co-owners. Platforms never
mix. An admin sees all, and only on explicit request, which is audited elsewhere.

A memory carries `audience_keys`, a viewer holds `viewer_keys`: it may see the memory exactly if they share a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.errors import InvalidRequest, LimitReached
from holdfast.core.model import EVERYBODY, IN_CHATS
from holdfast.core.session_keys import key_of
from holdfast.protocol.origin import UMOInfo, is_sender
from holdfast.protocol.terms import SCOPES, VISIBILITIES, MemoryScope, MemoryVisibility

MOST_OWNERS = 100

AUDIENCE = "audience"  # the derived column that `conditions` uses
ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """What decides who may see a memory."""

    scope: str
    visibility: str = MemoryVisibility.PRIVATE
    origin: UMOInfo = field(default_factory=lambda: UMOInfo("", "", ""))  # where it was made
    owner: str = ""  # sender id on the origin's platform
    co_owners: tuple[str, ...] = ()
    share_into_groups: bool = False  # of a global memory: it was saved for chats
    deprecated: bool = False
    of_work: bool = False  # about a project, or kept by a session

    @property
    def is_shown_in_chats(self) -> bool:
        """Whether all chats see a global memory: what a coding agent keeps is not for strangers."""
        return self.origin.is_valid or self.share_into_groups or not self.of_work

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose it is if it is personal."""
        listed = self.co_owners if self.visibility == MemoryVisibility.GROUP else ()
        return tuple(dict.fromkeys(one for one in (self.owner, *listed) if is_sender(one)))

    @property
    def is_shown_in_private_only(self) -> bool:
        """Whether it is hidden in chats with other readers."""
        return (
            self.origin.is_private
            and self.scope != MemoryScope.GLOBAL
            and not (self.scope == MemoryScope.PERSONAL and self.share_into_groups)
        )

    @property
    def stays_private(self) -> bool:
        """Made in a private chat, and not to be recalled where others read along."""
        return self.origin.is_private and not self.share_into_groups


@dataclass(frozen=True, slots=True)
class Viewer:
    """The caller and the chat: from structured fields of the request, never from a message's text."""

    umo: str = ""
    sender_id: str = ""
    admin: bool = False  # requested by this call, and allowed by its credential

    @property
    def origin(self) -> UMOInfo:
        return UMOInfo.parse(self.umo)


def may_see(memory: MemoryFacts, viewer: Viewer) -> bool:
    """Whether the viewer may see the memory in the current chat."""
    if viewer.admin:
        return True
    here = viewer.origin
    if memory.deprecated or (viewer.umo and not here.is_valid):
        return False
    if memory.scope == MemoryScope.GLOBAL:
        return not viewer.umo or memory.is_shown_in_chats
    made = memory.origin
    if not here.is_valid or not made.is_valid or here.platform_id != made.platform_id:
        return False
    if memory.scope == MemoryScope.PERSONAL:
        return viewer.sender_id in memory.owners and (here.is_private or not memory.stays_private)
    if memory.scope == MemoryScope.GROUP:
        return made.is_group and here == made
    return memory.scope == MemoryScope.CONVERSATION and here == made


def audience_keys(memory: MemoryFacts) -> tuple[str, ...]:
    """The keys of all viewers who may see the memory."""
    return (*stored_keys(memory), ADMIN)


def stored_keys(memory: MemoryFacts) -> tuple[str, ...]:
    """Those of them that are stored beside it: an admin's need not be, as `conditions` shows an admin all."""
    if memory.deprecated:
        return ()
    if memory.scope == MemoryScope.GLOBAL:
        return (EVERYBODY, IN_CHATS) if memory.is_shown_in_chats else (EVERYBODY,)
    made = memory.origin
    if not made.is_valid:
        return ()
    if memory.scope == MemoryScope.PERSONAL:
        key = _in_private if memory.stays_private else _anywhere
        return tuple(key(made.platform_id, owner) for owner in memory.owners)
    if memory.scope == MemoryScope.CONVERSATION or (memory.scope == MemoryScope.GROUP and made.is_group):
        return (_in_chat(made),)
    return ()


def viewer_keys(viewer: Viewer) -> tuple[str, ...]:
    """The keys that the viewer holds in the current chat; none if the chat is invalid."""
    return (*_held(viewer), ADMIN) if viewer.admin else _held(viewer)


def _held(viewer: Viewer) -> tuple[str, ...]:
    if not viewer.umo:
        return (EVERYBODY,)
    here = viewer.origin
    if not here.is_valid:
        return ()
    held = [IN_CHATS, _in_chat(here)]
    if is_sender(viewer.sender_id):
        held.append(_anywhere(here.platform_id, viewer.sender_id))
        if here.is_private:
            held.append(_in_private(here.platform_id, viewer.sender_id))
    return tuple(held)


def conditions(viewer: Viewer) -> tuple[tuple[str, str], ...] | None:
    """Column and value of each alternative that lets the viewer see a record; None if all are visible."""
    return None if viewer.admin else tuple((AUDIENCE, key) for key in viewer_keys(viewer))


# The first part is the kind of the key, and every part is encoded: no name can forge another part.


def _in_chat(chat: UMOInfo) -> str:
    return key_of("chat", chat.platform_id, chat.session_type, chat.session_id)


def _anywhere(platform_id: str, sender_id: str) -> str:
    return key_of("person", platform_id, sender_id)


def _in_private(platform_id: str, sender_id: str) -> str:
    return key_of("private", platform_id, sender_id)


def check_writable(memory: MemoryFacts) -> MemoryFacts:
    """The facts, if a new memory may have them. Nothing is guessed or cut: what is unclear is refused.

    Raises:
        InvalidRequest: scope, visibility, chat and owners do not fit together; the message names them.
        LimitReached: more owners than one memory may have.
    """
    _check_words(memory)
    if memory.scope == MemoryScope.GLOBAL:
        return memory
    if not memory.origin.is_valid:
        raise InvalidRequest(
            f"a memory of scope {memory.scope} requires the chat it was created in",
            hint="Send umo: platform:type:session.",
        )
    if memory.scope == MemoryScope.GROUP:
        _check_group(memory)
    if memory.scope == MemoryScope.PERSONAL:
        _check_personal(memory)
    return memory


def _check_words(memory: MemoryFacts) -> None:
    if memory.scope not in SCOPES:
        raise InvalidRequest(f"scope must be one of {', '.join(SCOPES)}")
    if memory.visibility not in VISIBILITIES:
        raise InvalidRequest(f"visibility must be one of {', '.join(VISIBILITIES)}")
    if len(memory.co_owners) >= MOST_OWNERS:
        raise LimitReached(f"owners: {len(memory.co_owners)} given; the limit is {MOST_OWNERS}")
    if not all(map(is_sender, memory.co_owners)):
        raise InvalidRequest("owners: one is not a valid sender id")


def _check_group(memory: MemoryFacts) -> None:
    if not memory.origin.is_group:
        raise InvalidRequest("a memory of scope group can only be created in a group")
    if memory.visibility != MemoryVisibility.GROUP:
        raise InvalidRequest(
            "a memory of scope group cannot be private: the whole group sees it",
            hint="Use visibility group, or scope personal for what only its owner may see.",
        )


def _check_personal(memory: MemoryFacts) -> None:
    if not is_sender(memory.owner):
        raise InvalidRequest("a memory of scope personal requires an owner", hint="Send senderId.")
    others = [one for one in memory.co_owners if one != memory.owner]
    if others and memory.visibility == MemoryVisibility.PRIVATE:
        raise InvalidRequest(
            "a private memory can have only one owner",
            hint="Use visibility group, which lets exactly the listed owners see it.",
        )
