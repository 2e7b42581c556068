"""Samples of every layout of the bridge, found by their types, so that no list has to be maintained.

`surfaces` finds the layouts; their arguments are made from their annotations. `make validate-blocks` sends the samples
to Slack, and the tests of layouts use the same functions, which fail for an unknown type of argument.

They aren't written by hand, beside each layout: 193 layouts with 547 arguments of 92 types would take some 900 lines
where this takes 420, most of this would stay (`proof/test_linear.py` makes the arguments of 160 other functions), and a
new argument that takes a text would get no hostile one until someone thinks of it.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import types
import typing
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache, wraps
from importlib import import_module
from typing import Any, ClassVar, Final, Literal, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from bridge import ends, engine, errors, features
from bridge.engine.results import Modal
from bridge.errors import BadAlert, BridgeError
from bridge.features.alerts import layout as alerts
from bridge.features.alerts.alert import AlertSpec, Period, Preview, StoredAlert
from bridge.features.schedules import layout as schedules
from bridge.features.schedules.forms import QuestionForm, ReportForm, ScheduledRunForm
from bridge.features.schedules.kind import SCHEDULES
from bridge.features.schedules.layout import REPORT, ShownTask
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    StoredTask,
    read_question,
    read_report,
    read_run,
)
from bridge.features.standing.kind import Heading, Kind, ListRow, Noun, ShownThing
from bridge.features.standing.layout import A_PAGE
from bridge.features.statistics.layout import Note, Trend, nothing_yet
from bridge.features.statistics.numbers import NUMBERS, PARTS, Changes
from bridge.features.statistics.work import Tally
from bridge.project.models import Agent, Workflow
from bridge.slack import blockkit
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import Attachment, Block, Reply, View
from bridge.slack.parts import parts_of
from support.unsafe_markup import CHANNEL, GROUP, OWN_PAGES


class _Everything(frozenset[Any]):
    """A set that contains everything."""

    def __contains__(self, _wanted: object) -> bool:
        return True


_CARRIED: Final = {"as_meant", "as_text", "chosen", "editing", "id", "input_turn", "key", "turn", "value"}
"""Names of arguments that go into a button, and have values of the bridge's own."""

_PAGE: Final = f"{OWN_PAGES}{{id}}"
_CHOSEN: Final = {
    "answers": "mentions", "replies": "all", "face": ":fox_face:", "does": "run", "url": _PAGE, "template": _PAGE,
    "reply_link": f"{OWN_PAGES}archives/C1/p1", "thread_link": f"{OWN_PAGES}archives/C1/p1",
    "card_link": f"{OWN_PAGES}archives/C1/p1", "link": f"{OWN_PAGES}archives/C1/p1", "asker": "U0ALICE",
    "group": GROUP, "result": "sent", "of": "s",
}  # fmt: skip
"""Arguments that must be one of a few words, or come from a setting, with a value."""

_IDS: Final = {"only_for": ("U0BOB",), "groups": (GROUP,)}
"""Arguments that are IDs of Slack's."""

LAYOUTS: Final = frozenset({
    "answers", "asking", "buttons", "failures", "forms", "layout", "menu", "notices", "refusals", "run_card", "stops",
})  # fmt: skip
"""The modules of a feature with layouts; the import rules keep the same modules pure."""


type_hints: Final = cache(typing.get_type_hints)
"""The annotations of a function or class; evaluating them is most of the cost of a sample."""


def surfaces() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public layout function, by ``module.name``, or ``feature.name`` from its layout and commands."""
    bricks = [one.name for one in pkgutil.iter_modules(blockkit.__path__, "bridge.slack.blockkit.")]
    packages = [
        one.name
        for package in (ends, engine, features)
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    for path in (*bricks, *packages):
        *_, feature, module = path.split(".")
        is_pure = path in bricks or module in LAYOUTS
        for name, function in vars(import_module(path)).items():
            if is_pure and isinstance(function, Reply) and not name.startswith("_"):
                yield f"{module}.{name.lower()}", _constant(function)
            if not inspect.isfunction(function) or function.__module__ != path or name.startswith("_"):
                continue
            if inspect.iscoroutinefunction(function):
                continue
            if path not in bricks and Reply in list(type_hints(function).values())[:-1]:
                continue  # it only adds to a reply
            called = f"{feature if module in {'layout', 'commands'} else module}.{name}"
            if returns(function) is Modal:
                yield from _parts_of(called, function)
            elif is_pure or returns(function) in {Reply, View}:
                yield called, function
    for function in (report_form, question_form, run_form):
        yield from _parts_of(f"schedules.{function.__name__}", function)


def report_form(origin: Origin, zone: str, spec: ReportSpec) -> Modal:
    return ReportForm.task(origin, zone, None, spec)


def question_form(origin: Origin, zone: str, agent: Agent | None, spec: QuestionSpec | None = None) -> Modal:
    return QuestionForm.task(origin, zone, agent, spec)


def run_form(origin: Origin, zone: str, workflow: Workflow | None, spec: RunSpec | None = None) -> Modal:
    return ScheduledRunForm.task(origin, zone, workflow, spec)


def _parts_of(name: str, function: Callable[..., Modal]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what opens a form as two layouts: the form, and the offer of it if it's too late."""
    for called, part, kind in ((name, "view", View), (f"{name} offered", "otherwise", Reply)):
        layout = wraps(function)(lambda *args, part=part, **named: getattr(function(*args, **named), part))
        layout.__annotations__ = {**function.__annotations__, "return": kind}
        yield called, layout


