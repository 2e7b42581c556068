"""All Redis keys are defined in one module, for Python code and Lua scripts alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from redis.asyncio import Redis

from bridge.queue.keys import TABLE, Keys, helpers, markdown
from support.tables import each

BRIDGE = Path(str(files("bridge")))
SCRIPTS = sorted(BRIDGE.rglob("*.lua"))
CODE = sorted(set(BRIDGE.rglob("*.py")) - {BRIDGE / "queue" / "keys.py"})
BEGUN = re.compile(rf"(\{{.*)?\}}:({'|'.join(key.begin for key in TABLE)}|$)")


def spelled(source: str) -> Iterator[str]:
    """Find what only that module may contain: the namespace prefix, with or without a key name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str() as text) if BEGUN.match(text):
                yield text
            case ast.Attribute(value=ast.Name(id="keys") | ast.Attribute(attr="keys"), attr="prefix"):
                yield ast.unparse(node)


def test_no_key_is_spelled_outside_the_table() -> None:
    sources = {one: source for one in CODE if "}:" in (source := one.read_text()) or ".prefix" in source}
    found = [f"{one.name}: {key}" for one, source in sources.items() for key in spelled(source)]
    found += [
        f"{one.name}: {key}" for one in SCRIPTS for key in re.findall(r".*\b(?:KEYS|prefix)\b.*", one.read_text())
    ]

    assert set(found) == {"scripting.py: self.keys.prefix"}  # passed as KEYS[1]


@each(
    "code",
    ['f"{{{namespace}}}:owner"', '"{%s}:turn:" % name', '"{*}:owner"', 'f"{self._scripts.keys.prefix}box:{lane}"'],
)
def test_a_key_spelled_elsewhere_is_found(code: str) -> None:
    assert list(spelled(code))


async def test_helpers_and_functions_spell_the_same_keys(redis: Redis) -> None:
    calls = {key.name: [f"{part}-{n}" for n, part in enumerate(key.parts)] for key in TABLE}
    script = ", ".join(f"{name}_key({', '.join(map(repr, parts))})" for name, parts in calls.items())

    keys = await redis.eval(f"{helpers(script)}\nreturn {{{script}}}", 1, "{test}:")

    assert keys == [getattr(Keys("test"), name)(*parts) for name, parts in calls.items()]
    assert keys[:3] == ["{test}:owner", "{test}:ready", "{test}:box:lane-0"]
    assert "{test}:choice:person-0:turn-1" in keys


def test_a_script_gets_the_helpers_that_it_uses() -> None:
    assert helpers("return turn_key('x')") == (
        "local prefix = KEYS[1]\nlocal function turn_key(turn) return prefix .. 'turn:' .. turn end"
    )


def test_the_printed_table_has_every_key_with_its_lifetime() -> None:
    lines = markdown().splitlines()

    assert "| `results:<turn>` | string | node results of a run, shown on demand | 7 days | turn |" in lines
    assert len(lines) == len(TABLE) + 2
