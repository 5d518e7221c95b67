"""holdfast follow: a server whose folder is a read-only copy of what another host writes to a vault."""

from __future__ import annotations

import argparse

from holdfast.cli.commands.serve import serve
from holdfast.core.disk import user_path
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.settings import load
from holdfast.snapshot.follow.follow_start import begin_following


def follow(given: argparse.Namespace) -> int:
    """Note what the folder follows, then serve it: whichever process opens it later follows too."""
    settings = load({"home": given.data, "host": given.host, "port": given.port})
    identity = str(user_path(given.identity, "identity").resolve()) if given.identity else ""
    begin_following(settings, SystemClock(), SystemEntropy(), _whole(given.vault), identity)
    given.store, given.stop, given.on_demand = settings.store, False, False
    return serve(given)


def _whole(vault: str) -> str:
    """A folder by its whole path: the server stands elsewhere."""
    return vault if ":" in vault else str(user_path(vault, "vault").resolve())
