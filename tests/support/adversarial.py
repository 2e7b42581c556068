"""Untrusted text designed to be slow, and the functions that process it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import product
from typing import Any

from bridge.errors import BadAlert, BadSchedule, NoSuch, NotSure, SeveralFit
from bridge.features.alerts import conditions
from bridge.features.conversations.answers import answer_reply
from bridge.features.standing import phrases
from bridge.features.workflows import run_card
from bridge.names.matching import pick
from bridge.project import Agent
from bridge.project.models import RunResult
from bridge.slack import parts
from bridge.slack.blockkit.quotation import Quoted, with_quotation
from bridge.slack.blockkit.reply import Reply

AGENTS = [Agent(id=number, name=f"Agent {number}", model="m") for number in range(50)]

# Anything that scans repeated text twice becomes expensive.
TEXTS = {
    "prose": "The quick brown fox jumps over the lazy dog, again and again.\n\n",
    "short lines": "1\n",
    "backtick lines": "`\n",
    "no lines": "x",
    "blank lines": "\n",
    "blanks": " ",
    "lines of blanks": " \t\n",
    "returns": "\r\n",
    "unseen": "a\0",
    "no width": "\u200b",
    "emoji": "\U0001f600",
    "wide": "\u6f22\n",
    "fences": "```\n",
    "other fences": "~~~~a\n",
    "fences of many lengths": "```\n`````\n~~~\n`\n",
    "indented fences": "    ```\n",
    "overlong fences": "`" * 61 + "\n",
    "tables": "|a|b|\n|-|-|\n\n",
    "rows": "|\n",
    "rules": "-|\n",
    "blanks and a rule": "|\n" + " " * 5000 + "x-\n",
    "blanks before a fence": "x" + " " * 5000 + "```\n",
    "quotations": "> ",
    "lists": "  - x\n    - y\n",
    "emphasis": "**",
    "code": "`a`",
    "open code": "`a``b```c````d",
    "escapes": "\\[",
    "links": "[a.b](c.d) ",
    "honest links": "[http://a.b](http://a.b)\n",
    "open links": "[](",
    "open brackets": "[",
    "brackets": "[]",
    "nested brackets": "[" * 100 + "a.b" + "]:" * 100,
    "definitions": "[]:",
    "definitions without an end": "[\n",
    "long labels": "[" + "a.b" * 100 + "](",
    "links into nowhere": "[](<a",
    "images": "![](",
    "images by reference": "[a]: b\n![a]![b]",
    "tags": "<a ",
    "angles": "<",
    "broadcasts": "@here ",
    "mentions": "<@U1>",
    "labels": "<http://a.b|c>",
    "open labels": "<a:",
    "ampersands": "&",
    "entities": "&#60;!here;",
    "colons": "a: ",
    "quotes": '"',
}


def of_length(unit: str, length: int) -> str:
    """Repeat a text up to a length."""
    return (unit * (length // len(unit) + 1))[:length]


def laid_out(text: str) -> None:
    list(parts.parts_of(answer_reply(text, [text])))


def as_a_card(text: str) -> None:
    reply = shown_run(output=text, nodeResults={text: text})
    list(parts.parts_of(reply))
    parts.pieces(reply.files[0].content if reply.files else "")


def shown_run(**results: Any) -> Reply:
    run = run_card.Run(workflow=3, name="Report", input="x", started_by="Ada", turn="t")
    result = RunResult.model_validate(
        {"runId": 1, "status": "completed", "output": None, "nodeResults": None} | results
    )
    run_card.node_results(result.nodeResults)
    return run_card.finished(run, result, timedelta(seconds=1))


def picked(text: str) -> None:
    for takes_rest, acts in product((True, False), repeat=2):
        with suppress(NoSuch, NotSure, SeveralFit):
            pick("agent", f"x{text}", AGENTS, takes_rest=takes_rest, acts=acts)


def quoted(text: str) -> None:
    with_quotation(text, Quoted(text, text, (text,)), [Quoted(text, text)] * 3, left_out=0)


# Tables whose rows are compiled where they're read


def read_as_alert(text: str) -> None:
    with suppress(BadAlert):
        conditions.read_condition.__wrapped__(text)  # without its cache


def read_as_schedule(text: str) -> None:
    with suppress(BadSchedule):
        phrases.read_schedule(text.split())


_IN_ALERTS = (conditions._FILLERS, conditions._INVERTED, *(rf"(?:{row.pattern})(?!\w)" for row in conditions.ROWS))

TABLES: dict[str, tuple[list[re.Pattern[str]], Callable[[str], None], int]] = {
    "alerts": ([conditions._compiled(row) for row in _IN_ALERTS], read_as_alert, 2 * conditions.LONGEST_TEXT),
    "schedules": ([pattern for _row, pattern in phrases._PATTERNS], read_as_schedule, 1500),  # some 100 words are read
}
"""The compiled rows of each table, what reads a text by them, and the longest text that's read."""
