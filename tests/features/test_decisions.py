"""The table of what can happen to a message has each decision, each end and each state, derived from the source."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import bridge
from bridge import errors
from bridge.ends import decisions, messages, refusals
from bridge.ends.messages import DEATHS, DECISIONS, ENDS, REQUESTS, Decision, MessageState, Reason
from bridge.ends.refusals import ACCESS, ON_ARRIVAL
from bridge.engine.processor import GIVEN_UP
from bridge.features.approvals import request
from bridge.features.approvals.store import DRAFT
from support.tables import each

CODE = Path(bridge.__file__).parent
DECIDING = (
    "features/conversations/receive.py",
    "features/conversations/app_posts.py",
    "features/conversations/earlier.py",
    "door/listeners/messages.py",
)
OF_MESSAGES = [
    str(path.relative_to(CODE))
    for folder in ("engine", "features/agents", "features/conversations", "features/workflows")
    for path in sorted((CODE / folder).glob("*.py"))
] + ["features/channels/app_rules.py"]
"""Where a person's or an app's message may end; the ends of schedules, alerts and the like need no meaning here."""

ALL = {
    f"{table}: {name}": meaning
    for table in ("DECISIONS", "ON_ARRIVAL", "ENDS", "REQUESTS", "DEATHS", "GIVEN_UP")
    for name, meaning in (vars(messages) | vars(refusals))[table].items()
}
ALL |= {f"Reason: {one.name}": one.meaning for one in Reason} | {
    f"State: {one.name}": one.value for one in MessageState
}
SENTENCE = re.compile(r"[A-Z](?:[^.?!]|[?!.](?! [A-Z]))*[.?]")


def calls(names: set[str], *paths: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function with one of these *names*, by file and line."""
    for path in [CODE / one for one in paths] or sorted(CODE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
                yield f"{path.name}:{node.lineno}", node


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    return named[0] if named else call.args[place] if len(call.args) > place else None


def literals(node: ast.expr | None) -> Iterator[str]:
    """The texts that an expression may be; the facts of one with facts are left out."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            yield text.rstrip().rstrip(":")
        case ast.IfExp(body=body, orelse=orelse):
            yield from literals(body)
            yield from literals(orelse)


def test_each_decision_has_its_meaning() -> None:
    assert set(DECISIONS) == set(get_args(Decision))


def test_the_reasons_of_the_source_are_in_the_table() -> None:
    """A decision names no reason in words of its own; a refusal names its notice."""
    found = list(calls({"Received", "Ignored"}, *DECIDING))
    in_words = [where for where, call in found for _ in literals(argument(call, len(call.args) - 1, "reason"))]
    with_reason = [where for where, call in found if call.args[1:] or ast.unparse(call.func) != "Received"]
    sources = [(CODE / path).read_text(encoding="utf-8") for path in DECIDING]
    used = {
        node.attr
        for source in [*sources, inspect.getsource(decisions)]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Reason"
    }

    assert len(with_reason) > 25
    assert [one for one in in_words if one in with_reason] == []
    assert used - {"of"} == {one.name for one in Reason}


def test_each_refusal_has_its_meaning() -> None:
    notified = {
        text.rstrip(":")
        for _, call in calls({"_notify"}, *DECIDING)
        for node in ast.walk(argument(call, 1, "what") or ast.Constant(None))
        if isinstance(node, ast.expr)
        for text in literals(node)
    }
    told = [one for one in ast.walk(ast.parse(inspect.getsource(decisions.told_of))) if isinstance(one, ast.Tuple)]
    notified |= {text.partition(":")[0] for one in told for text in literals(one.elts[0])}

    assert {"command_missed", "thread_full", "muted", "canvas"} <= notified
    assert (notified | set(ACCESS) | {"paused"}) - set(ON_ARRIVAL) == set()
    others = {"paused", "not_queued"}
    assert [name for name in ON_ARRIVAL if name.partition(":")[0] not in {*ACCESS, *notified, *others}] == []


def test_each_end_without_a_reply_has_its_meaning() -> None:
    ends = {
        text: where for where, call in calls({"Done"}, *OF_MESSAGES) for text in literals(argument(call, 0, "reason"))
    }
    ends |= {
        text: where
        for where, call in calls({"_done"}, "engine/processor.py")
        for text in literals(argument(call, 1, "what"))
    }
    ends.pop("refused")  # with the name of a refusal

    assert {"withdrawn", "stopped", "post in doubt", "its app's rule is paused", "not shown"} <= set(ends)
    assert {text: where for text, where in ends.items() if text not in ENDS} == {}


def test_each_outcome_of_a_message_has_its_meaning() -> None:
    """Those of commands and buttons may be left out: they're a reply, which is shown."""
    own = ("engine/processor.py", "engine/dispatch.py", "features/conversations/answering.py")
    outcomes = {
        text: where
        for where, call in calls({"Outcome", "shown"}, *own)
        for text in literals(argument(call, 1 if ast.unparse(call.func) == "shown" else 0, "what"))
    }

    assert {"answered", "unknown", "too old", "discarded", "slip", "menu"} <= set(outcomes)
    assert {text: where for text, where in outcomes.items() if text not in ENDS} == {}


def test_each_failure_has_its_meaning() -> None:
    failed = {
        name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.BridgeError)
    }

    assert failed - set(ENDS) == set()


def test_each_death_has_its_meaning() -> None:
    deaths = {
        text: where
        for where, call in calls({"_bury"}, "engine/processor.py")
        for text in literals(argument(call, 2, "reason"))
    }
    deaths |= dict.fromkeys([*GIVEN_UP.values(), "Slack", "written by another version of the bridge"], "_give_up")

    assert {text: where for text, where in deaths.items() if text not in DEATHS} == {}


def test_each_state_of_a_request_for_approval_has_its_meaning() -> None:
    states = {value for name, value in vars(request).items() if name.isupper() and isinstance(value, str)}

    assert states | {DRAFT} == set(REQUESTS)


def test_each_meaning_is_a_sentence_and_a_cure() -> None:
    texts = [text for meaning in ALL.values() for text in (meaning.happened, meaning.cure)]

    assert [text for text in texts if not SENTENCE.fullmatch(re.sub(r"\{\w+\}", "X", text))] == []


@each("reason", Reason)
def test_a_stored_reason_is_found_again(reason: Reason) -> None:
    assert Reason.of(reason.about("a fact")) is reason
    assert Reason.of(f"another {reason}") is None
