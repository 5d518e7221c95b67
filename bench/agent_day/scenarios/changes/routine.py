"""The chores of the half to build on."""

from __future__ import annotations

from agent_day.scenarios.dev.routine import ROUTINE

__all__ = ["ROUTINE"]
