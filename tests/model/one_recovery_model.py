"""Model of a simpler recovery than `recovery_model`'s, and where it breaks a promise: it's why there are two ways.

**One recovery**: nothing is refused once Redis is back. Any refusal, repeat or gap marks the place as unread, with no
word of which messages and edits were refused. All its threads wait until Slack's history was read, a minute at most.
What was received or deleted isn't put again. People, Slack, Redis, the reader, the worker and the promises are those of
`recovery_model`.

Three changes would repair it. `FIND` and `WAIT` are small, but need what one recovery was to do without: a list of what
the door left to the reader, and the marks of refused edits. With both, every promise holds as long as the history can
be read at some time. If it can't, only `KEEP` helps: the texts of replies of which nobody knows whether they are for an
agent would have to be stored for as long as Slack repeats their first message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from model.recovery_model import ATTEMPTS, ROOT, SCENARIOS, UNKNOWN, Move, Place, Thread, World, fault_of, start
from model.search import Found, search as breadth_first

_EDIT: Final = 10  # added to a message in `waits_for`: its edit is waited for

FIND: Final = "the reader looks until it has found what was left to it"
WAIT: Final = "messages wait for their refused edits"
KEEP: Final = "replies are kept until their root arrives"

_LOST: Final = "message 1 is lost"
_EARLIER: Final = "message 0 was sent with a text from before a known edit"
_WITHOUT_HISTORY: Final = {
    "no history": _LOST,
    "no history, and a deletion": _LOST,
    "no history, and a killed process": _LOST,
}

BREAKS: Final[dict[tuple[str, ...], dict[str, str]]] = {
    (): _WITHOUT_HISTORY
    | {
        "a history that lags": _LOST,
        "a history that lags, and a deletion": _LOST,
        "no history, in a thread with a conversation": _EARLIER,
        "limited history in a thread with a conversation": _EARLIER,
    },
    (FIND, WAIT): _WITHOUT_HISTORY,
}
"""The promises that it breaks with these changes, by scenario."""

HOLD: Final = {
    "two changes": ((FIND, WAIT), SCENARIOS.keys() - _WITHOUT_HISTORY),
    "three changes": ((FIND, WAIT, KEEP), {*_WITHOUT_HISTORY}),
}
"""Where it keeps them."""


class OneRecovery(Thread):
    """The rules, with these *changes*."""

    def __init__(self, changes: tuple[str, ...]) -> None:
        super().__init__()
        self.changes = changes

    def _redis(self, s: Place) -> Iterator[Move]:
        for said, after in super()._redis(s):
            is_gap = after.was_killed and after.knows_when and not s.knows_when
            yield said, _unread(after, UNKNOWN) if is_gap else after

    def _marked(self, s: Place) -> Place:
        memory, s = s.memory, s._replace(memory=frozenset(), is_dated=False)
        if not memory:
            return s
        for kind, m in sorted(memory):
            if kind == "deletion":
                s = self._withdraw(s, m)
            elif kind == "edit" and WAIT in self.changes and m not in s.seen | s.gone:
                s = s._replace(newer=s.newer | {m})
        return _unread(s._replace(knows_when=True), UNKNOWN)

    def _accept(self, s: Place, kind: str, m: int, *, is_last: bool) -> Place:
        starts = m == ROOT or (s.left.calls and m == s.left.replies)
        if kind != "deletion" and not (starts or s.is_bound or m in s.seen | s.gone):
            return self._early(s, kind, m)
        newer = s.newer
        if kind == "edit":
            newer, s = newer - {m}, s._replace(waits_for=s.waits_for - {_EDIT + m})
        # Its text may change while it waits.
        after = super()._accept(s._replace(newer=frozenset()), kind, m, is_last=is_last) or s
        is_earlier = kind == "message" and m in newer & after.seen - s.seen and not is_last
        return _unread(after._replace(newer=newer - after.seen), *({_EDIT + m} if is_earlier else ()))

    def _early(self, s: Place, kind: str, m: int) -> Place:
        """Accept a reply that isn't for the bot, unless its root is missing: then the reader finds it, or it's kept."""
        is_missing = ROOT not in s.seen | s.gone
        if KEEP in self.changes and is_missing and (s.mark or s.knows_when):
            texts = {m: int(kind == "edit")} | dict(s.box)
            return s._replace(seen=s.seen | {m}, box=tuple(sorted(texts.items())))
        if kind == "edit":
            s = s._replace(void=s.void | {m})
        if not (s.mark and is_missing):
            return s
        return _unread(s, m) if FIND in self.changes else s._replace(mark=s.mark + 1)

    def _withdraw(self, s: Place, m: int) -> Place:
        s = super()._withdraw(s, m)
        s = s._replace(waits_for=s.waits_for - {_EDIT + m})
        return s if m != ROOT or s.is_bound else s._replace(box=())

    def _read(self, s: Place) -> Iterator[Move]:
        for said, after in super()._read(s):
            is_done = said == "the reader finishes" and not after.mark
            is_missing = s.waits_for - s.seen - s.gone - {UNKNOWN} and (s.is_bound or ROOT not in s.gone)
            yield said, s._replace(reader=None) if is_done and is_missing else after

    def _begin(self, s: Place) -> Iterator[Move]:
        edits = {m for m in s.waits_for if m >= _EDIT}
        are_coming = any(
            one.event[0] == "edit" and one.event[1] + _EDIT in edits and one.attempts < ATTEMPTS and not one.is_accepted
            for one in s.deliveries
        )
        for said, after in super()._begin(s):
            if not (edits and said in {"Slack denies the history", "the reader doesn't come in time"}):
                yield said, after
            elif s.waits_for != edits:
                yield said, after._replace(mark=s.mark, waits_for=frozenset(edits))
            elif not are_coming:  # a minute is enough, since Slack repeats the edit a minute after it
                yield said, after

    def _found(self, s: Place, m: int, text: int) -> Place:
        return super()._found(s._replace(waits_for=s.waits_for - {_EDIT + m}) if text else s, m, text)

    def _work(self, s: Place) -> Iterator[Move]:
        if s.is_bound:  # else it only keeps replies
            yield from super()._work(s)


def _unread(s: Place, *missing: int) -> Place:
    return s._replace(mark=s.mark + 1, waits_for=s.waits_for | {*missing}) if missing else s


def search(world: World, *changes: str) -> Found:
    """Search a scenario, perhaps with changes."""
    return breadth_first(start(world), OneRecovery(changes).moves, fault_of)
