"""Every failure has words of its own: short, plain, and without blame."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from bridge import errors
from bridge.slack.blockkit.failures import failure, sentence

EXAMPLES = [
    errors.BridgeError(),
    errors.ConfigurationError(["X is missing"]),
    errors.ProjectError("get_stats"),
    errors.CannotConnect("get_stats"),
    errors.CircuitOpen("get_stats", timedelta(seconds=4)),
    errors.TimedOut("get_stats", timedelta(seconds=120)),
    errors.ConnectionLost("get_stats"),
    errors.NotUnderstood("get_stats", 200, "not JSON"),
    errors.ServiceRefused("get_stats", 422, "input is missing"),
    errors.ServiceRefused("get_stats", 400),
    errors.ServiceRefused("get_stats", 500, "oops"),
    errors.NotSignedIn("get_stats", 401),
    errors.NotFound("get_agent", 404),
    errors.Busy("get_stats", 429, retry_after=timedelta(seconds=30)),
    errors.Busy("get_stats", 503),
    errors.Outage("get_stats", 502),
    errors.SlackError("chat.postMessage"),
    errors.SlackRefused("chat.postMessage", "not_in_channel"),
    errors.SlackRefused("files.upload", "missing_scope", "files:write"),
    errors.SlackUnreachable("chat.postMessage"),
    errors.SlackTokenRefused("chat.postMessage", "token_revoked"),
    errors.SlackAmbiguous("chat.postMessage"),
    errors.SlackGone("apps.connections.open", "no socket for 120 s"),
    errors.StoreError(),
    errors.StoreUnavailable(),
    errors.StoreWiped(),
    errors.NamespaceTaken("bridge", "T1/U1"),
    errors.LaneLost(),
    errors.RecordNotUnderstood(),
    errors.CommandError(),
    errors.UnknownCommand("/workflows rnu", ["/workflows run <workflow> [input]"]),
    errors.UnknownCommand("x"),
    errors.BadUsage("/workflows show <workflow>"),
    errors.NoSuch("workflow", "Reprot", ["Report"]),
    errors.NoSuch("agent", "x"),
    errors.SeveralFit("workflow", "Rep", [(number, f"Report {number}") for number in range(30)]),
    *(
        errors.BadSchedule(part, typed)
        for typed in ("5 o'clock", "")
        for part in ("often", "time", "weekday", "monthday", "cron", "zone", "channel", "compare", "only", "option")
    ),
    errors.BadSchedule("many", ""),
    errors.BadSchedule("of a later release", ""),
    errors.BadInput("Expecting value", 1, 2),
    *(
        errors.NotAllowed(reason)
        for reason in ("stranger", "channel", "user", "runner", "not_yours", "unknown", "of a later release")
    ),
    *(errors.TooOften(what, timedelta(seconds=37)) for what in ("thread", "person", "runs", "of a later release")),
]


def classes(base: type[errors.BridgeError]) -> Iterator[type[errors.BridgeError]]:
    yield base
    for derived in base.__subclasses__():
        yield from classes(derived)


def test_every_class_has_a_sentence_of_its_own_and_an_example_here() -> None:
    known = {kind for kind in classes(errors.BridgeError) if kind.__module__ == "bridge.errors"}
    said: dict[str, set[type]] = {}
    for example in EXAMPLES:
        said.setdefault(sentence(example), set()).add(type(example))

    assert known == {type(example) for example in EXAMPLES}
    assert [kinds for kinds in said.values() if len(kinds) > 1] == [
        {errors.StoreError, errors.StoreUnavailable, errors.StoreWiped}
    ]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_sentences_are_short_and_plain(error: errors.BridgeError) -> None:
    words = sentence(error)

    assert words[0].isupper()
    assert words[-1] in ".?>]"
    assert len(words) < 600
    jargon = {"exception", "traceback", "redis", "http", "null", "none", "timeout", "invalid", "illegal", "wrong!"}
    assert not jargon & set(words.lower().replace(".", " ").split())


def test_the_service_s_own_words_are_quoted_and_not_parsed() -> None:
    error = errors.ServiceRefused("run_workflow", 422, "see <!channel> <https://x|y> & more")

    assert "“see <!channel>" in sentence(error)
    assert "&lt;!channel&gt; &lt;https://x|y&gt; &amp; more" in failure(error).text


def test_several_that_fit_are_listed_with_their_ids() -> None:
    assert "Report (id 1), Report (id 2). Please use the id." in sentence(
        errors.SeveralFit("agent", "rep", [(1, "Report"), (2, "Report")])
    )
