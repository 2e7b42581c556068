"""Approvals: the card of a request, its list, its forms and its notices."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from bridge.ends.messages import NEW_REQUEST
from bridge.ends.refusals import ASK, no_longer
from bridge.engine.forms import Form, Radio, Text, Values
from bridge.engine.results import Modal
from bridge.errors import ControlNotUnderstood
from bridge.features.approvals.request import (
    APPROVED,
    CHANGED,
    DENIED,
    EXPIRED,
    WAITING,
    WITHDRAWN,
    StoredRequest,
)
from bridge.features.run_records import ScheduledRun, TriggeredRun
from bridge.features.run_status import begun_by
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.modals import TOOK_TOO_LONG, Carried, FormErrors, Origin
from bridge.slack.blockkit.reply import Attachment, Audience, Block, Reply
from bridge.unseen import is_blank

APPROVE: Final = "approval:approve"
DENY: Final = "approval:deny"
WITHDRAW: Final = "approval:withdraw"
REVIEW: Final = "approval:review"
SAY_WHY: Final = "approval:why"

WORKFLOW: Final = "workflow"
"""Why nothing starts, if the workflow has changed, or other words follow (`StoredRequest.lost`)."""

ENDED: Final = "approval_ended"
TOO_FEW: Final = "too_few_approvers"
"""The name of the notice to the asker."""

_NAME: Final = 100
_REASON: Final = 500
_MOST_NAMED: Final = 5
_A_PAGE: Final = 15
_INPUT: Final = "Input: "
_DIGITS: Final = 8  # of the hash: enough to compare by eye; the form and the audit have all
_ABOUT: Final = 120
_MOST_CODE: Final = 20  # blocks of an input, of a form's 100 and its 250 kB
BY_RULES: Final = "people with permission to approve"
BY_NOBODY_LEFT: Final = "someone whose data was erased"
APPROVER_ERASED: Final = "the data of someone who approved it was erased"
_SIGNS: Final = {WAITING: "🔐", APPROVED: "✅", DENIED: "🚫", EXPIRED: "⌛", WITHDRAWN: "↩️", CHANGED: "⚠️"}
_RULES_CHANGED: Final = "the rules changed"
_OVER: Final = {
    APPROVED: "This request is already approved.",
    DENIED: "This request is already denied.",
    EXPIRED: "This request has expired.",
    WITHDRAWN: "This request was withdrawn.",
    CHANGED: "Something has changed since this was asked for, so it needs a new request. Its card says what.",
}
_APPROVED: Final = "You approved this. The run's card shows how it goes, and I'll tell you if it can't run."
"""Everything is checked once more before the start, and Slack lets nobody replace a private line."""

Decides = Literal["approve", "deny", "withdraw"]
_CHOICES: Final = {"approve": "Approve", "deny": "Deny", "withdraw": "Withdraw"}
_APPROVALS: Final = kit.command("/approvals")
IS_A_COPY: Final = card(
    kit.with_code(f"This is a copy of a request. Open the card itself, or use {_APPROVALS}.", _APPROVALS)
)


class Pressed(Carried):
    """The value of a card's buttons: the request, and the beginning of its input's SHA-256."""

    a: str = ""
    h: str = ""

    @classmethod
    def of(cls, stored: StoredRequest) -> str:
        """Return the value for a request."""
        return cls(a=stored.id, h=stored.request.digest[:16]).model_dump_json()


def pressed(value: str) -> Pressed:
    """Read the value of a button. Raises `ControlNotUnderstood`."""
    button = Pressed.parse(value)
    if not (button.a and button.h):
        raise ControlNotUnderstood(value)
    return button


@dataclass(frozen=True, slots=True)
class Shown:
    """A *stored* request with the names on its card: of the *person* who asks, of who may approve, and by user ID.

    *only_for* are the people who may approve, if they're few and known; else *groups* are their user groups, which the
    card mentions. *project* is the project's name if there are several.
    """

    stored: StoredRequest
    person: str
    approvers: str
    names: Mapping[str, str]
    only_for: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    project: str = ""

    def named(self, users: Sequence[str]) -> str:
        """Return people's names as part of a sentence."""
        names = [kit.named(self.names.get(user, kit.SOMEONE), 80) for user in users[:_MOST_NAMED]]
        return ", ".join([*names, *([f"{len(users) - _MOST_NAMED} more"] if len(users) > _MOST_NAMED else [])])


def either(names: Sequence[str]) -> str:
    """Join the names of those who may approve: one of them is enough for an approval."""
    left = len(names) - _MOST_NAMED
    return kit.joined([*names[:_MOST_NAMED], *([f"{left} more"] if left > 0 else [])], "or")


