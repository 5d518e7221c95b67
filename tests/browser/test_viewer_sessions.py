"""Sessions: filtered, opened, their observations and commits read, forgotten."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from processes import Server
from samples import fill
from viewing import open_panel, rows, shoot

ONE_TAB = True

LIST, SEEN = "List of sessions", "Observations"


@pytest.fixture(scope="module", autouse=True)
def filled(server: Server) -> None:
    fill(server)


def test_sessions_are_filtered_by_state_and_project(page: Page, server: Server) -> None:
    open_panel(page, server.url, "sessions")
    expect(rows(page, LIST)).to_have_count(3)
    page.get_by_label("State").select_option("completed")
    expect(rows(page, LIST)).to_have_count(1)
    expect(rows(page, LIST).first).to_contain_text("Fix part 0 of the import")
    page.get_by_label("Project").fill("nowhere")
    page.get_by_label("Project").press("Enter")
    page.get_by_role("button", name="Clear the filters").click()
    expect(rows(page, LIST)).to_have_count(3)


def test_a_session_shows_its_commits_and_what_was_observed(page: Page, server: Server) -> None:
    open_panel(page, server.url, "sessions")
    rows(page, LIST).filter(has_text="Fix part 1").click()
    expect(page.get_by_role("region", name="Commits")).to_contain_text("Parse old dates by hand")
    expect(rows(page, SEEN)).to_have_count(5)
    shoot(page, "sessions")
    rows(page, SEEN).nth(2).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("region", name="Input")).to_contain_text("pytest tests/part_2.py -q")
    expect(dialog.get_by_role("region", name="Output")).to_contain_text("3 passed in part 2")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    rows(page, LIST).filter(has_text="Fix part 2").click()
    expect(rows(page, SEEN)).to_have_count(6)
    expect(page.get_by_role("region", name="Commits")).to_have_count(0)


def test_what_happens_in_an_open_session_is_seen(page: Page, server: Server) -> None:
    open_panel(page, server.url, "sessions", "?id=session-2")
    expect(rows(page, SEEN)).to_have_count(6)
    data = {"tool_name": "Bash", "tool_input": {"command": "make release"}, "tool_output": "released"}
    server.post(
        "/observe",
        sessionId="session-2",
        hookType="post_tool_use",
        timestamp="2026-11-12T12:00:00Z",
        project="billing",
        cwd="/work",
        data=data,
    )
    expect(rows(page, SEEN)).to_have_count(7)
    expect(rows(page, SEEN).last).to_contain_text("make release")


def test_a_session_is_forgotten_with_all_that_was_observed(page: Page, server: Server) -> None:
    open_panel(page, server.url, "sessions", "?id=session-0")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(rows(page, LIST)).to_have_count(2)
    assert server.get("/observations", sessionId="session-0").json()["total"] == 0
    open_panel(page, server.url, "sessions", "?id=session-0")
    expect(page.get_by_text("This session does not exist.")).to_be_visible()
