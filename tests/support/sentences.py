"""Every sentence for people and operators in one list, so that a change of words is seen: ``sentences.txt``.

``make reference`` writes it beside the generated pages, and a test compares it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

from bridge import errors
from bridge.cli.audit import REFUSALS, RESULTS
from bridge.cli.check.access import explained
from bridge.cli.rows import CURE_OF_BOT, trouble_lines, trouble_row
from bridge.config_tables import ACTS
from bridge.ends import End, failures, messages as ends, notices, refusals
from bridge.ends.failures import failure
from bridge.ends.refusals import no_longer
from bridge.features.standing import kind as standing_kind
from bridge.policy import rules, words as rule_words
from bridge.policy.rules import Asked, Rule, RuleList, Target, Verdict
from bridge.queue.redis.refusals import in_words
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply, View
from support.failure_causes import NOTICES
from support.failures import EXAMPLES
from support.layouts import BRICKS, ROOMS, shown_in

FILE: Final = Path(__file__).parents[1] / "surface" / "sentences.txt"
NAME: Final = "Weekly import"
_LINE: Final = re.compile(r"\n(?:• |> )?|^> ")
"""Between the lines of a text, with the marks of lists and quotations."""

_MOMENT: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
_RULES: Final = (
    Rule(1, who=frozenset({"S0OPS"}), may=frozenset({"run"}), channels=frozenset({"C0OPS"})),
    Rule(2, who=frozenset({"guests"}), refuse=True),
    Rule(3, may=frozenset({"ask"}), agents=("Support",)),
)
_NAMED: Final = {"S0OPS": "@ops", "C0OPS": "#ops"}


def sentences(prefix: str = "") -> str:
    """Return all of them, a line for each, by where they're shown; *prefix* is the slash commands'."""
    lines = [
        line.replace("\n", "⏎")
        for part in (_explained(), _notices(), _failures(), _laid_out(), _of_operators(), _of_rules())
        for line in part
    ]
    text: str = kit.as_typed("".join(f"{line}\n" for line in dict.fromkeys(lines)), prefix)
    return text


def _explained() -> Iterator[str]:
    """What `!why`, the trace and the audit say about a message."""
    tables: dict[str, Mapping[Any, End]] = {
        "decision": ends.DECISIONS, "refusal": refusals.ON_ARRIVAL, "end": ends.ENDS,
        "request": ends.REQUESTS, "death": ends.DEATHS,
        "reason": {one.value: one.meaning for one in ends.Reason},
        "state": {one.name: one.value for one in ends.MessageState},
    }  # fmt: skip
    for table, rows in tables.items():
        for name, one in rows.items():
            who = "everyone" if one.is_public else "its author"
            yield f"{table} | {name} | {one.happened} | {one.cure} | {one.button} | {who}"
    for name, word in RESULTS.items():
        yield f"audit | {name} | {word}"
    for name, word in REFUSALS.items():
        yield f"audit, refused | {name} | {word}"


def _notices() -> Iterator[str]:
    for reply, cause in NOTICES:
        yield f"notice | {cause} | {_seen(reply)}"


def _failures() -> Iterator[str]:
    for error in EXAMPLES:
        yield f"failure | {type(error).__name__}: {error} | {_seen(failure(error))}"
    for reason in (name for name, row in refusals.PERMISSIONS.items() if row.said or row.happened):
        yield f"failure | not allowed: {reason} | {_seen(failure(errors.NotAllowed(reason)))}"
    for reason in (name for name, row in refusals.PERMISSIONS.items() if row.no_longer):
        yield f"no longer | {reason} | {no_longer(reason)} | {no_longer(reason, 'Bob')}"
    for error in EXAMPLES:
        if isinstance(error, errors.ProjectError):
            yield f"happened | {type(error).__name__}: {error} | {failures.what_happened(error, 'Support')}"
    for reason in (*(name for name, row in refusals._REFUSED.items() if row[1]), "project", "no clock", "gone"):
        yield f"paused | {reason} | {standing_kind.paused_because(reason)}"
    for error_name in refusals._REFUSED:
        yield f"not posted | {error_name} | {refusals.why_not_posted(error_name)}"
    for why, words in notices._WHY.items():
        yield f"not read | {why} | {words}"


def _laid_out() -> Iterator[str]:
    """What each layout says in its samples."""
    for room, many in product([room for room in ROOMS if room != BRICKS], (2, 1, 0)):
        for name, shown in shown_in(room, NAME, many):
            if name != "failures.failure" and not isinstance(shown, list):
                yield f"layout | {name} | {_seen(shown)}"


def _seen(shown: Reply | View) -> str:
    """The texts of a reply or a form in their order, each once."""
    if isinstance(shown, Reply):
        said = _LINE.split(html.unescape(shown.text))
        return " / ".join(dict.fromkeys([*said, *_texts([*shown.blocks, *shown.footer])]))
    return " / ".join(dict.fromkeys(_texts(shown)))


def _texts(block: Any) -> Iterator[str]:
    match block:
        case {"type": "rich_text_section", "elements": runs}:
            yield "".join(str(run.get("text", "")) for run in runs)
        case {"text": str() as text}:
            yield text
        case dict():
            yield from _texts(list(block.values()))
        case list() | tuple():
            for one in block:
                yield from _texts(one)


def _of_operators() -> Iterator[str]:
    for error in EXAMPLES:
        for line in trouble_lines(error):
            yield f"trouble | {type(error).__name__}: {error} | {line}"
        if isinstance(error, errors.ProjectError):
            row = trouble_row("get_stats", error)
            yield f"check | {type(error).__name__}: {error} | {row.detail} | {row.cure}"
    for detail in ("ClientConnectorError", "ConnectionTimeoutError", "of a later release"):
        row = trouble_row("token", errors.SlackUnreachable("auth.test", detail), CURE_OF_BOT)
        yield f"check | Slack: {detail} | {row.detail} | {row.cure}"
    for slack in (
        errors.SlackRefused("auth.test", "http_302"), errors.SlackRefused("auth.test", "missing_scope", "chat:write"),
        errors.SlackRefused("auth.test", "invalid_auth"), errors.SlackAmbiguous("auth.test", "TimeoutError"),
        errors.SlackUnreachable("auth.test", "", timedelta(seconds=3)), errors.SlackAmbiguous("auth.test", "x"),
        errors.SlackAmbiguous("auth.test", "200, not x"),
    ):  # fmt: skip
        row = trouble_row("token", slack, CURE_OF_BOT)
        yield f"check | {type(slack).__name__}: {slack} | {row.detail} | {row.cure}"
    for reason in ("away", "loading", "full", "read-only", "refused"):
        yield f"redis | {reason} | {' | '.join(in_words(errors.StoreUnavailable(reason)))}"
    for reason, row in refusals.PERMISSIONS.items():
        if row.checked:
            yield f"access | {reason} | {row.checked} | {row.mend}"


def _of_rules() -> Iterator[str]:
    listed = RuleList("bridge.toml", _RULES)
    verdicts = (Verdict(False, None, listed), *(Verdict(False, rule, listed) for rule in _RULES))
    unsure = Verdict(False, _RULES[1], listed, missing=frozenset({rules.GUEST}))
    for rule in _RULES:
        yield f"rule | {rule.index} | {rule_words.in_words(rule, _NAMED)}"
    for act in ACTS:
        for target in (None, Target("workflow", name="Import")):
            asked = Asked(act, "U0BOB", "C0GENERAL", target=target)
            for verdict in (*verdicts, unsure):
                about = f"{act} {target.name if target else ''} {verdict.rule.index if verdict.rule else '-'}"
                yield f"refused | {about} | {rule_words.refusal(verdict, asked, _NAMED)}"
                yield f"explained | {about} | {explained(verdict, asked, _NAMED)}"