def asked_by(shown: Shown) -> str:
    """Say who asked for the run; or which schedule or app did, and whose that is."""
    by = shown.stored.request.started_by
    schedule = by.called if isinstance(by, ScheduledRun) else ""
    app = (by.message.app_name or "an app") if isinstance(by, TriggeredRun) else ""
    owner = shown.names.get(by.owner, "") if isinstance(by, ScheduledRun) else ""
    return begun_by(shown.person, "Asked for", schedule=schedule, app=app, owner=owner)


def request_card(shown: Shown) -> Reply:
    """Show a request, whole, with its buttons while it waits, and how it ended after that."""
    stored = shown.stored
    is_whole = len(stored.input) <= kit.CODE_TEXT
    text = _as_text(stored.input) if is_whole else ""
    typed = kit.section(f"{_INPUT}{text}") if text else kit.rich(kit.code_block(stored.input))
    note = "" if is_whole else " The whole input is in the file below."
    small = f"{'' if text else 'Input as JSON, '}SHA-256 {stored.request.digest[:_DIGITS]}.{note}"
    files = [] if is_whole else [Attachment(name="input.json", content=stored.input)]
    lines = [*_facts(shown), typed, kit.context(small)]
    if stored.state != WAITING:
        return card(*lines, files=files, audience=Audience.CHANNEL)
    if shown.groups:
        lines.append(kit.rich(kit.paragraph("For ", *map(kit.user_group, shown.groups))))
    lines += _terms(shown)
    for_all, buttons = _buttons(shown, is_for_all=True), _buttons(shown)
    plainer = [card(*lines, buttons=for_all).blocks] if buttons != for_all else []
    return card(*lines, buttons=buttons, plainer=plainer, files=files, audience=Audience.CHANNEL)


def _missing(reason: str, _values: Values) -> str:
    return "" if _cleaned(reason) else "Write a reason."


def _cleaned(reason: str) -> str:
    cleaned = kit.clean(reason).strip()
    return "" if is_blank(cleaned) else cleaned


class ReviewForm(Form):
    """A request, with what the person who reviews it may decide."""

    id, title, submit, opener, open_label = "approval_review", "Review a request", "Decide", REVIEW, "Review…"

    decision = Radio("Your decision", _CHOICES)
    reason = Text("Reason", is_optional=True, hint="Needed to deny. The person who asked gets it.")

    @classmethod
    def _read(cls, values: Values) -> tuple[Decides, str] | FormErrors:
        match values["decision"]:
            case "approve" | "withdraw" as decides:
                return decides, ""
            case "deny" if reason := _cleaned(values["reason"]):
                return "deny", reason
            case "deny":
                return FormErrors({"reason": "Write a reason."})
        return FormErrors({"decision": "Choose one."})


class DenialForm(Form):
    """The form that asks why a request is denied."""

    id, title, submit, opener, open_label = "approval_denial", "Deny a request", "Deny", DENY, "Deny…"

    reason = Text("Reason", check=_missing)

    @classmethod
    def _read(cls, values: Values) -> str:
        return _cleaned(values["reason"])


class ReasonForm(DenialForm):
    """The form that asks why somebody wants to run a workflow."""

    id, title, submit, opener, open_label = "approval_reason", "Ask for approval", "Ask", SAY_WHY, "Say why…"

    reason = Text("Why is it needed?", check=_missing)


def review_form(shown: Shown, card_link: str, choices: Collection[Decides], origin: Origin) -> Modal:
    """Show a request to one person, whole, with what they may decide; *card_link* leads to its card."""
    stored, request, input_ = shown.stored, shown.stored.request, shown.stored.input
    most = _MOST_CODE * kit.CODE_TEXT
    parts = [input_[at : at + kit.CODE_TEXT] for at in range(0, min(len(input_), most), kit.CODE_TEXT)]
    note = "" if len(input_) <= most else " Only its beginning fits here: the card has the whole input."
    more = [kit.rich(kit.paragraph(kit.link(card_link, "Open the card")))] if card_link else []
    offered = {decides: label for decides, label in _CHOICES.items() if decides in choices}
    without = {*([] if offered else ["decision"]), *([] if "deny" in offered else ["reason"])}
    fields = ReviewForm.blocks(without=without, decision=Radio("Your decision", offered, name="decision"))
    exact = [kit.rich(kit.code_block(part)) for part in parts]
    exact.append(kit.context(f"Input of workflow {request.workflow} as JSON, SHA-256 {request.digest}.{note}"))
    blocks = (*_facts(shown), *exact, *_terms(shown), *more, *fields)
    text, submit = f"{TOOK_TOO_LONG} Try again.", None if offered else ""
    return ReviewForm.opened(origin, blocks, text, stored.id, about=request.name, submit=submit)


def _review(stored: StoredRequest) -> Block:
    return kit.button("Review…", REVIEW, stored.id, about=stored.request.name)


