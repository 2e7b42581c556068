"""Find names, lists and paths in undocumented JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any

from bridge.slack.blockkit import kit

_NAME_KEYS = ("name", "label", "title", "tool", "tool_name", "toolName", "displayName", "function", "id")
_TYPE_KEYS = ("type", "node_type", "nodeType", "kind")
_SOURCE_KEYS = ("source", "from", "source_id", "sourceId", "from_node", "fromNode", "start")
_TARGET_KEYS = ("target", "to", "target_id", "targetId", "to_node", "toNode", "end")
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


def steps_of(nodes: Any, edges: Any) -> tuple[str, ...]:
    """Write each path through the nodes as ``start → agent → end``; empty if there's none."""
    names = _node_names(nodes)
    following: dict[str, list[str]] = {}
    for source, target in _connections(edges):
        if source in names and target in names:
            following.setdefault(source, []).append(target)
    if not following:
        return ()
    reached = {target for targets in following.values() for target in targets}
    beginnings = [key for key in names if key in following and key not in reached] or [next(iter(following))]
    return tuple(line for beginning in beginnings for line in _walk(beginning, following, names))


def _walk(beginning: str, following: Mapping[str, list[str]], names: Mapping[str, str]) -> Iterator[str]:
    """Follow the edges; a fork starts a new line, and nodes already shown are only named."""
    waiting, seen = [(beginning, "")], set()
    while waiting:
        key, before = waiting.pop()
        line = [before, names[key]] if before else [names[key]]
        while key not in seen and (targets := following.get(key, [])):
            seen.add(key)
            waiting += [(target, names[key]) for target in reversed(targets[1:])]
            key = targets[0]
            line.append(names[key])
        yield " → ".join(line)


def _node_names(nodes: Any) -> dict[str, str]:
    """Map node IDs to their labels: the name, with its kind if that adds something."""
    if isinstance(nodes, Mapping):
        nodes = [{"id": key, **(node if isinstance(node, Mapping) else {})} for key, node in nodes.items()]
    names: dict[str, str] = {}
    for node in nodes[:_MOST_NAMES] if isinstance(nodes, (list, tuple)) else ():
        if isinstance(node, Mapping) and isinstance(node.get("id"), (str, int)):
            kind = _type_of(node)
            name = name_of({key: value for key, value in node.items() if key != "id"})
            if name and kind and kind.casefold() != name.casefold():
                name = f"{name} ({kind})"
            names[str(node["id"])] = name or kind or kit.one_line(str(node["id"]), 60)
    return names


def _type_of(value: Mapping[str, Any]) -> str:
    kinds = (value[key] for key in _TYPE_KEYS if isinstance(value.get(key), str))
    return kit.one_line(next(kinds, ""), 40)


def _connections(edges: Any) -> Iterator[tuple[str, str]]:
    for edge in edges[: 5 * _MOST_NAMES] if isinstance(edges, (list, tuple)) else ():
        if isinstance(edge, Mapping):
            ends = [[edge.get(key) for key in keys] for keys in (_SOURCE_KEYS, _TARGET_KEYS)]
        elif isinstance(edge, (list, tuple)) and len(edge) == 2:  # noqa: PLR2004 - a pair
            ends = [[end] for end in edge]
        else:
            continue
        source, target = (next(filter(None, map(_key, end)), "") for end in ends)
        if source and target:
            yield source, target


def _key(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("id")
    return str(value) if isinstance(value, (str, int)) else ""
