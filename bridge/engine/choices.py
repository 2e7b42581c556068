"""Choices: what a question offers when it's unclear what somebody meant.

Each option is another command line, a press of a control, a message or a text. They're stored for the person who is
asked, and picked with a button or in a menu. A `bridge.engine.questions.Question` makes that act once.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, TypeAdapter

from bridge.engine.turn import Turn
from bridge.ids import PersonKey
from bridge.inbound import InboundMessage
from bridge.queue.keys import TYPED, milliseconds
from bridge.queue.scripting import Scripts
from bridge.queue.writes import Write


class Option(BaseModel, frozen=True):
    """What a *label* stands for: a command *line*, a press of *control* with its *value*, a *message*, or a *text*.

    If the line is about the workflow or agent with *item* as its ID, it leaves that out.
    """

    label: str = ""
    line: str = ""
    item: int | None = None
    control: str = ""
    value: str = ""
    message: InboundMessage | None = None
    text: str = ""


_STORED = TypeAdapter(list[Option])


class Choices:
    """The options of questions. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def ask(self, turn: Turn, *options: Option) -> Sequence[str]:
        """Store the *options* of the question that *turn* asks; returns the values of their buttons, for `picked`."""
        stored, person = _STORED.dump_json(list(options), exclude_defaults=True), PersonKey(turn.team, turn.user)
        await self._redis.set(self._keys.choice(person, turn.id), stored, px=milliseconds(TYPED))
        return [f"{number}:{turn.id}" for number in range(len(options))]

    async def picked(self, turn: Turn, value: str) -> Option | None:
        """Return the option with this *value* that *turn*'s person was offered; None if it's gone."""
        number, _, asked_by = value.partition(":")
        stored = await self._redis.get(self._keys.choice(PersonKey(turn.team, turn.user), asked_by))
        options = _STORED.validate_json(stored) if stored and number.isdecimal() else []
        return options[int(number)] if options and int(number) < len(options) else None

    def forgets(self, turn: Turn, asked_by: str) -> Write:
        """Return the write that deletes what *turn*'s person was offered by the turn *asked_by*."""
        return ("delete", self._keys.choice(PersonKey(turn.team, turn.user), asked_by), 0)
