"""Have Slack validate every layout of the bridge: ``make validate-blocks``, with SLACK_BOT_TOKEN. Nothing is posted.

https://docs.slack.dev/reference/methods/blocks.validate has "special rate limits" without figures. So samples are sent
one by one, and each 429 is waited out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bridge.errors import SlackError, SlackRefused, SlackUnreachable
from bridge.metrics import Metrics
from bridge.settings import environment, well_formed
from bridge.slack.api import SlackWeb, opened, problems_in
from support.layouts import Payload, payloads

_METHOD: Final = "blocks.validate"
_ABOUT_THE_SAMPLE: Final = ("invalid_blocks", "invalid_message", "invalid_view", "msg_", "view_")
_ATTEMPTS: Final = 5  # per sample


async def problems(web: SlackWeb, sent: Iterable[Payload]) -> list[str]:
    """Return what Slack rejects, each with the layout's name. Raises `SlackError` if it doesn't answer."""
    found: dict[str, None] = {}  # samples of one layout usually have the same problems
    for payload in sent:
        for problem in await _validated(web, payload):
            found[f"{payload.layout}: {problem}"] = None
    return list(found)


async def _validated(web: SlackWeb, payload: Payload) -> Iterable[str]:
    for attempt in range(_ATTEMPTS):
        try:
            return problems_in(await web.call(_METHOD, {payload.kind: json.dumps(payload.sent)}))
        except SlackUnreachable as exc:
            if exc.retry_after is None or attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(exc.retry_after.total_seconds())
        except SlackRefused as exc:
            if not exc.error.startswith(_ABOUT_THE_SAMPLE):
                raise
            return exc.problems or [exc.error]
    raise AssertionError("the last attempt returns or raises")


async def main() -> int:
    """Validate all layouts with the configured Slack; returns 1 if one is rejected or can't be validated."""
    values = well_formed(environment(os.environ, Path(".env")))
    if "SLACK_BOT_TOKEN" not in values:
        print("Set SLACK_BOT_TOKEN.", file=sys.stderr)  # noqa: T201 - the command's output
        return 1
    async with opened(values["SLACK_API_URL"], values["SLACK_BOT_TOKEN"].get_secret_value(), Metrics()) as web:
        try:
            found = await problems(web, payloads())
        except SlackError as exc:
            found = [f"Slack doesn't validate: {exc.detail}"]
    print("\n".join(found) or "Slack accepts all layouts.")  # noqa: T201
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
