"""Faults of the emulated Slack and of the sample project service, as switches."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Final

from bridge.playground.emulator import DropAfter, EmulatedSlack, RateLimited, Slow
from bridge.playground.emulator.faults import Fault
from bridge.playground.emulator.sample import ALICE
from bridge.playground.page.supervisor import Switch
from bridge.playground.sample_project import PlannedAnswer, Proper, SampleProject
from bridge.playground.sample_project.answers import Planned

_AGAIN: Final = 5  # events to resend
_HOUR: Final = 3600.0
_TEN_MINUTES: Final = 600.0
_BETWEEN: Final = 1.1  # seconds; the bridge asks Slack for the time at most once a second

# By name: title, explanation, method and fault; the first one that is on wins.
_OF_CALLS: Final[dict[str, tuple[str, str, str, Fault]]] = {
    "lost_answers": (
        "Lost responses",
        "Slack posts each message, but its response never arrives. Nothing is posted twice.",
        "chat.postMessage",
        DropAfter(),
    ),
    "rate_limited": (
        "Too many requests (429)",
        "Slack rejects every call and asks the bridge to retry after 2 s. Nothing is lost.",
        "*",
        RateLimited(2),
    ),
    "slow_slack": ("Slow Slack", "Every call takes 3 s longer.", "*", Slow(3.0)),
}
_MOVE: Final = "Move the clock"
# By name: title, explanation, steps and how long each is.
_CLOCK: Final = {
    "an_hour_later": (
        "An hour later",
        "An hour passes in six steps, and the bridge follows. What becomes due is posted.",
        6,
        _TEN_MINUTES,
    ),
    "a_day_later": (
        "A day later",
        "24 hours pass one by one, so that each schedule is due at its time. This takes half a minute.",
        24,
        _HOUR,
    ),
}
# By name: title, explanation, HTTP methods and the service's response; the first one that is on wins.
_OF_THE_SERVICE: Final[dict[str, tuple[str, str, tuple[str, ...], Planned]]] = {
    "nonsense": (
        "Invalid responses",
        "The service responds to everything with a web page. The bridge reports that, and doesn't guess.",
        ("GET", "POST"),
        PlannedAnswer(200, body=b"<html><title>Welcome</title>It works!</html>", headers={"Content-Type": "text/html"}),
    ),
    "slow_agent": ("Slow agents", "Every run and every chat takes 10 s longer.", ("POST",), Proper(delay=10.0)),
}


class SlackFaults:
    """Slack's switches."""

    def __init__(self, slack: EmulatedSlack) -> None:
        self._slack = slack
        self._on: set[str] = set()

    def faults(self) -> list[Switch]:
        slack, switch = self._slack, partial(Switch, group="Slack")
        outage = switch(
            "nobody_listens",
            title="Bridge unreachable",
            explains=(
                "Slack can't reach the bridge, and won't resend missed events. Turn this off, then choose Catch up now."
            ),
            turn=self._drop,
            is_on=slack.drops_events,
        )
        limits = switch(
            "rate_limits",
            title="Slack's own rate limits",
            explains="About one message per second in a channel, and similar limits for each method.",
            turn=self._limit,
            is_on=slack.rates.is_on,
        )
        repeated = switch(
            "repeated_events",
            title="Resend the last events",
            explains=(
                f"Slack resends its last {_AGAIN} events, as if it had received no response. Nothing is answered twice."
            ),
            turn=self._repeat,
            button="Resend now",
        )
        sockets = switch(
            "dead_socket",
            title="Silence the sockets",
            explains="The connections stay open, but nothing arrives. The bridge notices and opens new ones.",
            turn=self._silence,
            button="Silence now",
        )
        later = [
            switch(
                name,
                title=title,
                explains=explains,
                turn=partial(self._later, steps, length),
                button=_MOVE,
            )
            for name, (title, explains, steps, length) in _CLOCK.items()
        ]
        of_calls = [
            switch(name, title=title, explains=explains, turn=partial(self._plan, name), is_on=name in self._on)
            for name, (title, explains, _, _) in _OF_CALLS.items()
        ]
        return [outage, *of_calls, limits, repeated, *([sockets] if slack.use_sockets else []), *later]

    async def _drop(self, is_on: bool) -> None:  # noqa: FBT001 - a switch has two states; so below
        self._slack.drops_events = is_on

    async def _limit(self, is_on: bool) -> None:  # noqa: FBT001
        self._slack.rates.is_on = is_on

    async def _plan(self, name: str, is_on: bool) -> None:  # noqa: FBT001
        """Plan all faults again: of two for the same calls, one can't be cleared alone."""
        self._on = self._on | {name} if is_on else self._on - {name}
        for _, _, method, _ in _OF_CALLS.values():
            self._slack.faults.clear(method)
        for known, (_, _, method, fault) in _OF_CALLS.items():
            if known in self._on:
                self._slack.faults.on(method, fault, times=None)

    async def _repeat(self, _: bool) -> None:  # noqa: FBT001
        sent = {
            delivery.payload["event_id"]: delivery.payload
            for delivery in self._slack.deliveries
            if delivery.kind == "event"
        }
        for event_id, envelope in list(sent.items())[-_AGAIN:]:
            channel = str(envelope["event"].get("channel", ""))
            await self._slack.people.send_event(envelope["event"], channel, event_id=event_id)

    async def _later(self, steps: int, length: float, _: bool) -> None:  # noqa: FBT001
        """Move Slack's clock in steps: the bridge follows it with its next call, so an event makes it call."""
        for _step in range(steps):
            with suppress(TimeoutError):  # what's on its way would seem to be an old request
                await self._slack.settled(_BETWEEN)
            self._slack.clock.move(length)
            await self._slack.people.open_home(ALICE)
            await asyncio.sleep(_BETWEEN)

    async def _silence(self, _: bool) -> None:  # noqa: FBT001
        self._slack.socket_mode.mute()


class ProjectFaults:
    """The project service's switches."""

    def __init__(self, project: SampleProject) -> None:
        self._project = project
        self._on: set[str] = set()

    def faults(self) -> list[Switch]:
        switch = partial(Switch, group="Project service")
        planned = [
            switch(name, title=title, explains=explains, turn=partial(self._plan, name), is_on=name in self._on)
            for name, (title, explains, _, _) in _OF_THE_SERVICE.items()
        ]
        down = switch(
            "service_down",
            title="Service down",
            explains="The service is unreachable. Messages are queued and answered when it's back.",
            turn=self._stop,
            is_on=not self._project.is_up,
        )
        return [*planned, down]

    async def _stop(self, is_on: bool) -> None:  # noqa: FBT001 - a switch has two states; so below
        if is_on == self._project.is_up:
            await (self._project.stop() if is_on else self._project.start())

    async def _plan(self, name: str, is_on: bool) -> None:  # noqa: FBT001
        self._on = self._on | {name} if is_on else self._on - {name}
        self._project.clear()
        for known, (_, _, methods, answer) in _OF_THE_SERVICE.items():
            for method in methods if known in self._on else ():
                self._project.on(method, "*", answer, times=None)
