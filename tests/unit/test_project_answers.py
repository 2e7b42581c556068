"""Which error an answer with an error status becomes, and what it carries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from bridge.errors import Busy, NotFound, NotSignedIn, Outage, ServiceRefused
from bridge.project.answers import Answer, find_message, read_retry_after, refusal

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
IN_A_MINUTE = "Sat, 21 Nov 2026 12:01:00 GMT"


def answer(status: int, body: Any = b"", **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()}), content)


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
    error = refusal("send_message", answer(status, **headers), now=NOW)
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
    assert read_retry_after(answer(429, **headers).headers, NOW) == wanted


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
def test_the_services_own_words_are_found_and_cleaned(body: Any, said: str) -> None:
    assert find_message(answer(400, body), "sk-1") == said


def test_plain_text_is_the_services_own_words() -> None:
    assert find_message(answer(400, b"too\nmany", Content_Type="text/plain; charset=utf-8")) == "too many"


def test_html_is_not() -> None:
    assert find_message(answer(502, b"Bad Gateway", Content_Type="text/html")) == ""
