"""A bar for work that takes its time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress


def progress() -> Progress:
    """A bar on standard error; nothing when that is not a terminal."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
