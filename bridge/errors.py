"""What can go wrong, as classes that carry facts.

The sentences that people read are in `bridge.slack.blockkit.failures`; a test enumerates the classes below so that none
is without one.

::

    BridgeError
    ├── ConfigurationError
    ├── ProjectError            the project service (``may_have_happened``: could the request have had an effect?)
    │   ├── CannotConnect, CircuitOpen, TimedOut, ConnectionLost, NotUnderstood
    │   └── ServiceRefused: NotSignedIn, NotFound, Busy, Outage
    ├── SlackError              Slack's Web API
    │   ├── SlackRefused, SlackAmbiguous, SlackGone
    │   └── SlackUnreachable: SlackTokenRefused
    ├── StoreError              Redis
    │   ├── NamespaceTaken, LaneLost, RecordNotUnderstood
    │   └── StoreUnavailable: StoreWiped
    ├── CommandError            what a person typed
    │   └── UnknownCommand, UnknownOption, BadUsage, NoSuch, SeveralFit, BadSchedule, BadInput
    └── NotAllowed, TooOften    what a person may not, or not so often
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Any


class BridgeError(Exception):
    """The base of everything that the bridge raises on purpose. *about* is what it met, for the audit."""

    about = ""


class ConfigurationError(BridgeError):
    """The environment does not say what is needed: *problems*, one line each, never a secret's value."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ProjectError(BridgeError):
    """An operation of the project service that did not succeed.

    *operation* is the client's method name. `may_have_happened` is True where the request may have had an
    effect on the service, so that repeating it is not safe.
    """

    may_have_happened = False

    def __init__(self, operation: str, detail: str = "") -> None:
        super().__init__(f"{operation}: {detail}" if detail else operation)
        self.operation = operation
        self.detail = detail


class CannotConnect(ProjectError):
    """No connection was made (refused, DNS, TLS, connect time-out); nothing was sent."""


class CircuitOpen(ProjectError):
    """The service was not asked, because it has been down; the next probe is due in *retry_in*."""

    def __init__(self, operation: str, retry_in: timedelta) -> None:
        super().__init__(operation, "circuit open")
        self.retry_in = retry_in


class TimedOut(ProjectError):
    """The request went out and no whole answer came within *after*."""

    may_have_happened = True

    def __init__(self, operation: str, after: timedelta) -> None:
        super().__init__(operation, f"no answer within {after.total_seconds():g} s")
        self.after = after


class ConnectionLost(ProjectError):
    """The connection broke after the request, or part of it, went out."""

    may_have_happened = True


class NotUnderstood(ProjectError):
    """The service answered *status* with something that is not of the documented shape.

    *problem* says what and in which field, never the content itself.
    """

    may_have_happened = True

    def __init__(self, operation: str, status: int, problem: str) -> None:
        super().__init__(operation, f"{status}, {problem}")
        self.status = status
        self.problem = problem


class ServiceRefused(ProjectError):
    """The service answered with an error status; *said* is its own message, cut and cleaned, or empty.

    A 4xx says that the request was not carried out; a 5xx leaves it open.
    """

    def __init__(self, operation: str, status: int, said: str = "") -> None:
        super().__init__(operation, str(status))
        self.status = status
        self.said = said
        self.may_have_happened = status >= HTTPStatus.INTERNAL_SERVER_ERROR


class NotSignedIn(ServiceRefused):
    """401 or 403: the key is not accepted."""


class NotFound(ServiceRefused):
    """404 or 410."""


class Busy(ServiceRefused):
    """429, or 503 with Retry-After: surely not carried out; *retry_after* is None where none was given."""

    def __init__(self, operation: str, status: int, said: str = "", retry_after: timedelta | None = None) -> None:
        super().__init__(operation, status, said)
        self.retry_after = retry_after
        self.may_have_happened = False


class Outage(ServiceRefused):
    """502, 503 without Retry-After, or 504: counts towards the circuit breaker, and may have had an effect."""


DID_NOT_ARRIVE = (CannotConnect, CircuitOpen, Busy)
"""What says for certain that a request had no effect and may be made again."""


class SlackError(BridgeError):
    """A call of Slack's Web API that did not succeed; *method* is Slack's name of it."""

    def __init__(self, method: str, detail: str = "") -> None:
        super().__init__(f"{method}: {detail}" if detail else method)
        self.method = method
        self.detail = detail


