"""Snapshots that are not opened just so: unsigned where there is a key, encrypted, damaged. The page says why, and what
a person can say so that they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyrage
import pytest
from filling import Filling
from playwright.sync_api import Locator, Page, expect
from processes import Server
from viewing import Watch, open_panel

ONE_TAB = True

Watched = Callable[..., tuple[Page, Watch]]
REFUSED = ["status of 403", "status of 409", "status of 422"]


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "identity.txt"
    path.touch(0o600)
    path.write_text(str(pyrage.x25519.Identity.generate()))
    return path


@pytest.fixture(scope="module")
def ids(server: Server, identity: Path) -> Iterator[dict[str, str]]:
    """Snapshots by their label: one from before there was a key, an encrypted one, and one with a changed byte."""
    memory = Filling(server.url)
    recipient = str(pyrage.x25519.Identity.from_str(identity.read_text()).to_public())
    memory.post("/remember", content="The oldest buoy is red.")
    memory.post("/snapshots", label="before the key")
    memory.post("/remember", content="The newest buoy is green.")
    memory.post("/snapshots", label="sealed", sign=True, encrypt=[recipient])
    memory.post("/remember", content="A third buoy was ordered.")
    made = memory.post("/snapshots", label="bitten")
    body = Path(made["path"])
    whole = bytearray(body.read_bytes())
    whole[len(whole) // 2] ^= 255
    body.write_bytes(whole)
    memory.post("/snapshots/verify", id=made["id"])
    yield {one["label"]: one["id"] for one in memory.get("/snapshots")["snapshots"]}
    memory.close()


def about(page: Page, server: Server, id: str) -> Locator:
    open_panel(page, server.url, "snapshots", f"?id={id}")
    return page.get_by_role("article")


def test_one_from_before_there_was_a_key_is_restored_after_a_question(
    watch: Watch, server: Server, ids: dict[str, str], identity: Path
) -> None:
    page = watch.page
    watch.expected += REFUSED
    about(page, server, ids["before the key"]).get_by_role("button", name="Restore").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("not signed")
    expect(dialog).not_to_contain_text("token")
    expect(dialog.get_by_role("button", name="Continue")).to_have_count(0)

    dialog.get_by_role("button", name="Use it anyway").click()
    # The newest good snapshot is encrypted: so should be what is replaced, and nobody said for whom.
    expect(dialog.get_by_role("alert").first).to_contain_text("should be encrypted too")
    dialog.get_by_label("File on the server").fill(str(identity))
    dialog.get_by_role("button", name="Open it").click()
    expect(dialog.get_by_role("region", name="Memories").locator("td.removed").first).to_contain_text("buoy")
    dialog.get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("RESTORE")
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored. Undo reverts it.")).to_be_visible()
    known = {one["content"] for one in server.get("/memories").json()["memories"]}
    assert known == {"The oldest buoy is red."}

    page.get_by_role("button", name="Undo the last restore").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("UNDO")
    page.get_by_role("dialog").get_by_role("button", name="Undo the last restore").click()
    page.get_by_role("button", name="Do not encrypt").click()
    expect(page.get_by_text("The restore is undone.")).to_be_visible()
    assert len(server.get("/memories").json()["memories"]) == 3


def test_an_encrypted_one_asks_for_the_file_that_opens_it(
    watch: Watch, server: Server, ids: dict[str, str], identity: Path
) -> None:
    page = watch.page
    watch.expected += REFUSED
    article = about(page, server, ids["sealed"])
    article.get_by_role("button", name="Restore").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("This snapshot is encrypted")
    dialog.get_by_label("File on the server").fill(str(identity))
    dialog.get_by_role("button", name="Open it").click()
    expect(dialog.get_by_role("region", name="Memories").locator("td.removed")).to_contain_text("third buoy")
    page.keyboard.press("Escape")

    article.get_by_role("button", name="Search inside").click()
    dialog.get_by_label("What was known then?").fill("newest buoy")
    dialog.get_by_role("button", name="Search").click()
    dialog.get_by_label("File on the server").fill(str(identity))
    dialog.get_by_role("button", name="Open it").click()
    expect(dialog).to_contain_text("The newest buoy is green.")
    dialog.get_by_label("What was known then?").fill("oldest buoy")  # it is not asked for twice
    dialog.get_by_role("button", name="Search").click()
    expect(dialog.locator(".found li").first).to_contain_text("The oldest buoy is red.")
    page.keyboard.press("Escape")

    article.get_by_role("button", name="Compare").click()
    dialog.get_by_role("button", name="Compare").click()
    dialog.get_by_label("File on the server").fill(str(identity))
    dialog.get_by_role("button", name="Open it").click()
    expect(dialog.get_by_role("region", name="Memories").locator("td.added")).to_contain_text("third buoy")


def test_a_damaged_one_cannot_be_restored_and_the_dashboard_does_not_call_that_well(
    page: Page, server: Server, ids: dict[str, str]
) -> None:
    article = about(page, server, ids["bitten"])
    expect(article.get_by_role("button", name="Restore")).to_be_disabled()
    expect(article.get_by_role("button", name="Verify")).to_be_enabled()

    open_panel(page, server.url)
    expect(page.get_by_text("Problems found")).to_be_visible()
    expect(page.get_by_text("Healthy")).to_have_count(0)
    page.get_by_role("list", name="What to do").first.get_by_role("link", name="Snapshots").click()
    expect(page.get_by_role("heading", level=1, name="Snapshots")).to_be_visible()


def test_a_difference_is_told_in_words_and_not_in_those_of_the_store(
    page: Page, watched: Watched, server: Server, ids: dict[str, str]
) -> None:
    for one, title, added in ((page, "Memories", "2 added"), (watched(locale="zh-CN")[0], "记忆", "新增 2")):
        open_panel(one, server.url, "snapshots", f"?id={ids['before the key']}")
        one.get_by_role("article").get_by_role("button", name="Compare" if title == "Memories" else "比较").click()
        dialog = one.get_by_role("dialog")
        dialog.locator("button.main").click()
        expect(dialog.get_by_role("heading", name=title)).to_contain_text(added)
        expect(dialog.get_by_role("heading", name=title)).not_to_contain_text("0")
        expect(dialog.get_by_text("lastSeq")).to_be_hidden()