def _constant(shown: Reply) -> Callable[[], Reply]:
    def constant() -> Reply:
        return shown

    return constant


def returns(function: Callable[..., Any]) -> Any:
    """Return a function's return annotation."""
    return type_hints(function)["return"]


def results(
    function: Callable[..., Any], words: str, *, only_needed: bool = False, given: Mapping[Any, Any] | None = None
) -> Iterator[Any]:
    """Call *function* with *words* in every argument, or every required one, in each possible form.

    *given* has values for a type, or for the name of a text argument, in place of the default; for `Sequence`, how many
    items each has.
    """
    hints, others = type_hints(function), {**_set_up(words, (given or {}).get(Sequence, 2)), **(given or {})}
    for error in _errors(words) if BridgeError in hints.values() else [None]:
        for untyped in (words, {words: [words, {"name": words, "id": words}]}, [words, {"name": words}]):
            given = {**others, BridgeError: error, Any: untyped}
            make = lambda hint, name, given=given: _made(hint, words, given, name)  # noqa: E731 - bound to this round's values
            yield _called(function, hints, make, only_needed=only_needed)
            if Any not in hints.values():
                break


def _called(
    function: Callable[..., Any], hints: Mapping[str, Any], make: Callable[[Any, str], Any], *, only_needed: bool
) -> Any:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if only_needed and parameter.default is not parameter.empty:
            continue
        match parameter.kind:
            case parameter.VAR_POSITIONAL:
                positional += [make(hints[parameter.name], parameter.name)] * 2
            case parameter.VAR_KEYWORD:
                named["bold"] = True
            case parameter.KEYWORD_ONLY:
                named[parameter.name] = make(hints[parameter.name], parameter.name)
            case _:
                positional.append(make(hints[parameter.name], parameter.name))
    return function(*positional, **named)


def _errors(words: str) -> Iterator[BridgeError]:
    """Make an error of every class, with *words* for each fact."""

    def of(base: type[BridgeError]) -> Iterator[type[BridgeError]]:
        yield base
        for derived in base.__subclasses__():
            yield from of(derived)

    for kind in of(BridgeError):
        if kind.__module__ != errors.__name__:
            continue
        if kind.__init__ is BridgeError.__init__:
            yield kind()
            continue
        hints = type_hints(kind.__init__)
        yield kind(**{name: _made(hints[name], words, {}, name) for name in inspect.signature(kind).parameters})


def _made(hint: Any, words: str, given: Mapping[Any, Any], name: str = "") -> Any:
    """Make a value of the type *hint*."""
    if name in _IDS and hint == tuple[str, ...]:
        return _IDS[name]
    if hint is str and (name in given or name in _CHOSEN):
        return given.get(name, _CHOSEN.get(name))
    if hint in given and given[hint] is not None:
        return given[hint]
    plain: dict[Any, Any] = {
        str: words[:500] if name in _CARRIED else words,
        Any: words,
        bool: True,
        int: 3000 if name == "limit" else 7,
        float: 0.5,
        timedelta: timedelta(seconds=90),
        datetime: _MOMENT,
        AwareDatetime: _MOMENT,
        Attachment: Attachment(name="agents.csv", content=words),
        Tally: Tally(good=7, failed=2, unknown=1, times=Counter({3: 7})),
    }
    if hint in plain:
        return plain[hint]
    if hint == dict[str, Any]:
        return kit.words(words)  # a block, or a part of one
    if isinstance(hint, type):
        return _instance(hint, words, given)
    return _generic(hint, words, given)


