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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.learn.values import THINGS, Value, values, without_values
from holdfast.store import words

Floats = NDArray[np.float64]

SHORTEST_NAME = 6
SHORTEST_CHAIN = 5  # characters of an edit that say enough to be the same place


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
    distinct: bool = False  # what was taken away has a name that nothing else has, and the older statement names it
    elsewhere: bool = False  # the file's own name is in the newer statement, and not in the older
    other_key: bool = False  # the older statement's turn changed another key of the same file
    foreign_key: bool = False  # the key's words are in the newer statement, and not in the older
    own_key: bool = False  # the key's words are in the older statement

    @property
    def of_another_thing(self) -> bool:
        return self.elsewhere or self.other_key or (self.foreign_key and not self.own_key)


def _edit_signs(old: Claim, new: Claim) -> _EditSigns:
    found = [_one_edit(old, new, edit) for edit in new.edits]
    return max(
        found,
        key=lambda one: (one.chained, one.distinct, one.old_named + one.new_named, one.same_file),
        default=_EditSigns(),
    )


def _one_edit(old: Claim, new: Claim, edit: Edit) -> _EditSigns:
    before, after = _pieces(edit.old), _pieces(edit.new)
    taken, put = before - after, after - before
    names = _stems(" ".join(_tokens(re.sub(r"[/._-]", " ", edit.file)) - _PATH_WORDS))
    same_file = any(edit.file == other.file for other in old.edits) or _base(edit.file) in old.text
    keys = [(_keys(edit), _keys(other)) for other in old.edits if edit.file == other.file]
    key, said, told = _keys(edit), _stems(old.text), _stems(f"{new.text} {new.prompt}")
    return _EditSigns(
        _names_any(old.text, taken),
        _names_any(new.text, put),
        same_file,
        any(edit.file == other.file and _goes_on(edit, other) for other in old.edits),
        any(_is_distinct(piece) for piece in taken) and _names_any(old.text, frozenset(filter(_is_distinct, taken))),
        bool(names & _stems(new.text)) and not names & said,
        bool(keys) and all(one - other and other - one for one, other in keys),
        bool((key & told) - said),
        bool(key & said),
    )


def _keys(edit: Edit) -> frozenset[str]:
    """The words of the names that stand on both sides of an edit: of the key whose value it changed."""
    both = " ".join(_names(edit.old) & _names(edit.new))
    return _stems(re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", both))


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_][\w-]+", text))


def _is_distinct(piece: str) -> bool:
    """Whether a piece is a name of its own: meadow-invoices, eu-west-1, 192.168.1.20; not 14 or timeout."""
    return len(piece) >= SHORTEST_NAME and re.search(r"[-_.\d]", piece) is not None


def _goes_on(edit: Edit, before: Edit) -> bool:
    """Whether an edit takes away what an earlier one put there."""
    taken = " ".join(edit.old.split())
    return len(taken) >= SHORTEST_CHAIN and taken in " ".join(before.new.split()) and taken not in before.old


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _pieces(text: str) -> frozenset[str]:
    """Words, numbers and whole names of an edit's side."""
    plain = re.sub(r"(?<=\d)_(?=\d)", "", text)
    names = re.findall(r"[A-Za-z][\w-]*[-_][\w-]*\w", plain)
    return frozenset([*re.findall(r"[A-Za-z]{3,}|\d+(?:\.\d+)*", plain), *names])


def names_what_was_put(text: str, edits: Sequence[Edit]) -> bool:
    """Whether a sentence names a value that an edit put in the place of another."""
    return any(edit.old and _names_any(text, _values_of(edit.new) - _values_of(edit.old)) for edit in edits if edit.new)


def _values_of(text: str) -> frozenset[str]:
    return frozenset(piece for piece in _pieces(text) if piece[0].isdigit() or _is_distinct(piece))


