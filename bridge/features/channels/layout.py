"""Channel settings as people see them, and notices about changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from bridge.features.buttons import settings_button
from bridge.features.channels.settings import MOST_APPS, AppRule, Fixed
from bridge.names.folding import name_key
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.senders import WEBHOOKS, sender_id

CHANGED: Final = "channel_changed"
"""The name of the notice to a channel whose settings were changed."""

HERE: Final = "this channel"
DIRECT: Final = "your direct messages to me"
GROUP: Final = "the group direct message"
UNKNOWN: Final = "the channel"
NONE: Final = "none"
_MOST_SHOWN: Final = 10
_REPLIES: Final = {"auto": "those of the person the agent is talking with", "mentions": "mentions only"}
NOTHING_CHANGED: Final = kit.reply("Nothing changed. These settings are already in effect.")
NOT_IN_DIRECT_MESSAGES: Final = kit.reply("In direct messages, I answer everything. Use this command in a channel.")
UNREADABLE: Final = kit.reply("I can't read this channel's posts. Use the app's ID, such as A0123456789.")
SAVED: Final = kit.reply("Settings saved.")


class SettingChange(NamedTuple):
    """A changed *setting* (``project``, ``agent``, ``answers``, ``replies``, ``app``), and its value *now*.

    *name* is the project's, agent's or workflow's, ``""`` for none; *app* is the app's ID, *called* its name. A
    *warning* follows.
    """

    setting: str
    now: str = ""
    name: str = ""
    app: str = ""
    called: str = ""
    warning: str = ""

    @property
    def about(self) -> str:
        """The subject for the audit: a kind, an ID, and a name if there is one."""
        return f"{self.setting} {self.app or self.now or NONE} {self.name}".rstrip()

    def in_words(self, where: str = HERE) -> str:
        """Return a sentence about the change in the channel *where*."""
        name, of = kit.named(self.name, 60), kit.named(self.called or self.app, 60)
        where = kit.named(where, 80)
        match self.setting, self.now:
            case "project", _ if where == DIRECT:
                return f"{where[:1].upper()}{where[1:]} are now about {name}."
            case "project", _:
                return f"The project of {where} is now {name}."
            case "agent", "" if where == DIRECT:
                return "Your direct messages to me no longer have a default agent."
            case "agent", _ if where == DIRECT:
                return f"{name} now answers {where}."
            case "agent", "":
                return f"{where[:1].upper()}{where[1:]} no longer has a default agent."
            case "agent", _:
                return f"{name} now answers mentions in {where}."
            case "answers", "all":
                return f"I now answer every top-level message in {where}, without a mention."
            case "answers", _:
                return f"I now answer only mentions in {where}."
            case "replies", "auto":
                return (
                    f"In threads of {where}, the agent now answers the person it talks with. Others need to mention me."
                )
            case "replies", "all":
                return f"Every thread reply in {where} now goes to the thread's agent."
            case "replies", _:
                return f"In the threads of {where}, the agent now gets only replies that mention me."
            case "app", "agent":
                return f"{name} now answers posts from {of} in {where}. {self.warning}".rstrip()
            case "app", "workflow":
                text = f"Posts from {of} now run the workflow {kit.quoted(self.name, 60)} in {where}."
                return f"{text} {self.warning}".rstrip()
            case "app", _:
                return f"I now ignore posts from {of} in {where}."
        return f"The settings of {where} were changed."


def sender_label(key: str, rules: Mapping[str, AppRule]) -> str:
    """Return what people call the sender with this *key*, such that they can tell it from the others."""
    name = rules[key].name
    alike = [other for other, rule in rules.items() if name_key(rule.name) == name_key(name)]
    if not name or len(alike) < 2:  # noqa: PLR2004 - there's no other
        return name or key
    return f"{name} ({sender_id(key)}{', under any name' if key == sender_id(key) else ''})"


def not_told_apart(key: str, names: Sequence[str] = (), *, bots: int = 0) -> str:
    """Say which senders a rule for this *key* can't tell apart; *names* and *bots* have been seen."""
    if key == sender_id(key):
        known = f", such as {kit.first_of([kit.named(name, 80) for name in names], 3)}" if len(names) > 1 else ""
        return f"That includes everything this app posts, under any name{known}."
    if sender_id(key) == WEBHOOKS:
        return "Every incoming webhook that posts under this name counts."
    return "Several bots of this app post under this name, and all of them count." if bots > 1 else ""


