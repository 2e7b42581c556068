"""Parsing responses: values, errors for malformed data, and the error for each status."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from bridge.errors import Busy, NotFound, NotSignedIn, NotUnderstood, Outage, ServiceRefused
from bridge.project import Agent, AgentDetail, ChatAnswer, Project, RunResult, Stats, Workflow, WorkflowDetail
from bridge.project.models import read_answer, refusal

WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}
PROJECT = {
    "id": 1,
    "name": "P",
    "description": "d",
    "visibility": "private",
    "promptCount": 2,
    "memberCount": 3,
    "createdAt": "2026-01-02T03:04:05.678Z",
}
STATS: dict[str, Any] = {
    "promptCount": 1,
    "runCount": 2,
    "versionCount": 3,
    "categories": [{"name": "a", "count": 4}],
    "tags": [],
    "lastUpdated": "2026-01-02T03:04:05.678Z",
}


def problem_of(shape: Any, body: bytes, called: str = "", content_type: str = "") -> str:
    with pytest.raises(NotUnderstood) as caught:
        read_answer("op", 200, content_type, body, TypeAdapter(shape), name=called)
    assert caught.value.status == 200
    assert caught.value.__cause__ is None  # pydantic's message would quote the response
    assert caught.value.__context__ is None
    return caught.value.problem


@pytest.mark.parametrize("spelling", ["absent", "null"])
@pytest.mark.parametrize(
    ("model", "least", "optional"),
    [
        (Workflow, WORKFLOW, ["description"]),
        (Agent, {"id": 1, "name": "a", "model": "m"}, ["description", "temperature", "welcome_message"]),
        (ChatAnswer, {"sessionId": 1, "message": ""}, ["toolsUsed"]),
        (RunResult, {"runId": 1, "status": "x"}, ["output", "nodeResults"]),
        (WorkflowDetail, {}, ["id", "name", "is_active", "nodes", "edges"]),
        (AgentDetail, {}, ["id", "name", "model", "temperature", "tools"]),
    ],
)
def test_an_optional_that_is_absent_or_null_is_none(
    model: type[BaseModel], least: dict[str, Any], optional: list[str], spelling: str
) -> None:
    value = model.model_validate(least if spelling == "absent" else {**least, **dict.fromkeys(optional)})
    assert [getattr(value, name) for name in optional] == [None] * len(optional)


@pytest.mark.parametrize(
    ("model", "whole"),
    [
        (Workflow, WORKFLOW),
        (Agent, {"id": 1, "name": "a", "model": "m"}),
        (ChatAnswer, {"sessionId": 1, "message": ""}),
        (RunResult, {"runId": 1, "status": "x"}),
        (Project, PROJECT),
        (Stats, STATS),
    ],
)
def test_documented_fields_are_required_unless_optional(model: type[BaseModel], whole: dict[str, Any]) -> None:
    model.model_validate(whole)
    for name in whole:
        with pytest.raises(ValidationError):
            model.model_validate({other: value for other, value in whole.items() if other != name})
        with pytest.raises(ValidationError):
            model.model_validate({**whole, name: None})


def test_unknown_fields_are_attributes() -> None:
    workflow: Any = Workflow.model_validate({**WORKFLOW, "owner": {"id": 9}, "copy": 1})
    assert workflow.owner == {"id": 9}
    assert workflow.model_extra == {"owner": {"id": 9}, "copy": 1}


def test_undocumented_json_passes_through() -> None:
    nodes = [{"type": "start", "x": 1.5}, "odd", None]
    detail = WorkflowDetail.model_validate({**WORKFLOW, "nodes": nodes, "edges": {"a": ["b"]}})
    assert (detail.name, detail.nodes, detail.edges) == ("Import", nodes, {"a": ["b"]})


def test_a_detail_field_of_another_type_is_none() -> None:
    detail = AgentDetail.model_validate({"id": "three", "name": "Support", "tools": "all"})
    assert (detail.id, detail.name, detail.tools) == (None, "Support", "all")


def test_results_cannot_be_changed() -> None:
    answer = ChatAnswer(sessionId=1, message="x")
    with pytest.raises(ValidationError):
        answer.sessionId = 2  # type: ignore[misc]


def test_a_whole_number_may_have_a_point() -> None:
    answer = ChatAnswer.model_validate({"sessionId": 42.0, "message": "x"})
    assert (answer.sessionId, type(answer.sessionId)) == (42, int)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05.678Z", datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)),
        ("2026-01-02T05:04:05+02:00", datetime(2026, 1, 2, 3, 4, 5, 0, UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, 0, UTC)),
    ],
)
def test_timestamps_are_aware(text: str, moment: datetime) -> None:
    created = Project.model_validate({**PROJECT, "createdAt": text}).createdAt
    assert created == moment
    assert created.utcoffset() is not None


@pytest.mark.parametrize(
    ("shape", "body", "called", "problem"),
    [
        (list[Workflow], b'{"items": []}', "workflows", "workflows: not a list but an object"),
        (list[Workflow], b"null", "workflows", "workflows: not a list but null"),
        (list[Workflow], b"[1]", "workflows", "workflows[0]: not an object but a number"),
        (ChatAnswer, b"[]", "", "not an object but a list"),
        (ChatAnswer, b'"hi"', "", "not an object but a string"),
        (ChatAnswer, b'{"sessionId": 1}', "", "message: missing"),
        (ChatAnswer, b'{"sessionId": 1, "message": null}', "", "message: not a string but null"),
        (ChatAnswer, b'{"sessionId": 1, "message": {}}', "", "message: not a string but an object"),
        (ChatAnswer, b'{"sessionId": "1", "message": ""}', "", "sessionId: not a number but a string"),
        (ChatAnswer, b'{"sessionId": true, "message": ""}', "", "sessionId: not a number but a boolean"),
        (ChatAnswer, b'{"sessionId": 1.5, "message": ""}', "", "sessionId: not a whole number"),
        (ChatAnswer, b'{"sessionId": 1e999, "message": ""}', "", "sessionId: not a whole number"),
    ],
)
def test_a_response_of_the_wrong_type_is_named(shape: Any, body: bytes, called: str, problem: str) -> None:
    assert problem_of(shape, body, called) == problem


def test_a_broken_item_is_named_with_its_place() -> None:
    good = b'{"id": 3, "name": "n", "is_active": true, "trigger_type": "t", "node_count": 5}'
    bad = good.replace(b"true", b'"yes"')
    assert problem_of(list[Workflow], b"[%s, %s]" % (good, bad), "workflows") == (
        "workflows[1].is_active: not a boolean but a string"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"categories": [{"name": "a", "count": "4"}]}, "categories[0].count: not a number but a string"),
        ({"lastUpdated": "yesterday"}, "lastUpdated: not an ISO 8601 timestamp"),
        ({"lastUpdated": 1767323045}, "lastUpdated: not a timestamp but a number"),
        ({"lastUpdated": "0001-01-01T00:00:00+14:00"}, "lastUpdated: not an ISO 8601 timestamp"),
    ],
)
def test_a_wrong_field_of_the_statistics_is_named(change: dict[str, Any], problem: str) -> None:
    body = TypeAdapter(Any).dump_json({**STATS, **change})
    assert problem_of(Stats, body) == problem


@pytest.mark.parametrize(
    "body",
    [b"{", b"NaN", b'{"sessionId": Infinity, "message": ""}', b"\xff\xfe\xff", b"[" * 100_000, b"1" * 5_000, b"[1] x"],
    ids=lambda body: repr(body[:10]),
)
def test_a_body_that_is_not_json_is_not_understood(body: bytes) -> None:
    assert problem_of(Any, body) == "not JSON"


def test_a_body_in_place_of_json_is_described() -> None:
    assert problem_of(Any, b"<html>", content_type="text/html; charset=utf-8") == "not JSON but text/html"
    assert problem_of(Any, b" ", content_type="text/html") == "an empty answer"


def test_half_an_emoji_is_replaced() -> None:
    body = rb'{"sessionId": 1, "message": "cut \ud83d", "toolsUsed": [{"\uDE00": "\ud83d\ude00"}]}'
    answer = read_answer("send_message", 200, "", body, TypeAdapter(ChatAnswer))
    assert (answer.message, answer.toolsUsed) == ("cut �", [{"�": "😀"}])


@pytest.mark.parametrize(("wire", "value"), [(0.7, 0.7), (1, 1.0), (None, None)])
def test_a_temperature_is_any_number(wire: float | None, value: float | None) -> None:
    assert Agent.model_validate({"id": 1, "name": "a", "model": "m", "temperature": wire}).temperature == value


@pytest.mark.parametrize("wire", ["0.7", True, []])
def test_a_temperature_is_only_a_number(wire: Any) -> None:
    with pytest.raises(ValidationError):
        Agent.model_validate({"id": 1, "name": "a", "model": "m", "temperature": wire})


def test_results_can_be_built_in_python() -> None:
    created = datetime(2026, 1, 2, tzinfo=UTC)
    assert Project.model_validate({**PROJECT, "createdAt": created}).createdAt == created


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
IN_A_MINUTE = "Sat, 21 Nov 2026 12:01:00 GMT"


def refused(status: int, body: Any = b"", **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return refusal("send_message", status, given, content, secret="sk-1", now=NOW)


@pytest.mark.parametrize(
    ("status", "headers", "kind", "may_have_happened"),
    [
        (307, {}, ServiceRefused, False),
        (400, {}, ServiceRefused, False),
        (401, {}, NotSignedIn, False),
        (403, {}, NotSignedIn, False),
        (404, {}, NotFound, False),
        (410, {}, NotFound, False),
        (422, {}, ServiceRefused, False),
        (429, {}, Busy, False),
        (429, {"Retry_After": "7"}, Busy, False),
        (500, {}, ServiceRefused, True),
        (500, {"Retry_After": "7"}, ServiceRefused, True),
        (502, {}, Outage, True),
        (503, {}, Outage, True),
        (503, {"Retry_After": "soon"}, Outage, True),
        (503, {"Retry_After": "7"}, Busy, False),
        (504, {}, Outage, True),
        (504, {"Retry_After": "7"}, Outage, True),
    ],
)
def test_each_status_has_its_error(
    status: int, headers: dict[str, str], kind: type[ServiceRefused], *, may_have_happened: bool
) -> None:
    error = refused(status, **headers)
    assert type(error) is kind
    assert (error.operation, error.status, error.may_have_happened) == ("send_message", status, may_have_happened)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry_After": ""}, None),
        ({"Retry_After": "-1"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "0"}, 0),
        ({"Retry_After": " 7 "}, 7),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": "999999999"}, 3600),
        ({"Retry_After": IN_A_MINUTE}, 60),
        ({"Retry_After": IN_A_MINUTE, "Date": "Sat, 21 Nov 2026 12:00:50 GMT"}, 10),
        ({"Retry_After": IN_A_MINUTE, "Date": "now"}, 60),
        ({"Retry_After": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry_After": "Sat, 21 Nov 2036 11:00:00 GMT"}, 3600),
    ],
)
def test_retry_after_is_seconds_or_a_date_within_bounds(headers: dict[str, str], seconds: float | None) -> None:
    wanted = None if seconds is None else timedelta(seconds=seconds)
    assert refused(429, **headers).retry_after == wanted


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "no such session"}, "no such session"),
        ({"message": "no"}, "no"),
        ({"detail": "no"}, "no"),
        ({"title": "no"}, "no"),
        ({"error": {"code": 7, "message": "no"}}, "no"),
        ({"error": True, "message": "no"}, "no"),
        ({"error": " ", "detail": "no"}, "no"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}, {"msg": "too long"}]}, "field required; too long"),
        ("no", "no"),
        ({"error": "two\r\nlines\tand\x00 \x1b[31mred\u202e"}, "two lines and [31mred"),
        ({"error": "x" * 400}, "x" * 299 + "…"),
        ({"error": "bad key sk-1"}, "bad key ***"),
        ({"code": 7}, ""),
        ({"error": {"error": {"error": {"error": "too deep"}}}}, ""),
        ([], ""),
        (7, ""),
        (None, ""),
        (b"<html><body>Bad Gateway</body></html>", ""),
        (b"", ""),
        (b'{"error": "cut', ""),
        ({"error": "x" * 70_000}, ""),
    ],
)
def test_the_services_error_message_is_found_and_cleaned(body: Any, said: str) -> None:
    assert refused(400, body).said == said


def test_plain_text_is_the_services_error_message() -> None:
    assert refused(400, b"too\nmany", Content_Type="text/plain; charset=utf-8").said == "too many"
    assert refused(502, b"Bad Gateway", Content_Type="text/html").said == ""
