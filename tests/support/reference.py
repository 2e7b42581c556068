"""The generated pages of docs/reference: ``make reference`` writes them, and a test checks them.

The part above the marker is written by hand; the rest is generated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import typer
from pydantic import BaseModel

from bridge.cli import COMMANDS, command_of, program
from bridge.config import DefaultProjectTable, ProjectTable
from bridge.config_tables import AgentTable, ApproveTable, AppTable, ChannelTable, LimitTable, RuleTable
from bridge.ends import End, messages as ends, refusals
from bridge.ends.failures import failure
from bridge.engine.feature import Command
from bridge.features.registry import features
from bridge.metrics import ALERTS, ROWS
from bridge.playground.emulator.web_api import ELSEWHERE, METHODS
from bridge.queue.keys import markdown
from bridge.settings import TO_POST, Settings
from bridge.slack.blockkit import kit
from bridge.slack.scopes import SCOPES
from support import dashboard, monitoring
from support.failure_causes import CONVERSATIONS, NOTICES, SECTIONS, cause_of
from support.failures import EXAMPLES
from support.sentences import FILE, sentences

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"
MARKER: Final = "<!-- Made from the code by `make reference`. -->\n"


def default_drain() -> int:
    """How many seconds work may take to finish after SIGTERM, by default."""
    return int(Settings.model_fields["chat_timeout"].default) + TO_POST.seconds


def commands() -> str:
    """Every usage line with its description, by first word; commands for threads come last."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for one in features.commands.commands:
        title = f"/{one.path[0]}" if one.usage.startswith("/") else "In a thread"
        sections.setdefault(title, []).append((_usages(one.usage), one.sentence + _notes(one)))
    last = sections.pop("In a thread")
    shown = {**sections, "In a thread": last}.items()
    return "\n\n".join(f"## {title}\n\n{_table(('You type', 'What it does'), rows)}" for title, rows in shown)


def _usages(usage: str) -> str:
    """Spell out ``<a|b>``: not every Markdown renderer can show a pipe in a table's code."""
    choice = re.search(r"<(\w+(?:\|\w+)+)>", usage)
    words = choice[1].split("|") if choice else []
    *others, last = [f"`{usage.replace(choice[0], word)}`" for word in words] if choice else [f"`{usage}`"]
    return f"{', '.join(others)} or {last}" if others else last


def _notes(command: Command) -> str:
    return f" `/{command.path[0]}` alone does the same." if command.is_default and len(command.path) > 1 else ""


def settings() -> str:
    """Every setting: variable, default, explanation."""
    parts = []
    for field in Settings.model_fields.values():
        given = f"default `{field.default}`" if field.default else "not set by default"
        needed = "**required**" if field.is_required() else given
        words = " ".join(str(field.description).split())
        parts.append(f"## {field.alias}\n\n{needed}\n\n{words}")
    return "\n\n".join(parts)


TABLES: Final[tuple[type[BaseModel], ...]] = (
    DefaultProjectTable,
    ProjectTable,
    RuleTable,
    ApproveTable,
    ChannelTable,
    AppTable,
    AgentTable,
    LimitTable,
)


def bridge_toml() -> str:
    """Every table of the operator's file with its settings."""
    parts = []
    for table in TABLES:
        words = " ".join(str(table.__doc__).split()).replace("``", "`")
        title, _, rest = words.partition(": ")
        settings = [
            (f"`{name} = {field.examples[0]}`" if field.examples else name, " ".join(str(field.description).split()))
            for name, field in ((field.alias or name, field) for name, field in table.model_fields.items())
        ]
        parts.append(f"## {title}\n\n{rest[0].upper()}{rest[1:]}\n\n{_table(('Setting', 'Meaning'), settings)}")
    return "\n\n".join(parts)


def command_line() -> str:
    """Every command of the program with its options."""
    group = typer.main.get_command(program)
    vars(group)["commands"] = {name: command_of(name) for name in COMMANDS}
    return "\n\n".join(_shown(group, "bridge"))


def _shown(command: object, path: str) -> Iterable[str]:
    words = " ".join(str(getattr(command, "help", "") or "").split())
    options = [one for one in getattr(command, "params", []) if "--help" not in one.opts]
    rows = [(f"`{_spelled(one)}`", str(getattr(one, "help", "") or "") + _default(one)) for one in options]
    yield f"## `{path}`\n\n{words}" + (f"\n\n{_table(('Option', 'Does'), rows)}" if rows else "")
    for name, sub in getattr(command, "commands", {}).items():
        yield from _shown(sub, f"{path} {name}")


def _default(option: object) -> str:
    value = getattr(option, "default", None)
    return f" Default: `{value}`." if value and not getattr(option, "is_flag", False) else ""


def _spelled(option: object) -> str:
    opts, is_flag = (
        [*getattr(option, "opts", []), *getattr(option, "secondary_opts", [])],
        getattr(option, "is_flag", 0),
    )
    value = "" if is_flag or not opts[0].startswith("-") else f" {getattr(option, 'metavar', None) or 'VALUE'}"
    metavar = getattr(option, "metavar", None) or opts[0].upper()
    return " · ".join(opts) + value if opts[0].startswith("-") else metavar


