"""Finds what recurs over sessions: subjects that come up again and again, and ways of working that repeat.

Group by group and project by project; the caller decides whose observations are read together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from holdfast.core.model import Observation, Statement, Summary
from holdfast.learn.sessions.results import Finding, subject_key
from holdfast.learn.sessions.steps import (
    changed_files,
    command_of,
    decisions_of,
    error_of,
    failed,
    in_order,
    only_looks,
)
from holdfast.learn.statements.keywords import closed, counted, joined
from holdfast.text.excerpt import clip

MAX_FINDINGS = 100
_MAX_SOURCES = 5_000  # as many as are read: forgetting one of them must find this again
_CONTENT_CHARS = 1_000
_NEAR = 3


def find_facts(
    observations: Sequence[Observation],
    summaries: Sequence[Summary],
    statements: Mapping[str, Sequence[Statement]] = MappingProxyType({}),
    *,
    min_observations: int = 3,
) -> list[Finding]:
    """Concepts and files that at least `min_observations` observations share, strongest first.

    What is known of a concept are the `statements` in force, by project; in one that is not among them, sentences found
    by their words. A sentence is used for one concept.
    """
    found: list[Finding] = []
    for project, steps in _by_project(observations).items():
        about = [summary for summary in summaries if summary.project == project]
        stated = _stated(steps, statements.get(project))
        concepts = _groups((concept, step) for step in steps for concept in dict.fromkeys(step.concepts))
        files = _groups((path, step) for step in steps for path in dict.fromkeys(step.files))
        for concept, group in _distinct(concepts, min_observations):
            found.append(_concept_fact(project, concept, group, about, stated))
        for path, group in _distinct(files, min_observations):
            found.append(_file_fact(project, path, group))
    return _strongest(found)


def _stated(steps: Sequence[Observation], statements: Sequence[Statement] | None) -> dict[str, list[str]]:
    """What each step states."""
    if statements is None:
        return {step.id: decisions_of([step]) for step in steps}
    said: dict[str, list[str]] = defaultdict(list)
    for one in sorted(statements, key=lambda one: (one.at, one.seq)):
        said[one.source_id].append(one.text)
    return said


def find_procedures(observations: Sequence[Observation], *, min_sessions: int = 2) -> list[Finding]:
    """Commands, and pairs of commands, that at least `min_sessions` sessions ran, strongest first."""
    found: list[Finding] = []
    for project, steps in _by_project(observations).items():
        runs: dict[str, list[_CommandRun]] = defaultdict(list)
        pairs: dict[tuple[str, str], list[_CommandRun]] = defaultdict(list)
        for session in _by_session(steps).values():
            before = None
            for run in _runs(session):
                runs[run.command].append(run)
                if before is not None and before.command != run.command:
                    pairs[before.command, run.command].append(run)
                before = run
        found += [
            _habit(project, command, group) for command, group in runs.items() if _sessions(group) >= min_sessions
        ]
        found += [_sequence(project, pair, group) for pair, group in pairs.items() if _sessions(group) >= min_sessions]
    return _strongest(found)


def _by_project(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    projects: dict[str, list[Observation]] = defaultdict(list)
    for step in in_order(observations):
        projects[step.project].append(step)
    return dict(sorted(projects.items()))


def _by_session(steps: Iterable[Observation]) -> dict[str, list[Observation]]:
    sessions: dict[str, list[Observation]] = defaultdict(list)
    for step in steps:
        sessions[step.session_id].append(step)
    return sessions


def _groups(pairs: Iterable[tuple[str, Observation]]) -> dict[str, list[Observation]]:
    groups: dict[str, list[Observation]] = defaultdict(list)
    for name, step in pairs:
        groups[name].append(step)
    return groups


def _distinct(groups: dict[str, list[Observation]], least: int) -> Iterator[tuple[str, list[Observation]]]:
    """Groups that are large enough; of those with the very same observations only the first by name."""
    seen: set[tuple[str, ...]] = set()
    for name in sorted(groups):
        ids = tuple(step.id for step in groups[name])
        if len(ids) >= least and ids not in seen:
            seen.add(ids)
            yield name, groups[name]


def _concept_fact(
    project: str,
    concept: str,
    group: list[Observation],
    about: Sequence[Summary],
    stated: dict[str, list[str]],
) -> Finding:
    sessions = len({step.session_id for step in group})
    known = [text for step in group for text in stated.get(step.id, ()) if concept in text.lower()][-3:]
    for step in group:  # used here, and for no other concept
        stated[step.id] = [text for text in stated.get(step.id, ()) if text not in known]
    errors = Counter(line for step in group if (line := error_of(step)))
    titles = [summary.title for summary in about if concept in summary.concepts][-2:]
    files = Counter(path for step in group for path in dict.fromkeys(step.files))
    others = Counter(name for step in group for name in dict.fromkeys(step.concepts) if name != concept)
    parts = (
        f"“{concept}” comes up in {counted(len(group), 'observation')} of {counted(sessions, 'session')}.",
        closed(f"Known: {'; '.join(dict.fromkeys(known))}") if known else "",
        closed(f"Last: {clip(group[-1].title, 120)}"),
        f"Files: {_counts(files)}." if files else "",
        f"Errors: {'; '.join(clip(line, 120) for line, _ in errors.most_common(2))}." if errors else "",
        f"Sessions: {'; '.join(clip(title, 80) for title in titles)}." if titles else "",
        f"Together with: {', '.join(name for name, _ in others.most_common(5))}." if others else "",
    )
    return _finding(
        "semantic",
        project,
        ("concept", concept),
        concept,
        parts,
        group,
        [concept, *_top(others, 5)],
        _top(files, 5),
    )


def _file_fact(project: str, path: str, group: list[Observation]) -> Finding:
    sessions = len({step.session_id for step in group})
    changes = [step for step in group if path in changed_files(step)]
    wrong = [line for step in group if (line := error_of(step))]
    concepts = Counter(name for step in group for name in dict.fromkeys(step.concepts))
    others = Counter(other for step in group for other in dict.fromkeys(step.files) if other != path)
    parts = (
        f"{path} was touched in {counted(len(group), 'observation')} of {counted(sessions, 'session')}"
        + (f" and changed {counted(len(changes), 'time')}." if changes else ", and not changed."),
        closed(f"Last: {clip((changes or group)[-1].title, 120)}"),
        f"Errors: {'; '.join(clip(line, 120) for line in dict.fromkeys(wrong[-2:]))}." if wrong else "",
        f"Seen with: {', '.join(_top(others, 3))}." if others else "",
        f"About: {', '.join(_top(concepts, 5))}." if concepts else "",
    )
    return _finding(
        "semantic", project, ("file", path), path, parts, group, _top(concepts, 6), [path, *_top(others, 4)]
    )


class _CommandRun:
    """One run of a command, and what was changed shortly before it."""

    def __init__(self, command: str, step: Observation, changed: list[str]) -> None:
        self.command = command
        self.step = step
        self.changed = changed


def _runs(session: Sequence[Observation]) -> Iterator[_CommandRun]:
    for place, step in enumerate(session):
        command = command_of(step)
        if command and not only_looks(command) and not command.endswith("…"):
            near = session[max(0, place - _NEAR) : place]
            yield _CommandRun(command, step, [path for before in near for path in changed_files(before)])


def _sessions(runs: Sequence[_CommandRun]) -> int:
    return len({run.step.session_id for run in runs})


def _habit(project: str, command: str, runs: Sequence[_CommandRun]) -> Finding:
    after = [run for run in runs if run.changed]
    where = Counter(_folder(path) for run in after for path in dict.fromkeys(run.changed))
    usual = len(after) * 2 > len(runs)
    told = f"Run `{command}`" + (f" after editing {where.most_common(1)[0][0]}" if usual else "")
    bad = sum(failed(run.step) for run in runs)
    parts = (
        f"{told}.",
        f"Done {counted(len(runs), 'time')} in {counted(_sessions(runs), 'session')},"
        f" {counted(bad, 'time')} with a failure.",
    )
    return _procedure(project, ("command", command), told, parts, runs)


def _sequence(project: str, pair: tuple[str, str], runs: Sequence[_CommandRun]) -> Finding:
    told = f"Run `{pair[0]}`, then `{pair[1]}`"
    parts = (
        f"{told}.",
        f"Done in this order {counted(len(runs), 'time')} in {counted(_sessions(runs), 'session')}.",
    )
    return _procedure(project, ("sequence", *pair), told, parts, runs)


def _procedure(
    project: str, subject: tuple[str, ...], told: str, parts: Iterable[str], runs: Sequence[_CommandRun]
) -> Finding:
    steps = [run.step for run in runs]
    concepts = Counter(name for step in steps for name in dict.fromkeys(step.concepts))
    files = Counter(path for run in runs for path in dict.fromkeys(run.changed))
    return _finding("procedural", project, subject, told, parts, steps, _top(concepts, 6), _top(files, 5))


def _finding(
    kind: str,
    project: str,
    subject: tuple[str, ...],
    title: str,
    parts: Iterable[str],
    group: Sequence[Observation],
    concepts: list[str],
    files: list[str],
) -> Finding:
    agents = {step.agent for step in group}
    sessions = len({step.session_id for step in group})
    return Finding(
        kind=kind,
        key=subject_key(kind, project, *subject),
        title=clip(title, 120),
        content=joined(parts, _CONTENT_CHARS),
        concepts=tuple(concepts),
        files=tuple(files),
        source_ids=tuple(step.id for step in group[-_MAX_SOURCES:]),
        strength=round(min(1.0, 0.2 + 0.12 * min(5, sessions) + 0.01 * min(20, len(group))), 3),
        project=project or None,
        agent=agents.pop() if len(agents) == 1 else None,
    )


def _strongest(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: (-finding.strength, finding.key))[:MAX_FINDINGS]


def _top(counts: Counter[str], most: int) -> list[str]:
    return [name for name, _ in counts.most_common(most)]


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({times})" for name, times in counts.most_common(3))


def _folder(path: str) -> str:
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if len(parts) < 2:
        return parts[0] if parts else path
    return f"{parts[-2]}/" if path.startswith(("/", "~")) else f"{parts[0]}/"
