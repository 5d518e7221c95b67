"""/metrics: the text format to the letter, labels of our own words only, and numbers for those whom they concern."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st
from rows import each
from world import World, running

from holdfast.core.metrics import BY_NAME, METRICS, MOST_SERIES, OTHER, Metric, Metrics, gauge
from holdfast.core.version import VERSION
from holdfast.ops.registry import BY_NAME as OPERATIONS

A = "/agentmemory"
DOCS = Path(__file__).parents[2] / "docs"
SECRET = "a-long-enough-secret"
ROOT = {"Authorization": f"Bearer {SECRET}"}

# A strict reader of the format 0.0.4

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_PARTS = {"histogram": ("_bucket", "_sum", "_count")}
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass
class Family:
    kind: str
    help: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = field(default_factory=dict)


def parse(text: str) -> dict[str, Family]:
    """What the text says; an AssertionError where a strict reader would stop."""
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    name = help = ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, help = line[len("# HELP ") :].partition(" ")
            assert re.fullmatch(_NAME, name)
            assert name not in families, "a family stands in one place"
        elif line.startswith("# TYPE "):
            named, kind = line[len("# TYPE ") :].split(" ")
            assert named == name
            assert kind in ("counter", "gauge", "histogram")
            families[name] = Family(kind, help)
        else:
            _add_sample(families[name], name, line)
    for name, family in families.items():
        assert family.samples, f"{name} says nothing"
        if family.kind == "histogram":
            _check_histogram(name, family)
    return families


def _add_sample(family: Family, name: str, line: str) -> None:
    found = _SAMPLE.fullmatch(line)
    assert found, line
    assert found[1] in [name + part for part in _PARTS.get(family.kind, ("",))]
    labels = _labels(found[2] or "")
    key = (found[1], frozenset(labels.items()))
    assert key not in family.samples, "a series stands there once"
    family.samples[key] = float(found[3])
    assert family.kind == "gauge" or family.samples[key] >= 0


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    while text:
        found = _LABEL.match(text)
        assert found, text
        assert found[1] not in labels
        labels[found[1]] = re.sub(r"\\.", lambda one: _ESCAPES[one[0]], found[2])
        text = text[found.end() :]
        assert not text or (text[0] == "," and len(text) > 1)
        text = text[1:]
    return labels


def _check_histogram(name: str, family: Family) -> None:
    series = {frozenset(one for one in labels if one[0] != "le") for _, labels in family.samples}
    for labels in series:
        buckets = {
            float(dict(known)["le"]): value
            for (part, known), value in family.samples.items()
            if part == f"{name}_bucket" and frozenset(one for one in known if one[0] != "le") == labels
        }
        counts = [buckets[bound] for bound in sorted(buckets)]
        assert counts == sorted(counts)
        assert max(buckets) == float("inf")
        assert counts[-1] == family.samples[(f"{name}_count", labels)]
        assert (f"{name}_sum", labels) in family.samples


def value(families: dict[str, Family], name: str, **labels: str) -> float | None:
    family = families.get(name)
    return None if family is None else family.samples.get((name, frozenset(labels.items())))


def text_of(metrics: Metrics) -> str:
    return "\n".join(metrics.lines()) + "\n"


# Counting


def test_counts_add_up_by_labels() -> None:
    metrics = Metrics()
    metrics.count("holdfast_snapshot_total", operation="create", outcome="ok")
    metrics.count("holdfast_snapshot_total", 2, operation="create", outcome="ok")
    metrics.count("holdfast_snapshot_total", operation="restore", outcome="damaged")
    metrics.count("holdfast_snapshot_bytes_total", 12_345_678_901, operation="create")

    found = parse(text_of(metrics))
    assert value(found, "holdfast_snapshot_total", operation="create", outcome="ok") == 3
    assert value(found, "holdfast_snapshot_total", operation="restore", outcome="damaged") == 1
    assert value(found, "holdfast_snapshot_bytes_total", operation="create") == 12_345_678_901


def test_durations_fall_into_every_bucket_that_is_not_below_them() -> None:
    metrics = Metrics()
    name = "holdfast_snapshot_duration_seconds"
    for seconds in (0.01, 0.05, 0.2, 1_000):
        metrics.observe(name, seconds, operation="create")
    metrics.observe(name, 2, operation="verify")

    samples = parse(text_of(metrics))[name].samples
    create = ("operation", "create")
    below = {
        bound: samples[(f"{name}_bucket", frozenset({create, ("le", bound)}))]
        for bound in ("0.05", "0.25", "300", "+Inf")
    }
    assert below == {"0.05": 2, "0.25": 3, "300": 3, "+Inf": 4}
    assert samples[(f"{name}_sum", frozenset({create}))] == pytest.approx(1000.26)


def test_threads_lose_no_count() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(2_000):
            metrics.count("holdfast_events_sent_total")
            metrics.observe("holdfast_snapshot_duration_seconds", 0.3, operation="create")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = parse(text_of(metrics))
    assert value(found, "holdfast_events_sent_total") == 16_000
    counted = found["holdfast_snapshot_duration_seconds"].samples
    assert counted[("holdfast_snapshot_duration_seconds_count", frozenset({("operation", "create")}))] == 16_000


def test_a_counter_without_labels_is_there_before_it_counts() -> None:
    assert value(parse(text_of(Metrics())), "holdfast_events_sent_total") == 0


@each(
    "name, labels",
    [
        ("holdfast_no_such_total", {}),
        ("holdfast_snapshot_total", {"operation": "create"}),
        ("holdfast_snapshot_total", {"operation": "create", "tenant": "acme"}),
        ("holdfast_snapshot_total", {"operation": "create", "outcome": "ok", "tenant": "acme"}),
        ("holdfast_records", {"table": "memories"}),
    ],
)
def test_what_was_not_declared_is_not_counted(name: str, labels: dict[str, str]) -> None:
    metrics = Metrics()
    with pytest.raises(KeyError):
        metrics.count(name, **labels)

    assert set(parse(text_of(metrics))) == {"holdfast_events_sent_total"}


def test_a_counter_never_falls() -> None:
    with pytest.raises(ValueError, match="never falls"):
        Metrics().count("holdfast_events_sent_total", -1)


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=20))
def test_whatever_is_counted_the_text_can_be_read(given: list[tuple[str, str]]) -> None:
    metrics = Metrics()
    for operation, outcome in given:
        metrics.count("holdfast_snapshot_total", operation=operation, outcome=outcome)
        metrics.observe("holdfast_snapshot_duration_seconds", 0.1, operation=operation)

    found = parse(text_of(metrics))
    if given:
        assert sum(found["holdfast_snapshot_total"].samples.values()) == len(given)


def test_text_of_a_user_never_becomes_a_label() -> None:
    metrics = Metrics()
    metrics.count("holdfast_snapshot_total", operation='my dog"s name', outcome="ok")

    assert value(parse(text_of(metrics)), "holdfast_snapshot_total", operation=OTHER, outcome="ok") == 1


def test_the_number_of_series_has_an_end() -> None:
    metrics = Metrics()
    for number in range(MOST_SERIES + 500):
        metrics.count("holdfast_snapshot_total", operation=f"op{number}", outcome="ok")

    found = parse(text_of(metrics))["holdfast_snapshot_total"].samples
    assert len(found) == MOST_SERIES + 1
    assert sum(found.values()) == MOST_SERIES + 500


@given(st.text(max_size=40))
def test_labels_are_escaped(text: str) -> None:
    lines = "\n".join(gauge("holdfast_build_info", {(text,): 1})) + "\n"

    ((_, labels),) = parse(lines)["holdfast_build_info"].samples
    assert labels == frozenset({("version", text)})


# Being read


def metrics_of(client: httpx.Client, **headers: str) -> dict[str, Family]:
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(answer.text)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(tmp_path / "m") as client:
        yield client


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(tmp_path / "m", secret=SECRET) as client:
        yield client


def token(client: httpx.Client, **ask: Any) -> dict[str, str]:
    made = client.post(A + "/tokens", json=ask, headers=ROOT)
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['token']}"}


def test_the_owner_reads_the_whole_server(server: httpx.Client) -> None:
    server.post(A + "/remember", json={"content": "counted in the gauge"})

    found = metrics_of(server)
    assert value(found, "holdfast_build_info", version=VERSION) == 1
    assert value(found, "holdfast_records", table="memories") == 1
    assert value(found, "holdfast_records", table="slots") is not None
    assert value(found, "holdfast_events_pending") == 0
    assert (value(found, "process_resident_memory_bytes") or 0) > 10_000_000
    assert (value(found, "process_start_time_seconds") or 0) > 1_700_000_000
    assert value(found, "holdfast_broker_connected") is None
    assert set(found) <= set(BY_NAME)


def test_requests_are_counted_by_operation_and_class_of_status(server: httpx.Client) -> None:
    for _ in range(3):
        server.post(A + "/remember", json={"content": "the same each time"})
    server.post(A + "/remember", json={"content": 5})
    server.get(A + "/memories/mem_nobody")
    server.get(A + "/no/such/path/with-a-name-in-it")
    server.post(A + "/mcp/call", json={"name": "memory_slot_list", "arguments": {}})

    found = metrics_of(server)
    name = "holdfast_requests_total"
    assert value(found, name, operation="remember", status="2xx") == 3
    assert value(found, name, operation="remember", status="4xx") == 1
    assert value(found, name, operation="memory", status="4xx") == 1
    assert value(found, name, operation="slots", status="2xx") == 1
    operations = {dict(labels)["operation"] for _, labels in found[name].samples}
    assert operations <= set(OPERATIONS)


def test_without_the_credential_nothing_is_read(guarded: httpx.Client) -> None:
    assert guarded.get("/metrics").status_code == 401
    assert guarded.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert guarded.post("/metrics", headers=ROOT).status_code == 405
    assert "holdfast_requests_total" not in metrics_of(guarded, **token(guarded))
    assert "holdfast_records" in metrics_of(guarded, **ROOT)


def test_a_tenant_reads_only_its_own_numbers(guarded: httpx.Client) -> None:
    other = token(guarded, tenant="other", scopes=["admin"])
    for text in ("the first fact of the house", "quite another thing was said"):
        guarded.post(A + "/remember", json={"content": text}, headers=ROOT)
    guarded.post(A + "/remember", json={"content": "mine alone"}, headers=other)

    found = metrics_of(guarded, **other)
    assert set(found) == {"holdfast_build_info", "holdfast_records"}
    assert value(found, "holdfast_records", table="memories") == 1
    assert value(metrics_of(guarded, **ROOT), "holdfast_records", table="memories") == 3


def test_an_isolated_agent_reads_only_its_own_numbers(tmp_path: Path) -> None:
    with running(tmp_path / "m", secret=SECRET, agent_scope="isolated") as client:
        kim, sam = (token(client, agentId=name) for name in ("kim", "sam"))
        client.post(A + "/remember", json={"content": "known to kim"}, headers=kim)

        assert value(metrics_of(client, **kim), "holdfast_records", table="memories") == 1
        assert value(metrics_of(client, **sam), "holdfast_records", table="memories") == 0
        assert "holdfast_records" not in metrics_of(client, **token(client))


def test_nothing_a_user_wrote_is_read(server: httpx.Client) -> None:
    server.post(
        A + "/remember", json={"content": "zebra", "project": "zebra", "agentId": "zebra", "sessionId": "zebra"}
    )

    assert "zebra" not in server.get("/metrics").text


def test_flows_count_on_the_engine(world: World) -> None:
    world.context().metrics.count("holdfast_snapshot_total", operation="create", outcome="ok")

    assert value(parse(text_of(world.engine.metrics)), "holdfast_snapshot_total", operation="create", outcome="ok") == 1


# What is declared


@each("metric", METRICS)
def test_a_metric_is_documented_with_its_kind_and_labels(metric: Metric) -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith(f"| `{metric.name}` |"))

    assert f"| {metric.kind} |" in line
    assert set(re.findall(r"`(\w+)`", line.split("|")[3])) == set(metric.labels)


def test_no_other_metric_is_documented() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(BY_NAME)


@each("metric", METRICS)
def test_a_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    assert re.fullmatch(r"(holdfast|process)_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
    assert list(metric.bounds) == sorted(set(metric.bounds))
    assert bool(metric.bounds) == (metric.kind == "histogram")
    assert not {"tenant", "agent", "project", "session", "user"} & set(metric.labels)
