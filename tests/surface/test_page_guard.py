"""The page's content security policy and access rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.page.routes import STATIC, version


async def test_the_page_and_its_scripts_are_served_with_a_strict_policy(http: httpx.AsyncClient) -> None:
    for path in ("/", "/static/-/icon.svg", "/page/state"):
        answer = await http.get(path)

        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await http.get("/static/-/../../routes.py")).status_code == 404


async def test_the_pages_files_are_cached_under_their_version_and_nothing_else(http: httpx.AsyncClient) -> None:
    page = await http.get("/")
    icon, *others = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    kept = [(await http.get(path)).headers["cache-control"] for path in (icon, *others)]

    assert set(kept) == {"max-age=31536000, immutable"}
    assert {one.headers["cache-control"] for one in (page, await http.get("/page/state"))} == {"no-store"}
    assert {path.split("/")[2] for path in (icon, *others)} == {version(STATIC)}


def test_a_changed_file_changes_the_version(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "main.js").write_text("1")
    before = version(tmp_path)

    (tmp_path / "js" / "main.js").write_text("2")

    assert version(tmp_path) != before


FOREIGN = (
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "[::1"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": ""},
)


async def test_a_request_from_another_origin_is_refused(http: httpx.AsyncClient, slack: EmulatedSlack) -> None:
    body = json.dumps({"channel": sample.GENERAL, "text": "x"})

    for headers in FOREIGN:
        sent = {"Content-Type": "application/json", **headers}
        answer = await http.post("/page/do/say", params={"as": sample.ALICE}, content=body, headers=sent)
        assert answer.status_code == 403, headers
    assert slack.messages(sample.GENERAL) == []


async def test_a_foreign_host_header_is_refused(http: httpx.AsyncClient) -> None:
    for path in ("/page/state", "/page/stream", "/page/wires", "/"):
        assert (await http.get(path, headers={"Host": "evil.example:8080"})).status_code == 403


async def test_a_request_from_the_page_itself_is_accepted(http: httpx.AsyncClient, slack: EmulatedSlack) -> None:
    for host in (slack.url.removeprefix("http://"), "localhost:8080", "[::1]:8080"):
        headers = {"Host": host, "Origin": f"http://{host}"}
        answer = await http.post(
            "/page/do/read", params={"as": sample.ALICE}, json={"channel": sample.GENERAL}, headers=headers
        )

        assert answer.json() == {"ok": True}


async def test_an_empty_body_gets_an_error_message(http: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}

    for body in (b"{", b"", b"[]", b"7", b'"x"', b"\xff"):
        answer = await http.post("/page/do/say", params={"as": sample.ALICE}, content=body, headers=headers)
        assert answer.status_code in {200, 400}, body
        assert not answer.json()["ok"]
        assert answer.json()["error"]
