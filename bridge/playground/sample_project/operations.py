"""The eight operations of the project service."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from bridge.playground.sample_project import sample
from bridge.playground.sample_project.conversation import Talk
from bridge.playground.sample_project.sample import Json, SampleAgent, SampleWorkflow
from bridge.playground.sample_project.storage import StateFile

T = TypeVar("T", SampleWorkflow, SampleAgent)

_CREATED: Final = "2024-03-01T09:30:00.000Z"
_RUNS_SO_FAR: Final = 1280
_PROMPTS_SO_FAR: Final = 42
_FIRST_SESSION: Final = 5001


class Refused(Exception):
    """An operation fails with an HTTP *status* and *message*."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Operations:
    """Workflows, agents and sessions of the project *name*, stored in the folder *data_dir* if given.

    In each operation *asked* is the ID in the path, and *body* the request's.
    """

    def __init__(self, clock: Callable[[], float], data_dir: Path | None = None, *, name: str = "Sample shop") -> None:
        self._name = name
        self.workflows: list[SampleWorkflow] = sample.workflows()
        self.agents: list[SampleAgent] = sample.agents()
        self.talks: dict[int, Talk] = {}
        self._clock = clock
        self._used: Counter[str] = Counter()  # by tag
        self._runs = 0
        self._changed = clock()
        self._file = StateFile(data_dir, "project.json")
        if (state := self._file.read()) is not None:
            self._runs, self._changed, self._used = state["runs"], state["changed"], Counter(state["used"])
            self.talks = {talk["id"]: Talk(**talk) for talk in state["talks"]}

    def _note(self, tag: str) -> None:
        """Count a use of *tag*, and store the state."""
        self._used[tag] += 1
        self._changed = self._clock()
        self._file.write(self._state)

    def _state(self) -> Json:
        talks = [asdict(talk) for talk in self.talks.values()]
        return {"runs": self._runs, "changed": self._changed, "used": self._used, "talks": talks}

    def get_workflows(self) -> list[Json]:
        return [workflow.listed() for workflow in self.workflows]

    def get_workflow(self, asked: str) -> Json:
        return _found(self.workflows, asked, "Workflow").detailed()

    async def run_workflow(self, asked: str, body: Any) -> Json:
        """Run a workflow and return its result."""
        workflow = _found(self.workflows, asked, "Workflow")
        if not isinstance(body, dict) or "input" not in body:
            raise Refused(400, "input is required")
        await asyncio.sleep(workflow.seconds)
        status, output = workflow.run(body["input"])
        self._runs += 1
        run_id = _RUNS_SO_FAR + self._runs
        self._note(workflow.tag)
        results = workflow.node_results(status, output)
        return {"runId": run_id, "status": status, "output": output, "nodeResults": results}

    def get_agents(self) -> list[Json]:
        return [agent.listed() for agent in self.agents]

    def get_agent(self, asked: str) -> Json:
        return _found(self.agents, asked, "Agent").detailed()

    async def send_message(self, asked: str, body: Any) -> Json:
        """Send a message to an agent, in its session or a new one."""
        agent = _found(self.agents, asked, "Agent")
        if not isinstance(body, dict) or not isinstance(body.get("message"), str) or not body["message"]:
            raise Refused(400, "message is required")
        talk = self._talk(agent, body.get("sessionId"))
        talk.messages.append(body["message"])
        await asyncio.sleep(agent.seconds)
        reply = agent.reply(talk, body["message"])
        if reply.status >= 400:  # noqa: PLR2004 - what HTTP calls an error
            raise Refused(reply.status, reply.message)
        self._note(agent.tag)
        answer: Json = {"sessionId": talk.id, "message": reply.message}
        return answer if reply.tools_used is None else answer | {"toolsUsed": reply.tools_used}

    def get_project(self) -> Json:
        return {
            "id": 7,
            "name": self._name,
            "description": "A small, made-up tea shop. Try its workflows and agents.",
            "visibility": "private",
            "promptCount": self._prompts(),
            "memberCount": 4,
            "createdAt": _CREATED,
        }

    def get_stats(self) -> Json:
        """The statistics, which change as the project is used."""
        kinds = Counter(workflow.trigger_type for workflow in self.workflows)
        tags = Counter(sample.TAGS_SO_FAR) + self._used
        return {
            "promptCount": self._prompts(),
            "runCount": _RUNS_SO_FAR + self._runs,
            "versionCount": 96,
            "categories": [{"name": name, "count": count} for name, count in kinds.most_common()],
            "tags": [{"name": name, "count": count} for name, count in tags.most_common()],
            "lastUpdated": _timestamp(self._changed),
        }

    def _prompts(self) -> int:
        return _PROMPTS_SO_FAR + sum(len(talk.messages) for talk in self.talks.values())

    def _talk(self, agent: SampleAgent, session: Any) -> Talk:
        if session is None:
            talk = Talk(_FIRST_SESSION + len(self.talks), agent.id)
            self.talks[talk.id] = talk
            return talk
        known = self.talks.get(session)
        if known is None or known.agent != agent.id:
            raise Refused(404, "Session not found")
        return known


def _found(things: Sequence[T], asked: str, noun: str) -> T:
    for thing in things:
        if str(thing.id) == asked:
            return thing
    raise Refused(404, f"{noun} not found")


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
