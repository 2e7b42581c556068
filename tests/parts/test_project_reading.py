"""Reading responses: what can be used of them, what couldn't, and the error for each status."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from bridge.errors import Busy, Forbidden, Moved, NotFound, NotUnderstood, Outage, ServiceRefused
from bridge.json_reader import DEEPEST
from bridge.project import Agent, AgentDetail, ChatAnswer, Project, RunResult, Stats, Workflow, WorkflowDetail
from bridge.project.reading import (
    LARGEST_BODY,
    AnswerShape,
    RowsShape,
    ServiceResponse,
    read_answer,
    read_rows,
    service_refusal,
)
from support.tables import each

WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}
AGENT = {"id": 1, "name": "a", "model": "m"}
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
CHAT = AnswerShape(ChatAnswer, needs=("message",), expected=("sessionId",), partly="message")
RUN = AnswerShape(RunResult, expected=("runId", "status"), partly="output")
PLAIN = b'{"sessionId": 1, "message": "hi"}'


def received(body: bytes | str, content_type: str = "application/json", **headers: str) -> ServiceResponse:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    it = ServiceResponse(200, httpx.Headers({"content-type": content_type, **given}))
    it.add(body if isinstance(body, bytes) else body.encode())
    return it


def chat(body: bytes | str, content_type: str = "application/json", **headers: str) -> tuple[ChatAnswer, list[str]]:
    return read_answer("send_message", received(body, content_type, **headers), CHAT)


def run(body: bytes | str) -> tuple[RunResult, list[str]]:
    return read_answer("run_workflow", received(body), RUN)


def problem_of(read: Callable[[], Any]) -> str:
    with pytest.raises(NotUnderstood) as caught:
        read()
    assert caught.value.status == 200
    assert caught.value.__cause__ is None  # pydantic's message would quote the response
    assert caught.value.__context__ is None
    return caught.value.problem


# Bytes and characters


@each(
    ("body", "headers"),
    [
        (PLAIN, {}),
        (b"\xef\xbb\xbf" + PLAIN, {}),
        (PLAIN.decode().encode("utf-16"), {}),
        (PLAIN.decode().encode("utf-32-le"), {}),
        (b"\r\n " + PLAIN + b"\x00\n", {}),
        (gzip.compress(PLAIN, mtime=0), {"content_encoding": "gzip"}),
        (gzip.compress(PLAIN, mtime=0), {"content_encoding": "x-gzip"}),
        (gzip.compress(PLAIN, mtime=0), {}),
        (gzip.compress(gzip.compress(PLAIN, mtime=0), mtime=0), {"content_encoding": "gzip, gzip"}),
        (gzip.compress(PLAIN[:9], mtime=0) + gzip.compress(PLAIN[9:], mtime=0), {"content_encoding": "gzip"}),
        (gzip.compress(PLAIN, mtime=0) + b"\x1f\x8bno member", {"content_encoding": "gzip"}),
        (gzip.compress(zlib.compress(PLAIN), mtime=0), {"content_encoding": "deflate, gzip"}),
        (zlib.compress(PLAIN), {"content_encoding": "deflate"}),
        (zlib.compress(PLAIN, wbits=-15), {"content_encoding": "deflate"}),
        (PLAIN, {"content_encoding": "gzip"}),
        (PLAIN, {"content_encoding": "deflate"}),
        (PLAIN, {"content_type": "text/html; charset=nonsense"}),
        (PLAIN, {"content_type": "text/plain; charset=rot13"}),
        (PLAIN, {"content_type": ""}),
    ],
)
def test_a_response_is_read_whatever_its_headers_say(body: bytes, headers: dict[str, str]) -> None:
    answer, problems = chat(body, **headers)
    assert (answer.sessionId, answer.message, problems) == (1, "hi", [])


@each(
    ("message", "charset", "read"),
    [
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        ("Grüße €".encode("cp1252"), '"windows-1252"', "Grüße €"),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本"),
        ("日本".encode("shift_jis"), "x-sjis", "日本"),
        ("Grüße".encode(), "iso-8859-1", "Grüße"),  # JSON is UTF-8
        (b"a\xffb", "utf-8", "a�b"),
        (b"a\xffb", "punycode", "a�b"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "utf-8", "😀"),  # CESU-8
        (b"\xed\xa0\xbd\xed\xb8\x80", "iso-8859-1", "😀"),
        (b"cut \xed\xa0\xbd", "utf-8", "cut �"),
    ],
)
def test_undecodable_characters_cost_only_themselves(message: bytes, charset: str, read: str) -> None:
    answer, _ = chat(b'{"sessionId": 1, "message": "%s"}' % message, f"application/json; charset={charset}")
    assert answer.message == read


def test_half_an_emoji_is_replaced_everywhere() -> None:
    body = rb'{"sessionId": 1, "message": "cut \ud83d", "toolsUsed": [{"\uDE00": "\ud83d\ude00"}]}'
    answer, problems = chat(body)
    assert (answer.message, answer.toolsUsed) == ("cut �", [{"�": "😀"}])
    assert problems == ["message: half a character", "toolsUsed: half a character"]


def test_half_an_emoji_in_a_row_is_replaced() -> None:
    rows, _ = read_rows("get_agents", received(rb'[{"id": 1, "name": "a\ud800"}]'), RowsShape(Agent, "agents"))
    assert rows[0].name == "a�"


# JSON


@each(
    ("more", "tools", "problem"),
    [
        ('"toolsUsed": NaN', None, "toolsUsed: not a number that JSON has"),
        ('"toolsUsed": [1, -Infinity]', [1, None], "toolsUsed: not a number that JSON has"),
        ('"toolsUsed": [1e999]', [None], "toolsUsed: not a number that JSON has"),
        (f'"toolsUsed": [{"9" * 5000}]', [None], "toolsUsed: not a number that JSON has"),
        ('"toolsUsed": ["a",], ', ["a"], "commas before a closing bracket"),
        ('"toolsUsed": [a', None, "toolsUsed: not JSON"),
        (f'"toolsUsed": {"[" * 5000}{"]" * 5000}', "deep", f"toolsUsed: nested more than {DEEPEST} levels deep"),
        (f'"toolsUsed": {"[" * 200}{"]" * 200}', "deep", f"toolsUsed: nested more than {DEEPEST} levels deep"),
    ],
)
def test_a_detail_that_is_not_json_costs_only_itself(more: str, tools: Any, problem: str) -> None:
    answer, problems = chat(f'{{"sessionId": 1, "message": "hi", {more}}}')
    assert (answer.sessionId, answer.message) == (1, "hi")
    assert problem in problems
    assert tools in (answer.toolsUsed, "deep")
    json.dumps(answer.toolsUsed, allow_nan=False)


@each(
    "body",
    [
        '{"message": "a\nb\t", "sessionId": 1}',
        '{"sessionId": 1, "message": "a\nb\t"} trailing',
        'Warning: deprecated in line [3]\n{"sessionId": 1, "message": "a\nb\t"}',
        'data: {"sessionId": 1, "message": "a\nb\t"}\n\n',
        '{"sessionId": 1, "message": "a\nb\t", "message": "a\nb\t"}',
        '{"data": {"sessionId": 1, "message": "a\nb\t"}}',
        '{"success": true, "message": "ok", "data": {"sessionId": 1, "message": "a\nb\t"}}',
        '[{"sessionId": 1, "message": "a\nb\t"}]',
    ],
)
def test_an_answer_is_found_in_what_surrounds_it(body: str) -> None:
    answer, _ = chat(body)
    assert (answer.sessionId, answer.message) == (1, "a\nb\t")


@each(
    ("body", "problem"),
    [
        ("", "an empty answer"),
        (" ", "an empty answer"),
        ("{", "not JSON"),
        ("NaN", "not an object but null"),
        ("1" * 5_000, "not an object but null"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        ("null", "not an object but null"),
        ('"hi"', "not an object but a string"),
        ("[]", "not an object but a list"),
        ("{}", "message: missing"),
        ('{"sessionId": 1}', "message: missing"),
        ('{"sessionId": 1, "message": null}', "message: null"),
        ('{"sessionId": 1, "message": "not closed', "message: missing"),
        ('{"sessionId": 1, "toolsUsed": [{"message": "inner"}], x}', "message: missing"),
    ],
)
def test_only_a_response_without_an_answer_fails(body: bytes | str, problem: str) -> None:
    assert problem_of(lambda: chat(body)) == problem


def test_a_page_is_no_answer_whatever_its_scripts_contain() -> None:
    page = '<html><script>x = {"sessionId": 1, "message": "hi"}</script></html>'
    assert problem_of(lambda: chat(page, "text/html; charset=utf-8")) == "not JSON but text/html"


def test_a_failure_in_place_of_an_answer_is_quoted() -> None:
    with pytest.raises(NotUnderstood) as caught:
        chat('{"error": {"message": "model overloaded"}}')
    assert caught.value.message == "model overloaded"


# Fields


@each(
    ("message", "read"),
    [
        ("", ""),
        (42, "42"),
        (True, "true"),
        ({"role": "assistant", "content": "hi"}, "hi"),
        ([{"type": "text", "text": "hi"}, "there"], "hi\nthere"),
        ({"a": 1}, '{\n  "a": 1\n}'),
        ([1], "[\n  1\n]"),
    ],
)
def test_a_message_of_another_type_is_shown(message: Any, read: str) -> None:
    assert chat(json.dumps({"sessionId": 1, "message": message}))[0].message == read


@each(
    ("session", "read", "problem"),
    [
        ('"42"', 42, ""),
        ("42.0", 42, ""),
        ("9007199254740993", 9007199254740993, ""),
        ('"9007199254740993"', 9007199254740993, ""),
        ("null", None, "sessionId: null"),
        ('"abc"', None, "sessionId: not a number but a string"),
        ("true", None, "sessionId: not a number but a boolean"),
        ("1.5", None, "sessionId: not a whole number"),
        ("1e999", None, "sessionId: not a number that JSON has"),
        ("{}", None, "sessionId: not a number but an object"),
    ],
)
def test_a_session_is_a_number_or_unusable(session: str, read: int | None, problem: str) -> None:
    answer, problems = chat(f'{{"sessionId": {session}, "message": "hi"}}')
    assert (answer.sessionId, answer.message) == (read, "hi")
    assert type(answer.sessionId) in {int, type(None)}
    assert not problem or problem in problems


@each(
    ("body", "fields"),
    [
        ({"runId": "7", "status": "done"}, (7, "done", None, None)),
        ({"runId": "run-7", "status": None}, ("run-7", "", None, None)),
        ({"runId": {}, "status": 3, "output": 0}, (None, "3", 0, None)),
        ({"output": "o"}, (None, "", "o", None)),
        ({"runId": 7, "nodeResults": [1]}, (7, "", None, [1])),
        ({"status": "ok", "data": {"runId": 7, "output": "o"}}, (7, "ok", "o", None)),
    ],
)
def test_a_result_has_what_can_be_used(body: Any, fields: tuple[Any, ...]) -> None:
    result, _ = run(json.dumps(body))
    assert (result.runId, result.status, result.output, result.nodeResults) == fields


def test_a_result_without_any_documented_field_is_none() -> None:
    assert problem_of(lambda: run("{}")) == "no documented field"


@each(
    ("change", "problem"),
    [
        ({"lastUpdated": "yesterday"}, "lastUpdated: not an ISO 8601 timestamp"),
        ({"lastUpdated": 1767323045}, "lastUpdated: not a timestamp but a number"),
        ({"lastUpdated": None}, "lastUpdated: null"),
        ({"lastUpdated": "0001-01-01T00:00:00+14:00"}, "lastUpdated: not an ISO 8601 timestamp"),
        ({"runCount": "many"}, "runCount: not a number but a string"),
        ({"tags": None}, "tags: null"),
        ({"tags": {}}, "tags: not a list but an object"),
        ({"tags": [{"name": "b", "count": None}]}, "tags[0].count: not a number but null (left out)"),
        (
            {"tags": [{"name": None, "count": 1}, {"name": "b", "count": "x"}]},
            "tags[1].count: not a number but a string (left out)",
        ),
        ({"tags": [7]}, "tags[0]: not an object but a number (left out)"),
    ],
)
def test_a_wrong_part_of_the_statistics_costs_only_itself(change: dict[str, Any], problem: str) -> None:
    expected = tuple(Stats.model_fields)
    stats, problems = read_answer(
        "op", received(json.dumps({**STATS, **change})), AnswerShape(Stats, expected=expected)
    )
    assert problem in problems
    assert (stats.promptCount, stats.categories[0].count, list(stats.tags)) == (1, 4, [])


@each("name", PROJECT)
@each("value", ["absent", None, [], {"a": 1}])
def test_a_project_may_lack_any_field(name: str, value: Any) -> None:
    body = {**PROJECT, name: value}
    if value == "absent":
        del body[name]
    project, problems = read_answer("op", received(json.dumps(body)), AnswerShape(Project, expected=tuple(PROJECT)))
    assert not getattr(project, name)
    assert problems[0].startswith(f"{name}: ")
    assert len(problems) == 1


# RowsShape


@each("value", ["absent", None, [], {"a": 1}])
@each(
    ("row", "shape", "name"),
    [
        *(
            (WORKFLOW, RowsShape(Workflow, "workflows"), name)
            for name in ("name", "description", "trigger_type", "node_count")
        ),
        *((AGENT, RowsShape(Agent, "agents"), name) for name in ("name", "description", "model", "temperature")),
    ],
)
def test_a_row_may_lack_everything_but_its_id(
    row: dict[str, Any], shape: RowsShape[Any], name: str, value: Any
) -> None:
    odd = {**row, name: value}
    if value == "absent":
        del odd[name]
    rows, problems = read_rows("op", received(json.dumps([row, odd])), shape)
    assert [one.id for one in rows] == [row["id"], row["id"]]
    assert (getattr(rows[1], name) or "") == (f"{shape.model.__name__} {row['id']}" if name == "name" else "")
    assert problems == (
        [f"{shape.name}[1].{name}: {problems[0].partition(': ')[2]}"] if value in ([], {"a": 1}) else []
    )


@each(
    ("row", "problem"),
    [
        (7, "workflows[1]: not an object but a number (left out)"),
        (None, "workflows[1]: not an object but null (left out)"),
        ({"name": "x"}, "workflows[1].id: missing (left out)"),
        ({**WORKFLOW, "id": None}, "workflows[1].id: not a number but null (left out)"),
        ({**WORKFLOW, "id": "three"}, "workflows[1].id: not a number but a string (left out)"),
        ({**WORKFLOW, "id": 1.5}, "workflows[1].id: not a whole number (left out)"),
    ],
)
def test_a_row_that_cannot_be_used_is_left_out_and_named(row: Any, problem: str) -> None:
    rows, problems = read_rows("op", received(json.dumps([WORKFLOW, row, WORKFLOW])), RowsShape(Workflow, "workflows"))
    assert [one.name for one in rows] == ["Import", "Import"]
    assert problems == [problem]


def test_a_list_without_any_usable_row_fails() -> None:
    problem = problem_of(lambda: read_rows("op", received('[{"name": "a"}]'), RowsShape(Agent, "agents")))
    assert problem == "agents[0].id: missing (left out)"
    assert read_rows("op", received("[]"), RowsShape(Agent, "agents")) == ([], [])


def test_of_very_many_rows_the_first_are_used() -> None:
    rows, problems = read_rows("op", received(json.dumps([AGENT] * 10_001)), RowsShape(Agent, "agents"))
    assert len(rows) == 10_000
    assert problems == ["agents: more than 10,000, of which the first were used"]


@each(
    ("given", "active"),
    [(True, True), (False, False), (0, False), ("false", False), (1, True), (None, True), ([], True)],
)
def test_a_workflow_is_active_unless_it_says_otherwise(given: Any, *, active: bool) -> None:
    assert Workflow.model_validate({**WORKFLOW, "is_active": given}).is_active is active


@each("wrapped", [{"agents": [AGENT]}, {"data": [AGENT]}, {"data": {"agents": [AGENT]}}])
def test_a_list_may_be_wrapped(wrapped: Any) -> None:
    rows, _ = read_rows("op", received(json.dumps(wrapped)), RowsShape(Agent, "agents"))
    assert [one.name for one in rows] == ["a"]


@each(("body", "kind"), [("{}", "an object"), ("null", "null"), ("3", "a number")])
def test_a_list_of_another_type_is_named(body: str, kind: str) -> None:
    problem = problem_of(lambda: read_rows("op", received(body), RowsShape(Agent, "agents")))
    assert problem == f"agents: not a list but {kind}"


# Sizes


def large(message: str, *, before: str = "", after: str = "") -> bytes:
    return f'{{{before}"message": "{message}"{after}}}'.encode()


@each("is_compressed", [False, True])
def test_of_a_large_answer_the_beginning_is_read(*, is_compressed: bool) -> None:
    body = large("x\\n" * LARGEST_BODY, before='"sessionId": 1, ')
    it = received(gzip.compress(body) if is_compressed else body)
    answer, problems = read_answer("send_message", it, CHAT)
    assert answer.sessionId == 1
    assert answer.message.startswith("x\nx\n")
    assert LARGEST_BODY / 2 < len(answer.message) < LARGEST_BODY
    assert answer.is_cut
    assert problems == ["larger than 4 MB"]


@each("end", [0, 1, 6, 11])
def test_an_answer_may_be_cut_within_an_escape(end: int) -> None:
    filler = "x" * (LARGEST_BODY - len(large("")) - 30 - end)
    answer, _ = chat(large(filler + "\\ud83d\\ude00" * 100))
    assert answer.message.rstrip("😀�") == filler


def test_of_a_large_output_the_beginning_is_read_as_json() -> None:
    result, _ = run(json.dumps({"runId": 7, "status": "done", "output": [["row"] * 10] * 200_000}))
    assert (result.runId, result.status, result.is_cut) == (7, "done", True)
    assert result.output.startswith('[["row", "row"')


def test_a_whole_message_is_not_called_a_beginning() -> None:
    for tools in (b"[" * 250_000, json.dumps(["x" * LARGEST_BODY]).encode()):
        answer, problems = chat(b'{"sessionId": 1, "message": "hi", "toolsUsed": ' + tools)
        assert (answer.sessionId, answer.message, answer.toolsUsed, answer.is_cut) == (1, "hi", None, False)
        assert problems[0] == "toolsUsed: not JSON"


def test_an_output_beyond_the_limit_is_called_missing() -> None:
    result, _ = run(json.dumps({"runId": 7, "nodeResults": {"a": "x" * LARGEST_BODY}, "output": "end"}))
    assert (result.runId, result.output, result.is_cut) == (7, None, True)


def test_of_endless_gzip_members_the_first_are_read() -> None:
    answer, problems = chat(gzip.compress(large("hi"), mtime=0) + gzip.compress(b" ", mtime=0) * 100_000)
    assert (answer.message, problems[0]) == ("hi", "larger than 4 MB")


def test_a_large_answer_without_a_message_at_its_beginning_is_none() -> None:
    body = json.dumps({"toolsUsed": "x" * LARGEST_BODY, "sessionId": 1, "message": "hi"})
    assert problem_of(lambda: chat(body)) == "larger than 4 MB"


# Models


@each("spelling", ["absent", "null"])
@each(
    ("model", "least", "optional"),
    [
        (Workflow, WORKFLOW, ["description"]),
        (Agent, AGENT, ["description", "temperature", "welcome_message"]),
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


def test_a_detail_field_of_another_type_is_none() -> None:
    detail = AgentDetail.model_validate({"id": "three", "name": "Support", "tools": "all"})
    assert (detail.id, detail.name, detail.tools) == (None, "Support", "all")


@each(
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
    assert created is not None
    assert created.utcoffset() is not None


@each(("wire", "value"), [(0.7, 0.7), (1, 1.0), (None, None)])
def test_a_temperature_is_any_number(wire: float | None, value: float | None) -> None:
    assert Agent.model_validate({"id": 1, "name": "a", "model": "m", "temperature": wire}).temperature == value


@each("wire", ["0.7", True, []])
def test_a_temperature_that_is_no_number_is_left_out(wire: Any) -> None:
    assert Agent.model_validate({"id": 1, "name": "a", "model": "m", "temperature": wire}).temperature is None


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
IN_A_MINUTE = "Sat, 21 Nov 2026 12:01:00 GMT"


def refused(status: int, body: Any = b"", **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    it = ServiceResponse(status, httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()}))
    it.add(content)
    return service_refusal(
        "send_message", it, secret="sk-1", base_url="https://old.example/p", path="agents/7/chat", now=NOW
    )


@each(
    ("status", "headers", "kind", "may_have_happened"),
    [
        (307, {}, Moved, False),
        (400, {}, ServiceRefused, False),
        (401, {}, Forbidden, False),
        (403, {}, Forbidden, False),
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


@each(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry_After": ""}, None),
        ({"Retry_After": "-1"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "0"}, 0),
        ({"Retry_After": " 7 "}, 7),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": "999999999"}, 30 * 86_400),
        ({"Retry_After": IN_A_MINUTE}, 60),
        ({"Retry_After": IN_A_MINUTE, "Date": "Sat, 21 Nov 2026 12:00:50 GMT"}, 10),
        ({"Retry_After": IN_A_MINUTE, "Date": "now"}, 60),
        ({"Retry_After": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry_After": "Sat, 21 Nov 2036 11:00:00 GMT"}, 30 * 86_400),
    ],
)
def test_retry_after_is_seconds_or_a_date_within_bounds(headers: dict[str, str], seconds: float | None) -> None:
    wanted = None if seconds is None else timedelta(seconds=seconds)
    assert refused(429, **headers).retry_after == wanted


@each(
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
    assert refused(400, body).message == said


def test_plain_text_is_the_services_error_message() -> None:
    assert refused(400, b"too\nmany", Content_Type="text/plain; charset=utf-8").message == "too many"
    assert refused(502, b"Bad Gateway", Content_Type="text/html").message == ""


@each(
    ("location", "to"),
    [
        ("https://new.example/api/sdk/agents/7/chat", "https://new.example"),
        ("https://new.example:8443/q/api/sdk/agents/7/chat/?x=secret", "https://new.example:8443/q"),
        ("//new.example/api/sdk/agents/7/chat", "https://new.example"),
        ("/v2/api/sdk/agents/7/chat", "https://old.example/v2"),
        ("https://user:secret@new.example/login?next=/", "https://new.example/login"),
        ("https://old.example/p/api/sdk/agents/7/chat/", ""),
        ("", ""),
        ("javascript:alert(1)", ""),
        ("http://[::1", ""),
        ("https://new.example:99999/", ""),
    ],
)
def test_a_redirect_names_the_address_to_set(location: str, to: str) -> None:
    assert refused(308, Location=location).to == to


@each(
    ("body", "content_type", "is_page"),
    [
        (b'{"error": "no such session"}', "application/json", False),
        (b"no such session", "text/plain", False),
        (b"", "", False),
        (b"<!DOCTYPE html><title>404</title>", "", True),
        (b" \n<html>", "text/plain", True),
        (b"nothing here", "text/html; charset=utf-8", True),
    ],
)
def test_a_page_is_not_the_services_own_answer(body: bytes, content_type: str, *, is_page: bool) -> None:
    assert refused(404, body, Content_Type=content_type).is_page is is_page


def test_a_compressed_error_is_read() -> None:
    assert refused(400, gzip.compress(b'{"error": "no"}'), Content_Encoding="gzip").message == "no"


ROWS: list[Any] = [{"id": number, "name": "W"} for number in range(2)]


@each(
    ("body", "headers", "is_part"),
    [
        (ROWS, {}, False),
        (ROWS, {"link": '<https://project.example/api/sdk/workflows?page=2>; rel="next"'}, True),
        (ROWS, {"Link": "</x?page=9>; rel=last, </x?page=2>; rel=next"}, True),
        (ROWS, {"link": '</x>; rel="prev"'}, False),
        (ROWS, {"X-Total-Count": "3"}, True),
        (ROWS, {"x-total-count": "2", "content-range": "items 0-1/2"}, False),
        *[({"data": ROWS, name: value}, {}, True) for name, value in {
            "next": "/x?page=2", "next_cursor": "abc", "nextPageToken": "abc", "cursor": "abc", "has_more": True,
            "hasMore": True, "total": 3, "count": 3, "totalCount": "3", "total_pages": 2, "@odata.nextLink": "/x",
            "pagination": {"next": 2}, "meta": {"page": {"total": 9}}, "links": {"next": "/x"},
            "pageInfo": {"hasNextPage": True, "endCursor": "abc"}, "_links": {"next": {"href": "/x"}},
        }.items()],
        *[({"data": ROWS, name: value}, {}, False) for name, value in {
            "next": None, "next_cursor": "", "has_more": False, "total": 2, "count": 2, "total_pages": 1,
            "pagination": {"next": None, "total": 2}, "links": {"self": "/x", "next": None},
            "pageInfo": {"hasNextPage": False, "endCursor": "abc"}, "version": 3,
        }.items()],
        ({"data": {"workflows": ROWS, "has_more": True}}, {}, True),
        ({"workflows": ROWS, "page": 2, "pages": 2}, {}, False),
    ],
)  # fmt: skip
def test_a_list_says_whether_there_is_more(body: Any, headers: dict[str, str], is_part: bool) -> None:  # noqa: FBT001
    received = ServiceResponse(200, headers)
    received.add(json.dumps(body).encode())

    rows, problems = read_rows("get_workflows", received, RowsShape(Workflow, "workflows"))

    assert (len(rows), rows.is_part, problems) == (2, is_part, [])
