"""`Kind`: what a feature says about the things of its kind that people set up; `handling` does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from bridge.config_tables import Act
from bridge.ends.refusals import no_longer
from bridge.engine.results import Result
from bridge.engine.standing import Portable, Standing, size
from bridge.engine.turn import Turn
from bridge.features import lookups
from bridge.features.deps import Deps
from bridge.features.standing.store import R, SetUpStore, Spec, erase_of
from bridge.inbound import Starter
from bridge.policy.rules import Asked
from bridge.queue.finished_turns import named
from bridge.slack.blockkit import kit
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
_CALLED: Final = 160


ASKED: Final = "asked"
"""The reason of what a person paused."""

ITS_OWNER: Final = "its owner"
NOT_ALLOWED: Final = "Slack didn't allow it"


def paused_because(reason: str) -> str:
    """Return the state of what's paused for a *reason*, in a list."""
    return "paused" if reason == ASKED else f"paused: {no_longer(reason, ITS_OWNER) or NOT_ALLOWED}"


@dataclass(frozen=True, slots=True)
class Noun:
    """What a thing is called: the *word*, such as ``alert``.

    *sets_up* is the command that sets it up, and *lists* the button that lists all. *theirs* is the reason why others
    may not change it (`bridge.errors.NotAllowed`). Its notices are ``<word>_paused`` and ``<word>_changed``.
    """

    word: str
    sets_up: str
    lists: Block
    theirs: str = "not_your_own"


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
    """A kind of thing that people set up. Its action IDs are ``<name>:<verb>``.

    A kind says what is its own; what isn't abstract has a default. *nouns* are what its things are called; by the first
    one, all of them are counted and exported. *verbs* are those of its buttons, `EDIT` and `NOW` besides if it has
    `form` and `now`, and *more* those of controls that its feature handles. Those in *needs_rights* start a thing
    or have it start again: whoever presses needs the rights to that themselves, or as what starts it. *in_home* is
    its section's title in Home, and the command that lists all.
    """

    name: ClassVar[str]
    nouns: ClassVar[tuple[Noun, ...]]
    spec: ClassVar[type[Spec]]
    store: ClassVar[type[SetUpStore]]  # type: ignore[type-arg]
    acts: ClassVar[Act]
    verbs: ClassVar[tuple[str, ...]] = (PAGE, NEXT_PAGE, PAUSE, RESUME, DELETE)
    more: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[Mapping[str, str]] = {}
    """The audit's words for verbs, if they aren't those of `label`."""

    needs_rights: ClassVar[Mapping[str, Starter]] = dict.fromkeys((RESUME, EDIT), "person")
    in_home: ClassVar[tuple[str, str]]
    example: ClassVar[str]
    """A command that sets one up, with which the tests hold every kind to what all of them promise."""

    @abstractmethod
    async def called(self, deps: Deps, record: R) -> str:
        """Return a thing in words for its owner and its channel, as it's typed."""

    def noun(self, record: R) -> Noun:
        """Return what a thing is called."""
        return self.nouns[0]

    def act(self, spec: Spec) -> Act:
        """Return what people must be allowed to do to set one up, or to change others' things."""
        return self.acts

    def opens(self, spec: Spec) -> Block | None:
        """Return the button that opens the form that sets one up, if there's one."""
        return None

    def is_listed(self, record: R, of: str) -> bool:
        """Whether a thing is in the list *of* some: the letter before its page's number, if there are several."""
        return True

    def is_readable(self, record: R) -> bool:
        """Whether this release understands it; else it can only be deleted."""
        return True

    def order(self, record: R) -> tuple[object, ...]:
        """Return the key by which lists are sorted, after those that aren't paused."""
        return ()

    def cannot(self, record: R) -> str:
        """Say that a thing can't be started: ``This report can't be posted``."""
        return f"This {self.noun(record).word} can't be resumed"

    async def about(self, deps: Deps, record: R) -> str:
        """Return the subject for the audit."""
        return named(self.noun(record).word, record.id, await self.called(deps, record))

    async def rights(self, deps: Deps, spec: Spec, *, user: str = "", by: Starter = "person") -> list[Asked]:
        """Return what a thing's owner must be allowed to, or the *user* who starts it. Raises `ProjectError`."""
        return await lookups.rights(deps, self.acts, user or spec.owner, spec.channel, spec.project, by=by)

    def from_export(self, spec: dict[str, Any]) -> Spec:
        """Read what `bridge export` wrote of a spec, or someone by hand. Raises ValueError with what's wrong."""
        return self.spec.model_validate(spec)

    async def form(self, deps: Deps, turn: Turn, record: R) -> Result:
        """Open the form that changes a thing; for kinds with that verb."""
        raise NotImplementedError

    async def now(self, deps: Deps, turn: Turn, record: R) -> Reply:
        """Start a thing now, and say so; for kinds with that verb."""
        raise NotImplementedError

    async def show(
        self, deps: Deps, turn: Turn, records: Sequence[R], *, is_home: bool = False, is_shared: bool = False
    ) -> Sequence[ShownThing[R]]:
        """Return things as a list shows them; names of owners and projects, and offers, are filled in afterwards.

        If the list *is shared* with *turn*'s channel, it shows nothing that others there may not read.
        """
        return [
            ShownThing(record=record, called=kit.one_line(await self.called(deps, record), _CALLED))
            for record in records
        ]

    def row(self, shown: ShownThing[R], value: str, deps: Deps) -> ListRow:
        """Return how a list shows a thing; *value* is that of its buttons."""
        record, names = shown.record, [name for name in (shown.project, shown.owner) if name]
        of = "".join(f" · {kit.named(name, 80)}" for name in names)
        line = kit.paragraph(kit.words(shown.called, bold=True), " in ", kit.place(record.spec.channel), of)
        if not record.paused:
            return ListRow([line], *self.state(record))
        state = f"⏸️ {kit.capitalized(paused_because(record.paused))}"
        return ListRow([line], kit.context(state), kit.paragraph(state))

    def state(self, record: R) -> tuple[Block, Block]:
        """Return the state of a thing that isn't paused, as a block and as a line of rich text."""
        return kit.context("Active"), kit.paragraph("Active")

    def in_full(self, shown: ShownThing[R]) -> str:
        """Return a thing in words, perhaps with its owner's name."""
        return shown.called

    async def heading(self, deps: Deps, turn: Turn, of: str) -> Heading:
        """Return the heading of the list *of* some."""
        return Heading(kit.capitalized(self.plural), f"No {self.plural} are set up yet.", await self.forms(deps, turn))

    async def forms(self, deps: Deps, turn: Turn) -> Sequence[Block]:
        """Return the buttons that set up another one."""
        return ()

    async def there_already(self, deps: Deps, turn: Turn, record: R) -> Reply:
        """Say that a thing is set up already."""
        noun, owner = self.noun(record), await deps.directory.user_name(record.spec.owner)
        called = kit.one_line(await self.called(deps, record), _CALLED)
        return kit.ask(f"This {noun.word} already exists: {called}, set up by {kit.named(owner, 80)}.", noun.lists)

    async def deleted(self, deps: Deps, turn: Turn, record: R) -> Reply:
        """Say that a thing was deleted."""
        return kit.reply(f"Deleted: {kit.one_line(await self.called(deps, record), 200)}.")

    @property
    def plural(self) -> str:
        """All of them in a word."""
        return f"{self.nouns[0].word}s"

    def stored(self, deps: Deps) -> SetUpStore[R]:
        return self.store(deps.scripts)

    def action(self, verb: str) -> str:
        """Return the action ID of a *verb*."""
        return f"{self.name}:{verb}"

    def label(self, verb: str) -> str:
        """Return what the audit calls the button of a *verb*."""
        words = {PAGE: f"All {self.name}s", NEXT_PAGE: "Next"}
        return f"button: {self.labels.get(verb) or words.get(verb) or f'{verb.capitalize()} {self.name}'}"

    def standing(self, portable: Portable[Any]) -> Standing:
        """Return the kind as what's about all that people set up needs it."""
        return Standing(
            portable=portable,
            name=self.name,
            example=self.example,
            lists=self.in_home[1],
            noun=self.nouns[0].word,
            plural=self.plural,
            keys=(self.store.stored, self.store.listed, *self.store.indexes),
            count=size(self.store.listed),
            erase=lambda scripts, user: erase_of(self.store(scripts), scripts, user),
            paused=lambda deps: self.store(deps.scripts).paused(),
        )
