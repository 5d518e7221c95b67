"""Words for time where a request takes a time."""

from __future__ import annotations

import pytest
from world import DAY, World

from holdfast.core.errors import InvalidRequest

# Different enough that none replaces another.
KEPT = (
    "the lid rattles when it boils",
    "Kim bought a spare handle in Leeds",
    "green tea needs eighty degrees",
    "descale with vinegar every spring",
    "a crack runs along its spout",
    "insurance covers porcelain only",
    "grandmother brewed coffee with that thing",
)


@pytest.fixture
def year(world: World) -> World:
    """One memory and one observation a month, the newest today."""
    today = world.clock.now
    for months in range(6, -1, -1):
        world.clock.now = today - months * 30 * DAY
        world.call("remember", content=f"teapot fact {months}: {KEPT[months]}", project="proj")
        world.observe(session="s", tool_name="Bash", tool_input={"command": f"teapot {months}"}, tool_output="ok")
    return world


def backs(world: World, operation: str = "search", **bounds: object) -> list[str]:
    found = world.call(operation, query="teapot fact", limit=50, **bounds)["results"]
    return sorted(one["title"][12:13] for one in found if one["kind"] == "memory")


def test_before_and_after_take_words(year: World) -> None:
    assert backs(year, after="45 days ago") == ["0", "1"]
    assert backs(year, before="2 months ago") == ["3", "4", "5", "6"]
    assert backs(year, after="110 days ago", before="last week") == ["1", "2", "3"]
    assert backs(year, "smart_search", after="Yesterday") == ["0"]


def test_as_of_takes_words(year: World) -> None:
    assert backs(year, asOf="last week") == ["1", "2", "3", "4", "5", "6"]
    assert year.call("memories", asOf="100 days ago", count=True)["total"] == 3


def test_exact_times_still_mean_what_they_say(year: World) -> None:
    now = year.clock.now
    assert backs(year, after=now - DAY) == backs(year, after=str(now - DAY)) == ["0"]
    assert backs(year, after="2026-09-21T00:00:00Z") == ["0"]


def test_a_timeline_can_stand_at_words(year: World) -> None:
    around = year.call("timeline", anchor="90 days ago", before=1, after=1)["observations"]
    assert [one["title"][-1] for one in around] == ["4", "3", "2"]
    with pytest.raises(InvalidRequest, match="anchor"):
        year.call("timeline", anchor="whenever it was")


@pytest.mark.parametrize("name", ["before", "after", "asOf"])
@pytest.mark.parametrize("value", ["soon", "", "last", "may be", "x" * 10_000, "\x00", True, 5, 1.5, [], {}])
def test_nonsense_is_refused_by_name_and_never_quoted(world: World, name: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match=name) as caught:
        world.call("search", query="teapot", **{name: value})
    assert "may be" not in str(caught.value)


def test_what_is_not_understood_is_answered_with_what_is(world: World) -> None:
    world.call("search", query="teapot", after="last tuesday")
    with pytest.raises(InvalidRequest) as refused:
        world.call("search", query="teapot", after="when the music died")
    assert "last Friday" in refused.value.hint


def test_words_in_a_question_exclude_nothing(year: World) -> None:
    found = year.call("search", query="teapot fact last week", limit=50)["results"]
    assert len([one for one in found if one["kind"] == "memory"]) == 7


def test_the_moment_a_record_is_made_takes_no_words(world: World) -> None:
    with pytest.raises(InvalidRequest):
        world.call("remember", content="x", createdAt="last week")
