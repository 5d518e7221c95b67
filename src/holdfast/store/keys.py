"""Keys made of several names: no name can reach into its neighbour's place."""

from __future__ import annotations

from urllib.parse import quote


def key_of(*parts: str | None) -> str:
    """The parts, encoded and joined by slashes; None is an empty part."""
    return "/".join(quote(part or "", safe="") for part in parts)