def _names_any(text: str, pieces: frozenset[str]) -> bool:
    """Whether the text names one of the pieces. 60 is named by 60_000, a limit in another unit, and 14.11 by 14."""
    found = [value.core for value in values(text) if value.is_number or value.kind in ("clock", "address")]
    stated = {_digits(core) for core in found} | {core.partition(".")[0] for core in found if "." in core}
    numbers = {_digits(piece) for piece in pieces if piece[0].isdigit()} | {
        piece for piece in pieces if piece[0].isdigit()
    }
    plain = _tokens(text)
    return bool((stated - {""}) & numbers) or any(piece.lower() in plain for piece in pieces if piece[0].isalpha())


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text).rstrip("0") or re.sub(r"\D", "", text)


def _gone(value: Value, text: str) -> bool:
    """Whether a text says of a value that it is no more."""
    name = rf"(?<!\w){re.escape(value.core)}\b"
    after = rf"{name}\W+(?:\w+\W+){{0,4}}?{_IS_GONE}"
    before = rf"{_TOOK_AWAY}\W+(?:\w+\W+){{0,2}}?{name}"
    return re.search(f"{after}|{before}", text.lower()) is not None


def _put_back(value: Value, text: str) -> bool:
    """Whether a text says that a value holds again."""
    name = re.escape(value.core)
    return re.search(rf"\bback (?:down |up )?(?:to|at|on) (?:\w+ ){{0,2}}{name}\b", text.lower()) is not None


_IS_GONE = (
    r"(?:gone|no longer|any ?more|deleted|uninstalled|removed|switched off|turned off|ran out|leaves?|left|closed|"
    r"retired|replaced|rejected|on (?:\w+ )?leave|is out|too (?:low|high|small|late|slow|long|short|strict|warm)|"
    r"not enough)\b"
)
_TOOK_AWAY = r"\b(?:removed|deleted|uninstalled|replaced|retired|dropped|no longer|instead of|not)"


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
    in_said = any(one.stands_in(said) for one in before)
    numbers = any(one.is_number and one.kind == other.kind for one in gone for other in fresh)
    apart = bool(things - others) and bool(others - things)
    kept_on, asks = _KEPT_ON.search(f"{said} {asked}") is not None, "?" in asked
    subject_kept = bool(subject) and len(subject & (other | prompt)) >= 0.7 * len(subject)
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
        "edit of another key": edit.other_key,
        "edit of a key not named before": edit.foreign_key,
        "edit of a key named before": edit.own_key,
        "old value named": in_said,
        "old value kept": in_said and not same_kind,
        "several values differ": min(len(gone), len(fresh)) >= 2,
        "number and thing differ": numbers and apart,
        "subject lost": not subject & (other | prompt),
        "subject whole": bool(subject) and subject <= (other | prompt),
        "new subject words": min(6, len(other - subject)) / 6,
        "lost subject words": min(4, len(subject - other - prompt)) / 4,
        "no subject of its own": len(other) <= 2,
        "begins with what was done": _DONE.match(said) is not None,
        "kept on": kept_on,
        "a question": said.rstrip().endswith("?"),
        "edit says it all": edit.old_named and edit.new_named and not edit.of_another_thing,
        "old value complained of, another given": in_prompt and bool(fresh) and complaint and not kept_on,
        "old value named beside another": (in_said or in_prompt) and same_kind and change and not kept_on and not asks,
        "subject kept, value changed": subject_kept and same_kind and change and not apart and not kept_on,
        "old value gone": any(_gone(one, said) or _gone(one, asked) for one in before),
        "old thing named beside a new one": bool(things & _things(values(f"{said} {asked}"))) and bool(others - things),
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
        "asked": asks,
        "old thing missing": min(2, len(things - others)),
        "new thing": min(2, len(others - things)),
        "old values": min(3, len(before)),
        "new values": min(3, len(after)),
        "shared thing": bool(things & others),
    }
    return {name: float(value) for name, value in found.items()}


_LABEL = re.compile(r"\b([A-Za-z]{3,})s? #?([A-Z]\b|\d+\b|[A-Z][a-z]+\b)")


def _labels(text: str) -> dict[str, frozenset[str]]:
    """Names of one of several by their kind: of rev C, tenant Alpha, box office 2."""
    found: dict[str, set[str]] = {}
    for kind, name in _LABEL.findall(text):
        found.setdefault(kind.lower(), set()).add(name.lower())
    return {kind: frozenset(names) for kind, names in found.items() if kind not in _NO_KIND}


