"""Typed text is folded for comparing, and what follows a name or a command stays as typed."""
# ruff: noqa: RUF001 - what keyboards and phones send

from __future__ import annotations

from bridge.features.registry import features
from bridge.names.folding import fold, looks_like, name_key, shortcode_of, split, undecorated
from bridge.names.matching import search
from bridge.project import Agent
from bridge.slack.blockkit.json_text import typed_input
from bridge.slack.blockkit.mrkdwn import addressed
from support.tables import each


@each(
    ("typed", "name"),
    [
        ("DAILY  digest", "Daily digest"),
        ("Ｄａｉｌｙ　ｄｉｇｅｓｔ", "Daily digest"),
        ("Daily\u00a0dig\u00adest\u200b", "Daily digest"),
        ("\ufeff\u200fDaily\u2007digest\u200e", "Daily digest"),
        ("“Daily digest”", "Daily digest"),
        ("«Daily digest»", "Daily digest"),
        ("*Daily digest*", "Daily digest"),
        ("*_Daily digest_*", "Daily digest"),
        ("`Daily digest`", "Daily digest"),
        ("Bob’s job", "Bob's job"),
        ("Bob´s job", "Bob's job"),
        ("Import — daily", "Import - daily"),
        ("Import−daily", "Import–daily"),
        ("U\u0308berblick fu\u0308r STRASSE", "Überblick für Straße"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("\u1112\u1161\u11ab국", "한국"),
        (":rocket: Launch", "🚀 Launch"),
        (":warning: Alerts", "⚠️ Alerts"),
        ("⚠ Alerts", "⚠️ Alerts"),
        (":wave::skin-tone-3: Hello", "👋🏼 Hello"),
        (":flag-de: Berlin", "🇩🇪 Berlin"),
        (":thinking_face:", "🤔"),
        ("٣ wishes", "3 wishes"),
        ("ﬁle…", "file..."),
        *((":man-woman-girl-boy: Home", "👨‍👩‍👧‍👦 Home"), (":woman-girl:", "👩‍👧"), (":woman-kiss-woman:", "👩‍❤️‍💋‍👩")),
        *(
            (":female-doctor::skin-tone-2: Care", "👩🏻‍⚕️ Care"),
            (":male-technologist:", "👨‍💻"),
            (":rainbow-flag:", "🏳️‍🌈"),
        ),
        *((":satellite:", "🛰️"), (":mostly_sunny:", "🌤️"), (":flag-england:", "🏴󠁧󠁢󠁥󠁮󠁧󠁿")),
        *((typed, "istanbul") for typed in ("İSTANBUL", "I\u0307stanbul", "\u0131stanbul", "ISTANBUL", "İstanbul")),
        *((typed, "I\u011fd\u0131r") for typed in ("IĞDIR", "\u0131\u011fd\u0131r", "iğdir", "İğdir")),
        (":not_an_emoji_here: x", ":NOT_an_emoji_here: X"),
    ],
)
def test_spellings_of_one_name_are_alike(typed: str, name: str) -> None:
    assert name_key(typed) == name_key(name) != ""


@each(
    ("one", "other"),
    [
        (":fire: Launch", "🚀 Launch"),
        ("Report", "Reports"),
        ("résumé", "resume"),
        ("my_flow", "my flow"),
        ("a-b", "ab"),
    ],
)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@each("text", ["", " ", "\u200b", "\ufeff\u00ad ", "\u3164"])
def test_a_name_without_a_letter_is_empty(text: str) -> None:
    assert name_key(text) == ""


@each(
    ("text", "words"),
    [
        ("a  b", [("a", "a"), ("b", "b")]),
        ("Ｒｕｎ\u00a0３　Ünï\u200b", [("run", "Ｒｕｎ"), ("3", "３"), ("ünï", "Ünï")]),
        ("\u200bx :rocket: Y", [("x", "\u200bx"), ("🚀", ":rocket:"), ("y", "Y")]),
        ("e\u0301t\u0301 \u200b1", [("ét́", "e\u0301t\u0301"), ("1", "\u200b1")]),
    ],
)
def test_each_word_is_found_as_typed(text: str, words: list[tuple[str, str]]) -> None:
    assert split(text) == words


def test_what_follows_is_never_folded() -> None:
    rest = "\u200bÜn\u00adï “quoted”\u2028１２ :rocket: —x"
    folded = fold(f"ＲＵＮ\u00a0\u3000{rest}")

    assert folded.after(folded.text.index(" ")) == rest


def test_only_the_beginning_is_folded_on_request() -> None:
    folded = fold("Ａ " + "Ｂ" * 10, 3)

    assert (folded.text, folded.after(1)) == ("a b", "Ｂ" * 10)


@each(
    ("text", "inside"),
    [
        ("`!stop`", "!stop"),
        (" *_!stop_* ", "!stop"),
        ("```!stop```", "!stop"),
        ("\u200b`!stop`\u00a0", "!stop"),
        ("`!stop", "`!stop"),
        ("*a", "*a"),
        ("**", "**"),
        ("", ""),
    ],
)
def test_formatting_around_a_text_is_removed(text: str, inside: str) -> None:
    assert undecorated(text) == inside


@each(
    ("text", "line"),
    [
        ("！stop", "/stop"),
        ("！ｓｔｏｐ\u200b", "/stop"),
        ("\u200f\ufeff!Stop\u00a0", "/stop"),
        ("`!stop`", "/stop"),
        ("*!stop*", "/stop"),
        ("_!STOP_", "/stop"),
        ("`!workflows` run 3 Ünï", "/workflows run 3 Ünï"),
        ("`!workflows run 3 Ünï`", "/workflows run 3 Ünï"),
        ("!workflows\u3000run\u00a03 \u200bx", "/workflows run\u00a03 \u200bx"),
        ("!stpo\u00a0", "/stpo"),
    ],
)
def test_a_command_is_known_as_keyboards_send_it(text: str, line: str) -> None:
    assert features.commands.bang_line(text) == line


BOT = "U0BOT"


@each(
    ("text", "rest"),
    [
        ("<@U0BOT> hi", "hi"),
        ("<@U0BOT>: !stop", "!stop"),
        ("<@U0BOT>： !stop", "!stop"),
        ("<@U0BOT|bridge>, hi", "hi"),
        ("\u200b<@U0BOT>\u00a0- hi", "hi"),
        ("<@U0CAROL> <@U0BOT> Support: hi", "Support: hi"),
        ("<@U0BOT> <@W1>, <@U2> hi", "hi"),
        ("<@U0CAROL> hi <@U0BOT>", "<@U0CAROL> hi <@U0BOT>"),
        ("<@U0BOTX> hi", "<@U0BOTX> hi"),
        ("hi", "hi"),
    ],
)
def test_mentions_before_a_text_are_split_off(text: str, rest: str) -> None:
    mentions, after = addressed(text, BOT)

    assert (mentions + after, after) == (text, rest)


@each("query", ["🚀 launch", ":rocket: Launch", "＃１２", "Ｌａｕ", "launch\u200b"])
def test_a_search_finds_a_name_as_keyboards_send_it(query: str) -> None:
    launch, other = Agent(id=12, name="🚀 Launch", model="m"), Agent(id=13, name="Relaunched 🚀", model="m")

    assert search(query, [other, launch])[0] == launch
    assert search("nothing", [other, launch]) == []


@each(
    ("text", "value"),
    [
        ("｛“a”：１｝", {"a": 1}),
        ("\ufeff{\u00a0“ａ” : [1，2]\u200b}", {"ａ": [1, 2]}),
        ("«text»", "«text»"),
        ('{"a": "“１”"}', {"a": "“１”"}),
    ],
)
def test_the_strings_of_typed_json_stay_as_typed(text: str, value: object) -> None:
    assert typed_input(text) == value


def test_a_registered_command_folds_to_itself() -> None:
    assert all(fold(word).text == word for command in features.commands.commands for word in command.path)


@each(
    ("name", "other", "is_alike"),
    [
        ("Support", "support", True),
        ("Support", "Suppоrt", True),
        ("ΑΒΕ", "abe", True),
        ("Import", "lmport", True),
        ("Modern", "Modem", True),
        ("Support", "Súp-port", True),
        ("Tier 1", "Tier l", True),
        ("Support", "Sales", False),
        ("日本", "日木", False),
        ("🎧", "🦊", False),
    ],
)
def test_names_that_look_alike_have_one_key(name: str, other: str, *, is_alike: bool) -> None:
    assert (looks_like(name) == looks_like(other)) is is_alike


@each(
    ("typed", "code"),
    [
        (":headphones:", ":headphones:"),
        ("Headphones", ":headphones:"),
        ("🎧", ":headphones:"),
        ("❤️", ":heart:"),
        (" `:acme-bot:` ", ":acme-bot:"),
        (":wave::skin-tone-3:", ":wave::skin-tone-3:"),
        *(("👨‍👩‍👧‍👦", ":man-woman-girl-boy:"), ("👩‍⚕️", ":female-doctor:"), ("female-doctor", ":female-doctor:")),
        ("👩🏻‍⚕️", ":female-doctor::skin-tone-2:"),
        ("acme-bot", ""),
        ("🎧🎧", ""),
        (":a: :b:", ""),
        ("é", ""),
        ("", ""),
    ],
)
def test_one_emoji_has_a_shortcode(typed: str, code: str) -> None:
    assert shortcode_of(typed) == code
