"""What a scenario is written in: turns of prompts, tool calls and answers, in sessions that end or do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from agent_day.gold import Fact, Question, Value

Client = Literal["claude", "codex", "gemini"]


@dataclass(frozen=True, slots=True)
class Say:
    """A text of the assistant; the last one of a turn is its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """A shell command and what it printed."""

    command: str
    output: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read; paths are relative to the project."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Search:
    """A search through the sources and the lines it found."""

    pattern: str
    found: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A passage of a file that was replaced."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file that was written whole."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delegate:
    """Work that a subagent did, and its last message."""

    title: str
    prompt: str
    report: str


@dataclass(frozen=True, slots=True)
class Compact:
    """The client shortens the conversation to this summary."""

    summary: str


Tool = Run | Read | Search | Edit | Write | Delegate
Step = Say | Tool | Compact


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and everything until the assistant stops."""

    prompt: str
    steps: tuple[Step, ...]

    @property
    def said(self) -> list[str]:
        return [step.text for step in self.steps if isinstance(step, Say)]

    @property
    def whole(self) -> str:
        """Prompt and answers together, as the plain way keeps a turn."""
        return "\n".join([self.prompt, *self.said])


@dataclass(frozen=True, slots=True)
class Session:
    """The turns of one sitting. Without an end the terminal was closed; `resumes` is an earlier session's number."""

    turns: tuple[Turn, ...]
    ends: bool = True
    resumes: int | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A project's days and the gold for the next morning."""

    name: str
    client: Client
    place: str  # the folder, below the user's home
    sessions: tuple[Session, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]
    stands: tuple[Value, ...] = ()  # look-alikes of changed facts; they hold as ever
    foreign: tuple[Value, ...] = ()  # what only other projects say
    remote: str | None = None
    words: str = "item entry value state"
    ending: str = "ts"  # of the project's source files
    tags: frozenset[str] = field(default_factory=frozenset)

    def turns(self) -> Iterator[Turn]:
        for session in self.sessions:
            yield from session.turns


def turn(prompt: str, *steps: Step | str) -> Turn:
    """A turn; a plain string is what the assistant says."""
    return Turn(prompt, tuple(Say(step) if isinstance(step, str) else step for step in steps))


def session(*turns: Turn, ends: bool = True, resumes: int | None = None) -> Session:
    return Session(turns, ends, resumes)
