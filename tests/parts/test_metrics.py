"""The metrics Prometheus scrapes."""

from __future__ import annotations

import asyncio
import platform
from datetime import timedelta

import pytest

from bridge import __version__
from bridge.errors import ServiceRefused, StoreUnavailable, TimedOut
from bridge.metrics import ROWS, Metrics


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


def test_a_turn_of_minutes_is_measured_closely() -> None:
    metrics = Metrics()
    metrics.turns.labels("message", "answered").observe(400)

    (turns,) = metrics.turns.collect()
    of_turn = [float(each.labels["le"]) for each in turns.samples if each.name.endswith("_bucket") and each.value]
    assert of_turn == [420, 600, 900, float("inf")]


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


def test_every_row_is_a_collector_with_its_name() -> None:
    metrics = Metrics()

    exposed = {metric.name: metric.type for metric in metrics.collect()}

    assert exposed == {row.name: row.kind.__name__.lower() for row in ROWS}
    assert all(vars(metrics)[row.attribute]._name == row.name for row in ROWS)


def test_the_build_is_exposed() -> None:
    labels = f'python="{platform.python_version()}",version="{__version__}"'

    assert f"bridge_build_info{{{labels}}} 1.0" in Metrics().exposition().decode()


async def test_metrics_are_looked_up_at_most_once_a_second() -> None:
    metrics, looked_up = Metrics(), list[int]()

    async def look_up() -> None:
        looked_up.append(1)
        metrics.finished_lag.set(3)

    metrics.look_up = look_up
    await asyncio.gather(*(metrics.measure() for _ in range(5)))

    assert len(looked_up) == 1
    assert "bridge_finished_turns_lag_seconds 3.0" in metrics.exposition().decode()


@pytest.mark.parametrize("is_hung", [True, False])
async def test_what_redis_does_not_say_is_not_a_number(*, is_hung: bool) -> None:
    metrics = Metrics()
    metrics.look_up_seconds = 0.01
    metrics.oldest_message.labels("waiting").set(7)
    metrics.dead_letters.inc()

    async def look_up() -> None:
        if is_hung:
            await asyncio.Event().wait()
        raise StoreUnavailable

    metrics.look_up = look_up
    await metrics.measure()

    text = metrics.exposition().decode()
    assert "bridge_finished_turns_lag_seconds NaN" in text
    assert 'bridge_oldest_message_seconds{state="waiting"} NaN' in text
    assert "bridge_dead_letters_total 1.0" in text
