"""Find names and lists in undocumented JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any

from bridge.slack.blockkit import kit

_NAME_KEYS = ("name", "label", "title", "tool", "tool_name", "toolName", "displayName", "function", "id")
_TYPE_KEYS = ("type", "node_type", "nodeType", "kind")
_INNER_KEYS = ("data", "config", "properties")
_DEEPEST = 5
_MOST_NAMES = 200
_MOST_LISTED = 1000  # names, in all lists together


def name_of(value: Any, depth: int = 0) -> str:
    """Find the name in a value; ``""`` if nothing looks like one."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return kit.one_line(str(value), 60)
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return ""
    named = (name_of(value[key], depth + 1) for key in (*_NAME_KEYS, *_INNER_KEYS) if key in value)
    return next((name for name in named if name), "") or _type_of(value)


def names_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names in a list of strings, objects or such lists, or the keys of an object that maps names."""
    if isinstance(value, (list, tuple)):
        if depth <= _DEEPEST:
            for item in value[:_MOST_NAMES]:
                yield from names_in(item, depth + 1)
    elif isinstance(value, Mapping) and not any(key in value for key in (*_NAME_KEYS, *_TYPE_KEYS)):
        yield from (name for key in list(value)[:_MOST_NAMES] if (name := name_of(str(key))))
    elif name := name_of(value):
        yield name


def listed(names: Iterator[str] | Sequence[str], limit: int) -> str:
    """Write names in one line, each once with its count, and count those that don't fit."""
    counts = Counter(islice(names, _MOST_LISTED))
    written = [name if count == 1 else f"{name} (x{count})" for name, count in counts.items()]
    line = ", ".join(written)
    if len(line) <= limit:
        return line
    # As many names as fit, with commas.
    fitting = sum(1 for length in accumulate(len(name) + 2 for name in written) if length - 2 <= limit)
    for shown in range(max(fitting, 1), 0, -1):
        line = kit.first_of(written, shown)
        if len(line) <= limit:
            break
    return kit.cut(line, limit)


def how_many(value: Any) -> int | None:
    """Count the elements of a list or object; None for anything else."""
    return len(value) if isinstance(value, (list, tuple, Mapping)) else None


def nodes_in(nodes: Any) -> Iterator[str]:
    """Yield the name of each node, with its kind if that adds something, from a list or an object that maps IDs."""
    if isinstance(nodes, Mapping):
        nodes = [{"id": key, **(node if isinstance(node, Mapping) else {})} for key, node in nodes.items()]
    for node in nodes[:_MOST_NAMES] if isinstance(nodes, (list, tuple)) else ():
        if isinstance(node, Mapping):
            kind, name = _type_of(node), name_of({key: value for key, value in node.items() if key != "id"})
            if name and kind and kind.casefold() != name.casefold():
                yield f"{name} ({kind})"
            elif name := name or name_of(node):
                yield name
        else:
            yield from names_in(node)


def _type_of(value: Mapping[str, Any]) -> str:
    kinds = (value[key] for key in _TYPE_KEYS if isinstance(value.get(key), str))
    return kit.one_line(next(kinds, ""), 40)
