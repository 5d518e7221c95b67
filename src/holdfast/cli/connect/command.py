"""`holdfast connect`: plan, show, write, undo and list, as plain data for the command line to print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from holdfast.cli.connect.agents import AGENTS, Agent
from holdfast.cli.connect.config_entries import Part
from holdfast.cli.connect.config_plan import Plan, diff, plan, read, wanted_files
from holdfast.cli.connect.environment import ConnectTarget
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.cli.connect.journal import apply, apply_all, journal_path, plan_undo, undo as take_back
from holdfast.core.errors import Fault


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """One file and what was, or would be, done to it."""

    path: str
    summary: str


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One row of `connect --list`; `problem` names a file that cannot be read."""

    name: str
    title: str
    folder: str
    found: bool
    connected: bool
    hooks: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectReport:
    """What connect did, or would do with --dry-run, or found with --list."""

    action: str
    agent: str | None = None
    changes: tuple[ReportedChange, ...] = ()
    backups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    diff: str = ""
    agents: tuple[AgentStatus, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def connect_command(
    agent: str | None, *, place: ConnectTarget, dry_run: bool, undo: bool, list_: bool, hooks: bool
) -> ConnectReport:
    """Run connect with the command line's arguments; without an agent it lists them.

    Raises:
        Conflict: a file changed between reading and writing.
        InvalidRequest: the agent is unknown, or a file cannot be read, edited or written.
    """
    place = replace(place, hooks=hooks)
    if list_ or agent is None:
        return ConnectReport("listed", agents=tuple(status(known, place) for known in AGENTS))
    if undo:
        return _undo(agent, place, dry_run)
    planned = plan(agent, place)
    if not planned.changes:
        return _report("already connected", planned)
    if dry_run:
        return _report("would connect", planned)
    return _report("connected", planned, tuple(str(copy) for copy in apply(planned)))


def connect_all(*, place: ConnectTarget, dry_run: bool, undo: bool) -> ConnectReport:
    """Connect every agent that is installed here, or take back what connect wrote for any.

    An agent whose files cannot be edited is left out, and a note says why.

    Raises:
        Conflict: a file changed between reading and writing; what was written for other agents is taken back.
        InvalidRequest: a file cannot be written; as above.
    """
    if undo:
        known = [agent.name for agent in AGENTS if journal_path(agent.name, place).exists()]
        plans = [plan_undo(name, place) for name in known]  # all of them first: a file that cannot be edited stops it
        if not dry_run:
            plans = [take_back(name, place) for name in known]
        return _together("would undo" if dry_run else "undone", plans, otherwise="nothing to undo")
    plans, left_out = [], []
    for agent in AGENTS:
        if agent.folder(place).is_dir():
            try:
                plans.append(plan(agent.name, place))
            except Fault as why:
                left_out.append(f"{agent.title} is left out: {why}")
    backups = () if dry_run else tuple(map(str, apply_all(plans)))
    done = _together("would connect" if dry_run else "connected", plans, otherwise="nothing to connect")
    return replace(done, backups=backups, notes=(*done.notes, *left_out))


def _together(action: str, plans: Iterable[Plan], *, otherwise: str) -> ConnectReport:
    parts = [_report(action, planned) for planned in plans if planned.changes]
    return ConnectReport(
        action if parts else otherwise,
        ", ".join(str(part.agent) for part in parts) or "all",
        tuple(change for part in parts for change in part.changes),
        notes=tuple(note for part in parts for note in part.notes),
        diff="".join(part.diff for part in parts),
    )


def status(agent: Agent, place: ConnectTarget) -> AgentStatus:
    """Whether the agent is installed here and whether connect has been run for it."""
    folder, problem = agent.folder(place), None
    found: dict[Part, list[bool]] = {"server": [], "hooks": [], "skills": []}
    for file in wanted_files(agent, place):
        try:
            text = read(file.path(place)) or ""
            for entry in file.entries:
                found[entry.part].append(bool(text) and entry.found(text, place))
        except (Fault, Refusal) as why:
            problem = str(why) if isinstance(why, Fault) else f"{file.path(place)}: {why}"
    return AgentStatus(
        name=agent.name,
        title=agent.title,
        folder=str(folder),
        found=folder.is_dir(),
        connected=bool(found["server"]) and all(found["server"]),
        hooks=any(found["hooks"]),
        problem=problem,
    )


def _undo(agent: str, place: ConnectTarget, dry_run: bool) -> ConnectReport:
    planned = plan_undo(agent, place) if dry_run else take_back(agent, place)
    if not planned.changes:
        return _report("nothing to undo", planned)
    return _report("would undo" if dry_run else "undone", planned)


def _report(action: str, planned: Plan, backups: tuple[str, ...] = ()) -> ConnectReport:
    changes = tuple(ReportedChange(str(change.path), change.summary) for change in planned.changes)
    return ConnectReport(action, planned.agent, changes, backups, planned.notes, diff(planned))
