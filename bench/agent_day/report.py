"""The figures as a table for the terminal and as a page of the documentation."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_day.days import Answers, Morning, Project
from agent_day.hooks import Cost

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "agent_day.md"
SHORT_CHARS, REPLACED_SHOWN = 160, 40
_HEAD = (
    "project",
    "client",
    "known",
    "plain",
    "outdated",
    "foreign",
    "tokens",
    "first",
    "plain",
    "five",
    "plain",
    "current",
    "plain",
    "wrong",
    "chars",
    "older",
)


def table(half: str, morning: Morning, verbose: bool = False) -> str:
    """A line for each project and one for all; with `verbose` what was missed."""
    lines = [f"half {half}: {len(morning.projects)} projects, events {', '.join(morning.events)}"]
    rows = [_HEAD, *(_row(project) for project in morning.projects), _total(morning)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(_HEAD))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += _costs(morning)
    lines += _by_kind(morning)
    if verbose:
        lines += [line for project in morning.projects for line in _missed(project)]
        lines += [f"replaced: {_short(old)} <- {_short(new)}" for old, new in morning.replaced[:REPLACED_SHOWN]]
    return "\n".join(lines)


def _row(project: Project) -> tuple[str, ...]:
    ours, plain = project.holdfast, project.plain
    return (
        project.scenario.name,
        project.scenario.client,
        f"{ours.context.coverage:.2f}",
        f"{plain.context.coverage:.2f}",
        f"{len(ours.context.outdated)}/{len(plain.context.outdated)}",
        f"{len(ours.context.foreign)}/{len(plain.context.foreign)}",
        f"{ours.tokens}/{plain.tokens}",
        f"{ours.first:.2f}",
        f"{plain.first:.2f}",
        f"{ours.in_five:.2f}",
        f"{plain.in_five:.2f}",
        "{}/{}".format(*ours.current),
        "{}/{}".format(*plain.current),
        f"{len(project.superseded)}/{project.in_force}",
        f"{ours.chars:.0f}/{plain.chars:.0f}",
        f"{project.older_client:.2f}",
    )


def _total(morning: Morning) -> tuple[str, ...]:
    def mean(figure: Callable[[Answers], float], plain: bool = False) -> float:
        return statistics.fmean(figure(one.plain if plain else one.holdfast) for one in morning.projects)

    def both(figure: Callable[[Answers], float]) -> tuple[str, str]:
        return f"{mean(figure):.2f}", f"{mean(figure, plain=True):.2f}"

    def summed(figure: Callable[[Answers], int]) -> str:
        return "/".join(str(sum(figure(way) for way in ways)) for ways in _ways(morning))

    known, first, five = both(lambda a: a.context.coverage), both(lambda a: a.first), both(lambda a: a.in_five)
    current = tuple(f"{_current(ways):.2f}" for ways in _ways(morning))
    wrong = sum(len(one.superseded) for one in morning.projects)
    held = sum(one.in_force for one in morning.projects)
    return (
        "all", "", *known, summed(lambda a: len(a.context.outdated)), summed(lambda a: len(a.context.foreign)),
        f"{mean(lambda a: a.tokens):.0f}/{mean(lambda a: a.tokens, plain=True):.0f}", *first, *five, *current,
        f"{wrong}/{held}", f"{mean(lambda a: a.chars):.0f}/{mean(lambda a: a.chars, plain=True):.0f}",
        f"{statistics.fmean(one.older_client for one in morning.projects):.2f}",
    )  # fmt: skip


def _ways(morning: Morning) -> tuple[list[Answers], list[Answers]]:
    return [one.holdfast for one in morning.projects], [one.plain for one in morning.projects]


def _current(ways: list[Answers]) -> float:
    right, total = (sum(way.current[n] for way in ways) for n in (0, 1))
    return right / total if total else 0.0


def _costs(morning: Morning) -> list[str]:
    cpu, clock = morning.hook_ms()
    start_cpu, start_clock = morning.hook_ms("SessionStart")
    prompts = [tokens for project in morning.projects for tokens in project.prompted]
    brought = [tokens for tokens in prompts if tokens]
    tokens = f", {statistics.fmean(brought):.0f} tokens on average, {max(brought)} at most" if brought else ""
    failed = sum(run.code != 0 for run in morning.runs)
    changes = sum(1 for project in morning.projects for fact in project.scenario.facts if fact.was)
    noticed = sum(len(project.noticed) for project in morning.projects)
    return [
        f"hooks: {len(morning.runs)} runs, p50 {cpu:.0f} ms processor, {clock:.0f} ms clock; "
        f"SessionStart p50 {start_cpu:.0f} ms processor, {start_clock:.0f} ms clock; {failed} failed",
        f"prompts that brought memories: {len(brought)} of {len(prompts)}{tokens}",
        f"changes that the store noticed: {noticed} of {changes}, with {len(morning.replaced)} records replaced in all",
        f"tools over MCP: {morning.tools[0]}, {morning.tools[1]} characters",
    ]


def costs_at_scale(costs: Sequence[Cost], rows: int) -> str:
    """What hooks cost on a large store."""
    return "\n".join(
        f"{rows:,} memories, {cost.event}: p50 {cost.clock_p50:.0f} ms clock, {cost.clock_worst:.0f} ms at worst, "
        f"{cost.cpu_p50:.0f} ms processor ({cost.runs} runs)"
        for cost in costs
    )


def _by_kind(morning: Morning) -> list[str]:
    known: dict[str, list[bool]] = defaultdict(list)
    five: dict[str, list[bool]] = defaultdict(list)
    for project in morning.projects:
        for fact in project.scenario.facts:
            known[fact.kind].append(fact.name in project.holdfast.context.known)
        for one in project.holdfast.asked:
            five[one.question.kind].append(one.rank > 0)
    return [
        f"{name} by kind: " + ", ".join(f"{kind} {sum(all_)}/{len(all_)}" for kind, all_ in sorted(found.items()))
        for name, found in (("known at start", known), ("answer in five", five))
    ]


def _missed(project: Project) -> list[str]:
    name, context = project.scenario.name, project.holdfast.context
    lines = [f"{name}: not known at start: {', '.join(context.missed)}"] if context.missed else []
    lines += [f"{name}: outdated: {line}" for line in context.outdated]
    lines += [f"{name}: foreign: {line}" for line in context.foreign]
    lines += [f"{name}: wrongly superseded: {line}" for line in project.superseded]
    for one, plain in zip(project.holdfast.asked, project.plain.asked, strict=True):
        if one.rank != 1 or (one.question.was and not one.current):
            best = _short(one.best)
            current = "" if one.current or not one.question.was else ", not current"
            lines.append(
                f"{name}: rank {one.rank or '–'}{current} (plain {plain.rank or '–'}): {one.question.text} <- {best}"
            )
    return lines


def _short(text: str) -> str:
    return " ".join(text.split())[:SHORT_CHARS]


def write_page(measured: Mapping[str, Morning], costs: Sequence[Cost] = (), rows: int = 0) -> None:
    """Write docs/benchmarks/agent_day.md, the halves apart."""
    parts = [_INTRODUCTION]
    for half, morning in measured.items():
        lines = [_HEAD, tuple("---" for _ in _HEAD), *(_row(project) for project in morning.projects), _total(morning)]
        parts.append(f"## {_TITLES.get(half, half)}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in lines))
        parts.append("\n".join(f"- {line}" for line in [*_costs(morning), *_by_kind(morning)]))
    if costs:
        parts.append(
            "## A large store\n\n" + "\n".join(f"- {line}" for line in costs_at_scale(costs, rows).splitlines())
        )
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


_TITLES = {"dev": "The half to build on", "held-out": "The half held out", "strangers": "The set of other authors"}
_INTRODUCTION = """# An agent's day

