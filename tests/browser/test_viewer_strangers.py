"""Pages of other sites: none reads the memory, whether it asks across origins or by a name that leads here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page
from processes import Server
from samples import remember
from viewing import EVIL, PATIENCE_MS, Watch, open_panel

KNOWN = "The strongroom opens with the harbour master's ring"


class _Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another site</title>")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """A page of another site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Blank)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{EVIL}:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def stranger(browser: Browser, site: str, server: Server) -> Iterator[Page]:
    """Not watched: it is expected to be refused, and that is told on its console."""
    remember(server, KNOWN)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(site)
    yield page
    page.close()


ASK = """async ([url, method]) => {
  try {
    const answer = await fetch(url, {method, headers: method === "POST" ? {"Content-Type": "text/plain"} : {}, body: method === "POST" ? '{"content": "planted"}' : undefined});
    return [answer.status, await answer.text()];
  } catch (error) { return ["refused", ""]; }
}"""
LISTEN = """(url) => new Promise((done) => {
  const socket = new WebSocket(url);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""


@pytest.mark.parametrize(
    ("path", "method"), [("/agentmemory/memories", "GET"), ("/agentmemory/remember", "POST"), ("/livez", "GET")]
)
def test_a_page_of_another_site_gets_no_answer(stranger: Page, server: Server, path: str, method: str) -> None:
    assert stranger.evaluate(ASK, [server.url + path, method]) == ["refused", ""]
    assert "planted" not in server.get("/memories").text


def test_a_page_of_another_site_gets_no_socket(stranger: Page, server: Server) -> None:
    url = server.url.replace("http", "ws") + "/stream/mem-live/viewer?since="
    assert stranger.evaluate(LISTEN, url) == "refused"


def test_a_name_that_was_bent_to_this_machine_is_refused(stranger: Page, server: Server) -> None:
    rebound = server.url.replace("127.0.0.1", EVIL)
    for path in ("/viewer", "/agentmemory/memories", "/viewer/app.js"):
        answer = stranger.goto(rebound + path)
        assert answer is not None
        assert answer.status == 403
        assert KNOWN not in answer.text()
    assert stranger.evaluate(LISTEN, rebound.replace("http", "ws") + "/stream/mem-live/viewer") == "refused"


def test_the_viewer_cannot_be_framed_by_another_site(stranger: Page, server: Server) -> None:
    stranger.evaluate(
        "(url) => { const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame); }",
        f"{server.url}/viewer",
    )
    stranger.wait_for_function("window.frames.length === 1")
    assert stranger.locator("iframe").content_frame.locator("nav").count() == 0


def test_what_the_policy_forbids_does_not_run(watch: Watch, server: Server) -> None:
    page = watch.page
    open_panel(page, server.url)
    watch.expected += ["Content Security Policy", "violates", "Refused to"]
    page.evaluate("""() => {
      window.blocked = [];
      addEventListener("securitypolicyviolation", (event) => window.blocked.push(event.effectiveDirective));
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      const image = document.createElement("img");
      image.setAttribute("onerror", "window.ran = true");
      image.src = "data:image/png;base64,AA==";
      document.body.append(image);
      const link = document.createElement("a");
      link.href = "javascript:window.ran = true";
      document.body.append(link);
      link.click();
      const form = document.createElement("form");
      form.action = "/agentmemory/remember";
      form.method = "post";
      document.body.append(form);
      form.submit();
      fetch("https://example.invalid/").catch(() => {});
    }""")
    page.wait_for_function(
        "() => ['script-src-elem', 'script-src-attr', 'connect-src', 'form-action'].every((one) => window.blocked.includes(one))"
    )
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelector('h1').textContent") == "Dashboard"
