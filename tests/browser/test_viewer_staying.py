"""What a person has before them stays: while rows come in, while the server is away, while text is being typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filling import Filling
from playwright.sync_api import Locator, Page, expect
from processes import Server
from samples import remember
from viewing import PHONE, Watch, open_panel, rows
from wire import BROKEN, Wire

import holdfast

ONE_TAB = True

Watched = Callable[..., tuple[Page, Watch]]
MANY = 450  # more than two pages of the list
ROW = 58  # px


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as one:
        yield one


# While the server is away


def test_a_lost_connection_is_said_across_the_page_and_on_a_phone_too(
    watched: Watched, memory: Filling, wire: Wire
) -> None:
    page, watch = watched(viewport=PHONE)
    open_panel(page, wire.url, "memories")
    expect(rows(page).first).to_be_visible()
    watch.expected += BROKEN
    wire.cut()

    banner = page.locator(".banner")
    expect(banner).to_contain_text("The server does not respond")
    expect(rows(page).first).to_be_visible()
    wire.mend()
    expect(banner).to_have_count(0)


def test_a_panel_opened_while_the_server_is_away_fills_itself_when_it_is_back(
    watch: Watch, memory: Filling, wire: Wire
) -> None:
    page = watch.page
    for panel in ("lessons", "memories", "timeline", "graph", "snapshots"):  # their files are loaded while they can be
        open_panel(page, wire.url, panel)
    open_panel(page, wire.url)
    watch.expected += [*BROKEN, "Failed to load resource"]
    wire.cut()
    expect(page.locator(".banner")).to_be_visible()
    page.get_by_role("link", name="Lessons").first.click()
    expect(page.get_by_role("alert").first).to_contain_text("The server does not respond")

    wire.mend()

    expect(page.locator(".lesson").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


# While rows come in


@pytest.fixture(scope="module")
def depot(server: Server) -> None:
    texts = [
        {"content": f"Crate {number} stands in row {number * 7} of hall {number * 13}", "project": "depot"}
        for number in range(MANY)
    ]
    assert server.post("/remember/batch", memories=texts).status_code == 201


def tall(page: Page, count: int) -> None:
    page.wait_for_function(
        "(height) => document.querySelector('.list .tall').style.height === height", arg=f"{count * ROW}px"
    )


def in_view(page: Page) -> str:
    """The first row that is whole in the list's view."""
    first: str = page.get_by_role("listbox").evaluate(
        """(box) => [...box.querySelectorAll('.row')]
            .filter((row) => row.getBoundingClientRect().top >= box.getBoundingClientRect().top - 1)
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0].querySelector('b').innerText"""
    )
    return first


def test_a_list_that_was_scrolled_stays_where_it_is_when_a_memory_comes(
    page: Page, server: Server, depot: None
) -> None:
    open_panel(page, server.url, "memories", "?project=depot")
    tall(page, 200)
    page.get_by_role("listbox").focus()
    page.keyboard.press("End")
    tall(page, 400)
    before = in_view(page)

    remember(server, "A crane stands beside the depot", project="depot")

    tall(page, 401)
    assert in_view(page) == before


def test_the_keys_stay_on_their_row_when_a_memory_comes(page: Page, server: Server, depot: None) -> None:
    open_panel(page, server.url, "memories", "?project=depot")
    tall(page, 200)
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    chosen = page.locator(".row.active b").inner_text()

    remember(server, "A second crane was ordered for the depot", project="depot")
    expect(rows(page).first).to_contain_text("second crane")
    page.keyboard.press("Enter")

    expect(page.locator(".reading h2.name")).to_have_text(re.compile(f"^{re.escape(chosen)}"))


def test_escape_closes_what_a_list_has_open(page: Page, server: Server, memory: Filling) -> None:
    for panel in ("memories", "sessions", "timeline", "audit"):
        open_panel(page, server.url, panel)
        rows(page).first.click()
        reading = page.locator(".split.open")
        expect(reading).to_be_visible()
        page.keyboard.press("Escape")
        expect(reading).to_have_count(0)


# While text is typed


