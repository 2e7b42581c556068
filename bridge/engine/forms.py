"""`Form`: a form's fields, declared once; its blocks, what's wrong with its values and its menus' options follow.

``AskForm.opened(origin, AskForm.blocks(agent=agent))`` opens one, and `Feature.form` registers it. Forms of an earlier
version may still be open: a field that's gone isn't read, and the value of a new one is ``""``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from bridge.config_tables import Act
from bridge.engine.results import Modal
from bridge.policy.policy import Offered
from bridge.project import Agent, Catalog
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import CHANNEL, OPEN_THE_FORM, TOOK_TOO_LONG, FormErrors, Origin, modal
from bridge.slack.blockkit.reply import Block
from bridge.slack.parts import Place

T = TypeVar("T")


class MenuQuery(NamedTuple):
    """What a menu is asked for: options that match *text*, of a project's *catalog*, whose agents have *faces*.

    *offered* returns the part of the catalog with which the person may do something.
    """

    catalog: Catalog | Offered
    text: str
    faces: Callable[[Sequence[Agent]], Mapping[int, str]]
    offered: Callable[[Act], Offered]


MenuOptions = Callable[[MenuQuery], Awaitable[list[Block]]]


class Values(dict[str, str]):
    """A submitted form's values, by the names of its fields; those that it doesn't have are ``""``."""

    def __missing__(self, name: str) -> str:
        return ""


Check = Callable[[str, Values], str]


def needed(problem: str) -> Check:
    """Return a field's check that says *problem* if it's left blank."""
    return lambda value, _values: "" if value.strip() else problem


@dataclass(slots=True)
class Field:
    """A field: its *name*, which is its variable's, is its block_id and action_id.

    It begins with what's *initial*, if nothing else is filled in. *hint* may depend on that. *check* returns what's
    wrong with its value, as one of all values; that's shown below the field.
    """

    label: str
    _: KW_ONLY
    initial: Any = None
    hint: str | Callable[[Any], str] = ""
    is_optional: bool = False
    check: Check | None = None
    name: str = ""

    def __set_name__(self, _form: type, name: str) -> None:
        self.name = self.name or name

    def block(self, filled_in: Any = None) -> Block:
        """Return the field with what's *filled_in*."""
        filled_in = filled_in or self.initial
        hint = self.hint if isinstance(self.hint, str) else self.hint(filled_in)
        element = {"action_id": self.name, **self._element(filled_in)}
        return kit.input_block(self.name, self.label, element, hint=hint, optional=self.is_optional)

    def _element(self, filled_in: Any) -> Block:
        raise NotImplementedError


@dataclass(slots=True)
class Text(Field):
    """A field for text, with an *example* as long as it's empty; it has several lines unless *longest* is short."""

    example: str = ""
    longest: int = kit.PLAIN_TEXT_INPUT

    def block(self, filled_in: Any = None) -> Block:
        """Return the field, which says so if not all of what's *filled_in* fits."""
        made = Field.block(self, filled_in)
        is_cut = len(filled_in or "") > self.longest
        return made | ({"hint": kit.plain(f"Only the first {self.longest:,} characters fit here.")} if is_cut else {})

    def _element(self, filled_in: Any) -> Block:
        element: Block = {"type": "plain_text_input", "max_length": self.longest}
        element |= {"multiline": True} if self.longest == kit.PLAIN_TEXT_INPUT else {}
        if filled_in and filled_in.strip():
            return element | {"initial_value": kit.clean(filled_in)[: self.longest]}
        return element | ({"placeholder": kit.plain(self.example, kit.PLACEHOLDER)} if self.example else {})


@dataclass(slots=True)
class Select(Field):
    """A menu of *choices*: their labels by their values. With *takes_others*, another value can be filled in, too."""

    choices: Mapping[str, str]
    placeholder: str = "Choose"
    takes_others: bool = False

    @property
    def _options(self) -> list[Block]:
        return [kit.option(label, value) for value, label in self.choices.items()]

    def _element(self, filled_in: Any) -> Block:
        options = self._options
        if filled_in not in self.choices and self.takes_others:
            options.append(kit.option(kit.capitalized(filled_in), filled_in))
        values = (filled_in, self.initial)
        initial = next((option for value in values for option in options if option["value"] == value), None)
        return kit.select(self.name, self.placeholder, options, initial)


