"""The version of this Holdfast, from its installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def holdfast_version() -> str:
    try:
        return version("holdfast")
    except PackageNotFoundError:  # run from a bare source tree
        return "0+source"


VERSION = holdfast_version()