def edited(page: Page, server: Server, text: str) -> Locator:
    made = remember(server, "The ferry leaves at seven", project="pier")
    open_panel(page, server.url, "memories", f"?id={made['id']}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("dialog").get_by_label("Text").fill(text)
    return page.get_by_role("dialog")


def test_escape_does_not_lose_an_edit(page: Page, server: Server) -> None:
    dialog = edited(page, server, "The ferry leaves at eight")
    for _ in range(3):  # a browser closes a window at the second one by itself
        page.keyboard.press("Escape")
    expect(dialog.get_by_role("alert")).to_contain_text("not saved")
    dialog.get_by_role("button", name="Keep editing").click()

    expect(dialog.get_by_label("Text")).to_have_value("The ferry leaves at eight")
    dialog.get_by_role("button", name="Close").click()
    dialog.get_by_role("button", name="Discard it").click()
    expect(dialog).to_have_count(0)


def test_marking_text_with_the_mouse_does_not_close_the_window(page: Page, server: Server) -> None:
    dialog = edited(page, server, "The ferry leaves at nine")
    box = dialog.get_by_label("Text").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(20, box["y"] + 20)
    page.mouse.up()

    expect(dialog.get_by_label("Text")).to_have_value("The ferry leaves at nine")
    expect(dialog.get_by_role("alert")).to_have_count(0)


def test_an_unsaved_slot_waits_until_one_comes_back_to_it(page: Page, server: Server, memory: Filling) -> None:
    open_panel(page, server.url, "slots", "?label=guidance")
    page.get_by_label("Text", exact=True).fill("Mind the reef.")
    page.get_by_role("button", name=re.compile("^tool_guidelines")).click()
    expect(page.get_by_role("form", name="tool_guidelines")).to_be_visible()
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("link", name="Slots").click()
    page.get_by_role("button", name="guidance not saved").click()

    expect(page.get_by_label("Text", exact=True)).to_have_value("Mind the reef.")
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("")
    expect(page.get_by_text("not saved")).to_have_count(0)


def test_a_slot_that_somebody_else_writes_meanwhile_is_not_overwritten_unseen(
    page: Page, server: Server, memory: Filling
) -> None:
    open_panel(page, server.url, "slots", "?label=pending_items")
    text = page.get_by_label("Text", exact=True)
    text.fill("Mine.")
    memory.post("/slot/replace", label="pending_items", content="Theirs.")

    told = page.get_by_role("alert")
    expect(told).to_contain_text("This slot was changed")
    expect(told).to_contain_text("Theirs.")
    expect(text).to_have_value("Mine.")
    page.get_by_role("button", name="Discard my changes").click()
    expect(text).to_have_value("Theirs.")


# What is gone is gone everywhere


def test_a_forgotten_session_leaves_the_timeline(page: Page, server: Server, memory: Filling) -> None:
    memory.post("/session/start", sessionId="s-fog", project="harbour", cwd="/w", title="Fog")
    memory.tool("s-fog", 900, tool_input={"command": "ring the fog bell"})
    open_panel(page, server.url, "timeline")
    step = rows(page, "Timeline").filter(has_text="fog bell")
    step.click()
    expect(page.get_by_role("article")).to_contain_text("fog bell")

    memory.post("/forget", sessionId="s-fog")

    expect(step).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(0)


def test_panels_follow_a_restore(page: Page, watched: Watched, server: Server, memory: Filling) -> None:
    ids = {one["label"]: one["id"] for one in memory.get("/snapshots")["snapshots"]}
    memory.post("/lessons", content="Count the boats at dusk.")
    memory.post("/actions", title="Mend the jetty")
    memory.post("/slot/replace", label="persona", content="A keeper of many words.")
    lessons, actions, slots = page, watched()[0], watched()[0]
    open_panel(lessons, server.url, "lessons")
    open_panel(actions, server.url, "actions")
    open_panel(slots, server.url, "slots", "?label=persona")
    expect(lessons.get_by_text("Count the boats")).to_be_visible()
    expect(actions.get_by_text("Mend the jetty")).to_be_visible()
    expect(slots.get_by_label("Text", exact=True)).to_have_value("A keeper of many words.")

    memory.post("/snapshots/restore", id=ids["after the storm"], yes=True)

    expect(lessons.get_by_text("Count the boats")).to_have_count(0)
    expect(actions.get_by_text("Mend the jetty")).to_have_count(0)
    expect(slots.get_by_label("Text", exact=True)).to_have_value("A keeper of few words.")


def test_the_graph_offers_to_be_drawn_anew_and_does_not_jump_by_itself(
    page: Page, server: Server, memory: Filling
) -> None:
    open_panel(page, server.url, "graph")
    expect(page.locator("canvas")).to_have_attribute("data-settled", "true")
    nodes = page.locator("canvas").get_attribute("aria-label")
    remember(server, "The gulls nest on the roof", concepts=["gulls"], files=["/w/roof/notes.md"])
    again = page.get_by_role("button", name="redraw")
    expect(again).to_be_visible()
    assert page.locator("canvas").get_attribute("aria-label") == nodes

    again.click()

    expect(page.locator("canvas")).not_to_have_attribute("aria-label", nodes or "")
    expect(again).to_have_count(0)


def test_a_replay_grows_with_its_session(page: Page, server: Server, memory: Filling) -> None:
    memory.post("/session/start", sessionId="s-watch", project="harbour", cwd="/w", title="The night watch")
    for number in range(2):
        memory.tool("s-watch", 2_000 + number)
    open_panel(page, server.url, "replay", "?id=s-watch")
    expect(page.locator(".position")).to_have_text("Frame 1 of 2")
    page.keyboard.press("ArrowRight")

    memory.tool("s-watch", 2_002)

    expect(page.locator(".position")).to_have_text("Frame 2 of 3")


# Said rightly


def test_days_of_growth_are_the_same_wherever_one_looks(watched: Watched, server: Server, memory: Filling) -> None:
    page, _ = watched(timezone_id="America/Los_Angeles")
    open_panel(page, server.url)
    page.get_by_text("Values as a table").click()
    last = memory.get("/overview")["growth"]["days"][-1]
    year, month, day = last.split("-")

    expect(page.locator(".plot tbody tr").last.locator("th")).to_have_text(f"{day}/{month}/{year}")


def test_the_strip_of_panels_shows_the_current_one_on_a_phone(watched: Watched, server: Server) -> None:
    page, _ = watched(viewport=PHONE)
    open_panel(page, server.url, "audit")

    box = page.get_by_role("navigation").get_by_role("link", name="Audit").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]


