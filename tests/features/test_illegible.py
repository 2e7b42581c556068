"""What agents and workflows return that nobody can read, and names that nobody can see."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, DM_ALICE
from support.harness import Harness
from support.tables import each

PICTURE = b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(32_992)  # noqa: S311 - any bytes
CODED = base64.b64encode(PICTURE).decode()
EMPTY = "_The agent sent an empty answer._"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(PICTURE[:1200]).decode()}-----END CERTIFICATE-----"
TEXTS = [
    (f"Look: ![chart](data:image/png;base64,{CODED}) it rises", "Look: [image, 33 kB] it rises"),
    (f'<img alt="a" src="data:image/png;base64,{CODED}" width="3"> it rises', "[image, 33 kB] it rises"),
    (CODED, "[image, 33 kB]"),
    (f"```\n{base64.encodebytes(PICTURE).decode()}```\nDone", "```\n[image, 33 kB]\n```\nDone"),
    (" ".join(CODED[at : at + 76] for at in range(0, len(CODED), 76)), "[image, 33 kB]"),
    (f"bytes {PICTURE.hex()} end", "bytes [image, 33 kB] end"),
    (f"[report](data:application/pdf;base64,{CODED})", "[image, 33 kB]"),
    (f"data:application/pdf;base64,{base64.b64encode(b'%PDF-1.7' + PICTURE).decode()}", "[PDF, 33 kB]"),
    (base64.urlsafe_b64encode(b"any" + PICTURE).decode(), "[file, 33 kB]"),
    ("data:text/html," + "%3Ch1%3E" * 100 + " it", "[file, 400 bytes] it"),
    ("\x1b[1;31mred\x1b[0m and \x9b32mgreen\x1b(B", "red and green"),
    ("\x1b]8;;https://a.example\x07a link\x1b]8;;\x07\x1b[2J", "a link"),
    ("10 %\r50 %\r100 %\r\nready", "100 %\nready"),
    ("long line\x1b[2K\rok\nlong line\rsort", "ok\nsort line"),
    ("N\bNA\bAM\bME\bE", "NAME"),
    (CERTIFICATE, CERTIFICATE),
    ("a" * 3000, "a" * 3000),
    (f"https://example.com/{'aB3' * 700}", f"https://example.com/{'aB3' * 700}"),
    ("family 👨‍👩‍👧 ❤️", "family 👨‍👩‍👧 ❤️"),
]


@each(
    ("said", "shown"),
    [
        *TEXTS,
        *[(text, EMPTY) for text in ("\u200b", "\ufeff \u00ad", "\u3164", "\u2800", "&#8203; &nbsp;", "\x1b[0m")],
    ],
)
async def test_an_answer_is_shown_as_people_can_read_it(harness: Harness, said: str, shown: str) -> None:
    harness.service.chats = [httpx.Response(200, json={"sessionId": 42, "message": said})]
    before = len(harness.seen.messages)

    await harness.say("hello", user=ALICE, channel=DM_ALICE)

    assert [one.words.strip() for one in harness.seen.messages[before:]] == [shown.strip()]


def texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    if not isinstance(value, dict):
        return []
    return [value["text"]] if isinstance(value.get("text"), str) else texts(list(value.values()))


@each(("output", "shown"), [(text, shown) for text, shown in TEXTS if len(shown) < 100])
async def test_a_runs_results_are_shown_as_people_can_read_them(harness: Harness, output: str, shown: str) -> None:
    results = {"runId": 9, "status": "completed", "output": output, "nodeResults": {"a": {"log": output}}}
    within = {**results, "output": {"log": [output]}}
    harness.service.run_answers = [httpx.Response(200, json=one) for one in (results, within)]
    for number, wanted in enumerate((shown, json.dumps({"log": [shown]}, indent=2, ensure_ascii=False))):
        posted, files = len(harness.seen.messages), len(harness.slack.files)
        await harness.type_command(f"/workflows run 3 input {number}")
        card = harness.seen.messages[posted]
        assert wanted in texts(card.blocks)
        attached = [one.content.decode() for one in harness.slack.files[files:]]
        assert all(output in one or json.dumps(output)[1:-1] in one for one in attached), "a file has all of it"
        assert bool(attached) == (len(output) > 2800)

        await harness.slack.ui.click(ALICE, card.message.channel, card.ts, "run:nodes")
        await harness.work()
        assert json.dumps({"log": shown}, indent=2, ensure_ascii=False) in texts(harness.seen.messages[-1].blocks)


@each(("told", "shown"), [
    ({"status": "completed", "output": {"\x1b[31mred\x1b[0m": {f"data:image/png;base64,{CODED}": 1}}}, '"red": {'),
    ({"status": "completed", "output": {f"data:image/png;base64,{CODED}": 1}}, '"[image, 33 kB]": 1'),
    ({"status": "failed", "error": f"no: data:image/png;base64,{CODED}"}, "Failed: “no: [image, 33 kB]”"),
    ({"status": "failed", "output": {"error": CODED}}, "Failed: “[image, 33 kB]”"),
])  # fmt: skip
async def test_names_and_reasons_in_a_runs_results_are_readable(
    harness: Harness, told: dict[str, Any], shown: str
) -> None:
    harness.service.run_answers = [httpx.Response(200, json={"runId": 9, "nodeResults": {}, **told})]
    posted = len(harness.seen.messages)
    await harness.type_command(f"/workflows run 3 {posted}")

    said = "".join(texts(harness.seen.messages[posted].blocks))
    assert (shown in said, CODED[:40] in said, "\x1b" in said) == (True, False, False)


async def test_without_files_no_base64_is_posted(harness: Harness) -> None:
    harness.slack.scopes.discard("files:write")
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    result = {"runId": 9, "status": "completed", "output": [CODED], "nodeResults": {}}
    harness.service.run_answers = [httpx.Response(200, json=result)]

    await harness.type_command("/workflows run 3 hello")

    said = " ".join(one.text + json.dumps(one.blocks) for one in harness.seen.messages)
    assert "[image, 33 kB]" in said
    assert CODED[:40] not in said


@pytest.mark.parametrize("name", ["", "\u3164", "\u200b\ufeff", "\u2800 "])
async def test_a_name_that_cant_be_seen_is_shown_by_its_id(harness: Harness, name: str) -> None:
    harness.service.agents = [{**one, "name": name} for one in harness.service.agents]
    harness.service.workflows = [{**one, "name": name} for one in harness.service.workflows]
    harness.service.details = {**harness.service.workflows[0], "nodes": [], "edges": []}
    harness.slack.workspace.people[ALICE].real_name = name
    shown = []
    for line in ("/agents list", "/agents show 7", "/workflows list", "/workflows show 3"):
        await harness.type_command(line)
        shown.append(harness.seen.ephemerals[-1])
    await harness.type_command("/workflows run 3 hello")
    shown.append(harness.seen.messages[-1])

    for one, named in zip(shown, ("Agent 7", "Agent 7", "Workflow 3", "Workflow 3", "Workflow 3"), strict=True):
        assert named in texts(one.blocks)
        assert named in one.text
    assert "Started by alice" in str(shown[-1].blocks)
