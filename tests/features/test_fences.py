"""The fences in which agents ask and hand over."""

from __future__ import annotations

import pytest

from bridge.features.conversations.fences import MAY_HAVE, read
from support.tables import each

AROUND = "before\n\n{fence}\n\nafter"


@pytest.mark.parametrize(
    ("fence", "options"),
    [
        ("```options\nA\nB\n```", ("A", "B")),
        ("~~~ options \r\nA\r\n\r\nB\r\n~~~", ("A", "B")),
        ("````options\n- A\n* A\n  B  c \n````", ("A", "B c")),
        ("   ```options\n   A\n   ```", ("A",)),
        ("```options\nA\n", ("A", "after")),  # open to the end
        ("```Options\nA\n```", ()),
        ("```options yes\nA\n```", ()),
        ("> ```options\n> A\n> ```", ()),
        ("- item\n\n  ```options\n  A\n  ```", ()),
        ("    ```options\n    A\n    ```", ()),
        ("`options`", ()),
        ("```options\n\u3164\n```", ()),
    ],
)
def test_options_are_the_lines_of_their_fence(fence: str, options: tuple[str, ...]) -> None:
    assert read(AROUND.format(fence=fence), has_files=True).options == options


@each("fence", ["```options\n" + "\n".join(map(str, range(101))) + "\n```", "```options\n" + "x" * 151 + "\n```"])
def test_options_that_fit_no_menu_are_a_list(fence: str) -> None:
    found = read(AROUND.format(fence=fence), has_files=True)

    assert found.options == ()
    assert "\n- " in found.text


def test_of_several_questions_the_last_has_buttons() -> None:
    found = read("```options\nA\n```\n\n```options\nB\n```", has_files=True)

    assert (found.options, found.text) == (("B",), "- A")


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ("csv report.csv", "report.csv"),
        ("report.md", "report.md"),
        ("text my report (1).txt", "my report (1).txt"),
        ("csv <b>x</b>.csv", ""),  # a folder's mark
        ("csv a<b>.csv", "a_b_.csv"),
        ("../../etc/passwd.txt", ""),
        ("csv ..\\x.csv", ""),
        ("csv .hidden.csv", "hidden.csv"),
        ("csv \u202egpj.exe.csv", "gpj.exe.csv"),
        ("python", ""),
        ("node.js", ""),
        ("1.5", ""),
        ("csv .csv", ""),
        ("", ""),
    ],
)
def test_a_file_has_a_safe_name(info: str, name: str) -> None:
    found = read(AROUND.format(fence=f"```{info}\na\n```"), has_files=True)

    assert [file.name for file in found.files] == ([name] if name else [])
    assert ("```" in found.text) is not bool(name)


@each("content", ["", "\u200b", "x" * (1024 * 1024 + 1)])
def test_what_cant_be_a_file_stays_a_fence(content: str) -> None:
    found = read(f"```csv a.csv\n{content}\n```", has_files=True)

    assert (found.files, "```csv a.csv" in found.text) == ((), True)


def test_at_most_five_files_are_posted() -> None:
    found = read("\n".join(f"```a{number}.txt\nx\n```" for number in range(7)), has_files=True)

    assert len(found.files) == 5
    assert found.text.count("```") == 4


def test_an_answer_without_such_a_fence_is_left_as_it_is() -> None:
    answer = "text\r\n```python\nprint(1.5)\n```\n"

    assert not MAY_HAVE.search(answer)
