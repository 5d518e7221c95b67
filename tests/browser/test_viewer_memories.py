"""Memories: searched as an agent would, explained, browsed, edited, pinned, given to others, forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from processes import Server
from samples import FACTS, fill, remember
from viewing import PHONE, Watch, open_panel, rows, shoot

ONE_TAB = True

MANY = 450  # more than two pages of the list
Watched = Callable[..., tuple[Page, Watch]]


@pytest.fixture(scope="module")
def ids(server: Server) -> dict[str, str]:
    return fill(server)


def test_a_search_finds_what_the_agent_finds_and_says_why(page: Page, server: Server, ids: dict[str, str]) -> None:
    open_panel(page, server.url)
    page.keyboard.press("/")
    page.keyboard.type("customer import dates")
    page.keyboard.press("Enter")
    expect(rows(page).first).to_contain_text("The customer import fails on dates before 1970")
    asked = server.post("/search", query="customer import dates", limit=50).json()["results"]
    expect(rows(page)).to_have_count(len(asked))
    expect(rows(page).first).to_contain_text(f"{round(100 * asked[0]['confidence'])} %")
    expect(page.get_by_text("Nothing clearly answers this")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    why = page.get_by_role("region", name="Why it was found")
    expect(why).to_contain_text("Words")
    expect(why.locator("mark").first).to_be_visible()
    shoot(page, "search")
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("which customer feeds the zebra beside the lighthouse museum")
    expect(page.get_by_text("Nothing clearly answers this")).to_be_visible()
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("lighthouse zebra")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()


def test_the_passage_that_matched_is_marked_and_what_repeats_a_hit_is_named(
    page: Page, server: Server, ids: dict[str, str]
) -> None:
    filler = "The crew talked \U0001f389 of other things for a while. " * 30
    oiled = remember(server, f"{filler}The zinc pump was oiled. {filler}", project="pumps")
    first = remember(server, "The copper pump drips at night", project="pumps", sessionId="p1", createdAt="2026-01-01")
    last = remember(server, "The copper pump drips at night!", project="pumps", sessionId="p2", createdAt="2026-01-02")
    open_panel(page, server.url, "memories", "?q=who+oiled+the+zinc+pump")
    rows(page).first.click()
    mark = page.locator("mark.passage")
    expect(mark).to_contain_text("The zinc pump was oiled.")
    assert len(mark.inner_text()) < len(filler)
    open_panel(page, server.url, "memories", "?q=copper+pump+drips+at+night")
    # Only the address after the "#" changed: the results before it stay until the new ones are there.
    expect(rows(page).first).to_contain_text("The copper pump drips at night")
    rows(page).first.click()
    other = page.get_by_role("region", name="Also found").get_by_role("button").first
    named = other.inner_text().strip()
    assert named in (first["id"], last["id"])  # either is the better one: until both have a vector, only one has
    other.click()
    expect(page).to_have_url(re.compile(named))
    for made in (oiled, first, last):  # other tests count what is there
        server.post("/forget", memoryId=made["id"])


def test_it_is_browsed_by_project_type_and_time(page: Page, server: Server, ids: dict[str, str]) -> None:
    open_panel(page, server.url, "memories")
    expect(rows(page)).to_have_count(len(FACTS))
    page.get_by_label("Project").fill("billing")
    page.get_by_label("Project").press("Enter")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Type").select_option("bug")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("As known at").fill("yesterday")
    page.get_by_label("As known at").press("Enter")
    expect(page.get_by_role("heading", name="No memory matches these filters")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(rows(page)).to_have_count(len(FACTS))


def test_an_edit_is_a_new_version_and_the_old_one_stays_readable(
    page: Page, server: Server, ids: dict[str, str]
) -> None:
    made = remember(server, "The night watch begins at eight", project="watch")
    open_panel(page, server.url, "memories", f"?id={made['id']}")
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit")
    dialog.get_by_label("Title").fill("The night watch")
    dialog.get_by_label("Text").fill("The night watch begins at nine since October")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".reading h2.name")).to_have_text("The night watch")
    versions = page.get_by_role("region", name="Versions")
    expect(versions.locator("li")).to_have_count(2)
    versions.locator("summary").last.click()
    expect(versions).to_contain_text("The night watch begins at eight")
    assert server.get(f"/memories/{made['id']}").json()["memory"]["isLatest"] is False
    shoot(page, "memories")


def test_it_is_pinned_and_let_go(page: Page, server: Server, ids: dict[str, str]) -> None:
    made = remember(server, "The spare key hangs behind the clock", ttlDays=2)
    open_panel(page, server.url, "memories", f"?id={made['id']}")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Unpin")).to_have_attribute("aria-pressed", "true")
    assert server.get(f"/memories/{made['id']}").json()["memory"]["memoryType"] == "permanent"
    page.get_by_role("button", name="Unpin").click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    assert "memoryType" not in server.get(f"/memories/{made['id']}").json()["memory"]


def test_whom_it_concerns_is_changed(page: Page, server: Server, ids: dict[str, str]) -> None:
    chat = {"umo": "tg:GroupMessage:G1", "senderId": "A"}
    made = remember(server, "The club meets on the third Thursday", scope="group", **chat)
    open_panel(page, server.url, "memories")
    expect(rows(page).filter(has_text="The club meets")).to_have_count(0)
    page.get_by_label("Every chat").check()
    rows(page).filter(has_text="The club meets").click()
    page.get_by_role("button", name="Who may see it").click()
    page.get_by_role("radio", name="everyone").check()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".facts").filter(has_text="Visible to")).to_contain_text("everyone")
    page.get_by_label("Every chat").uncheck()
    expect(rows(page).filter(has_text="The club meets")).to_have_count(1)
    assert server.get(f"/memories/{made['id']}").json()["memory"]["scope"] == "global"


def test_it_is_forgotten_only_after_a_question(page: Page, server: Server, ids: dict[str, str]) -> None:
    made = remember(server, "The old pier is closed to boats")
    open_panel(page, server.url, "memories", f"?id={made['id']}")
    page.get_by_role("button", name="Forget").click()
    question = page.get_by_role("dialog", name="Forget this memory?")
    expect(question).to_be_visible()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    assert server.get(f"/memories/{made['id']}").status_code == 200
    page.get_by_role("button", name="Forget").click()
    question.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Forgotten.")).to_be_visible()
    expect(rows(page).filter(has_text="The old pier")).to_have_count(0)
    assert server.get(f"/memories/{made['id']}").status_code == 404


def test_the_list_is_walked_by_keyboard(page: Page, server: Server, ids: dict[str, str]) -> None:
    open_panel(page, server.url, "memories", "?project=billing")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(rows(page).nth(1)).to_have_attribute("aria-selected", "true")
    active = page.get_by_role("listbox").get_attribute("aria-activedescendant")
    assert rows(page).nth(1).get_attribute("id") == active
    page.keyboard.press("End")
    page.keyboard.press(" ")
    expect(rows(page).last).to_have_attribute("aria-selected", "true")


def test_on_a_phone_a_memory_takes_the_place_of_the_list(watched: Watched, server: Server, ids: dict[str, str]) -> None:
    page, _ = watched(viewport=PHONE)
    open_panel(page, server.url, "memories")
    rows(page).first.click()
    expect(page.get_by_role("listbox")).to_be_hidden()
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("listbox")).to_be_visible()


def test_of_many_only_those_in_view_are_drawn_and_all_can_be_reached(
    page: Page, server: Server, ids: dict[str, str]
) -> None:
    texts = [
        {"content": f"Crate {number} stands in row {number * 7} of hall {number * 13}", "project": "depot"}
        for number in range(MANY)
    ]
    assert server.post("/remember/batch", memories=texts).status_code == 201
    open_panel(page, server.url, "memories", "?project=depot")
    expect(page.get_by_text(f"{MANY} memories")).to_be_visible()
    assert rows(page).count() < 60
    box = page.get_by_role("listbox")
    box.focus()
    for loaded in (200, 400, MANY):  # the end of what is loaded so far brings the next page
        tall = "(rows) => document.querySelector('.list .tall').style.height === `${rows * 58}px`"
        page.wait_for_function(tall, arg=loaded)
        page.keyboard.press("End")
    expect(box.locator(f"[aria-posinset='{MANY}']")).to_be_visible()
    assert rows(page).count() < 60
    assert box.locator(f"[aria-posinset='{MANY}']").get_attribute("aria-setsize") == str(MANY)
