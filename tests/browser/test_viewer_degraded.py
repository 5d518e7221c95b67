"""The viewer of a memory that cannot be used: it says why, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harm import break_header, change_text, live_database
from playwright.sync_api import Page, expect
from processes import Server, run
from viewing import Watch, open_panel

TOLD = "What to do"
ONE_TAB = True


def test_a_memory_that_is_still_in_the_vault_is_told_on_the_dashboard(
    watch: Watch, served: Callable[..., Server], tmp_path: Path
) -> None:
    page = watch.page
    watch.expected.append("503")  # what the other panels are answered
    server = served(tmp_path / "memory", HOLDFAST_VAULT=str(tmp_path / "vault"))
    open_panel(page, server.url)
    told = page.get_by_role("list", name=TOLD).first
    expect(told).to_contain_text("has not been restored yet")
    expect(told).to_contain_text("Mount its disk")
    expect(page.locator(".badge.bad").first).to_be_visible()
    page.goto(f"{server.url}/viewer#/memories")
    expect(page.locator(".panel.memories")).to_contain_text("has not been restored yet")


def test_a_damaged_memory_is_told_on_the_dashboard(page: Page, served: Callable[..., Server], tmp_path: Path) -> None:
    home = tmp_path / "memory"
    assert run(home, "remember", "The amber cabinet holds the spare fuses").returncode == 0
    change_text(live_database(home), "amber cabinet")
    run(home, "verify")
    server = served(home)
    open_panel(page, server.url)
    told = page.get_by_role("list", name=TOLD).first
    expect(told).to_contain_text("damaged and read-only")
    expect(told).to_contain_text("holdfast recover --yes")


def test_a_memory_that_cannot_be_opened_is_not_called_empty(
    watch: Watch, served: Callable[..., Server], tmp_path: Path
) -> None:
    home = tmp_path / "memory"
    assert run(home, "remember", "The amber cabinet holds the spare fuses").returncode == 0
    break_header(live_database(home))
    page = watch.page
    watch.expected.append("500")  # what the other panels are answered
    server = served(home)
    open_panel(page, server.url)
    expect(page.get_by_role("list", name=TOLD).first).to_contain_text("the database file is damaged")
    expect(page.get_by_text("This memory is empty")).to_have_count(0)
    expect(page.locator(".figure")).to_have_count(0)
    page.goto(f"{server.url}/viewer#/context")
    expect(page.get_by_text("the database file is damaged")).to_be_visible()
    expect(page.get_by_text("No project yet")).to_have_count(0)
