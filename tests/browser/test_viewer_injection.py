"""Sixty script-injection payloads in every stored field: every panel shows them as text, and none runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from filling import NOON, PREFIX, SECOND, Filling
from payloads import PAYLOADS
from playwright.sync_api import Browser, Page, expect
from processes import Server, serving
from viewing import PATIENCE_MS, WIDE, Watch, open_panel

SECRET = "a secret for the pages of tests"

# Whatever a payload would do is noted; nothing of it is undone, so that nothing hides.
TRAP = """
window.ran = [];
window.pending = 0;
const request = window.fetch;
window.fetch = async (...given) => {
  window.pending += 1;
  try { return await request(...given); } finally { window.pending -= 1; }
};
window.owned = (number) => window.ran.push(`ran ${number}`);
addEventListener("securitypolicyviolation", (event) => window.ran.push(`csp ${event.violatedDirective} ${event.blockedURI}`));
"""

# What the page itself is made of. An element of any other kind came out of a stored text.
KNOWN = set(
    "html head body meta title link script noscript div span a p b i ul li ol dl dt dd h1 h2 h3 h4 header main nav section "
    "article aside footer form label input select option optgroup textarea button datalist dialog table thead tbody tr th "
    "td time bdi code pre kbd figure figcaption details summary canvas svg path line rect circle g img mark small strong em "
    "output fieldset legend hr br".split()
)  # fmt: skip


class Trapped:
    """A page in which payloads are watched for."""

    def __init__(self, page: Page, url: str):
        self.page, self.url = page, url
        self.watch = Watch(page)
        self.read = ""
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(TRAP)

    def open(self, panel: str, query: str = "") -> None:
        open_panel(self.page, self.url, panel, query)
        self.check()

    def go(self, panel: str, **params: str) -> None:
        """To another address within the page, as a click does."""
        self.page.evaluate(
            "([panel, params]) => { location.hash = `#/${panel}?${new URLSearchParams(params)}`; }", [panel, params]
        )

    def settle(self) -> None:
        """Until what the address names is loaded and drawn. The load state of a page does not change with its hash."""
        self.page.evaluate(
            """async () => {
                const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                for (let quiet = 0; quiet < 3; quiet = window.pending ? 0 : quiet + 1) await frame();
            }"""
        )

    def check(self) -> None:
        """Nothing ran, and nothing but the page's own elements is there. What is read is kept."""
        found: dict[str, Any] = self.page.evaluate(
            """() => ({
                ran: window.ran,
                marked: document.querySelectorAll(".pwned").length,
                names: [...new Set([...document.querySelectorAll("*")].map((one) => one.localName))],
                scripts: [...document.scripts].map((one) => one.getAttribute("src")),
                links: [...document.querySelectorAll("[href], [src], [action], [formaction]")]
                    .flatMap((one) => [...one.attributes].filter((at) => /^(xlink:)?(href|src|action|formaction)$/.test(at.name)))
                    .map((at) => at.value),
                handlers: [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]).filter((at) => /^on/.test(at.name)).length,
                text: document.body.textContent + [...document.querySelectorAll("input, textarea")].map((one) => one.value).join(" "),
            })"""
        )
        assert found["ran"] == []
        assert (found["marked"], found["handlers"], set(found["names"]) - KNOWN) == (0, 0, set())
        assert found["scripts"] == ["/viewer/app.js"]
        assert [one for one in found["links"] if not re.match(r"(#|/viewer/)", one)] == []
        self.read += found["text"]

    def unread(self) -> list[str]:
        """The payloads that were not seen as text so far."""
        read = _stripped(self.read)
        return [bad for bad in PAYLOADS if _stripped(bad) not in read]


