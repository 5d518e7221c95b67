"""Events as messages of the broker: under which subject, with which body and number. Knows no connection.

A subject is words with dots between; `*` and `>` are wildcards. Names of agents are any text, so each becomes one word
that holds neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

from holdfast.core.model import Dispatch

NOBODY = "_"  # where an event belongs to no agent
# NATS refuses control lines over 4,096 bytes, some clients over 1,024, and a name of 512 characters would take 6,144.
MOST_CHARS, KEPT_CHARS = 128, 96

_UNSAFE = re.compile(rb"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Message:
    subject: str
    body: bytes
    id: str  # the same whenever the event is sent again: JetStream keeps one of them


def message_of(prefix: str, event: Dispatch) -> Message:
    """The message that reports an event."""
    word = word_of(event.agent)
    subject = f"{prefix}.mutated.{word}" if event.kind == "mutated" else f"{prefix}.snapshot.{word}.{event.kind}"
    body = event.body.encode()
    # The body holds tenant, time and record or snapshot: no other event has it, also not after a restore has set the
    # order of writes back.
    return Message(subject, body, blake2b(b"%b %b" % (subject.encode(), body), digest_size=16).hexdigest())


def word_of(agent: str | None) -> str:
    """The one word of a subject that stands for the agent; no two agents have the same."""
    if not agent:
        return NOBODY
    if agent == NOBODY:
        return "%5F"
    word = _UNSAFE.sub(_percent, agent.encode()).decode()
    if len(word) > MOST_CHARS:
        return f"{word[:KEPT_CHARS]}%{blake2b(word.encode(), digest_size=16).hexdigest()}"
    return word


def _percent(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % found[0][0]
