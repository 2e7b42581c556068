"""The metrics Prometheus scrapes."""

from __future__ import annotations

from datetime import timedelta

from bridge.errors import ServiceRefused, TimedOut
from bridge.metrics import Metrics


def test_every_count_is_exposed() -> None:
    metrics = Metrics()
    metrics.event("message", "accepted")
    metrics.acked("command", 0.004)
    metrics.turns.labels("message", "answered").observe(2.0)
    metrics.upstream("send_message", None, 1.5)
    metrics.upstream("get_stats", ServiceRefused("get_stats", 500), 0.5)
    metrics.upstream("get_stats", ServiceRefused("get_stats", 599), 0.5)
    metrics.upstream("run_workflow", TimedOut("run_workflow", timedelta(seconds=1)), 0.5)
    metrics.slack_calls.labels("chat.postMessage", "ok").inc()
    metrics.rejected.labels("unsigned").inc()
    metrics.wait_missing.inc()
    metrics.dead_letters.inc()

    text = metrics.exposition().decode()

    for line in (
        'bridge_events_total{kind="message",outcome="accepted"} 1.0',
        'bridge_ack_seconds_bucket{kind="command",le="0.005"} 1.0',
        'bridge_ack_seconds_bucket{kind="command",le="0.0025"} 0.0',
        'bridge_turn_seconds_count{kind="message",outcome="answered"} 1.0',
        'bridge_upstream_seconds_sum{operation="send_message",outcome="ok"} 1.5',
        'bridge_upstream_seconds_sum{operation="get_stats",outcome="service_refused"} 1.0',
        'bridge_project_failures_total{cause="http_500",operation="get_stats"} 1.0',
        'bridge_project_failures_total{cause="http_other",operation="get_stats"} 1.0',
        'bridge_project_failures_total{cause="timed_out",operation="run_workflow"} 1.0',
        'bridge_slack_calls_total{method="chat.postMessage",outcome="ok"} 1.0',
        'bridge_rejected_requests_total{reason="unsigned"} 1.0',
        "bridge_wait_missing_total 1.0",
        "bridge_dead_letters_total 1.0",
    ):
        assert line in text


def test_the_queue_depth_is_read_on_demand() -> None:
    metrics = Metrics()
    waiting = ["a", "b"]
    metrics.queue_depth.set_function(lambda: len(waiting))
    waiting.append("c")

    assert "bridge_queue_depth 3.0" in metrics.exposition().decode()


def test_an_unknown_kind_makes_no_new_label() -> None:
    metrics = Metrics()

    metrics.event("anything that somebody sent", "ignored")
    metrics.acked("and this", 0.1)

    text = metrics.exposition().decode()
    assert 'kind="other"' in text
    assert "somebody" not in text


def test_two_bridges_in_one_process_count_separately() -> None:
    one, other = Metrics(), Metrics()

    one.dead_letters.inc()

    assert "bridge_dead_letters_total 0.0" in other.exposition().decode()
