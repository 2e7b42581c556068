"""Words of statistics, reports and Home, and those that others share with them, until they stand with their layouts."""

from __future__ import annotations

# Shared by many places.

NO_NAME = "(no name)"
AN_AGENT = "An agent"
NAMES_AND_MORE = "{names} and {count} more"
HOW_MANY = "{title} ({count:,})"
OTHER = "other"
OTHERS = "others"
OPEN_THE_FORM = "Open the form"
CHOOSE = "Choose"
NEXT = "Next"
PREVIOUS = "Previous"

# Numbers, durations and moments. The places of the first one are Slack's own, for the reader's time zone.

MOMENT = "{date_short_pretty} at {time}"
DATE_AND_TIME = "{moment:%Y-%m-%d %H:%M} UTC"
DAY_AND_TIME = "{moment:%d %b %Y, %H:%M} UTC"


THIS_CHANNEL = "this channel"

# Commands: the help of each, and what stands around it.

HELP_STATS = "Show the project's statistics."
HELP_STATS_SINCE = "Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01."
HELP_STATS_REPORT = "Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks."
HELP_STATS_REPORTS = "List the scheduled reports, to pause, run or delete them."
USAGE_STATS_SINCE = "{command} 7d, or {command} 2026-11-01, at most 400 days back"


# Lists of workflows and agents, and one of each.

WORKFLOWS = "Workflows"
AGENTS = "Agents"
RUN_ELLIPSIS = "Run…"
DETAILS = "Details"

# The project.

PROMPTS = "Prompts"
MEMBERS = "Members"


# Forms: what all have in common.

CHANNEL = "Channel"


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
COUNT = "Count"
CHANGE = "Change"
OVER_TIME = "{what} over time"
WHEN_UTC = "When (UTC)"
NOW = "now"

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
