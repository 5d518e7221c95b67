"""Signing in: the token stays in the tab, every datum needs it, and one that is revoked leads back to the form."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect
from processes import Server, serving
from viewing import Watch, open_panel, rows, shoot
from wire import Wire

SECRET = "the-harbour-masters-own-secret-2026"
REFUSED = "the server responded with a status of 401"
ONE_TAB = True


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("locked") / "memory", HOLDFAST_SECRET=SECRET) as server:
        server.http.headers["Authorization"] = f"Bearer {SECRET}"
        server.remember("The lantern room is locked at night")
        yield server


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("Secret or token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def test_the_form_lets_in_who_has_the_secret_and_nobody_else(watch: Watch, locked: Server) -> None:
    page = watch.page
    page.goto(f"{locked.url}/viewer#/memories")
    expect(page.get_by_label("Secret or token")).to_be_focused()
    shoot(page, "sign-in")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_have_text("Enter the secret or a token.")
    watch.expected.append(REFUSED)
    sign_in(page, "not-the-secret")
    expect(page.get_by_role("alert").first).to_have_text("This secret or token is not valid.")
    watch.expected.clear()
    sign_in(page, SECRET)
    expect(rows(page).first).to_contain_text("The lantern room is locked at night")
    expect(page.locator(".live.on")).to_be_visible()


def test_the_token_is_in_the_tab_alone(page: Page, locked: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.goto(f"{locked.url}/viewer")
    sign_in(page, SECRET)
    page.locator(".live.on").wait_for()
    assert SECRET not in page.content()
    assert not any(SECRET in url for url in asked)
    assert SECRET not in page.evaluate(
        "JSON.stringify([{...localStorage}, document.cookie, location.href, history.state])"
    )
    assert page.evaluate("sessionStorage.length") == 1
    page.reload()
    page.locator(".live.on").wait_for()
    other = page.context.new_page()
    other.goto(f"{locked.url}/viewer")
    expect(other.get_by_label("Secret or token")).to_be_visible()
    other.close()


def test_signing_out_forgets_the_token(page: Page, locked: Server) -> None:
    page.goto(f"{locked.url}/viewer")
    sign_in(page, SECRET)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Secret or token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    expect(page.get_by_label("Secret or token")).to_be_visible()


def test_a_revoked_token_leads_back_to_the_form(watch: Watch, locked: Server) -> None:
    page = watch.page
    made = locked.post("/tokens", name="reader", scopes=["read"]).json()
    page.goto(f"{locked.url}/viewer")
    sign_in(page, made["token"])
    page.locator(".live.on").wait_for()
    watch.expected.append(REFUSED)
    locked.http.delete(f"/agentmemory/tokens/{made['record']['id']}")
    locked.remember("Something happens after the token was revoked")
    expect(page.get_by_label("Secret or token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_token_that_may_only_read_is_told_so(watch: Watch, locked: Server) -> None:
    page = watch.page
    made = locked.post("/tokens", name="reader", scopes=["read"]).json()
    page.goto(f"{locked.url}/viewer#/memories")
    sign_in(page, made["token"])
    rows(page).first.click()
    watch.expected.append("the server responded with a status of 403")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("lacks the scope write")


def test_files_are_public_and_data_is_not(locked: Server) -> None:
    with httpx.Client(base_url=locked.url, trust_env=False) as stranger:
        assert stranger.get("/viewer/app.js").status_code == 200
        for path in ("overview", "memories", "sessions", "config/flags", "audit"):
            assert stranger.get(f"/agentmemory/{path}").status_code == 401


def test_without_a_secret_nobody_is_asked(page: Page, server: Server) -> None:
    open_panel(page, server.url)
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


def test_a_token_that_was_revoked_while_the_wire_was_cut_leads_to_the_form(watch: Watch, locked: Server) -> None:
    page = watch.page
    made = locked.post("/tokens", name="reader", scopes=["read"]).json()
    with Wire(locked.url) as wire:
        page.goto(f"{wire.url}/viewer")
        sign_in(page, made["token"])
        page.locator(".live.on").wait_for()
        watch.expected += ["WebSocket connection to", "Failed to load resource"]
        wire.cut()
        locked.http.delete(f"/agentmemory/tokens/{made['record']['id']}")
        wire.mend()
        expect(page.get_by_label("Secret or token")).to_be_visible()
