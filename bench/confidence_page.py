"""docs/benchmarks/confidence.md and its reliability diagram, from what bench/confidence.py measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.confidence import ANSWERABLE

if TYPE_CHECKING:
    from confidence import Said

    from holdfast.recall.confidence import Calibration

Floats = NDArray[np.float64]
BINS = 10
MARK = "<!-- written by bench/confidence.py from here on -->"
NONE = ("other", "set")
WIDTH, PANEL, EDGE = 720, 260, 50
COLOURS = ("#2563eb", "#d97706", "#6b7280")


def auroc(said: Floats, truth: Floats) -> float:
    """How often a question with an answer got more than one without."""
    with_, without = said[truth > 0], said[truth == 0]
    if not len(with_) or not len(without):
        return float("nan")
    order = np.sort(without)
    below, upto = np.searchsorted(order, with_, "left"), np.searchsorted(order, with_, "right")
    return float((below + upto).mean() / 2 / len(without))


def bins(said: Floats, truth: Floats, weight: Floats) -> list[tuple[float, float, float]]:
    """Of each tenth: its share, what was said on average, and how often it was so."""
    places = np.minimum((said * BINS).astype(int), BINS - 1)
    found = []
    for place in range(BINS):
        mine = places == place
        if weight[mine].sum() > 0:
            total = weight[mine].sum()
            parts = (said[mine] * weight[mine]).sum() / total, (truth[mine] * weight[mine]).sum() / total
            found.append((float(total / weight.sum()), float(parts[0]), float(parts[1])))
    return found


def ece(said: Floats, truth: Floats, weight: Floats | None = None) -> float:
    """Expected calibration error."""
    return sum(
        share * abs(mean - real)
        for share, mean, real in bins(said, truth, np.ones(len(said)) if weight is None else weight)
    )


class Measured:
    """Some questions, as many with an answer as without one by weight: columns over questions, or over their hits."""

    def __init__(self, rows: Sequence[Said]):
        self.memory = np.array([one.memory for one in rows])
        self.truth = np.array([float(one.asked.has_answer) for one in rows])
        self.best = np.array([max(one.hits) for one in rows])
        self.top = np.array([one.hits[0] for one in rows])
        self.top_truth = np.array([float(one.asked.gold[0]) for one in rows])
        self.weight = np.where(self.truth > 0, 0.5 / max(1, self.truth.sum()), 0.5 / max(1, (1 - self.truth).sum()))
        self.hits = np.array([like for one in rows for like in one.hits])
        self.hit_truth = np.array([float(gold) for one in rows for gold in one.asked.gold])
        self.hit_weight = np.repeat(self.weight, [len(one.hits) for one in rows])

    def cells(self) -> list[str]:
        wrong = (self.memory >= ANSWERABLE) != (self.truth > 0)
        figures = (
            auroc(self.best, self.truth),
            ece(self.memory, self.truth, self.weight),
            ece(self.top, self.top_truth, self.weight),
            ece(self.hits, self.hit_truth, self.hit_weight),
        )
        missed, invented = (
            wrong[self.truth == side].mean() if (self.truth == side).any() else np.nan for side in (1, 0)
        )
        return [*(f"{one:.3f}" for one in figures), f"{missed:.0%}", f"{invented:.0%}"]


HEAD = "| left out | questions | AUROC | error, memory | error, first hit | error, hits | answers denied | answers claimed |"


def table(groups: dict[str, list[Said]]) -> list[str]:
    lines = [HEAD, "|---" * 8 + "|"]
    for name, rows in groups.items():
        lines.append(f"| {name} | {len(rows)} | {' | '.join(Measured(rows).cells())} |")
    return lines


def usual(one: Said) -> bool:
    """A question of a set in its own conversation, or in one that has no answer."""
    return one.asked.kind in ("own", *NONE) and one.asked.category != "adversarial"


def none_is(rows: Sequence[Said], kinds: Sequence[str]) -> list[Said]:
    """Questions in their own conversation beside those of these kinds."""
    return [one for one in rows if one.asked.category != "adversarial" and one.asked.kind in ("own", *kinds)]


def by(rows: Sequence[Said], part: Callable[[Said], str]) -> dict[str, list[Said]]:
    found: dict[str, list[Said]] = {}
    for one in rows:
        found.setdefault(part(one), []).append(one)
    return found


def same_set(rows: Sequence[Said]) -> list[Said]:
    """Those of another conversation of the set; of another set where there is none."""
    found = []
    for mine in by(rows, lambda one: one.asked.set).values():
        kind = "other" if any(one.asked.kind == "other" for one in mine) else "set"
        found += none_is(mine, (kind,))
    return found


def adversarial(rows: Sequence[Said]) -> list[Said]:
    """LoCoMo's questions about what somebody else did, in their own conversation, beside all others there."""
    mine = [one for one in rows if one.asked.set == "locomo" and one.asked.kind == "own"]
    return mine


