"""What is counted and measured, for Prometheus.

One `Metrics` is made in the composition root and handed to whoever counts. Labels are bounded by construction:
each is a word from our own code, never something that a person, Slack or the service wrote.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
"""What `Metrics.exposition` is, for the answer's Content-Type."""

EVENT_KINDS = frozenset(
    {
        "message", "app_mention", "command", "click", "stop", "submission", "options", "home", "messages_opened",
        "shortcut", "notice", "event", "verification",
    }
)  # fmt: skip
"""The kinds of things that come in; anything else is counted as ``other``."""

# An ack is due within 3 s and should take milliseconds; a turn takes as long as the agent thinks.
_ACK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3)
_TURN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900)
_CALL_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 900)


class Metrics:
    """Counters of one process, in a registry of their own, so that two of them never collide."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._events = Counter(
            "bridge_events", "What came in from Slack, and what became of it", ["kind", "outcome"], registry=registry
        )
        self._acks = Histogram(
            "bridge_ack_seconds", "From a request's arrival to its answer", ["kind"],
            buckets=_ACK_SECONDS, registry=registry,
        )  # fmt: skip
        self.turns = Histogram(
            "bridge_turn_seconds", "From a turn's acceptance to its end", ["kind", "outcome"],
            buckets=_TURN_SECONDS, registry=registry,
        )  # fmt: skip
        self._upstream = Histogram(
            "bridge_upstream_seconds", "Calls of the project service", ["operation", "outcome"],
            buckets=_CALL_SECONDS, registry=registry,
        )  # fmt: skip
        self.slack_calls = Counter(
            "bridge_slack_calls", "Calls of Slack's Web API", ["method", "outcome"], registry=registry
        )
        self.rejected = Counter(
            "bridge_rejected_requests", "Requests that the guard turned away", ["reason"], registry=registry
        )
        self.feedback = Counter(
            "bridge_feedback", "Votes on answers: up or down; new, changed or the same", ["vote", "how"],
            registry=registry,
        )  # fmt: skip
        queue_depth = Gauge("bridge_queue_depth", "Turns that wait or are in work", registry=registry)
        self.watch_queue = queue_depth.set_function
        """Given a function, asks it for the number of turns that wait, whenever somebody reads the metrics."""
        wait_missing = Counter(
            "bridge_wait_missing", "Writes that no Redis replica confirmed in time", registry=registry
        )
        self.wait_missing = wait_missing.inc
        """Counts a write that no replica of Redis confirmed in time."""
        dead_letters = Counter("bridge_dead_letters", "Work that could not be finished", registry=registry)
        self.dead_letter = dead_letters.inc
        """Counts work that could not be finished."""

        self.found = Counter(
            "bridge_catch_up_messages", "Messages found in Slack's history after an outage, and what became of them",
            ["outcome"], registry=registry,
        )  # fmt: skip
        left = Gauge("bridge_catch_up_left", "Threads and pages of channels that are read next", registry=registry)
        self.catch_up_left = left.set
        """Says how much is about to be read after an outage."""

    def event(self, kind: str, outcome: str) -> None:
        """Count something that came in: *outcome* is ``accepted``, ``duplicate``, ``ignored``, ``refused``, …."""
        self._events.labels(kind if kind in EVENT_KINDS else "other", outcome).inc()

    def acked(self, kind: str, seconds: float) -> None:
        """Measure how long Slack waited for its answer."""
        self._acks.labels(kind if kind in EVENT_KINDS else "other").observe(seconds)

    def upstream(self, operation: str, outcome: str, seconds: float) -> None:
        """Measure one call of the project service."""
        self._upstream.labels(operation, outcome).observe(seconds)

    def exposition(self) -> bytes:
        """Render everything in Prometheus's text format."""
        return generate_latest(self.registry)
