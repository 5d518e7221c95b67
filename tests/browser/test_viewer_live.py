"""Live: what happens is seen at once, a broken connection loses nothing, a new server is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import WebSocket, expect
from processes import Server, serving
from samples import remember
from viewing import Watch, open_panel, rows
from wire import BROKEN, Wire

ONE_TAB = True


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as one:
        yield one


def heard_on(watch: Watch) -> list[list[Any]]:
    """The frames of each socket that the page opens."""
    sockets: list[list[Any]] = []

    def opened(socket: WebSocket) -> None:
        frames: list[Any] = []
        sockets.append(frames)
        socket.on("framereceived", lambda payload: frames.append(json.loads(payload)))

    watch.page.on("websocket", opened)
    return sockets


def memories(frames: list[Any]) -> list[str]:
    return [one["data"]["memory"]["content"] for one in frames if one["type"] == "memory"]


def test_what_is_remembered_is_seen_at_once(watch: Watch, server: Server) -> None:
    page = watch.page
    open_panel(page, server.url)
    before = int(page.locator("[data-count=memories]").inner_text())
    made = remember(server, "The fog horn is tested on Mondays")
    expect(page.get_by_role("region", name="Activity").get_by_text(made["title"])).to_be_visible()
    expect(page.locator("[data-count=memories]")).to_have_text(str(before + 1))
    page.get_by_role("link", name="Memories", exact=True).click()
    expect(rows(page).first).to_contain_text("The fog horn is tested on Mondays")
    remember(server, "The second horn is spare")
    expect(rows(page).first).to_contain_text("The second horn is spare")
    server.post("/forget", memoryId=made["id"])
    expect(rows(page).filter(has_text="fog horn")).to_have_count(0)


def test_nothing_is_lost_when_the_connection_breaks(watch: Watch, server: Server, wire: Wire) -> None:
    page = watch.page
    sockets = heard_on(watch)
    open_panel(page, wire.url, "memories")
    remember(server, "The tide bell rings twice a day")
    expect(rows(page).first).to_contain_text("tide bell")
    watch.expected += BROKEN
    wire.cut()
    expect(page.locator(".live.waiting")).to_be_visible()
    texts = [
        "A blue barge lies at pier nine",
        "Ropes are dried on Fridays",
        "Nobody swims past the red buoy",
        "Coal comes by rail",
    ]
    for text in texts:
        remember(server, text)
    wire.mend()
    expect(page.locator(".live.on")).to_be_visible()
    for text in texts:
        expect(rows(page).filter(has_text=text)).to_have_count(1)
    later = [frames for frames in sockets[1:] if frames]
    assert memories(later[-1])[: len(texts)] == texts
    assert later[-1][len(texts)]["type"] == "hello"
    assert "tide bell" not in json.dumps(later)


def test_a_new_server_is_a_gap_and_the_page_loads_anew(watch: Watch, tmp_path: Path) -> None:
    page = watch.page
    with serving(tmp_path / "memory") as first, Wire(first.url) as wire:
        remember(first, "The oldest chart hangs in the hall")
        open_panel(page, wire.url, "memories")
        expect(rows(page)).to_have_count(1)
        watch.expected += [*BROKEN, "Failed to load resource"]
        wire.cut()
        first.kill()
        with serving(tmp_path / "memory") as second:
            remember(second, "The newest chart lies on the table")
            wire.to(second.url)
            wire.mend()
            expect(rows(page)).to_have_count(2)
            expect(page.locator(".live.on")).to_be_visible()


def test_a_server_that_is_away_at_the_start_is_tried_again(watch: Watch, server: Server, wire: Wire) -> None:
    page = watch.page
    open_panel(page, wire.url)
    watch.expected += [*BROKEN, "Failed to load resource"]
    page.route("**/livez", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert").first).to_contain_text("The server does not respond")
    page.unroute("**/livez")
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()
