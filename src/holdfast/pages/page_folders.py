"""Which files may be written: those in folders that the settings name. None by default."""

from __future__ import annotations

from pathlib import Path

from holdfast.context import CallContext
from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest, InvalidSettings

SETTING = "HOLDFAST_PAGE_FOLDERS"


def page_folders(ctx: CallContext) -> list[Path]:
    """The folders in which files may be written, as they really are."""
    return [user_path(one, SETTING, InvalidSettings).resolve() for one in ctx.settings.page_folders]


def allowed_path(ctx: CallContext, text: str, name: str) -> Path:
    """The path, with links followed, if it lies in one of the folders. A command of the folder's own user may name any.

    Raises:
        InvalidRequest: it does not, or is not whole.
    """
    path = user_path(text, name)
    if not path.is_absolute():
        raise InvalidRequest(f"{name}: must be an absolute path")
    path = path.resolve()
    inside = any(path == folder or folder in path.parents for folder in page_folders(ctx))
    if not inside and not ctx.caller.owner:
        raise InvalidRequest(
            f"{name}: not in a folder in which files may be written",
            hint=f"Add the folder to {SETTING} and restart the server.",
        )
    return path