def _instance(kind: type, words: str, given: Mapping[Any, Any]) -> Any:
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, BridgeError):
        return kind(*(_made(hint, words, {}) for name, hint in type_hints(kind.__init__).items() if name != "return"))
    if issubclass(kind, BaseModel):
        fields = {name: field.annotation for name, field in kind.model_fields.items() if kind not in _named(field)}
        values = {name: _made(hint, words, given, name) for name, hint in fields.items()}
        return kind.model_validate(values, by_name=True)
    if is_dataclass(kind) or issubclass(kind, tuple):
        hints = {name: hint for name, hint in type_hints(kind).items() if get_origin(hint) is not ClassVar}
        return kind(**{name: _made(hint, words, given, name) for name, hint in hints.items()})
    raise AssertionError(f"teach this file how to make {kind}")


def _named(field: FieldInfo) -> tuple[Any, ...]:
    """The types in a field's annotation: a reply in a reply would have no end."""
    return (field.annotation, *typing.get_args(field.annotation))


def _numbered(one: Any, number: int) -> Any:
    """Make the ID of one of several items unique, if it has one."""
    id_ = getattr(one, "id", None)
    if isinstance(one, BaseModel) and isinstance(id_, int):
        return one.model_copy(update={"id": id_ + number})
    if isinstance(id_, str) and is_dataclass(one) and not isinstance(one, type):
        return replace(one, id=f"{id_}{number}")
    if isinstance(id_, str) and isinstance(one, tuple):
        return one._replace(id=f"{id_}{number}")  # type: ignore[attr-defined]
    return one


def _generic(hint: Any, words: str, given: Mapping[Any, Any]) -> Any:
    origin, arguments = get_origin(hint), typing.get_args(hint)
    if isinstance(hint, typing.NewType):
        return _made(hint.__supertype__, words, given)
    if isinstance(hint, typing.TypeVar):
        return _made(Workflow, words, given)
    if origin is typing.Annotated:
        return _made(arguments[0], words, given)
    if origin in {typing.Union, types.UnionType}:
        return _made(next(one for one in arguments if one is not type(None)), words, given)
    if origin is tuple:
        return tuple(_made(one, words, given) for one in arguments if one is not Ellipsis)
    if origin in {list, Sequence, Iterable, Iterator}:
        one = _made(arguments[0], words, given)
        return [_numbered(one, number) for number in range(given.get(Sequence, 2))]
    if origin in {AbstractSet, Collection}:
        return _Everything()
    if origin in {dict, Mapping}:
        return dict.fromkeys((words, *PARTS), _made(arguments[1], words, given))
    if origin is Callable:
        return lambda item: str(item) if isinstance(item, int) else kit.paragraph(item.name)
    if origin is Literal:
        return arguments[0]
    if isinstance(origin, type) and is_dataclass(origin):  # TimedRecord[…]
        of = zip(origin.__parameters__, arguments, strict=True)  # type: ignore[attr-defined]
        return _instance(origin, words, {**given, **{name: _made(kind, words, given) for name, kind in of}})
    raise AssertionError(f"teach this file how to make {hint}")


_UGLY: Final = (
    "<!channel> @here <@U0BOB> <#C0GENERAL|x> *b* _i_ `c` ```f``` <https://example.com|label> [l](https://example.com) "
    "&amp; &lt;!here&gt; \u05e9\u05dc\u05d5\u05dd \u202eoverride\u2066 👩\u200d👧 🇩🇪 ✅ \x07\x00 | a | b |\n> line\n\n"
)
_SAMPLES: Final = (("Weekly report", 2), ("Weekly report", 0), (" ", 1), (_UGLY, 3), (_UGLY * 40, 300))
"""The text for every argument, and how many items to make for each sequence."""


_MOMENT: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
_ZONE: Final = "America/Argentina/ComodRivadavia"
_REPORT: Final = read_report(f'cron "*/5 8-18 1-31 * mon-fri" {_ZONE} --compare 7d --only runs,tags').model_copy(
    update={"channel": CHANNEL, "owner": "U0123456789"}
)
_OF_BOB: Final = {"channel": CHANNEL, "owner": "U0123456789", "zone": _ZONE}
_ALERT: Final = AlertSpec(
    condition=f'category "{"Billing " * 20}" > 40%', run=3, run_name="Import " * 20, channel=CHANNEL,
    owner="U0123456789", zone=_ZONE,
)  # fmt: skip
_FIXED: Final[Mapping[Any, Any]] = {
    "channel": CHANNEL,
    "id": "A0123456789",
    "user": "U0123456789",
    "message_ts": "1700000000.123456",
    "thread_ts": "1700000000.123456",
    "called": "yesterday",
    "zone": _ZONE,
    ReportSpec: _REPORT,
    QuestionSpec: read_question(7, 'monthly 30 9 --continue "What about {{stats}}?"').model_copy(update=_OF_BOB),
    RunSpec: read_run(3, 'weekdays 8:30 --overlap wait {"day": "{{date}}"}').model_copy(update=_OF_BOB),
    StoredTask: StoredTask("0123456789abcdef", _REPORT, _MOMENT, paused="restricted_action_read_only_channel"),
    AlertSpec: _ALERT,
    StoredAlert: StoredAlert("0123456789abcdef", _ALERT, paused="restricted_action_read_only_channel"),
    Preview: Preview(
        _MOMENT - timedelta(days=30),
        [Period(_MOMENT - timedelta(days=days), None if days == 1 else _MOMENT) for days in range(30, 0, -1)],
        [(_MOMENT - timedelta(hours=hours), hours) for hours in range(720, 0, -1)],
    ),
    BadAlert: BadAlert("condition", "when it rains"),
    Trend: Trend(NUMBERS[1], [(_MOMENT - timedelta(days=days), 1000 * (21 - days)) for days in range(20, 0, -1)]),
    Note: nothing_yet(_MOMENT),
    Sequence[tuple[str, str]]: [("/workflows run [workflow] [input]", "Run one. Without an input, a form asks.")] * 20,
    Origin: Origin(
        channel=CHANNEL, thread_ts="1700000000.123456", direct="D0123456789", author="U0123456789",
        message_ts="1700000000.123456", response_url=f"https://hooks.slack.com/actions/{'x' * 100}", is_sure=True,
    ),
}  # fmt: skip
"""Values that never come from outside: IDs, schedules, usage lines, and the origins that forms carry."""


