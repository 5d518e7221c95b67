"""Search as callers have it: by words and by meaning, within bounds, telling why; the real model where meaning counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hashing_embedder import HashingEmbedder
from patience import until
from world import World, running

from holdfast.cli.output.render import print_answer
from holdfast.connection import LocalConnection
from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.model import Caller, CleanText
from holdfast.core.ports import Vectors
from holdfast.core.system import SystemClock
from holdfast.index import MINILM, LocalEmbedder, WeightFolders
from holdfast.ops.registry import BY_NAME
from holdfast.recall.candidates import DEPTH, QueryEmbedding, _nearest
from holdfast.recall.time.dates import day_of
from holdfast.store.port import Condition
from holdfast.store.tables import MEMORIES

DAY = 86_400_000
DEPLOY = "Deploys go through the blue/green switch on the load balancer"
COOKIE = "The login timed out because the proxy dropped the session cookie"
CAT = "Grandmother's cat sleeps on the warm radiator all winter"


@pytest.fixture(scope="session")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(MINILM, "", Path("/nowhere/at/all")), SystemClock())


@pytest.fixture
def world(tmp_path: Path, minilm: LocalEmbedder) -> Iterator[World]:
    made = World(tmp_path / "memory", model=minilm)
    yield made
    made.close()


def keep(world: World, content: str, caller: Caller | None = None, **more: Any) -> str:
    return str(world.call("remember", caller, content=content, **more)["memory"]["id"])


def test_a_memory_is_found_by_meaning_without_a_shared_word(world: World) -> None:
    ids = [keep(world, text) for text in (DEPLOY, COOKIE, CAT)]
    assert world.found("releasing a new version to production") == []
    world.follow()
    assert world.found("releasing a new version to production")[0] == ids[0]
    assert world.found("users were signed out unexpectedly")[0] == ids[1]
    assert world.found("where does the pet rest")[0] == ids[2]


PUMP = "冷却塔的循环泵每三个月检修一次"
LEASE = "办公室租约到明年六月为止"
CHOIR = "合唱团周四晚上在教堂排练"


def test_what_the_model_cannot_read_is_found_by_its_words_alone(world: World) -> None:
    """To the model every text in such a script is like every other."""
    ids = [keep(world, text) for text in (PUMP, LEASE, CHOIR)]
    world.follow()
    assert world.found("办公室租约") == [ids[1]]
    assert world.found("泵") == [ids[0]]
    assert world.found("数据库备份") == []
    assert world.found("🦜") == []


def test_days_that_a_question_names_are_looked_into_however_much_there_is_of_other_days(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", model=HashingEmbedder())
    meant, day = keep(world, "the deploy went to the harbour host"), day_of(world.clock.now)
    world.clock.now += 60 * DAY
    for number in range(DEPTH + 20):  # each shares more with the question than the one that is meant
        world.clock.now += DAY
        keep(world, f"the deploy failed again on host h{number}x")
    world.follow()

    assert meant not in world.found("deploy failed on host", limit=100)
    assert meant in world.found(f"deploy failed on host, {day}", limit=100)
    assert meant not in world.found(f"deploy failed on host, {day}", after=world.clock.now - DAY, limit=100)
    world.close()


@pytest.mark.parametrize("asked", ["{}", "on {}", "What happened on {}?", "show me everything from {}"])
def test_a_day_alone_finds_what_is_of_that_day_before_what_has_its_numbers(world: World, asked: str) -> None:
    day = day_of(world.clock.now - 90 * DAY)
    meant = world.call("remember", content="The checkout moved to another provider", createdAt=f"{day}T10:00:00Z")
    keep(world, f"CVE-{day.year}-{day.day}{day.month} was fixed in {day.year}")
    keep(world, f"The invoice of {day.strftime('%B')} {day.year} is number {day.day}")
    assert world.found(asked.format(day))[0] == meant["memory"]["id"]
    assert world.found(f"CVE fixed {day}")[0] != meant["memory"]["id"]
    world.follow()
    assert world.found(asked.format(day))[0] == meant["memory"]["id"]


def test_a_day_alone_is_a_question(world: World) -> None:
    world.clock.now -= 3 * DAY
    keep(world, DEPLOY)
    world.clock.now += 2 * DAY
    ids = {keep(world, text) for text in (COOKIE, CAT, PUMP)}
    world.clock.now += DAY
    keep(world, LEASE)
    world.follow()
    assert {*world.found("what happened yesterday?")[:3]} == ids


def test_words_find_a_memory_before_its_vector_is_made(world: World) -> None:
    first = keep(world, DEPLOY)
    world.follow()
    second = keep(world, COOKIE)
    assert world.found("session cookie")[0] == second
    assert world.found("blue green switch")[0] == first


def test_what_has_nothing_to_do_with_the_question_is_left_out(world: World) -> None:
    keep(world, CAT)
    world.follow()
    assert world.found("kubernetes ingress certificate renewal") == []


def test_a_forgotten_memory_is_found_neither_by_words_nor_by_meaning(world: World) -> None:
    id = keep(world, DEPLOY)
    world.follow()
    world.call("forget", memoryId=id)
    assert world.found("blue green switch") == []
    assert world.found("releasing a new version to production") == []


def test_a_superseded_version_is_found_only_as_of_its_time(world: World) -> None:
    text = "The staging database of the shop lives on the old machine named basalt in the cellar"
    first = keep(world, text)
    then = world.clock.now
    world.clock.now += DAY
    changed = world.call("evolve", memoryId=first, newContent=text.replace("basalt", "gneiss"))
    second = changed["memory"]["id"]
    world.follow()
    assert world.found("where is the staging database") == [second]
    assert world.found("where is the staging database", asOf=then) == [first]


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ({"project": "shop"}, {0, 1}),
        ({"project": "home"}, {2}),
        ({"sessionId": "s1"}, {0}),
        ({"type": "decision"}, {1}),
        ({"concepts": ["ops"]}, {0}),
        ({"files": ["src/proxy.py"]}, {1}),
        ({"after": "2026-03-01"}, {2}),
        ({"before": "2026-02-01"}, {0}),
        ({"after": "2026-01-15", "before": "2026-02-20"}, {1}),
        ({"kind": "observation"}, set()),
        ({"project": "nowhere"}, set()),
    ],
)
def test_bounds_hold_for_words_and_for_meaning(world: World, bounds: dict[str, Any], wanted: set[int]) -> None:
    ids = [
        keep(world, DEPLOY, project="shop", sessionId="s1", concepts=["ops"], createdAt="2026-01-10"),
        keep(world, COOKIE, project="shop", type="decision", files=["src/proxy.py"], createdAt="2026-02-10"),
        keep(world, CAT, project="home", createdAt="2026-03-10"),
    ]
    world.follow()
    question = "deploy switch login cookie cat radiator"  # words of all three
    assert set(world.found(question, **bounds)) == {ids[at] for at in wanted}


def test_isolated_agents_see_nothing_of_each_other_by_meaning_or_beside_their_own(
    tmp_path: Path, minilm: LocalEmbedder
) -> None:
    world = World(tmp_path / "isolated", model=minilm, agent_scope="isolated")
    one, other = Caller(agent="one"), Caller(agent="other")
    mine = keep(world, DEPLOY, one, sessionId="s1")
    keep(world, "Production releases are frozen in December", other, sessionId="s1")
    keep(world, "Releasing a new version to production takes an hour", other)
    world.follow()
    assert world.found("releasing a new version to production", one) == [mine]
    world.close()


def test_a_short_turn_is_found_by_what_stands_before_it(world: World) -> None:
    turns = ["Ann: Where did you park the camper van?", "Ben: Behind the old mill.", "Ann: Thanks!", "Ben: Bye."]
    ids = [keep(world, text, sessionId="s1", createdAt=1_790_000_000_000 + at) for at, text in enumerate(turns)]
    for number in range(30):
        keep(world, f"Ann: Note number {number} about the {number} houses of the village", sessionId="s2")
    world.follow()
    assert ids[1] in world.found("Where is the camper van parked?", limit=3)


def test_a_change_of_the_embedder_keeps_words_right_and_meaning_follows(tmp_path: Path) -> None:
    first, second = HashingEmbedder("one"), HashingEmbedder("two")
    world = World(tmp_path / "memory", model=first)
    id = keep(world, DEPLOY)
    world.follow()
    world.close()
    world = World(tmp_path / "memory", model=second)
    assert world.found("blue green switch") == [id]
    assert world.call("search", query="blue green switch")["results"][0]["vectorScore"] == 0.0
    world.follow()
    assert world.call("search", query="blue green switch")["results"][0]["vectorScore"] > 0.0
    health = world.call("health")["index"]
    assert (health["pending"], health["model"], health["done"], health["total"]) == (0, "two", 1, 1)
    world.close()


class Broken(HashingEmbedder):
    def embed_query(self, text: Any) -> Any:
        raise EmbedderUnavailable("embedder: the weights are not those that are pinned")


def test_a_broken_model_leaves_the_words(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", model=Broken())
    id = keep(world, DEPLOY)
    world.follow()
    assert world.found("blue green switch") == [id]
    assert world.found("something else") == []
    world.close()


@pytest.mark.parametrize(
    "question",
    [
        "the",
        "what is it",
        "🙂",
        "🙂🙃",
        '"',
        "title:x AND (",
        "'; DROP TABLE memories; --",
        "\u200b",
        "x" * 100_000,
        "日" * 5_000,
    ],
    ids=ascii,
)
def test_no_question_makes_a_search_fail(world: World, question: str) -> None:
    keep(world, "what is the use of it")
    world.follow()
    answer = world.call("search", query=question[:90_000], explain=True)
    assert all(hit["why"] for hit in answer["results"])


def test_a_hit_says_why_it_is_there(world: World) -> None:
    id = keep(world, DEPLOY, concepts=["release"], title="How we ship")
    keep(world, CAT)
    world.follow()
    (hit, *_) = world.call("search", query="switch releases", explain=True)["results"]
    why = hit["why"]
    assert hit["id"] == id
    assert why["fields"] == {"concepts": ["releas"], "content": ["switch"]}
    assert 0 < why["likeness"] <= 1
    beside = ("score", "neighbours", "likeness", "covered", "confidence", "fields")
    added = [value for name, value in why.items() if name not in beside]
    assert why["score"] == pytest.approx(sum(added), abs=0.001)
    assert "why" not in world.call("search", query="switch")["results"][0]


def test_no_session_takes_all_places_when_that_is_asked_for(world: World) -> None:
    for number in range(6):
        keep(world, f"The deploy number {number} to machine {number * 7} went well", sessionId="s1")
    other = keep(world, "One deploy failed on a full disk in the other cellar", sessionId="s2")
    assert other not in world.found("deploy machine went well", limit=3)
    assert other in world.found("deploy machine went well", limit=3, perSession=2)


def test_the_server_makes_vectors_by_itself_and_explains_over_rest(tmp_path: Path) -> None:
    with running(tmp_path / "memory", embedder="minilm") as client:
        client.post("/agentmemory/remember", json={"content": DEPLOY})
        client.post("/agentmemory/remember", json={"content": CAT})

        def index() -> Any:
            return client.get("/agentmemory/health").json()["index"]

        until(lambda: index().get("done") == 2, "both have their vectors")
        assert index()["pending"] == 0
        asked = {"query": "releasing a new version to production", "explain": True, "limit": 1}
        (hit,) = client.post("/agentmemory/search", json=asked).json()["results"]
        assert hit["content"] == DEPLOY
        assert hit["why"]["meaning"] > 0
        assert hit["why"]["words"] == 0


@pytest.mark.parametrize("size", [1_000, 12_000, 30_000])
def test_a_rare_word_at_the_end_of_a_long_record_is_found_first(world: World, size: int) -> None:
    filler = "The nightly job wrote one more line about nothing in particular. "
    long = keep(world, filler * (size // len(filler)) + "Then came the quorumcollapse.", project="logs")
    for number in range(40):
        keep(world, f"Short note number {number} about the incident in house {number * 3}")
    world.follow()
    assert world.found("quorumcollapse")[0] == long
    assert world.found("what happened with the quorumcollapse")[0] == long


def test_a_picture_is_found_by_itself(world: World) -> None:
    id = keep(world, "The release party 🎉 is on friday")
    keep(world, "東京タワーに行きました")
    keep(world, "The harbour 🚀 of rockets")
    world.follow()
    assert world.found("🎉")[0] == id


def test_what_enriches_a_tool_call_has_to_do_with_it(world: World) -> None:
    keep(world, "Kafka consumers commit their offsets after the write")
    keep(world, CAT)
    world.follow()
    text = world.call("enrich", terms=["kafka"])["context"]
    assert "offsets" in text
    assert "cat" not in text


@pytest.mark.embedded
def test_a_large_import_without_a_server_is_folded_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.engine.LARGE_IMPORT", 20)
    world = World(tmp_path / "memory")
    world.engine.store._compactor.rows = 10  # type: ignore[attr-defined]
    for number in range(20):
        keep(world, f"bridges a{number} b{number}")
    world.close()
    world = World(tmp_path / "memory")
    assert world.engine.store._writer.execute("SELECT count(*) FROM word_segments").get > 0  # type: ignore[attr-defined]
    assert len(world.found("bridges", limit=50)) == 20
    world.close()
    world.close()  # once more does no harm


def test_without_a_server_a_search_makes_the_vectors_that_wait(tmp_path: Path, minilm: LocalEmbedder) -> None:
    world = World(tmp_path / "memory", model=minilm)
    id = keep(world, DEPLOY)
    connection = LocalConnection(world.engine, Caller())
    answer = connection.call(BY_NAME["search"], {"query": "releasing a new version to production"})
    assert [hit["id"] for hit in answer["results"]] == [id]
    world.close()


def test_without_a_server_a_missing_model_leaves_the_words(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", model=Broken())
    id = keep(world, DEPLOY)
    answer = LocalConnection(world.engine, Caller()).call(BY_NAME["search"], {"query": "blue green switch"})
    assert [hit["id"] for hit in answer["results"]] == [id]
    world.close()


def test_the_terminal_says_why_each_hit_is_there(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    id = keep(world, DEPLOY)
    world.follow()
    print_answer(world.call("search", query="blue switch", explain=True))
    said = " ".join(capsys.readouterr().out.split())
    assert f"{id} words" in said
    assert "content: blue switch" in said


@pytest.mark.parametrize("narrow", [0, 20_000])
def test_a_filter_costs_no_answer_by_meaning_however_many_meet_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: int
) -> None:
    """Fifteen far ones in the project asked for, behind ninety near ones of another."""
    monkeypatch.setattr("holdfast.recall.candidates.NARROW", narrow)
    monkeypatch.setattr("holdfast.recall.candidates.DEPTH", 10)
    monkeypatch.setattr("holdfast.store.sqlite.vectors.nearest.RESCORED", 12)
    monkeypatch.setattr("holdfast.store.sqlite.vectors.nearest.MOST_LOOKED", 20)
    world = World(tmp_path / "memory", model=HashingEmbedder())
    for number in range(90):
        keep(world, f"lantern a{number} b{number}", project="other")
    few = [keep(world, f"lantern and {number} unlike things of kind c{number}", project="few") for number in range(15)]
    world.follow()
    reader, embedder = world.engine.store.read(), world.engine.embedder
    assert embedder is not None
    meaning = QueryEmbedding(embedder.name, embedder.embed_query(CleanText("lantern")))
    conditions = (Condition("project", "=", "few"),)
    words = reader.words(MEMORIES, Caller().tenant, ("lantern",), conditions, 10)
    assert words.inside == len(few)
    found = _nearest(reader, MEMORIES, Caller().tenant, meaning, conditions, 10, words)
    inside = {one.seq for one in reader.find(MEMORIES, Caller().tenant, *conditions)}
    assert len(found) == min(10, len(inside))
    assert set(found) <= inside
    world.close()


class Scaled(HashingEmbedder):
    """Vectors whose product with a question's is three times their cosine, less a half; as gte-small's are."""

    @property
    def dims(self) -> int:
        return super().dims + 2

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        self.given.extend(texts)
        rows = 0.8 * np.stack([super(Scaled, self).embed_query(text) for text in texts])
        return np.concatenate([rows, np.full((len(rows), 2), np.sqrt(0.18), np.float32)], axis=1)

    def embed_query(self, text: CleanText) -> Vectors:
        more = np.array([-0.5 / np.sqrt(0.18), 0], np.float32)
        return np.concatenate([3 / 0.8 * super().embed_query(text), more])


@pytest.mark.engines
def test_a_likeness_is_on_the_scale_of_the_embedder(tmp_path: Path) -> None:
    model = Scaled()
    world = World(tmp_path / "memory", model=model)
    keep(world, "the harbour opens at six")
    world.follow()
    (found,) = world.call("search", query="the harbour opens", explain=True)["results"]
    world.close()
    asked, kept = (
        HashingEmbedder.embed_query(model, text) for text in (CleanText("the harbour opens"), model.given[0])
    )
    assert found["why"]["likeness"] == pytest.approx(3 * float(asked @ kept) - 0.5, abs=2e-3)
