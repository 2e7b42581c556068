"""What logging writes, and what it must never write."""

from __future__ import annotations

import asyncio
import io
import json
import logging

from bridge import logs
from support.tables import each

BOT_TOKEN = "xoxb-123456789012-abcdefABCDEF"


def written(log_format: logs.Format, level: str = "DEBUG") -> tuple[io.StringIO, logging.Logger]:
    stream = io.StringIO()
    logs.configure(log_format, level, stream)
    return stream, logging.getLogger("bridge.test")


def test_json_is_one_line_with_its_facts() -> None:
    stream, log = written("json")

    with logs.facts(thread="T1:C1:1.2"):
        log.info("answer posted", extra={"parts": 3, "note": "two\nlines"})

    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    record = json.loads(lines[0])
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "info",
        "logger": "bridge.test",
        "message": "answer posted",
        "thread": "T1:C1:1.2",
        "parts": 3,
        "note": "two\nlines",
    }


def test_console_is_one_line_with_its_facts() -> None:
    stream, log = written("console")

    log.warning("lane taken over", extra={"lane": "t:1\nERROR forged"})

    assert stream.getvalue().count("\n") == 1
    assert "WARNING bridge.test: lane taken over  lane=t:1\\nERROR forged" in stream.getvalue()


@each("log_format", ["json", "console"])
def test_a_line_holds_nothing_that_a_terminal_obeys(log_format: logs.Format) -> None:
    stream, log = written(log_format)
    name = "a\x1b[2J\x9b31mb\u202ec\u00fc\ud800"

    log.error("lookup failed", exc_info=ValueError(name), extra={"name_of": name})

    text = stream.getvalue()
    assert [one for one in text if not (one.isprintable() or one == "\n")] == []
    assert "ü" in text
    if log_format == "json":
        assert json.loads(text)["name_of"] == name


def test_facts_nest_and_end_with_their_block() -> None:
    stream, log = written("json")

    with logs.facts(thread="one"):
        with logs.facts(turn="two"):
            log.info("inside")
        log.info("between")
    log.info("outside")

    inside, between, outside = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (inside["thread"], inside["turn"]) == ("one", "two")
    assert "turn" not in between
    assert "thread" not in outside


async def test_facts_of_one_task_do_not_show_in_another() -> None:
    stream, log = written("json")

    async def work(thread: str) -> None:
        with logs.facts(thread=thread):
            await asyncio.sleep(0)
            log.info("worked", extra={"by": thread})

    await asyncio.gather(work("a"), work("b"))

    for line in stream.getvalue().splitlines():
        record = json.loads(line)
        assert record["thread"] == record["by"]


@each("log_format", ["json", "console"])
@each(
    "secret",
    [
        BOT_TOKEN,
        "xoxe.xoxb-1-Mi0yLTEyMzQ1Njc4OTAxMi0x",
        "xapp-1-A012-3456-abcdef",
        "Bearer sk-live.abc/def+ghi=",
        "https://hooks.slack.com/commands/T1/2/3abc",
    ],
)
def test_anything_like_a_secret_is_redacted_everywhere(log_format: logs.Format, secret: str) -> None:
    stream, log = written(log_format)

    with logs.facts(fact=secret):
        log.info("careless %s", secret, extra={"token": secret, "nested": {"headers": [secret]}})
        try:
            int(secret)
        except ValueError:
            log.exception("failed")

    assert secret not in stream.getvalue()
    assert secret.rsplit(maxsplit=1)[-1] not in stream.getvalue()
    assert "[redacted]" in stream.getvalue()


@each("log_format", ["json", "console"])
def test_an_exception_has_its_traceback_and_no_locals(log_format: logs.Format) -> None:
    stream, log = written(log_format)

    def fail(message_text: str) -> None:
        raise RuntimeError(len(message_text))

    private = "what a person wrote"
    try:
        fail(private)
    except RuntimeError:
        log.exception("failed")

    assert "in fail" in stream.getvalue()
    assert "RuntimeError: 19" in stream.getvalue()
    assert private not in stream.getvalue()


@each(
    ("level", "name", "said_at"),
    [
        ("DEBUG", "slack_sdk.web.async_base_client", logging.INFO),
        ("DEBUG", "slack_bolt.AsyncApp", logging.INFO),
        ("DEBUG", "aiohttp.client", logging.INFO),
        ("DEBUG", "httpx", logging.INFO),
        ("DEBUG", "uvicorn.error", logging.WARNING),  # would log every bad request
        ("ERROR", "httpx", logging.WARNING),
        ("ERROR", "bridge.test", logging.WARNING),
    ],
)
def test_libraries_that_print_payloads_stay_quiet(level: str, name: str, said_at: int) -> None:
    stream, log = written("console", level)

    logging.getLogger(name).log(said_at, "Sending a request - params: what a person wrote")
    log.error("ours")

    assert "person" not in stream.getvalue()
    assert "ours" in stream.getvalue()


def test_facts_of_other_libraries_are_not_printed() -> None:
    stream, _ = written("json")

    with logs.facts(thread="ours"):
        logging.getLogger("somebody").warning("theirs", extra={"payload": "what a person wrote"})

    assert stream.getvalue().count("theirs") == 1
    assert "payload" not in stream.getvalue()
    assert "ours" not in stream.getvalue()
