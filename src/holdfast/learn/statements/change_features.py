"""What the model of changes weighs: signs of a newer statement, of the older one, of the prompt and of the edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.learn.statements.edits import Claim, EditSigns, edit_signs
from holdfast.learn.statements.stems import stems, tokens
from holdfast.learn.statements.values import THINGS, Value, values, without_values


@dataclass(frozen=True, slots=True)
class Similarity:
    """How near two statements are in meaning: as they are, the newer with its prompt, and both without values."""

    said: float = 0.0
    asked: float = 0.0
    subject: float = 0.0


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


CHANGE = _words(
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
_DONE = _words(
    r"^(?:i|we)(?:'ve| have)? (?:\w+ )?(?:\w+ed|set|put|made|gave|cut|took)\b|^(?:raised|lowered|set|moved|bumped)"
)
_KEPT_ON = _words(
    r"\b(?:stays?|keeps?|kept|remains?|left (?:at|as|alone)|still (?:on|at|in|with)|unchanged|untouched)\b"
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
        "first second third fourth",
        "free paid pro enterprise",
        "short long",
        "inbound outbound",
        "input output",
        "sender receiver",
        "old new",
    )
)


def are_alternatives(old: str, new: str) -> bool:
    one, other = tokens(old), tokens(new)
    return any((a := one & row) and (b := other & row) and not a & b for row in _APART)


def _narrowed(old: str, new: str) -> int:
    """How many of the rows are named in one of the two alone."""
    one, other = tokens(old), tokens(new)
    return sum(bool(one & row) != bool(other & row) for row in _APART)


def is_gone(value: Value, text: str) -> bool:
    """Whether a text states that a value no longer holds."""
    if value.core not in text.lower():
        return False
    name, apart = rf"(?<!\w){re.escape(value.core)}\b", r"[^\w,.;:]+"  # within one clause
    gone = _IS_GONE if value.kind != "name" else f"(?:{_IS_GONE}|{_LEFT})"
    after = rf"{name}{apart}(?:\w+{apart}){{0,4}}?{gone}"
    before = rf"{_TOOK_AWAY}{apart}(?:\w+{apart}){{0,2}}?{name}"
    between = rf"\b(?:from|von){apart}{name}{apart}(?:\w+{apart})?(?:to|auf|zu|nach)\b"
    return re.search(f"{after}|{before}|{between}", text.lower()) is not None


def is_put_back(value: Value, text: str) -> bool:
    """Whether a text states that a value holds again."""
    if "back" not in text.lower():
        return False
    name = re.escape(value.core)
    return re.search(rf"\bback (?:down |up )?(?:to|at|on) (?:\w+ ){{0,2}}{name}\b", text.lower()) is not None


_IS_GONE = (
    r"(?:gone|no longer|any ?more|deleted|uninstalled|removed|switched off|turned off|ran out|leaves?|left|closed|"
    r"retired|replaced|rejected|on (?:\w+ )?leave|is out|too (?:low|high|small|late|slow|long|short|strict|warm)|"
    r"not enough)\b"
)
# What is said of people, firms and services that are there no longer.
_LEFT = (
    r"(?:(?:is |was |has |have |are )?(?:moved|retired|quit|resigned|died|gone|passed away)|retires|quits|"
    r"moves (?:on|to)|"
    r"(?:is |are )?(?:closing|leaving|moving|retiring|shutting down|going away)|changed jobs|can'?t deliver|"
    r"macht zu|hört auf|ist weg\w*|weggezogen|gekündigt|in rente|in elternzeit)\b"
)
_TOOK_AWAY = (
    r"\b(?:removed|deleted|uninstalled|replaced|retired|dropped|no longer|instead of|rather than|not|statt|"
    r"(?:up|down|away|moved|changed|switched|migrated) from)"
)


def _things(found: Sequence[Value]) -> frozenset[str]:
    return frozenset(value.core for value in found if value.kind in THINGS)


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / max(1, len(whole))


@dataclass(frozen=True, slots=True)
class _StatementPair:
    """An older and a newer statement, and what is worked out of them once."""

    old: Claim
    new: Claim
    edit: EditSigns
    before: tuple[Value, ...]  # values of the older one
    after: tuple[Value, ...]
    subject: frozenset[str]  # stems of the older one's subject
    other: frozenset[str]
    prompt: frozenset[str]

    @classmethod
    def of(cls, old: Claim, new: Claim) -> _StatementPair:
        return cls(
            old, new, edit_signs(old, new), tuple(values(old.text)), tuple(values(new.text)),
            stems(without_values(old.text)), stems(without_values(new.text)), stems(new.prompt),
        )  # fmt: skip

    @property
    def fresh(self) -> list[Value]:
        return [one for one in self.after if not any(one.same(other) for other in self.before)]

    @property
    def gone(self) -> list[Value]:
        return [one for one in self.before if not any(one.same(other) for other in self.after)]


def signs(old: Claim, new: Claim, near: Similarity) -> dict[str, float]:
    """What the model weighs, by name."""
    both = _StatementPair.of(old, new)
    found = {**_of_edits(both), **_of_values(both), **_of_subjects(both), **_of_words(both)}
    found |= {"near": near.said, "near with prompt": near.asked, "near without values": near.subject}
    return {name: float(value) for name, value in found.items()}


def _of_edits(both: _StatementPair) -> dict[str, float]:
    edit = both.edit
    return {
        "edit": bool(both.new.edits),
        "edit took the old value": edit.old_named,
        "edit put the new value": edit.new_named,
        "edit did both": edit.old_named and edit.new_named,
        "edit of the same file": edit.same_file,
        "edit goes on from the old one": edit.chained,
        "edit of another thing's file": edit.elsewhere,
        "edit of another key": edit.other_key,
        "edit of a key not named before": edit.foreign_key,
        "edit of a key named before": edit.own_key,
        "edit says it all": edit.old_named and edit.new_named and not edit.of_another_thing,
    }


def _of_values(both: _StatementPair) -> dict[str, float]:
    said, asked, before, fresh, gone = both.new.text, both.new.prompt, both.before, both.fresh, both.gone
    things, others = _things(before), _things(both.after)
    in_prompt = bool(asked) and any(one.stands_in(asked) for one in before)
    in_said = any(one.stands_in(said) for one in before)
    same_kind = any(one.kind == other.kind for one in before for other in fresh)
    apart = bool(things - others) and bool(others - things)
    numbers = any(one.is_number and one.kind == other.kind for one in gone for other in fresh)
    change, complaint = CHANGE.search(said) is not None, _COMPLAINT.search(asked) is not None
    kept_on = _KEPT_ON.search(f"{said} {asked}") is not None
    subject_kept = bool(both.subject) and len(both.subject & (both.other | both.prompt)) >= 0.7 * len(both.subject)
    beside = (in_said or in_prompt) and same_kind and change and not kept_on and "?" not in asked
    return {
        "prompt names the old value": in_prompt,
        "old value named": in_said,
        "old value kept": in_said and not same_kind,
        "several values differ": min(len(gone), len(fresh)) >= 2,
        "number and thing differ": numbers and apart,
        "old value complained of, another given": in_prompt and same_kind and complaint and not kept_on,
        "old value named beside another": beside,
        "subject kept, value changed": subject_kept and same_kind and change and not apart and not kept_on,
        "old value gone": any(is_gone(one, said) or is_gone(one, asked) for one in before),
        "old thing named beside a new one": bool(things & _things(values(f"{said} {asked}"))) and bool(others - things),
        "value of the same kind": same_kind,
        "same values": bool(before) and not gone and not fresh,
        "fresh values": min(2, len(fresh)) / 2,
        "change of the same kind": change and same_kind,
        "complaint of the old value": complaint and in_prompt,
        "old thing missing": min(2, len(things - others)),
        "new thing": min(2, len(others - things)),
        "old values": min(3, len(before)),
        "new values": min(3, len(both.after)),
        "shared thing": bool(things & others),
    }


def _of_subjects(both: _StatementPair) -> dict[str, float]:
    subject, other, turn = both.subject, both.other, both.other | both.prompt
    return {
        "subject lost": not subject & turn,
        "subject whole": bool(subject) and subject <= turn,
        "new subject words": min(6, len(other - subject)) / 6,
        "lost subject words": min(4, len(subject - turn)) / 4,
        "no subject of its own": len(other) <= 2,
        "shared words": _share(subject & other, subject | other),
        "old subject kept": _share(other, subject),
        "new subject known": _share(subject, other),
        "old subject in turn": _share(turn, subject),
        "kept apart": are_alternatives(both.old.text, both.new.text),
        "narrowed": _narrowed(both.old.text, f"{both.new.text} {both.new.prompt}"),
    }


def _of_words(both: _StatementPair) -> dict[str, float]:
    said, asked = both.new.text, both.new.prompt
    patterns = {
        "change": CHANGE, "clear change": _CLEAR_CHANGE, "supposed": _SUPPOSED, "taken back": _TAKEN_BACK,
        "past": _PAST, "measured": _MEASURED, "exception": _EXCEPTION, "adds": _ADDS, "needs": _NEEDS,
    }  # fmt: skip
    return {
        **{name: pattern.search(said) is not None for name, pattern in patterns.items()},
        "begins with what was done": _DONE.match(said) is not None,
        "kept on": _KEPT_ON.search(f"{said} {asked}") is not None,
        "a question": said.rstrip().endswith("?"),
        "complaint": _COMPLAINT.search(asked) is not None,
        "asked": "?" in asked,
    }
