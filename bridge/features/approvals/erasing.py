"""Requests for approval when a person is erased: their own are deleted; in those of others, only their name is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from bridge.engine.standing import Standing, size
from bridge.errors import RecordNotUnderstood
from bridge.features.approvals import layout
from bridge.features.approvals.request import WAITING, StoredRequest
from bridge.features.approvals.store import ApprovalStore
from bridge.inbound import Notice
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if

_CHANGED: Final = ("body", "decisions", "said", "lost")


async def _erase(scripts: Scripts, user: str) -> int:
    """Erase a person from all requests, those that ended, too. Returns from how many."""
    keys, count = scripts.keys, 0
    names = [str(key) async for key in scripts.redis.scan_iter(keys.approval("*"), count=1000)]
    for key in names:
        count += await _erase_from(scripts, key.removeprefix(keys.approval("")), user)
    return count


async def _erase_from(scripts: Scripts, id_: str, user: str) -> bool:
    redis, key, store = scripts.redis, scripts.keys.approval(id_), ApprovalStore(scripts)
    while True:
        fields: Any = await redis.hgetall(key)
        try:
            stored = StoredRequest.from_redis(id_, fields) if fields else None
        except RecordNotUnderstood:
            stored = None
        if stored is None or stored.request.asker == user:
            if user not in str(fields):
                return False
            deleted: tuple[Write, ...] = (("delete", key, 0), store.forget(id_))
            await scripts.run("write", deleted, confirmed=True)
            return True
        left = stored.without(user)
        # An earlier release stored which direct messages people got.
        gone = [name for name, value in fields.items() if name.startswith("notice:") and user in value.split()]
        if left == stored:
            return bool(gone and await redis.hdel(key, *gone))
        seen = {name: fields.get(name, "") for name in (*_CHANGED, "state")}
        lines = "\n".join(f"{epoch_ms(made.at)} {made.user} {made.decided} {made.turn}" for made in left.decisions)
        body = left.request.model_dump_json()
        now = {"body": body, "decisions": lines, "said": left.reason, "lost": left.lost}
        changes: list[Write] = [("field", key, 0, name, now[name]) for name in _CHANGED if now[name] != seen[name]]
        writes = only_if(key, seen, *changes, *_tells(scripts, stored, left))
        answers = await scripts.run("write", writes, confirmed=True)
        if "holds" in answers:
            await (redis.hdel(key, *gone) if gone else redis.ping())
            return True


def _tells(scripts: Scripts, before: StoredRequest, left: StoredRequest) -> list[Write]:
    """Return the writes that redraw a waiting request's card and, if too few may approve it now, tell its asker."""
    request, nothing = left.request, list[Write]()
    if left.state != WAITING or (left.request, left.decisions) == (before.request, before.decisions):
        return nothing
    inbox = Inbox(scripts, consumer="bridge forget", session_lifetime=timedelta(0), now=scripts.clock.now)
    writes = [inbox.queues(left.redraw, why="an approver was erased")]
    if request.asker and request.has_too_few and not before.request.has_too_few:
        notice = Notice.direct(request.team, request.asker, layout.TOO_FEW, layout.too_few(left).stored())
        writes.append(inbox.queues(notice, why="too few approvers are left"))
    return writes


APPROVALS_ASKED: Final = Standing(
    noun="request for approval",
    plural="requests for approval",
    keys=("approval", "approvals"),
    count=size("approvals"),
    erase=_erase,
    due=("approvals", "approvals"),
)
