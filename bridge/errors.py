"""The bridge's errors, as classes with facts as attributes.

What each means is a row in `bridge.ends.failures`; a test makes sure that each class has one.
docs/reference/messages.md lists them with their causes.

::

    BridgeError
    ├── ConfigurationError
    ├── ProjectError            the project service (``may_have_happened``: could the request have had an effect?)
    │   ├── CannotConnect, CircuitOpen, TimedOut, ConnectionLost, NotUnderstood
    │   └── ServiceRefused: Forbidden, NotFound, Busy, Moved, Outage: NotSignedIn
    ├── SlackError              Slack's Web API
    │   ├── SlackRefused, SlackAmbiguous, SlackGone, ThreadGone
    │   └── SlackUnreachable: SlackTokenRefused
    ├── StoreError              Redis
    │   ├── NamespaceTaken, LaneLost, RecordNotUnderstood
    │   └── StoreUnavailable: StoreWiped
    ├── CommandError            what a person typed
    │   ├── UnknownCommand, UnknownOption, BadUsage, NoSuch, SeveralFit, NotSure, BadSchedule, BadAlert, BadInput,
    │   ├── CannotSetUp
    │   └── ProjectNotChosen
    ├── ControlNotUnderstood    a button or form of another version of the bridge
    ├── ProjectRemoved          it's about a project that the bridge no longer serves
    ├── NotAllowed              permissions
    └── TooOften: TooManyRequests
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Any

_STATUSES = frozenset(HTTPStatus)


class BridgeError(Exception):
    """Any error the bridge raises on purpose.

    *about* is its subject, for the audit.
    """

    about = ""


class ConfigurationError(BridgeError):
    """A setting is missing or invalid.

    Each of *problems* is one line, without the value.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ProjectError(BridgeError):
    """An operation of the project service failed.

    *operation* is the client's method name. `may_have_happened` is True if the request may have had an effect, so
    that repeating it isn't safe; `has_answered` if the service answered, though it's of no use. *took* is the call's
    duration, and *about* its agent or workflow.
    """

    may_have_happened = False
    has_answered = False
    took: timedelta | None = None

    def __init__(self, operation: str, detail: str = "") -> None:
        super().__init__(f"{operation}: {detail}" if detail else operation)
        self.operation = operation
        self.detail = detail

    @property
    def kind(self) -> str:
        """The class as a word: ``not_understood``."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def label(self) -> str:
        """The cause as a word for metrics: `kind`, or a status (``http_500``)."""
        return self.kind

    @property
    def cause(self) -> str:
        """What happened, in a line for operators: status or exception, the service's own words, and the time."""
        after = "" if self.took is None else f", after {self.took.total_seconds():.1f} s"
        return f"{self._what_happened}{after}"

    @property
    def _what_happened(self) -> str:
        return f"{type(self).__name__}: {self.detail}" if self.detail else type(self).__name__


class CannotConnect(ProjectError):
    """No connection to the project service could be made, so nothing was sent."""


class CircuitOpen(ProjectError):
    """The project service has been failing, so it wasn't called; the next attempt is due in *retry_in*.

    *rejects_key*: it's up, but refused everything with the bridge's key.
    """

    def __init__(self, operation: str, retry_in: timedelta, *, rejects_key: bool = False) -> None:
        super().__init__(operation, "circuit open")
        self.retry_in = retry_in
        self.rejects_key = rejects_key


class TimedOut(ProjectError):
    """The request was sent, but no complete response arrived in time."""

    may_have_happened = True

    def __init__(self, operation: str, after: timedelta) -> None:
        super().__init__(operation, f"no answer within {after.total_seconds():g} s")
        self.after = after


class ConnectionLost(ProjectError):
    """The connection broke after at least part of the request was sent."""

    may_have_happened = True


class NotUnderstood(ProjectError):
    """The project service's response isn't as documented.

    *problem* describes the difference and its field, without the content. *message* is the service's own error message
    in it, shortened and cleaned, or ``""``.
    """

    may_have_happened = True
    has_answered = True

    def __init__(self, operation: str, status: int, problem: str, message: str = "") -> None:
        super().__init__(operation, f"{status}, {problem}")
        self.status = status
        self.problem = problem
        self.message = message

    @property
    def _what_happened(self) -> str:
        return f"{self.status}, unusable ({self.problem}){_quoted(self.message)}"