class SlackRefused(SlackError):
    """Slack answered ``ok: false`` with *error*, its own word for why (``channel_not_found``, …).

    *needed* is the scope Slack asks for where the error is ``missing_scope``. *problems* are what it says is wrong with
    blocks or a manifest, each with its place.
    """

    def __init__(self, method: str, error: str, needed: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(method, error)
        self.error = error
        self.needed = needed
        self.problems = problems


class SlackUnreachable(SlackError):
    """Slack surely did not take the call; it may be made again, not before *retry_after* where that is known."""

    def __init__(self, method: str, detail: str = "", retry_after: timedelta | None = None) -> None:
        super().__init__(method, detail)
        self.retry_after = retry_after


class SlackTokenRefused(SlackUnreachable):
    """Slack does not accept the bot token, for its reason *error*; the call may be made again when it does."""

    def __init__(self, method: str, error: str) -> None:
        super().__init__(method, error)
        self.error = error


class SlackAmbiguous(SlackError):
    """The call went out and nobody knows whether Slack took it."""


class SlackGone(SlackError):
    """No socket could be had for so long that a fresh start is worth a try: the process ends."""


class StoreError(BridgeError):
    """Something about Redis."""


class StoreUnavailable(StoreError):
    """Redis is of no use now; nothing was stored as far as can be known.

    *reason* is ``away``, ``loading``, ``full``, ``read-only`` or ``refused`` (the password, or its rights).
    """

    def __init__(self, reason: str = "away") -> None:
        super().__init__(reason)
        self.reason = reason


class StoreWiped(StoreUnavailable):
    """All that was in Redis is gone, and `bridge.queue.namespace.Namespace.hold` has to set it up again."""


class NamespaceTaken(StoreError):
    """*namespace* belongs to the bot *owner* (``team/bot user``)."""

    def __init__(self, namespace: str, owner: str) -> None:
        super().__init__(f"{namespace} belongs to {owner}")
        self.namespace = namespace
        self.owner = owner


class LaneLost(StoreError):
    """Another worker owns the lane by now, or the turn is no longer its head: stop and touch nothing more."""


class RecordNotUnderstood(StoreError):
    """A stored record that this release cannot read."""


class CommandError(BridgeError):
    """What a person typed can't be carried out as typed; *form* is the button that opens the form for it."""

    form: Mapping[str, Any] | None = None


class UnknownCommand(CommandError):
    """There is no command *typed*; *nearest* come close to it. Where none does, *help* are usage lines, explained."""

    def __init__(self, typed: str, nearest: Sequence[str] = (), help: Sequence[tuple[str, str]] = ()) -> None:  # noqa: A002 - its name
        super().__init__(typed)
        self.typed = typed
        self.nearest = tuple(nearest)
        self.help = tuple(help)


class UnknownOption(CommandError):
    """An option, as *typed*, that the *command* doesn't have; *nearest* is one that it has, or ``""``."""

    def __init__(self, typed: str, command: str, nearest: str = "") -> None:
        super().__init__(f"{command}: {typed}")
        self.typed = typed
        self.command = command
        self.nearest = nearest


class BadUsage(CommandError):
    """A known subcommand, typed with words missing or too many; *usage* is its line."""

    def __init__(self, usage: str) -> None:
        super().__init__(usage)
        self.usage = usage


class NoSuch(CommandError):
    """There is no *kind* (``workflow`` or ``agent``) called *name*; *nearest* are names that come close.

    The command that *lists* all of them is known where the name was typed in a command.
    """

    lists = ""

    def __init__(self, kind: str, name: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(f"{kind} {name}")
        self.about = kind
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)


class SeveralFit(CommandError):
    """*name* fits several of *kind*: *matches*, as (id, name)."""

    def __init__(self, kind: str, name: str, matches: Sequence[tuple[int, str]]) -> None:
        super().__init__(f"{kind} {name}")
        self.about = kind
        self.kind = kind
        self.name = name
        self.matches = tuple(matches)


class BadSchedule(CommandError):
    """What is *typed* as a *part* of a schedule can't be understood, or can't be done.

    *part* is ``often``, ``time``, ``times`` (more than one), ``weekday``, ``monthday``, ``cron``, ``zone``,
    ``channel``, ``name`` (of a channel), ``compare``, ``only``, ``option``, ``many`` (the limit, *typed*, is reached)
    or ``since`` (of `/stats since`).
    *choices* are what it could be.
    """

    def __init__(self, part: str, typed: str, choices: Sequence[str] = ()) -> None:
        super().__init__(f"{part}: {typed}")
        self.part = part
        self.typed = typed
        self.choices = choices


class BadInput(CommandError):
    """Workflow input that was meant as JSON and is not: *problem*, at *line* and *column* (from 1)."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"{problem} at {line}:{column}")
        self.problem = problem
        self.line = line
        self.column = column


class NotAllowed(BridgeError):
    """This person may not do this here.

    *reason* is one of ``stranger``, ``channel``, ``user``, ``runner``, ``default`` (a channel's default agent),
    ``not_yours``, and ``unknown`` where Slack does not tell what would have to be known of them.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooOften(BridgeError):
    """A limit is used up: *what* is ``thread`` (its turns), ``person`` (their turns) or ``runs``; goes on in *wait*."""

    def __init__(self, what: str, wait: timedelta) -> None:
        super().__init__(f"{what}, for {wait.total_seconds():g} s")
        self.what = what
        self.wait = wait
