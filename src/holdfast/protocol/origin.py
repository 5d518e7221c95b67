"""Where a message came from: platform, kind of chat and chat, written as platform:type:session."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from holdfast.core.errors import InvalidRequest

PRIVATE, GROUP, OTHER = "private", "group", "other"
CHAT_TYPES = (PRIVATE, GROUP, OTHER)
ORIGIN_CHARS = 512

# What platforms call their chats.
_TYPE_OF = {
    **{kind: kind for kind in CHAT_TYPES},
    "friendmessage": PRIVATE,
    "groupmessage": GROUP,
    "othermessage": OTHER,
}


@dataclass(frozen=True, slots=True)
class UMOInfo:
    """A unified message origin, taken apart. Two names of one kind of chat make equal origins."""

    platform_id: str
    session_type: str  # private, group, other; or what was given, if it is none of these
    session_id: str
    message_type: str = field(default="", compare=False, repr=False)  # the platform's own word for the kind of chat

    @classmethod
    def parse(cls, umo: object) -> UMOInfo:
        """The parts of an origin; the chat's own id may hold colons. Never raises: see `is_valid`."""
        return _parsed(umo if isinstance(umo, str) else "")

    @property
    def is_valid(self) -> bool:
        """Whether it names one chat of a known kind; any other sees nothing."""
        return bool(
            self.platform_id
            and self.session_id
            and self.session_type in CHAT_TYPES
            and ":" not in self.platform_id
            and _is_name(self.platform_id)
            and _is_name(self.session_id)
        )

    @property
    def is_private(self) -> bool:
        return self.session_type == PRIVATE

    @property
    def is_group(self) -> bool:
        return self.session_type == GROUP

    def to_umo(self) -> str:
        """The text it was read from."""
        return f"{self.platform_id}:{self.message_type or self.session_type}:{self.session_id}"

    def __str__(self) -> str:
        return self.to_umo()


# The same few chats are parsed for every memory that is read: without both caches a list of 200 takes 1.25 times as
# long (bench/mechanisms.py).


@lru_cache(maxsize=4_096)
def _parsed(text: str) -> UMOInfo:
    platform, found, rest = text.partition(":")
    given, _, session = rest.partition(":")
    if not found:
        given = PRIVATE
    return UMOInfo(platform, chat_type(given), session, given)


def chat_type(word: str) -> str:
    """private, group or other for every name that platforms have for them; another word as it is."""
    return _TYPE_OF.get(word.strip().lower(), word)


def check_origin(text: str) -> UMOInfo:
    """The origin that the text names.

    Raises:
        InvalidRequest: it does not name one chat.
    """
    origin = UMOInfo.parse(text)
    if not origin.is_valid:
        raise InvalidRequest(
            "umo does not name a chat",
            hint="Send platform:type:session; the type is private, group, other, or the platform's name for it.",
        )
    return origin


@lru_cache(maxsize=4_096)
def _is_name(text: str) -> bool:
    """Can be stored and compared as it stands; blanks alone are no name."""
    return len(text) <= ORIGIN_CHARS and bool(text.strip()) and not any(_is_unstorable(char) for char in text)


def _is_unstorable(char: str) -> bool:
    return char == "\0" or "\ud800" <= char <= "\udfff"


def is_sender(sender_id: object) -> bool:
    """Whether it can be a user's id on a platform."""
    return isinstance(sender_id, str) and _is_name(sender_id)
