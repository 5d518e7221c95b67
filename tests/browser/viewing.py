"""How tests look at the viewer: what is watched on every page, how panels are opened, where pictures go."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from patience import WAIT_SECONDS
from playwright.sync_api import ConsoleMessage, Dialog, Error, Locator, Page, Request, ViewportSize

import holdfast.viewer

EVIL = "evil.test"  # a name of somebody else, which leads to this machine
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    *"--no-sandbox --headless=new --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync".split(),
    f"--host-resolver-rules=MAP {EVIL} 127.0.0.1",  # as whoever owns a name may let it lead anywhere
)
SHOTS = Path(__file__).parents[2] / "docs" / "viewer"
PATIENCE_MS = 500 * WAIT_SECONDS  # half of it: some tests wait for two things
WIDE: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}


class Watch:
    """Notes what must not happen on a page."""

    def __init__(self, page: Page):
        self.page = page
        self.wrong: list[str] = []
        self.expected: list[str] = []  # beginnings of console errors that the test provokes
        page.on("console", self._console)
        page.on("pageerror", self._page_error)
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def leave(self) -> None:
        """Watch no longer, and leave the page as if it were new to the next test."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.evaluate("() => { if (location.host) { localStorage.clear(); sessionStorage.clear(); } }")
        self.page.goto("about:blank")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(WIDE)
        self.page.remove_listener("console", self._console)
        self.page.remove_listener("pageerror", self._page_error)
        self.page.remove_listener("request", self._request)
        self.page.remove_listener("dialog", self._dialog)

    def _page_error(self, error: Error) -> None:
        self.wrong.append(f"page error: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(one in message.text for one in self.expected):
            self.wrong.append(f"console {message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in ("127.0.0.1", "localhost", None):
            self.wrong.append(f"request to another host: {request.url}")


def open_panel(page: Page, url: str, panel: str = "dashboard", query: str = "") -> None:
    """Open a panel and wait until it is drawn and live."""
    page.goto(f"{url}/viewer#/{panel}{query}")
    page.locator(f".panel.{panel} h1").first.wait_for()
    page.locator(".live.on").wait_for()


def shoot(page: Page, name: str) -> None:
    """A picture for the documentation, only where it is asked for: a test run leaves the tree as it was."""
    if os.environ.get("HOLDFAST_SCREENSHOTS") != "1":
        return
    from PIL import Image  # comes with the bench extra

    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"{name}.png"
    page.evaluate(_AT_HOME)
    page.screenshot(path=path, animations="disabled")
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(128)
    few.save(path, optimize=True)


# Where a test keeps its memory is of no interest to a reader.
_AT_HOME = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replace(/\\/\\S*pytest\\S*?\\/memory/, "/home/ada/.holdfast");
}"""


def panels() -> list[str]:
    """Every panel there is, as the page lists them."""
    text = (Path(holdfast.viewer.__file__).parent / "panels.js").read_text()
    return re.findall(r'\{ name: "(\w+)"', text)


def rows(page: Page, label: str | None = None) -> Locator:
    """The rows of a list in view; where there are several lists, of the one with that name."""
    return page.get_by_role("listbox", name=label).get_by_role("option")