class Radio(Select):
    """Radio buttons for *choices*, of which none is chosen."""

    def _element(self, _filled_in: Any) -> Block:
        return {"type": "radio_buttons", "options": self._options}


class Ticks(Select):
    """Checkboxes for *choices*. What's ticked is read as values with commas between."""

    def _element(self, filled_in: Any) -> Block:
        ticked = [option for option in self._options if option["value"] in (filled_in or ())]
        return {"type": "checkboxes", "options": self._options} | ({"initial_options": ticked} if ticked else {})


@dataclass(slots=True)
class Time(Field):
    """A time of day, such as ``09:00``."""

    def _element(self, filled_in: Any) -> Block:
        return {"type": "timepicker", "initial_time": filled_in}


@dataclass(slots=True)
class ChannelMenu(Field):
    """A menu of the channels that the person can see, by default with the current one."""

    label: str = "Channel"
    hint: str | Callable[[Any], str] = "I need to be a member of that channel."
    with_direct: bool = True

    def _element(self, filled_in: Any) -> Block:
        kinds = ["public", "private", "mpim", *(["im"] if self.with_direct else [])]
        chosen = {"initial_conversation": filled_in} if filled_in else {"default_to_current_conversation": True}
        return {
            "type": "conversations_select", "filter": {"include": kinds},
            "placeholder": kit.plain("Choose a channel", kit.PLACEHOLDER), **chosen,
        }  # fmt: skip


@dataclass(slots=True)
class Menu(Field, Generic[T]):
    """A menu whose *options* Slack asks for as the person types; *option* returns that of what's chosen, or *nothing*.

    With an *act*, the query's catalog has only what the person may do that with. If its name ends with ``:``, it's for
    all fields whose names begin with it.
    """

    placeholder: str
    options: MenuOptions
    option: Callable[[T], Block]
    act: Act | None = None
    nothing: Block | None = None

    def _element(self, filled_in: Any) -> Block:
        initial = self.option(filled_in) if filled_in else self.nothing
        return kit.external_select(self.name, self.placeholder, initial)


class Form:
    """A form: its *id* is its callback_id; its own fields come before those that it inherits.

    A button with the action_id *opener* opens it, which says *open_label*. *label* names it in the audit, if its title
    doesn't.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    submit: ClassVar[str]
    opener: ClassVar[str]
    open_label: ClassVar[str] = OPEN_THE_FORM
    label: ClassVar[str] = ""
    fields: ClassVar[Mapping[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls.fields = own | {name: field for name, field in cls.fields.items() if name not in own}

    @classmethod
    def blocks(cls, *, without: Collection[str] = (), **filled_in: Any) -> list[Block]:
        """Return the fields, with what's *filled_in* by name: a value, or another field in its place."""
        shown = {name: (field, filled_in.get(name)) for name, field in cls.fields.items() if name not in without}
        return [value.block() if isinstance(value, Field) else field.block(value) for field, value in shown.values()]

    @classmethod
    def button(cls) -> Block:
        """Return a button that opens the form with nothing filled in."""
        return kit.button(f"{cls.title}…", cls.opener, "-")

    @classmethod
    def opened(
        cls, origin: Origin, blocks: Sequence[Block], text: str = TOOK_TOO_LONG, value: str = "-", *,
        about: str = "", title: str = "", submit: str | None = None,
    ) -> Modal:  # fmt: skip
        """Open the form; if it's too late for that, say *text*, with a button that opens it by its *value*."""
        view = modal(cls.id, title or cls.title, cls.submit if submit is None else submit, blocks, origin)
        return Modal(view, otherwise=kit.ask(text, kit.button(cls.open_label, cls.opener, value, about=about)))

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> object:
        """Return what *values* say (`bridge.slack.blockkit.modals.form_values`), or `FormErrors`, or a `NextForm`."""
        typed = Values({name: str(value or "") for name, value in values.items()})
        checked = {name: field.check(typed[name], typed) for name, field in cls.fields.items() if field.check}
        problems = {name: problem for name, problem in checked.items() if problem}
        return FormErrors(problems) if problems else cls._read(typed)

    @classmethod
    def _read(cls, values: Values) -> object:
        return values

    @classmethod
    def place(cls, values: Mapping[str, Any], origin: Origin) -> Place:
        """Return where the form's result is shown: in the channel chosen in it, or where it was opened."""
        return Place(str(values.get(CHANNEL) or "") or origin.chosen or origin.channel)
