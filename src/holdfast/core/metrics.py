"""What the server counts, in the text format of Prometheus (0.0.4). Labels hold words of our own, never a user's.

Every metric is declared here; docs/metrics.md names them all, and a test holds the two together.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
Series = tuple[str, ...]  # the values of a metric's labels, in their order

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Labels come from closed sets, the largest being operations times classes of statuses; should one ever not, this many
# series are the most that it can make.
MOST_SERIES = 1_000
OTHER = "other"
_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One row: what is measured. A gauge is queried when the metrics are read; the others add up."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()  # upper ends of a histogram's buckets, without the endless one


METRICS: tuple[Metric, ...] = (
    Metric("holdfast_build_info", "gauge", "Always 1; the label is the running version.", ("version",)),
    Metric("holdfast_uptime_seconds", "gauge", "Seconds since the start."),
    Metric("process_start_time_seconds", "gauge", "Start time of the process, in seconds since 1970."),
    Metric("process_resident_memory_bytes", "gauge", "Resident memory of the process."),
    Metric("holdfast_degraded", "gauge", "1 while the memory is damaged or waiting to be restored, else 0."),
    Metric("holdfast_records", "gauge", "Records in the store.", ("table",)),
    Metric("holdfast_vectors_pending", "gauge", "Records without an embedding yet."),
    Metric(
        "holdfast_requests_total",
        "counter",
        "Requests over REST and MCP, by operation and status class.",
        ("operation", "status"),
    ),
    Metric("holdfast_quota_used", "gauge", "Counted of the tenant's memory, while it has a quota.", ("quota",)),
    Metric("holdfast_quota_limit", "gauge", "Quota of each tenant; absent where there is none.", ("quota",)),
    Metric("holdfast_quota_refusals_total", "counter", "Writes refused for a quota.", ("quota",)),
    Metric("holdfast_events_pending", "gauge", "Events waiting for the broker."),
    Metric("holdfast_events_sent_total", "counter", "Events that the broker has confirmed."),
    Metric("holdfast_broker_connected", "gauge", "1 while there is a connection to the broker, else 0."),
    Metric(
        "holdfast_snapshot_total",
        "counter",
        "Snapshot operations by outcome: ok, or the error code.",
        ("operation", "outcome"),
    ),
    Metric(
        "holdfast_snapshot_age_seconds",
        "gauge",
        "Age of the newest intact snapshot; with several tenants, the oldest of these.",
    ),
    Metric("holdfast_follow_behind_seconds", "gauge", "How long ago a copy had all that the vault has."),
    Metric("holdfast_journal_other_lines", "gauge", "Hosts that write the same journal, and are not in this memory."),
    Metric("holdfast_journal_behind_seconds", "gauge", "How long the vault has lacked the oldest write that it lacks."),
    Metric("holdfast_journal_waiting_bytes", "gauge", "Bytes of the journal not yet in the vault."),
    Metric("holdfast_snapshots_waiting", "gauge", "Snapshots not yet copied to the vault."),
    Metric(
        "holdfast_drill_age_seconds",
        "gauge",
        "Time since a restore drill last succeeded; with several tenants, the longest of these.",
    ),
    Metric("holdfast_drill_failed", "gauge", "Tenants whose last restore drill failed."),
    Metric("holdfast_recall_questions", "gauge", "Questions that were asked again when recall was last checked."),
    Metric("holdfast_recall_changed", "gauge", "Of these, those that were answered differently."),
    Metric("holdfast_snapshot_bytes_total", "counter", "Bytes of snapshots written or read.", ("operation",)),
    Metric(
        "holdfast_snapshot_duration_seconds",
        "histogram",
        "Duration of snapshot operations.",
        ("operation",),
        (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300),
    ),
)
BY_NAME = {metric.name: metric for metric in METRICS}


@dataclass(slots=True)
class _HistogramSeries:
    """One series of a histogram: how many fell into each bucket, the last of which has no end."""

    counts: list[int]
    total: float = 0.0


@dataclass(slots=True)
class Metrics:
    """Counters and histograms of one process; any thread may add. Adding takes about two microseconds."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _counts: dict[str, dict[Series, float]] = field(default_factory=dict)
    _spreads: dict[str, dict[Series, _HistogramSeries]] = field(default_factory=dict)

    def count(self, name: str, value: float = 1, **labels: str) -> None:
        """Add to a counter.

        Raises:
            KeyError: there is no such counter, or it has other labels.
            ValueError: a counter never falls.
        """
        if value < 0:
            raise ValueError(f"{name}: a counter never falls")
        series = _series(_metric(name, "counter"), labels)
        with self._lock:
            counts = self._counts.setdefault(name, {})
            series = _bounded(counts, series)
            counts[series] = counts.get(series, 0) + value

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Note one duration.

        Raises:
            KeyError: there is no such histogram, or it has other labels.
        """
        metric = _metric(name, "histogram")
        series = _series(metric, labels)
        with self._lock:
            spreads = self._spreads.setdefault(name, {})
            series = _bounded(spreads, series)
            spread = spreads.setdefault(series, _HistogramSeries([0] * (len(metric.bounds) + 1)))
            spread.counts[bisect_left(metric.bounds, seconds)] += 1
            spread.total += seconds

    def lines(self) -> Iterator[str]:
        """Everything that was counted, in the order of declaration."""
        with self._lock:
            counts = {name: dict(series) for name, series in self._counts.items()}
            spreads = {
                name: {series: (list(one.counts), one.total) for series, one in some.items()}
                for name, some in self._spreads.items()
            }
        for metric in METRICS:
            if metric.kind == "counter" and (metric.name in counts or not metric.labels):
                yield from _head(metric)
                for series, value in sorted(counts.get(metric.name, {(): 0.0}).items()):
                    yield _line(metric.name, zip(metric.labels, series, strict=True), value)
            elif metric.kind == "histogram" and metric.name in spreads:
                yield from _head(metric)
                for series, (buckets, total) in sorted(spreads[metric.name].items()):
                    yield from _histogram(metric, series, buckets, total)


def gauge(name: str, values: Mapping[Series, float]) -> Iterator[str]:
    """The lines of a gauge, by the values of its labels.

    Raises:
        KeyError: there is no such gauge.
    """
    metric = _metric(name, "gauge")
    if values:
        yield from _head(metric)
    for series, value in sorted(values.items()):
        yield _line(name, zip(metric.labels, series, strict=True), value)


def _metric(name: str, kind: Kind) -> Metric:
    metric = BY_NAME[name]
    if metric.kind != kind:
        raise KeyError(f"{name} is a {metric.kind}")
    return metric


def _series(metric: Metric, labels: Mapping[str, str]) -> Series:
    if len(labels) != len(metric.labels):
        raise KeyError(f"{metric.name} has the labels {', '.join(metric.labels) or 'none'}")
    return tuple([labels[label] for label in metric.labels])


def _bounded(known: Mapping[Series, object], series: Series) -> Series:
    """The series, or one labelled "other" where a value is unknown to us, or where there are too many."""
    if series in known or not series:
        return series
    if len(known) >= MOST_SERIES:
        return (OTHER,) * len(series)
    return tuple(value if _VALUE.fullmatch(value) else OTHER for value in series)


def _head(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"


def _histogram(metric: Metric, series: Series, buckets: list[int], total: float) -> Iterator[str]:
    labels = list(zip(metric.labels, series, strict=True))
    below = 0
    for bound, inside in zip((*map(_number, metric.bounds), "+Inf"), buckets, strict=True):
        below += inside
        yield _line(f"{metric.name}_bucket", [*labels, ("le", bound)], below)
    yield _line(f"{metric.name}_sum", labels, total)
    yield _line(f"{metric.name}_count", labels, below)


def _line(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
