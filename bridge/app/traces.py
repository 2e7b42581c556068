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
with 64 threads; with `Span`, some 6%, and a busy process does some 7% fewer turns per second (means of twelve runs,
which differ by as much again from process to process).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Self

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp
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
    """Sends batches of `Span`s as *resource*'s, and logs the first one that fails in a row."""

    def __init__(self, endpoint: str | None, resource: Resource) -> None:
        super().__init__(endpoint)
        self._has_failed = False
        scope = InstrumentationScope(_NAME, __version__)
        span = ReadableSpan(_NAME, INVALID_SPAN_CONTEXT, resource=resource, instrumentation_scope=scope)
        self._empty = encode_spans([span])
        self._empty.resource_spans[0].scope_spans[0].ClearField("spans")

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        request = ExportTraceServiceRequest()
        request.CopyFrom(self._empty)
        request.resource_spans[0].scope_spans[0].spans.extend(
            part.encoded() for span in spans for part in (*span.inner, span)
        )
        result = self._client.export(request.SerializeToString())
        if not (result.success or self._has_failed):
            log.warning("traces can't be sent", extra={"why": result.status_code or type(result.error).__name__})
        self._has_failed = not result.success
        return SpanExportResult.SUCCESS if result.success else SpanExportResult.FAILURE


class TraceContext(NamedTuple):
    """A span and its trace. https://www.w3.org/TR/trace-context."""

    trace: int
    span: int
    is_sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace:032x}-{self.span:016x}-0{self.is_sampled:d}"

    @classmethod
    def stored(cls, traceparent: str) -> TraceContext | None:
        """Read what `str` wrote into a record; None if there's none, as of another release."""
        match = _STORED.fullmatch(traceparent)
        return cls(int(match[1], 16), int(match[2], 16), match[3] == "1") if match else None


@dataclass(slots=True)
class Span:
    """A span, the ID of its *parent*, and what's known *about* it. It ends with its block.

    It's made and ended in a turn, so what can wait for the exporter's thread does. The calls of a *take* are handed
    over with it, as its *inner* spans, because that takes as long as all else that's done for one.
    """

    context: ClassVar = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    """For the processor, which only asks whether it's sampled."""

    processor: BatchSpanProcessor
    name: str
    kind: int
    own: TraceContext
    parent: int
    began: int
    ended: int = 0
    error: str = ""
    about: tuple[tuple[str, str], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    take: Span | None = None
    inner: tuple[Span, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end(kind)

    def end(self, error: type[BaseException] | None = None) -> None:
        """Export it, if its trace is sampled."""
        if self.own.is_sampled:
            self.ended = time.time_ns()
            if error is not None:
                self.error = error.__name__
            take, self.take = self.take, None
            if take is not None and not take.ended:
                take.inner = (*take.inner, self)
            else:
                self.processor.on_end(self)  # type: ignore[arg-type] # it's passed on to the exporter as it is

    def encoded(self) -> otlp.Span:
        """Return it as the protocol has it."""
        about = [*self.about, *([("error.type", self.error)] if self.error else [])]
        return otlp.Span(
            trace_id=self.own.trace.to_bytes(16, "big"),
            span_id=self.own.span.to_bytes(8, "big"),
            parent_span_id=self.parent.to_bytes(8, "big") if self.parent else b"",
            name=self.name,
            kind=self.kind,  # type: ignore[arg-type] # an enum only for mypy
            start_time_unix_nano=self.began,
            end_time_unix_nano=self.ended,
            attributes=[KeyValue(key=name, value=AnyValue(string_value=fact)) for name, fact in about],
            events=[otlp.Span.Event(name=step, time_unix_nano=at) for step, at in self.steps],
            status=otlp.Status(code=otlp.Status.STATUS_CODE_ERROR) if self.error else None,
        )


_take: ContextVar[Span | None] = ContextVar("take", default=None)
_arrived: ContextVar[int | None] = ContextVar("arrived", default=None)  # when Slack's request came, in ns


class Spans:
    """Makes spans as *provider* says, for *processor*."""

    def __init__(self, provider: TracerProvider, processor: BatchSpanProcessor) -> None:
        self._ids, self._sampler, self._processor = provider.id_generator, provider.sampler, processor
        self._samples_all = provider.sampler.get_description().startswith("ParentBased{root:AlwaysOnSampler")

    def begin(self, name: str, kind: int, parent: TraceContext | None, began: int | None = None) -> Span:
        """Begin a span, now or when it *began*; without a *parent*, it begins a trace."""
        id_ = self._ids.generate_span_id()
        if parent is not None:
            own, above = TraceContext(parent.trace, id_, parent.is_sampled), parent.span
        else:
            trace = self._ids.generate_trace_id()
            is_sampled = self._samples_all or self._sampler.should_sample(None, trace, name).decision.is_sampled()  # type: ignore[no-untyped-call]
            own, above = TraceContext(trace, id_, is_sampled), 0
        return Span(self._processor, name, kind, own, above, began or time.time_ns())

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
            take.about = (("bridge.turn", turn.id),)
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
        take.steps = (*take.steps, (step, time.time_ns()))
        if outcome:
            take.about = (*take.about, ("bridge.outcome", outcome.partition(":")[0]))


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
