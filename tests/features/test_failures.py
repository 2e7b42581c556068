"""Each failure has its own error text: short, plain, without blame."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from bridge import errors
from bridge.ends.failures import failure, sentence
from bridge.project.reading import ServiceResponse, service_refusal
from support.failures import EXAMPLES
from support.tables import each


def classes(base: type[errors.BridgeError]) -> Iterator[type[errors.BridgeError]]:
    yield base
    for derived in base.__subclasses__():
        yield from classes(derived)


def test_every_class_has_its_own_sentence_and_an_example() -> None:
    known = {kind for kind in classes(errors.BridgeError) if kind.__module__ == "bridge.errors"}
    said: dict[str, set[type]] = {}
    for example in EXAMPLES:
        said.setdefault(sentence(example), set()).add(type(example))

    assert known - {errors.CommandError} == {type(example) for example in EXAMPLES}  # never raised itself
    assert [kinds for kinds in said.values() if len(kinds) > 1] == [
        {errors.StoreError, errors.StoreUnavailable, errors.StoreWiped}
    ]


@each(
    ("error", "text"),
    [
        (
            errors.ServiceRefused("run_workflow", 422, "No input."),
            "The project service rejected this run: “No input”. Check your input",
        ),
        (errors.TooOften("runs", timedelta(seconds=3541)), "Try again in 1 h."),
        (errors.TooOften("runs", timedelta(seconds=3500)), "Try again in 59 min."),
        (errors.TooOften("runs", timedelta(seconds=119)), "Try again in 1 min 59 s."),
    ],
)
def test_a_sentence_names_what_was_typed_and_when_to_try_again(error: errors.BridgeError, text: str) -> None:
    assert text in sentence(error)


def test_sentences_are_short_and_plain() -> None:
    jargon = {"exception", "traceback", "redis", "http", "null", "none", "timeout", "invalid", "illegal", "wrong!"}
    for words in map(sentence, EXAMPLES):
        assert words[0].isupper(), words
        assert words[-1] in ".:?>]", words
        assert len(words) < 600, words
        assert not jargon & set(words.lower().replace(".", " ").split()), words


def test_the_service_s_error_message_is_quoted_and_not_parsed() -> None:
    error = errors.ServiceRefused("run_workflow", 422, "see <!channel> <https://x|y> & more")

    assert "“see <!channel>" in sentence(error)
    assert "&lt;!channel&gt; &lt;https://x|y&gt; &amp; more" in failure(error).text


@each("operation", ["get_workflows", "get_agents", "get_project", "get_stats"])
@each("status", [301, 400, 404, 410, 418, 500, 501])
def test_a_failed_read_speaks_of_no_input_and_no_other_thing(operation: str, status: int) -> None:
    it = ServiceResponse(status, {"location": "https://new.example/login"})
    said = sentence(service_refusal(operation, it, secret="-", base_url="https://old.example", path="stats"))

    assert said.startswith("The project service")
    assert "input" not in said
    assert ("workflow" in said) <= (operation == "get_workflows")
    assert ("https://new.example/login" in said) is (status == 301)


@each(
    ("error", "said"),
    [
        (errors.NotFound("send_message", 404), "no longer has this agent. Pick another one."),
        (errors.NotFound("run_workflow", 410, "gone"), "no longer has this workflow: “gone”. Pick another one."),
        (errors.NotFound("get_stats", 404), "has no statistics (404). Let your admin know."),
        (errors.TimedOut("get_stats", timedelta(seconds=10)), "timed out after 10 s. Try again in a minute."),
        (
            errors.NotFound("send_message", 404, "no", has_item=True),
            "has this agent, but answered “not found”: “no”. Let",
        ),
        (errors.ServiceRefused("send_message", 405), "doesn't offer this (status 405). Ask your admin to check its ad"),
        (errors.ServiceRefused("run_workflow", 409, "busy"), "couldn't do this now: “busy”. Try again in a moment, or"),
        (errors.ServiceRefused("send_message", 418), "rejected your message (status 418). Ask your admin."),
        (errors.ServiceRefused("get_stats", 101), "sent an unexpected answer (status 101). Let your admin know."),
        (errors.ServiceRefused("send_message", 413), "rejected your message (status 413). Change it and try again"),
    ],
)
def test_a_sentence_fits_its_operation(error: errors.ProjectError, said: str) -> None:
    assert said in sentence(error)


def test_several_matches_are_listed_with_their_ids() -> None:
    assert "Report (ID 1), Report (ID 2). Use an ID, such as 1." in sentence(
        errors.SeveralFit("agent", "rep", [(1, "Report"), (2, "Report")])
    )
