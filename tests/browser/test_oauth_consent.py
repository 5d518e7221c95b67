"""A real browser, without scripts, goes from another site's link over the consent page back to the client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from oauth_steps import SECRET, RemoteClient
from patience import WAIT_SECONDS
from playwright.sync_api import Browser, Page, expect
from processes import Server, serving
from viewing import EVIL, Watch


class ClientSite(ThreadingHTTPServer):
    """The web site of a client, which is another site than the server: it leads to the consent and is returned to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.link = ""
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def back(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/back"

    def close(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class _Visit(BaseHTTPRequestHandler):
    server: ClientSite

    def do_GET(self) -> None:
        page = f'<title>client</title><a href="{self.server.link}">Connect</a>'.encode()
        self.send_response(200 if self.path != "/favicon.ico" else 204)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("remote") / "memory"
    with serving(home, HOLDFAST_SECRET=SECRET, HOLDFAST_OAUTH="on") as server:
        yield server


@pytest.fixture
def site() -> Iterator[ClientSite]:
    made = ClientSite()
    yield made
    made.close()


@pytest.fixture
def client(remote: Server, site: ClientSite) -> Iterator[RemoteClient]:
    with httpx.Client(base_url=remote.url, timeout=WAIT_SECONDS, trust_env=False) as http:
        client = RemoteClient(http, redirect_uris=[site.back], client_name="Claude")
        site.link = f"{remote.url}/oauth/authorize?{urlencode(client.request(redirect_uri=site.back))}"
        yield client


@pytest.fixture
def plain(browser: Browser, client: RemoteClient, site: ClientSite) -> Iterator[Page]:
    """A page without scripts, which came to the consent by the link of another site."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    watch = Watch(page)
    watch.expected.append("the server responded with a status of 40")
    page.goto(f"http://{EVIL}:{site.server_port}/start")
    page.get_by_role("link", name="Connect").click()
    yield page
    context.close()
    assert [line for line in watch.wrong if EVIL not in line and "/back" not in line] == []


def exchanged(client: RemoteClient, page: Page, site: ClientSite) -> httpx.Response:
    page.wait_for_url(f"{site.back}?**")
    given = parse_qs(urlsplit(page.url).query)
    assert given["state"] == ["st&te=1"]
    return client.exchange(given["code"][0], redirect_uri=site.back)


def test_the_owner_enters_the_secret_and_is_sent_back(plain: Page, client: RemoteClient, site: ClientSite) -> None:
    expect(plain.get_by_text("calls itself Claude")).to_be_visible()
    plain.get_by_label("Secret of this server").fill("not the secret")
    plain.get_by_role("button", name="Allow").click()
    expect(plain.get_by_role("alert")).to_have_text("This is neither the secret nor a token.")
    plain.get_by_label("as the agent").fill("claude-web")
    plain.get_by_label("write").uncheck()
    plain.get_by_label("Secret of this server").fill(SECRET)
    plain.get_by_role("button", name="Allow").click()
    answer = exchanged(client, plain, site)
    assert answer.json()["scope"] == "read"


def test_the_owner_approves_on_the_server_and_goes_on(
    plain: Page, client: RemoteClient, site: ClientSite, remote: Server
) -> None:
    plain.get_by_role("button", name="Allow").click()
    command = plain.locator("code").inner_text()
    plain.get_by_role("button", name="Continue").click()
    expect(plain.get_by_role("alert")).to_have_text("It is not approved yet.")
    done = client.http.post(
        "/agentmemory/oauth/approve",
        json={"code": command.split()[-1], "yes": True},
        headers={"Authorization": f"Bearer {SECRET}"},
    )
    assert done.json()["approved"]
    plain.get_by_role("button", name="Continue").click()
    assert exchanged(client, plain, site).status_code == 200


def test_the_owner_denies(plain: Page, site: ClientSite) -> None:
    plain.get_by_role("button", name="Deny").click()
    plain.wait_for_url(f"{site.back}?**")
    assert "error=access_denied" in plain.url
