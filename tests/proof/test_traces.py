"""Traces of turns, as a collector gets them over OTLP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.app.traces import FirstOfASecond
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.local_server import LocalServer
from bridge.playground.sample_project.answers import Proper
from support.forks import run
from support.ports import free_port
from support.secrecy import secrets_in
from support.slack_requests import JSON, signed
from support.system import BridgeProcess, System
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"
AGENT = {"BRIDGE_DEFAULT_AGENT": "1"}
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}  # ms
ONLY_AT_THE_END = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}


@dataclass
class Collector:
    """A collector at *url*, and the requests it got."""

    url: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)

    async def take(self, request: Request) -> Response:
        self.paths.add(request.url.path)
        self.requests.append(ExportTraceServiceRequest.FromString(await request.body()))
        return Response(status_code=200)

    @property
    def spans(self) -> list[Span]:
        scopes = [scope for request in self.requests for of in request.resource_spans for scope in of.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def environ(self, how: Mapping[str, str] = SOON) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, **AGENT, **how}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    collector = Collector()
    async with LocalServer(Starlette(routes=[Route("/{path:path}", collector.take, methods=["POST"])])) as server:
        collector.url = server.url
        yield collector


def facts(span: Span) -> dict[str, str]:
    return {fact.key: fact.value.string_value for fact in span.attributes}


async def test_a_mention_is_one_trace_from_the_event_to_the_post(
    system: System, collector: Collector, tmp_path: Path
) -> None:
    await system.start_bridge(**collector.environ(SOON | {"OTEL_SERVICE_NAME": "ours"}))

    root = await system.mention(ALICE, GENERAL, "what do apricots cost?")
    await system.answered(GENERAL, root)
    await wait_until(lambda: collector.named("take message"), "the turn's spans are exported")

    [accept], [take] = collector.named("accept message"), collector.named("take message")
    [ask], [post] = collector.named("send_message"), collector.named("chat.postMessage")
    [chat] = [call for call in system.project.calls if call.path == CHAT]
    command = ("trace", GENERAL, root, "--json")
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace, "PATH": os.environ["PATH"]}
    _, printed, _ = await run(command, tmp_path, here)
    assert accept.parent_span_id == b""
    assert take.parent_span_id == accept.span_id
    assert {span.parent_span_id for span in collector.spans if span not in (accept, take)} == {take.span_id}
    assert {span.trace_id for span in collector.spans} == {accept.trace_id}
    assert [event.name for event in take.events] == ["sent", "outcome", "posted"]
    assert accept.start_time_unix_nano < take.events[0].time_unix_nano < ask.start_time_unix_nano
    assert ask.end_time_unix_nano < take.events[1].time_unix_nano < post.start_time_unix_nano
    assert chat.traceparent == f"00-{ask.trace_id.hex()}-{ask.span_id.hex()}-01"
    assert f"OpenTelemetry's trace {accept.trace_id.hex()}" in printed
    assert facts(take) == {"bridge.turn": json.loads(printed)["turns"][0], "bridge.outcome": "answered"}
    assert collector.paths == {"/v1/traces"}
    resource = collector.requests[0].resource_spans[0].resource
    assert ("service.name", "ours") in [(fact.key, fact.value.string_value) for fact in resource.attributes]


async def test_no_trace_has_what_was_said_or_who_said_it(system: System, collector: Collector) -> None:
    bridge = await system.start_bridge(**collector.environ())
    person = system.slack.workspace.people[ALICE]

    root = await system.mention(ALICE, GENERAL, "apricots")
    await system.answered(GENERAL, root)
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 apricots")
    await wait_until(lambda: collector.named("take command"), "the command's spans are exported")
    await wait_until(lambda: collector.named("take message"), "the message's spans are exported")
    await bridge.end()

    sent = " ".join(str(request) for request in collector.requests)
    secret = [word for word in ("apricots", ALICE, person.name, person.real_name, GENERAL, "http") if word in sent]
    assert secret + secrets_in(sent) == []
    assert {name for span in collector.spans for name in facts(span)} == {"bridge.turn", "bridge.outcome"}


async def test_a_redelivered_event_has_no_second_turn(system: System, collector: Collector) -> None:
    bridge = await system.start_bridge(**collector.environ())
    root = await system.mention(ALICE, GENERAL, "hello")
    await system.answered(GENERAL, root)

    for delivery in [one for one in system.slack.deliveries if one.kind == "event"]:
        body = json.dumps(delivery.payload).encode()
        headers = {name.decode(): value.decode() for name, value in [JSON, *signed(body)]}
        async with aiohttp.ClientSession() as slack:
            again = await slack.post(
                f"{bridge.url}/slack/events", data=body, headers={**headers, "X-Slack-Retry-Num": "1"}
            )
            assert again.status == 200
    await bridge.end()

    assert Counter(span.name for span in collector.spans)["accept message"] == 1
    assert len({span.trace_id for span in collector.spans}) == 1


@pytest.mark.parametrize("is_traced", [True, False], ids=["with", "without"])
async def test_another_process_continues_a_trace(system: System, collector: Collector, *, is_traced: bool) -> None:
    first = await system.start_bridge(
        **(collector.environ(ONLY_AT_THE_END) if is_traced else AGENT), BRIDGE_DRAIN_SECONDS="60"
    )
    system.project.on("POST", CHAT, Proper(delay=2.0))
    await system.mention(ALICE, GENERAL, "hello")
    await wait_until(system.chats, "the agent is asked")
    first.send_signal(signal.SIGTERM)
    await wait_until(lambda: _is_draining(first), "the bridge received the signal")
    root = await system.mention(BOB, GENERAL, "and hello")
    assert await first.wait() == 0
    accepted = {span.span_id: span for span in collector.named("accept message")}

    second = await system.start_bridge(**collector.environ())
    await system.answered(GENERAL, root)
    await second.end()

    take = max(collector.named("take message"), key=lambda span: span.start_time_unix_nano)
    assert len(accepted) == (2 if is_traced else 0)
    assert (take.parent_span_id in accepted) is is_traced
    if is_traced:
        assert take.trace_id == accepted[take.parent_span_id].trace_id
    assert [event.name for event in take.events] == ["sent", "outcome", "posted"]


async def test_a_collector_that_is_away_is_logged_once(system: System) -> None:
    nowhere = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    bridge = await system.start_bridge(**AGENT, **SOON, **nowhere)

    def complaints() -> list[str]:
        return [line for line in bridge.log.decode().splitlines() if "traces can't be sent" in line]

    first = await system.mention(ALICE, GENERAL, "hello")
    await system.answered(GENERAL, first)
    await wait_until(complaints, "the first batch failed")
    second = await system.mention(ALICE, GENERAL, "hello again")
    await system.answered(GENERAL, second)
    began = time.monotonic()
    bridge.send_signal(signal.SIGTERM)
    code = await bridge.wait()

    assert (code, time.monotonic() - began < 10) == (0, True)
    assert len(complaints()) == 1
    assert "ConnectionError" in complaints()[0]


def test_of_a_burst_the_first_fifty_are_sampled() -> None:
    now = 7.0
    sampler = FirstOfASecond(lambda: now)

    def sampled(count: int) -> int:
        return sum(
            sampler.should_sample(None, number, "accept message").decision.is_sampled() for number in range(count)
        )

    assert (sampled(70), sampled(30)) == (50, 0)
    now += 1
    assert sampled(70) == 50


async def test_what_is_not_sampled_says_so_to_the_service(system: System, collector: Collector) -> None:
    bridge = await system.start_bridge(**collector.environ(SOON | {"OTEL_TRACES_SAMPLER": "always_off"}))

    root = await system.mention(ALICE, GENERAL, "hello")
    await system.answered(GENERAL, root)
    await bridge.end()

    assert [call.traceparent[-3:] for call in system.project.calls if call.path == CHAT] == ["-00"]
    assert collector.spans == []


async def test_its_own_switch_turns_it_off(system: System, collector: Collector) -> None:
    bridge = await system.start_bridge(**collector.environ(SOON | {"OTEL_SDK_DISABLED": "true"}))

    root = await system.mention(ALICE, GENERAL, "hello")
    await system.answered(GENERAL, root)
    await bridge.end()

    assert [call.traceparent for call in system.project.calls if call.path == CHAT] == [""]
    assert collector.requests == []


def test_without_an_endpoint_no_spans_are_imported() -> None:
    code = "import sys, bridge.app; print(*sys.modules)"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603

    found = [name for name in printed.split() if name.startswith(("opentelemetry.sdk.trace", "opentelemetry.exporter"))]
    assert found == []  # redis-py imports its metrics


async def _is_draining(bridge: BridgeProcess) -> bool:
    return bool((await bridge.state())[1].get("draining"))