def _set_up(words: str, many: int) -> Mapping[Any, Any]:
    """Return things that people set up, and how a list shows them: a task, an alert, and so on."""
    link = _CHOSEN["link"]
    about: Any = {"called": words, "owner": words, "project": words, "offers": _Everything()}
    task = ShownTask(record=_FIXED[StoredTask], target=words, said=words, link=link, thread_link=link, **about)
    spec = AlertSpec(condition=f"tag {words} > 5", run=3, run_name=words, channel=CHANNEL, owner="U0123456789")
    alert = ShownThing(record=StoredAlert("0123456789abcdef", spec, paused="is_archived"), **about)
    rows = [(task, schedules.row(task, "0:x")), (alert, alerts.row(alert, "0:x", _MOMENT))]
    listed = [
        (replace(shown, record=_numbered(shown.record, number)), row)
        for number in range(min(many, A_PAGE))
        for shown, row in [rows[number % 2]]
    ]
    return {
        Kind[Any]: SCHEDULES,
        Heading: Heading("Schedules", "Nothing is scheduled yet.", [kit.button("Schedule…", "x", "-")]),
        Noun: REPORT,
        Reply | None: kit.reply(f"Deleted: {kit.one_line(words, 200)}."),
        ShownThing[Any]: task,
        ShownThing[StoredAlert]: alert,
        ShownTask: task,
        ListRow: rows[0][1],
        Sequence[tuple[ShownThing[Any], ListRow]]: listed,
    }


@dataclass(frozen=True, slots=True)
class Sample:
    """One result of a layout: a ``message`` or a ``view``, as sent to Slack."""

    layout: str
    kind: Literal["message", "view"]
    payload: dict[str, Any]


def samples() -> Iterator[Sample]:
    """Yield samples of all layouts, each once: with ordinary text, hostile text, no text, and a lot of it."""
    seen: set[str] = set()
    for name, function in surfaces():
        if returns(function) not in {Reply, View} or name.startswith(_BRICKS):
            continue
        for words, many in _SAMPLES[-1:] if BridgeError in type_hints(function).values() else _SAMPLES:
            if not many and name in _NEVER_EMPTY:
                continue
            given = {**_FIXED, Sequence: many, Block: kit.section(words), Sequence[Block]: [kit.section(words)] * 5}
            given[Sequence[Changes]] = [_made(Changes, words, given)] * 2
            both = [True, False] if bool in type_hints(function).values() and words == "Weekly report" else [True]
            for shown in (one for is_so in both for one in results(function, words, given={**given, bool: is_so})):
                for sample in _as_sent(name, shown):
                    text = json.dumps(sample.payload, sort_keys=True)
                    if text not in seen:
                        seen.add(text)
                        yield sample


_BRICKS: Final = ("card.", "kit.", "charts.", "lists.", "modals.")
"""Modules whose functions make parts of layouts."""


_NEVER_EMPTY: Final = ("menu.agent_menu",)
"""Layouts shown only if there's something to choose from."""


def _as_sent(name: str, shown: Reply | View) -> Iterator[Sample]:
    if isinstance(shown, Reply):
        for part in parts_of(shown):
            for form in (part.blocks, *part.plainer):
                if form:
                    yield Sample(name, "message", {"text": part.text, "blocks": list(form)})
    elif shown.get("type") in {"modal", "home"}:
        yield Sample(name, "view", shown)