def _stripped(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose every stored field holds every payload."""
    with serving(tmp_path_factory.mktemp("hostile") / "memory", HOLDFAST_SECRET=SECRET) as server:
        memory = Filling(server.url, SECRET)
        for number, payload in enumerate(PAYLOADS):
            _store(memory, server.url, number, payload)
        _store_snapshots(memory)
        memory.close()
        yield server


def _store(memory: Filling, url: str, number: int, bad: str) -> None:
    """One payload in every field that a client can fill."""
    here = {"project": bad, "agentId": bad}
    memory.post("/session/start", sessionId=f"s{number} {bad}", cwd=bad, title=bad, **here)
    for step, data in enumerate(({"prompt": bad}, _tool(bad, bad), _tool({bad: bad}, {"nested": [bad, {bad: 1}]}))):
        memory.post(
            "/observe",
            sessionId=f"s{number} {bad}",
            hookType="prompt_submit" if "prompt" in data else "post_tool_use",
            timestamp=NOON + number * 10 * SECOND + step,
            cwd=bad,
            data=data,
            **here,
        )
    memory.post(
        "/session/commit", sessionId=f"s{number} {bad}", sha=f"{number:040x}", branch=bad, repo=bad, message=bad,
        author=bad, files=[bad], **{"agentId": bad},
    )  # fmt: skip
    memory.post(
        "/remember", content=f"{bad} kept as number {number * 7919}", title=bad, concepts=[bad], files=[bad, f"/{bad}/file"],
        type="fact", **here,
    )  # fmt: skip
    memory.post("/lessons", content=bad, context=bad, tags=[bad], source=bad, project=bad)
    memory.post("/slot", label=f"slot_{number}", content=bad, description=bad, scope="global")
    memory.post(
        "/actions", title=bad, description=bad, tags=[bad], project=bad,
        status=("pending", "active", "blocked", "done", "cancelled")[number % 5],
    )  # fmt: skip
    end = bad.replace("://", ":")  # else it would be an address, at which nothing is
    memory.post("/relations", sourceId=end, targetId=end, type=bad)
    # The audit log names the caller: a token whose name is the payload writes something.
    token = memory.post("/tokens", name=bad, agentId=bad)["token"]
    answer = httpx.post(
        f"{url}{PREFIX}/actions", json={"title": bad}, headers={"Authorization": f"Bearer {token}"}, trust_env=False
    )
    assert answer.is_success, answer.text


def _tool(given: Any, got: Any) -> dict[str, Any]:
    return {"tool_name": str(given), "tool_input": given, "tool_output": got}


LABEL_CHARS = 200


def _store_snapshots(memory: Filling) -> None:
    """Labels are short: as many payloads in each as fit."""
    label = ""
    for bad in (*PAYLOADS, ""):
        if label and (not bad or len(label) + len(bad) > LABEL_CHARS):
            memory.post("/snapshots", label=label)
            label = ""
        label += bad[:LABEL_CHARS]


@pytest.fixture(scope="module")
def signed_in(browser: Browser, hostile: Server) -> Iterator[Trapped]:
    """One page for the tests of this file: to load and sign in takes longer than most of them."""
    context = browser.new_context(viewport=WIDE, locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    trapped = Trapped(page, hostile.url)
    page.goto(f"{hostile.url}/viewer")
    page.get_by_label("Secret or token").fill(SECRET)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".live.on").wait_for()
    yield trapped
    context.close()


@pytest.fixture
def trapped(signed_in: Trapped) -> Iterator[Trapped]:
    signed_in.read, signed_in.watch.expected = "", []
    yield signed_in
    signed_in.settle()
    signed_in.check()
    assert signed_in.watch.wrong == []


def _all_rows(trapped: Trapped, listbox: str) -> None:
    """Let every row of a virtual list be drawn once."""
    box = trapped.page.locator(listbox).first
    box.wait_for()
    while True:
        trapped.check()
        moved = box.evaluate(
            "(one) => { const at = one.scrollTop; one.scrollTop += one.clientHeight; return one.scrollTop > at; }"
        )
        if not moved:
            return
        trapped.settle()  # the rows are drawn after the scroll


def _ids(server: Server, path: str, name: str) -> list[str]:
    memory = Filling(server.url, SECRET)
    found = [one["id"] for one in memory.get(path, limit=500)[name]]
    memory.close()
    return found


def test_every_payload_is_stored_as_it_is(hostile: Server) -> None:
    memory = Filling(hostile.url, SECRET)
    lessons = {one["content"] for one in memory.get("/lessons", limit=500)["lessons"]}
    memory.close()

    assert set(PAYLOADS) <= lessons


def test_the_dashboard_shows_payloads_as_text_also_live(trapped: Trapped, hostile: Server) -> None:
    trapped.open("dashboard")
    memory = Filling(hostile.url, SECRET)
    for number, bad in enumerate(PAYLOADS):
        memory.tool("s-live", 10_000 + number, tool_name=bad, tool_input=bad, tool_output=bad)
    memory.close()
    trapped.settle()

    trapped.check()


def test_every_memory_shows_its_payload_as_text(trapped: Trapped, hostile: Server) -> None:
    trapped.open("memories")
    _all_rows(trapped, ".panel.memories .list")
    for id in _ids(hostile, "/memories", "memories"):
        trapped.go("memories", id=id)
        trapped.page.locator(".reading .facts .code").filter(has_text=id).wait_for()
        trapped.check()

    assert trapped.unread() == []


def test_a_search_shows_payloads_as_text(trapped: Trapped) -> None:
    for query in ("script owned", "img onerror pwned", "svg alert iframe javascript"):
        trapped.open("memories", f"?q={query}")
        trapped.settle()
        trapped.check()


def test_every_session_shows_its_payload_as_text(trapped: Trapped, hostile: Server) -> None:
    trapped.open("sessions")
    _all_rows(trapped, ".panel.sessions .list")
    for id in _ids(hostile, "/sessions", "sessions"):
        trapped.go("sessions", id=id)
        trapped.settle()
        trapped.check()

    assert trapped.unread() == []


def test_every_frame_of_a_replay_shows_its_payload_as_text(trapped: Trapped, hostile: Server) -> None:
    trapped.open("replay")
    for id in _ids(hostile, "/replay/sessions", "sessions"):
        if id == "s-live":
            continue
        trapped.go("replay", id=id)
        trapped.settle()
        expect(trapped.page.locator(".position")).to_have_text("Frame 1 of 3")
        trapped.page.keyboard.press("End")
        trapped.check()
        trapped.page.keyboard.press("ArrowLeft")
        trapped.check()

    assert trapped.unread() == []


def test_the_timeline_shows_payloads_as_text(trapped: Trapped) -> None:
    trapped.open("timeline")
    _all_rows(trapped, ".panel.timeline .list")
    for bad in PAYLOADS[:60:12]:
        trapped.go("timeline", project=bad)
        trapped.settle()
        trapped.page.get_by_role("listbox").get_by_role("option").first.click()
        trapped.check()


def test_lessons_show_payloads_as_text(trapped: Trapped) -> None:
    trapped.open("lessons")
    trapped.page.locator(".lesson").nth(59).wait_for()
    trapped.check()

    assert trapped.unread() == []


def test_every_slot_shows_its_payload_as_text(trapped: Trapped) -> None:
    trapped.open("slots")
    for number in range(len(PAYLOADS)):
        trapped.go("slots", label=f"slot_{number}")
        trapped.page.get_by_role("form", name=f"slot_{number}", exact=True).wait_for()
        trapped.check()

    assert trapped.unread() == []


def test_actions_show_payloads_as_text(trapped: Trapped) -> None:
    trapped.open("actions")
    expect(trapped.page.locator(".action").nth(50)).to_be_attached()
    for more in trapped.page.locator(".column > button").all():
        more.click()
    trapped.check()
    for card in trapped.page.locator(".action .title").all()[:4]:
        card.click()
        trapped.check()
        trapped.page.keyboard.press("Escape")

    assert trapped.unread() == []


def test_the_audit_log_shows_payloads_as_text(trapped: Trapped) -> None:
    trapped.open("audit", "?operation=action_create")
    _all_rows(trapped, ".panel.audit .list")
    trapped.page.get_by_role("listbox", name="Audit").get_by_role("option").first.click()
    trapped.check()

    assert trapped.unread() == []


def test_the_graph_shows_payloads_as_text(trapped: Trapped) -> None:
    trapped.open("graph")
    trapped.page.locator("canvas[data-settled=true]").wait_for()
    trapped.page.get_by_role("button", name="Table").click()
    _all_rows(trapped, ".panel.graph .list")
    for bad in PAYLOADS[::12]:
        trapped.go("graph", node=f"concept:{bad}")
        trapped.page.get_by_role("listbox").nth(1).wait_for()
        trapped.check()

    assert trapped.unread() == []


def test_snapshots_show_payloads_as_text(trapped: Trapped, hostile: Server) -> None:
    ids = _ids(hostile, "/snapshots", "snapshots")
    trapped.open("snapshots")
    trapped.page.get_by_role("row").nth(len(ids)).wait_for()
    trapped.check()
    assert trapped.unread() == []

    trapped.go("snapshots", id=ids[0])
    trapped.page.get_by_role("article").get_by_role("button", name="Search inside").click()
    trapped.page.get_by_role("dialog").get_by_role("searchbox").fill("script owned pwned")
    trapped.page.get_by_role("dialog").get_by_role("button", name="Search").click()
    trapped.page.locator(".found li").first.wait_for()
    trapped.check()
    trapped.page.keyboard.press("Escape")
    memory = Filling(hostile.url, SECRET)
    for bad in PAYLOADS:
        memory.post("/actions", title=bad, agentId=bad)
    memory.close()
    trapped.page.get_by_role("article").get_by_role("button", name="Compare").click()
    trapped.page.get_by_role("dialog").get_by_role("button", name="Compare").click()
    trapped.page.get_by_role("dialog").get_by_role("status").wait_for()
    trapped.check()


def test_payloads_in_the_address_are_text_as_well(trapped: Trapped) -> None:
    for panel in ("memories", "sessions", "timeline", "replay", "slots", "audit", "graph", "snapshots"):
        for bad in PAYLOADS[::20]:
            trapped.watch.expected.append("status of 40")  # what does not exist is answered so
            trapped.go(panel, id=bad, q=bad, project=bad, label=bad, operation=bad, node=bad)
            trapped.settle()
            trapped.check()
