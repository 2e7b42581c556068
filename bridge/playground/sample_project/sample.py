"""A believable project: workflows of every trigger type, and agents that behave differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from bridge.playground.sample_project import conversation, manual, writing
from bridge.playground.sample_project.conversation import AgentReply, Talk

Json = dict[str, Any]
Run = Callable[[Any], tuple[str, Any]]
"""Turns a workflow's input into a status and an output."""


@dataclass
class SampleWorkflow:
    """A workflow: *nodes* are ``(type, name)`` in order; *run* produces the output after *seconds*."""

    id: int
    name: str
    description: str | None
    trigger_type: str
    nodes: list[tuple[str, str]]
    run: Run
    is_active: bool = True
    seconds: float = 0.0
    tag: str = "other"  # the tag that counts its runs

    def listed(self) -> Json:
        item: Json = {
            "id": self.id,
            "name": self.name,
            "is_active": self.is_active,
            "trigger_type": self.trigger_type,
            "node_count": len(self.nodes),
        }
        return item if self.description is None else item | {"description": self.description}

    def detailed(self) -> Json:
        nodes = [{"id": f"n{at}", "type": kind, "data": {"label": name}} for at, (kind, name) in enumerate(self.nodes)]
        edges = [{"id": f"e{at}", "source": f"n{at}", "target": f"n{at + 1}"} for at in range(len(nodes) - 1)]
        return self.listed() | {"nodes": nodes, "edges": edges}

    def node_results(self, status: str, output: Any) -> Json:
        """Each node's result; the last one has the output."""
        results: Json = {
            f"n{at}": {"status": "completed", "type": kind, "name": name} for at, (kind, name) in enumerate(self.nodes)
        }
        results[f"n{len(self.nodes) - 1}"] |= {"status": status, "output": output}
        return results


@dataclass
class SampleAgent:
    """An agent: *reply* answers one message of a talk, after *seconds*."""

    id: int
    name: str
    description: str | None
    model: str
    reply: Callable[[Talk, str], AgentReply]
    temperature: float | None = None
    welcome_message: str | None = None
    tools: list[Json] = field(default_factory=list)
    seconds: float = 0.0
    tag: str = "conversations"  # the tag that counts its messages

    def listed(self) -> Json:
        """The list item, without empty fields."""
        optional = {
            "description": self.description,
            "temperature": self.temperature,
            "welcome_message": self.welcome_message,
        }
        item: Json = {"id": self.id, "name": self.name, "model": self.model}
        return item | {name: value for name, value in optional.items() if value is not None}

    def detailed(self) -> Json:
        return self.listed() | {"tools": self.tools}


def _echo(value: Any) -> tuple[str, Any]:
    return "completed", value


def _text(template: str, nothing: str) -> Run:
    """Fill *template* with the input as text, or *nothing* if it is empty."""
    return lambda value: ("completed", template.format(_in_words(value) or nothing))


