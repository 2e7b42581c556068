"""Every key in Redis, with what it holds and how long it lives.

All begin with ``{namespace}:``. The braces are a hash tag: one bridge's keys share one slot of a cluster, so that
each script is one atomic step there too. Scripts build a key from that prefix, which is why the table below and
``scripts/*.lua`` are read together.

==============================  =======  ====================================================  =====================
key                             type     holds                                                 lives
==============================  =======  ====================================================  =====================
``owner``                       hash     team, bot user, workspace's address, since when, and   for ever: whose it is
                                         when one of its bridges was last alive
``ready``                       stream   one entry for each lane that has work                 for ever: the queue
``box:<lane>``                  list     the turns that wait in a lane; the head is in work    while not empty
``turn:<id>``                   hash     a turn: see `bridge.store.records`                    7 days after DONE
``parked``                      hash     lane → turn that waits for a choice                   for ever: never expires
``held``                        hash     lane → ts of the stop behind which its messages wait  while some wait
``seen:e:<event id>``           string   the turn that an event became                         25 h
``seen:m:<team>:<ch>:<ts>``     string   the turn that a message became                        7 days
                                         or, before it is one: its earlier texts are void      15 minutes
``refusing``                    zset     stretches of time in which messages were refused      15 minutes
``kept:<team>:<ch>:<root>``     string   ts of replies that came before their refused root     10 minutes
``refused:<turn>``              string   a put that must not happen any more, if it comes late  10 minutes
``shown:<team>:<ch>:<ts>``      string   the turn that a message of ours shows                 7 days
``passed:<team>:<ch>:<day>``    list     messages that became no turn, and why: the last 1,000 7 days
``thread:<team>:<ch>:<root>``   hash     agent, session, who speaks, how far heard, muted      session days
``bound:<team>:<session>``      hash     thread → <agent>:<whose direct message it is>         session days
``greeted:<team>:<user>``       string   a person who was greeted, or the turn that is at it     1 year, or 1 hour
``told:<team>:<ch>:<root>``     string   a thread told that the service is down, or the turn   25 h, or an answer
``looked:<team>:<ch>:<root>``   string   a thread that was searched for a lost session         25 h
``defaults``                    hash     <team>:<ch> → the channel's default agent             for ever: a setting
``pace:t:<team>:<ch>:<root>``   string   turns that a thread began since the first of them     1 minute
``pace:u:<team>:<user>``        string   turns that a person began, where that is limited      1 minute
``pace:r:<team>:<user>``        string   runs that a person started, where that is limited     1 hour
``recent:r:<team>:<user>``      list     the runs that a person started last: 10                90 days
``recent:t:<team>:<user>``      zset     the threads in which they were answered last: 10       90 days
``home:<team>:<user>``          string   where they are in Home, and their direct message      90 days
``input:<team>:<user>:<id>``    string   the input of a workflow that they want remembered     30 days
``typed:<team>:<user>:<turn>``  string   input that is nearly JSON, until a button says what to do   30 minutes
``results:<turn>``              string   node results of a run, shown on demand                7 days
``snapshots``                   hash     hour → statistics, see `bridge.reports.snapshots`     400 days each
``snapshotting:<hour>``         string   the process that takes the snapshot of an hour        4 minutes
``audit``                       stream   who did what, with which outcome: `bridge.store.audit`  BRIDGE_AUDIT_DAYS each
``report:<id>``                 hash     a scheduled report: see `bridge.store.schedules`       for ever: until deleted
``reports``                     zset     all of them, by when they were made                   for ever: a setting
``due``                         zset     those that are not paused, by when they are due       for ever: a setting
``words:<team>:<ch>:<root>``    string   the words of a report, for the first question below   session days at most
``votes:<turn>``                hash     votes on an answer by person, its agent and session   90 days
``voted``                       zset     answers that were voted on, by time                   90 days each
``dead``                        zset     turns that could not be finished, by time             30 days each
==============================  =======  ====================================================  =====================

A turn that waits has no lifetime, and neither has its box: a waiting message never expires. A turn whose message
may be sent again by a button keeps its text until then, at most 7 days, and a dead letter for its 30; every other
text leaves with DONE, but for an input that somebody wants remembered. The new text of a message that was edited too
late is kept beside its turn for a button, too, and so is the answer to a turn that was stopped, which nobody was
shown, and one of which nobody knows whether it was posted: with the turn, 7 days.
"""

from __future__ import annotations

from datetime import timedelta

SENT_AGAIN = timedelta(minutes=15)  # Slack repeats what was refused at once, after 1 and after 5 minutes
REFUSING_LENGTH = 100  # stretches
SEEN = timedelta(hours=25)  # Slack repeats "delayed events" for hours
TRACE = timedelta(days=7)
DEAD = timedelta(days=30)
REFUSED = timedelta(minutes=10)  # longer than a network keeps what was sent on a closed connection
RESULTS = timedelta(days=7)
SHOWN_LATELY = timedelta(days=90)
REMEMBERED = timedelta(days=30)
TYPED = timedelta(minutes=30)  # as long as Slack lets a private question be replaced
TYPED_USED = timedelta(minutes=1)
SNAPSHOTS = timedelta(days=400)
SNAPSHOTTING = timedelta(minutes=4)
GREETED = timedelta(days=365)
GREETING = timedelta(hours=1)  # for what one turn is to greet with, until it has
VOTES = timedelta(days=90)
VOTED_LENGTH = 100_000  # answers
PASSED_IN_A_DAY = 1000  # of each channel, so that a channel where much is said costs some 100 kB
AUDIT_LENGTH = 200_000  # entries, of some 100 bytes each: what an audit may hold before its oldest leave
GROUP = "workers"

PERMANENT_PATTERNS: tuple[str, ...] = tuple(
    rf"^\{{[^}}]+\}}:{name}$"
    for name in (
        "owner",
        "ready",
        "parked",
        "held",
        "defaults",
        "dead",
        "reports",
        "due",
        r"report:.+",
        r"box:.+",
        r"turn:.+",
    )
)
"""Keys that may be without a lifetime; a box and a turn only while they wait."""


def prefix(namespace: str) -> str:
    """What every key of *namespace* begins with."""
    return f"{{{namespace}}}:"


def milliseconds(duration: timedelta) -> int:
    """The unit in which scripts take durations."""
    return int(duration.total_seconds() * 1000)
