"""Whether a newer statement replaces an older one: the same subject, another value.

A small logistic model over what the two say, what the user had asked, and which edit went with it. Being wrong hides a
true fact, so the bar is high: docs/benchmarks/agent_day.md says how often it is reached rightly and wrongly on pairs
that the table was not fitted on. Near-duplicates that differ in a name, a number or a "not" are mostly two facts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.learn.values import THINGS, Value, values, without_values
from holdfast.store import words

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file, as the tool made it."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with what stood around it: the user's prompt and the edits of that turn."""

    text: str
    prompt: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near two statements are in meaning: as they are, the newer with its prompt, and both without values."""

    said: float = 0.0
    asked: float = 0.0
    subject: float = 0.0


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_CHANGE = _words(
    r"\b(?:now|no longer|any ?more|since|as of|from now on|from .{1,20} on|moved|switch\w*|replac\w*|raised|lowered|"
    r"bumped|set (?:it |the .{1,20} )?to|turned|changed|upgrad\w*|took over|takes over|hand\w+ over|instead|gone|"
    r"deleted|removed|uninstalled|switched off|ran out|extended|down to|up to|scaled|made it|put|gave|gets by|finished|"
    r"for good|are ours|own now|renam\w+|renumbered|narrowed|pushed .{1,30} (?:back|to)|migrated|went up|went down|"
    r"closed|agreed)\b"
)
_CLEAR_CHANGE = _words(
    r"\b(?:now|no longer|any ?more|as of|from now on|moved to|replaced by|took over|takes over|is gone|are gone|raised|"
    r"lowered|since)\b"
)
_SUPPOSED = _words(
    r"\b(?:could|would|might|may want|if|should we|maybe|perhaps|considered|wants? to|plan\w*|next (?:year|month|week)|"
    r"later|nothing is fixed|proposal|alternativ\w*|consider\w*|eventually|candidate|propos\w*|suggest\w*)\b|\?"
)
_TAKEN_BACK = _words(
    r"\b(?:back (?:to|down|on)|put (?:it )?back|as before|revert\w*|rolled? (?:it )?back|afterwards|tried|tested|"
    r"test channel|once|is still|stays?|stay away|leave it|kept it|as it was|unchanged)\b"
)
_PAST = _words(r"\b(?:until|used to|was|were|before that|originally|at first|in the past|back then)\b")
_MEASURED = _words(
    r"\b(?:peak\w*|took|takes about|measured|shows?|at the moment|right now|reached|reaches|served|average|today's run|"
    r"in my run|about|used \d|currently uses|p9\d|ran in|slowest|fastest|pass(?:es)?)\b"
)
_EXCEPTION = _words(
    r"\b(?:this week|today|holiday|for the (?:load )?test|temporar\w*|for the demo|one[- ]time|exception\w*|for now|"
    r"meanwhile|only for)\b"
)
_ADDS = _words(r"\b(?:also|too|as well|in addition|additionally|another|second|besides)\b")
_NEEDS = _words(r"\b(?:needs?|requires?|asks for|at least|exists? only|supports?|recommend\w*|holds?|keyed)\b")
_COMPLAINT = _words(
    r"\b(?:too (?:low|high|long|short|small|slow|strict|warm|late|rare|optimistic|many|few|old|big)|not enough|"
    r"isn't enough|aren't enough|wrong|silly|killed|hot|doesn'?t|don'?t|offline|rejected|404|eats|throw away|says no|"
    r"can i delete|drop|left|leaves?|leave|ran out|instead|please|change)\b"
)
# Words of which only one can be meant: what holds for one of a row does not replace what holds for another.
_APART = tuple(
    frozenset(row.split())
    for row in (
        "staging stage prod production preview dev development test testing ci local sandbox qa canary live",
        "android ios iphone ipad watch web desktop macos mac linux windows chrome firefox safari edge",
        "x86-64 x86 arm64 amd64 arm",
        "eu us europe asia germany france brazil uk",
        "monthly yearly daily weekly hourly",
        "read write",
        "upload download",
        "client server",
        "min minimum max maximum",
        "frontend backend",
        "primary secondary",
    )
)
_COMMON = words.STOP_WORDS | frozenset(
    "now since also only still again we our it its is are was be been has have had with for the a an of to in on at by "
    "from that this and or so as not no up down per every each all one".split()
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "er", "ies", "ed", "es", "s", "ment")
_PATH_WORDS = frozenset(
    "src lib app test tests config conf deploy main values index settings json yaml yml toml".split()
)


def _tokens(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text.lower()))


def _stems(text: str) -> frozenset[str]:
    found = set()
    for word in re.findall(r"[a-zäöüß][a-zäöüß'-]+", text.lower()):
        word = word.strip("'-")
        if word in _COMMON or len(word) < 3:
            continue
        ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
        found.add(word[: len(word) - len(ending)][:6])
    return frozenset(found)


def subject_of(text: str) -> frozenset[str]:
    """The stems of what a statement is about, without its values."""
    return _stems(without_values(text))


def _kept_apart(old: str, new: str) -> bool:
    one, other = _tokens(old), _tokens(new)
    return any((a := one & row) and (b := other & row) and not a & b for row in _APART)


def _narrowed(old: str, new: str) -> int:
    """How many of the rows are named in one of the two alone."""
    one, other = _tokens(old), _tokens(new)
    return sum(bool(one & row) != bool(other & row) for row in _APART)


@dataclass(frozen=True, slots=True)
class _EditSigns:
    old_named: bool = False  # the older statement names what the edit took away
    new_named: bool = False  # the newer one names what it put there
    same_file: bool = False  # the older statement's turn changed the same file, or the statement names it
    chained: bool = False  # what was taken away is what the older statement's turn had put there
    elsewhere: bool = False  # the file's own name is in the newer statement, and not in the older


def _edit_signs(old: Claim, new: Claim) -> _EditSigns:
    found = [_one_edit(old, new, edit) for edit in new.edits]
    return max(found, key=lambda one: (one.chained, one.old_named + one.new_named, one.same_file), default=_EditSigns())


def _one_edit(old: Claim, new: Claim, edit: Edit) -> _EditSigns:
    before, after = _pieces(edit.old), _pieces(edit.new)
    taken, put = before - after, after - before
    names = {part for part in _tokens(edit.file.replace("/", " ").replace(".", " ")) if len(part) > 2} - _PATH_WORDS
    same_file = any(edit.file == other.file for other in old.edits) or _base(edit.file) in old.text
    return _EditSigns(
        _names_any(old.text, taken),
        _names_any(new.text, put),
        same_file,
        any(edit.file == other.file and taken & _pieces(other.new) - _pieces(other.old) for other in old.edits),
        bool(names & _tokens(new.text)) and not names & _tokens(old.text),
    )


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _pieces(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z]{3,}|\d+(?:\.\d+)*", re.sub(r"(?<=\d)_(?=\d)", "", text)))


def _names_any(text: str, pieces: frozenset[str]) -> bool:
    """Whether the text names one of the pieces; 60 is named by 60_000, a limit in another unit."""
    stated = {_digits(value.core) for value in values(text) if value.is_number or value.kind in ("clock", "address")}
    numbers = {_digits(piece) for piece in pieces if piece[0].isdigit()}
    plain = _tokens(text)
    return bool((stated - {""}) & numbers) or any(piece.lower() in plain for piece in pieces if piece[0].isalpha())


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text).rstrip("0") or re.sub(r"\D", "", text)


def _things(found: Sequence[Value]) -> frozenset[str]:
    return frozenset(value.core for value in found if value.kind in THINGS)


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / max(1, len(whole))


def signs(old: Claim, new: Claim, near: Nearness) -> dict[str, float]:
    """What the model weighs, by name."""
    said, asked = new.text, new.prompt
    before, after = values(old.text), values(said)
    fresh = [one for one in after if not any(one.same(other) for other in before)]
    gone = [one for one in before if not any(one.same(other) for other in after)]
    in_prompt = bool(asked) and any(one.stands_in(asked) for one in before)
    same_kind = any(one.kind == other.kind for one in before for other in fresh)
    subject, other, prompt = _stems(without_values(old.text)), _stems(without_values(said)), _stems(asked)
    things, others = _things(before), _things(after)
    edit, change = _edit_signs(old, new), _CHANGE.search(said) is not None
    complaint = _COMPLAINT.search(asked) is not None
    found: dict[str, float | bool] = {
        "edit": bool(new.edits),
        "edit took the old value": edit.old_named,
        "edit put the new value": edit.new_named,
        "edit did both": edit.old_named and edit.new_named,
        "edit of the same file": edit.same_file,
        "edit goes on from the old one": edit.chained,
        "edit of another thing's file": edit.elsewhere,
        "prompt names the old value": in_prompt,
        "old value named": any(one.stands_in(said) for one in before),
        "value of the same kind": same_kind,
        "same values": bool(before) and not gone and not fresh,
        "fresh values": min(2, len(fresh)) / 2,
        "near": near.said,
        "near with prompt": near.asked,
        "near without values": near.subject,
        "shared words": _share(subject & other, subject | other),
        "old subject kept": _share(other, subject),
        "new subject known": _share(subject, other),
        "old subject in turn": _share(other | prompt, subject),
        "change": change,
        "clear change": _CLEAR_CHANGE.search(said) is not None,
        "change of the same kind": change and same_kind,
        "supposed": _SUPPOSED.search(said) is not None,
        "taken back": _TAKEN_BACK.search(said) is not None,
        "past": _PAST.search(said) is not None,
        "measured": _MEASURED.search(said) is not None,
        "exception": _EXCEPTION.search(said) is not None,
        "adds": _ADDS.search(said) is not None,
        "needs": _NEEDS.search(said) is not None,
        "complaint": complaint,
        "complaint of the old value": complaint and in_prompt,
        "kept apart": _kept_apart(old.text, said),
        "narrowed": _narrowed(old.text, f"{said} {asked}"),
        "asked": "?" in asked,
        "old thing missing": min(2, len(things - others)),
        "new thing": min(2, len(others - things)),
        "old values": min(3, len(before)),
        "new values": min(3, len(after)),
        "shared thing": bool(things & others),
    }
    return {name: float(value) for name, value in found.items()}


@cache
def _table() -> Mapping[str, Any]:
    text = (resources.files("holdfast.learn") / "changes.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def likelihood(old: Claim, new: Claim, near: Nearness | None) -> float:
    """How surely the newer statement replaces the older, 0 to 1; without nearness by words alone."""
    table = _table()["models"]["words alone" if near is None else "with meaning"]
    found = signs(old, new, near or Nearness())
    total = table["bias"] + sum(weight * found.get(name, 0.0) for name, weight in table["signs"].items())
    return float(1 / (1 + np.exp(-total)))


def bar(near: Nearness | None) -> float:
    """From which likelihood on a statement counts as replaced."""
    return float(_table()["models"]["words alone" if near is None else "with meaning"]["bar"])


def replaces(old: Claim, new: Claim, near: Nearness | None) -> bool:
    """Whether the newer statement replaces the older, beyond doubt."""
    return likelihood(old, new, near) >= bar(near)
