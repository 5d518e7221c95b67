"""holdfast show: what the viewer's pages show, for people without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from holdfast.cli.command_table import endpoint
from holdfast.cli.folder_project import placed
from holdfast.cli.output.folder_hints import answer_with_folder
from holdfast.cli.output.lists import print_listing
from holdfast.cli.output.render import counted, moment, one_line, print_answer, print_json, size
from holdfast.core.errors import InvalidRequest
from holdfast.core.times import parse_time
from holdfast.settings import environment

if TYPE_CHECKING:
    from holdfast.connection import Connection
    from holdfast.core.model import Json

DAYS = 60
BESIDE_BARS = 20  # columns for the name and the sum of a row of bars
LEAST_DAYS = 7
_BARS = "▁▂▃▄▅▆▇█"
_LEVELS = {"error": "bold red", "warning": "yellow", "note": "dim"}

# A page, the operation behind it, its arguments, and the argument that a second word stands for.
PAGES: dict[str, tuple[str, Json, str]] = {
    "dashboard": ("overview", {"days": DAYS}, ""),
    "memories": ("memories", {"limit": 30}, "project"),
    "sessions": ("sessions", {"limit": 30}, ""),
    "context": ("context", {"explain": True}, "project"),
    "timeline": ("timeline", {"before": 30, "after": 0}, "anchor"),
    "lessons": ("lessons", {"limit": 30}, "project"),
    "slots": ("slots", {}, "project"),
    "actions": ("actions", {"limit": 50}, "project"),
    "audit": ("audit", {"limit": 30}, "operation"),
    "graph": ("folder_graph", {"limit": 40}, "project"),
    "replay": ("replay_frames", {"limit": 200}, "sessionId"),
    "snapshots": ("snapshot_list", {"limit": 30}, ""),
    "drills": ("drill_list", {"limit": 30}, ""),
}


def show_page(connection: Connection, page: str, word: str | None, as_json: bool) -> None:
    """Print a page.

    Raises:
        InvalidRequest: there is no such page, or it needs a word that is missing.
    """
    if page not in PAGES:
        raise InvalidRequest(f"show: unknown page {page[:40]!r}", hint=f"Pages: {', '.join(PAGES)}.")
    name, arguments, second = PAGES[page]
    if page == "context":
        word = placed(endpoint(name), {"project": word} if word else {}, False, environment())["project"]
    if page == "replay" and not word:
        raise InvalidRequest("show replay: a session id is required", hint="List sessions with: holdfast show sessions")
    answer = connection.call(endpoint(name), {**arguments, **({second: word} if second and word else {})})
    if as_json:
        print_json(answer)
    elif page == "context":
        print_answer(answer)
    elif page == "dashboard":
        print_dashboard(answer, connection.place)
    else:
        print_listing(page, answer)


def print_dashboard(answer: Json, place: str, console: Console | None = None) -> None:
    """The overview for a person: the state, warnings, counts, growth, safety, disk, and what happened last."""
    console = console or Console(highlight=False)
    answer = answer_with_folder(answer)
    out, room = _Lines(console), max(LEAST_DAYS, console.width - BESIDE_BARS)
    out.line(("Holdfast ", "bold"), answer["version"], "  ", _state(answer), (f"  {place}", "dim"))
    for one in answer["warnings"]:
        out.line((f"{one['level']}: ", _LEVELS[one["level"]]), one_line(one["message"], 300))
        out.line(("  " + one_line(one["hint"], 300), "dim"))
    out.head("Counts")
    out.line("  ".join(f"{name} {count:,}" for name, count in answer["counts"].items()))
    growth = answer["growth"]
    out.head(f"Last {len(growth['days'][-room:])} days")
    for name in ("memories", "observations", "sessions"):
        shown = growth[name][-room:]
        out.line(f"{name:<13}", (bars(shown), "cyan"), (f"  {sum(shown):,}", "dim"))
    out.head("Safety")
    out.line(_snapshots(answer["snapshots"]))
    out.line(f"restore: {proven(answer['snapshots']['drill'], answer['now'])}")
    if guard := answer["snapshots"].get("guard"):  # an older server has none
        out.line(f"guard: {guarded(guard, answer['now'])}")
    if (follow := answer.get("follow")) is not None:
        behind = follow["behindSeconds"]
        how = "not reached since it was opened" if behind is None else f"{behind:g} s behind"
        out.line(f"follows: host {follow['host'] or 'unknown'}, {how}")
    out.line(f"index: {answer['index']['pending']:,} pending, model {answer['index']['model']}")
    if "disk" in answer:
        disk = answer["disk"]
        out.line(
            f"disk: database {size(disk['database'])}, snapshots {size(disk['snapshots'])}, {size(disk['free'])} free"
        )
    out.head("Latest events")
    for one in answer["recent"]:
        out.line((moment(one["timestamp"]), "dim"), f"  {one['kind']:<12}", one_line(one["title"], 100))
    if not answer["recent"]:
        out.line(
            "Nothing yet. Connect an agent: holdfast connect", ("  or save something: holdfast remember TEXT", "dim")
        )


def _state(answer: Json) -> tuple[str, str]:
    """The worst that is known, and its style: a reader who sees "healthy" reads no further."""
    levels = {one["level"] for one in answer["warnings"]}
    if "error" in levels:
        return "errors", "bold red"
    well = answer["status"] == "healthy" and "warning" not in levels
    return ("healthy", "green") if well else ("warnings", "yellow")


class _Lines:
    def __init__(self, console: Console):
        self._console = console

    def line(self, *parts: Any) -> None:
        self._console.print(Text.assemble(*parts), soft_wrap=True)

    def head(self, title: str) -> None:
        self._console.print()
        self._console.print(Text(title, style="bold"))


def bars(counts: Sequence[int]) -> str:
    """One character for each count, as high as it is beside the highest."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] if count else " " for count in counts) if most else "–"


def _snapshots(state: Json) -> str:
    newest = state["newest"]
    if newest is None:
        return "snapshots: none on this machine"
    how = "signed" if newest["signed"] else "not signed"
    sealed = "encrypted" if newest["encrypted"] else "not encrypted"
    return (
        f"snapshots: {state['count']}, {size(state['bytes'])}; the last intact one {age(newest['ageMs'])} old, "
        f"{how}, {sealed}; copied to {one_line(state['vault'] or 'no other location', 200)}"
    )


def guarded(guard: Json, now: str) -> str:
    """How much of other programs' files is kept."""
    taken = ""
    if guard["takenAt"]:
        ago = age(max(0, parse_time(now, "now") - parse_time(guard["takenAt"], "takenAt")))
        taken = f", last change taken {ago} ago"
    left = f", {guard['leftOut']} left out" if guard["leftOut"] else ""
    return f"{counted(guard['places'], 'place')}, {counted(guard['files'], 'file')}{taken}{left}"


def proven(drill: Json, now: str) -> str:
    """How long ago a restore was seen to work."""
    failed = "the last drill failed; " if drill["last"] == "failed" else ""
    if drill["provenAt"] is None:
        return f"{failed}never proven" if drill["everySeconds"] else f"{failed}never proven, drills are off"
    ago = age(max(0, parse_time(now, "now") - parse_time(drill["provenAt"], "provenAt")))
    asked = f", {drill['same']} of {drill['asked']} questions answered as before" if drill["asked"] else ""
    return f"{failed}last proven {ago} ago, {'signed' if drill['signed'] else 'not signed'}{asked}"


def age(ms: int) -> str:
    """A length of time as people read it."""
    minutes = ms // 60_000
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2 * 1440 else f"{minutes // 1440} days"
