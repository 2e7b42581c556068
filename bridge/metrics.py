"""Prometheus metrics.

Each process has one `Metrics`. Labels are bounded: each is a word from the bridge's code, never text from people, Slack
or the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from bridge.errors import ProjectError
from bridge.inbound import KINDS

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
"""The Content-Type of `Metrics.exposition`."""

EVENT_KINDS = KINDS.keys() | {"app_mention", "options", "event", "verification"}
"""The kinds of inputs; all others are counted as ``other``."""

# An ack is due within 3 s and should take milliseconds; a turn takes as long as the agent does.
_ACK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3)
_TURN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900)
MOST_COUNTED = 200
"""How many agents and workflows have labels of their own; the rest is ``other``."""

_RUN_ENDS = frozenset({"completed", "failed", "cancelled", "unknown"})
_CALL_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 900)


class Metrics:
    """One process's metrics, in a separate registry, so that several can exist."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._events = Counter("bridge_events", "Inputs from Slack, by outcome", ["kind", "outcome"], registry=registry)
        self._acks = Histogram(
            "bridge_ack_seconds", "From a request's arrival to its acknowledgment", ["kind"],
            buckets=_ACK_SECONDS, registry=registry,
        )  # fmt: skip
        self.turns = Histogram(
            "bridge_turn_seconds", "From a message's or command's acceptance to its end", ["kind", "outcome"],
            buckets=_TURN_SECONDS, registry=registry,
        )  # fmt: skip
        self.upstream = _ProjectCalls(registry)
        """Measures a call of the project service, and counts its failure by cause."""
        self._projects: dict[str, _ProjectCalls] = {}
        self.slack_calls = Counter(
            "bridge_slack_calls", "Calls to Slack's Web API", ["method", "outcome"], registry=registry
        )
        self.rejected = Counter(
            "bridge_rejected_requests",
            "HTTP requests rejected before parsing, such as for a bad signature",
            ["reason"],
            registry=registry,
        )
        self._of_agents = Histogram(
            "bridge_agent_seconds", "From a message's acceptance to the end of its agent's turn, by the agent's ID",
            ["agent", "outcome", "project"], buckets=_TURN_SECONDS, registry=registry,
        )  # fmt: skip
        self._of_workflows = Histogram(
            "bridge_workflow_seconds", "From a run's request to its end, by the workflow's ID",
            ["workflow", "outcome", "project"], buckets=_TURN_SECONDS, registry=registry,
        )  # fmt: skip
        self._counted: set[tuple[str, str, str]] = set()
        self.feedback = Counter(
            "bridge_feedback", "Votes on answers: up or down; new, changed or the same", ["vote", "how"],
            registry=registry,
        )  # fmt: skip
        self._lately = {
            name: Gauge(f"bridge_{name}", f"{what} in the last 7 days, in all processes", labels, registry=registry)
            for name, what, labels in (
                ("agent_people", "People who wrote to an agent", ["agent", "project"]),
                ("agent_threads", "Threads in which an agent was asked", ["agent", "project"]),
                ("agent_votes", "Votes on an agent's answers", ["agent", "vote", "project"]),
                ("outages", "Outages of a project's service of over a minute", ["project"]),
                ("outage_seconds", "How long a project's service was down", ["project"]),
            )
        }
        queue_depth = Gauge(
            "bridge_queue_depth", "Threads with waiting or running work, in all processes", registry=registry
        )
        self.watch_queue = queue_depth.set_function
        """Sets the function that returns the number of waiting turns, called whenever metrics are read."""
        wait_missing = Counter(
            "bridge_wait_missing", "Writes that no Redis replica confirmed in time", registry=registry
        )
        self.wait_missing = wait_missing.inc
        """Counts a write that no Redis replica confirmed in time."""
        dead_letters = Counter("bridge_dead_letters", "Work that couldn't be finished", registry=registry)
        self.dead_letter = dead_letters.inc
        """Counts work that couldn't be finished."""
        unknown = Counter(
            "bridge_unknown_outcomes", "Questions and runs that may have been done, or not", registry=registry
        )
        self.outcome_unknown = unknown.inc
        """Counts a question or run of which it isn't known whether it was done."""
        self.processes = Gauge(
            "bridge_processes", "Processes by state: running, or missing, because it ended and no other started since",
            ["state"], registry=registry,
        )  # fmt: skip
        self.redis_memory = Gauge(
            "bridge_redis_memory_bytes", "Memory that Redis has used, and its limit, if it has one", ["what"],
            registry=registry,
        )  # fmt: skip
        self.redis_trouble = Gauge(
            "bridge_redis_trouble", "1 if Redis has a problem with its persistence, memory or replicas, else 0",
            ["kind"], registry=registry,
        )  # fmt: skip

        self.found = Counter(
            "bridge_catch_up_messages", "Messages found in Slack's history after an outage, by outcome",
            ["outcome"], registry=registry,
        )  # fmt: skip
        left = Gauge(
            "bridge_catch_up_left", "Threads and channel pages left to read after an outage", registry=registry
        )
        self.catch_up_left = left.set
        """Sets the number of threads and channel pages left to read after an outage."""

    def event(self, kind: str, outcome: str) -> None:
        """Count an input: *outcome* is ``accepted``, ``duplicate``, ``ignored``, ``refused``, …."""
        self._events.labels(kind if kind in EVENT_KINDS else "other", outcome).inc()

    def acked(self, kind: str, seconds: float) -> None:
        """Measure how long Slack waited for an answer."""
        self._acks.labels(kind if kind in EVENT_KINDS else "other").observe(seconds)

    def ended(self, kind: str, id_: str, how: str, project: str, seconds: float) -> None:
        """Measure a turn of an agent, or a run of a workflow (*kind*). Beyond `MOST_COUNTED`, the ID is ``other``."""
        one = (kind, id_, project)
        if one not in self._counted and len(self._counted) >= MOST_COUNTED:
            id_, project = "other", "other"
        else:
            self._counted.add(one)
        if kind == "agent":
            self._of_agents.labels(id_, how or "answered", project or "default").observe(seconds)
        else:
            word = how if how in _RUN_ENDS else "other"
            self._of_workflows.labels(id_, word, project or "default").observe(seconds)

    def lately(self, numbers: Iterable[tuple[str, tuple[str, ...], float]]) -> None:
        """Set all gauges of the last 7 days: each a name without ``bridge_``, its labels' values, and a number."""
        for gauge in self._lately.values():
            gauge.clear()
        for name, labels, number in numbers:
            self._lately[name].labels(*labels).set(number)

    def of_project(self, id: str) -> _ProjectCalls:  # noqa: A002 - its name
        """Return what `upstream` is for another project than the default one: the samples have a label ``project``."""
        return self._projects.setdefault(id, _ProjectCalls(None))

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics. A metric has the samples of every project, as the text format wants it."""
        others = [(id_, one) for id_, calls in self._projects.items() for one in calls.collect()]
        for metric in self.registry.collect():
            for id_, one in others:
                if one.name == metric.name:
                    metric.samples += [each._replace(labels={**each.labels, "project": id_}) for each in one.samples]
            yield metric

    def exposition(self) -> bytes:
        """Render all metrics in Prometheus's text format."""
        return generate_latest(self)


class _ProjectCalls:
    """Metrics of the calls of one project."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self._seconds = Histogram(
            "bridge_upstream_seconds", "Calls to the project service", ["operation", "outcome"],
            buckets=_CALL_SECONDS, registry=registry,
        )  # fmt: skip
        self._failures = Counter(
            "bridge_project_failures", "Failed calls to the project service, by HTTP status or other cause",
            ["operation", "cause"], registry=registry,
        )  # fmt: skip

    def __call__(self, operation: str, error: ProjectError | None, seconds: float) -> None:
        """Measure one call, and count its failure."""
        self._seconds.labels(operation, error.kind if error else "ok").observe(seconds)
        if error is not None:
            self._failures.labels(operation, error.label).inc()

    def collect(self) -> Iterator[Metric]:
        """Yield both metrics."""
        yield from self._seconds.collect()
        yield from self._failures.collect()
