"""docs/benchmarks/ranking.md: how each set does with numbers that were fitted without it, beside simpler ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from ranking.model import PRESENT
from ranking.tables import SIMPLE

from holdfast.recall.ranking.ranking_weights import RankingWeights

if TYPE_CHECKING:
    from ranking.run import Outcome

ROUNDS = 2000
REASONED = "as reasoned"
Array = Any
HEAD = """# The ranking on sets that were left out

`make rank` fits the numbers of the ranking (`src/holdfast/recall/ranking/ranking.json`) for each local model and writes
this page. R@10 / MRR of single records over all questions of a set; candidates are those of the store, and
[quality.md](quality.md) says what the sets are. **Left out** means: numbers that were fitted without the set and without
any other set of the same questions or texts (the assistant's chats and their long forms are one family, as are the three
sets of coding and the two of the library). Of LoCoMo, realtalk_half and beam100k_half one half is read from where it
lies; the other halves were never seen.

Fitted are the share of the words and how it follows the lead of the best by meaning, how much a record's own meaning
counts beside that with its neighbours, and what a named speaker, exact names, questions, the user's own words and numbers
count: conditional logit, each family with the same weight, with a ridge towards the numbers as they were reasoned out. A
form is taken for a model only if the mean of R@10 and MRR over the sets left out rises by .005. The numbers as reasoned
out had all sets in view but the two halves when they were chosen, so sets left out are at a disadvantage beside them.
Tie-breakers are left out.
"""


def page(outcomes: Mapping[str, Outcome]) -> str:
    lines = [HEAD]
    lines += [
        "## Numbers",
        "",
        "| model | form taken | " + " | ".join(field.name for field in fields(RankingWeights)) + " |",
    ]
    lines += ["|" + "---|" * (len(fields(RankingWeights)) + 2)]
    lines += [_numbers("any, as reasoned", REASONED, PRESENT)]
    lines += [_numbers(label, one.taken, one.weights) for label, one in outcomes.items()]
    for label, one in outcomes.items():
        lines += ["", f"## {label}", "", *_sets(one)]
    lines += ["", *_models(outcomes)]
    return "\n".join(lines) + "\n"


def _numbers(label: str, form: str, weights: RankingWeights) -> str:
    values = (f"{getattr(weights, field.name):.3g}" for field in fields(RankingWeights))
    return f"| {label} | {form} | " + " | ".join(values) + " |"


def _sets(one: Outcome) -> list[str]:
    forms = list(one.by_set)
    simple = _simple(one)
    columns = ["set", "questions", *SIMPLE, *forms, "conversation left out", "difference to the best simpler way"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, rows in one.by_set[one.taken].items():
        ways = {way: simple[way][name] for way in SIMPLE}
        best = max(ways.values(), key=lambda found: found.mean())
        cells = [_cell(ways[way]) for way in SIMPLE] + [_cell(one.by_set[form][name]) for form in forms]
        cells += [_cell(one.by_talk[name]), _difference(rows, best)]
        lines.append(f"| {name} | {len(rows)} | {' | '.join(cells)} |")
    means = [simple[way] for way in SIMPLE] + [one.by_set[form] for form in forms] + [one.by_talk]
    cells = [_cell(np.array([rows.mean(0) for rows in found.values()])) for found in means]
    lines.append(f"| mean of the sets | | {' | '.join(cells)} | |")
    taken = (
        f'Taken: "{one.taken}". Differences are of R@10 and MRR, with 95 % of the paired differences; the best simpler way '
        "is the one whose sum is largest."
    )
    return [*lines, "", taken, "", _behind(one, simple)]


def _behind(one: Outcome, simple: Mapping[str, Mapping[str, Array]]) -> str:
    """The sets on which some simpler way is ahead, whatever way, beyond chance."""
    found = []
    for name, rows in one.by_set[one.taken].items():
        for place, figure in enumerate(("R@10", "MRR")):
            ways = [way for way in SIMPLE if _span(rows - simple[way][name])[1][place] < 0]
            found += [f"{name} ({figure}, {', '.join(ways)})"] if ways else []
    return f"Behind a simpler way beyond chance: {'; '.join(found) or 'nowhere'}."


def _simple(one: Outcome) -> dict[str, dict[str, Array]]:
    found: dict[str, dict[str, list[Array]]] = {way: {} for way in SIMPLE}
    for table in one.tables:
        for way in SIMPLE:
            found[way].setdefault(table.set, []).append(table.simple[way])
    return {way: {name: np.concatenate(rows) for name, rows in sets.items()} for way, sets in found.items()}


def _models(outcomes: Mapping[str, Outcome]) -> list[str]:
    """The models beside each other, each with the numbers that it gets."""
    (first, one), (second, other) = outcomes.items()
    lines = [
        f"## {second} instead of {first}",
        "",
        f"| set | {first} | {second} | difference, and 95 % of it |",
        "|---|---|---|---|",
    ]
    for name, rows in one.by_set[one.taken].items():
        theirs = other.by_set[other.taken][name]
        lines.append(f"| {name} | {_cell(rows)} | {_cell(theirs)} | {_difference(theirs, rows)} |")
    means = [np.array([rows.mean(0) for rows in found.by_set[found.taken].values()]) for found in (one, other)]
    return [*lines, f"| mean of the sets | {_cell(means[0])} | {_cell(means[1])} | |"]


def _cell(rows: Array) -> str:
    recall, rank = rows.mean(0)
    return f"{recall:.3f} / {rank:.3f}"


def _difference(rows: Array, other: Array) -> str:
    apart = rows - other
    low, high = _span(apart)
    return " / ".join(
        f"{mean:+.3f} ({a:+.3f} to {b:+.3f})" for mean, a, b in zip(apart.mean(0), low, high, strict=True)
    )


def _span(apart: Array) -> Array:
    """95 % of the means, by seeded bootstrap over questions."""
    draws = np.random.default_rng(1).integers(0, len(apart), (ROUNDS, len(apart)))
    return np.percentile(apart[draws].mean(1), [2.5, 97.5], axis=0)
