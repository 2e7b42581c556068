"""What every layout shows, from the samples beside the layouts (`bridge.slack.blockkit.samples`).

``make validate-blocks`` sends it to Slack, and the tests of layouts check it.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import bridge
from bridge import ends, engine, features
from bridge.engine.results import Modal
from bridge.slack import blockkit
from bridge.slack.blockkit.reply import Reply, View
from bridge.slack.blockkit.samples import Sample
from bridge.slack.parts import parts_of
from support.arguments import type_hints

_CODE: Final = Path(bridge.__file__).parents[1]
BRICKS: Final = "bridge.slack.blockkit"
"""The room of what layouts are made of."""

ROOMS: Final = sorted(".".join(path.relative_to(_CODE).parts[:-1]) for path in _CODE.glob("bridge/**/samples.py"))
"""The packages with samples."""

LAYOUTS: Final = frozenset({
    "answers", "asking", "buttons", "failures", "forms", "layout", "menu", "notices", "refusals", "run_card", "stops",
})  # fmt: skip
"""The modules with nothing but layouts; the import rules keep the same modules pure."""


def samples_of(room: str, text: str, many: int = 2) -> Iterator[Sample]:
    """Yield the samples of a room, with *text* for what comes from outside, and *many* items in lists."""
    yield from import_module(f"{room}.samples").samples(text, many)


def shown_in(room: str, text: str, many: int = 2) -> Iterator[tuple[str, Any]]:
    """Yield the name of each layout of a room, and what it shows: a reply, a view, or blocks.

    What opens a form shows two things: the form, and the offer of it if it's too late.
    """
    for sample in samples_of(room, text, many):
        match sample.shown():
            case Modal() as modal:
                yield sample.name, modal.view
                yield f"{sample.name} offered", modal.otherwise
            case shown:
                yield sample.name, shown
    yield from constants(room)


def constants(room: str) -> Iterator[tuple[str, Reply]]:
    """Yield the replies of a room that have no arguments."""
    for module in modules_in(room):
        for name, value in vars(module).items():
            if isinstance(value, Reply) and not name.startswith("_"):
                yield f"{module.__name__.rpartition('.')[2]}.{name.lower()}", value


def modules_in(room: str) -> Iterator[Any]:
    """Import the modules of a room, without those of the rooms in it."""
    package = import_module(room)
    for one in pkgutil.iter_modules(package.__path__, f"{room}."):
        if not one.ispkg:
            yield import_module(one.name)


def layouts() -> Iterator[Callable[..., Any]]:
    """Yield every public function that makes a reply or a form, or in a module with layouts, a view or blocks."""
    for package in (blockkit, ends, engine, features):
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_pure = package is blockkit or one.name.rpartition(".")[2] in LAYOUTS
            makes = {Reply, Modal, View, list[View]} if is_pure else {Reply, Modal}
            for name, function in vars(import_module(one.name)).items():
                is_here = inspect.isfunction(function) and function.__module__ == one.name
                if is_here and not name.startswith("_") and not inspect.iscoroutinefunction(function):
                    *arguments, made = type_hints(function).values()
                    if made in makes and Reply not in arguments:  # else it only adds to a reply
                        yield function


UGLY: Final = (
    "<!channel> @here <@U0BOB> <#C0GENERAL|x> *b* _i_ `c` ```f``` <https://example.com|label> [l](https://example.com) "
    "&amp; &lt;!here&gt; \u05e9\u05dc\u05d5\u05dd \u202eoverride\u2066 👩\u200d👧 🇩🇪 ✅ \x07\x00 | a | b |\n> line\n\n"
)
TEXTS: Final = (("Weekly report", 2), ("Weekly report", 0), (" ", 1), (UGLY, 3), (UGLY * 40, 300))


@dataclass(frozen=True, slots=True)
class Payload:
    """What a *layout* sends to Slack: a ``message`` or a ``view``."""

    layout: str
    kind: Literal["message", "view"]
    sent: dict[str, Any]


def payloads() -> Iterator[Payload]:
    """Yield what all layouts send, each once: with ordinary text, hostile text, no text, and a lot of it."""
    seen: set[str] = set()
    for room in ROOMS:
        for text, many in TEXTS if room != BRICKS else ():
            for name, shown in shown_in(room, text, many):
                for payload in _as_sent(name, shown):
                    written = json.dumps(payload.sent, sort_keys=True)
                    if written not in seen:
                        seen.add(written)
                        yield payload


def _as_sent(name: str, shown: object) -> Iterator[Payload]:
    if isinstance(shown, Reply):
        for part in parts_of(shown):
            for form in (part.blocks, *part.plainer):
                if form:
                    yield Payload(name, "message", {"text": part.text, "blocks": list(form)})
    elif isinstance(shown, dict) and shown.get("type") in {"modal", "home"}:
        yield Payload(name, "view", shown)