class ServiceRefused(ProjectError):
    """The project service returned a status other than 2xx. After 3xx or 4xx, nothing was done; else that's unknown.

    *message* is the service's own message, shortened and cleaned, or ``""``.
    """

    has_answered = True

    def __init__(self, operation: str, status: int, message: str = "") -> None:
        super().__init__(operation, str(status))
        self.status = status
        self.message = message
        self.may_have_happened = not HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def label(self) -> str:
        """The status as a word for metrics, if it's a standard one: ``http_500``."""
        return f"http_{self.status}" if self.status in _STATUSES else "http_other"

    @property
    def _what_happened(self) -> str:
        return f"{self.status}{_quoted(self.message)}"


class Forbidden(ServiceRefused):
    """The project service returned 401 or 403 to this operation, as for an agent that the key may not use."""


class NotFound(ServiceRefused):
    """The project service returned 404 or 410, or a gateway did, if the response *is_page*: a web page.

    *has_item*: the service does have the agent or workflow that a chat or a run was for.
    """

    def __init__(
        self, operation: str, status: int, message: str = "", *, is_page: bool = False, has_item: bool = False
    ) -> None:
        super().__init__(operation, status, message)
        self.is_page = is_page
        self.has_item = has_item


class Moved(ServiceRefused):
    """The project service's address redirects; the key is never sent along. *to* is the address to set, if known."""

    def __init__(self, operation: str, status: int, message: str = "", to: str = "") -> None:
        super().__init__(operation, status, message)
        self.to = to

    @property
    def _what_happened(self) -> str:
        return f"{self.status}, redirected{f' to {self.to}' if self.to else ''}"


class Busy(ServiceRefused):
    """The project service returned 429, or 503 with Retry-After: nothing was done."""

    def __init__(self, operation: str, status: int, message: str = "", retry_after: timedelta | None = None) -> None:
        super().__init__(operation, status, message)
        self.retry_after = retry_after
        self.may_have_happened = False


class Outage(ServiceRefused):
    """The project service returned 502, 504, or 503 without Retry-After: something may have been done.

    It's usually a gateway's answer in place of the service's.
    """

    has_answered = False


class NotSignedIn(Outage):
    """The project service rejects the key: it returns 401 or 403 whatever it's asked. Nothing was done."""


def _quoted(message: str) -> str:
    return f", “{message}”" if message else ""


DID_NOT_ARRIVE = (CannotConnect, CircuitOpen, Busy, NotSignedIn)
"""Errors of requests that certainly had no effect and may be repeated."""


class SlackError(BridgeError):
    """A call of Slack's Web API failed. It can be retried after *retry_after*, if Slack said when."""

    retry_after: timedelta | None = None

    def __init__(self, method: str, detail: str = "") -> None:
        super().__init__(f"{method}: {detail}" if detail else method)
        self.method = method
        self.detail = detail


