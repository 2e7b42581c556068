"""Prometheus metrics: every metric and every alert, with its meaning and its cure.

The reference pages, the rules in ops/prometheus and the dashboard in ops/grafana follow from these two tables (`make
reference`). Each process has one `Metrics`. Labels are bounded: each is a word from the bridge's code, never text from
people, Slack or the service.
"""

from __future__ import annotations

import asyncio
import math
import platform
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from bridge import __version__
from bridge.errors import ProjectError, StoreUnavailable
from bridge.inbound import KINDS

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
"""The Content-Type of `Metrics.exposition`."""

EVENT_KINDS = KINDS.keys() | {"app_mention", "options", "event", "verification"}
"""The kinds of inputs; all others are counted as ``other``."""

MOST_COUNTED = 200
"""How many agents and workflows have labels of their own; the rest is ``other``."""

# An ack is due within 3 s and should take milliseconds; a turn takes as long as the agent does. Quantiles are guessed
# between two steps, and those of minutes are read most.
_MINUTES = (30, 45, 60, 90, 120, 180, 240, 300, 420, 600, 900)
_ACK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3)
_TURN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, *_MINUTES)
_CALL_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, *_MINUTES)
_LAG_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)

_LOOKED_UP_EVERY = 1.0  # seconds

_RUN_ENDS = frozenset({"completed", "failed", "cancelled", "unknown"})
_LATELY = ("agent_people", "agent_threads", "agent_votes", "outages", "outage_seconds")

C = TypeVar("C", Counter, Gauge, Histogram)
Section = Literal["Arrivals", "Turns", "Agents and workflows", "Project service", "Slack", "Redis", "Processes"]


class MetricRow(Generic[C]):
    """One metric: its type (*kind*), *name*, *meaning* and *labels*, and the *section* of the reference and dashboard.

    One that's *shared* covers all processes: each reports the same. One that's *looked up* in Redis whenever metrics
    are read is NaN while Redis is away. The name says the unit, as Prometheus wants it.
    """

    def __init__(
        self,
        kind: type[C],
        name: str,
        meaning: str,
        *labels: str,
        section: Section,
        buckets: Sequence[float] = (),
        is_shared: bool = False,
        is_looked_up: bool = False,
    ) -> None:
        self.kind: type[C] = kind
        self.name, self.meaning, self.labels, self.section = name, meaning, labels, section
        self.is_shared, self.is_looked_up = is_shared, is_looked_up
        self._more: dict[str, Any] = {"buckets": buckets} if buckets else {}

    def __set_name__(self, _: type[Metrics], attribute: str) -> None:
        """Use the attribute's name for the collector in an instance."""
        self.attribute = attribute

    def __get__(self, metrics: Metrics, _: type[Metrics]) -> C:
        """Say which type the instance's attribute has; that itself is found before this row."""
        return cast("C", vars(metrics)[self.attribute])

    @property
    def exposed(self) -> str:
        """The name in queries; a histogram's has ``_bucket``, ``_count`` and ``_sum`` after it."""
        return f"{self.name}_total" if self.kind is Counter else self.name

    @property
    def unit(self) -> str:
        """``seconds``, ``bytes``, or ``""`` for a count."""
        last = self.name.rpartition("_")[2]
        return last if last in {"seconds", "bytes"} else ""

    def collector(self, registry: CollectorRegistry | None) -> C:
        """Make prometheus_client's object for it, in a *registry* or, for one of several projects, in none."""
        made: C = self.kind(self.name, self.meaning, self.labels, registry=registry, **self._more)
        return made


