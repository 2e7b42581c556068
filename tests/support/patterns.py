"""Every regular expression of the bridge, found in its source, and texts that would make each of them slow."""

from __future__ import annotations

import ast
import re
import re._constants as op  # type: ignore[import-not-found]  # the parser's own names, private but stable
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import bridge

ROOT = Path(bridge.__file__).parents[1]
SEARCHES = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
MATCHES = frozenset({"match", "fullmatch"})
_PLACEHOLDER = "U0X"  # for what a pattern inserts at run time


@dataclass(frozen=True, slots=True)
class Used:
    """A pattern, where it's written, and the methods it's used with."""

    module: str
    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class NotRead(Exception):
    """A pattern that can't be worked out from the source."""


@cache
def patterns() -> tuple[Used, ...]:
    """Find every pattern: each argument of a function of `re`."""
    trees = {path: _nodes(path) for path in sorted(Path(ROOT, "bridge").rglob("*.py"))}
    shared = _uses(trees.values())
    found = []
    for path, nodes in trees.items():
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        assigned = {node.value: name for node in nodes for name in _assigned(node)}
        uses = shared | {name: methods for name, methods in _uses([nodes]).items() if name.startswith("_")}
        for call in nodes:
            match call:
                case ast.ImportFrom(module="re"):
                    raise NotRead(f"{path}: import the module itself, so that its patterns are found")
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=str() as name)) if name != "escape":
                    place = f"{path.relative_to(ROOT)}:{call.lineno}"
                    pattern = re.compile(_value(call.args[0], module, place), _flags(call, name, module, place))
                    methods = {name} if name != "compile" else uses.get(assigned.get(call, ""), SEARCHES | MATCHES)
                    found.append(Used(module.__name__, place, pattern, frozenset(methods)))
    return tuple(found)


_RELEVANT = ast.Attribute | ast.Name | ast.Call | ast.Assign | ast.AnnAssign | ast.ImportFrom


def _nodes(path: Path) -> list[Any]:
    """Parse a file; return what `patterns` looks at: walking through all of it takes longest."""
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, _RELEVANT)]


def _uses(trees: Iterable[list[Any]]) -> dict[str, set[str]]:
    """For each name, the attributes that are read from it; all methods if it's passed on as a whole."""
    uses: dict[str, set[str]] = {}
    for nodes in trees:
        read = set()
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                uses.setdefault(_name(node.value), set()).add(node.attr)
                read.add(node.value)
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in read:
                uses.setdefault(node.id, set()).update(SEARCHES | MATCHES)
    return {name: attributes & (SEARCHES | MATCHES) or SEARCHES | MATCHES for name, attributes in uses.items()}


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _assigned(node: ast.AST) -> Iterator[str]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call())
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call())
        ):
            yield name


def _value(node: ast.expr, module: Any, place: str) -> Any:
    """Evaluate a pattern; what is only known at run time becomes a placeholder."""
    try:
        return eval(compile(ast.Expression(node), place, "eval"), vars(module))  # noqa: S307 - the bridge's own source
    except NameError:
        if isinstance(node, ast.JoinedStr):
            return "".join(str(_value(one, module, place)) for one in node.values)
        if isinstance(node, ast.FormattedValue):
            return _PLACEHOLDER
        raise NotRead(f"{place}: compile this pattern where its parts are known") from None


def _flags(call: ast.Call, name: str, module: Any, place: str) -> int:
    where = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(name, 2)
    given = [one.value for one in call.keywords if one.arg == "flags"] + call.args[where : where + 1]
    return int(_value(given[0], module, place)) if given else 0


# Texts