class SlackRefused(SlackError):
    """Slack rejected the call with *error*, such as ``channel_not_found``.

    *needed* is the missing scope if the error is ``missing_scope``. *problems* are the errors Slack found in blocks or
    a manifest, each with its place.
    """

    def __init__(self, method: str, error: str, needed: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(method, error)
        self.error = error
        self.needed = needed
        self.problems = problems


class SlackUnreachable(SlackError):
    """Slack didn't process the call, so it can be retried, after *retry_after* if Slack said when."""

    def __init__(self, method: str, detail: str = "", retry_after: timedelta | None = None) -> None:
        super().__init__(method, detail)
        self.retry_after = retry_after


class SlackTokenRefused(SlackUnreachable):
    """Slack rejected the bot token; inputs are queued until it accepts one."""


class SlackAmbiguous(SlackError):
    """The call was sent, but whether Slack received it is unknown; Slack may still be *under_way* for so long."""

    def __init__(self, method: str, detail: str = "", under_way: timedelta = timedelta(0)) -> None:
        super().__init__(method, detail)
        self.under_way = under_way


class ThreadGone(SlackError):
    """The thread's first message was deleted: Slack showed a reply outside of it, where it was removed at once."""


class SlackGone(SlackError):
    """Socket Mode couldn't connect for so long that the process exits, to be restarted."""


class StoreError(BridgeError):
    """Redis can't be used."""


class StoreUnavailable(StoreError):
    """Redis can't be used right now, and as far as the bridge knows, nothing was stored.

    *reason* is ``away``, ``loading``, ``full``, ``read-only`` or ``refused`` (the password or its permissions).
    *denied* are the commands that its user may not run, in capitals, ``keys`` or ``channels``, as far as that's known.
    *detail* is why, in words, and *cure* what helps, or the command that allows what's denied, if they're known
    (`bridge.queue.redis.refusals.in_words`).
    """

    def __init__(self, reason: str = "away", denied: str = "", cure: str = "", detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.denied = denied
        self.cure = cure
        self.detail = detail


class StoreWiped(StoreUnavailable):
    """Redis was emptied, and `bridge.queue.namespace.Namespace.hold` must set it up again."""


class NamespaceTaken(StoreError):
    """The namespace in Redis belongs to another bot.

    *owner* is ``team/bot user``.
    """

    def __init__(self, namespace: str, owner: str) -> None:
        super().__init__(f"{namespace} belongs to {owner}")


class LaneLost(StoreError):
    """Another worker has taken over the lane: stop, without any further effect."""


class RecordNotUnderstood(StoreError):
    """This version can't read a stored record."""


class ControlNotUnderstood(BridgeError):
    """This version can't read a button, menu, form or shortcut that another version made."""


class CommandError(BridgeError):
    """A command can't be carried out as typed.

    *form* is a button that opens a form for the same command.
    """

    form: Mapping[str, Any] | None = None


class UnknownCommand(CommandError):
    """There is no such command.

    *nearest* are similar commands; if there are none, *help* has usage lines with their sentences.
    """

    def __init__(self, typed: str, nearest: Sequence[str] = (), help: Sequence[tuple[str, str]] = ()) -> None:  # noqa: A002 - its name
        super().__init__(typed)
        self.typed = typed
        self.nearest = tuple(nearest)
        self.help = tuple(help)


class UnknownOption(CommandError):
    """The *command* has no such option.

    *nearest* is a similar option, or ``""``.
    """

    def __init__(self, typed: str, command: str, nearest: str = "") -> None:
        super().__init__(f"{command}: {typed}")
        self.typed = typed
        self.command = command
        self.nearest = nearest


class BadUsage(CommandError):
    """A command was typed with too few, too many or wrong words.

    *usage* is the command's usage line, *example* that line filled in, and *typed* the words that don't fit.
    """

    def __init__(self, usage: str, example: str = "", typed: str = "") -> None:
        super().__init__(usage)
        self.usage = usage
        self.example = example
        self.typed = typed


class NoSuch(CommandError):
    """There is no workflow, agent or app of this name.

    *nearest* are similar names; *lists* is the command that lists all, if the name was typed in a command. *is_part*:
    the service listed only some.
    """

    def __init__(
        self, kind: str, name: str, nearest: Sequence[str] = (), lists: str = "", *, is_part: bool = False
    ) -> None:
        super().__init__(f"{kind} {name}")
        self.about = kind
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)
        self.lists = lists
        self.is_part = is_part


class SeveralFit(CommandError):
    """Several workflows or agents match this name.

    *matches* are pairs of ID and name.
    """

    def __init__(self, kind: str, name: str, matches: Sequence[tuple[int, str]]) -> None:
        super().__init__(f"{kind} {name}")
        self.about = kind
        self.kind = kind
        self.name = name
        self.matches = tuple(matches)


class NotSure(CommandError):
    """A command that acts doesn't name a workflow or an agent by its ID or its whole name.

    *options* are what may be meant: ID, name, and the text after the name, which is called *of_rest*.
    *buttons* carry the command out with one of them.
    """

    buttons: Sequence[Mapping[str, Any]] = ()
    of_rest: str = ""

    def __init__(self, kind: str, options: Sequence[tuple[int, str, str]]) -> None:
        super().__init__(kind)
        self.about = kind
        self.kind = kind
        self.options = tuple(options)


class BadSchedule(CommandError):
    """A part of a schedule can't be parsed, or isn't possible.

    *part* is ``often``, ``time``, ``no_time``, ``times`` (more than one), ``weekday``, ``monthday``, ``cron``,
    ``zone``, ``compare``, ``only``, ``option`` (it's like *choices*), ``options`` (*choices* are all there are) or
    ``since`` (of `/stats since`). Questions and runs have also ``question``, ``input`` (*typed* says where it breaks),
    ``unclosed`` (a quotation mark or bracket), ``placeholder`` and ``overlap``.
    ``hourly`` is a schedule that only a cron expression can describe, ``night`` a time of which night is unclear, and
    ``strange`` words that may change the meaning of the others. *choices* are possible values. *of* is what's
    scheduled, such as a ``report``.
    """

    of = "report"

    def __init__(self, part: str, typed: str, choices: Sequence[str] = ()) -> None:
        super().__init__(f"{part}: {typed}")
        self.part = part
        self.typed = typed
        self.choices = choices


class CannotSetUp(CommandError):
    """Something of a kind that people set up, *plural*, can't be set up there, or at all.

    *part* is ``disabled`` (in the channel *typed*, or that of the command), ``channel`` (it isn't in it), ``name`` (it
    knows none that the person sees), or ``many`` (the limit, *typed*, is reached).
    """

    def __init__(self, part: str, typed: str, plural: str = "") -> None:
        super().__init__(f"{part}: {typed}")
        self.part = part
        self.typed = typed
        self.plural = plural


class BadAlert(CommandError):
    """A part of an alert can't be parsed, or isn't possible.

    *part* is ``condition``, ``sign``, ``amount``, ``duration``, ``span`` or ``span_of_turns`` (how long a period may
    be), ``usual``, ``name``, ``agent`` or ``workflow`` (what about it), ``run`` (the workflow to run) or ``rest`` (more
    words). *near* is a condition that's like it, and right.
    """

    def __init__(self, part: str, typed: str, near: str = "") -> None:
        super().__init__(f"{part}: {typed}")
        self.part = part
        self.typed = typed
        self.near = near


class BadInput(CommandError):
    """A workflow's input looks like JSON, but isn't valid.

    *line* and *column* count from 1.
    """

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"{problem} at {line}:{column}")
        self.problem = problem
        self.line = line
        self.column = column


