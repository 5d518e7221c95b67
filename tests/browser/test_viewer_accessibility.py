"""axe-core on every panel, with data and without, light and dark, wide and on a phone: no violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from filling import Filling, fill
from playwright.sync_api import Page, ViewportSize
from processes import Server, serving
from viewing import PHONE, WIDE, open_panel

ONE_TAB = True
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
PANELS = (
    "dashboard", "memories", "sessions", "context", "timeline", "replay", "lessons", "slots", "actions", "audit", "graph",
    "snapshots",
)  # fmt: skip
LOOKS: dict[str, tuple[Literal["light", "dark"], ViewportSize]] = {
    "light": ("light", WIDE),
    "dark": ("dark", WIDE),
    "phone": ("light", PHONE),
}
ALL_RULES: dict[str, Any] = {}
COLOUR: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"]}  # what a scheme of colours can change


@pytest.fixture(scope="module")
def filled(server: Server) -> Server:
    memory = Filling(server.url)
    fill(memory)
    memory.close()
    return server


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("empty") / "memory") as one:
        yield one


def _look(page: Page, look: str) -> dict[str, Any]:
    """Give the page one of the looks; the rules that it may break."""
    scheme, viewport = LOOKS[look]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(viewport)
    return COLOUR if look == "dark" else ALL_RULES


def violations(page: Page, rules: dict[str, Any] = ALL_RULES) -> list[str]:
    """What axe-core objects to: the rule, and where."""
    page.wait_for_load_state("networkidle")
    if not page.evaluate("() => 'axe' in window"):  # it is half a megabyte
        page.evaluate(f"() => {{ {AXE} }}")
    found: dict[str, Any] = page.evaluate(
        "(rules) => axe.run(document, { resultTypes: ['violations'], ...rules })", rules
    )
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def _go(page: Page, panel: str, query: str = "") -> None:
    """To another panel within the page: a load for each would take most of the time."""
    page.evaluate("(hash) => { location.hash = hash; }", f"#/{panel}{query}")
    page.locator(f".panel.{panel} h1").wait_for()


@pytest.mark.parametrize("look", LOOKS)
def test_no_panel_has_a_violation(look: str, page: Page, filled: Server) -> None:
    rules = _look(page, look)
    open_panel(page, filled.url)
    found = {}
    for panel in PANELS:
        _go(page, panel)
        found[panel] = violations(page, rules)

    assert found == {panel: [] for panel in PANELS}


def test_no_empty_panel_has_a_violation_and_each_says_what_to_do(page: Page, empty: Server) -> None:
    open_panel(page, empty.url)
    found = {}
    for panel in PANELS:
        _go(page, panel)
        found[panel] = violations(page)
        if panel not in ("dashboard", "slots", "audit"):  # slots are there from the start; the log fills itself
            page.locator(".empty pre, .empty button").first.wait_for()

    assert found == {panel: [] for panel in PANELS}


# What opens in a panel: a button, or a row of its list


def _open_lesson(page: Page) -> None:
    page.get_by_role("button", name="Add a lesson").click()


def _open_slot(page: Page) -> None:
    page.get_by_role("button", name="Add a slot").click()


def _open_action(page: Page) -> None:
    page.get_by_role("button", name="Add an action").click()


def _open_comparison(page: Page) -> None:
    page.get_by_role("button", name="Compare").first.click()
    page.get_by_role("dialog").get_by_label("Earlier").select_option(index=1)
    page.get_by_role("dialog").get_by_role("button", name="Compare").click()
    page.get_by_role("dialog").get_by_role("status").wait_for()


def _open_row(page: Page) -> None:
    page.get_by_role("listbox").get_by_role("option").first.click()


def _open_table(page: Page) -> None:
    page.get_by_role("button", name="Table").click()
    _open_row(page)


OPENED: dict[str, Callable[[Page], None]] = {
    "timeline": _open_row,
    "audit": _open_row,
    "graph": _open_table,
    "memories": _open_row,
    "sessions": _open_row,
    "lessons": _open_lesson,
    "slots": _open_slot,
    "actions": _open_action,
    "snapshots": _open_comparison,
}


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_opens_in_a_panel_has_a_violation(look: str, page: Page, filled: Server) -> None:
    rules = _look(page, look)
    open_panel(page, filled.url)
    found = {}
    for panel, open_it in OPENED.items():
        _go(page, panel)
        open_it(page)
        found[panel] = violations(page, rules)
        page.keyboard.press("Escape")

    assert found == {panel: [] for panel in OPENED}


def test_a_snapshot_s_restore_has_no_violation(page: Page, filled: Server) -> None:
    memory = Filling(filled.url)
    ids = {one["label"]: one["id"] for one in memory.get("/snapshots")["snapshots"]}
    memory.close()
    open_panel(page, filled.url, "snapshots", f"?id={ids['before the storm']}")
    page.get_by_role("article").get_by_role("button", name="Verify").click()
    page.locator(".report").wait_for()
    assert violations(page) == []
    page.get_by_role("article").get_by_role("button", name="Restore").click()
    page.get_by_role("dialog").get_by_role("button", name="Continue").wait_for()
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("textbox").wait_for()

    assert violations(page) == []


def test_signing_in_has_no_violation(page: Page, served: Callable[..., Server], tmp_path: Path) -> None:
    server = served(tmp_path / "memory", HOLDFAST_SECRET="a secret of some length")
    page.goto(f"{server.url}/viewer")
    page.get_by_role("button", name="Sign in").wait_for()

    assert violations(page) == []
