"""Every key in Redis, with its content and lifetime; ``python -m bridge.queue.keys`` prints the table.

All begin with ``{namespace}:``; the braces are a hash tag, so one bridge's keys share a cluster slot and each script
is atomic there too. In another project than the default one, a session or a workflow is ``<project>/<ID>``, and a
person's runs and conversations have keys of their own, ``<person>:<project>``. Keys are built only here: code calls
``keys.thread(thread)``, scripts ``thread_key(thread)``.

A waiting turn and its box don't expire, unless they wait for people: those are discarded after BRIDGE_SESSION_DAYS,
and expire a week later if no process runs to do so. Texts are deleted with DONE, except those of dead letters and
remembered inputs (30 days), and those that a button may send or show (7 days): a message that can be resent, an edit
that came too late, a reply that wasn't for the agent, the answer of a stopped turn, and an answer that may not have
been posted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, Literal, ParamSpec

from bridge.ids import InProject, Lane, MessageKey, PersonKey, ThreadKey

HEARD = timedelta(days=1)  # so that in the morning it's still known what died at night
ASKED = timedelta(hours=1)
RESENT_WITHIN = timedelta(minutes=15)  # Slack retries at once, after 1 and after 5 minutes
REFUSING_LENGTH = 100  # stretches
SEEN = timedelta(hours=25)  # Slack retries "delayed events" for hours
TRACE = timedelta(days=7)
MARKED = timedelta(days=8)  # a day longer than catch-up reads Slack's history, so that nothing is queued twice
DEAD = timedelta(days=30)
RESULTS = timedelta(days=7)
PROBE = timedelta(minutes=1)
WAITERS = timedelta(days=2)  # longer than any run
RECENT = timedelta(days=90)
LOOKING = timedelta(hours=1)  # after they opened it, a person may still be looking at Home
MOST_LOOKERS = 100  # people whose Home is redrawn after a change that concerns everyone
REMEMBERED = timedelta(days=30)
TYPED = timedelta(minutes=30)  # as long as Slack lets a private question be replaced
ANSWERED = timedelta(days=90)
SNAPSHOTS = timedelta(days=400)
CLAIMED = timedelta(minutes=4)  # shorter than the pause before the next try
GREETED = timedelta(days=365)
GREETING = timedelta(hours=1)  # until a turn has posted the greeting
VOTES = timedelta(days=90)
PASSED_IN_A_DAY = 1000  # per channel; a busy one costs about 100 kB
AUDIT_LENGTH = 200_000  # entries of about 200 bytes; older ones are trimmed
UNAUDITED = timedelta(days=1)  # the longest that entries wait for a process, if there's no audit
CONSUMING = timedelta(seconds=5)
CATCHING_UP = timedelta(seconds=15)
TOLD = timedelta(days=30)  # the shortest time between two notices that replies need a mention
DOWN = timedelta(days=30)
INCIDENT = timedelta(days=30)
OVER = timedelta(hours=1)
TROUBLES = timedelta(minutes=2)
REPLICATED = timedelta(days=7)
BY_DAY = timedelta(days=22)  # longer than `bridge.features.statistics.work.periods_since` asks for days
ENDED = timedelta(days=1)
ENDED_LENGTH = 5000  # entries of about 60 bytes; older ones are trimmed
LATE = timedelta(days=1)  # so that answers after another outage say that they're late, too
APPROVAL = timedelta(days=8)  # after its end: longer than its run's turn is stored
APPROVALS = timedelta(days=40)  # longer than any request waits
UNREAD_THREAD = timedelta(minutes=10)  # the longest a reply waits for older ones
GROUP = "workers"

P = ParamSpec("P")
ErasedAs = Literal["", "key", "parts", "turn", "set up"]


class Key(Generic[P]):
    """One line of the table: a key's form, its type, its lifetime (*lives*), and its content (*holds*).

    A key that *stays* may lack a lifetime in Redis; a box and a turn only while they wait. *erased* says what
    `bridge forget` deletes if it's about the person: the ``key``, its ``parts`` that name them, the ``turn`` they
    caused, or what they ``set up`` (`bridge.engine.standing`); ``""``: it's about no one.
    """

    def __init__(
        self, form: str, kind: str, lives: timedelta | str, holds: str, *, stays: bool = False, erased: ErasedAs = ""
    ) -> None:
        self.form, self.kind, self.lives, self.holds, self.stays = form, kind, lives, holds, stays
        self.erased: ErasedAs = erased or ("key" if "<person>" in form else "")
        self.begin = form.partition("<")[0]  # "thread:"
        self.parts = re.findall(r"<(\w+)>", form)

    def __set_name__(self, _: type[Keys], name: str) -> None:
        """Use the attribute's name for the script's helper."""
        self.name = name

    def __get__(self, keys: Keys, _: type[Keys]) -> Callable[P, str]:
        """Return the function that builds the key from its parts."""

        def key(*parts: P.args, **_: P.kwargs) -> str:
            return keys.prefix + self.begin + ":".join(map(str, parts))

        return key

    @property
    def lua(self) -> str:
        """The Lua function that builds the key in scripts."""
        expression = re.sub(r"<(\w+)>", r"' .. \1 .. '", f"prefix .. '{self.form}'").removesuffix(" .. ''")
        return f"local function {self.name}_key({', '.join(self.parts)}) return {expression} end"


class Keys:
    """The keys of one *namespace*.

    A person is ``<team>:<user>``, a message ``<team>:<channel>:<ts>``, and a thread is named by its first message.
    """

    # fmt: off
    owner = Key[[]]("owner", "hash", "forever", "team, bot, workspace, since, alive, wiped", stays=True)
    ready = Key[[]]("ready", "stream", "forever", "one entry for each lane that has work", stays=True)
    box = Key[Lane]("box:<lane>", "list", "while not empty", "the lane's turns; the first is running", stays=True)
    turn = Key[str]("turn:<turn>", "hash", "7 days after it's done", "see `bridge.queue.records`", stays=True,
                    erased="turn")
    parked = Key[[]]("parked", "hash", "until someone decides", "lane → turn waiting for a choice", stays=True)
    held = Key[[]]("held", "hash", "while some are waiting", "lane → ts of the stop holding its messages", stays=True)
    stops = Key[[]]("stops", "Pub/Sub channel", "not stored", "stopped turns; changes to channel settings and handles")
    processes = Key[[]]("processes", "zset", HEARD, "processes, except those that stopped cleanly, by last heartbeat")
    reload = Key[[]]("reload", "string", ASKED, "the latest request to read the operator's file again")
    in_force = Key[str]("in_force:<process>", "string", HEARD, "what a process uses of the operator's file")
    probe = Key[[]]("probe", "string", PROBE, "nothing, to find out which commands the Redis user may run")
    seen_event = Key[str]("seen:e:<event>", "string", "25 hours; 1 or 7 days if it's something that's said once",
                          "the turn that an event became; the bridge's own may name a person who is notified",
                          erased="key")
    seen_message = Key[MessageKey]("seen:m:<message>", "string", "8 days, or 15 minutes without a turn",
                                   "the turn a message became; before that, a marker that earlier edits are obsolete")
    refusing = Key[[]]("refusing", "zset", RESENT_WITHIN, "periods in which messages were refused")
    shown = Key[MessageKey]("shown:<message>", "string", TRACE,
                            "the turn that one of the bot's messages shows, and the person, in a direct message",
                            erased="key")
    passed = Key[str, str, int]("passed:<team>:<channel>:<day>", "list", TRACE,
                                f"messages that didn't become turns, and why: the last {PASSED_IN_A_DAY:,}")
    thread = Key[ThreadKey]("thread:<thread>", "hash", "BRIDGE_SESSION_DAYS",
                            "project, agent, session, speaker, last heard, muted, who wrote last, an edited root",
                            erased="parts")
    active = Key[[]]("active", "zset", "BRIDGE_SESSION_DAYS each", "threads with a conversation, by newest message")
    catch_up = Key[[]]("catch_up", "hash", MARKED, "an outage, and the progress of catching up")
    unread = Key[[]]("unread", "zset", MARKED, "threads and pages left to read, newest first")
    catching_up = Key[[]]("catching_up", "string", CATCHING_UP, "the process that catches up")
    unread_thread = Key[ThreadKey]("unread_thread:<thread>", "string", UNREAD_THREAD,
                                   "a thread that has yet to be read: the refused messages, or the outage")
    offered = Key[ThreadKey]("offered:<thread>", "list", TRACE, "turns of messages that were too old when found")
    bound = Key[str, InProject]("bound:<team>:<session>", "hash", "BRIDGE_SESSION_DAYS",
                          "thread → agent, direct message owner", erased="parts")
    greeted = Key[PersonKey]("greeted:<person>", "string", "1 year, or 1 hour",
                             "a greeted person, or the turn that greets them")
    outage_notice = Key[ThreadKey]("outage_notice:<thread>", "string", "25 hours, or until an answer",
                                   "the `ts` of a thread's notice that the service is down, or the turn that posts it")
    draft = Key[MessageKey | str]("draft:<message>", "hash", TRACE,
                                  "a text that a button may send: see `bridge.queue.drafts`", erased="key")
    unsent = Key[MessageKey | str]("unsent:<message>", "string", TRACE, "a draft of an earlier release", erased="key")
    told = Key[PersonKey]("told:<person>", "hash", TOLD, "when they were told that replies need a mention")
    last_project = Key[PersonKey]("project:<person>", "string", RECENT, "the project of their direct messages")
    looked = Key[ThreadKey]("looked:<thread>", "string", SEEN, "a thread that was searched for its lost session")
    channels = Key[[]]("defaults", "hash", "forever", "team:channel → see `bridge.features.channels.settings`",
                       stays=True, erased="set up")
    handles = Key[[]]("handles", "hash", "forever", "user group → the agent whose handle it is, and who set it",
                      stays=True, erased="set up")
    used = Key[str]("used:<limit>", "hash", "its minute, hour or day", "how much of a limit is used up")
    recent_runs = Key[PersonKey]("recent:r:<person>", "list", RECENT, "their 10 latest runs")
    recent_threads = Key[PersonKey]("recent:t:<person>", "zset", RECENT, "their 10 latest conversations")
    home = Key[PersonKey]("home:<person>", "string", RECENT, "the ID of their direct message")
    looking = Key[PersonKey]("looking:<person>", "hash", LOOKING,
                             "the project of the Home tab that they may have open, what it shows, a waiting redraw")
    lookers = Key[[]]("lookers", "zset", LOOKING, "the last 100 people who opened Home, by time", erased="parts")
    unsettled = Key[PersonKey]("unsettled:<person>", "zset", RECENT,
                               "their turns that run a workflow, or whose outcome is unknown, by time")
    input = Key[PersonKey, InProject]("input:<person>:<workflow>", "string", REMEMBERED,
                                "input that the person asked the bot to remember")
    choice = Key[PersonKey, str]("choice:<person>:<turn>", "string", TYPED,
                                 "what a question of that turn offers, see `bridge.engine.choices`")
    answered = Key[MessageKey]("answered:<message>", "hash", ANSWERED,
                               "a question's message: the turn and the person that answered it with a button",
                               erased="key")
    results = Key[str]("results:<turn>", "string", RESULTS, "node results of a run, shown on demand", erased="turn")
    waiters = Key[str]("waiters:<turn>", "hash", WAITERS, "people who want to know when a run ends, or an answer comes",
                       erased="parts")
    snapshots = Key[[]]("snapshots", "hash", "400 days each",
                        "hour → statistics, see `bridge.features.statistics.snapshots`")
    hourly = Key[str]("hourly:<project>", "hash", "9 weeks each", "hour → the numbers alone")
    project_snapshots = Key[str]("snapshots:<project>", "hash", "400 days each", "the same for other projects")
    claimed = Key[str, int]("claimed:<job>:<number>", "string", "4 minutes, or its period when done",
                            "the process that does a periodic job (`Feature.every`) in this period")
    audit = Key[[]]("audit", "stream", "BRIDGE_AUDIT_DAYS each", "finished turns, see `bridge.queue.finished_turns`",
                    erased="parts")
    consumed = Key[[]]("consumed", "hash", SNAPSHOTS,
                       "up to which entry others follow, and the last erasure; see `bridge.engine.finished_turns`")
    consuming = Key[[]]("consuming", "string", CONSUMING, "the process that does so")
    report = Key[str]("report:<report>", "hash", "until deleted", "see `bridge.features.schedules.store`", stays=True,
                      erased="set up")
    reports = Key[[]]("reports", "zset", "forever", "everything that's scheduled, by creation time", stays=True)
    due = Key[[]]("due", "zset", "forever", "what's scheduled and not paused, by due time", stays=True)
    alert = Key[str]("alert:<alert>", "hash", "until deleted", "see `bridge.features.alerts.store`", stays=True,
                     erased="set up")
    alerts = Key[[]]("alerts", "zset", "forever", "all alerts, by creation time", stays=True)
    approval = Key[str]("approval:<approval>", "hash", "8 days after its end",
                        "see `bridge.features.approvals.request`", erased="set up")
    approvals = Key[[]]("approvals", "zset", APPROVALS, "requests that wait for approval, by when something is due")
    service_down = Key[[]]("service_down", "hash", DOWN, "project → since when its service can't be reached")
    incident = Key[str]("incident:<incident>", "hash", "30 days, or an hour after its end",
                        "see `bridge.features.episodes.episode`")
    incidents = Key[[]]("incidents", "zset", INCIDENT, "the names of all incidents, by when they began")
    troubles = Key[str]("troubles:<process>", "string", TROUBLES, "what a process knows to be wrong")
    replicated = Key[[]]("replicated", "string", REPLICATED, "this Redis had a replica")
    ended = Key[str]("ended:<kind>", "stream", ENDED, "how turns of agents or workflows ended, one by one, without IDs")
    work = Key[[]]("work", "hash", SNAPSHOTS, "when services couldn't be reached; earlier sums of what agents did")
    did = Key[str]("did:<period>", "hash", "22 or 400 days", "what agents and workflows did in a day or a week, see "
                   "`bridge.features.statistics.work`")
    distinct = Key[str, str, str]("distinct:<what>:<period>:<of>", "string", "22 or 400 days",
                                  "how many people or threads an agent answered in a day or a week, without IDs")
    words = Key[ThreadKey]("words:<thread>", "string", "BRIDGE_SESSION_DAYS at most",
                           "a report's text, for the first question in its thread")
    votes = Key[str]("votes:<turn>", "hash", VOTES, "votes on an answer by person", erased="parts")
    dead = Key[[]]("dead", "zset", "30 days each", "turns that couldn't be finished, by time", stays=True,
                   erased="turn")
    # fmt: on

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.prefix = f"{{{namespace}}}:"

    def everything(self) -> str:
        """Return how every key begins."""
        return self.prefix


TABLE = tuple(line for line in vars(Keys).values() if isinstance(line, Key))


def helpers(script: str) -> str:
    """Return the Lua functions for the keys that *script* uses."""
    return "\n".join(["local prefix = KEYS[1]", *(key.lua for key in TABLE if f"{key.name}_key(" in script)])


def milliseconds(duration: timedelta) -> int:
    """Convert a duration for scripts."""
    return int(duration.total_seconds() * 1000)


def _in_words(lives: timedelta | str) -> str:
    if isinstance(lives, str):
        return lives
    for unit, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if lives % unit == timedelta(0):
            return f"{lives // unit} {name}{'' if lives == unit else 's'}"
    return f"{lives.total_seconds():g} seconds"


def markdown() -> str:
    """Return the table as Markdown."""
    lines = [f"| `{key.form}` | {key.kind} | {key.holds} | {_in_words(key.lives)} | {key.erased} |" for key in TABLE]
    head = ["| Key | Type | Contains | Lifetime | `bridge forget` deletes |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *lines, ""])


if __name__ == "__main__":
    sys.stdout.write(markdown())