_NO_KIND = _COMMON | frozenset(
    "january february march april may june july august september october november december after before until within "
    "than about around over under above below every last next".split()
)


def _relabelled(old: Claim, new: Claim) -> bool:
    """Whether both are of one kind of thing and name another one of it, while a further value differs too."""
    before, after = _labels(old.text), _labels(new.text)
    other = [kind for kind in before.keys() & after.keys() if not before[kind] & after[kind]]
    names = {name for kind in other for name in (*before[kind], *after[kind])}
    was = [value for value in values(old.text) if value.core not in names]
    rest = [value for value in values(new.text) if value.core not in names]
    return bool(other) and any(one.kind == two.kind and one.core != two.core for one in was for two in rest)


def of_two_things(old: Claim, new: Claim) -> bool:
    """Whether they speak of different things beyond doubt, or the newer one claims nothing: no weighing needed."""
    if new.text.rstrip().endswith("?") or _kept_apart(old.text, new.text) or _relabelled(old, new):
        return True
    edit = _edit_signs(old, new)
    before, after = values(old.text), values(new.text)
    nothing_new = all(any(one.same(other) for other in before) for one in after)
    gone = any(_gone(one, new.text) or _gone(one, new.prompt) for one in before)
    if any(_put_back(one, new.text) for one in before):
        return True
    nothing_changed = nothing_new and not gone and _CHANGE.search(new.text) is None
    other_key = edit.other_key and not edit.chained
    return other_key or (bool(before) and nothing_changed) or (_repeats_number(before, after) and not gone)


def _repeats_number(before: Sequence[Value], after: Sequence[Value]) -> bool:
    """Whether the newer one has the numbers of the older, and no other of their kind: it speaks of something else."""
    old = [one for one in before if one.is_number]
    kinds = {one.kind for one in old}
    return (
        bool(old)
        and all(any(one.same(other) for other in old) for one in after if one.kind in kinds)
        and any(one.same(other) for one in after for other in old)
    )


@cache
def _table() -> Mapping[str, Any]:
    text = (resources.files("holdfast.learn") / "changes.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def likelihood(found: Mapping[str, float], *, meaning: bool) -> float:
    """How surely the newer statement replaces the older, 0 to 1, by their signs."""
    table = _model(meaning)
    total = table["bias"] + sum(weight * found.get(name, 0.0) for name, weight in table["signs"].items())
    return float(1 / (1 + np.exp(-total)))


def _model(meaning: bool) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _table()["models"]["with meaning" if meaning else "words alone"]
    return table


# A likelihood alone is not enough to hide a statement: an edit or its words must say that the old value is gone.
BY_EDIT = ("edit says it all", "edit goes on from the old one")
BY_WORD = ("old value complained of, another given", "old value named beside another", "old value gone")
SURE_BY_EDIT, SURE_BY_WORD = 0.5, 0.82


def _edited_away(edit: _EditSigns) -> bool:
    """Whether an edit took the very value that the older statement names, and the newer one names what it put there."""
    return edit.old_named and edit.new_named and (edit.chained or (edit.distinct and not edit.of_another_thing))


Verdict = Literal["replaced", "newer", "apart"]


def verdict(old: Claim, new: Claim, near: Nearness | None) -> Verdict:
    """`replaced`: the older one holds no longer. `newer`: the newer one probably speaks of the same and is told first.
    `apart`: two facts."""
    if of_two_things(old, new):
        return "apart"
    if _edited_away(_edit_signs(old, new)):
        return "replaced"
    found = signs(old, new, near or Nearness())
    chance = likelihood(found, meaning=near is not None)
    by_edit = any(found[name] for name in BY_EDIT) and chance >= SURE_BY_EDIT
    by_word = any(found[name] for name in BY_WORD) and chance >= SURE_BY_WORD
    if by_edit or by_word:
        return "replaced"
    return "newer" if chance >= _model(near is not None)["likely"] else "apart"
