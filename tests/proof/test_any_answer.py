"""Whatever is odd about an agent's answer or a run's result, people see what can be read of it."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import httpx
from hypothesis import given, settings, strategies as st

from bridge.project.models import Agent, ChatAnswer, RunResult
from bridge.project.reading import AnswerShape, RowsShape, ServiceResponse, read_answer, read_rows
from bridge.unseen import is_blank

CHAT = AnswerShape(ChatAnswer, needs=("message",), expected=("sessionId",), partly="message")
RUN = AnswerShape(RunResult, expected=("runId", "status"), partly="output")

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60).filter(
    str.strip
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),  # with NaN and Infinity
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
ENCODED = st.sampled_from(
    [
        (lambda body: body, ""),
        (lambda body: b"\xef\xbb\xbf" + body, ""),
        (lambda body: body + b"\r\n", ""),
        (lambda body: gzip.compress(body, mtime=0), "gzip"),
        (lambda body: gzip.compress(body, mtime=0), "x-gzip"),
        (zlib.compress, "deflate"),
        (lambda body: body, "gzip"),
    ]
)


def received(body: bytes, content_type: str = "application/json", encoding: str = "") -> ServiceResponse:
    it = ServiceResponse(200, httpx.Headers({"content-type": content_type, "content-encoding": encoding}))
    it.add(body)
    return it


TYPES = st.sampled_from(["application/json", "application/json; charset=latin1", "text/plain", "text/html", "", "x"])


@settings(max_examples=120)
@given(WORDS, st.dictionaries(st.sampled_from(["sessionId", "toolsUsed", "x"]), JSON), ENCODED, TYPES)
def test_an_answer_with_any_details_is_shown(
    message: str, details: dict[str, Any], encoded: Any, content_type: str
) -> None:
    encode, encoding = encoded
    body = json.dumps({**details, "message": message}, ensure_ascii=len(message) % 2 == 0).encode()

    answer, _problems = read_answer("send_message", received(encode(body), content_type, encoding), CHAT)

    assert answer.message == message
    assert answer.sessionId is None or isinstance(answer.sessionId, int)
    json.dumps(answer.toolsUsed, allow_nan=False).encode()


@settings(max_examples=80)
@given(WORDS, st.dictionaries(st.sampled_from(["runId", "status", "nodeResults", "x"]), JSON), ENCODED)
def test_a_result_with_any_details_shows_its_output(output: str, details: dict[str, Any], encoded: Any) -> None:
    encode, encoding = encoded
    body = json.dumps({**details, "output": output}).encode()

    result, _problems = read_answer("run_workflow", received(encode(body), encoding=encoding), RUN)

    assert result.output == output
    json.dumps(result.nodeResults, allow_nan=False).encode()


@settings(max_examples=80)
@given(st.lists(JSON, max_size=5), st.integers(1, 2**70), WORDS)
def test_a_good_row_is_used_among_any_others(others: list[Any], id_: int, name: str) -> None:
    body = json.dumps([*others, {"id": id_, "name": name}]).encode()

    rows, _problems = read_rows("get_agents", received(body), RowsShape(Agent, "agents"))

    assert (rows[-1].id, rows[-1].name) == (id_, f"Agent {id_}" if is_blank(name) else name)
