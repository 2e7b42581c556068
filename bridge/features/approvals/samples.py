"""Samples of approvals: the card of a request, its list, forms and notices (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bridge.features.approvals import layout
from bridge.features.approvals.layout import Ended, Shown
from bridge.features.approvals.request import (
    APPROVED,
    CHANGED,
    DENIED,
    EXPIRED,
    WAITING,
    WITHDRAWN,
    ApproverDecision,
    Request,
    StoredRequest,
)
from bridge.features.run_records import ScheduledRun
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.samples import CHANNEL, DAY, GROUP, LINK, NOON, ORIGIN, TS, TURN, USER, Sample, sample


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of approvals."""
    words = text[:200]  # of our own, with names in them
    request = Request(
        by=(USER,), count=2, team="T1", channel=CHANNEL, asker=USER, workflow=3, name=text, digest="0f" * 32, why=text,
        rule=text, terms="-", asked_at=NOON, until=NOON + DAY,
    )  # fmt: skip
    scheduled = ScheduledRun(
        team="T1", channel=CHANNEL, user="U0BOB", task="1", slot=NOON, workflow=3, called=text, owner=USER
    )
    waiting = StoredRequest("0123456789abcdef", request, compact(text), WAITING, card=TS)
    decisions = [ApproverDecision(NOON, "U0BOB", what, TURN) for what in ("approve", "deny")]
    ends = [
        waiting,
        replace(waiting, request=request.model_copy(update={"started_by": scheduled, "why": "", "count": 1})),
        replace(waiting, input=compact({text: [text]}), decisions=tuple(decisions[:1])),
        replace(waiting, state=APPROVED, decisions=tuple(decisions[:1]), reason=text),
        replace(waiting, state=DENIED, decisions=tuple(decisions), reason=text),
        replace(waiting, state=WITHDRAWN, decisions=tuple(decisions[1:])),
        replace(waiting, state=EXPIRED),
        *(
            replace(waiting, state=CHANGED, lost=lost)
            for lost in ("", "user U0BOB", f"user {USER}", f"workflow {words}")
        ),
    ]
    cards = [Shown(stored, text, words, {USER: text, "U0BOB": text}, (USER,), (), text) for stored in ends]
    for shown in (*cards, replace(cards[0], only_for=(), groups=(GROUP,), project="", names={})):
        yield sample(layout.request_card, shown)
        yield sample(layout.not_started, shown)
    yield sample(layout.review_form, cards[0], LINK, {"approve", "deny"}, ORIGIN)
    yield sample(layout.review_form, cards[2], "", {"withdraw"}, ORIGIN)
    yield sample(layout.review_form, cards[4], LINK, (), ORIGIN)
    for answer in ("counted", "already", "late", "changed", "over"):
        for what in ("approve", "deny", "withdraw"):
            yield sample(layout.decided, waiting, answer, what)
            yield sample(layout.decided, ends[3], answer, what)
    for state in (APPROVED, DENIED, EXPIRED, WITHDRAWN, CHANGED, ""):
        yield sample(layout.over, state)
    yield sample(layout.used, waiting)
    yield sample(layout.reminder, cards[0])
    yield sample(layout.denial_form, waiting, ORIGIN)
    yield sample(layout.reason_form, text, ORIGIN)
    yield sample(layout.line, cards[2])
    yield sample(layout.request_list, [cards[number % 3] for number in range(many)])
    for is_reminder in (True, False):
        yield sample(layout.wanted, cards[0], LINK, is_reminder=is_reminder)
    yield sample(layout.wanted, cards[1], "", is_reminder=False)
    yield sample(layout.too_few, waiting)
    for how in (
        Ended(DENIED, text, text), Ended(DENIED, text), Ended(CHANGED, text, "user"), Ended(CHANGED, text, "workflow"),
        Ended(CHANGED), Ended(CHANGED, reason="user"), Ended(EXPIRED),
    ):  # fmt: skip
        yield sample(layout.ended, waiting, how)
        yield sample(layout.ended, waiting, how, is_asker=False)
