"""One setting as a row, and the parsers for environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Parse = Callable[[str], Any]


class WrongForm(ValueError):
    """The message says what a value must look like and holds nothing of it, so it is shown of secrets as well."""


def text(raw: str) -> str:
    return raw.strip()


def secret(raw: str) -> str | None:
    return raw.strip() or None


def boolean(raw: str) -> bool:
    word = raw.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def _number(kind: Callable[[str], Any], raw: str, words: str) -> Any:
    try:
        return kind(raw.strip())
    except ValueError:
        raise ValueError(f"must be {words}") from None


def whole(low: int, high: int) -> Parse:
    def parse(raw: str) -> int:
        value: int = _number(int, raw, "a whole number")
        if not low <= value <= high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return parse


def real(low: float, high: float) -> Parse:
    def parse(raw: str) -> float:
        value: float = _number(float, raw, "a number")
        if not low <= value <= high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return parse


def one_of(*words: str) -> Parse:
    def parse(raw: str) -> str:
        word = raw.strip().lower()
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return parse


def words_list(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def broker(raw: str) -> str | None:
    """Addresses of NATS servers, or None."""
    if not raw.strip():
        return None
    if not all(_BROKER.fullmatch(one) for one in raw.strip().split(",")):
        raise WrongForm("must be addresses such as nats://host:4222 or tls://host:4222, separated by commas")
    return raw.strip()


def public_url(raw: str) -> str:
    """The origin under which clients reach the server, without a slash at its end."""
    word = raw.strip().rstrip("/").lower()
    if word and not _ORIGIN.fullmatch(word):
        raise ValueError(
            "must be an address such as https://memory.example.org, without a path; http only for this machine"
        )
    return word


def store(raw: str) -> str:
    """The embedded store, or the address of a database."""
    word = raw.strip()
    if word.lower() == "sqlite":
        return "sqlite"
    if not word.startswith(("postgresql://", "postgres://")):
        raise WrongForm("must be sqlite or an address like postgresql://user@host/name")
    return word


def subject(raw: str) -> str:
    """The prefix of NATS subjects: no wildcard, no empty token."""
    if not _SUBJECT.fullmatch(raw.strip()) or len(raw) > 100:
        raise ValueError("must be words of letters, digits, _ and -, separated by dots")
    return raw.strip()


_BROKER = re.compile(r"(?:nats|tls)://(?:[^\s/@,]+@)?[A-Za-z0-9_.:\[\]-]+/?")
_ORIGIN = re.compile(
    r"(?:https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?", re.ASCII
)
_SUBJECT = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def duration(raw: str) -> int:
    """Seconds of a text like 12h; 0 for off."""
    word = raw.strip().lower()
    if word in {"off", "none", "0"}:
        return 0
    found = re.fullmatch(r"(\d{1,9})([smhd])", word, re.ASCII)
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= 366 * 86_400:
        raise ValueError("must be a time like 30m, 12h or 7d, or off")
    return seconds


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: its name gives HOLDFAST_<NAME>; `also` are older names that keep working."""

    name: str
    default: str
    help: str
    parse: Parse = text
    also: tuple[str, ...] = ()
    hidden: bool = False  # the value is a secret and is never shown
    also_form: str = "{}"  # what a value under one of the older names means here

    def written(self, variable: str, raw: str) -> str:
        """The value of a variable as it would be written under the setting's own name."""
        return self.also_form.format(raw.strip()) if variable in self.also else raw

    @property
    def env(self) -> str:
        return f"HOLDFAST_{self.name.upper()}"