class Metrics:
    """One process's metrics, in a separate registry, so that several can exist.

    Each row is, in an instance, the collector of prometheus_client itself: ``metrics.dead_letters.inc()``.
    """

    # fmt: off
    events = MetricRow(Counter, "bridge_events", "Inputs from Slack, by outcome", "kind", "outcome", section="Arrivals")
    acks = MetricRow(Histogram, "bridge_ack_seconds", "From a request's arrival to its acknowledgment", "kind",
        section="Arrivals", buckets=_ACK_SECONDS)
    rejected = MetricRow(Counter, "bridge_rejected_requests",
        "HTTP requests rejected before parsing, such as for a bad signature", "reason", section="Arrivals")
    catch_up_messages = MetricRow(Counter, "bridge_catch_up_messages",
        "Messages found in Slack's history after an outage, by outcome", "outcome", section="Arrivals")
    catch_up_left = MetricRow(Gauge, "bridge_catch_up_left", "Threads and channel pages left to read after an outage",
        section="Arrivals")
    turns = MetricRow(Histogram, "bridge_turn_seconds", "From a message's or command's acceptance to its end", "kind",
        "outcome", section="Turns", buckets=_TURN_SECONDS)
    queue_depth = MetricRow(Gauge, "bridge_queue_depth", "Threads with waiting or running work, in all processes",
        section="Turns", is_shared=True)
    in_flight = MetricRow(Gauge, "bridge_turns_in_flight",
        "Messages and commands being worked on, except those that wait for the project service", section="Turns")
    oldest_message = MetricRow(Gauge, "bridge_oldest_message_seconds",
        "Age of the oldest unanswered message in up to 100 threads of each state: waiting (for a process), running (or"
        " waiting for the service), parked (for a choice) or held (by a stop); 0 without one", "state",
        section="Turns", is_shared=True, is_looked_up=True)
    late_slots = MetricRow(Gauge, "bridge_late_slots",
        "Schedules, and reminders and ends of approvals, that have been due for over a minute", "what",
        section="Turns", is_shared=True, is_looked_up=True)
    finished_lag = MetricRow(Gauge, "bridge_finished_turns_lag_seconds",
        "How long the oldest finished turn has been waiting to be counted in statistics and shown in Home",
        section="Turns", is_shared=True, is_looked_up=True)
    dead_letters = MetricRow(Counter, "bridge_dead_letters", "Work that couldn't be finished", section="Turns")
    unknown_outcomes = MetricRow(Counter, "bridge_unknown_outcomes",
        "Questions and runs that may have been done, or not", section="Turns")
    agents = MetricRow(Histogram, "bridge_agent_seconds",
        "From a message's acceptance to the end of its agent's turn, by the agent's ID", "agent", "outcome", "project",
        section="Agents and workflows", buckets=_TURN_SECONDS)
    workflows = MetricRow(Histogram, "bridge_workflow_seconds", "From a run's request to its end, by the workflow's ID",
        "workflow", "outcome", "project", section="Agents and workflows", buckets=_TURN_SECONDS)
    feedback = MetricRow(Counter, "bridge_feedback", "Votes on answers: up or down; new, changed or the same", "vote",
        "how", section="Agents and workflows")
    agent_people = MetricRow(Gauge, "bridge_agent_people",
        "People who wrote to an agent in the last 7 days, in all processes", "agent", "project",
        section="Agents and workflows", is_shared=True)
    agent_threads = MetricRow(Gauge, "bridge_agent_threads",
        "Threads in which an agent was asked in the last 7 days, in all processes", "agent", "project",
        section="Agents and workflows", is_shared=True)
    agent_votes = MetricRow(Gauge, "bridge_agent_votes",
        "Votes on an agent's answers in the last 7 days, in all processes", "agent", "vote", "project",
        section="Agents and workflows", is_shared=True)
    upstream_seconds = MetricRow(Histogram, "bridge_upstream_seconds", "Calls to the project service", "operation",
        "outcome", section="Project service", buckets=_CALL_SECONDS)
    project_failures = MetricRow(Counter, "bridge_project_failures",
        "Failed calls to the project service, by HTTP status or other cause", "operation", "cause",
        section="Project service")
    breaker_open = MetricRow(Gauge, "bridge_breaker_open",
        "1 while a project's service counts as down, so that messages wait, else 0", "project",
        section="Project service")
    outages = MetricRow(Gauge, "bridge_outages",
        "Outages of a project's service in the last 7 days, under a minute only while they last, in all processes",
        "project", section="Project service", is_shared=True)
    outage_seconds = MetricRow(Gauge, "bridge_outage_seconds",
        "How long a project's service was down in the last 7 days, in all processes", "project",
        section="Project service", is_shared=True)
    slack_calls = MetricRow(Counter, "bridge_slack_calls", "Calls to Slack's Web API", "method", "outcome",
        section="Slack")
    slack_pauses = MetricRow(Counter, "bridge_slack_pause_seconds",
        "How long Slack asked us to wait, when it limited our calls (429)", "method", section="Slack")
    socket_silent = MetricRow(Gauge, "bridge_socket_silent_seconds",
        "Time since each socket of Socket Mode received anything, the oldest socket first", "socket", section="Slack")
    redis_round_trip = MetricRow(Gauge, "bridge_redis_round_trip_seconds",
        "How long Redis took to answer TIME; NaN if it didn't", section="Redis")
    redis_memory = MetricRow(Gauge, "bridge_redis_memory_bytes",
        "Memory that Redis has used, and its limit, if it has one", "what", section="Redis", is_shared=True)
    redis_trouble = MetricRow(Gauge, "bridge_redis_trouble",
        "1 if Redis has a problem with its persistence, memory or replicas, else 0", "kind", section="Redis",
        is_shared=True)
    wait_missing = MetricRow(Counter, "bridge_wait_missing", "Writes that no Redis replica confirmed in time",
        section="Redis")
    processes = MetricRow(Gauge, "bridge_processes",
        "Processes by state: running, or missing, because it ended and no other started since", "state",
        section="Processes", is_shared=True)
    loop_lag = MetricRow(Histogram, "bridge_loop_lag_seconds", "How late the event loop woke a task, twice a second",
        section="Processes", buckets=_LAG_SECONDS)
    build_info = MetricRow(Gauge, "bridge_build_info", "Always 1, with the versions of the bridge and Python",
        "version", "python", section="Processes")
    # fmt: on

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        vars(self).update({row.attribute: row.collector(self.registry) for row in ROWS})
        self._counted: set[tuple[str, str, str]] = set()
        self._calls = {"": (self.upstream_seconds, self.project_failures)}
        self.redis_round_trip.set(math.nan)
        self.build_info.labels(__version__, platform.python_version()).set(1)
        self.look_up: Callable[[], Awaitable[None]] | None = None
        """Looks up what's looked up whenever metrics are read. Raises `StoreUnavailable`."""
        self.look_up_seconds = 1.0  # Prometheus waits for 10
        self._is_known = False
        self._looked_up_at, self._looking_up = -math.inf, asyncio.Lock()

    def event(self, kind: str, outcome: str) -> None:
        """Count an input: *outcome* is ``accepted``, ``duplicate``, ``ignored``, ``refused``, …."""
        self.events.labels(kind if kind in EVENT_KINDS else "other", outcome).inc()

    def acked(self, kind: str, seconds: float) -> None:
        """Measure how long Slack waited for an answer."""
        self.acks.labels(kind if kind in EVENT_KINDS else "other").observe(seconds)

    def ended(self, kind: str, id_: str, how: str, project: str, seconds: float) -> None:
        """Measure a turn of an agent, or a run of a workflow (*kind*). Beyond `MOST_COUNTED`, the ID is ``other``."""
        counted = (kind, id_, project)
        if counted not in self._counted and len(self._counted) >= MOST_COUNTED:
            id_, project = "other", "other"
        else:
            self._counted.add(counted)
        if kind == "agent":
            self.agents.labels(id_, how or "answered", project or "default").observe(seconds)
        else:
            word = how if how in _RUN_ENDS else "other"
            self.workflows.labels(id_, word, project or "default").observe(seconds)

    def lately(self, numbers: Iterable[tuple[str, tuple[str, ...], float]]) -> None:
        """Set all gauges of the last 7 days: each an attribute's name, its labels' values, and a number."""
        gauges: dict[str, Gauge] = {name: vars(self)[name] for name in _LATELY}
        for gauge in gauges.values():
            gauge.clear()
        for name, labels, number in numbers:
            gauges[name].labels(*labels).set(number)

    def upstream(self, operation: str, error: ProjectError | None, seconds: float, *, project: str = "") -> None:
        """Measure a call of the project service, and count its failure by cause.

        Samples of another *project* than the default one have a label ``project``.
        """
        if project not in self._calls:
            of_calls = ("upstream_seconds", "project_failures")
            self._calls[project] = tuple(vars(Metrics)[name].collector(None) for name in of_calls)
        took, failures = self._calls[project]
        took.labels(operation, error.kind if error else "ok").observe(seconds)
        if error is not None:
            failures.labels(operation, error.label).inc()

    async def measure(self) -> None:
        """Look up what isn't counted as it happens, at most once a second; it isn't known if that takes too long."""
        async with self._looking_up:
            if self.look_up is None or time.monotonic() - self._looked_up_at < _LOOKED_UP_EVERY:
                return
            try:
                async with asyncio.timeout(self.look_up_seconds):
                    await self.look_up()
                self._is_known = True
            except (StoreUnavailable, TimeoutError):
                self._is_known = False
            self._looked_up_at = time.monotonic()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics. A metric has the samples of every project, as the text format wants it."""
        others = [
            (id_, metric) for id_, calls in self._calls.items() if id_ for call in calls for metric in call.collect()
        ]
        for metric in self.registry.collect():
            for id_, other in others:
                if other.name == metric.name:
                    metric.samples += [each._replace(labels={**each.labels, "project": id_}) for each in other.samples]
            if not self._is_known and metric.name in _LOOKED_UP:
                metric.samples = [each._replace(value=math.nan) for each in metric.samples]
            yield metric

    def exposition(self) -> bytes:
        """Render all metrics in Prometheus's text format."""
        return generate_latest(self)