def permissions() -> str:
    """Every scope and what it is for."""
    rows = [(f"`{one.name}`", "optional" if one.is_optional else "required", one.purpose) for one in SCOPES]
    return _table(("Scope", "Kind", "Needed to"), rows)


def metrics() -> str:
    """Every metric by section, with its labels and the alerts about it."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for row in ROWS:
        labels = ", ".join(f"`{label}`" for label in row.labels)
        about = ", ".join(f"[{one.name}](runbook.md#{one.name.lower()})" for one in ALERTS if row.exposed in one.query)
        cells = (
            f"`{row.exposed}`",
            row.kind.__name__.lower(),
            labels,
            "all" if row.is_shared else "one",
            row.meaning,
            about,
        )
        sections.setdefault(row.section, []).append(cells)
    heads = ("Metric", "Type", "Labels", "Processes", "Description", "Alerts")
    return "\n\n".join(f"## {title}\n\n{_table(heads, rows)}" for title, rows in sections.items())


def runbook() -> str:
    """A paragraph for each alert: what it means, what helps, and the command."""
    return "\n\n".join(
        f"## {one.name}\n\n**{one.summary}** ({one.severity}). {one.meaning} {one.cure}\n\nRun: `{one.command}`"
        for one in ALERTS
    )


def redis_keys() -> str:
    """Every key in the code's table."""
    return markdown()


def messages() -> str:
    """An example of each message about a failure with its cause, by source."""
    sections: dict[str, dict[str, str]] = {title: {} for title in (CONVERSATIONS, *SECTIONS)}  # cause → message
    sections[CONVERSATIONS] = {cause: notice.text.partition("\n")[0] for notice, cause in NOTICES}
    for error in EXAMPLES:
        title, cause = cause_of(error)
        sections[title].setdefault(cause, failure(error).text.partition("\n")[0].replace("<", "&lt;"))
    return "\n\n".join(
        f"## {title}\n\n{_table(('Message', 'Cause'), [(shown, cause) for cause, shown in rows.items()])}"
        for title, rows in sections.items()
    )


def outcomes() -> str:
    """Everything that can happen to a message: what is said, and what helps."""
    tables: dict[str, Iterable[End]] = {
        "Waiting, replied to, or unknown": [one.value for one in ends.MessageState],
        "Not for an agent": [one.meaning for one in ends.Reason],
        "Refused on arrival": refusals.ON_ARRIVAL.values(),
        "Ended": (*ends.ENDS.values(), *ends.REQUESTS.values(), *ends.DEATHS.values()),
    }
    parts, said = [], set[str]()
    for title, meanings in tables.items():
        rows = {re.sub(r"\{\w+\}", "X", one.happened.replace("{cause}", "")): one.cure for one in meanings}
        new = [row for row in rows.items() if row[0] not in said]
        said |= rows.keys()
        parts.append(f"## {title}\n\n{_table(('It says', 'What helps'), new)}")
    counted = [(f"`{name}`", one.happened) for name, one in ends.DECISIONS.items()]
    parts.append(
        f"## Decisions on arrival\n\n`bridge_events_total` counts them.\n\n{_table(('Outcome', 'Means'), counted)}"
    )
    return "\n\n".join(parts)


def emulator() -> str:
    """Every emulated method, then other parts of Slack, with the known differences."""
    rows = [(f"`{name}`", METHODS[name].differs) for name in sorted(METHODS)]
    return _table(("Covered", "Known differences"), [*rows, *sorted(ELSEWHERE.items())])


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands": commands,
    "settings": settings,
    "bridge-toml": bridge_toml,
    "command-line": command_line,
    "permissions": permissions,
    "metrics": metrics,
    "runbook": runbook,
    "redis-keys": redis_keys,
    "messages": messages,
    "outcomes": outcomes,
    "emulator": emulator,
}


OPS: Final[dict[Path, Callable[[], str]]] = {
    monitoring.RULES: monitoring.rules,
    dashboard.FILE: dashboard.dashboard,
}
"""Files that operators load elsewhere."""


def page(name: str) -> str:
    """The complete page *name*: its handwritten beginning and the generated rest."""
    begin, _, _ = (FOLDER / f"{name}.md").read_text(encoding="utf-8").partition(MARKER)
    return f"{begin}{MARKER}\n{kit.as_typed(PAGES[name](), '').rstrip()}\n"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    if any("|" in cell for line in lines for cell in line):
        raise ValueError("a table's cell can't have a pipe: renderers don't agree on how to escape it")
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    for each in PAGES:
        text = page(each)
        (FOLDER / f"{each}.md").write_text(text, encoding="utf-8")
    for file, made in OPS.items():
        file.write_text(made(), encoding="utf-8")
    FILE.write_text(sentences(), encoding="utf-8")
    sys.stdout.write(f"{len(PAGES)} pages of docs/reference and {len(OPS)} files of ops are written.\n")
