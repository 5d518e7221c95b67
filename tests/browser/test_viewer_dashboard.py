"""The dashboard: counts, growth, activity, backlog, snapshots, disk and warnings, from real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harm import flip_bit
from playwright.sync_api import Page, expect
from processes import Server
from samples import FACTS, fill
from viewing import Watch, open_panel, rows, shoot
from world import World

from holdfast.core.errors import VaultRefused

ONE_TAB = True


@pytest.fixture(scope="module", autouse=True)
def filled(server: Server) -> None:
    fill(server)


def card(page: Page, name: str) -> str:
    return page.get_by_role("region", name=name, exact=True).inner_text()


def test_it_shows_what_is_known_and_whether_it_is_safe(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    expect(page.locator("[data-count=memories]")).to_have_text(str(len(FACTS)))
    expect(page.locator("[data-count=observations]")).to_have_text("15")
    expect(page.locator("[data-count=sessions]")).to_have_text("3")
    expect(page.get_by_role("list", name="What to do").first).to_contain_text(
        "This machine has no snapshot of this memory yet"
    )
    assert "every day" in card(page, "Snapshots")
    assert "none: keyword search only" in card(page, "Index")
    assert str(server.home) in card(page, "Disk")
    assert server.post("/snapshots").status_code == 201
    expect(page.get_by_role("region", name="Snapshots", exact=True)).to_contain_text("not signed")
    expect(page.get_by_text("This machine has no snapshot of this memory yet")).to_have_count(0)
    page.locator(".u-legend").wait_for()
    shoot(page, "dashboard")


def test_growth_is_drawn_and_can_be_read_as_a_table(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    page.locator(".plot canvas").wait_for()
    page.get_by_text("Values as a table").click()
    table = page.locator(".plot details table")
    assert table.locator("tbody tr").count() == 90
    assert table.locator("tbody tr").last.locator("td").all_inner_texts()[0] == str(len(FACTS))


def test_activity_leads_to_what_happened(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    activity = page.get_by_role("region", name="Activity")
    activity.get_by_role("button").filter(has_text="memory").first.click()
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()
    expect(page.locator(".reading h2.name")).to_be_visible()
    page.go_back()
    activity.get_by_role("button").filter(has_text="observation").first.click()
    expect(rows(page, "Observations").first).to_be_visible()


def test_keys_that_would_be_missed_and_what_waits_for_the_vault_are_told_in_both_languages(
    watched: Callable[..., tuple[Page, Watch]], served: Callable[..., Server], tmp_path: Path
) -> None:
    """The snapshot was made long ago, and the vault never got it."""
    vault = tmp_path / "vault"
    vault.mkdir()
    world = World(tmp_path / "memory", vault=str(vault))  # whose clock stands in the past
    world.call("remember", content="The lamp oil is in the cellar.")
    world.call("key_new")
    vault.rmdir()
    vault.write_bytes(b"")
    with pytest.raises(VaultRefused):
        world.call("snapshot_create")
    world.close()
    told = {
        "en-GB": ("The signing key has no backup", "One snapshot is not in the vault yet"),
        "zh-CN": ("签名密钥没有备份", "有一个快照尚未复制到备份库"),
    }
    server = served(tmp_path / "memory", HOLDFAST_VAULT=str(vault))
    for locale, sentences in told.items():
        page, _ = watched(locale=locale)
        open_panel(page, server.url)
        for sentence in sentences:
            expect(page.get_by_text(sentence)).to_be_visible()
        expect(page.get_by_text("holdfast vault sync")).to_be_visible()


def test_the_last_proven_restore_and_a_drill_that_failed_are_told_in_both_languages(
    watched: Callable[..., tuple[Page, Watch]], served: Callable[..., Server], tmp_path: Path
) -> None:
    world = World(tmp_path / "memory")
    world.call("remember", content="The lamp oil is in the cellar.")
    world.call("snapshot_create")
    world.call("drill")
    bundle = next((tmp_path / "memory" / "snapshots").rglob("*.tar.zst"))
    flip_bit(bundle)
    world.call("drill")
    world.close()
    server = served(tmp_path / "memory")
    for locale, told in (
        ("en-GB", ("Last proven restore", "the last drill failed", "The last restore drill failed")),
        ("zh-CN", ("上次验证的恢复", "上次演练失败", "上次恢复演练失败")),
    ):
        page, _ = watched(locale=locale)
        open_panel(page, server.url)
        for words in told:
            expect(page.get_by_text(words).first).to_be_visible()


def test_a_plot_that_could_not_be_loaded_is_drawn_later(watch: Watch, server: Server) -> None:
    page, library = watch.page, "**/vendor/uplot.js"
    watch.expected.append("Failed to load resource")
    page.route(library, lambda route: route.abort())
    with page.expect_event("requestfailed"):
        open_panel(page, server.url)
    expect(page.locator(".plot details table")).to_have_count(1)
    page.unroute(library)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")  # what is drawn anew asks for it again
    page.locator(".plot canvas").wait_for()
