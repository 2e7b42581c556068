"""What people type means what it meant: every sentence of schedules and alerts in the docs and the tests.

``meanings.jsonl`` has a line for each: what it's read as (*kind*), where it stands (``earlier``: no longer), and what
it *means*, or the part for which it's *refused* and what is suggested instead. The file is the truth: a change in it
changes what people get.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from bridge.ends.failures import sentence
from bridge.errors import BadAlert, BadSchedule
from bridge.features.alerts.conditions import AlertCondition, read_alert, read_condition
from bridge.features.schedules.placeholders import NAMES, check_placeholders, filled, needs_statistics
from bridge.features.schedules.schedule import read_question, read_report, read_run
from bridge.features.standing.phrases import ROWS
from support.tables import each

FILE: Final = Path(__file__).with_name("meanings.jsonl")
LINES: Final = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
READ: Final = {
    "report": read_report,
    "question": lambda typed: read_question(7, typed),
    "run": lambda typed: read_run(3, typed),
}


def facts(condition: AlertCondition) -> dict[str, Any]:
    """Return what is set in a condition, and its normal form."""
    plain = asdict(AlertCondition(condition.subject))
    known = {name: value for name, value in asdict(condition).items() if name == "subject" or value != plain[name]}
    spans = {name: value.total_seconds() for name, value in known.items() if isinstance(value, timedelta)}
    return {"words": condition.words} | known | spans


def meaning(kind: str, typed: str) -> dict[str, Any]:
    """Return a line's last part."""
    try:
        match kind:
            case "alert":
                alert = read_alert(typed)
                return {"means": facts(alert.condition) | {"run": alert.run, "channel": alert.channel}}
            case "placeholders":
                check_placeholders(typed)
                text = filled(typed, {name: f"<{name}>" for name in NAMES})
                return {"means": {"text": text, "needs_statistics": needs_statistics(typed)}}
            case _:
                return {"means": json.loads(READ[kind](typed).model_dump_json(exclude_defaults=True))}
    except BadAlert as exc:
        return {"refused": exc.part, "about": exc.typed, "suggested": [exc.near]}
    except BadSchedule as exc:
        return {"refused": exc.part, "of": exc.of, "about": exc.typed, "suggested": list(exc.choices)}


@each("line", LINES)
def test_a_sentence_means_what_it_meant(line: dict[str, Any]) -> None:
    assert line == {name: line[name] for name in ("kind", "from", "typed")} | meaning(line["kind"], line["typed"])


@each("line", [line for line in LINES if line["kind"] == "alert" and "means" in line])
def test_a_conditions_normal_form_means_the_same(line: dict[str, Any]) -> None:
    known = line["means"]

    assert facts(read_condition(known["words"])) == {name: known[name] for name in known.keys() - {"run", "channel"}}


@each("line", [line for line in LINES if line["kind"] == "report" and "means" in line])
def test_a_schedules_words_mean_the_same(line: dict[str, Any]) -> None:
    schedule = line["means"]["schedule"]

    assert meaning("report", schedule["words"])["means"]["schedule"] == schedule


@each(
    "line",
    [line for line in LINES if line.get("suggested") and (line["kind"] in READ or line["refused"] == "condition")],
)
def test_a_refusal_shows_what_is_suggested(line: dict[str, Any]) -> None:
    with pytest.raises((BadAlert, BadSchedule)) as refused:
        (READ | {"alert": read_alert})[line["kind"]](line["typed"])

    assert all(suggested in sentence(refused.value) for suggested in line["suggested"])


@each("line", [line for line in LINES if line["kind"] == "alert" and "refused" in line])
def test_a_suggested_condition_is_right(line: dict[str, Any]) -> None:
    assert read_condition(*line["suggested"]).words


@each(("example", "pattern"), [(row.example, row.pattern) for row in ROWS])
def test_a_form_of_schedules_has_the_pattern_of_its_example(example: str, pattern: str) -> None:
    assert re.search(rf"(?:{pattern})(?= |$)", example)
