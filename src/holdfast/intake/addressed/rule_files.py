"""The rules of a Markdown file become memories of its project, and follow the file when it is imported again.

A rule that is there word for word is left alone, one that was reworded becomes a new version, and one that the file no
longer has is reported: whether it still holds only its author knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.errors import LimitReached
from holdfast.core.model import RULES_DOMAIN, CleanText, Memory
from holdfast.intake.addresses import OWN, places
from holdfast.intake.remember import MemoryDraft, remember_at_address
from holdfast.local.project_key import last_part
from holdfast.protocol.importers.rule_file import MOST_RULES, RULE_CHARS, Rule, read_rules
from holdfast.store.minhash import distinct_words
from holdfast.store.port import Tx

# Share of words that two wordings of one rule have in common; under one heading, where each is the only one left, less
# will do.
REWORDED, REWORDED_ALONE = 0.5, 0.3


@dataclass(frozen=True, slots=True)
class RulesFile:
    """A file by its path in its project, and its text; all of it is clean."""

    path: CleanText
    text: CleanText
    project: CleanText | None


@dataclass(frozen=True, slots=True)
class RulesPlan:
    """What an import does."""

    added: tuple[Rule, ...]
    changed: tuple[tuple[Memory, Rule], ...]
    unchanged: int
    removed: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class RulesImported:
    added: tuple[Memory, ...]
    changed: tuple[Memory, ...]
    unchanged: int
    removed: tuple[Memory, ...]


def import_rules(ctx: CallContext, file: RulesFile, agent: CleanText | None) -> RulesImported:
    """Keep the rules of a file.

    Raises:
        LimitReached: it has more rules than one file may have, or one that is too long.
    """
    rules = read_rules(file.text)
    if len(rules) > MOST_RULES or any(len(rule.text) > RULE_CHARS for rule in rules):
        raise LimitReached(
            f"import: a file may have {MOST_RULES:,} rules of {RULE_CHARS:,} characters each", hint="Split the file."
        )
    of_project, of_file = _addresses(file)
    known = {
        place.address.id: place.memory
        for place in places(ctx, ctx.store.read(), of_project, agent)
        if place.address.kind == OWN and place.memory.state == "active"
    }
    own = [memory for uri, memory in known.items() if uri.startswith(of_file)]
    elsewhere = {memory.content for uri, memory in known.items() if not uri.startswith(of_file)}
    planned = plan_rules(rules, own, elsewhere)

    def store(tx: Tx) -> RulesImported:
        added = [
            remember_at_address(ctx, tx, _draft(file, rule, _fresh(of_file, rule), agent)) for rule in planned.added
        ]
        changed = [remember_at_address(ctx, tx, _draft(file, rule, old.uri, agent)) for old, rule in planned.changed]
        return RulesImported(tuple(added), tuple(changed), planned.unchanged, planned.removed)

    return ctx.store.write(store)


def plan_rules(rules: Sequence[Rule], known: Sequence[Memory], elsewhere: set[str]) -> RulesPlan:
    """What becomes of each rule of the file and of each memory that came from it before. A rule that another file of
    the project has in the same words is there already."""
    contents = {memory.content for memory in known}
    new = [rule for rule in rules if rule.content not in contents and rule.content not in elsewhere]
    said = {rule.content for rule in rules}
    gone = [memory for memory in known if memory.content not in said]
    changed = _pairs(new, gone)
    reworded, replaced = {rule for _, rule in changed}, {memory.id for memory, _ in changed}
    return RulesPlan(
        tuple(rule for rule in new if rule not in reworded),
        tuple(changed),
        len(rules) - len(new),
        tuple(memory for memory in gone if memory.id not in replaced),
    )


def _pairs(new: Sequence[Rule], gone: Sequence[Memory]) -> list[tuple[Memory, Rule]]:
    """Which rule is another wording of which memory: the most alike first, each once."""
    new_words = [distinct_words(rule.content) for rule in new]
    gone_words = [distinct_words(memory.content) for memory in gone]
    alike = sorted(
        (-score, old, one)
        for old in range(len(gone))
        for one in range(len(new))
        if (score := _likeness(gone_words[old], new_words[one])) >= REWORDED_ALONE
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for distance, old, one in alike:
        if old in pairs or one in taken:
            continue
        if -distance >= REWORDED or _are_alone(new, gone, pairs, old, one):
            pairs[old] = one
            taken.add(one)
    return [(gone[old], new[one]) for old, one in pairs.items()]


def _are_alone(new: Sequence[Rule], gone: Sequence[Memory], pairs: dict[int, int], old: int, one: int) -> bool:
    """Whether they are the only ones left under their heading."""
    heading, taken = new[one].headings, set(pairs.values())
    left_new = [at for at, rule in enumerate(new) if rule.headings == heading and at not in taken]
    left_gone = [at for at, memory in enumerate(gone) if memory.topics == heading and at not in pairs]
    return (left_gone, left_new) == ([old], [one])


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _draft(file: RulesFile, rule: Rule, uri: str, agent: CleanText | None) -> MemoryDraft:
    # Every part of a clean text is clean.
    return MemoryDraft(
        content=CleanText(rule.content),
        type=CleanText(rule.type),
        files=(file.path,),
        project=file.project,
        agent=agent,
        metadata={"importedFrom": {"system": "rules", "ref": file.path}},
        domain=CleanText(RULES_DOMAIN),
        topics=tuple(map(CleanText, rule.headings)),
        uri=uri,
    )


def _addresses(file: RulesFile) -> tuple[str, str]:
    """How the addresses of all rules of the project begin, and of this file."""
    project = file.project or ""
    of_project = f"{RULES_DOMAIN}://{_named(last_part(project) or 'all', project)}/"
    return of_project, f"{of_project}{_named(file.path, file.path)}/"


def _fresh(of_file: str, rule: Rule) -> str:
    return of_file + _hash(rule.content, 12)


def _named(name: str, whole: str) -> str:
    """A part of an address that people can read and that no other name gets."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)[-60:]}-{_hash(whole, 8)}"


def _hash(text: str, chars: int) -> str:
    return sha256(text.encode()).hexdigest()[:chars]
