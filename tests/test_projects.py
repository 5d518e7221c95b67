"""Records of a project are found by all names that mean it, and those of another project by none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World

from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Caller
from holdfast.projects import of_project, project_for_write, project_names
from holdfast.store.port import where
from holdfast.store.tables import OBSERVATIONS

pytestmark = pytest.mark.quick

SHOP, OPS = "github.com/borealis/platform", "github.com/ops/platform"


def start(world: World, session: str, project: str, cwd: str, caller: Caller | None = None) -> str:
    answer = world.call("session_start", caller, sessionId=session, project=project, cwd=cwd)
    return str(answer["session"]["project"])


def test_a_key_and_its_bare_name_mean_the_same_while_it_is_alone(world: World) -> None:
    start(world, "s1", SHOP, "/home/a/platform")
    assert project_names(world.context(), SHOP) == (SHOP, "platform")
    assert project_names(world.context(), "platform") == (SHOP, "platform")
    assert project_names(world.context(), "borealis/platform") == (SHOP, "platform", "borealis/platform")
    assert project_names(world.context(), "/home/a/platform") == (SHOP, "platform", "/home/a/platform")


def test_no_project_asks_for_all(world: World) -> None:
    assert project_names(world.context(), None) == ()
    assert of_project(world.context(), None) == ()


def test_a_project_that_is_not_known_is_its_name(world: World) -> None:
    assert project_names(world.context(), "shop") == ("shop",)
    assert project_names(world.context(), SHOP) == (SHOP,)


def test_a_bare_name_of_two_projects_is_refused_and_both_are_named(world: World) -> None:
    start(world, "s1", SHOP, "/home/a/platform")
    start(world, "s2", OPS, "/home/b/platform")
    with pytest.raises(InvalidRequest, match=f"platform matches 2 projects: {SHOP}, {OPS}"):
        project_names(world.context(), "platform")
    with pytest.raises(InvalidRequest):
        world.call("sessions", project="platform")
    assert project_names(world.context(), SHOP) == (SHOP,)
    assert project_names(world.context(), "ops/platform") == (OPS,)
    assert project_for_write(world.context(), "platform") == "platform"


def test_a_bare_name_with_records_of_its_own_stays_readable_when_two_projects_have_it(world: World) -> None:
    world.call("remember", content="kept long before there were keys", project="platform")
    start(world, "s1", SHOP, "/home/a/platform")
    start(world, "s2", OPS, "/home/b/platform")
    assert project_names(world.context(), "platform") == ("platform",)


def test_a_write_under_a_bare_name_goes_to_the_one_project_of_that_name(world: World) -> None:
    start(world, "s1", SHOP, "/home/a/platform")
    assert project_for_write(world.context(), "platform") == SHOP
    assert project_for_write(world.context(), "other") == "other"


def test_a_write_under_a_bare_name_that_has_records_stays_with_them(world: World) -> None:
    world.call("remember", content="an older memory", project="platform")
    start(world, "s1", SHOP, "/home/a/platform")
    assert project_for_write(world.context(), "platform") == "platform"


def test_an_older_client_in_a_known_folder_gets_its_key(world: World) -> None:
    start(world, "s1", SHOP, "/home/a/platform")
    assert start(world, "s2", "platform", "/home/a/platform") == SHOP
    assert start(world, "s3", "platform", "/home/a/platform/src") == SHOP
    assert start(world, "s4", "/home/a/platform", "/home/a/platform") == SHOP
    assert start(world, "s5", "platform", "/home/b/platform") == "platform"
    world.call(
        "observe",
        sessionId="s6",
        hookType="prompt_submit",
        timestamp=world.clock.now,
        data={"prompt": "hi"},
        project="platform",
        cwd="/home/a/platform",
    )
    assert world.context().store.read().count(OBSERVATIONS, "default", *where(project=SHOP)) == 1


def test_a_name_that_the_user_gave_is_kept(world: World) -> None:
    start(world, "s1", SHOP, "/home/a/platform")
    assert start(world, "s2", "my-own-name", "/home/a/platform") == "my-own-name"


def test_the_server_looks_into_a_folder_of_its_own_machine_for_the_local_user_alone(
    world: World, tmp_path: Path
) -> None:
    repo = tmp_path / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git/config").write_text('[remote "origin"]\n\turl = git@github.com:borealis/shop.git\n')
    token = Caller(scopes=frozenset({"read", "write"}), name="a token")
    assert start(world, "s1", "shop", str(repo), token) == "shop"
    assert start(world, "s2", "shop", str(repo)) == "github.com/borealis/shop"
    assert start(world, "s3", "shop", str(repo), token) == "github.com/borealis/shop"


def test_a_server_for_others_reads_no_folders(tmp_path: Path) -> None:
    world = World(tmp_path / "m", host="0.0.0.0", secret="s" * 32)
    repo = tmp_path / "shop"
    repo.mkdir()
    assert start(world, "s1", "shop", str(repo)) == "shop"
    world.close()


def test_a_repository_that_gets_a_remote_keeps_its_memory(world: World) -> None:
    start(world, "s1", "/home/a/shop", "/home/a/shop")
    start(world, "s2", "github.com/borealis/shop", "/home/a/shop")
    names = project_names(world.context(), "github.com/borealis/shop")
    assert names == ("github.com/borealis/shop", "/home/a/shop", "shop")
    assert world.call("sessions", project="shop")["total"] == 2


def test_isolated_agents_do_not_learn_of_each_others_projects(tmp_path: Path) -> None:
    world = World(tmp_path / "m", agent_scope="isolated")
    ada, ben = Caller(agent="ada"), Caller(agent="ben")
    start(world, "s1", SHOP, "/home/a/platform", ada)
    start(world, "s2", OPS, "/home/b/platform", ada)
    assert project_names(world.context(ben), "platform") == ("platform",)
    with pytest.raises(InvalidRequest):
        project_names(world.context(ada), "platform")
    world.close()


def test_a_note_that_an_import_brought_cannot_break_the_names(world: World) -> None:
    notes = [{"id": "project//x", "kind": "project", "content": text} for text in ("no json", "[]", "{}", '{"key": 1}')]
    for number, note in enumerate(notes):
        world.call("import_", exportData={"notes": [{**note, "id": f"project//{number}"}]})
    assert project_names(world.context(), "shop") == ("shop",)


def test_sessions_are_listed_by_every_name_of_their_project(world: World) -> None:
    start(world, "old", "platform", "/somewhere/else")
    start(world, "s1", SHOP, "/home/a/platform")
    for name in (SHOP, "platform", "borealis/platform"):
        assert {one["id"] for one in world.call("sessions", project=name)["sessions"]} == {"old", "s1"}
