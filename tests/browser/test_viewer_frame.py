"""The frame of the viewer: navigation, keys, languages, appearance, a phone's width, and what it costs to load."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, Request, expect
from processes import Server
from samples import fill
from viewing import PHONE, Watch, open_panel, panels, shoot

import holdfast.viewer

MAX_FIRST_VIEW = 300_000
WORDS = sorted(path.stem for path in (Path(holdfast.viewer.__file__).parent / "words").glob("*.js"))
Watched = Callable[..., tuple[Page, Watch]]
ONE_TAB = True


def test_an_empty_memory_says_what_to_do_first(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    expect(page.get_by_role("heading", name="This memory is empty")).to_be_visible()
    for panel in ("memories", "sessions"):
        open_panel(page, server.url, panel)
        expect(page.locator(".empty h2")).to_be_visible()
        expect(page.locator(".empty code")).to_contain_text("holdfast")


def test_the_first_view_is_small(watched: Watched, server: Server) -> None:
    page, _ = watched()  # which has kept no file of the viewer
    fill(server)
    finished: list[Request] = []
    page.on("requestfinished", lambda one: finished.append(one))  # a method of a list cannot be wrapped
    open_panel(page, server.url)
    page.locator(".u-legend").wait_for()  # the plot is there, and with it all that the first view loads
    sizes = [one.sizes() for one in {one.url: one for one in list(finished)}.values()]
    assert len(sizes) > 10
    assert sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes) < MAX_FIRST_VIEW


def test_keys_lead_everywhere(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()
    assert page.title() == "Memories · Holdfast"
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("g s customer import")
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()


def test_arrows_move_between_panels_and_tab_reaches_the_content_first(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    links = page.get_by_role("navigation").get_by_role("link")
    links.first.focus()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(links.last).to_be_focused()
    page.reload()
    page.locator(".panel h1").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_language_is_chosen_and_kept(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    page.get_by_role("combobox", name="Language").select_option("zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("概览")
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("概览")
    expect(page.get_by_role("link", name="记忆", exact=True)).to_be_visible()


def test_a_browser_that_speaks_chinese_is_greeted_in_chinese(watched: Watched, server: Server) -> None:
    page, _ = watched(locale="zh-CN")
    open_panel(page, server.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("概览")
    shoot(page, "dashboard-zh")


def test_both_languages_have_the_same_words(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/viewer")
    for name in WORDS:
        words = page.evaluate(f"import('/viewer/words/{name}.js').then((module) => module.default)")
        assert set(words) == {"en", "zh"}, name
        assert words["en"].keys() == words["zh"].keys(), name
        for key in words["en"]:
            said = [forms(words[language][key]) for language in ("en", "zh")]
            assert all(text for texts in said for text in texts), (name, key)
            # What a text is given must be in both; the count may be left out where a word says it.
            assert len({places(text) for texts in said for text in texts}) == 1, (name, key)


def forms(text: str | dict[str, str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def places(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\{(\w+)\}", text)) - {"count"}


@pytest.mark.parametrize(
    ("scheme", "chosen", "dark"),
    [("light", "auto", False), ("dark", "auto", True), ("dark", "light", False), ("light", "dark", True)],
)
def test_it_is_light_or_dark_as_the_system_says_unless_chosen(
    page: Page, server: Server, scheme: Literal["light", "dark"], chosen: str, dark: bool
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_panel(page, server.url)
    page.get_by_role("combobox", name="Appearance").select_option(chosen)
    page.wait_for_function(  # colours fade
        "dark => (Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]) < 128) === dark", arg=dark
    )


def test_nothing_is_wider_than_a_phone(page: Page, server: Server) -> None:
    page.set_viewport_size(PHONE)
    for panel in panels():
        open_panel(page, server.url, panel)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"], panel
        assert page.evaluate("document.querySelector('main').scrollWidth") <= PHONE["width"], panel
    open_panel(page, server.url)
    shoot(page, "phone")


def test_an_unknown_panel_and_one_that_fails_leave_the_frame_standing(watch: Watch, server: Server) -> None:
    page = watch.page
    open_panel(page, server.url)
    page.goto(f"{server.url}/viewer#/nowhere?x=__proto__")
    expect(page.get_by_role("heading", name="This page does not exist.")).to_be_visible()
    watch.expected.append("it broke")
    broken = "export default { name: 'sessions', Panel() { throw new Error('it broke'); } };"
    page.route("**/panels/sessions.js", lambda route: route.fulfill(body=broken, content_type="text/javascript"))
    page.get_by_role("link", name="Sessions").click()
    expect(page.get_by_role("alert").first).to_contain_text("This page failed")
    page.get_by_role("link", name="Memories").click()
    expect(page.get_by_role("heading", level=1, name="Memories")).to_be_visible()


def test_a_panel_whose_files_do_not_come_is_asked_for_again(watch: Watch, server: Server) -> None:
    page = watch.page
    open_panel(page, server.url)
    watch.expected += ["Failed to load resource", "Failed to fetch"]
    page.route("**/panels/lessons.js", lambda route: route.abort())
    page.get_by_role("link", name="Lessons").first.click()
    expect(page.get_by_role("alert").first).to_contain_text("The server does not respond")
    page.unroute("**/panels/lessons.js")
    expect(page.get_by_role("heading", level=1, name="Lessons")).to_be_visible()
