"""`bridge check --blocks`: have Slack validate every layout of the bridge. Nothing is posted.

https://docs.slack.dev/reference/methods/blocks.validate has "special rate limits" without figures. So samples are sent
one by one as fast as Slack answers; once Slack rate-limits us, there's a pause between them, which grows with each 429.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from bridge.cli.layouts import Sample
from bridge.cli.probes import CURE_OF_BOT, slack_trouble
from bridge.cli.rows import FAILURE, OK, Row
from bridge.errors import SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.metrics import Metrics
from bridge.slack.api import SlackWeb, opened, problems_in

LAYOUTS: Final = "Layouts"
_METHOD: Final = "blocks.validate"
_ABOUT_THE_SAMPLE: Final = ("invalid_blocks", "invalid_message", "invalid_view", "msg_", "view_")
_NOT_AVAILABLE: Final = "run the check again; if Slack says the same, this workspace doesn't have blocks.validate yet"
_MOST_ATTEMPTS: Final = 5  # per sample, if Slack rate-limits or doesn't answer
_FIRST_PAUSE: Final = 0.5  # seconds
_LONGEST_PAUSE: Final = 5.0  # seconds

Sleep = Callable[[float], Awaitable[None]]


async def block_rows(
    values: Mapping[str, Any], samples: Sequence[Sample], progress: Callable[[int], None]
) -> list[Row]:
    """Send *samples* to the configured Slack; *progress* is called with the number sent so far."""
    url, token = values.get("SLACK_API_URL"), values.get("SLACK_BOT_TOKEN")
    if url is None or token is None:
        return []
    async with opened(url, token.get_secret_value(), Metrics()) as web:
        return await validated(web, samples, progress)


async def validated(
    web: SlackWeb, samples: Sequence[Sample], progress: Callable[[int], None], *, sleep: Sleep = asyncio.sleep
) -> list[Row]:
    """Validate *samples*; returns a row for each problem, or one row if there are none."""
    try:
        await web.hello()
    except SlackError as exc:
        return [slack_trouble("bot token", exc, CURE_OF_BOT)]
    wrong: Counter[tuple[str, str]] = Counter()
    pause = 0.0
    for number, sample in enumerate(samples):
        try:
            found, pause = await _problems_of(web, sample, pause, sleep)
        except SlackError as exc:
            trouble = slack_trouble("validated", exc, _NOT_AVAILABLE)
            detail = f"{trouble.detail}, after {number} of {len(samples)} samples"
            return [*_refusals(wrong), Row(LAYOUTS, "validated", FAILURE, detail, trouble.cure)]
        wrong.update((sample.layout, problem) for problem in found)
        progress(number + 1)
    layouts = len({sample.layout for sample in samples})
    return _refusals(wrong) or [
        Row(LAYOUTS, "validated", OK, f"Slack accepts all {layouts} layouts ({len(samples)} samples)")
    ]


def _refusals(wrong: Counter[tuple[str, str]]) -> list[Row]:
    return [
        Row(LAYOUTS, layout, FAILURE, problem + (f" ({times} samples)" if times > 1 else ""), "report this as a bug")
        for (layout, problem), times in sorted(wrong.items())
    ]


async def _problems_of(web: SlackWeb, sample: Sample, pause: float, sleep: Sleep) -> tuple[Collection[str], float]:
    """Validate *sample*; returns its problems, and the pause before the next. Raises `SlackError`."""
    arguments: dict[str, str] = {sample.kind: json.dumps(sample.payload)}
    for number in range(_MOST_ATTEMPTS):
        await sleep(pause)
        try:
            answer = await web.call(_METHOD, arguments)
        except SlackUnreachable as exc:
            if isinstance(exc, SlackTokenRefused) or number == _MOST_ATTEMPTS - 1:
                raise
            pause = min(max(_FIRST_PAUSE, pause * 2), _LONGEST_PAUSE)
            await sleep((exc.retry_after or timedelta(seconds=pause)).total_seconds())
        except SlackRefused as exc:
            if not exc.error.startswith(_ABOUT_THE_SAMPLE):
                raise
            return exc.problems or [exc.error], pause
        else:  # https://docs.slack.dev/reference/methods/blocks.validate#validation-errors
            return problems_in(answer), pause
    raise AssertionError("the last attempt returns or raises")
