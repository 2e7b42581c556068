"""`Kind`: what a feature says about the things of its kind that people set up; `handling` does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from bridge.config_tables import Act
from bridge.engine.results import Result
from bridge.engine.standing import Portable, Standing, size
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.standing.store import R, SetUpStore, Spec, erase_of
from bridge.inbound import Starter
from bridge.policy.rules import Asked
from bridge.slack.blockkit.reply import Block, Reply

S = TypeVar("S", bound=Spec)

PAUSE: Final = "pause"
RESUME: Final = "resume"
NOW: Final = "now"
EDIT: Final = "edit"
DELETE: Final = "delete"
PAGE: Final = "page"
NEXT_PAGE: Final = "page:next"

ALONE: Final = "made"
"""Stands for the page's number in the values of buttons outside the list; `HOME` in those of buttons in Home."""

HOME: Final = "home"


@dataclass(frozen=True, slots=True)
class Noun:
    """What a thing is called in notices: its *noun*.

    *again* is the command that sets it up, and *all* the button that lists all of them. *theirs* is the reason why
    others may not change it (`bridge.errors.NotAllowed`). Its notices are ``<noun>_paused`` and ``<noun>_changed``.
    """

    noun: str
    again: str
    all: Block
    theirs: str


@dataclass(frozen=True, kw_only=True)
class ShownThing(Generic[R]):
    """A thing as a list shows it: *called* is all of it in words that its reader may read.

    *owner* and *project* are names; *project* is ``""`` if there's one. *offers* are the verbs of the buttons that the
    reader may press.
    """

    record: R
    called: str
    owner: str = ""
    project: str = ""
    offers: Collection[str] = ()


class ListRow(NamedTuple):
    """How a list shows a thing: *lines* of rich text, its *state* below, and the *controls* that its kind adds.

    *in_home* is its state as a line of rich text.
    """

    lines: Sequence[Block]
    state: Block
    in_home: Block
    controls: Sequence[Block] = ()


class Heading(NamedTuple):
    """The *title* of a list and what it says if it's empty; *forms* are the buttons that set up another one."""

    title: str
    nothing: str
    forms: Sequence[Block]


class Kind(ABC, Generic[R]):
    """A kind of thing. Its action IDs are ``<name>:<verb>``.

    *verbs* are those of its buttons, with the audit's words for them; *starts* are those that start a thing or have it
    start again, which needs the rights to do that as the person who presses, or by the ``schedule`` or ``alert``.
    *plural* counts all of them, and the button *all* lists them. *keys* are its lines in the table of keys.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]
    store: ClassVar[type[SetUpStore]]  # type: ignore[type-arg]
    all: ClassVar[Block]
    verbs: ClassVar[Mapping[str, str]]
    starts: ClassVar[Mapping[str, Starter]]
    more: ClassVar[tuple[str, ...]] = ()
    """Verbs of controls that the feature handles itself."""

    in_home: ClassVar[tuple[str, str]]
    """Its section's title in Home, and the command that lists all."""

    def stored(self, deps: Deps) -> SetUpStore[R]:
        """Return the store."""
        return self.store(deps.scripts)

    def action(self, verb: str) -> str:
        """Return the action ID of a *verb*."""
        return f"{self.name}:{verb}"

    def is_listed(self, record: R, mark: str) -> bool:
        """Whether a thing is in the list with this *mark*, the letter before its page's number."""
        return True

    def is_readable(self, record: R) -> bool:
        """Whether this release understands it; else it can only be deleted."""
        return True

    @abstractmethod
    def noun(self, record: R) -> Noun:
        """Return what a thing is called in notices."""

    @abstractmethod
    def act(self, record: R) -> Act:
        """Return what people must be allowed to do to change others' things."""

    @abstractmethod
    def order(self, record: R) -> tuple[object, ...]:
        """Return the key by which lists are sorted, those that aren't paused first."""

    @abstractmethod
    def cannot(self, record: R) -> str:
        """Say that a thing can't be started: ``This report can't be posted``."""

    @abstractmethod
    async def called(self, deps: Deps, record: R) -> str:
        """Return a thing in words for its owner and its channel, as it's typed."""

    @abstractmethod
    async def about(self, deps: Deps, record: R) -> str:
        """Return the subject for the audit."""

    @abstractmethod
    async def rights(self, deps: Deps, spec: Spec, *, user: str = "", by: Starter = "person") -> list[Asked]:
        """Return what a thing's owner must be allowed to, or the *user* who starts it. Raises `ProjectError`."""

    @abstractmethod
    def read(self, spec: dict[str, Any]) -> Spec:
        """Read what `bridge export` wrote of a spec, or someone by hand. Raises ValueError with what's wrong."""

    @abstractmethod
    async def form(self, deps: Deps, turn: Turn, record: R) -> Result:
        """Open the form that changes a thing."""

    @abstractmethod
    async def show(
        self, deps: Deps, turn: Turn, records: Sequence[R], *, is_home: bool = False
    ) -> Sequence[ShownThing[R]]:
        """Return things as a list shows them; names of owners and projects, and offers, are filled in afterwards."""

    @abstractmethod
    def in_full(self, shown: ShownThing[R]) -> str:
        """Return a thing in words, perhaps with its owner's name."""

    @abstractmethod
    def row(self, shown: ShownThing[R], value: str, deps: Deps) -> ListRow:
        """Return how a list shows a thing; *value* is that of its buttons."""

    @abstractmethod
    def status(self, record: R, deps: Deps) -> str:
        """Return the state of a thing that isn't paused, in a few words: ``watching``."""

    @abstractmethod
    async def heading(self, deps: Deps, turn: Turn, mark: str) -> Heading:
        """Return the heading of the list with this *mark*."""

    @abstractmethod
    async def deleted(self, deps: Deps, turn: Turn, record: R) -> Reply:
        """Say that a thing was deleted."""

    async def now(self, deps: Deps, turn: Turn, record: R) -> Reply:
        """Start a thing now, and say so; for kinds with that verb."""
        raise NotImplementedError

    def standing(self, portable: Portable[Any]) -> Standing:
        """Return the kind as what's about all that people set up needs it."""
        return Standing(
            portable=portable,
            noun=self.plural.removesuffix("s"),
            plural=self.plural,
            keys=self.keys,
            count=size(self.store.listed),
            erase=lambda scripts, user: erase_of(self.store(scripts), scripts, user),
            paused=lambda deps: self.store(deps.scripts).paused(),
        )