ROWS: Final = tuple(row for row in vars(Metrics).values() if isinstance(row, MetricRow))
"""All metrics, in the table's order."""

_LOOKED_UP = frozenset(row.name for row in ROWS if row.is_looked_up)


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A rule for Prometheus: it fires once *query* has had results for so many *minutes*.

    *summary* says what happened, *meaning* what that does, and *cure* what helps; the *command* shows or does it.
    """

    name: str
    query: str
    minutes: int
    severity: Literal["critical", "warning"]
    summary: str
    meaning: str
    cure: str
    command: str


# fmt: off
ALERTS: Final = (
    AlertRule("BridgeDown", 'absent(up{job="bridge"}) or sum(up{job="bridge"}) == 0', 2, "critical",
        "No bridge is running",
        "Nobody gets an answer.",
        "Start it; it then catches up what was said meanwhile. If it doesn't stay up, find out why.",
        "bridge check"),
    AlertRule("BridgeReplicaDown", 'count(up{job="bridge"} == 0) > 0 or max(bridge_processes{state="missing"}) > 0', 2,
        "warning", "A replica of the bridge is down",
        "The others do its work.",
        "See which one, since when, and whether it was replaced.", "bridge status"),
    AlertRule("BridgeRefusesMessages", 'sum(increase(bridge_events_total{outcome="not stored"}[5m])) > 0', 5,
        "critical", "The bridge can't store messages",
        "Redis is unreachable or full. Slack sends refused messages again.",
        "Find out which.", "bridge check"),
    AlertRule("BridgeSlowAcknowledgments",
        "histogram_quantile(0.99, sum by (le) (rate(bridge_ack_seconds_bucket[5m]))) > 1", 10, "warning",
        "Slack waits more than 1 s for acknowledgments",
        "At 3 s, Slack sends messages again and people see errors.",
        "Check the latency of Redis and the processor.", "bridge check"),
    AlertRule("BridgeRejectsRequests",
        'sum(increase(bridge_rejected_requests_total{reason=~"signature|too_old"}[10m])) > 10', 0, "warning",
        "Requests with a bad signature",
        "After a change, SLACK_SIGNING_SECRET is wrong or the clock is off. Otherwise, someone is scanning.",
        "Compare the secret with the app's, and the clock with Slack's.", "bridge check"),
    AlertRule("BridgeServiceFails",
        'sum(rate(bridge_upstream_seconds_count{outcome!~"ok|circuit_open",operation!="probe"}[10m]))'
        ' / sum(rate(bridge_upstream_seconds_count{outcome!="circuit_open",operation!="probe"}[10m])) > 0.2', 10,
        "warning",
        "Over 20% of the calls to the project service fail",
        "bridge_project_failures_total counts the causes, and the bridge's log has the service's own words.",
        "See what the service answers now.", "bridge check"),
    AlertRule("BridgeServiceDown", "max by (project) (bridge_breaker_open) > 0", 5, "critical",
        "A project's service is down",
        "It can't be reached, or rejects the bridge's key. Messages are kept, and answered once it's back.",
        "Find out which.", "bridge check"),
    AlertRule("BridgeSlackFails",
        'sum(rate(bridge_slack_calls_total{outcome!="ok"}[10m]))'
        " / sum(rate(bridge_slack_calls_total[10m])) > 0.2", 10, "warning",
        "Over 20% of the calls to Slack fail",
        "The token may be revoked, or a permission missing. For outages, see Slack's status page.",
        "Find out which.", "bridge check"),
    AlertRule("BridgeSlackSilent", "min by (instance) (bridge_socket_silent_seconds) > 60", 1, "critical",
        "No socket hears Slack",
        "What people write reaches this replica only once a socket is open again.",
        "See whether Slack accepts the app token and a socket can be opened.", "bridge check"),
    AlertRule("BridgeQueueGrows", "max(min_over_time(bridge_queue_depth[15m])) > 20", 0, "warning",
        "More than 20 threads have been waiting for 15 minutes",
        "The agents are slower than people write, or the service is down.",
        "See who works on what.", "bridge status"),
    AlertRule("BridgeMessagesWait", 'max(bridge_oldest_message_seconds{state="waiting"}) > 600', 0, "warning",
        "A message has been waiting for over 10 minutes",
        "No process has begun with it: all are busy, or none takes work.",
        "See what each process is doing; raise BRIDGE_MAX_TURNS or add a replica.", "bridge status"),
    AlertRule("BridgeFallsBehind", "max(bridge_finished_turns_lag_seconds) > 60 or max(bridge_late_slots) > 0", 10,
        "warning", "Statistics or schedules are late",
        "Statistics, Home and schedules follow once a process has time for them.",
        "See whether the processes run and Redis answers quickly.", "bridge status"),
    AlertRule("BridgeDeadLetters", "sum(increase(bridge_dead_letters_total[1h])) > 0", 0, "warning",
        "The bridge gave up on some work",
        "It won't be tried again by itself.",
        'See why, then try it again with "bridge dead retry ID".', "bridge dead list"),
    AlertRule("BridgeUnknownOutcomes", "sum(increase(bridge_unknown_outcomes_total[1h])) > 0", 0, "warning",
        "It's unknown whether some questions or runs were done",
        "Their people were asked whether to repeat them.",
        'See why; the audit calls it "outcome unknown".', "bridge audit --since 1h"),
    AlertRule("BridgeLoopLags",
        "histogram_quantile(0.99, sum by (le, instance) (rate(bridge_loop_lag_seconds_bucket[5m]))) > 0.25", 10,
        "warning", "A process is too busy",
        "Its event loop is late by over 250 ms: acknowledgments and answers are, too.",
        "Give it more processor time, or add a replica.", "bridge status"),
    AlertRule("BridgeRedisSlow", "max by (instance) (min_over_time(bridge_redis_round_trip_seconds[5m])) > 0.1", 5,
        "warning", "Redis answers slowly",
        "Each message takes several round trips, and each takes over 100 ms.",
        "Check Redis' load, its disk and the network.", "bridge check"),
    AlertRule("BridgeRedisMemory", 'max(bridge_redis_trouble{kind="memory"}) > 0', 5, "critical",
        "Redis is running out of memory",
        "Over 90% of maxmemory is used, or it would evict messages when it's full.",
        "Find out which, and give it more memory or the policy noeviction.", "bridge check"),
    AlertRule("BridgeRedisPersistence", 'max(bridge_redis_trouble{kind="persistence"}) > 0', 5, "critical",
        "Redis may lose data",
        "It has no append-only file, or can't write it.",
        "Find out which, and what helps.", "bridge check"),
    AlertRule("BridgeRedisReplicas", 'max(bridge_redis_trouble{kind="replicas"}) > 0', 5, "warning",
        "Redis has no working replica",
        "No replica confirms writes, or the last one is gone, so a failover may lose what was just written.",
        "Start it again; see what Redis says of its replicas.", "bridge check"),
)
# fmt: on