def test_a_phone_shows_the_state_of_each_snapshot(watched: Watched, server: Server, memory: Filling) -> None:
    newest = memory.get("/snapshots")["snapshots"][0]["id"]
    memory.post("/snapshots/verify", id=newest)
    page, _ = watched(viewport=PHONE)
    open_panel(page, server.url, "snapshots")
    badge = page.get_by_role("row").nth(1).get_by_text("verified: intact")
    badge.wait_for()
    table = page.get_by_role("region", name="Snapshots")
    box, around = badge.bounding_box(), table.bounding_box()

    assert box is not None
    assert around is not None
    assert box["x"] + box["width"] <= around["x"] + around["width"]


def test_cards_have_room_around_their_text(page: Page, server: Server, memory: Filling) -> None:
    for panel, card in (("lessons", ".lesson"), ("actions", ".action")):
        open_panel(page, server.url, panel)
        padding = page.locator(card).first.evaluate("(node) => parseFloat(getComputedStyle(node).paddingLeft)")
        assert padding >= 10, panel


def test_every_operation_of_the_audit_log_has_a_plain_word(page: Page, server: Server) -> None:
    """As the source writes them down, and as the panel offers them."""
    root = Path(holdfast.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    written = set(re.findall(r'audit(?:_snapshot)?\((?:tx|ctx), "(\w+)"', text))
    written |= set(re.findall(r'"((?:oauth|lease|sketch|routine|facet|signal)_[a-z_]+)"(?:, \w+=.*)?\)', text))
    open_panel(page, server.url, "audit")
    offered = set(page.evaluate("import('/viewer/panels/audit.js').then((module) => module.OPERATIONS)"))
    words = page.evaluate("import('/viewer/words/audit.js').then((module) => module.default.en)")

    assert len(written) > 30
    assert written - offered == set()
    assert {f"op_{name}" for name in offered} - words.keys() == set()


def test_projects_that_are_known_are_offered(page: Page, server: Server, memory: Filling) -> None:
    for panel in ("memories", "sessions", "timeline", "slots", "actions"):
        open_panel(page, server.url, panel)
        field = page.locator(f".panel.{panel}").get_by_label("Project", exact=True)
        offered = page.locator(f"datalist[id='{field.get_attribute('list')}'] option[value='harbour']")

        expect(offered).to_have_count(1)
