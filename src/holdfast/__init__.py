"""Memory for AI agents that is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.client import Holdfast
    from holdfast.core.errors import Fault
    from holdfast.core.version import VERSION as __version__

__all__ = ["Fault", "Holdfast", "__version__"]


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used: a hook command must start in a few milliseconds."""
    if name == "Holdfast":
        from holdfast.client import Holdfast

        return Holdfast
    if name == "Fault":
        from holdfast.core.errors import Fault

        return Fault
    if name == "__version__":
        from holdfast.core.version import VERSION

        return VERSION
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
