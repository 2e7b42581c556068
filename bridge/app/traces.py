"""Traces of turns for OpenTelemetry, from Slack's event over the queue to the post, across processes.

This is imported only if OTEL_EXPORTER_OTLP_ENDPOINT is set. The parts know nothing of it: some are of other classes
then (`Kinds`).

The span ``accept message`` lasts from Slack's request until its turn is stored; what becomes no turn has none. ``take
message`` lasts as long as a worker works on the turn: another take, perhaps by another process, has its own. In it are
the calls for the turn, of the project service (``send_message``) and of Slack (``chat.postMessage``). The journal's
steps are events. The turn's record has the context of ``accept``, whose process decides whether the trace is sampled.

Nothing said is in a span, and no names, addresses or tokens: only the kind of input, the turn's ID, and the names of
operations, outcomes and exceptions.

OpenTelemetry's instrumentation packages don't fit (as of 0.66b2): httpx's wraps transports that the bridge doesn't use,
redis' doesn't see scripts (`bridge.queue.scripting.Batches`), and aiohttp's shows response_urls, which are secrets, and
sends ``traceparent`` to Slack, too. With the SDK's tracer and encoder, a turn takes 27% more processor time, measured
with 64 threads. With `Span`, encoded as it ends, it's 13 µs, some 1%, and nothing is left for the garbage collector.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import struct
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, NamedTuple, Self

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext, TraceFlags

from bridge import __version__
from bridge.app.connections import Kinds
from bridge.errors import ConfigurationError
from bridge.project import ProjectClient
from bridge.queue.inbox import Arrival, Inbox
from bridge.queue.journal import Journal
from bridge.queue.lease import Lease
from bridge.queue.put import Put, Queued
from bridge.queue.records import Head, Held, Taken
from bridge.queue.worker import Work
from bridge.slack.api import Answer, SlackWeb
from bridge.slack.payloads import Dispatch

log = logging.getLogger(__name__)
_NAME = "slack-project-bridge"
_SEVEN_BITS = 0x7F
_HEAD = struct.Struct("<2s16s 2s8s cQ cQ")  # trace_id, span_id, start and end, each after its tag
_FLUSH_SECONDS = 2.0  # at the end; a collector that's away must not delay it
_STORED = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])")
_SERVER, _CLIENT, _CONSUMER = 2, 3, 5  # of the protocol's SpanKind
_WITHOUT: Final = nullcontext()


@asynccontextmanager
async def exporting(endpoint: str) -> AsyncIterator[Kinds]:
    """Export the spans of the parts of these kinds, during the block, to the collector at *endpoint*.

    Raises `ConfigurationError` if OpenTelemetry refuses one of its own variables.
    """
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: _NAME}))
    try:
        provider = TracerProvider(shutdown_on_exit=False)
        address = None if os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") else f"{endpoint}/v1/traces"
        processor = BatchSpanProcessor(_Exporter(address, resource))
    except ValueError as exc:
        raise ConfigurationError([f"OpenTelemetry can't use one of its variables ({exc}): correct it"]) from None
    spans = Spans(provider, processor)
    parts: tuple[type[Any], ...] = (_Inbox, _Journal, _Client, _Web)
    inbox, journal, client, web = (type(part.__name__, (part,), {"spans": spans}) for part in parts)
    try:
        yield Kinds(inbox, journal, client, web, _noting_arrivals, partial(_traced, spans))
    finally:
        flushing = threading.Thread(target=processor.shutdown, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, _FLUSH_SECONDS)


class _Exporter(OTLPSpanExporter):
    """Sends batches of `Encoded` spans as *resource*'s, and logs the first one that fails in a row."""

    def __init__(self, endpoint: str | None, resource: Resource) -> None:
        super().__init__(endpoint)
        self._has_failed = False
        scope = InstrumentationScope(_NAME, __version__)
        span = ReadableSpan(_NAME, INVALID_SPAN_CONTEXT, resource=resource, instrumentation_scope=scope)
        of_resource = encode_spans([span]).resource_spans[0]
        of_scope = of_resource.scope_spans[0]
        of_scope.ClearField("spans")
        self._scope = of_scope.SerializeToString()
        of_resource.ClearField("scope_spans")
        self._resource = of_resource.SerializeToString()

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        of_scope = _field(2, b"".join((self._scope, *spans)))
        result = self._client.export(_field(1, self._resource + of_scope))
        if not (result.success or self._has_failed):
            log.warning("traces can't be sent", extra={"why": result.status_code or type(result.error).__name__})
        self._has_failed = not result.success
        return SpanExportResult.SUCCESS if result.success else SpanExportResult.FAILURE