Working days of coding agents, three to five sessions a project, played through the commands that `holdfast connect`
wrote, with the payloads and transcripts of the clients. On the next morning: what does the start of a session hand
over, and what does `memory_recall` answer? Made by `python bench/agent_day/run.py --half all --page`.

The plain way runs on the same days: as context the newest messages until the same budget is full, as recall BM25 over
whole turns, prompt and answer together. In the columns with a slash it stands second.

What was chosen on what: rules, thresholds and the tables `worth.json` and `changes.json` were made on the half to build
on, on labelled turns and pairs (`data/*_dev.jsonl`, `turns_more.jsonl`), on the projects in `scenarios/changes` and
`scenarios/voices`, and on nothing of the half held out. The two
tables are fitted on the very sentences of the half to build on, so its figures flatter; the other half's are the ones
to go by. Each half has chores and phrases of its own.

| column | what it says |
|---|---|
| known | share of the facts that must be known, in the context at start |
| outdated, foreign | outdated values told as current, facts of another project, in the context |
| tokens | of the context |
| first, five | share of questions with the answer in the first hit, in five |
| current | changed facts answered by the current value, with no hit above it that states the old one |
| wrong | facts in force that the store marks as superseded, of all in force |
| chars | of five hits |
| older | share of the context's lines that an agentmemory client's `POST /session/start` is told as well |"""
