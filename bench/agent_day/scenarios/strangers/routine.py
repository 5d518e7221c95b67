"""Each stranger has chores and phrases of their own; this is for one who brings none."""

from __future__ import annotations

from agent_day.scenarios.strangers import pensions

ROUTINE = pensions.ROUTINE
