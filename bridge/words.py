"""Every word that people read in Slack, and what agents are told beside a message: the only file that has any.

A constant is shown as it is. A template has places in braces, which a layout fills with ``str.format`` where all of it
is plain text, and with `kit.filled` where a name stands in bold or a date in the reader's time zone.
Templates are only ever ours: what comes from people or the service fills a place, and is never read as a template. A
function is there where grammar needs one. Nothing begins or ends with a blank; whoever joins two puts one between.

Workflow, agent, run, node, session, prompt, member, version, category and tag are the service's own words, and there
are no others for the same things. `tests/proof/test_words.py` holds all of it to be short, without jargon or blame;
`tests/proof/test_catalogue.py` finds words that stand elsewhere, twice, or unused. The file is as long as there are
words: no limit of length is for it.

Not here: what operators read (logs, traces, the command line), and what people type (commands, options).
"""

from __future__ import annotations

from collections.abc import Sequence

# Shared by many places.

NO_NAME = "(no name)"
SOMEBODY = "somebody"
AN_AGENT = "An agent"
AGENT_NUMBER = "Agent {id}"
UNNAMED_AGENT = "agent {id}"
NAMES_AND_MORE = "{names} and {count} more"
HOW_MANY = "{title} ({count:,})"
OTHER = "other"
OTHERS = "others"
OPEN_THE_FORM = "Open the form"
RUN_A_WORKFLOW = "Run a workflow"
ASK_AN_AGENT = "Ask an agent"
CHOOSE = "Choose"
CANCEL = "Cancel"
CLOSE = "Close"
NEXT = "Next"
PREVIOUS = "Previous"

# Numbers, durations and moments. The places of the first one are Slack's own, for the reader's time zone.

MOMENT = "{date_short_pretty} at {time}"
DATE_AND_TIME = "{moment:%Y-%m-%d %H:%M} UTC"
DAY_AND_TIME = "{moment:%d %b %Y, %H:%M} UTC"
FEW_SECONDS = "{seconds:.1f} s"
SECONDS = "{seconds} s"
MINUTES = "{minutes} min"
MINUTES_AND_SECONDS = "{minutes} min {seconds} s"
HOURS_AND_MINUTES = "{hours} h {minutes} min"
DAYS = "{days} days"
IN = "in {duration}"
IN_A_MOMENT = "in a moment"