class TraceContext(NamedTuple):
    """A span and its trace. https://www.w3.org/TR/trace-context."""

    trace: bytes
    span: bytes
    is_sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace.hex()}-{self.span.hex()}-0{self.is_sampled:d}"

    @classmethod
    def stored(cls, traceparent: str) -> TraceContext | None:
        """Read what `str` wrote into a record; None if there's none, as of another release."""
        match = _STORED.fullmatch(traceparent)
        return cls(bytes.fromhex(match[1]), bytes.fromhex(match[2]), match[3] == "1") if match else None


class Encoded(bytes):
    """Spans as a ScopeSpans message of the protocol has them, field for field.

    https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto/trace/v1/trace.proto, in
    https://protobuf.dev/programming-guides/encoding. With protobuf's objects, made by the exporter's thread, a busy
    process did 5.5% fewer turns per second (twelve comparisons); with this, as many as without traces (sixteen).
    """

    __slots__ = ()
    context: ClassVar = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    """For the processor, which only asks whether it's sampled."""


def _field(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    if number <= _SEVEN_BITS:
        return bytes((number,))
    return bytes((number & _SEVEN_BITS | 0x80,)) + _varint(number >> 7)


@lru_cache
def _called(name: str, kind: int) -> bytes:
    return _field(5, name.encode()) + bytes((6 << 3, kind))


@lru_cache
def _attribute(name: str, fact: str) -> bytes:
    return _field(9, _field(1, name.encode()) + _field(2, _field(1, fact.encode())))


@lru_cache
def _around(step: str) -> tuple[bytes, bytes]:
    """Return what is before and after the time, of 8 bytes, in the event of a *step*."""
    named = _field(2, step.encode())
    return _field(11, b"\x09" + bytes(8) + named)[: -8 - len(named)], named


@dataclass(slots=True)
class Span:
    """A span, and the *details* of it, encoded. It ends with its block.

    The calls of a *take* are handed over with it, as its *inner* spans, because that takes as long as all else that's
    done for one.
    """

    processor: BatchSpanProcessor
    name: str
    kind: int
    own: TraceContext
    began: int
    details: bytes = b""
    take: Span | None = None
    inner: bytes = b""
    has_ended: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end(kind)

    def end(self, error: type[BaseException] | None = None) -> None:
        """Export it, if its trace is sampled."""
        if not self.own.is_sampled:
            return
        if error is not None:
            self.details += _attribute("error.type", error.__name__) + _field(15, bytes((3 << 3, 2)))
        self.has_ended = True
        take, self.take = self.take, None
        if take is not None and not take.has_ended:
            take.inner += self.encoded(time.time_ns())
        else:
            self.processor.on_end(Encoded(self.inner + self.encoded(time.time_ns())))  # type: ignore[arg-type] # it's passed on to the exporter as it is

    def encoded(self, ended: int) -> bytes:
        """Return it as `Encoded` has it, without its inner ones."""
        head = _HEAD.pack(b"\x0a\x10", self.own.trace, b"\x12\x08", self.own.span, b"\x39", self.began, b"\x41", ended)
        return _field(2, head + _called(self.name, self.kind) + self.details)

    def note(self, name: str, fact: str) -> None:
        """Add an attribute."""
        self.details += _attribute(name, fact)

    def step(self, name: str) -> None:
        """Add an event of now."""
        before, after = _around(name)
        self.details += before + time.time_ns().to_bytes(8, "little") + after


_take: ContextVar[Span | None] = ContextVar("take", default=None)
_arrived: ContextVar[int | None] = ContextVar("arrived", default=None)  # when Slack's request came, in ns


class Spans:
    """Makes spans as *provider* says, for *processor*."""

    def __init__(self, provider: TracerProvider, processor: BatchSpanProcessor) -> None:
        self._ids, self._sampler, self._processor = provider.id_generator, provider.sampler, processor
        self._samples_all = provider.sampler.get_description().startswith("ParentBased{root:AlwaysOnSampler")

    def begin(self, name: str, kind: int, parent: TraceContext | None, began: int | None = None) -> Span:
        """Begin a span, now or when it *began*; without a *parent*, it begins a trace."""
        id_ = self._ids.generate_span_id().to_bytes(8, "big")
        if parent is not None:
            own = TraceContext(parent.trace, id_, parent.is_sampled)
            details = b"\x22\x08" + parent.span  # parent_span_id
        else:
            trace = self._ids.generate_trace_id()
            is_sampled = self._samples_all or self._sampler.should_sample(None, trace, name).decision.is_sampled()  # type: ignore[no-untyped-call]
            own, details = TraceContext(trace.to_bytes(16, "big"), id_, is_sampled), b""
        return Span(self._processor, name, kind, own, began or time.time_ns(), details)

    def call(self, name: str) -> AbstractContextManager[Span | None]:
        """Begin the span of a call for the current turn; of none without a turn."""
        take = _take.get()
        if take is None:
            return _WITHOUT
        span = self.begin(name, _CLIENT, take.own)
        span.take = take
        return span

    def take(self, head: Head | None, error: type[BaseException] | None = None) -> None:
        """End the span of the task's take, and begin that of the next, if *head* is a turn."""
        if (take := _take.get()) is not None:
            take.end(error)
        take = None
        if isinstance(head, Taken):
            turn = head.record
            take = self.begin(f"take {turn.body.kind}", _CONSUMER, TraceContext.stored(turn.traceparent))
            take.note("bridge.turn", turn.id)
        _take.set(take)


def _noting_arrivals(dispatch: Dispatch) -> Dispatch:
    async def note(request: Any) -> Any:
        _arrived.set(time.time_ns())
        return await dispatch(request)

    return note


def _traced(spans: Spans, work: Work) -> Work:
    async def traced(lease: Lease) -> None:
        spans.take(lease.head)
        try:
            await work(lease)
        except BaseException as exc:
            spans.take(None, type(exc))
            raise
        spans.take(None)

    return traced


class _Traced:
    spans: Spans


class _Inbox(_Traced, Inbox):
    async def put_message(self, arrival: Arrival, **_: Any) -> Put:
        take = _take.get()  # of the turn that queues it
        name, parent = f"accept {arrival.inbound.kind}", take.own if take else None
        accept = self.spans.begin(name, _SERVER, parent, _arrived.get())
        put = await super().put_message(arrival, traceparent=str(accept.own))
        if isinstance(put, Queued):
            accept.end()
        return put


def _note(step: str, outcome: str = "") -> None:
    """Note a *step* of the journal, and the turn's *outcome*, without Slack's own words."""
    if (take := _take.get()) is not None:
        take.step(step)
        if outcome:
            take.note("bridge.outcome", outcome.partition(":")[0])


class _Journal(_Traced, Journal):
    async def take(self, held: Held, *, begins: bool = True) -> Head | None:
        head = await super().take(held, begins=begins)
        self.spans.take(head)
        return head

    async def sent(self, *step: Any, **facts: Any) -> Any:
        near = await super().sent(*step, **facts)
        _note("sent")
        return near

    async def outcome(self, *step: Any, **facts: Any) -> None:
        await super().outcome(*step, **facts)
        _note("outcome")

    async def done(self, *step: Any, what: str = "", **facts: Any) -> None:
        await super().done(*step, what=what, **facts)
        _note("posted" if facts.get("posted") else "done", what)

    async def bury(self, *step: Any, **facts: Any) -> None:
        await super().bury(*step, **facts)
        _note("dead", "dead")


class _Client(_Traced, ProjectClient):
    async def _call(self, operation: str, *how: Any, headers: Mapping[str, str] | None = None, **options: Any) -> Any:
        with self.spans.call(operation) as span:
            if span is not None:
                headers = {**(headers or {}), "traceparent": str(span.own)}
            return await super()._call(operation, *how, headers=headers, **options)


class _Web(_Traced, SlackWeb):
    async def call(self, method: str, *how: Any, **options: Any) -> Answer:
        with self.spans.call(method):
            return await super().call(method, *how, **options)
