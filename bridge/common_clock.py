"""What time it is, for whatever several processes decide together: when a slot is due, or a request is over.

No process goes by its own machine's clock, as that may be wrong, or jump. It goes by Redis', heard with each heartbeat
(`bridge.queue.namespace`), and between two heartbeats by the seconds that pass here. If Slack contradicts Redis, all
go by Slack's: its messages' times are compared with this one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final

log = logging.getLogger(__name__)

AGREE: Final = timedelta(seconds=30)
"""By how much two clocks may differ: an answer of Slack's takes up to 10 s, and its date is in whole seconds."""

_WRONG_FOR_SLACK: Final = timedelta(minutes=5)  # what Slack's signatures tolerate
_FRESH: Final = 20.0  # seconds; heartbeats are 5 s apart
_UTC_NOW: Final = partial(datetime.now, UTC)
_BOOT_TIME: Final = getattr(time, "CLOCK_BOOTTIME", None)

since_boot = time.monotonic if _BOOT_TIME is None else partial(time.clock_gettime, _BOOT_TIME)
"""Seconds that also pass while the machine is suspended; setting its clock doesn't change them."""


def http_date(text: str) -> datetime | None:
    """Read a date in a header of HTTP; None if it's missing or invalid."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class _Heard:
    """Another clock, as it was heard: its *zero* is its time when no seconds had passed here."""

    def __init__(self) -> None:
        self.zero: datetime | None = None
        self.at = 0.0

    def hear(self, earliest: datetime, latest: datetime, asked: float, answered: float) -> None:
        """Note that it showed a time between these when the answer was made, and correct `zero` if that contradicts."""
        lowest, highest = earliest - timedelta(seconds=answered), latest - timedelta(seconds=asked)
        self.zero = lowest if self.zero is None else min(max(self.zero, lowest), highest)
        self.at = answered

    def read(self, elapsed: float) -> datetime | None:
        """Return what it shows now; None if it wasn't heard yet."""
        return None if self.zero is None else self.zero + timedelta(seconds=elapsed)


class CommonClock:
    """The time by Redis' clock, and by Slack's where they disagree; *machine* is this machine's own."""

    def __init__(
        self,
        machine: Callable[[], datetime] = _UTC_NOW,
        elapsed: Callable[[], float] = since_boot,
    ) -> None:
        self._machine = machine
        self.elapsed = elapsed
        self._server, self._slack = _Heard(), _Heard()
        self._ahead = self._ahead_of_slack = timedelta(0)  # this machine's clock, of Redis' and of Slack's
        self._trouble = ""

    def now(self) -> datetime:
        """Return the time; the machine's own as long as nothing better is known."""
        elapsed = self.elapsed()
        redis = self._server.read(elapsed) if self.is_fresh else None
        time, slack = redis or self._machine(), self._slack.read(elapsed)
        return time if slack is None or abs(time - slack) <= AGREE else slack

    def by_redis(self) -> datetime:
        """Return what Redis' clock shows, even if Slack contradicts it: for what a script compares with its own."""
        return self._server.read(self.elapsed()) or self.now()

    @property
    def is_fresh(self) -> bool:
        """Whether Redis' clock was heard lately; not so after an outage, or if this process stood still."""
        return self._server.zero is not None and self.elapsed() - self._server.at <= _FRESH

    def hear_redis(self, moment: datetime, asked: float) -> None:
        """Note what Redis' clock showed, after the request that was sent when *asked* seconds had passed."""
        before, answered = self._server.zero, self.elapsed()
        self._server.hear(moment, moment, asked, answered)
        if before and self._server.zero and self._slack.zero and abs(moved := self._server.zero - before) > AGREE:
            self._slack.zero += moved  # the seconds here were wrong
        ahead, took = self._machine() - moment, timedelta(seconds=answered - asked)
        self._ahead = timedelta(0) if timedelta(0) <= ahead <= took else ahead
        self._log()

    def hear_slack(self, moment: datetime, asked: float) -> None:
        """Note the date of an answer of Slack's, in whole seconds."""
        self._slack.hear(moment, moment + timedelta(seconds=1), asked, self.elapsed())
        self._ahead_of_slack = self._machine() - moment
        self._log()

    @property
    def off_redis(self) -> str:
        """Say how far this machine's clock is off Redis'; ``""`` if they agree."""
        return _off(self._ahead, "Redis'", AGREE)

    @property
    def trouble(self) -> str:
        """Say how wrong this machine's clock is, also by Slack's; ``""`` if it's right."""
        return self.off_redis or _off(self._ahead_of_slack, "Slack's", _WRONG_FOR_SLACK)

    def _log(self) -> None:
        was, self._trouble = self._trouble, self.trouble
        if self._trouble and not was:
            log.warning("this machine's clock is wrong: synchronize it (NTP)", extra={"reason": self._trouble})
        elif was and not self._trouble:
            log.info("this machine's clock is right again")


def _off(ahead: timedelta, whose: str, most: timedelta) -> str:
    if abs(ahead) <= most:
        return ""
    seconds = round(abs(ahead).total_seconds(), -1)  # each new text would be posted as a change of the incident
    return f"this machine's clock is {seconds:,.0f} s {'ahead of' if ahead > timedelta(0) else 'behind'} {whose}"
