"""Samples: how each layout looks, written beside it, for the tests and `make validate-blocks`; the wheel has none.

A ``samples.py`` stands beside layouts and has one function, `samples`. Its *text* is what comes from outside, such as
names, answers, and what people type: it's hostile, long and empty in turn. Lists have *many* items. Tests find layouts
without a sample, and arguments that no sample gives the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, ParamSpec

from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import charts, kit, modals
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.lists import ListPage, list_reply, page_buttons
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import Attachment, Speaker

P = ParamSpec("P")

CHANNEL: Final = "C0123456789"
USER: Final = "U0123456789"
GROUP: Final = "S0RUNNERS"
TS: Final = "1700000000.123456"
TURN: Final = f"T1:{CHANNEL}:{TS}"
PAGES: Final = "https://project.example/"
PAGE: Final = f"{PAGES}{{id}}"
LINK: Final = f"{PAGES}archives/{CHANNEL}/p1"
DIRECT: Final = "D0123456789"
ZONE: Final = "America/Argentina/ComodRivadavia"
FACE: Final = ":fox_face:"
NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY: Final = timedelta(days=1)
ORIGIN: Final = Origin(
    channel=CHANNEL, thread_ts=TS, direct=DIRECT, author=USER, message_ts=TS,
    response_url=f"https://hooks.slack.com/actions/{'x' * 100}", is_sure=True,
)  # fmt: skip
COMMANDS: Final = [("/workflows run [workflow] [input]", "Run one. Without an input, a form asks.")] * 20


@dataclass(frozen=True, slots=True)
class Sample:
    """A *layout* with the arguments of one example."""

    layout: Callable[..., object]
    positional: tuple[object, ...]
    named: dict[str, object]

    @property
    def name(self) -> str:
        """The layout's name: ``<module>.<function>``, or ``<feature>.<function>`` if the module is its layout."""
        *_, feature, module = self.layout.__module__.split(".")
        form, name = getattr(self.layout, "__self__", None), self.layout.__name__
        function = f"{form.__name__}.{name}" if isinstance(form, type) else name
        return f"{feature if module in {'layout', 'commands'} else module}.{function}"

    def shown(self) -> object:
        """Return what the layout makes of its arguments."""
        return self.layout(*self.positional, **self.named)


def sample(layout: Callable[P, object], *positional: P.args, **named: P.kwargs) -> Sample:
    """Make a sample of *layout* with its arguments."""
    return Sample(layout, positional, named)


def agent(text: str, number: int = 7) -> Agent:
    """Return an agent whose texts are all *text*."""
    return Agent(id=number, name=text, description=text, model=text, temperature=0.5, welcome_message=text)


def workflow(text: str, number: int = 3) -> Workflow:
    """Return a workflow whose texts are all *text*; every third one is inactive."""
    is_active = number % 3 == 0
    return Workflow(id=number, name=text, description=text, is_active=is_active, trigger_type=text, node_count=7)


def speaker(text: str) -> Speaker:
    """Return an agent that speaks under its own name."""
    return Speaker(name=text, face=FACE)


def untyped(text: str) -> tuple[object, ...]:
    """Return JSON whose shape isn't documented, in the shapes that services send."""
    return text, {text: [text, {"name": text, "id": text}]}, [text, {"name": text}]


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of the parts that other layouts are made of."""
    words, button = kit.words(text), kit.button(text, "x", "y")
    option, paragraph = kit.option(text, "x"), kit.paragraph(text)
    workflows = [workflow(text, number) for number in range(many)]
    file = Attachment(name="agents.csv", content=text)
    turns = ("list:previous", "list:next")
    yield sample(card, kit.header(text), text, None, kit.rich(paragraph), buttons=[button] * many, files=[file])
    yield sample(charts.table, text, [text, text], [[text, 7]] * many)
    yield sample(kit.plain, text)
    yield sample(kit.header, text)
    yield sample(kit.section, text)
    yield sample(kit.row, text, button, NOON, LINK, is_deadline=True)
    yield sample(kit.row, text, at=NOON)
    yield sample(kit.fields, [(text, text), (text, None)])
    yield sample(kit.context, text, text)
    yield sample(kit.actions, button, button)
    yield sample(kit.rows_of, [button] * many)
    yield sample(kit.button, text, "x", text[:500], about=text, only_for=[USER], is_primary=True)
    yield sample(kit.button, text, "x", "y", asks=kit.confirm(text, text, text, text, is_danger=True))
    yield sample(kit.confirm, text, text, text, text, is_danger=True)
    yield sample(kit.trusted_context, "{since}, for {length}", since=NOON, length=DAY)
    yield sample(kit.option, text, "x", about=text)
    yield sample(kit.select, "x", text, [option] * max(many, 1), option)
    yield sample(kit.external_select, "x", text, option)
    yield sample(kit.input_block, text[:50], text, kit.select("x", text, [option]), hint=text, optional=True)
    yield sample(kit.place, CHANNEL)
    yield sample(kit.user_group, GROUP)
    yield sample(kit.words, text, bold=True)
    yield sample(kit.link, PAGE, text, id=text)
    yield sample(kit.date, NOON, LINK)
    yield sample(kit.emoji, FACE)
    yield sample(kit.paragraph, text, words)
    yield sample(kit.quotation, text)
    yield sample(kit.bullets, [paragraph, paragraph])
    yield sample(kit.code_block, text)
    yield sample(kit.rich, paragraph, paragraph)
    yield sample(kit.with_code, text, text)
    yield sample(kit.usages, [(text, text)] * max(many, 1))
    yield sample(kit.reply, text, kit.section(text), files=[file])
    yield sample(kit.note, text)
    yield sample(kit.ask, text, button, small=text)
    yield sample(page_buttons, 1, 3, 1, turns)
    yield sample(
        list_reply, "workflow", workflows, workflows, lambda item: kit.paragraph(item.name),
        ListPage(page=1, words=text[:500]), turns=turns, nothing=text, controls=[button], project=text,
    )  # fmt: skip
    yield sample(modals.modal, "x", text, text, [kit.section(text)], ORIGIN)
    yield sample(modals.page, text, [kit.section(text)], ORIGIN)
