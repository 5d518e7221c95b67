"""The frame of the viewer: navigation, keys, languages, appearance, a phone's width, and what it costs to load."""

from __future__ import annotations

from playwright.sync_api import Page
from processes import Server
from viewing import open_panel


def test_the_page_opens_on_the_dashboard(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    assert page.get_by_role("heading", level=1).inner_text() == "Dashboard"
    assert page.title() == "Dashboard · Holdfast"