def counted(number: int, noun: str) -> str:
    """Say how many: ``1 node``, ``1,234 nodes``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def messages(number: int) -> str:
    """Say how many messages."""
    return counted(number, "message")


def nodes(number: int) -> str:
    """Say how many nodes a workflow has."""
    return counted(number, "node")


def ordinal(number: int) -> str:
    """Say which in a row: ``1st``, ``22nd``, ``13th``."""
    is_teen = number // 10 % 10 == 1
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def either(names: Sequence[str]) -> str:
    """Offer names: ``this or that``."""
    return " or ".join(names)


# What goes wrong, by the classes of `bridge.errors`. {said} is the service's own message behind a colon, or a full
# stop.

SORRY = "Sorry"
DID_NOT_WORK = "Sorry, this did not work."
NOT_SET_UP = "The bridge is not set up completely. Please tell whoever runs it."

SERVICE_NOT_CARRIED_OUT = "The service did not carry this out. Please try again in a moment."
SERVICE_NOT_REACHABLE = "The service is not reachable at the moment. Please try again in a minute."
SERVICE_NEXT_TRY = "The service is not reachable at the moment. The next try is {when}."
SERVICE_NO_ANSWER = "The service gave no answer within {duration}. It may still be working on it."
SERVICE_BROKE_OFF = "The connection to the service broke off, so it is not known whether this was done."
SERVICE_NOT_UNDERSTOOD = "The service gave an answer that the bridge does not understand."
SERVICE_HAD_A_PROBLEM = "The service had a problem of its own{said} Please try again in a moment."
SERVICE_DID_NOT_ACCEPT = "The service did not accept this{said}"
SERVICE_STATUS = "(status {status})."
SERVICE_KEY = "The service does not accept the bridge's key. Please tell whoever runs the bridge."
SERVICE_DOES_NOT_KNOW = "The service does not know this any more{said}"
SERVICE_BUSY = "The service is busy{said} Please try again {when}."
SERVICE_DOWN = "The service is down at the moment. Please try again in a few minutes."

SLACK_NOT_CARRIED_OUT = "Slack did not carry this out. Please try again in a moment."
SLACK_DID_NOT_ALLOW = "Slack did not allow this ({error})."
SLACK_NEEDS = "Slack did not allow this: the app needs the permission {needed}."
SLACK_NOT_REACHABLE = "Slack is not reachable or asks for patience. Please try again in a minute."
SLACK_SIGN_IN = "Slack no longer accepts my sign-in. Your admin needs to install the app again."
SLACK_NOT_KNOWN = "It is not known whether Slack took this. Please look before you try again."
SLACK_GONE = "The bridge has lost its connection to Slack, and starts again."

STORE_AWAY = "The bridge cannot reach its own store at the moment, so nothing was done. Please try again in a minute."
STORE_OF_ANOTHER = "The bridge's store belongs to another bot. Please tell whoever runs the bridge."
ANOTHER_PROCESS = "Another process of the bridge goes on with this."
ANOTHER_RELEASE = "This was kept by another release of the bridge, which cannot be read any more."

COMMAND_NOT_UNDERSTOOD = "I do not understand this command. Try !help."
UNKNOWN_COMMAND = "I do not know {typed}. Try !help."
UNKNOWN_COMMAND_NEAR = "I do not know {typed}. Did you mean {names}?"
WRITE_IT_LIKE = "Please write it like this: {usage}"
NO_SUCH = "There is no {kind} {name}. The list shows which there are."
NO_SUCH_NEAR = "There is no {kind} {name}. Did you mean {names}?"
SEVERAL_FIT = "Several {kind}s fit {name}: {names}. Please use the id."
NAME_WITH_ID = "{name} (id {id})"
INPUT_NOT_JSON = "This input isn't JSON, so nothing was started. Line {line}, character {column}: {problem}."
JSON_PROBLEM = "expected something else"
JSON_PROBLEMS = {
    "Expecting value": "expected a value",
    "Expecting ',' delimiter": "expected a comma",
    "Expecting ':' delimiter": "expected a colon",
    "Expecting property name": "expected a name in double quotes",
    "Illegal trailing comma": "expected no comma before the end",
    "Extra data": "expected nothing after the end",
    "Unterminated string": "expected a closing quote for the text that begins here",
    "Invalid control character": "expected no line break or tab within a text",
    "Invalid \\": "expected another character after the backslash",
}
HALF_A_CHARACTER = "half of a character pair"
CANNOT_BE_SENT = "not a value that can be sent"

NOT_ALLOWED_HERE = "You may not do this here."
NOT_ALLOWED = {
    "stranger": "This bridge is only for people of the workspace that it belongs to.",
    "channel": "The bridge is not open in this channel. Please ask whoever runs it to add the channel.",
    "user": "The bridge is not open for you yet. Please ask whoever runs it to add you.",
    "default": "You don't have permission to choose a channel's default agent. Ask your admin to add you.",
    "runner": "Running workflows is for certain people only. Please ask whoever runs the bridge to add you.",
    "not_yours": "Only the person who started this can do that.",
    "unknown": "Slack does not tell the bridge who you are here, so it cannot know whether you may do this, and "
    "nothing was done. Please try again in a minute. If it stays like this, ask whoever runs the bridge to check it.",
}

IT_GOES_ON = "{why} It goes on {when}."
TOO_OFTEN = {
    "thread": "There were more messages in this thread than the bridge takes in a minute, so it pauses here. "
    "What is written until then does not reach the agent.",
    "person": "These were more messages than the bridge takes from one person in a minute, so this one did not reach "
    "the agent. Please send it again then.",
    "runs": "You have started as many runs as one person may in an hour, so nothing was started.",
}

DO_NOT_UNDERSTAND = "I do not understand {name}"
SOMETHING_IS_MISSING = "Something is missing"
THIS_CHANNEL = "this channel"
BAD_SCHEDULE = {
    "often": "{typed}. A report is daily 09:00, weekdays 08:30, weekly mon 09:00, monthly 1 09:00 or "
    'cron "0 9 * * 1-5"; a time zone, a #channel, --compare 7d and --only runs,tags may follow.',
    "time": "{typed}: the time of day comes here, such as 09:00 or 5:30pm.",
    "weekday": "{typed}: the day of the week comes here, such as mon.",
    "monthday": "{typed}: the day of the month comes here, from 1 to 31, or last.",
    "cron": "{typed}: a cron expression has five fields (minute, hour, day of the month, month, day of the week), "
    'in quotation marks, such as "0 9 * * 1-5", and has to come true one day.',
    "zone": "{typed}: a time zone is written like Europe/Berlin or America/New_York; options begin with --.",
    "channel": "I could not post in {name}: I am not in that channel, or it is archived or not open for me. "
    "Choose one from the list that Slack offers after #, and invite me there with /invite.",
    "name": "I can't find {name} among the channels I'm in. Pick it from the list Slack shows after #, or invite me "
    "there with /invite and try again.",
    "compare": "{typed}: --compare takes a time that has passed since, such as 24h, 7d or 2w, 400 days at most.",
    "only": "{typed}: --only takes any of prompts, runs, versions, categories and tags, with commas between them.",
    "option": "{typed}: the options of a report are --compare 7d and --only runs,tags.",
    "many": "There are as many reports as the bridge keeps. Please delete one first.",
}

# Commands: the help of each, and what stands around it.

WHAT_YOU_CAN_ASK_FOR = "What you can ask for"
HELP_SHARE = "Add --share to what only shows something, and the whole channel sees the answer."
HELP_THREADS = "In threads, where Slack knows no slash commands, write ! in place of /."
HELP_WORKFLOWS_LIST = "List the workflows, or those with certain words."
HELP_WORKFLOWS_SHOW = "Show one workflow and its nodes."
HELP_WORKFLOWS_RUN = "Run a workflow. Without an input, a form asks for it."
HELP_AGENTS_LIST = "List the agents, or those with certain words."
HELP_AGENTS_SHOW = "Show one agent and its tools."
HELP_AGENTS_CHAT = "Ask an agent in a new thread of this channel. Without a message, a form asks for it."
HELP_AGENTS_DEFAULT = "Choose the agent that answers mentions in this channel. Without one, a form asks."
HELP_AGENTS_DEFAULT_NONE = "Let this channel have no default agent."
HELP_PROJECT = "Show the project."
HELP_STATS = "Show the project's statistics."
HELP_STATS_SINCE = "Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01."
HELP_STATS_REPORT = "Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks."
HELP_STATS_REPORTS = "List the scheduled reports, to pause, run or delete them."
HELP_STOP = "Stop what the agent is doing in this thread; its answer is not shown."
HELP_MUTE = "Let the agent hear nothing of this thread until somebody writes !unmute."
HELP_UNMUTE = "Let the agent hear again what is said in this thread."
HELP_NEW = "Begin a new conversation in this thread, with the same agent."
HELP_AGENT = "Hand this thread to another agent, in a new session."
HELP_SESSION = (
    "Show which agent and which session this thread has, or continue an earlier session of this channel here."
)
USAGE_STATS_SINCE = "{command} 7d, or {command} 2026-11-01, at most 400 days back"

# Shortcuts: their names are also the titles of the forms that they open.

ABOUT_RUN = "Choose a workflow of the project and run it."
ABOUT_ASK = "Begin a conversation with an agent of the project."
ASK_ABOUT_THIS = "Ask an agent about this"
ABOUT_ASK_ABOUT_THIS = "Ask an agent about this message."
RUN_WITH_THIS = "Run a workflow with this"
ABOUT_RUN_WITH_THIS = "Run a workflow with the text of this message."

# Messages to the bot, their line, and the buttons below them.

DID_YOU_MEAN = "Did you mean {command}? Nothing was sent to the agent."
RUN_COMMAND = "Use {command}"
SEND_AS_TEXT = "Send as text"
GIVEN_COMMAND = "Taken as {command}."
SENT_AS_TEXT = "Sent to the agent as text."
HELLO = "Hello!"
HELLO_MENTION_ME = "Hello! Mention me with a question, and an agent of this project answers in a thread."
HELLO_CHOOSE = "Begin with an agent's name to choose it: {example}"
HELLO_EXAMPLE = "Support: how do I …?"
HELLO_GO_ON = "In the thread just go on writing; no mention is needed there."
HELLO_HELP = "{help} shows all commands."
ONLY_TEXT = "I can only read text. Please write what you need; files are left aside."
THREAD_FULL = "{limit} messages wait in this thread already, so this one was not taken. Please send it again later."
NOT_TAKEN = "This could not be taken just now, and nothing was done. Please try again in a minute."
NO_THREAD_HERE = (
    "I cannot write in this channel, so nothing was sent to the agent. "
    "Invite me with /invite and try again, or write to me directly."
)
MAY_HAVE_ARRIVED = "It is not known whether the agent got this message, and no answer came back."
MAY_DO_IT_TWICE = "Sending it again may make the agent do it twice."
SEND_IT_AGAIN = "Send it again"
POST_IN_DOUBT = "Slack didn't confirm my last message, so it may be missing here."
POST_IN_DOUBT_ELSEWHERE = "Slack didn't confirm my last answer to you, so it may be missing."
POST_WAS_FOR = "It was for {channel}."
POST_MAY_BE_THERE = "If you can see it, there's nothing to do."
SHOW_IT = "Show it"
SHOWN_AFTER_ALL = "Shown on request."
SHOWN_ALREADY = "Someone has already asked for this."
ANSWER_GONE = "This answer is no longer available."
WAITED_TOO_LONG = "This message waited for {duration}, so it was not sent to the agent."
STILL_WANTED = "Is it still wanted?"
SEND_IT_NOW = "Send it now"
SENT_AGAIN = "Sent again: the message waits for its turn at the end of this thread."
EDITED_TOO_LATE = "The agent got this message before you changed it. Shall it get the new text, too?"
ASK_AGAIN = "Ask again"
ASKED_EDITED = "The new text waits for its turn at the end of this thread."
IN_LINE = "Your message is {place} in line here. It will be answered in its turn."
MESSAGE_GONE = "This message is no longer kept. Please write it again."
KEPT_WHILE_DOWN = "The service is down at the moment. Your message is kept and will be answered as soon as it is back."
NO_AGENTS_TO_TALK_WITH = "This project has no agents to talk with yet."

# Stops, and what waits behind them.

STOPPED_UNSENT = "Stopped. The message was not sent to the agent."
STOPPED_AT_WORK = "Stopped. The agent may have the message already, but no answer to it will be shown."
STOPPED_ANSWERED = "Stopped. The agent had already answered; whatever isn't here yet won't be posted."
SHOW_THE_ANSWER = "Show the answer"
ANSWERED_ALREADY = "The agent has already answered, and its answer is being posted."
TAKEN_BACK = "This message waited for its turn, and was taken back. It will not be sent."
NOTHING_IN_WORK = "Nothing is in work here."
NOTHING_TO_STOP = "Nothing is in work here, so there was nothing to stop."
NOTHING_IS_HELD = "Nothing waits for this any more: the thread went on already."
GO_ON_WITH = "Go on with {messages}"
DROP_IT = "Drop it"
DROP_THEM = "Drop them"


def waiting(number: int) -> str:
    """Ask about what waits."""
    return f"{messages(number)} {'waits' if number == 1 else 'wait'}. Choose what becomes of that, or write on."


def gone_on(number: int) -> str:
    """Tell that what waited goes on."""
    return f"{messages(number)} {'goes' if number == 1 else 'go'} on."


def dropped(number: int) -> str:
    """Tell that what waited is taken back."""
    return f"{messages(number)} {'was' if number == 1 else 'were'} dropped."


# Answers of agents.

ANSWER_FILE = "answer.md"
EMPTY_ANSWER = "_The agent answered with an empty message._"
TOOLS_USED = "Tools used: {tools}"
GOOD_ANSWER = "Good answer"
BAD_ANSWER = "Bad answer"
THANKS = "Thank you, this is noted."
THANKS_AND_TELL = "Thank you, this is noted. It helps to write in the thread what was missing."
SESSION_GONE = "The earlier conversation is no longer known to the service, so this answer begins a new one."
IS_ASKING = "is asking {agent}…"
IS_WORKING = "is working on it…"
IS_STILL_WAITING = "is still waiting for the answer…"

# Conversations: their agent, their session, muted or not.

CHOOSE_AN_AGENT = "Choose an agent"
WHICH_AGENT = "Which agent should answer here?"
WAITS_FOR_CHOICE = "Your message waits until somebody has chosen."
ANSWERS_HERE = "{agent} answers in this thread."
CHOSEN_BEFORE = "Somebody has chosen an agent for this thread already."
ANSWERS_IN_SESSION = "{agent} answers here, in session {session}."
SESSION_BEGINS = "{agent} answers here. The session begins with the next answer."
NO_CONVERSATION = "There is no conversation here yet. Mention me with a question to begin one."
BEGINS_ANEW = "The next message begins a new conversation. What was said before is not remembered."
MUTED = "Muted: nothing said in this thread goes to the agent until somebody writes !unmute. Commands still work."
UNMUTED = "No longer muted: the agent gets what is said here from now on."
IS_MUTED = "This thread is muted, so the agent does not get this message. Write !unmute to change that."
HANDED_OVER = "{agent} answers here from now on, in a new session that knows nothing of the earlier one."
BEFORE_AGENT = "Before, {agent} did."
BEFORE_AGENT_IN_SESSION = "Before, {agent} did (session {session})."
ANSWERS_ALREADY = "{agent} answers here already. Write !new to begin a new session."
CONTINUE_SESSION = "Continue session {session}"
CONTINUE_SESSION_HERE = "Continue session {session} with {agent} in this thread?"
TAKES_PLACE = "It takes the place of what it has now."
TAKES_PLACE_OF_SESSION = "It takes the place of session {session}. To go back to that, write !session {session}."
CONTINUES = "This thread continues session {session} with {agent}."
BEFORE_SESSION = "Before, it was session {session}."
CONTINUES_ALREADY = "This thread is in session {session} already."
NO_SUCH_SESSION = (
    "No session {session} can be continued here. "
    "It has to be one of this channel, or of your own direct message with me."
)
CHANGED_MEANWHILE = "The session of this thread has changed meanwhile, so nothing was done. Please try again."

# The Messages tab: a greeting, and prompts to begin with.

HELLO_WRITE_HERE = (
    "Hello! Write here, and an agent of this project answers. Each message at the top begins a conversation."
)
ANSWERS_UNLESS = "{agent} answers here unless you begin with another agent's name."
PROMPT_HELP = "What can I ask for?"
PROMPT_ASK = "Ask {agent}"
PROMPT_MESSAGE = "{agent}: What can you do?"

# Lists of workflows and agents, and one of each.

WORKFLOWS = "Workflows"
WORKFLOWS_WITH = "Workflows with {words}"
NO_WORKFLOWS = "This project has no workflows yet."
NO_WORKFLOW_WITH = "No workflow has {words} in its name or description. Without words, all are listed."
AGENTS = "Agents"
AGENTS_WITH = "Agents with {words}"
NO_AGENTS = "This project has no agents yet."
NO_AGENT_WITH = "No agent has {words} in its name or description. Without words, all are listed."
PAGE = "{first:,} to {last:,} of {count:,}. Words behind “list” narrow it down."
WORKFLOW = "Workflow"
WORKFLOW_SPOKEN = "Workflow {name} (id {id}). {description}"
WORKFLOW_FACTS = "id {id} · {trigger} · {nodes}"
AGENT = "Agent"
AGENT_SPOKEN = "Agent {name} (id {id}). {description}"
AGENT_FACTS = "id {id} · {model}"
ANSWERS_MENTIONS = "answers mentions in this channel"
ID = "Id"
STATE = "State"
ACTIVE = "active"
INACTIVE = "inactive"
INACTIVE_NAME = "{name} (inactive)"
TRIGGER = "Trigger"
NODES = "Nodes"
NODES_ARE = "Nodes: {names}"
CONNECTIONS = "Connections: {count:,}"
MORE_PATHS = "… and {count} more paths"
MODEL = "Model"
TEMPERATURE = "Temperature"
TOOLS = "Tools:"
NO_TOOLS = "none"
SAYS_HELLO = "Says hello with:"
RUN_ELLIPSIS = "Run…"
DETAILS = "Details"

# The project.

PROJECT_SPOKEN = "Project {name}: {prompts:,} prompts, {members:,} members. {description}"
VISIBILITY = "Visibility"
PROMPTS = "Prompts"
MEMBERS = "Members"
CREATED = "Created {moment}"

# Questions that were asked by command or form, and the agent of a channel.

ASKS = "{person} asks {agent}"
ASKED_OF = "Asked of {agent}"
ASKED_SMALL = "{asked}. Answers and questions go on in this thread."
ABOUT_A_MESSAGE = "About a message:"
ABOUT_A_MESSAGE_BY = "About a message by {author}:"
DEFAULT_SET = "{agent} answers mentions in this channel from now on."
DEFAULT_SET_IN = "{agent} answers mentions in {channel} from now on."
NOBODY_ANSWERS_IN = "Nobody in particular answers in {channel} any more."
DEFAULT_CHANGED = "{agent} now answers mentions in this channel. Changed by {person}."
DEFAULT_REMOVED = "This channel no longer has a default agent. Changed by {person}."
DEFAULT_TAKEN_AWAY = "This channel has no default agent any more."

# Forms: what all have in common.

CHANNEL = "Channel"
CHOOSE_A_CHANNEL = "Choose a channel"
CHOOSE_CHANNEL_FROM_LIST = "Choose a channel from the list."
CHOOSE_AGENT_FROM_LIST = "Choose an agent from the list."
CHOOSE_WORKFLOW_FROM_LIST = "Choose a workflow from the list."
ONLY_THE_FIRST = "Only the first {limit:,} characters fit in here."

# The forms that ask an agent, and that choose who answers in a channel.

ASK = "Ask"
YOUR_QUESTION = "Your question"
ABOUT_THIS_MESSAGE = "About this message"
ABOUT_HINT = "The agent gets this as a quotation, and in the thread what was said before it."
WRITE_YOUR_QUESTION = "Write what you want to know."
ASK_IN = "Ask in"
CHOOSE_WHERE = "Choose where"
IN_THE_THREAD = "The thread of the message, for everybody there"
IN_OUR_DIRECT_MESSAGE = "Our direct message, just for you"
OPEN_HOME_ONCE = "Open my Home tab once, and I can answer you in our direct message, too."
WHAT_TO_ASK = "What do you want to ask {agent}?"
WHICH_AGENT_TO_ASK = "Which agent do you want to ask?"
WHO_ANSWERS_HERE = "Who answers here"
WHO_ANSWERS_THERE = "Who answers when I am mentioned there"
WHO_IS_TO_ANSWER = "Who is to answer in a channel?"
CHOOSE_AN_AGENT_OR_NOBODY = "Choose an agent, or nobody"
NOBODY = "Nobody in particular"
SAVE = "Save"

# The form that runs a workflow.

CHOOSE_A_WORKFLOW = "Choose a workflow"
INPUT = "Input"
INPUT_HINT = "What the workflow gets to work on."
INPUT_IS = "The input is"
TEXT_OR_JSON = "Text or JSON"
TEXT = "Text"
JSON = "JSON"
NEXT_TIME = "Next time"
REMEMBER = "Fill this in for me the next time"
SHOW_RESULT_IN = "Show the result in"
MEMBER_OF_THE_CHANNEL = "I have to be a member of the channel."
RUN = "Run"
WRITE_JSON = "Write a JSON value, or choose Text."
NOT_JSON = "This isn't JSON. Line {line}, character {column}: {problem}."
WHICH_WORKFLOW = "Which workflow is to run?"
NEEDS_AN_INPUT = "{workflow} needs an input."

# Runs and their cards.

RUNNING = "running …"
FINISHED = "finished"
FAILED = "failed"
OUTCOME_UNKNOWN = "outcome unknown"
MAY_HAVE_RUN = (
    "The connection to the service broke off, so it is not known whether this ran. Check before you run it again."
)
DONE_SIGN = "✅"
FAILED_SIGN = "❌"
RUNNING_SIGN = "⏳"
UNKNOWN_SIGN = "⚠️"
OTHER_SIGN = "ℹ️"  # noqa: RUF001 - no letter
STARTED_BY = "Started by {person}"
STARTED_BY_AND_TOOK = "Started by {person} · run {run} · took {duration}"
STARTED_BY_AFTER = "Started by {person} · after {duration}"
NO_OUTPUT = "No output"
OUTPUT_IN_FILE = "The whole output is in the file."
NESTED_TOO_DEEPLY = "({kind}, nested too deeply to be shown)"
OUTPUT_FILE = "run-{run}-output.{kind}"
NODE_RESULTS = "Node results"
NODE_RESULTS_FILE = "node-results.json"
NODE_RESULTS_GONE = "The node results are kept for a week; these are gone. Run the workflow again to see new ones."
RUN_AGAIN = "Run again"
RUN_AGAIN_SURE = "Run again?"
RUN_TWICE = "It may have run already, and would then run twice."
RUN_INACTIVE = "{workflow} is inactive. Do you want to run it all the same?"
RUN_IT = "Run it"
FIX_IT = "Fix it"
RUN_AS_TEXT = "Run as text"
RUNS_AS_TEXT = "{workflow} runs with this input as text."
INPUT_GONE = "This input is no longer available. Please run the workflow again."
RUNS_AS_CONFIRMED = "{workflow} is inactive, and runs as you confirmed."

# Statistics. The names of numbers are the service's own: prompts, runs, versions, categories, tags.

STATISTICS = "Statistics"
STATISTICS_SPOKEN = "Statistics: {numbers}"
CHANGES_SPOKEN = "Changes are {since}."
SINCE = "since {moment}"
NO_CHANGE = "no change"
NEW = "new"
NEW_NAMES = "New {what}: {names}"
VANISHED_NAMES = "Vanished {what}: {names}"
LAST_UPDATED = "Last updated {updated}"
LAST_UPDATED_SINCE = "Last updated {updated} · Changes since {since}"
COMPARED_WITH = "Compared with {what}"
YESTERDAY = "yesterday"
A_WEEK_AGO = "a week ago"
THE_LAST_REPORT = "the last report"
NEAREST_NUMBERS = "Asked for was {wanted}; the nearest numbers that were kept are of {found}"
NOTHING_TO_COMPARE = "Nothing to compare with yet: numbers are kept since {moment}"
CATEGORY = "Category"
TAG = "Tag"
COUNT = "Count"
CHANGE = "Change"
OVER_TIME = "{what} over time"
WHEN_UTC = "When (UTC)"
NOW = "now"


def title(part: str) -> str:
    """Name a part of the statistics at the beginning of a line: ``Runs``."""
    return part.capitalize()


def noun(part: str, number: int) -> str:
    """Name what there are so many of: ``run``, ``runs``."""
    return part.removesuffix("s") if number == 1 else part


# Scheduled reports: in the channel, their list, and what becomes of them. How one is written is read again by
# `bridge.features.reports.wording`.

REPORT_DAILY = "daily {time}"
REPORT_WEEKDAYS = "weekdays {time}"
REPORT_WEEKLY = "weekly {day} {time}"
REPORT_MONTHLY = "monthly {day} {time}"
REPORT_CRON = 'cron "{expression}"'
REPORT_BELOW = "Report {report}, {zone}. Mention me in this thread to ask an agent about it."
REPORT_SKIPPED = "Not posted since {moment}, because it would have been too late."
REPORT_SCHEDULED = "Scheduled: {report}, {zone}, in {place}."
REPORT_SCHEDULED_SPOKEN = "Scheduled: {report}, {zone}."
REPORT_DELETED = "Deleted. This report won't be posted again."
REPORT_FIRST_TIME = "First time: {moment}"
YOUR_TIME_ZONE = "(your time zone)"
TIME_ZONE_NOT_TOLD = "(Slack does not tell your time zone)"
POST_ONE_NOW = "Post one now"
ALL_REPORTS = "All reports"
SCHEDULED_REPORTS = "Scheduled reports"
SCHEDULED_REPORTS_SPOKEN = "Scheduled reports: {count:,}"
NO_REPORTS = "No reports are scheduled yet."
NEW_REPORT = "New report"
REPORT_LINE = "{report}, {zone}, to {place}, kept by {owner}"
A_DIRECT_MESSAGE = "a direct message"
NEXT_IS = "Next: {moment}"
NEXT_IS_SPOKEN = "next {moment}"
PAUSED = "paused"
PAUSED_BECAUSE = "paused: {why}"
RUN_NOW = "Run now"
PAUSE = "Pause"
RESUME = "Resume"
DELETE = "Delete"
KEEP_IT = "Keep it"
DELETE_SURE = "Delete this report?"
NOT_POSTED_ANY_MORE = "{report} will not be posted any more."
EARLIER = "Earlier"
MORE = "More"
POSTING_NOW = "The report is being posted now."
REPORT_NOT_KEPT = "This report is not kept any more."
REPORT_PAUSED = "Your report {report} could not be posted and is paused: {why}."
REPORT_OF_YOURS = "of yours"
REPORT_WAS_FOR = "It was for {channel}"
SHOW_MY_REPORTS = "Show my reports"
NOT_POSTED = "I couldn't post my answer: {why}. It's saved, and your admin can post it once that's fixed."
WHY_NOT_POSTED = {
    "channel_not_found": "I'm not in the channel, or it no longer exists",
    "ekm_access_denied": "your organization's admins have suspended posting",
    "is_archived": "the channel is archived",
    "missing_scope": "the app needs another permission",
    "not_in_channel": "I'm not in the channel",
    "restricted_action": "I'm not allowed to post in the channel",
    "restricted_action_non_threadable_channel": "the channel doesn't allow replies in threads",
    "restricted_action_read_only_channel": "the channel is read-only",
    "restricted_action_thread_locked": "the thread is locked",
    "restricted_action_thread_only_channel": "the channel only allows replies in threads",
}
NOT_ALLOWED_BY_SLACK = "Slack does not allow it"
NOT_ALLOWED_BY_SLACK_NAMED = "Slack does not allow it ({error})"
WHY_PAUSED = {
    "is_archived": "its channel is archived",
    "channel_not_found": "I am not in its channel any more",
    "not_in_channel": "I am not in its channel any more",
    "restricted_action": "I may not write in its channel",
    "missing_scope": "the app lacks a permission",
    "no clock": "the machine that the bridge runs on does not know its time zone",
}

# The form that makes a scheduled report. The choices stand by what they write.

SCHEDULED_REPORT = "Scheduled report"
KEEP = "Keep"
HOW_OFTEN = "How often"
OFTEN = {
    "daily": "Every day",
    "weekdays": "Monday to Friday",
    "weekly mon": "Every Monday",
    "weekly tue": "Every Tuesday",
    "weekly wed": "Every Wednesday",
    "weekly thu": "Every Thursday",
    "weekly fri": "Every Friday",
    "weekly sat": "Every Saturday",
    "weekly sun": "Every Sunday",
    "monthly 1": "On the 1st of the month",
    "monthly 15": "On the 15th of the month",
    "monthly last": "On the last day of the month",
    "cron": "As the cron expression says",
}
TIME_OF_DAY = "Time of day"
CRON_EXPRESSION = "Cron expression"
CRON_HINT = (
    "Minute, hour, day of the month, month, day of the week: 0 9 * * 1-5. With one, what is chosen above is left aside."
)
TIME_ZONE = "Time zone"
TIME_ZONE_HINT = "Such as Europe/Berlin."
MEMBER_OF_IT = "I have to be a member of it."
COMPARE_WITH = "Compare with"
COMPARE = {
    "-": "The last report",
    "1d": "The day before",
    "7d": "A week before",
    "28d": "Four weeks before",
    "365d": "A year before",
}
WHAT_IT_SHOWS = "What it shows"
TOOK_TOO_LONG = "This took too long for the form to open by itself."

# Home.

HOME = "Home"
EVERYTHING_WORKS = "Everything works: I am here, and so is the service of the project."
SERVICE_LACKS = "The service does not tell everything just now. Messages are kept, and answered when it is back."
VERSION = "Version {version}."
RUNS = "Runs"
VERSIONS = "Versions"
RUN_A_WORKFLOW_ELLIPSIS = "Run a workflow…"
ASK_AN_AGENT_ELLIPSIS = "Ask an agent…"
WHO_ANSWERS_ELLIPSIS = "Who answers in a channel…"
YOUR_LAST_RUNS = "Your last runs"
RUN_AGAIN_ELLIPSIS = "Run again…"
YOUR_CONVERSATIONS = "Your conversations"
IN_DIRECT_MESSAGE = "in our direct message"
IN_CHANNEL = "in {channel}"
YOUR_REPORTS = "Your reports"
FIND_A_WORKFLOW = "Find a workflow"
CHAT = "Chat"

# The app as Slack shows it: in its directory, and above an empty conversation.

APP_NAME = "Bridge"
APP_BOT_NAME = "bridge"
APP_DESCRIPTION = "Run workflows, read statistics and talk with the agents of one project."
APP_LONG_DESCRIPTION = (
    "Mention the bot in a channel, or write to it directly, and an agent of the project answers in a thread; reply "
    "there and the conversation goes on. Slash commands list and run the project's workflows and show its statistics. "
    "In threads, where Slack has no slash commands, write ! in place of /."
)
APP_AGENT_DESCRIPTION = "Talk with the agents of the project. Begin with an agent's name and a colon to choose one."
APP_PROMPTS = {
    "What can you do?": "What can you do?",
    "!agents": "Which agents are there?",
    "!workflows": "List the workflows",
    "!stats": "Show the statistics",
}

# What agents read beside a message: whose words follow.

QUOTED_BEFORE = "What was said in this Slack thread before, as a quotation:"
QUOTED_SINCE = "What was said in this Slack thread since your last answer, as a quotation:"
QUOTED_REPORT = "The report that was posted at the top of this Slack thread, as a quotation:"
QUOTED_NOW = "And this is said to you now:"
QUOTED_LEFT_OUT = "[{messages} left out]"
QUOTED_FILES = "[attached: {files}]"
QUOTED_UNNAMED_FILE = "unnamed"
QUOTED_ABOUT = "This is about a message:"
QUOTED_ABOUT_BY = "This is about a message by {author}:"
QUOTED_THREAD = "What was said in its thread:"
