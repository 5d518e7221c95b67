"""Where commands find the launcher of the server; a hook imports nothing else to start one."""

from __future__ import annotations

from holdfast.launch import launch_server

__all__ = ["launch_server"]
