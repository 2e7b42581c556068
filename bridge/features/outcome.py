"""What the journal records of a turn before it is shown: the finished reply, and what belongs to it."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from bridge.errors import RecordNotUnderstood
from bridge.slack.blockkit.reply import Reply


class NewThread(BaseModel):
    """The message that is queued in the thread whose root the reply becomes."""

    model_config = ConfigDict(frozen=True)

    agent: int
    text: str
    thread_ts: str = ""  # the thread that it is for, where the reply is no root


class PostedReport(BaseModel):
    """What is kept of a scheduled report once it is posted for its *slot*.

    Its *words* are for the first question in its thread, its *numbers* for the next report to compare with. With
    *binds* its thread is a conversation at once. It is *called* what its schedule says.
    """

    model_config = ConfigDict(frozen=True)

    report: str
    called: str
    slot: AwareDatetime
    words: str
    numbers: str = ""
    binds: bool = False


class ShownLate(BaseModel):
    """The outcome of the earlier turn *turn* is shown after all; the message *notice* has asked whether to."""

    model_config = ConfigDict(frozen=True)

    turn: str
    notice: str


class Outcome(BaseModel):
    """*what* happened, in a word for the trace and the metrics, and the *reply* that shows it.

    *mark*, *agent* and *session* go into the message's metadata; *workflow* is the one that ran. *keeps_text*: the
    reply has a button that sends the text again. *starts*: the reply is the root of a new thread. It *greets* its
    person, or *shows* what an earlier turn recorded. *ran* is the name of the workflow of a run that was started, and
    *ended* how that ended. *concerns* is what else it was about.
    """

    model_config = ConfigDict(frozen=True)

    what: str
    reply: Reply
    mark: str = "bridge_turn"
    agent: int | None = None
    session: int | None = None
    workflow: int | None = None
    keeps_text: bool = False
    starts: NewThread | None = None
    report: PostedReport | None = None
    greets: bool = False
    shows: ShownLate | None = None
    ran: str = ""
    ended: str = ""
    concerns: str = ""

    @property
    def about(self) -> str:
        """What it was about, for the audit: a kind, an id, and a name where that is known."""
        if self.concerns:
            return self.concerns
        if self.report is not None:
            return f"report {self.report.report}"
        if self.workflow is not None:
            return f"workflow {self.workflow} {self.ran}".rstrip()
        agent = self.starts.agent if self.starts else self.agent
        return f"agent {agent}" if agent is not None else ""

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read what ``model_dump_json`` made. Raises `RecordNotUnderstood`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise RecordNotUnderstood("outcome") from exc
