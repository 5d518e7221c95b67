"""Summarises one session in a few sentences, by extraction: every word was in the observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.core.model import Observation, Statement, Summary
from holdfast.learn.sessions.narrative import NARRATIVE_CHARS, digest_of
from holdfast.learn.sessions.recovery_pairs import recoveries
from holdfast.learn.sessions.results import Finding, SessionDigest, subject_key
from holdfast.learn.sessions.steps import (
    changed_files,
    command_of,
    decisions_of,
    failed,
    in_order,
    modified_files,
    only_looks,
    requests,
    said_of,
    tests_fail,
    tests_of,
    weighed_concepts,
)
from holdfast.learn.statements.keywords import closed, counted, joined, normal
from holdfast.text.excerpt import clip

CRYSTAL_CHARS = 4_000
_MAX_SOURCES = 5_000  # as many as are read: forgetting one of them must find this again


def summarize_session(
    observations: Sequence[Observation], statements: Sequence[Statement] | None = None, folders: Sequence[str] = ()
) -> SessionDigest:
    """What was requested, found, decided and changed, and how it ended; the same for the same observations.

    `statements` are those of the session that are in force; where it never had any, its steps are listed. Files inside
    one of the `folders` are named relative to it.
    """
    steps = in_order(observations)
    if not steps:
        return SessionDigest("Empty session", "Nothing was observed.")
    files = _relative(modified_files(steps), folders)
    if statements is not None:
        return digest_of(_title(steps, files), steps, statements, files)
    decisions = decisions_of(steps)[:10]
    story = (
        _asked(steps),
        _changed(files),
        _tested(steps),
        _failed(steps),
        _decided(decisions),
        _ended(steps),
        _ran(steps),
    )
    return SessionDigest(
        title=_title(steps, files),
        narrative=joined(story, NARRATIVE_CHARS) or clip(_looked(steps), NARRATIVE_CHARS),
        decisions=tuple(decisions),
        files=tuple(path for path, _ in files.most_common(50)),
        concepts=tuple(weighed_concepts(steps)[:12]),
    )


def _relative(files: Counter[str], folders: Sequence[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, times in files.items():
        found[relative(path, folders)] += times
    return found


def relative(path: str, folders: Sequence[str]) -> str:
    """The path as seen from the first of the folders that it is in, else as it is."""
    plain = path.replace("\\", "/")
    for folder in folders:
        start = folder.replace("\\", "/").rstrip("/") + "/"
        if start != "/" and plain.startswith(start) and len(plain) > len(start):
            return plain[len(start) :]
    return path


def _title(steps: Sequence[Observation], files: Counter[str]) -> str:
    asked = requests(steps)
    if asked:
        return clip(asked[0], 80)
    if files:
        first, more = files.most_common(1)[0][0], len(files) - 1
        return clip(f"Changed {_tail(first)}" + (f" and {more} more" if more else ""), 80)
    return clip(max(steps, key=lambda step: (step.importance, -step.seq)).title, 80) or "Session"


def _asked(steps: Sequence[Observation]) -> str:
    asked = requests(steps)
    if not asked:
        return ""
    first = f"Asked: “{clip(asked[0], 220)}”"
    if len(asked) == 1:
        return closed(first)
    return f"{first}, and at last: “{clip(asked[-1], 160)}” ({len(asked)} requests)."


def _changed(files: Counter[str]) -> str:
    if not files:
        return ""
    named = ", ".join(_times(_tail(path), times) for path, times in files.most_common(5))
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    return f"Changed {counted(len(files), 'file')}: {named}{more}."


def _tested(steps: Sequence[Observation]) -> str:
    results = [tests for step in steps if (tests := tests_of(step))]
    if not results:
        return ""
    if tests_fail(results[-1]):
        return f"Tests still failed at the end: {results[-1]}."
    before = ", after failing before" if any(map(tests_fail, results)) else ""
    return f"Tests ended green: {results[-1]}{before}."


def _failed(steps: Sequence[Observation]) -> str:
    bad = [step for step in steps if failed(step)]
    if not bad:
        return ""
    mended = _mended(steps)
    stuck = [step for step in bad if not any(mended.get(name, -1) > step.seq for name in _attempted(step))]
    named = "; ".join(dict.fromkeys(clip(step.title, 90) for step in (stuck or bad)[-3:]))
    end = f"not overcome: {named}" if stuck else f"all overcome later ({named})"
    return f"{counted(len(bad), 'step')} failed, {end}."


def _mended(steps: Sequence[Observation]) -> dict[str, int]:
    """When a command, or a change of a file, last succeeded."""
    good: dict[str, int] = {}
    for step in steps:
        if not failed(step):
            good.update(dict.fromkeys([command_of(step), *changed_files(step)], step.seq))
    return good


def _attempted(step: Observation) -> tuple[str, ...]:
    command = command_of(step)
    return (command,) if command else step.files


def _decided(decisions: Sequence[str]) -> str:
    quoted = "; ".join(f"“{clip(text, 140)}”" for text in decisions[:2])
    return closed(f"Decided or explained: {quoted}") if quoted else ""


def _ended(steps: Sequence[Observation]) -> str:
    said = [text for step in steps if (text := said_of(step).strip())]
    return closed(f"It ended with: “{clip(said[-1], 200)}”") if said else ""


def _ran(steps: Sequence[Observation]) -> str:
    commands = Counter(command for step in steps if (command := command_of(step)) and not only_looks(command))
    if not commands:
        return ""
    named = ", ".join(_times(f"`{clip(command, 60)}`", times) for command, times in commands.most_common(3))
    return f"Ran {named}."


def _looked(steps: Sequence[Observation]) -> str:
    return f"{counted(len(steps), 'observation')}: " + "; ".join(dict.fromkeys(step.title for step in steps[:8])) + "."


def _times(name: str, times: int) -> str:
    return f"{name} ({times}×)" if times > 1 else name


def _tail(path: str) -> str:
    return "/".join([part for part in path.replace("\\", "/").split("/") if part][-2:]) or path


def crystallize(observations: Sequence[Observation], summary: Summary | SessionDigest | None) -> Finding:
    """One lasting note of a session: its story, its decisions, what went wrong and what helped."""
    steps = in_order(observations)
    digest = summary if summary is not None else summarize_session(steps)
    session_id = summary.id if isinstance(summary, Summary) else steps[0].session_id if steps else ""
    parts = [digest.narrative]
    story = normal(digest.narrative)
    parts += _listed("Decisions", [text for text in digest.decisions if normal(text) not in story])
    parts += _listed("What failed and what worked", [str(recovery) for recovery in recoveries(steps)[:5]])
    parts += _listed("Files", [_tail(path) for path in digest.files[:10]])
    weight = max((step.importance for step in steps), default=1)
    return Finding(
        kind="crystal",
        key=subject_key("crystal", session_id),
        title=clip(digest.title, 120),
        content=_within("\n".join(parts), CRYSTAL_CHARS),
        concepts=tuple(digest.concepts[:12]),
        files=tuple(digest.files[:20]),
        source_ids=tuple(step.id for step in steps[:_MAX_SOURCES]),
        strength=round(min(1.0, 0.3 + 0.05 * weight + 0.02 * min(10, len(digest.decisions))), 3),
        project=steps[0].project if steps else summary.project if isinstance(summary, Summary) else None,
        agent=steps[0].agent if steps else summary.agent if isinstance(summary, Summary) else None,
    )


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    return [f"{heading}:", *(f"- {line}" for line in lines)] if lines else []


def _within(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
