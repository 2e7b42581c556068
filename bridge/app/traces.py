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
with 64 threads; with `Spans`, some 6%. A burst isn't traced whole (`FirstOfASecond`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import struct
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
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

T = TypeVar("T")

log = logging.getLogger(__name__)
_NAME = "slack-project-bridge"
_SEVEN_BITS = 0x7F
_HEAD = struct.Struct("<2s16s 2s8s cQ cQ")  # trace_id, span_id, start and end, each after its tag
_FLUSH_SECONDS = 2.0  # at the end; a collector that's away must not delay it
_STORED = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])")
_SERVER, _CLIENT, _CONSUMER = 2, 3, 5  # of the protocol's SpanKind
_AT_ONCE: Final = 64  # spans
_SOON: Final = 1.0  # seconds
_A_SECOND: Final = 50  # traces


@asynccontextmanager
async def exporting(endpoint: str) -> AsyncIterator[Kinds]:
    """Export the spans of the parts of these kinds, during the block, to the collector at *endpoint*.

    Raises `ConfigurationError` if OpenTelemetry refuses one of its own variables.
    """
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: _NAME}))
    try:
        sampler = None if os.environ.get("OTEL_TRACES_SAMPLER") else FirstOfASecond(time.monotonic)
        provider = TracerProvider(sampler, shutdown_on_exit=False)
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
        spans.flush()
        flushing = threading.Thread(target=processor.shutdown, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, _FLUSH_SECONDS)


class FirstOfASecond(Sampler):
    """Samples the first 50 traces that begin within a second, as many as show what a burst is about.

    So what traces cost has a bound. *clock* is in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since, self._count = float("-inf"), 0

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        """Decide about a trace that begins now."""
        now = self._clock()
        if now - self._since >= 1:
            self._since, self._count = now, 0
        self._count += 1
        return SamplingResult(Decision.RECORD_AND_SAMPLE if self._count <= _A_SECOND else Decision.DROP)

    def get_description(self) -> str:
        """Return its name."""
        return f"{type(self).__name__}{{{_A_SECOND}}}"


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
    """The IDs of a span and its trace, in hexadecimal. https://www.w3.org/TR/trace-context."""

    trace: str
    span: str
    is_sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace}-{self.span}-0{self.is_sampled:d}"

    @classmethod
    def stored(cls, traceparent: str) -> TraceContext | None:
        """Read what `str` wrote into a record; None if there's none, as of another release."""
        match = _STORED.fullmatch(traceparent)
        return cls(match[1], match[2], match[3] == "1") if match else None


class Encoded(bytes):
    """Spans as a ScopeSpans message of the protocol has them, field for field.

    https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto/trace/v1/trace.proto, in
    https://protobuf.dev/programming-guides/encoding. Protobuf's own objects take five times as long.
    """

    __slots__ = ()
    context: ClassVar = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    """For the processor, which only asks whether it's sampled."""


class Span(NamedTuple):
    """A span that has ended, of a *kind* of the protocol's; *began* and *ended* are in ns.

    *own* is its ID, ``""`` if nothing else has it. It begins its trace if it has no *parent*.
    *error* is the name of an exception. *about* are its attributes, and *steps* its events with their times.
    """

    name: str
    kind: int
    trace: str
    own: str
    parent: TraceContext | None
    began: int
    ended: int
    error: str = ""
    about: Sequence[tuple[str, str]] = ()
    steps: Sequence[tuple[str, int]] = ()

    def encoded(self, new_id: Callable[[], int]) -> bytes:
        """Return it as a field of `Encoded`."""
        id_ = bytes.fromhex(self.own) if self.own else new_id().to_bytes(8, "big")
        head = _HEAD.pack(
            b"\x0a\x10", bytes.fromhex(self.trace), b"\x12\x08", id_, b"\x39", self.began, b"\x41", self.ended
        )
        fields = [head, _called(self.name, self.kind)]
        if self.parent:
            fields.append(_field(4, bytes.fromhex(self.parent.span)))
        fields += [_attribute(name, fact) for name, fact in self.about]
        for step, at in self.steps:
            before, after = _around(step)
            fields.append(before + at.to_bytes(8, "little") + after)
        if self.error:
            fields += (_attribute("error.type", self.error), _field(15, bytes((3 << 3, 2))))
        return _field(2, b"".join(fields))