def section(label: str, numbers: Calibration, by_set: Sequence[Said], by_conversation: Sequence[Said]) -> list[str]:
    near = same_set(by_set)
    sets = by(near, lambda one: one.asked.set)
    cells = [Measured(rows).cells() for rows in sets.values()]
    means = [f"{np.mean([float(cell[at]) for cell in cells]):.3f}" for at in range(4)]
    lines = [f"## {label}", ""]
    lines += [
        f"Best match = {numbers.meaning:g} · likeness + {numbers.words:g} · share of the question's rarity that the hit holds.",
        "",
    ]
    lines += table(sets | {"all of these together": near})
    lines += [f"| mean of the sets | | {' | '.join(means)} | | |", ""]
    conversations = by(same_set(by_conversation), lambda one: f"{one.asked.set} {one.asked.conversation}")
    figures = [[float(cell) for cell in Measured(rows).cells()[:4]] for rows in conversations.values()]
    pooled = Measured([one for rows in conversations.values() for one in rows]).cells()
    lines += ["One conversation left out at a time:", "", HEAD, "|---" * 8 + "|"]
    lines += [f"| all {len(conversations)} together | {sum(map(len, conversations.values()))} | {' | '.join(pooled)} |"]
    lines += [
        f"| mean of the conversations | | {' | '.join(f'{one:.3f}' for one in np.nanmean(figures, axis=0))} | | |",
        "",
    ]
    kinds = {
        "in another set": none_is(by_set, ("set",)),
        "in one store with half of the sets": [one for one in by_set if one.asked.kind.startswith("large")],
        "LoCoMo's adversarial questions": adversarial(by_set),
    }
    return [
        *lines,
        "Other questions without an answer, all sets together, each left out in turn:",
        "",
        *table(kinds),
        "",
    ]


def write(folder: Path, measured: dict[str, tuple[Calibration, list[Said], list[Said]]]) -> None:
    """The tables below the mark of the page, and the diagram beside it."""
    page = folder / "confidence.md"
    before = page.read_text(encoding="utf-8").partition(MARK)[0] if page.exists() else ""
    lines = [line for label, parts in measured.items() for line in section(label, *parts)]
    page.write_text(before + "\n".join([MARK, "", *lines]).rstrip() + "\n", encoding="utf-8")
    (folder / "confidence.svg").write_text(diagram({label: same_set(one[1]) for label, one in measured.items()}))
    print("\n".join(lines))


def diagram(said: dict[str, list[Said]]) -> str:
    """What was said, and how often it was so: of the memory, and of each hit."""
    parts: list[str] = []
    for panel, title in enumerate(("the memory answers", "this hit answers")):
        left = EDGE + panel * (PANEL + 2 * EDGE)
        parts += _frame(left, title)
        for colour, (label, rows) in zip(COLOURS, said.items(), strict=False):
            of = Measured(rows)
            columns = (of.memory, of.truth, of.weight) if panel == 0 else (of.hits, of.hit_truth, of.hit_weight)
            points = [(left + PANEL * x, EDGE + PANEL * (1 - y), share) for share, x, y in bins(*columns)]
            parts.append(_line(points, colour))
            if panel == 0:
                parts.append(_label(left + 8, EDGE + 18 + 16 * list(said).index(label), label, colour))
    size = f'width="{WIDTH}" height="{PANEL + 2 * EDGE}" viewBox="0 0 {WIDTH} {PANEL + 2 * EDGE}"'
    style = 'font-family="sans-serif" font-size="12"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _frame(left: int, title: str) -> list[str]:
    bottom = EDGE + PANEL
    parts: list[Any] = [
        f'<rect x="{left}" y="{EDGE}" width="{PANEL}" height="{PANEL}" fill="none" stroke="#9ca3af"/>',
        f'<line x1="{left}" y1="{bottom}" x2="{left + PANEL}" y2="{EDGE}" stroke="#9ca3af" stroke-dasharray="4 4"/>',
        f'<text x="{left + PANEL / 2}" y="{EDGE - 14}" text-anchor="middle" font-weight="bold">{title}</text>',
        f'<text x="{left + PANEL / 2}" y="{bottom + 34}" text-anchor="middle">said</text>',
        f'<text x="{left - 34}" y="{EDGE + PANEL / 2}" text-anchor="middle" transform="rotate(-90 {left - 34} {EDGE + PANEL / 2})">was so</text>',
    ]
    for tick in (0, 0.5, 1):
        parts.append(f'<text x="{left + PANEL * tick}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{left - 6}" y="{EDGE + PANEL * (1 - tick) + 4}" text-anchor="end">{tick:g}</text>')
    return parts


def _line(points: Sequence[tuple[float, float, float]], colour: str) -> str:
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 8 * share**0.5:.1f}" fill="{colour}" fill-opacity="0.6"/>'
        for x, y, share in points
    )
    return f'<polyline points="{way}" fill="none" stroke="{colour}"/>{dots}'


def _label(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}">{text}</text>'
