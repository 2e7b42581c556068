"""How statistics look: the same in every form, within Slack's limits, no markup interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bridge.features.statistics.layout import Trend, change, stats_card, than_usual
from bridge.features.statistics.numbers import NUMBERS, Changes, Difference, NamesChanged
from bridge.features.statistics.past import Usual
from bridge.playground.emulator.limits import check_blocks
from bridge.project.models import Stats
from bridge.slack.blockkit import charts, kit
from bridge.slack.blockkit.reply import Block, Reply
from support.tables import each
from support.unsafe_markup import text_length

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MOVED = NamesChanged(moved={"name 1": Difference(2, 1)})


def stats_with(categories: dict[str, int] | None = None, tags: dict[str, int] | None = None, runs: int = 1234) -> Stats:
    return Stats.model_validate({
        "promptCount": 1234567, "runCount": runs, "versionCount": 96,
        "categories": [{"name": name, "count": count} for name, count in (categories or {}).items()],
        "tags": [{"name": name, "count": count} for name, count in (tags or {}).items()],
        "lastUpdated": "2026-11-20T12:00:00.000Z",
    })  # fmt: skip


def many(number: int) -> dict[str, int]:
    return {f"name {place}": place + 1 for place in range(number)}


def changes(called: str = "", **groups: NamesChanged) -> Changes:
    numbers = {"prompts": Difference(1234567, 1234567), "runs": Difference(1234, 1178)}
    return Changes(NOON - DAY, numbers, groups, called)


def trend(points: int, each: timedelta = DAY) -> Trend:
    """Make a trend to which 1,000 runs are added after the first point, then 1,001, and so on."""
    totals = [sum(range(1000, 1000 + place)) for place in range(points)]
    return Trend(NUMBERS[1], [(NOON - each * (points - place), total) for place, total in enumerate(totals)])


def texts(blocks: Any) -> Iterator[str]:
    """Yield every text in *blocks*."""
    if isinstance(blocks, dict):
        yield from (text for key, text in blocks.items() if key in {"text", "label", "title"} and isinstance(text, str))
        blocks = list(blocks.values())
    if isinstance(blocks, (list, tuple)):
        for inner in blocks:
            yield from texts(inner)


def words(blocks: Any) -> str:
    return " ".join(texts(blocks))


def forms(reply: Reply) -> list[tuple[Block, ...]]:
    return [reply.blocks, *reply.plainer]


def drawn(reply: Reply) -> list[str]:
    return [block["chart"]["type"] for block in reply.blocks if block["type"] == "data_visualization"]


@each(
    ("now", "then", "said"),
    [
        (1234, 1178, "+56, +4.8%"),
        (1178, 1234, "down from 1,234"),
        (5, 5, "no change"),
        (0, 0, "no change"),
        (7, 0, "+7"),
        (0, 7, "down from 7"),
        (1_000_001, 1_000_000, "+1"),
        (50_000, 10, "+49,990, +499,900%"),
        (135, 10, "+125, +1,250%"),
        (0, 1234, "down from 1,234"),
        (1_235_567, 1000, "+1,234,567, +123,457%"),
    ],
)
def test_a_change_is_a_difference_with_a_meaningful_percentage(now: int, then: int, said: str) -> None:
    assert change(Difference(now, then)) == said


def test_numbers_have_their_change_since_a_moment() -> None:
    reply = stats_card(stats_with(), changes=[changes("yesterday")])

    for said in (words(reply.blocks), reply.text):
        assert "1,234" in said
        assert "(+56, +4.8%)" in said
        assert "yesterday" in said
    assert f"<!date^{int((NOON - DAY).timestamp())}^" in words(reply.blocks)
    assert f"Last updated <!date^{int(NOON.timestamp())}^" in words(reply.blocks)


def test_a_number_not_counted_then_has_no_change() -> None:
    several = stats_card(stats_with(), changes=[changes("yesterday"), changes("last week")])
    reply = stats_card(stats_with(), changes=[changes("yesterday")])

    for blocks in (reply.blocks, several.blocks):
        shown = list(texts(blocks))
        assert shown[shown.index("Versions: ") + 1] == "96"
    assert "96 versions\n" in reply.text


def test_several_comparisons_are_beside_the_number() -> None:
    reply = stats_card(stats_with(), changes=[changes("yesterday"), changes("last week")])

    assert "1,234 · +56, +4.8% since yesterday · +56, +4.8% since last week" in list(texts(reply.blocks))


def test_new_and_vanished_names_are_listed_in_every_form() -> None:
    changed = NamesChanged(new=[("alpha", 3)], vanished=[("gamma", 12)], moved={"beta": Difference(2, 1)})
    reply = stats_card(stats_with(tags={"alpha": 3, "beta": 2}), changes=[changes(tags=changed)])

    for said in (*map(words, forms(reply)), reply.text):
        assert "New tags: alpha (3)" in said
        assert "Removed tags: gamma (12)" in said
    assert "+1" in words(reply.blocks)


def test_charts_become_tables_and_then_text_without_loss() -> None:
    reply = stats_card(stats_with(many(5), many(5)), changes=[changes()], trend=trend(5))
    pictured, tabled, written = ([block["type"] for block in form] for form in forms(reply))

    assert drawn(reply) == ["line", "pie"]
    assert pictured.count("data_table") == 1
    assert "data_visualization" not in tabled
    assert tabled.count("data_table") == 3
    assert not {"data_visualization", "data_table"} & set(written)
    for form in forms(reply):
        assert [label for label in ("Nov 15", "now", *many(5)) if label not in words(form)] == []
    for form in reply.plainer:
        assert "1,000" in words(form)
        assert "1,003" in words(form)


@each("points", [0, 5])
@each("changed", [NamesChanged(), MOVED])
@each("number", [1, 5, 9, 40])
def test_each_group_is_shown_once_below_the_numbers(number: int, changed: NamesChanged, points: int) -> None:
    followed = trend(points) if points else None
    reply = stats_card(stats_with(many(number), many(number)), changes=[changes(categories=changed)], trend=followed)

    for form in forms(reply)[:-1]:  # the last is text
        assert [block["type"] for block in form][:2] == ["header", "rich_text"], "numbers come first"
        groups = [title for block in form if (title := block.get("title") or block.get("caption"))]
        assert groups == [*(["Runs over time"] if points else []), "Categories", "Tags"]


@pytest.mark.parametrize(
    ("categories", "changed", "shown"),
    [
        (many(5), MOVED, "+1"),
        (many(7), NamesChanged(), "name 6"),
        ({"a name that is much too long": 1, "b": 2}, NamesChanged(), "much too long"),
        ({"a": 0, "b": 2}, NamesChanged(), "a"),
    ],
    ids=["changed", "too many", "too long", "nothing to draw"],
)
def test_values_a_chart_cannot_show_become_a_table(
    categories: dict[str, int], changed: NamesChanged, shown: str
) -> None:
    card = stats_card(stats_with(categories, many(5)), changes=[changes(categories=changed)])

    (table,) = [block for block in card.blocks if block["type"] == "data_table"]
    assert (drawn(card), table["caption"]) == (["bar"], "Categories")
    assert shown in words(table)


def test_a_card_has_at_most_two_charts() -> None:
    assert drawn(stats_card(stats_with(many(6), many(9)))) == ["pie", "bar"]
    assert drawn(stats_card(stats_with(many(6), many(9)), trend=trend(20))) == ["line", "pie"]
    assert drawn(stats_card(stats_with({"one": 1}, {}))) == []


def test_a_line_needs_three_points() -> None:
    assert charts.line("Runs", [("a", 1), ("b", 2)]) is None
    assert charts.line("Runs", [("a", 1), ("b", 2), ("c", 3)]) is not None


@each(("categories", "count"), [({}, 1), ({"one": 1}, 2), (many(3), 3)])
def test_a_fallback_equal_to_the_previous_is_left_out(categories: dict[str, int], count: int) -> None:
    assert len(forms(stats_card(stats_with(categories)))) == count


def test_names_beyond_the_largest_are_summed() -> None:
    reply = stats_card(stats_with({}, many(34)))

    assert "4 others" in words(reply.blocks)
    assert "4 others: 10" in words(reply.plainer[-1]).replace(" :  ", ": ")
    assert "24 others 300" in reply.text


def test_equal_names_get_different_labels() -> None:
    chart = charts.bars("Tags", [("a name of twenty two", 2), ("a name of twenty two", 1)])

    assert chart is not None
    labels = chart["chart"]["axis_config"]["categories"]
    assert len(set(labels)) == 2
    assert all(len(label) <= 20 for label in labels)


@each(
    ("totals", "unit", "shown"),
    [
        ([(0, 10), (24, 30), (72, 90), (96, 93)], "Runs a day", [20, 30, 3]),
        ([(0, 10), (1, 12), (2, 15), (3, 15)], "Runs an hour", [2, 3, 0]),
        ([(0, 90), (24, 130), (48, 5), (72, 9), (96, 9)], "Runs a day", [40, 4, 0]),
        ([(0, 0), (24, 24), (48, 48), (72, 72), (75, 99)], "Runs a day", [24, 24, 45]),
    ],
)
def test_runs_over_time_are_what_was_added(totals: list[tuple[int, int]], unit: str, shown: list[int]) -> None:
    points = [(NOON + timedelta(hours=hour), total) for hour, total in totals]
    reply = stats_card(stats_with(), trend=Trend(NUMBERS[1], points))

    (chart,) = [block["chart"] for block in reply.blocks if block["type"] == "data_visualization"]
    assert chart["axis_config"]["y_label"] == unit
    assert [point["value"] for point in chart["series"][0]["data"]] == shown


def test_a_card_shows_only_the_parts_asked_for() -> None:
    reply = stats_card(stats_with(many(3), many(3)), only=("runs", "tags"), trend=trend(5))

    for said in (*map(words, forms(reply)), reply.text):
        assert "1,234" in said
        assert "Tag" in said
        assert "1,234,567" not in said
        assert "Categories" not in said


@each(("each", "label"), [(timedelta(hours=1), "Nov 20 07:00"), (DAY, "Nov 15"), (80 * DAY, "Oct 16, 2025")])
def test_points_are_labelled_by_hour_day_or_year(each: timedelta, label: str) -> None:
    reply = stats_card(stats_with(), trend=trend(5, each))

    (chart,) = [block["chart"] for block in reply.blocks if block["type"] == "data_visualization"]
    assert (chart["axis_config"]["categories"][0], chart["axis_config"]["categories"][-1]) == (label, "now")


@each(
    ("growth", "usual", "said"),
    [
        (142, None, ""),
        (142, 0, ""),
        (100, 100, ", as usual"),
        (97, 100, ", as usual"),
        (142, 118, ", a fifth more than usual"),
        (110, 100, ", a tenth more than usual"),
        (75, 100, ", a quarter fewer than usual"),
        (67, 100, ", a third fewer than usual"),
        (150, 100, ", 50.0% more than usual"),
        (50, 100, ", 50.0% fewer than usual"),
        (200, 100, ", twice as many as usual"),
        (1000, 100, ", 10 times as many as usual"),
    ],
)
def test_a_growth_is_compared_with_what_is_usual(growth: float, usual: float | None, said: str) -> None:
    assert than_usual(growth, None if usual is None else Usual(usual, 0)) == said


def test_a_growth_within_the_spread_is_usual() -> None:
    assert than_usual(130, Usual(100, 30)) == ", as usual"
    assert than_usual(131, Usual(100, 30)) == ", a third more than usual"


NAMES = st.dictionaries(
    st.text(max_size=40) | st.sampled_from(["<!channel> `x` @here", "x" * 500, "", "\u202e"]),
    st.integers(min_value=-5, max_value=10**18),
    max_size=120,
)


@settings(max_examples=25)
@given(NAMES, NAMES, st.integers(min_value=0, max_value=20))
def test_slack_accepts_every_form_of_any_statistics(
    categories: dict[str, int], tags: dict[str, int], points: int
) -> None:
    changed = NamesChanged(list(tags.items()), list(tags.items()), {n: Difference(c, 1) for n, c in tags.items()})
    reply = stats_card(
        stats_with(categories, tags, runs=max([0, *tags.values()])),
        changes=[changes(tags=changed, categories=changed)] * 3,
        trend=trend(points) if points > 1 else None,
    )

    for form in forms(reply):
        check_blocks(list(form))
        assert text_length(list(form)) <= kit.MESSAGE
        assert text_length([block["rows"] for block in form if block["type"] == "data_table"]) <= 10_000
    assert len(reply.text) <= kit.FALLBACK_TEXT
    assert not re.search(r"<(?!!date)|(?<!\w)@here", reply.text)