def _field(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    if number <= _SEVEN_BITS:
        return bytes((number,))
    return bytes((number & _SEVEN_BITS | 0x80,)) + _varint(number >> 7)


@lru_cache
def _called(name: str, kind: int) -> bytes:
    return _field(5, name.encode(errors="replace")) + bytes((6 << 3, kind))


@lru_cache
def _attribute(name: str, fact: str) -> bytes:
    return _field(9, _field(1, name.encode()) + _field(2, _field(1, fact.encode(errors="replace"))))


@lru_cache
def _around(step: str) -> tuple[bytes, bytes]:
    """Return what is before and after the time, of 8 bytes, in the event of a *step*."""
    named = _field(2, step.encode())
    return _field(11, b"\x09" + bytes(8) + named)[: -8 - len(named)], named


@dataclass(slots=True, eq=False)
class Take:
    """A worker's work on a turn, which *began* then. *about* and *steps* are its span's."""

    name: str
    own: TraceContext
    parent: TraceContext | None
    began: int
    about: list[tuple[str, str]]
    steps: list[tuple[str, int]] = field(default_factory=list)


_take: ContextVar[Take | None] = ContextVar("take", default=None)
_arrived: ContextVar[int | None] = ContextVar("arrived", default=None)  # when Slack's request came, in ns


class Spans:
    """Makes spans as *provider* says, for *processor*.

    They're encoded some dozens at a time. Each by itself takes several times as long, as what a turn does in between
    leaves nothing of that in the processor's caches.
    """

    def __init__(self, provider: TracerProvider, processor: BatchSpanProcessor) -> None:
        self._ids, self._sampler, self._processor = provider.id_generator, provider.sampler, processor
        self._ended: list[Span] = []
        self._timer: asyncio.TimerHandle | None = None

    def context(self, parent: TraceContext | None, name: str) -> TraceContext:
        """Return the context of a new span; without a *parent*, it begins a trace. An unsampled one has no more."""
        if parent is not None:
            return parent._replace(span=self._new_id()) if parent.is_sampled else parent
        trace = self._ids.generate_trace_id()
        is_sampled = self._sampler.should_sample(None, trace, name).decision.is_sampled()  # type: ignore[no-untyped-call]
        return TraceContext(f"{trace:032x}", self._new_id(), is_sampled)

    def _new_id(self) -> str:
        return f"{self._ids.generate_span_id():016x}"

    def end(self, span: Span) -> None:
        """Export a span of a sampled trace, within a second or so."""
        self._ended.append(span)
        if len(self._ended) >= _AT_ONCE:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SOON, self.flush)

    def flush(self) -> None:
        """Hand over the spans that have ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ended, self._ended = self._ended, []
        if ended:
            new_id = self._ids.generate_span_id
            self._processor.on_end(Encoded(b"".join([span.encoded(new_id) for span in ended])))  # type: ignore[arg-type] # it's passed on to the exporter as it is

    async def called(self, name: str, call: Awaitable[T], own: str = "") -> T:
        """Make a *call*, whose span is called *name* and has the ID *own*; it has none outside of a turn."""
        if (take := _take.get()) is None or not take.own.is_sampled:
            return await call
        began, error = time.time_ns(), ""
        try:
            return await call
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            self.end(Span(name, _CLIENT, take.own.trace, own, take.own, began, time.time_ns(), error))

    def take(self, head: Head | None, error: str = "") -> None:
        """End the span of the task's take, and begin that of the next, if *head* is a turn."""
        if (take := _take.get()) is not None and take.own.is_sampled:
            (trace, own, _), now, more = take.own, time.time_ns(), (take.about, take.steps)
            self.end(Span(take.name, _CONSUMER, trace, own, take.parent, take.began, now, error, *more))
        take = None
        if isinstance(head, Taken):
            turn = head.record
            name, parent = f"take {turn.body.kind}", TraceContext.stored(turn.traceparent)
            take = Take(name, self.context(parent, name), parent, time.time_ns(), [("bridge.turn", turn.id)])
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
            spans.take(None, type(exc).__name__)
            raise
        spans.take(None)

    return traced


class _Traced:
    spans: Spans


class _Inbox(_Traced, Inbox):
    async def put_arrival(self, arrival: Arrival, **_: Any) -> Put:
        take = _take.get()  # of the turn that queues it
        name, parent = f"accept {arrival.inbound.kind}", take.own if take else None
        own, began = self.spans.context(parent, name), _arrived.get() or time.time_ns()
        put = await super().put_arrival(arrival, traceparent=str(own))
        if own.is_sampled and isinstance(put, Queued):
            self.spans.end(Span(name, _SERVER, own.trace, own.span, parent, began, time.time_ns()))
        return put


def _note(step: str, outcome: str = "") -> None:
    """Note a *step* of the journal, and the turn's *outcome*, without Slack's own words."""
    if (take := _take.get()) is not None:
        take.steps.append((step, time.time_ns()))
        if outcome:
            take.about.append(("bridge.outcome", outcome.partition(":")[0]))


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
        own = ""
        if (take := _take.get()) is not None:
            context = self.spans.context(take.own, operation)
            own, headers = context.span, {**(headers or {}), "traceparent": str(context)}
        return await self.spans.called(operation, super()._call(operation, *how, headers=headers, **options), own)


class _Web(_Traced, SlackWeb):
    async def call(self, method: str, *how: Any, **options: Any) -> Answer:
        return await self.spans.called(method, super().call(method, *how, **options))
