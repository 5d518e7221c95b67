"""The one exception by which editing a config text is refused."""

from __future__ import annotations


class Refusal(Exception):
    """The text cannot be edited safely. The message says where and why, never what the file holds."""
