"""Text extraction from documents, in a separate process."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pypdf
import pytest

from bridge.documents import AT_ONCE, DocumentNotRead, Documents, DocumentText
from bridge.playground.emulator.faults import Hang
from support.harness import Harness
from support.payloads import PDF, file
from support.pdf import pdf
from support.slack_files import add_file
from support.store import message

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/drawingml/2006/main"
CELLS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OPEN = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
TABLES = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
MOST = 100_000


def locked() -> bytes:
    writer, out = pypdf.PdfWriter(pypdf.PdfReader(io.BytesIO(pdf("secret")))), io.BytesIO()
    writer.encrypt("hunter2", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/") + ".xml", content)
    return out.getvalue()


DOCX = zipped(
    word__document=f"""<w:document xmlns:w="{WORD}"><w:body>
    <w:p><w:r><w:t>The lamp</w:t></w:r><w:r><w:tab/><w:t xml:space="preserve"> is red &amp; big.</w:t></w:r></w:p>
    <w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>
    <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr>
    </w:tbl></w:body></w:document>"""
)
PPTX = zipped(
    **{
        f"ppt__slides__slide{number}": f'<p:sld xmlns:p="x" xmlns:a="{SLIDE}"><a:p><a:t>{words}</a:t></a:p></p:sld>'
        for number, words in ((10, "last"), (2, "second"), (1, "first"))
    }
)
XLSX = zipped(
    xl__sharedStrings=f'<sst xmlns="{CELLS}"><si><t>Item</t></si><si><r><t>Am</t></r><r><t>ount</t></r></si></sst>',
    xl__worksheets__sheet1=f"""<worksheet xmlns="{CELLS}"><sheetData>
    <row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row/>
    <row><c r="A2" t="inlineStr"><is><t>lamp</t></is></c><c r="B2"><v>1200</v></c><c t="s"><v>99</v></c></row>
    </sheetData></worksheet>""",
)
ODT = zipped(
    content=f"""<o:document xmlns:o="o" xmlns:text="{OPEN}" xmlns:table="{TABLES}"><text:h>Lamps</text:h>
    <text:p>red<text:s text:c="2"/>or <text:span>blue</text:span></text:p><table:table><table:table-row>
    <table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell>
    </table:table-row></table:table></o:document>"""
)
LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
BOMB = zipped(word__document=f'<!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]><x><t>&a9;</t></x>')


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (pdf("The lamp is red.", "And big."), "pdf", "The lamp is red.\n\nAnd big."),
        (DOCX, "docx", "The lamp\t is red & big.\n\na  | b"),
        (PPTX, "pptx", "Slide 1:\nfirst\n\nSlide 2:\nsecond\n\nSlide 3:\nlast"),
        (XLSX, "xlsx", "Sheet 1:\nItem\t\tAmount\nlamp\t1200"),
        (ODT, "odt", "Lamps\nred  or blue\na  | b"),
        (pdf(""), "pdf", ""),
    ],
    ids=["pdf", "docx", "pptx", "xlsx", "odt", "nothing"],
)
async def test_the_text_of_a_document_is_read(content: bytes, kind: str, text: str) -> None:
    assert await Documents().read(content, kind, MOST) == DocumentText(text)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(pdf(*["page"] * 60), "pdf"), (zipped(word__document=f"<x><t>{'x' * 200_000}</t></x>"), "docx")],
    ids=["pages", "words"],
)
async def test_a_long_document_is_cut(content: bytes, kind: str) -> None:
    read = await Documents().read(content, kind, 10_000)

    assert read.is_cut
    assert len(read.text) <= 10_000


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        (b"no document", "pdf", "broken"),
        (b"", "docx", "broken"),
        (zipped(other="<x/>"), "docx", "broken"),
        (zipped(word__document="<x><t>never"), "docx", "broken"),
        (BOMB, "docx", "broken"),
        (locked(), "pdf", "locked"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "docx", "locked"),
    ],
    ids=["text", "empty", "other", "half", "laughs", "password", "office"],
)
async def test_a_document_that_cannot_be_read_says_why(content: bytes, kind: str, why: str) -> None:
    with pytest.raises(DocumentNotRead) as caught:
        await Documents().read(content, kind, MOST)

    assert caught.value.why == why


async def test_reading_a_document_has_a_time_limit(tmp_path: Path) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("import time\ntime.sleep(60)\n")
    began = time.monotonic()

    with pytest.raises(DocumentNotRead) as caught:
        await Documents(seconds=0.5, program=endless).read(DOCX, "docx", MOST)

    assert caught.value.why == "slow"
    assert time.monotonic() - began < 40


async def test_a_document_that_unpacks_to_too_much_is_refused() -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("word/document.xml", "w") as inside,
    ):
        inside.write(b"<x>")
        for _ in range(120):
            inside.write(b" " * 1_000_000)
        inside.write(b"</x>")

    with pytest.raises(DocumentNotRead):
        await Documents().read(out.getvalue(), "docx", MOST)


async def test_the_process_that_reads_documents_has_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nosy = tmp_path / "nosy.py"
    nosy.write_text("import os, sys\nsys.stdin.buffer.read()\nprint('=' + ' '.join(sorted(os.environ)), end='')\n")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")

    read = await Documents(program=nosy).read(DOCX, "docx", MOST)

    assert "SLACK" in " ".join(os.environ)
    assert "SLACK" not in read.text


async def test_a_document_reaches_the_agent_as_text(harness: Harness) -> None:
    document = add_file(harness, pdf("The lamp is red."), PDF)
    await harness.store.queue(message("look", parts=[document]))

    await harness.work()

    assert harness.service.messages == ["look\n\nDocument “a.pdf” (PDF, 34.6 kB):\n```\nThe lamp is red.\n```"]


async def test_without_the_extra_its_author_gets_a_notice(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    harness.configure()
    scan = add_file(harness, pdf("red"), {**PDF, "id": "F1"})
    letter = add_file(harness, DOCX, file("a.docx", id="F2", filetype="docx", mode="hosted"))
    await harness.store.queue(message("look", parts=[scan, letter]))

    await harness.work()
    await harness.work()

    assert "The lamp" in harness.service.messages[0]
    (notice,) = harness.seen.ephemerals
    assert "a.pdf: I can't read PDFs until your admin" in notice.text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no pdf", "couldn't find any text"),
        (locked(), "password"),
        (pdf(""), "it has no text"),
        (pdf(*"x" * 51), "long"),
    ],
    ids=["broken", "locked", "empty", "long"],
)
async def test_a_cut_document_brings_a_notice(harness: Harness, content: bytes, why: str) -> None:
    document = add_file(harness, content, PDF)
    await harness.store.queue(message("look", parts=[document]))

    await harness.work()
    await harness.work()

    (notice,) = harness.seen.ephemerals
    assert why in notice.text


def waiting_program(tmp_path: Path) -> Path:
    """A reader that never finishes a document that says so."""
    program = tmp_path / "waiting.py"
    program.write_text(
        "import sys, time\nwords = sys.stdin.read()\ntime.sleep(60 * words.startswith('wait'))\nprint('=' + words)\n"
    )
    return program


async def test_only_a_document_with_a_reader_is_fetched(
    harness: Harness, tmp_path: Path, wait_until: Callable[..., Awaitable[None]]
) -> None:
    reader = replace(harness.parts().turns.deps.parts, documents=Documents(program=waiting_program(tmp_path)))
    waiting = [
        add_file(harness, b"wait", file(f"{number}.docx", id=f"F{number}", filetype="docx", mode="hosted"))
        for number in range(20)
    ]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reader.below("", waiting[first : first + 5])) for first in range(0, 20, 5)]
        await wait_until(lambda: len(harness.seen.called("download")) == AT_ONCE, "each reader has a document")
        await harness.wires.web.hello()  # a later request has arrived
        assert len(harness.seen.called("download")) == AT_ONCE
        for task in tasks:
            task.cancel()


async def test_files_fetched_at_once_are_limited(harness: Harness, wait_until: Callable[..., Awaitable[None]]) -> None:
    reader = replace(harness.parts().turns.deps.parts, fetched=asyncio.Semaphore(10))
    hang = Hang()
    harness.slack.faults.on("download", hang, times=None)
    files = [add_file(harness, b"red", file(f"{n}.txt", id=f"F{n}", size=5000)) for n in range(30)]

    def fetched() -> int:
        return len(harness.seen.called("download"))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reader.below("", files[n : n + 5])) for n in range(0, 30, 5)]
        await wait_until(lambda: fetched() == 10, "the limit is reached")
        await harness.wires.web.hello()  # a later request has arrived
        assert fetched() == 10
        hang.until.set()
        found = "".join([(await task).text for task in tasks])

    assert found.count("red") == 30
