"""Whether a newer statement replaces an older one: the same subject, another value.

A small logistic model over the two texts, the user's prompt, and the edit that went with it. Being wrong hides a
true fact, so the bar is high: docs/benchmarks/agent_day.md has how often it is reached rightly and wrongly on pairs
that the table was not fitted on. Near-duplicates that differ in a name, a number or a "not" are mostly two facts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np

from holdfast.learn.statements.change_features import CHANGE, Similarity, are_alternatives, is_gone, is_put_back, signs
from holdfast.learn.statements.edits import Claim, EditSigns, edit_signs
from holdfast.learn.statements.stems import COMMON
from holdfast.learn.statements.values import IN_WORDS, THINGS, Value, values

SUBJECT_CHARS = 24  # in which a statement mostly names what it is about
_LABEL = re.compile(r"\b([A-Za-z]{3,})s? #?([A-Z]\b|\d+\b|[A-Z][a-z]+\b)")


def _labels(text: str) -> dict[str, frozenset[str]]:
    """Names of one of several by their kind: of rev C, tenant Alpha, box office 2."""
    found: dict[str, set[str]] = {}
    for kind, name in _LABEL.findall(text):
        found.setdefault(kind.lower(), set()).add(name.lower())
    return {kind: frozenset(names) for kind, names in found.items() if kind not in _NO_KIND}


_NO_KIND = COMMON | frozenset(
    "january february march april may june july august september october november december after before until within "
    "than about around over under above below every last next".split()
)


def _begins_with_another(old: str, new: str) -> bool:
    """Whether both begin with one of a kind, and with another one: crate 12 and crate 13."""
    one, other = _LABEL.search(old[:SUBJECT_CHARS]), _LABEL.search(new[:SUBJECT_CHARS])
    if one is None or other is None or one.group(1).lower() != other.group(1).lower():
        return False
    return one.group(2).lower() != other.group(2).lower() and one.group(1).lower() not in _NO_KIND


def _relabelled(old: Claim, new: Claim) -> bool:
    """Whether both are of one kind of thing and name another one of it, while a further value differs too."""
    before, after = _labels(old.text), _labels(new.text)
    other = [kind for kind in before.keys() & after.keys() if not before[kind] & after[kind]]
    names = {name for kind in other for name in (*before[kind], *after[kind])}
    was = [value for value in values(old.text) if value.core not in names]
    rest = [value for value in values(new.text) if value.core not in names]
    return bool(other) and any(one.kind == two.kind and one.core != two.core for one in was for two in rest)


def of_two_things(old: Claim, new: Claim) -> bool:
    """Whether they are clearly about different things, or the newer one claims nothing: the model is not needed."""
    if new.text.rstrip().endswith("?") or are_alternatives(old.text, new.text) or _relabelled(old, new):
        return True
    if _begins_with_another(old.text, new.text):
        return True
    edit = edit_signs(old, new)
    before, after = values(old.text), values(new.text)
    nothing_new = all(any(one.same(other) for other in before) for one in after)
    gone = any(is_gone(one, new.text) or is_gone(one, new.prompt) for one in before)
    if any(is_put_back(one, new.text) for one in before):
        return True
    nothing_changed = nothing_new and not gone and CHANGE.search(new.text) is None and not _makes_it_one(old, new)
    return edit.is_other_key or (bool(before) and nothing_changed) or (_repeats_number(before, after) and not gone)


def _makes_it_one(old: Claim, new: Claim) -> bool:
    """Whether the older one has several of a thing, and the newer one or its prompt has one: three tracks, one track.
    By itself a one is no value, as it mostly counts nothing."""
    several = {noun.lower().rstrip("s") for noun in _SEVERAL.findall(old.text)}
    one = {noun.lower() for text in (new.text, new.prompt) for noun in _ONE.findall(text)}
    return not several.isdisjoint(one)


_SEVERAL = re.compile(rf"\b(?:\d+|{'|'.join(IN_WORDS)}) ([^\W\d_]{{3,}})\b", re.IGNORECASE)
_ONE = re.compile(r"\b(?:one|a single|ein|eine|einen|einer) ([^\W\d_]{3,}?)\b", re.IGNORECASE)


def _repeats_number(before: Sequence[Value], after: Sequence[Value]) -> bool:
    """Whether the newer one has the numbers of the older, and no other of their kind: it is about something else."""
    old = [one for one in before if one.is_number]
    kinds = {one.kind for one in old}
    return (
        bool(old)
        and all(any(one.same(other) for other in old) for one in after if one.kind in kinds)
        and any(one.same(other) for one in after for other in old)
    )


@cache
def _table() -> Mapping[str, Any]:
    text = (resources.files("holdfast.learn.statements") / "changes.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def likelihood(found: Mapping[str, float], *, meaning: bool) -> float:
    """How surely the newer statement replaces the older, 0 to 1, by their signs."""
    return _weighed(found, "with meaning" if meaning else "words alone")


def same_subject(found: Mapping[str, float]) -> bool:
    """Whether the older statement is better shown below the newer one, by their signs and meaning."""
    return _weighed(found, "telling") >= RELATED


def _weighed(found: Mapping[str, float], model: str) -> float:
    table: Mapping[str, Any] = _table()["models"][model]
    total = table["bias"] + sum(weight * found.get(name, 0.0) for name, weight in table["signs"].items())
    return float(1 / (1 + np.exp(-total)))


# A likelihood alone is not enough to hide a statement: an edit or its words must show that the old value is gone.
BY_WORD = ("old value complained of, another given", "old value named beside another", "old value gone")
SURE_BY_EDIT, SURE_BY_WORD = 0.5, 0.82
# Less is needed to mark one as perhaps outdated: such an edit or word alone, another number, time or date, or more
# surely another name. On the half that it was chosen on, 16 of 16 changes were marked, and 13 of 577 facts wrongly.
LIKELY, LIKELY_NAME = 0.2, 0.6
# Still less is needed to show the older one below the newer, as an earlier one: nothing is hidden by it. A model of its
# own weighs that, fitted on the pairs of scenarios too. With each scenario left out in turn it finds 104 of 106
# outdated sentences from here on, and shows 257 of 596 others below a newer one (bench/agent_day/fit_changes.py).
RELATED = 0.2
_CLAUSE = re.compile(r"[,;.:]\s|\b(?:and|und)\b")


def is_stated(found: Mapping[str, float]) -> bool:
    """Whether an edit or the words alone show that the old value is gone."""
    return bool(found["edit says it all"] or found["old value gone"])


def _says_several(text: str) -> bool:
    """Whether a statement gives values in several clauses: if one of them is replaced, the others still hold."""
    return sum(any(value.kind not in THINGS for value in values(part)) for part in _CLAUSE.split(text)) > 1


def gives_another_number(old: str, new: str) -> bool:
    """Whether the newer text has another number, time or date in the place of one of the older."""
    before, after = values(old), values(new)
    fresh = {one.kind for one in after if not any(one.same(other) for other in before)}
    return any(one.kind in fresh and one.kind not in THINGS for one in before)


def _is_replaced(edit: EditSigns, found: Mapping[str, float], chance: float) -> bool:
    if edit.old_named and edit.new_named and (edit.chained or edit.quoted):
        return True
    named = edit.old_named and edit.new_named and not edit.of_another_thing and bool(found["value of the same kind"])
    by_word = any(found[name] for name in BY_WORD)
    return (named and chance >= SURE_BY_EDIT) or (by_word and chance >= SURE_BY_WORD)


Verdict = Literal["replaced", "newer", "related", "apart"]


def verdict(old: Claim, new: Claim, near: Similarity | None) -> Verdict:
    """`replaced`: the older one holds no longer. `newer`: the newer one probably gives another value of the same.
    `related`: both may have one subject, so the newer is shown first. `apart`: two facts."""
    if of_two_things(old, new):
        return "apart"
    found = signs(old, new, near or Similarity())
    chance = likelihood(found, meaning=near is not None)
    if _is_replaced(edit_signs(old, new), found, chance):
        return "newer" if _says_several(old.text) else "replaced"
    if is_stated(found):
        return "newer"
    needed = LIKELY if gives_another_number(old.text, new.text) else LIKELY_NAME
    if chance >= needed and found["value of the same kind"]:
        return "newer"
    return "related" if near and (same_subject(found) or _makes_it_one(old, new)) else "apart"
