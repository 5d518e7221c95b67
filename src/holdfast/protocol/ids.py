"""Ids made of a platform and a name on it.

`platform_name` is what earlier records hold, and most ids look the same today. The last underscore is the border:
underscores of the platform stay, those of the name are written %5F and percent signs %25, so that no two pairs make
one id. The old form, in which names kept their underscores, is read with the help of the platform.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from holdfast.protocol.origin import UMOInfo, chat_type

_BORDER = "_"
_ESCAPE = re.compile("%(?:25|5F)")


def build_user_id(platform_id: str, sender_id: str) -> str:
    """The id of a user on a platform, unique across platforms."""
    return f"{platform_id}{_BORDER}{_escaped(sender_id)}"


def build_session_id(platform_id: str, session_id: str, session_type: str = "") -> str:
    """The id of a chat on a platform.

    Without the type it is the earlier form, in which a group, a private chat and a person of one number are
    equal. With the type it is platform:type:session without an underscore, which no user id and no earlier id has.
    """
    if not session_type:
        return f"{platform_id}{_BORDER}{_escaped(session_id)}"
    parts = (_without_colon(platform_id), _without_colon(chat_type(session_type)), _escaped(session_id))
    return ":".join(parts)


def session_id_of(origin: UMOInfo) -> str:
    """The id of the chat that an origin names."""
    return build_session_id(origin.platform_id, origin.session_id, origin.session_type)


def read_user_id(user_id: str, platform_id: str = "", *, old: bool | None = None) -> tuple[str, str] | None:
    """Platform and name of an id; None if it is not of that platform.

    Without the platform the last underscore is the border, which an id of the old form may not have meant. A caller
    that knows the form should pass `old`: an old name that holds %5F or %25 looks like a current one.
    """
    if platform_id:
        if not user_id.startswith(platform_id + _BORDER):
            return None
        name = user_id[len(platform_id) + 1 :]
    else:
        platform_id, _, name = user_id.rpartition(_BORDER)
    if not platform_id or not name:
        return None
    if old is None:
        old = _is_old(name)
    return platform_id, name if old else unquote(name)


def _is_old(name: str) -> bool:
    """An underscore is never written as itself today, nor a percent sign that begins no escape."""
    return _BORDER in name or "%" in _ESCAPE.sub("", name)


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace(_BORDER, "%5F")


def _without_colon(part: str) -> str:
    return _escaped(part).replace(":", "%3A")
