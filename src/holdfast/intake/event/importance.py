"""How much an event matters, 1 to 10, and how sure the reading of it is, 0 to 1.

Past 180 days auto-forget drops what weighs 2 or less, and recall's context takes what weighs 5 or more:
housekeeping stays at 1 or 2, looking around at 3, changes and words of people at 5 and above.
"""

from __future__ import annotations

import re

from holdfast.intake.event.details import Details
from holdfast.intake.event.facts import WEIGHTY
from holdfast.intake.event.hook_event import HookEvent
from holdfast.intake.event.tool_kinds import HOUSEKEEPING_HOOKS

_BASE = {
    "error": 7,
    "file_edit": 6,
    "file_write": 6,
    "conversation": 5,
    "command_run": 5,
    "subagent": 5,
    "decision": 8,
    "discovery": 6,
    "web_fetch": 4,
    "search": 3,
    "file_read": 3,
    "notification": 2,
}
_LOOKING = re.compile(
    r"^(?:ls|cat|pwd|cd|echo|head|tail|which|wc|tree|find|grep|rg|sed -n|git (?:status|log|diff|show))\b"
)
_NOD = re.compile(
    r"(?:yes|yep|y|no|ok|okay|sure|go|go on|go ahead|continue|proceed|next|thanks?|thank you|hi|hello|done|"
    r"好|好的|是|是的|继续|谢谢|はい|続けて|네|응|계속)[.!。！ ]*",
    re.IGNORECASE,
)
_MILESTONE = re.compile(r"\b(?:git (?:commit|push|merge|revert)|deploy|migrate|release|publish)\b")


def importance_of(happening: HookEvent, details: Details) -> int:
    if happening.hook in HOUSEKEEPING_HOOKS and not details.outcome.failed:
        return 1 if not happening.said else 2
    weight = _BASE.get(happening.kind, 3)
    spoken = f"{happening.prompt}\n{happening.said}"
    if WEIGHTY.search(spoken):
        weight += 2
    if happening.kind == "conversation":
        weight += _spoken_weight(happening)
    if happening.kind == "command_run":
        weight += _command_weight(details)
    elif details.outcome.failed and happening.kind != "error":
        weight += 1
    return max(1, min(10, weight))


def _spoken_weight(happening: HookEvent) -> int:
    spoken = (happening.prompt or happening.said).strip()
    if not spoken or _NOD.fullmatch(spoken):
        return -3
    return 1 if happening.prompt else 0


def _command_weight(details: Details) -> int:
    if details.outcome.failed:
        return 2
    if _LOOKING.match(details.command):
        return -2
    return 1 if details.outcome.tests or _MILESTONE.search(details.command) else 0


def confidence_of(happening: HookEvent) -> float:
    """High when the client named its fields and the tool is known; low when there was little or nothing."""
    if happening.kind == "other":
        return 0.4 if happening.tool or happening.said else 0.2
    if happening.tool:
        return 0.9 if happening.input else 0.7
    return 0.8 if happening.prompt or happening.said else 0.5
