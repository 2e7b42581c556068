"""Faults of the emulated Slack and of the sample project service, as switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bridge.playground.emulator import DropAfter, EmulatedSlack, RateLimited, Slow
from bridge.playground.emulator.faults import Fault
from bridge.playground.page.supervisor import Switch, Switchboard
from bridge.playground.sample_project import PlannedAnswer, Proper, SampleProject
from bridge.playground.sample_project.answers import Planned

_SLACK: Final = "Slack"
_SERVICE: Final = "Project service"
_AGAIN: Final = 5  # events to resend


@dataclass(frozen=True)
class _FaultSwitch:
    """A switch, and the fault while it is on."""

    switch: Switch
    method: str
    fault: Fault


_LASTING: Final = (
    _FaultSwitch(
        Switch(
            "lost_answers",
            _SLACK,
            "Lost responses",
            "Slack posts each message, but its response never arrives. Nothing is posted twice.",
        ),
        "chat.postMessage",
        DropAfter(),
    ),
    _FaultSwitch(
        Switch(
            "rate_limited",
            _SLACK,
            "Too many requests (429)",
            "Slack rejects every call and asks the bridge to retry after 2 s. Nothing is lost.",
        ),
        "*",
        RateLimited(2),
    ),
    _FaultSwitch(
        Switch("slow_slack", _SLACK, "Slow Slack", "Every call takes 3 s longer."),
        "*",
        Slow(3.0),
    ),
)
_REAL_LIMITS: Final = Switch(
    "rate_limits",
    _SLACK,
    "Slack's own rate limits",
    "About one message per second in a channel, and similar limits for each method.",
)
_REPEATED: Final = Switch(
    "repeated_events",
    _SLACK,
    "Resend the last events",
    f"Slack resends its last {_AGAIN} events, as if it had received no response. Nothing is answered twice.",
    is_action=True,
    button="Resend now",
)
_OUTAGE: Final = Switch(
    "nobody_listens",
    _SLACK,
    "Bridge unreachable",
    "Slack can't reach the bridge, and won't resend missed events. Turn this off, then choose Catch up now.",
)
_DEAD_SOCKET: Final = Switch(
    "dead_socket",
    _SLACK,
    "Silence the sockets",
    "The connections stay open, but nothing arrives. The bridge notices and opens new ones.",
    is_action=True,
    button="Silence now",
)


class SlackFaults:
    """Slack's faults; the first one that is on wins."""

    def __init__(self, slack: EmulatedSlack) -> None:
        self._slack = slack
        self._on: set[str] = set()

    def faults(self) -> list[Switch]:
        """Every switch with its state."""
        lasting = [replace(fault.switch, is_on=fault.switch.name in self._on) for fault in _LASTING]
        sockets = [_DEAD_SOCKET] if self._slack.use_sockets else []
        outage = replace(_OUTAGE, is_on=self._slack.drops_events)
        return [outage, *lasting, replace(_REAL_LIMITS, is_on=self._slack.rates.is_on), _REPEATED, *sockets]

    async def set_fault(self, name: str, is_on: bool) -> None:  # noqa: FBT001 - the Protocol's signature
        """Turn a switch. Raises LookupError for an unknown name."""
        if name not in {switch.name for switch in self.faults()}:
            raise LookupError(name)
        if name == _REAL_LIMITS.name:
            self._slack.rates.is_on = is_on
        elif name == _OUTAGE.name:
            self._slack.drops_events = is_on
        elif name == _REPEATED.name:
            await self._repeat()
        elif name == _DEAD_SOCKET.name:
            self._slack.socket_mode.mute()
        else:
            self._on = self._on | {name} if is_on else self._on - {name}
            self._plan()

    def _plan(self) -> None:
        """Plan all faults again: of two for the same calls, one can't be cleared alone."""
        for fault in _LASTING:
            self._slack.faults.clear(fault.method)
        for fault in _LASTING:
            if fault.switch.name in self._on:
                self._slack.faults.on(fault.method, fault.fault, times=None)

    async def _repeat(self) -> None:
        sent = {one.payload["event_id"]: one.payload for one in self._slack.deliveries if one.kind == "event"}
        for event_id, envelope in list(sent.items())[-_AGAIN:]:
            channel = str(envelope["event"].get("channel", ""))
            await self._slack.people.send_event(envelope["event"], channel, event_id=event_id)


_NONSENSE: Final = PlannedAnswer(
    200, body=b"<html><title>Welcome</title>It works!</html>", headers={"Content-Type": "text/html"}
)
_PLANNED: Final[Sequence[tuple[Switch, tuple[str, ...], Planned]]] = (
    (
        Switch(
            "nonsense",
            _SERVICE,
            "Invalid responses",
            "The service responds to everything with a web page. The bridge reports that, and doesn't guess.",
        ),
        ("GET", "POST"),
        _NONSENSE,
    ),
    (
        Switch("slow_agent", _SERVICE, "Slow agents", "Every run and every chat takes 10 s longer."),
        ("POST",),
        Proper(delay=10.0),
    ),
)
_DOWN: Final = Switch(
    "service_down",
    _SERVICE,
    "Service down",
    "The service is unreachable. Messages are queued and answered when it's back.",
)


class ProjectFaults:
    """The project service's faults; the first one that is on wins."""

    def __init__(self, project: SampleProject) -> None:
        self._project = project
        self._on: set[str] = set()

    def faults(self) -> list[Switch]:
        """Every switch with its state."""
        planned = [replace(switch, is_on=switch.name in self._on) for switch, _, _ in _PLANNED]
        return [*planned, replace(_DOWN, is_on=not self._project.is_up)]

    async def set_fault(self, name: str, is_on: bool) -> None:  # noqa: FBT001 - the Protocol's signature
        """Turn a switch. Raises LookupError for an unknown name."""
        if name not in {switch.name for switch in self.faults()}:
            raise LookupError(name)
        if name == _DOWN.name:
            if is_on == self._project.is_up:
                await (self._project.stop() if is_on else self._project.start())
            return
        self._on = self._on | {name} if is_on else self._on - {name}
        self._project.clear()
        for switch, methods, answer in _PLANNED:
            if switch.name in self._on:
                for method in methods:
                    self._project.on(method, "*", answer, times=None)


class Switchboards:
    """Several switchboards as one."""

    def __init__(self, *boards: Switchboard) -> None:
        self._boards = boards

    def faults(self) -> list[Switch]:
        """All switches, in the order of the boards."""
        return [switch for board in self._boards for switch in board.faults()]

    async def set_fault(self, name: str, is_on: bool) -> None:  # noqa: FBT001 - the Protocol's signature
        """Turn a switch on the board that has it. Raises LookupError."""
        for board in self._boards:
            if name in {switch.name for switch in board.faults()}:
                return await board.set_fault(name, is_on)
        raise LookupError(name)
