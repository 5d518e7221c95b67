"""The context of an agent, line by line, and what is marked as outdated among the hits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from filling import NOON, SECOND, Filling
from playwright.sync_api import Page, expect
from processes import Server
from viewing import PATIENCE_MS, Watch, open_panel, rows

ONE_TAB = True

Watched = Callable[..., tuple[Page, Watch]]
DECIDED = "We decided to use Postgres 14 for the orders service because the managed plan includes it."


def said(memory: Filling, session: str, number: int, hook: str, **data: str) -> None:
    memory.post(
        "/observe",
        sessionId=session,
        hookType=hook,
        timestamp=NOON + number * SECOND,
        project="orders",
        cwd="/w",
        data=data,
    )


@pytest.fixture(scope="module")
def orders(memory: Filling) -> Filling:
    """A project with a decision, a memory and a slot, learnt by the server in the background."""
    said(memory, "s-orders", 1, "prompt_submit", prompt="Which database do we take?")
    said(memory, "s-orders", 2, "assistant_message", message=DECIDED)
    memory.post("/remember", content="Orders are numbered by day.", project="orders", type="fact")
    memory.post("/slot/replace", label="guidance", content="Ask before a migration.", project="orders")
    return memory


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched()[0]


def wait_for_statements(page: Page, server: Server) -> None:
    """Until the server has learnt the decision, which it does in the background."""
    open_panel(page, server.url, "context", "?project=orders")
    expect(page.get_by_role("region", name="Decisions and facts in force")).to_contain_text(DECIDED)


def test_the_lines_are_those_of_the_context_each_with_its_reason(page: Page, server: Server, orders: Filling) -> None:
    open_panel(page, server.url, "context")
    page.get_by_role("button", name="orders").click()
    facts = page.get_by_role("region", name="Decisions and facts in force")
    expect(facts).to_contain_text(DECIDED)
    expect(facts).to_contain_text(re.compile(r"said on 2026-09-2\d, decision, worth 0\.\d\d"))
    expect(page.get_by_role("region", name="The user's wishes and rules")).to_contain_text("Ask before a migration.")
    answer = orders.post("/context", project="orders", explain=True)
    expect(page.locator(".told li")).to_have_count(len(answer["lines"]))
    expect(page.get_by_role("status").filter(has_text="tokens")).to_have_text(f"{answer['tokens']} tokens")
    page.get_by_text("The exact text").click()
    expect(page.get_by_role("region", name="The exact text")).to_have_text(answer["context"], use_inner_text=True)


def test_a_line_leads_to_its_record(page: Page, server: Server, orders: Filling) -> None:
    open_panel(page, server.url, "context", "?project=orders")
    page.locator("li", has_text=DECIDED).get_by_role("link", name="Open what was said").click()
    expect(page.locator(".panel.memories .reading")).to_contain_text(DECIDED)
    page.go_back()
    page.locator("li", has_text="numbered by day").get_by_role("link", name="Open the memory").click()
    expect(page.locator(".reading h2.name")).to_have_text("Orders are numbered by day.")
    page.go_back()
    page.locator("li", has_text="Ask before a migration").get_by_role("link", name="Open the slot").click()
    expect(page.locator(".panel.slots .reading")).to_contain_text("guidance")


def test_a_new_memory_comes_into_view(page: Page, server: Server, orders: Filling) -> None:
    open_panel(page, server.url, "context", "?project=orders")
    orders.post("/remember", content="Refunds need two signatures.", project="orders", type="fact")
    expect(page.locator(".told")).to_contain_text(["Refunds need two signatures."], timeout=PATIENCE_MS)


def test_a_hit_that_was_replaced_says_by_what_and_the_mark_is_taken_back(
    page: Page, server: Server, orders: Filling
) -> None:
    wait_for_statements(page, server)
    lines = orders.post("/context", project="orders", explain=True)["lines"]
    observation, old = next(one["ids"] for one in lines if DECIDED in one["text"])
    new = orders.post("/remember", content="Lanterns are lit by the porter.", project="ctx")["memory"]["id"]
    orders.post("/relations", sourceId=new, targetId=old, type="supersedes")
    open_panel(page, server.url, "memories", f"?q=Postgres%2014%20orders%20service&id={observation}&kind=observation")
    expect(rows(page).filter(has_text="Postgres 14")).to_contain_text("outdated")
    replaced = page.get_by_role("region", name="Replaced by")
    expect(replaced).to_contain_text("Lanterns are lit")
    replaced.get_by_role("button", name="The older one is still valid").click()
    expect(replaced).to_have_count(0)
    hits = orders.post("/search", query="Postgres 14 orders service")["results"]
    assert not any("outdated" in one for one in hits)


def test_what_was_perhaps_said_anew_leads_to_the_newer_one(page: Page, server: Server, orders: Filling) -> None:
    old = orders.post("/remember", content="The parcel desk closes at five on Fridays.", project="ctx")["memory"]["id"]
    new = orders.post("/remember", content="Ropes are dried in the attic.", project="ctx")["memory"]["id"]
    orders.post("/relations", sourceId=new, targetId=old, type="updates")
    open_panel(page, server.url, "memories", f"?q=parcel%20desk%20Fridays&id={old}")
    expect(rows(page).filter(has_text="parcel desk")).to_contain_text("perhaps outdated")
    page.get_by_role("region", name="Replaced by").get_by_role("button", name="Open it").click()
    expect(page.locator(".reading h2.name")).to_have_text("Ropes are dried in the attic.")
