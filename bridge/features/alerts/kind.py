"""Alerts as a kind of thing that people set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

from bridge.engine.results import Modal
from bridge.engine.turn import Turn
from bridge.errors import BadAlert
from bridge.features import lookups
from bridge.features.alerts import forms, layout
from bridge.features.alerts.alert import UNREADABLE, AlertSpec, StoredAlert
from bridge.features.alerts.conditions import read_condition
from bridge.features.alerts.store import AlertStore
from bridge.features.deps import Deps
from bridge.features.standing import kind
from bridge.features.standing.kind import Kind, ListRow, ShownThing
from bridge.features.standing.store import Spec
from bridge.inbound import Starter
from bridge.policy.rules import Asked
from bridge.queue.finished_turns import named
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.reply import Block


class Alerts(Kind[StoredAlert]):
    """Alerts."""

    name = "alert"
    nouns = (layout.NOUN,)
    spec = AlertSpec
    store = AlertStore
    acts = "alert"
    verbs = (*Kind.verbs, kind.EDIT)
    more = (layout.SNOOZES_IT, layout.UNSNOOZE)
    needs_rights: ClassVar[Mapping[str, Starter]] = dict.fromkeys((kind.RESUME, kind.EDIT, layout.UNSNOOZE), "alert")
    in_home = ("Your alerts", "/stats alerts")
    example = "/stats alert runs > 5000"

    def opens(self, spec: Spec) -> Block:
        return layout.form_button()

    def is_readable(self, record: StoredAlert) -> bool:
        return record.paused != UNREADABLE

    def order(self, record: StoredAlert) -> tuple[object, ...]:
        return (record.since is None,)

    async def called(self, deps: Deps, record: StoredAlert) -> str:
        return layout.typed_words(self.spec_apart(deps, record.spec))

    def told_apart(self, deps: Deps, record: StoredAlert) -> StoredAlert:
        """Return an alert as it's shown (`spec_apart`)."""
        return replace(record, spec=self.spec_apart(deps, record.spec))

    def spec_apart(self, deps: Deps, spec: AlertSpec) -> AlertSpec:
        """Return an alert as it's shown: the names in it have their IDs if others look the same."""
        project, update = deps.projects.get(spec.project), dict[str, str]()
        if project is not None and spec.run is not None:
            update["run_name"] = apart(project, "workflow", spec.run, spec.run_name)
        if project is not None and spec.target is not None:
            with suppress(BadAlert):
                parsed = spec.parsed
                name = apart(project, "agent" if parsed.of == "agent" else "workflow", spec.target, parsed.name)
                update["condition"] = replace(parsed, name=name).words
        return spec.model_copy(update=update)

    async def about(self, deps: Deps, record: StoredAlert) -> str:
        return named("alert", record.id, record.called)

    async def rights(self, deps: Deps, spec: Spec, *, user: str = "", by: Starter = "alert") -> list[Asked]:
        of = (user or spec.owner, spec.channel, spec.project)
        return await lookups.rights(deps, "alert", *of, workflow=getattr(spec, "run", None), by=by)

    def from_export(self, spec: dict[str, Any]) -> AlertSpec:
        read = AlertSpec.model_validate(spec)
        try:
            condition = read_condition(read.condition)
        except BadAlert:
            raise ValueError("condition can't be understood: use one such as runs < 1 in 24h") from None
        if (condition.of in {"agent", "workflow"}) != (read.target is not None):
            raise ValueError("target isn't valid: use the ID of the condition's agent or workflow, if it names one")
        if (read.run is None) != (not read.run_name):
            raise ValueError("run and run_name belong together: use the ID and the name of the workflow to run")
        return read.model_copy(update={"condition": condition.words})

    async def form(self, deps: Deps, turn: Turn, record: StoredAlert | None, typed: str = "") -> Modal:
        """Open the form, with an alert as *typed*, or a stored one that it changes; else ask what to watch."""
        origin, channel = lookups.opened_here(turn), ""
        if record is not None:
            origin, channel = await lookups.origin_of(deps, turn, editing=record.id), record.spec.channel
            typed = layout.typed_words(record.spec)
        return forms.in_words(origin, typed, channel) if typed else forms.choose(origin)

    def row(self, shown: ShownThing[StoredAlert], value: str, deps: Deps) -> ListRow:
        return layout.row(replace(shown, record=self.told_apart(deps, shown.record)), value, deps.now())

    async def forms(self, deps: Deps, turn: Turn) -> Sequence[Block]:
        may_add = await deps.policy.may(turn.asked("alert"))
        return [forms.ChooseForm.button()] if may_add else []


ALERTS: Final = Alerts()
