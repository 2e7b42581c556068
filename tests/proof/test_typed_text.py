"""However people's keyboards write a name, it's found; and what follows goes on byte for byte."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import assume, given, strategies as st

from bridge.errors import NotSure
from bridge.features.conversations.answering import agent_named_first
from bridge.features.registry import features
from bridge.names.folding import fold, name_key
from bridge.names.matching import pick
from bridge.project import Agent
from bridge.slack.blockkit.mrkdwn import bang
from support.spelling import spelled

letters = st.characters(exclude_categories=["C", "Z"], exclude_characters="\ufffd")
names = st.lists(st.text(letters, min_size=1, max_size=8), min_size=1, max_size=4).map(" ".join)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


class Named(NamedTuple):
    id: int
    name: str


@given(data=st.data(), known=st.lists(names, min_size=1, max_size=5), typed=texts)
def test_a_name_is_found_however_it_is_written(data: st.DataObject, known: list[str], typed: str) -> None:
    keys = [name_key(name) for name in known]
    assume(all(keys) and len(set(keys)) == len(keys))
    workflows = [Named(number, name) for number, name in enumerate(known, 10**18)]
    wanted = data.draw(st.sampled_from(workflows))
    written = data.draw(spelled(wanted.name))

    assert pick("workflow", written, workflows, takes_rest=False, acts=True).item == wanted
    longer = [one.id for one in workflows if name_key(one.name).startswith(f"{name_key(wanted.name)} ")]
    try:
        found = [pick("workflow", f"{written} {typed}", workflows, takes_rest=True, acts=True).item.id]
    except NotSure as unsure:  # the text goes on like a longer name
        found = [id_ for id_, _name, _rest in unsure.options]
    assert wanted.id in found or set(found) <= set(longer)


@given(data=st.data(), name=names, typed=texts)
def test_what_follows_a_name_is_passed_on_byte_for_byte(data: st.DataObject, name: str, typed: str) -> None:
    typed = typed.strip()
    assume(name_key(name) and fold(typed).text[:1].strip())
    written = data.draw(spelled(name))
    agent = Agent(id=10**18, name=name, model="m")

    found = pick("agent", f"{written}\u00a0{typed}", [agent], takes_rest=True, acts=True)

    assert (found.item, found.rest) == (agent, typed)


@given(data=st.data(), name=names, typed=texts)
def test_an_agent_is_named_however_it_is_written(data: st.DataObject, name: str, typed: str) -> None:
    typed = typed.strip()
    assume(name_key(name) and ":" not in fold(f"{name} {typed}").text and fold(typed).text[:1].strip())
    assume(fold(typed).text[:1] not in "*_~`\"'" and fold(typed).text.rstrip()[-1:] not in "*_~`\"'")
    written = data.draw(spelled(name))
    agent = Agent(id=10**18, name=name, model="m")

    assert agent_named_first(f"{written}: {typed}", [agent]) == (agent, typed)


@given(data=st.data(), typed=texts)
@pytest.mark.parametrize("command", ["!stop", "!workflows", "!help"])
def test_a_command_is_known_however_it_is_written(data: st.DataObject, command: str, typed: str) -> None:
    typed = typed.strip()
    assume(fold(typed).text[:1].strip() and fold(typed).text[:1] not in "*_~`" and typed[-1:] not in "*_~`")
    assume(bang(f"!stop {typed}") != ("stop", ""))  # else there's nothing to pass on
    written = data.draw(spelled(command))

    assert features.commands.bang_line(written) == f"/{command[1:]}"
    assert features.commands.bang_line(f"{written} {typed}") == f"/{command[1:]} {typed}"


@given(text=texts)
def test_folding_keeps_every_place(text: str) -> None:
    folded = fold(text)

    assert len(folded.ends) == len(folded.text)
    assert list(folded.ends) == sorted(folded.ends)
    assert name_key(name_key(text)) == name_key(text)
    pieces = [folded.between(at, at + 1) for at in range(len(folded.text))]
    assert text.startswith("".join(pieces))