def _terms(shown: Shown) -> list[Block]:
    request, done = shown.stored.request, shown.stored.approved_by
    needs = f"Needs {kit.counted(request.count, 'approval')} by {shown.approvers}"
    needs += f" · Approved by {shown.named(done)}" if done else ""
    return [kit.context(needs), _until(shown)]


def _until(shown: Shown) -> Block:
    return kit.trusted_context("Until {until}", until=shown.stored.request.until)


def _as_text(written: str) -> str:
    """Return the text that's *written* as canonical JSON; ``""`` if it's none, or people could take it for another."""
    text = written[1:-1].replace('\\"', '"') if written.startswith('"') else ""
    if "\\" in text or text != " ".join(text.split()):  # something is escaped, or blanks could be overlooked
        return ""
    try:
        json.loads(text)
    except RecursionError:  # nested deeper than Python's limit
        return ""
    except ValueError:
        return text
    return ""


def _beginning(stored: StoredRequest) -> str:
    """Return the beginning of an input, which tells two requests apart."""
    return "" if stored.input == '""' else kit.cut(f"{_INPUT}{_as_text(stored.input) or stored.input}", _ABOUT)


def _facts(shown: Shown) -> list[Block]:
    """Show what a request is about, and how it stands."""
    stored, request = shown.stored, shown.stored.request
    sign, name = _SIGNS.get(stored.state, "⚠️"), kit.one_line(request.name, _NAME)
    facts = [
        kit.rich(kit.paragraph(f"{sign} ", kit.words(name, bold=True), f" · {_state(shown)}")),
        kit.context(kit.titled(asked_by(shown), shown.project)),
    ]
    if request.why:
        facts.append(kit.section(f"Why: {kit.quoted(request.why, _REASON)}"))
    if stored.reason and stored.state == DENIED:
        facts.append(kit.section(f"Reason: {kit.quoted(stored.reason, _REASON)}"))
    return facts


def _buttons(shown: Shown, *, is_for_all: bool = False) -> list[Block]:
    stored, value = shown.stored, Pressed.of(shown.stored)
    approvers = () if is_for_all else shown.only_for
    left = tuple(user for user in approvers if user not in stored.approved_by)
    asker = () if is_for_all else tuple(filter(None, [stored.request.asker]))
    return [
        *([kit.button("Approve", APPROVE, value, only_for=left, is_primary=True)] if left or not approvers else []),
        kit.button("Deny…", DENY, value, only_for=approvers),
        kit.button("Withdraw", WITHDRAW, value, only_for=asker),
    ]


def _state(shown: Shown) -> str:
    stored = shown.stored
    last = [decision.user for decision in stored.decisions if not decision.is_approval][-1:]
    match stored.state:
        case "approved":
            return f"approved by {shown.named(stored.approved_by)}"
        case "denied":
            return f"denied by {shown.named(last)}"
        case "withdrawn":
            return f"withdrawn by {shown.named(last)}"
        case "expired":
            return "not approved in time"
        case "changed":
            again = "" if _is_askers(stored) else "; ask again for a new approval"
            return f"not started, because {_lost(shown)}{again}"
        case _:
            return "waits for approval"


def _lost(shown: Shown) -> str:
    """Say who has lost which right since a request was made, or what else has changed."""
    reason, _, about = shown.stored.lost.partition(" ")
    return _because(reason, about if reason == WORKFLOW else shown.names.get(about, kit.SOMEONE))


def _because(reason: str, about: str) -> str:
    return about if reason == WORKFLOW else no_longer(reason, about) or _RULES_CHANGED


def _is_askers(stored: StoredRequest) -> bool:
    """Whether its asker has lost the right, so that asking again doesn't help; that's unknown if Slack doesn't say."""
    reason, _, user = stored.lost.partition(" ")
    return user == stored.request.asker and reason not in {"", "unknown"}


def decided(stored: StoredRequest, answer: str, decides: str) -> Reply:
    """Tell a person what became of their click, by the *answer* of the script that decided it."""
    more = f" It needs {kit.counted(stored.left, 'more approval')}."
    if answer == "counted" and decides == "approve":
        return kit.reply(f"You approved this.{more}" if stored.state == WAITING else _APPROVED)
    if answer == "counted":
        return kit.reply("You denied this request." if decides == "deny" else "You withdrew this request.")
    if answer == "already":
        return kit.reply(f"You already approved this.{more}")
    return over(EXPIRED if answer == "late" else CHANGED if answer == "changed" else stored.state)


def over(state: str) -> Reply:
    """Say that a request has ended; ``""``: nothing is known of it."""
    return kit.reply(_OVER.get(state, "This request is no longer available. Ask again if it's still needed."))


def used(stored: StoredRequest) -> Reply:
    """Say that an approval has already started its run, or that its request ended without one."""
    text = f"This approval of {kit.named(stored.request.name, 80)} can't start another run. Ask again to get a new one."
    return kit.reply(text, audience=Audience.CHANNEL)


