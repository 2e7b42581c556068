"""Words that mean harm, wherever a function takes something from outside: its arguments are made of its annotations."""

from __future__ import annotations

import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from importlib import import_module
from typing import Any

from pydantic import BaseModel

import bridge.features
from bridge import errors
from bridge.errors import BridgeError
from bridge.features.shared.numbers import PARTS
from bridge.slack import blockkit
from bridge.slack.blockkit import kit

ATTACKS = {
    "broadcasts": "<!channel> <!here> <!everyone> <!group> @channel @here @everyone",
    "broadcasts with labels": "<!channel|channel> <!here|here> <!everyone|all>",
    "broadcasts in marks": "_@here_ __@channel__ *@everyone* (@here) .@here `@here`",
    "shouted broadcasts": "<!CHANNEL> <!Here> @Channel, @EVERYONE!",
    "groups": "<!subteam^S0RUNNERS> <!subteam^S0RUNNERS|runners>",
    "people": "<@U0BOB> <@U0BOB|bob> <@W0BOB> <@w0bob> <@B0BOT>",
    "channels": "<#C0GENERAL> <#C0GENERAL|general>",
    "entities": "&lt;!channel&gt; &#60;!here&#62; &#x3C;&#33;channel&gt; &lt;@U0BOB&gt; &#64;here <&excl;channel>",
    "escapes": "\\<!channel> <\\!channel> \\@here <\\@U0BOB>",
    "dates": "<!date^1^{date}^https://evil.example|now>",
    "labels": "<https://evil.example|https://bank.example> <HTTPS://evil.example|bank> <mailto:e@evil.example|a@b.cd>",
    "links": "[https://bank.example](https://evil.example) [Go to bank.example now](<https://evil.example>)",
    "links in brackets": "[[[bank.example]]](https://evil.example) [bank.example\\]](https://evil.example)",
    "links by reference": "[bank.example][1] [bank.example][]\n\n[1]: https://evil.example\n[bank.example]: https://evil.example",
    "images": "![x](https://evil.example/p.png) ![x][1]\n\n[1]: https://evil.example/p.png",
    "code": "``` <!channel> ``` `<!here>`\n```\n<!channel>\n````\n~~~\n<@U0BOB>",
    "nested": "<<!channel>> <!<!channel>channel> <<@U0BOB>>",
    "lines": "a\n<!channel>\r\n> <!here>\n# <@U0BOB>\u2028- x\u2029y",
    "controls": "\u202eevil\u2066\u2069 \x07\x1b[31m\x00<!channel>\x7f",
    "tables": "| a | b |\n|---|---|\n| <!channel> | [bank.example](https://evil.example) |",
}


class _Everything(frozenset[Any]):
    """A set from which nothing is missing: what is chosen with it is all there."""

    def __contains__(self, _wanted: object) -> bool:
        return True


_CARRIED = {"id", "kept", "slip", "turn", "value"}
"""Names of arguments that are ours, and go into a button."""

LAYOUTS = frozenset({"layout", "answers", "asking", "forms", "menu", "notices", "run_card", "stops"})
"""The modules of a feature that lay things out; the import rules hold the same ones to being pure."""


def layouts() -> Iterator[str]:
    """Go through the modules that lay things out."""
    yield from (one.name for one in pkgutil.iter_modules(blockkit.__path__, "bridge.slack.blockkit."))
    for one in pkgutil.walk_packages(bridge.features.__path__, "bridge.features."):
        if one.name.rpartition(".")[2] in LAYOUTS:
            yield one.name


def _room(path: str) -> str:
    *_, feature, module = path.split(".")
    return feature if module == "layout" else module


def surfaces() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Go through every public function that lays something out, by ``module.name``."""
    for path in layouts():
        found = import_module(path)
        for name, function in vars(found).items():
            if inspect.isfunction(function) and function.__module__ == found.__name__ and not name.startswith("_"):
                yield f"{_room(path)}.{name}", function


def returns(function: Callable[..., Any]) -> Any:
    """What a function is annotated to return."""
    return typing.get_type_hints(function)["return"]


def results(
    function: Callable[..., Any], words: str, *, only_needed: bool = False, given: Mapping[Any, Any] | None = None
) -> Iterator[Any]:
    """Call *function* with *words* in every argument, or every needed one, in each way there is to have them there.

    *given* are values for a type in place of the usual one; for `Sequence`, how many are in each.
    """
    hints, others = typing.get_type_hints(function), given or {}
    for error in _errors(words) if BridgeError in hints.values() else [None]:
        for json in (words, {words: [words, {"name": words, "id": words}]}, [words, {"name": words}]):
            given = {**others, BridgeError: error, Any: json}
            make = lambda hint, name, given=given: _made(hint, words, given, name)  # noqa: E731 - one of each round
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
    """Make one of every class of errors, with *words* for each fact."""

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
        parameters = list(inspect.signature(kind).parameters.values())
        hints = typing.get_type_hints(kind.__init__)
        yield kind(*(_made(hints[parameter.name], words, {}, parameter.name) for parameter in parameters))


def _made(hint: Any, words: str, given: Mapping[Any, Any], name: str = "") -> Any:
    """Make a value of the type *hint*."""
    if hint in given and given[hint] is not None:
        return given[hint]
    plain: dict[Any, Any] = {
        str: words[:500] if name in _CARRIED else words,
        Any: words,
        bool: True,
        int: 3000 if name == "limit" else 7,
        float: 0.5,
        timedelta: timedelta(seconds=90),
        datetime: datetime(2026, 11, 20, 12, tzinfo=UTC),
        dict[str, Any]: kit.words(words),  # a block, or a part of one
    }
    if hint in plain:
        return plain[hint]
    if isinstance(hint, type):
        return _instance(hint, words, given)
    return _generic(hint, words, given)


def _instance(kind: type, words: str, given: Mapping[Any, Any]) -> Any:
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, BridgeError):
        return kind(
            *(_made(hint, words, {}) for name, hint in typing.get_type_hints(kind.__init__).items() if name != "return")
        )
    if issubclass(kind, BaseModel):
        values = {name: _made(field.annotation, words, given, name) for name, field in kind.model_fields.items()}
        return kind.model_validate(values, by_name=True)
    if is_dataclass(kind) or issubclass(kind, tuple):
        return kind(**{name: _made(hint, words, given, name) for name, hint in typing.get_type_hints(kind).items()})
    raise AssertionError(f"teach this file how to make {kind}")


def _generic(hint: Any, words: str, given: Mapping[Any, Any]) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, typing.NewType):
        return _made(hint.__supertype__, words, given)
    if isinstance(hint, typing.TypeVar):
        return _made(import_module("bridge.project.models").Workflow, words, given)
    if origin is typing.Annotated:
        return _made(arguments[0], words, given)
    if origin in {typing.Union, types.UnionType}:
        return _made(next(one for one in arguments if one is not type(None)), words, given)
    if origin is tuple:
        return tuple(_made(one, words, given) for one in arguments if one is not Ellipsis)
    if origin in {list, Sequence, Iterable, Iterator}:
        return [_made(arguments[0], words, given)] * given.get(Sequence, 2)
    if origin in {AbstractSet, Collection}:
        return _Everything()
    if origin in {dict, Mapping}:
        return dict.fromkeys((words, *PARTS), _made(arguments[1], words, given))
    if origin is Callable:
        return lambda item: kit.paragraph(item.name)
    raise AssertionError(f"teach this file how to make {hint}")
