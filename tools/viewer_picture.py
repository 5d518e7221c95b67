"""Fills a memory as a week of work does, searches it in the viewer and writes the picture of the README.

Needs Chromium, and Pillow for a small file (both are there after `make bench` or `pip install -e '.[bench]'`).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from filling import Filling  # noqa: E402
from playwright.sync_api import ViewportSize, sync_playwright  # noqa: E402
from processes import serving  # noqa: E402
from viewing import CHROMIUM, FLAGS, PATIENCE_MS, open_panel, rows, shoot  # noqa: E402

NAME = "readme"
SIZE = ViewportSize(width=1200, height=640)
QUESTION = "how do we deploy safely?"
PROJECT = "shop"
MEMORIES = (
    ("architecture", "Deploys go through the blue/green switch; the old colour stays up for an hour", "deploy"),
    ("workflow", "Tag the commit, wait for the smoke test of the green side, then flip the switch", "deploy"),
    ("bug", "The checkout timed out because the pool had five connections; it has twenty now", "checkout"),
    ("preference", "Small pull requests with one test each, no squash merges", "review"),
    ("fact", "The staging database is called larch and is copied from production every Sunday", "staging"),
    ("pattern", "Prices are integers in cents everywhere; only the page formats them", "prices"),
    ("bug", "Invoices of leap days got the wrong month; dates are parsed in one place now", "invoices"),
    ("architecture", "Search results are cached for a minute per customer group", "search"),
)


def fill(memory: Filling) -> None:
    for kind, content, concept in MEMORIES:
        memory.post("/remember", content=content, type=kind, concepts=[concept], project=PROJECT)
    memory.post("/snapshots", label="monday")


def main() -> int:
    os.environ["HOLDFAST_SCREENSHOTS"] = "1"
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "memory", HOLDFAST_EMBEDDER="minilm") as server,
        sync_playwright() as play,
    ):
        memory = Filling(server.url)
        fill(memory)
        while memory.get("/health")["index"]["pending"]:
            time.sleep(0.2)  # every memory gets its vector before the search
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(PATIENCE_MS)
        open_panel(page, server.url, "memories")
        page.get_by_role("searchbox").fill(QUESTION)
        page.get_by_role("searchbox").press("Enter")
        rows(page).first.click()
        page.get_by_text("Why it was found").wait_for()
        shoot(page, NAME)
        browser.close()
        memory.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
