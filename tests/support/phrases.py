"""Words for people that stand in the code: string literals that read like them, with f-strings read as a whole.

Two rules, since layers differ. In those that make what is shown, every phrase is meant for people: a word with a blank
beside it, or one with a capital at its beginning. In those that only carry it, phrases are reasons for logs and traces,
which begin small and end without a full stop, so that only what begins or ends like a sentence is meant for people.
In both, whatever is the first argument of a function of `kit` is. A single small word looks like an id,
and is found only there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

PHRASE = re.compile(r"[A-Za-z]{2,}[,.:;!?…]* | [A-Za-z]{2,}|^[A-Z][a-z]+")
SENTENCE = re.compile(r"^\W*[A-Z][a-z]+\b|[A-Za-z}][.!?…:]$")
ANYTHING = re.compile(r"[A-Za-z]{2,}")

TYPED = re.compile(r"^(?:[/!][a-z{]|--)")
"""Commands and options are what people type; as such they stand in the code that reads them."""

FACTS = {"Nothing", "RecordNotUnderstood", "ConfigurationError", "TypeError", "ValueError", "TypeVar"}
"""What takes reasons that operators and programmers read."""

FACTS_NAMED = {"what", "why"}
"""Arguments that take such reasons, beside something that is shown."""


def phrases_in(code: str, *, carries: bool = False) -> Iterator[tuple[int, str]]:
    """Find words for people, with their lines; *carries*: by the rule for layers that do not make what is shown."""
    tree = ast.parse(code)
    passed_over = set(_passed_over(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("kit.") and node.args:
            yield from _read(node.args[0], ANYTHING, set())
    for node in ast.walk(tree):
        yield from _read(node, SENTENCE if carries else PHRASE, passed_over)


def _read(node: ast.AST, rule: re.Pattern[str], passed_over: set[ast.AST]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Constant | ast.JoinedStr) and node not in passed_over:
        text = _text(node)
        if rule.search(text) and not TYPED.match(text):
            yield node.lineno, text


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """Read a literal; ``{}`` stands for each value in it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def _passed_over(tree: ast.AST) -> Iterator[ast.AST]:
    """Find what is not for people: docstrings, what is logged, regexes, types, reasons, and the parts of f-strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                yield docstring
            case ast.JoinedStr(values=parts):
                yield from (part for part in parts if isinstance(part, ast.Constant))
            case ast.FormattedValue(format_spec=ast.JoinedStr() as form):
                yield from ast.walk(form)
            case ast.Call(func=called) if _is_for_others(ast.unparse(called)):
                yield from ast.walk(node)
            case ast.keyword(arg=name, value=value) if name in FACTS_NAMED:
                yield from ast.walk(value)
            case ast.arg(annotation=ast.expr() as kind) | ast.AnnAssign(annotation=kind):
                yield from ast.walk(kind)


def _is_for_others(called: str) -> bool:
    return called in FACTS or called.startswith(("log.", "re."))