ALSO_ON_EDITS: Final = "Edited posts run it again."
ADMIN: Final = "your admin"
SET_BY_ADMIN: Final = "set by your admin"
FIXED: Final[dict[Fixed, str]] = {
    "agent": "default agent",
    "answers": "messages to answer",
    "replies": "thread replies to answer",
    "apps": "apps",
}
"""What people call the settings that the operator's file can set."""


class ShownSettings(NamedTuple):
    """A channel's settings, with names instead of IDs."""

    agent: str
    answers_all: bool
    replies: str  # which replies in a thread are answered (`bridge.features.channels.settings.Replies`)
    apps: Sequence[tuple[str, str]]  # each app's name, and its rule in words
    project: str | None = None  # None: there's only one
    fixed: Collection[Fixed] = ()  # what the operator's file sets
    is_project_fixed: bool = False


def settings_title(where: str) -> str:
    """Return the title of the settings card and form."""
    return "Conversation settings" if where in {DIRECT, GROUP} else "Channel settings"


def settings_card(shown: ShownSettings, title: str, *, may_change: bool, is_direct: bool) -> Reply:
    """Show the settings."""
    mark = dict.fromkeys(shown.fixed, f" ({SET_BY_ADMIN})")
    of_project = f" ({SET_BY_ADMIN})" if shown.is_project_fixed else ""
    facts = []
    if shown.project is not None:
        facts.append(("Project", (kit.one_line(shown.project, 100) or "none") + of_project))
    facts.append(("Default agent", (kit.one_line(shown.agent, 100) or "none") + mark.get("agent", "")))
    if not is_direct:
        facts += [
            (
                "Messages to answer",
                ("every top-level message" if shown.answers_all else "mentions only") + mark.get("answers", ""),
            ),
            ("Thread replies to answer", _REPLIES.get(shown.replies, "all") + mark.get("replies", "")),
            (
                "Apps",
                ("all ignored" if not shown.apps else kit.counted(len(shown.apps), "app")) + mark.get("apps", ""),
            ),
        ]
    apps = [
        kit.paragraph(kit.words(kit.one_line(app, 80), bold=True), f" · {kit.one_line(does, 200)}")
        for app, does in shown.apps[:_MOST_SHOWN]
    ]
    return card(
        kit.header(title),
        kit.fields(facts),
        kit.rich(kit.bullets(apps)) if apps else None,
        buttons=[settings_button()] if may_change else [],
    )


def set_in_file(names: Sequence[Fixed]) -> Reply:
    """Say that the operator's file sets what someone wanted to change."""
    what = " and ".join(FIXED[name] for name in names)
    return kit.reply(f"Your admin has set this channel's {what}, so only they can change that.")


def project_in_file(project: str) -> Reply:
    """Say that the operator's file sets this channel's project."""
    return kit.reply(
        f"Your admin has set this channel's project to {kit.named(project, 80)}, so only they can change it."
    )


def other_project(here: str, wanted: str) -> Reply:
    """Say that a channel's agents and workflows are of its own project."""
    here, wanted = kit.named(here, 80), kit.named(wanted, 80)
    line = kit.command(f"/agents channel project {wanted}")
    return kit.reply(f"This channel's project is {here}. To use {wanted} here, type {line} first.")


def too_many_apps(most: int) -> Reply:
    """Say that no more apps can be added."""
    line = kit.command("/agents channel ignore")
    return kit.reply(f"This channel already has {most} apps, which is the limit. Remove one with {line} first.")


def same_name(typed: str, keys: Sequence[str]) -> Reply:
    """Say that several apps post under a name."""
    ids = kit.first_of([sender_id(key) for key in keys], MOST_APPS)
    example = next(map(sender_id, keys), "A0123456789")
    return kit.reply(f"Several apps post here as {kit.quoted(typed, 60)}: {ids}. Use an ID, such as {example}.")


def changed(changes: Sequence[SettingChange], where: str = HERE) -> Reply:
    """Confirm changes, one sentence for each."""
    return kit.reply(" ".join(change.in_words(where) for change in changes))


def changed_notice(changes: Sequence[SettingChange], person: str) -> Reply:
    """Notify a channel of changes, and of the *person* who made them."""
    text = " ".join(change.in_words() for change in changes)
    return kit.note(f"{text} Changed by {kit.named(person, 60)}.", audience=Audience.CHANNEL)
