"""The words of the protocol: types, domains, scopes and visibilities, and what unknown ones are taken for."""

from __future__ import annotations


class MemoryType:
    """How long a memory is meant to last."""

    NORMAL = "normal"  # decays, may be summarised, expires
    PERMANENT = "permanent"  # stays until it is removed


class MemoryDomain:
    """What a memory is about. An address may have any other domain too."""

    USER_PROFILE = "user_profile"
    PREFERENCES = "preferences"
    FACTS = "facts"
    EVENTS = "events"
    CONTEXT = "context"


class MemoryScope:
    """Who may see a memory."""

    GLOBAL = "global"
    PERSONAL = "personal"
    GROUP = "group"
    CONVERSATION = "conversation"


class MemoryVisibility:
    """Of personal memories: for their one owner, or for all listed owners."""

    PRIVATE = "private"
    GROUP = "group"


TYPES = (MemoryType.NORMAL, MemoryType.PERMANENT)
DOMAINS = (
    MemoryDomain.USER_PROFILE,
    MemoryDomain.PREFERENCES,
    MemoryDomain.FACTS,
    MemoryDomain.EVENTS,
    MemoryDomain.CONTEXT,
)
# The order in which injected memories stand.
SCOPES = (MemoryScope.GLOBAL, MemoryScope.PERSONAL, MemoryScope.GROUP, MemoryScope.CONVERSATION)
VISIBILITIES = (MemoryVisibility.PRIVATE, MemoryVisibility.GROUP)

LEAST_IMPORTANT, USUAL_IMPORTANCE, MOST_IMPORTANT = 1, 3, 5

_DOMAIN_OF = {
    **{domain: domain for domain in DOMAINS},
    "profile": MemoryDomain.USER_PROFILE,
    "preference": MemoryDomain.PREFERENCES,
    "fact": MemoryDomain.FACTS,
    "event": MemoryDomain.EVENTS,
}
_LABELS = {
    MemoryDomain.PREFERENCES: "preference",
    MemoryDomain.FACTS: "fact",
    MemoryDomain.EVENTS: "event",
}


def normalize_memory_scope(value: object) -> str:
    """One of the four scopes; whatever else is given concerns one person only."""
    return _one_of(value, SCOPES, MemoryScope.PERSONAL)


def normalize_visibility(value: object) -> str:
    """One of the two visibilities; whatever else is given is private."""
    return _one_of(value, VISIBILITIES, MemoryVisibility.PRIVATE)


def normalize_type(value: object) -> str:
    """Normal or permanent; whatever else is given is normal."""
    return _one_of(value, TYPES, MemoryType.NORMAL)


def normalize_domain(value: object) -> str:
    """One of the five domains, also from its singular; whatever else is given is a fact."""
    return _DOMAIN_OF.get(_word(value), MemoryDomain.FACTS)


def normalize_importance(value: object) -> int:
    """A whole number from 1 to 5; 3 if it is no number at all."""
    number = whole(value)
    if number is None:
        return USUAL_IMPORTANCE
    return min(max(number, LEAST_IMPORTANT), MOST_IMPORTANT)


def default_visibility(scope: str, *, owners: int = 1) -> str:
    """A memory's default visibility: private where it concerns one person."""
    shared = scope in (MemoryScope.GLOBAL, MemoryScope.GROUP) or (scope == MemoryScope.PERSONAL and owners > 1)
    return MemoryVisibility.GROUP if shared else MemoryVisibility.PRIVATE


def domain_label(domain: str) -> str:
    """The domain as stored text names it: in the singular; an unknown one as it is."""
    return _LABELS.get(domain, domain)


def whole(value: object) -> int | None:
    """A whole number that was given as a number or as text; None for anything else, also for what fits no store."""
    if isinstance(value, str):
        # Longer text is no plausible number, and int() of very long ones takes quadratic time.
        value = _number(value.strip()) if len(value) <= 40 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if value - value != 0:
            return None
        value = int(value)
    return value if -(2**63) <= value < 2**63 else None


def _number(text: str) -> float | int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _word(value: object) -> str:
    return value.lower().strip() if isinstance(value, str) else ""


def _one_of(value: object, known: tuple[str, ...], otherwise: str) -> str:
    word = _word(value)
    return word if word in known else otherwise
