"""axe-core on every panel, with data and without, light and dark, wide and on a phone: no violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filling import Filling, fill
from playwright.sync_api import Page
from processes import Server, serving
from viewing import PHONE, WIDE, Watch, open_panel

Watched = Callable[..., tuple[Page, Watch]]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
PANELS = (
    "dashboard", "memories", "sessions", "timeline", "replay", "lessons", "slots", "actions", "audit", "graph", "snapshots",
)  # fmt: skip
LOOKS = {"light": ("light", WIDE), "dark": ("dark", WIDE), "phone": ("light", PHONE)}


@pytest.fixture(scope="module")
def filled(server: Server) -> Iterator[Server]:
    memory = Filling(server.url)
    fill(memory)
    memory.close()
    yield server


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("empty") / "memory") as one:
        yield one


def violations(page: Page) -> list[str]:
    """What axe-core objects to: the rule, and where."""
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_has_no_violation(panel: str, look: str, watched: Watched, filled: Server) -> None:
    scheme, viewport = LOOKS[look]
    page, _ = watched(color_scheme=scheme, viewport=viewport)
    open_panel(page, filled.url, panel)

    assert violations(page) == []


@pytest.mark.parametrize("panel", PANELS)
def test_an_empty_panel_has_no_violation_and_says_what_to_do(panel: str, watched: Watched, empty: Server) -> None:
    page, _ = watched()
    open_panel(page, empty.url, panel)

    assert violations(page) == []
    if panel not in ("dashboard", "slots", "audit"):  # slots are there from the start; the log fills itself
        assert page.locator(".empty pre, .empty button").count() > 0


# Windows and details that open over a panel


def _opened(page: Page, panel: str) -> None:
    """Open what the panel has to open."""
    buttons = {
        "lessons": ["Add a lesson"],
        "slots": ["Add a slot"],
        "actions": ["Add an action"],
        "snapshots": ["Compare", "Compare"],
        "graph": ["Table"],
    }
    for number, name in enumerate(buttons.get(panel, ())):
        place = page.get_by_role("dialog") if number else page
        place.get_by_role("button", name=name).first.click()
    if panel == "snapshots":
        page.get_by_role("dialog").get_by_role("status").wait_for()
    if panel in ("timeline", "audit", "graph", "memories", "sessions"):
        page.get_by_role("listbox").get_by_role("option").first.click()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "panel", ["timeline", "audit", "graph", "memories", "sessions", "lessons", "slots", "actions", "snapshots"]
)
def test_what_opens_in_a_panel_has_no_violation(panel: str, look: str, watched: Watched, filled: Server) -> None:
    scheme, viewport = LOOKS[look]
    page, _ = watched(color_scheme=scheme, viewport=viewport)
    open_panel(page, filled.url, panel)
    _opened(page, panel)

    assert violations(page) == []


def test_a_snapshot_s_restore_has_no_violation(watched: Watched, filled: Server) -> None:
    memory = Filling(filled.url)
    ids = {one["label"]: one["id"] for one in memory.get("/snapshots")["snapshots"]}
    memory.close()
    page, _ = watched()
    open_panel(page, filled.url, "snapshots", f"?id={ids['before the storm']}")
    page.get_by_role("article").get_by_role("button", name="Verify").click()
    page.locator(".report").wait_for()
    assert violations(page) == []
    page.get_by_role("article").get_by_role("button", name="Restore").click()
    page.get_by_role("dialog").get_by_role("button", name="Go on").wait_for()
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Go on").click()
    page.get_by_role("dialog").get_by_role("textbox").wait_for()

    assert violations(page) == []


def test_signing_in_has_no_violation(watched: Watched, tmp_path: Path) -> None:
    with serving(tmp_path / "memory", HOLDFAST_SECRET="a secret of some length") as server:
        page, _ = watched()
        page.goto(f"{server.url}/viewer")
        page.get_by_role("button", name="Sign in").wait_for()

        assert violations(page) == []
