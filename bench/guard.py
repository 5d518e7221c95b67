"""What guarding costs: processor time of a server's thread on an idle tree of 10,000 files, and of a day's changes.

python bench/guard.py [--page]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from world import settings  # noqa: E402

from holdfast.core.model import Caller  # noqa: E402
from holdfast.core.system import SystemClock, SystemEntropy  # noqa: E402
from holdfast.engine import Engine  # noqa: E402
from holdfast.ops.registry import BY_NAME  # noqa: E402
from holdfast.serve.background.guard_watch import GuardWatch  # noqa: E402
from holdfast.snapshot.guard.guard_take import take_folder  # noqa: E402
from holdfast.snapshot.repo.context import snapshot_context  # noqa: E402
from holdfast.store.guard.guard_history import GuardHistory, history_path  # noqa: E402

FOLDERS, FILES = 100, 100  # each of so many
IDLE_SECONDS = 30
TURNS = 200  # of a day's work, in one transcript
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "guard.md"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        place = _tree(Path(folder) / "tree")
        engine = Engine(settings(Path(folder) / "memory"), SystemClock(), SystemEntropy())

        def call(operation: str, **arguments: object) -> dict[str, object]:
            answer: dict[str, object] = BY_NAME[operation].call(engine.context(Caller()), arguments)
            return answer

        first = _spent(lambda: call("guard_add", place=str(place)))
        look = _spent(lambda: call("guard_scan"))
        idle = _idle(engine)
        day, stored, raw = _day(engine, call, place)
        engine.close()
    rows = [
        ("taking 10,000 files of 4 kB for the first time", f"{first:.1f} s"),
        (f"the thread, idle, of {IDLE_SECONDS} s", f"{idle * 1000:.0f} ms ({100 * idle / IDLE_SECONDS:.3f} %)"),
        ("one look at the whole tree, as every ten minutes", f"{look * 1000:.0f} ms"),
        (f"a day: {TURNS} turns of a transcript of {raw / 1e6:.1f} MB, each taken", f"{day:.1f} s"),
        ("stored for that day", f"{stored / 1e6:.2f} MB"),
    ]
    for what, figure in rows:
        print(f"{what}: {figure}")
    if "--page" in sys.argv:
        PAGE.write_text(_page(rows))


def _tree(root: Path) -> Path:
    for number in range(FOLDERS):
        folder = root / f"project-{number}"
        folder.mkdir(parents=True)
        for file in range(FILES):
            lines = [json.dumps({"n": line, "text": f"turn {number} {file} {line} of a session"}) for line in range(80)]
            (folder / f"{file}.jsonl").write_text("\n".join(lines))
    return root


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _idle(engine: Engine) -> float:
    """Processor time of the whole process, in which nothing else runs, once the place is watched."""
    thread = GuardWatch(engine)
    thread.start()
    while not engine.guard._states:
        time.sleep(0.1)
    time.sleep(15)  # until what is new has been looked at twice
    began = time.process_time()
    threading.Event().wait(IDLE_SECONDS)
    spent = time.process_time() - began
    thread.stop()
    return spent


def _day(engine: Engine, call: Callable[..., dict[str, object]], place: Path) -> tuple[float, int, int]:
    """A transcript that grows turn by turn, taken after each as a server does: time, bytes stored, and its size at the
    end."""
    context = snapshot_context(engine.context(Caller()))

    def take() -> None:
        with GuardHistory(history_path(engine.path)) as history:
            take_folder(context, history, history.places()[0], "project-0", lambda _: False)

    path, before, spent = place / "project-0" / "day.jsonl", _stored(call), 0.0
    for turn in range(TURNS):
        with path.open("a") as file:
            for line in range(20):
                file.write(
                    json.dumps({"turn": turn, "line": line, "text": f"said {turn * line} words of it " * 12}) + "\n"
                )
        spent += _spent(take)
    return spent, _stored(call) - before, path.stat().st_size


def _stored(call: Callable[..., dict[str, object]]) -> int:
    return int(call("guard_list")["places"][0]["size"])  # type: ignore[index]


def _page(rows: list[tuple[str, str]]) -> str:
    table = "\n".join(f"| {what} | {figure} |" for what, figure in rows)
    return f"""# What guarding files costs

`python bench/guard.py --page`: processor time on this machine, of a place with 10,000 files in 100 folders. The
transcript of the day is redacted as a whole each time that it is taken.

| | processor time |
|---|---|
{table}
"""


if __name__ == "__main__":
    main()