def _in_words(value: Any) -> str:
    """The values of an object or a list without its keys, so that a customer isn't greeted as ``{'name': 'Ada'}``."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return ", ".join(str(value) for value in values if value not in {None, ""})


def _summary(value: Any) -> tuple[str, Any]:
    words = _in_words(value).split()
    return "completed", {"words": len(words), "summary": " ".join(words[:12]), "language": "en"}


def _fail(_given: Any) -> tuple[str, Any]:
    return "failed", {"error": "The mail server rejected the message (550)."}


def _huge(_given: Any) -> tuple[str, Any]:
    rows = [{"row": row, "customer": f"Customer {row:04}", "total": round(row * 17.35, 2)} for row in range(2000)]
    return "completed", {"rows": rows}


def _order(value: Any) -> tuple[str, Any]:
    return "completed", {"order": 1043, "accepted": True, "items": value, "ships": "tomorrow"}


def _numbers(_given: Any) -> tuple[str, Any]:
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
    return "completed", [
        {"day": day, "orders": 31 + 7 * at, "revenue": round(812.4 + 96.1 * at, 2)} for at, day in enumerate(days)
    ]


def _digest(value: Any) -> tuple[str, Any]:
    day = value.get("day", "today") if isinstance(value, dict) else value or "today"
    return "completed", f"Digest for {day}: 42 orders, 3 open tickets, green tea is running low."


_NODES: Final = {
    "write": ("agent", "Write"),
    "check": ("condition", "Is it complete?"),
    "shape": ("transform", "Shape"),
}


def _workflow(  # noqa: PLR0917 - a row of the table below
    id_: int, name: str, description: str | None, trigger_type: str, does: str, run: Run, tag: str, **more: Any
) -> SampleWorkflow:
    """A workflow that *does* these between its start and its end: words of `_NODES`."""
    nodes = [("start", "Start"), *(_NODES[node] for node in does.split()), ("end", "End")]
    return SampleWorkflow(id_, name, description, trigger_type, nodes, run, tag=tag, **more)


def workflows() -> list[SampleWorkflow]:
    greet, report = _text("Hello {}, good to see you!", "there"), _text("The report on {} is ready.", "everything")
    return [
        _workflow(1, "Echo", "Returns its input.", "manual", "", _echo, "tests"),
        _workflow(2, "Summarize text", "Counts the words and shortens the text.", "manual", "write", _summary, "texts"),
        _workflow(3, "Greet a customer", None, "manual", "write", greet, "texts"),
        _workflow(
            4, "Daily digest", "Sent every day at 08:00.", "schedule", "shape write", _digest, "reports", seconds=0.6
        ),
        _workflow(5, "Weekly numbers", "Orders and revenue by day.", "schedule", "shape", _numbers, "reports"),
        _workflow(6, "New order", "Runs when the shop takes an order.", "webhook", "check shape", _order, "orders"),
        _workflow(7, "Support ticket", "Sorts and answers tickets.", "webhook", "write check", _summary, "customers"),
        _workflow(8, "Invoice received", "Runs on every email.", "email", "shape check", _echo, "orders"),
        _workflow(9, "Slow report", "Takes 8 seconds.", "manual", "shape", report, "reports", seconds=8),
        _workflow(
            10, "Send newsletter", "Fails, so you see what that looks like.", "manual", "write", _fail, "customers"
        ),
        _workflow(11, "Export everything", "Produces a very long output.", "api", "shape", _huge, "reports"),
        _workflow(12, "Old import", "Turned off.", "event", "", _echo, "orders", is_active=False),
    ]


TAGS_SO_FAR = {"orders": 412, "reports": 367, "customers": 301, "texts": 158, "tests": 42, "conversations": 0}
"""Uses of each tag before the first visit; they add up to the runs so far."""


DEFAULT_AGENT = "Support"
"""Answers messages that name no agent."""


def agents() -> list[SampleAgent]:
    search: Json = {"id": 1, "name": "search_docs", "description": "Searches the manual."}
    clock: Json = {"id": 2, "name": "current_time", "description": "Tells the time."}
    orders: Json = {"id": 3, "name": "order_status", "description": "Knows where an order is."}
    return [
        SampleAgent(
            1,
            "Memory",
            "Remembers what you tell it: names, numbers, favorite colors.",
            "sample-small",
            conversation.reading(conversation.remember),
            temperature=0.2,
            welcome_message="Tell me your name, or a number to remember.",
        ),
        SampleAgent(
            2,
            "Writer",
            "Answers in rich Markdown: tables, code, lists.",
            "sample-large",
            conversation.reading(writing.write),
            temperature=0.7,
            welcome_message="Ask for a table, code, a list, a file, or something long.",
        ),
        SampleAgent(
            3,
            "Thinker",
            "Takes 6 seconds for every answer.",
            "sample-large",
            conversation.reading(conversation.think),
            seconds=6,
        ),
        SampleAgent(
            4,
            "Support",
            "Looks things up in the shop's manual and orders.",
            "sample-small",
            conversation.reading(manual.look_up),
            temperature=0.0,
            welcome_message="Ask me about shipping, returns or an order, or have one cancelled.",
            tools=[search, clock, orders],
        ),
        SampleAgent(5, "Grumpy", "Fails when you ask it to.", "sample-small", conversation.grumble),
    ]
