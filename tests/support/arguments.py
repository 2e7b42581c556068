"""Arguments for functions of a text, made from their annotations: for tests that are about every such function."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import is_dataclass
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Final, Literal, get_origin

from pydantic import AwareDatetime, BaseModel

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.samples import NOON, workflow

type_hints: Final = cache(typing.get_type_hints)
"""The annotations of a function or class; evaluating them is most of the cost of an argument."""


def argument(hint: Any, text: str) -> Any:
    """Make a value of the type *hint* with *text* for each text in it. Raises `TypeError` for an unknown one."""
    plain: dict[Any, Any] = {
        str: text, bytes: text.encode(), object: text, Any: text, bool: True, int: 7, float: 0.5,
        timedelta: timedelta(seconds=90), AwareDatetime: NOON, type(NOON): NOON,
    }  # fmt: skip
    if hint in plain:
        return plain[hint]
    if hint == dict[str, Any]:
        return kit.words(text)  # a block, or a part of one
    return _instance(hint, text) if isinstance(hint, type) else _generic(hint, text)


def _instance(kind: type, text: str) -> Any:
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, BaseModel):
        hints = {name: field.annotation for name, field in kind.model_fields.items()}
        own = {name: hint for name, hint in hints.items() if kind not in typing.get_args(hint)}  # no reply in a reply
        return kind.model_validate({name: argument(hint, text) for name, hint in own.items()}, by_name=True)
    if issubclass(kind, Exception):
        return kind(*(argument(hint, text) for name, hint in type_hints(kind.__init__).items() if name != "return"))
    if is_dataclass(kind) or issubclass(kind, tuple):
        hints = {name: hint for name, hint in type_hints(kind).items() if get_origin(hint) is not ClassVar}
        return kind(**{name: argument(hint, text) for name, hint in hints.items()})
    raise TypeError(kind)


def _generic(hint: Any, text: str) -> Any:
    origin, arguments = get_origin(hint), typing.get_args(hint)
    if isinstance(hint, typing.NewType):
        return argument(hint.__supertype__, text)
    if isinstance(hint, typing.TypeVar):
        return workflow(text)
    if origin is typing.Annotated:
        return argument(arguments[0], text)
    if origin in {typing.Union, types.UnionType}:
        return argument(next(one for one in arguments if one is not type(None)), text)
    if origin is tuple:
        return tuple(argument(one, text) for one in arguments if one is not Ellipsis)
    if origin in {list, Sequence, Iterable, Iterator}:
        return [argument(arguments[0], text)] * 2
    if origin in {set, frozenset, AbstractSet, Collection}:
        return {argument(arguments[0], text)}
    if origin in {dict, Mapping}:
        return {text: argument(arguments[1], text)}
    if origin is Callable:
        return lambda *_: text
    if origin is Literal:
        return arguments[0]
    raise TypeError(hint)