def not_started(shown: Shown) -> Reply:
    """Say that an approved run wasn't started, as someone has lost the right, or the rules changed."""
    name = kit.named(shown.stored.request.name, 80)
    cure = ASK if _is_askers(shown.stored) else NEW_REQUEST
    text = f"⚠️ {name} wasn't started after its approval, because {_lost(shown)}. {cure}"
    return kit.reply(text, audience=Audience.CHANNEL)


def reminder(shown: Shown) -> Reply:
    """Say in a card's thread that its request still waits."""
    text = f"🔐 This still waits for approval by {shown.approvers}."
    return card(text, _until(shown), audience=Audience.CHANNEL)


def denial_form(stored: StoredRequest, origin: Origin) -> Modal:
    """Ask why a request is denied."""
    name = stored.request.name
    effect = kit.section(f"{kit.named(name, 80)} won't run, and the person who asked for it gets your reason.")
    text = f"To deny {kit.named(name, 100)}, give a reason."
    return DenialForm.opened(origin, [effect, *DenialForm.blocks()], text, Pressed.of(stored))


def reason_form(name: str, origin: Origin) -> Modal:
    """Ask why somebody wants to run a workflow; *origin* names the request as what it's editing."""
    why = "needs approval. Say why it's needed."
    blocks = [kit.section(f"{kit.named(name, 80)} {why}"), *ReasonForm.blocks()]
    return ReasonForm.opened(origin, blocks, f"{kit.named(name, 100)} {why}", origin.editing)


def line(shown: Shown) -> Block:
    """Return a line for a request, with a button to review it."""
    request = shown.stored.request
    count = sum(needed.count for needed in request.needs)
    done = f" · {count - shown.stored.left} of {count}" if count > 1 else ""
    text = f"🔐 {kit.one_line(request.name, _NAME)} waits for approval · {asked_by(shown)}{done}"
    text = "\n".join(filter(None, [text, _beginning(shown.stored)]))
    return kit.row(kit.titled(text, shown.project), _review(shown.stored), request.until, is_deadline=True)


def request_list(requests: Sequence[Shown]) -> Reply:
    """Show the requests that a person may decide about, or has asked for."""
    if not requests:
        return kit.reply("No requests are waiting for you.")
    left = len(requests) - _A_PAGE
    more = kit.context(f"{left:,} more are listed once some of these are decided.") if left > 0 else None
    return card(kit.header("Waiting for approval"), *map(line, requests[:_A_PAGE]), more)


# Notices, in direct messages


def wanted(shown: Shown, card_link: str, *, is_reminder: bool) -> Reply:
    """Tell a person that a request waits for them; *card_link* leads to its card."""
    request = shown.stored.request
    who, what = kit.named(shown.person, 80), kit.named(request.name, 80)
    text = f"🔐 {what} still waits for your approval." if is_reminder else f"🔐 {who} asks for approval to run {what}."
    return card(
        text,
        kit.context(about) if (about := _beginning(shown.stored)) else None,
        _until(shown),
        kit.rich(kit.paragraph(kit.link(card_link, "Open the card"))) if card_link else None,
        buttons=[_review(shown.stored)],
        audience=Audience.CHANNEL,
    )


def too_few(stored: StoredRequest) -> Reply:
    """Tell the asker that too few people are left to approve their request."""
    text = f"⚠️ Too few people are left to approve your request to run {kit.named(stored.request.name, 80)}."
    text += " Withdraw it, or ask your admin who may approve it."
    return card(text, buttons=[_review(stored)], audience=Audience.CHANNEL)


class Ended(NamedTuple):
    """How a request ended: in which *state*, perhaps *by* someone (a name), and the *reason*."""

    state: str
    by: str = ""
    reason: str = ""


def ended(stored: StoredRequest, how: Ended, *, is_asker: bool = True) -> Reply:
    """Tell the asker that their request ended without a run, or an approver that what they approved didn't start."""
    (state, by, reason), beginning = how, _beginning(stored)
    what = kit.named(stored.request.name, 80) if stored.request.name else "your workflow"
    cure = NEW_REQUEST if by or reason in {"", "unknown"} else ASK
    because = f": {kit.quoted(reason, _REASON)}" if reason else ""
    which, cure = (what, f" {cure}") if is_asker else (f"{what}, which you approved,", "")
    text = {
        DENIED: f"🚫 {kit.named(by, 80)} denied your request to run {what}{because or '.'}",
        CHANGED: f"⚠️ {which} wasn't started, because {_because(reason, by)}.{cure}",
    }.get(state, f"⌛ Your request to run {what} wasn't approved in time. Ask again if it's still needed.")
    return card(text, kit.context(beginning) if beginning else None, audience=Audience.CHANNEL)