class ProjectNotChosen(CommandError):
    """The bridge serves several projects, and a command doesn't say which one it's about.

    *buttons* carry it out in the one that the person chooses.
    """

    buttons: Sequence[Mapping[str, Any]] = ()


class ProjectRemoved(BridgeError):
    """The bridge no longer serves the project with this *id*."""

    def __init__(self, id: str) -> None:  # noqa: A002 - its name
        super().__init__(id)
        self.about = f"project {id}"
        self.id = id


class NotAllowed(BridgeError):
    """This person isn't allowed to do this here.

    *reason* is one of ``stranger``, ``channel``, ``user``, ``runner``, ``default`` (channel settings), ``report``,
    ``schedule`` (of questions and runs), ``alert``, ``not_yours`` (a report), ``not_your_schedule``,
    ``not_your_alert``, ``not_your_own`` (anything else that's set up), ``approve``, ``own_approval``,
    ``not_your_request``, ``key`` (of the project), ``rule`` (of the operator's file), ``unknown`` if Slack doesn't
    say enough about the person, and ``unanswered`` if it doesn't answer right now. A rule's *explanation* follows
    after a colon.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason, _, self.explanation = reason.partition(":")


class TooOften(BridgeError):
    """A rate limit was reached.

    *what* is ``thread`` (its turns), ``person`` (their turns) or ``runs``; or it's a *limit* of the operator's file, in
    words. Requests are accepted again in *wait*.
    """

    def __init__(self, what: str, wait: timedelta, limit: str = "") -> None:
        super().__init__(f"{limit or what}, for {wait.total_seconds():g} s")
        self.what = what
        self.wait = wait
        self.limit = limit


class TooManyRequests(TooOften):
    """Too many requests for approval are waiting: of *what*, a ``person`` or ``everyone``; *wait* isn't known."""

    def __init__(self, what: str) -> None:
        super().__init__(what, timedelta(0))