def slow_texts(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield a beginning, a unit to repeat and an end: for each repeat in *pattern* its own, and common ones."""
    parsed = parser.parse(
        pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    pumps: list[tuple[str, str]] = []
    _pumps(parsed, "", pumps)
    literals = dict.fromkeys(_literals(parsed))
    for unit in (" ", "\n", "\t", "x", "X", "0", "a ", "x\n", " \n", "é", *literals, *(f"{one}x" for one in literals)):
        yield "", unit, ""
        yield "", unit, "\0"
    for before, pump in dict.fromkeys(pumps):
        for unit in (pump, before, before + pump, f"{before}{pump}\n"):
            if unit:
                yield "", unit, "\0"
        if pump:
            yield before, pump, "\0"
            yield before, pump, before


def _pumps(items: Any, before: str, found: list[tuple[str, str]]) -> str:
    """Collect a way to each repeat, and what it repeats; return an example of all *items*."""
    shown = before
    for code, value in items:
        match code:
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                least, most, inner = value
                found += [(shown, pump) for pump in _examples(inner) if most > 1]
                once = _pumps(inner, shown, found)
                shown += once[len(shown) :] * max(least, 0)
            case op.SUBPATTERN:
                shown = _pumps(value[-1], shown, found)
            case op.ATOMIC_GROUP:
                shown = _pumps(value, shown, found)
            case op.BRANCH:
                shown, *_ = (_pumps(one, shown, found) for one in value[1])
            case op.ASSERT | op.ASSERT_NOT:
                _pumps(value[1], shown, found)
            case op.GROUPREF_EXISTS | op.GROUPREF | op.AT:
                pass
            case _:
                shown += next(_examples([(code, value)]))
    return shown


def _examples(items: Any) -> Iterator[str]:
    """Yield a few short texts that *items* match: one for each character of a set, each branch."""
    items = list(items)
    if len(items) == 1:
        yield from _one(*items[0])
        return
    firsts = [next(_one(*one), "") for one in items]
    yield "".join(firsts)
    for place, one in enumerate(items):
        for other in list(_one(*one))[1:]:
            yield "".join([*firsts[:place], other, *firsts[place + 1 :]])


def _one(code: Any, value: Any) -> Iterator[str]:
    match code:
        case op.LITERAL:
            yield chr(value)
        case op.NOT_LITERAL | op.ANY:
            yield from "x ~"
        case op.IN:
            yield from _members(value)
        case op.BRANCH:
            for one in value[1]:
                yield from _examples(one)
        case op.SUBPATTERN:
            yield from _examples(value[-1])
        case op.ATOMIC_GROUP:
            yield from _examples(value)
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            for one in _examples(value[2]):
                yield one * max(value[0], 1)
        case _:
            yield ""


_CATEGORIES = {
    op.CATEGORY_DIGIT: "0", op.CATEGORY_SPACE: " \n", op.CATEGORY_WORD: "a0_",
    op.CATEGORY_NOT_DIGIT: "x ", op.CATEGORY_NOT_SPACE: "x<", op.CATEGORY_NOT_WORD: " .",
}  # fmt: skip


def _members(members: Any) -> Iterator[str]:
    negated = members[0][0] is op.NEGATE
    if negated:
        pattern_of = {chr(value) for code, value in members[1:] if code is op.LITERAL}
        yield from (one for one in "x <[`\n" if one not in pattern_of)
        return
    for code, value in members:
        match code:
            case op.LITERAL:
                yield chr(value)
            case op.RANGE:
                yield chr(value[0])
            case op.CATEGORY:
                yield from _CATEGORIES[value]


def _literals(items: Any) -> Iterator[str]:
    """Yield runs of literal characters, and each character."""
    run = ""
    for code, value in items:
        if code is op.LITERAL:
            run += chr(value)
            yield chr(value)
            continue
        if run:
            yield run
        run = ""
        for inner in _inner(code, value):
            yield from _literals(inner)
    if run:
        yield run


def _inner(code: Any, value: Any) -> list[Any]:
    match code:
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            return [value[2]]
        case op.SUBPATTERN:
            return [value[-1]]
        case op.ATOMIC_GROUP:
            return [value]
        case op.BRANCH:
            return list(value[1])
        case op.ASSERT | op.ASSERT_NOT:
            return [value[1]]
    return []


def calls(used: Used) -> Iterator[Callable[[Any], Any]]:
    """Yield the most expensive ways in which a pattern is used.

    Replacing everything begins like a search, which begins like a match.
    """
    if used.methods & SEARCHES:
        yield lambda text: used.pattern.sub("", text) if not isinstance(text, bytes) else used.pattern.sub(b"", text)
    elif "match" in used.methods:
        yield used.pattern.match
    if "fullmatch" in used.methods:
        yield used.pattern.fullmatch
