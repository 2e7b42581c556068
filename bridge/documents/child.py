"""Read one document from standard input and write its text: ``child.py FORMAT BYTES PAGES SECONDS``.

A separate program, started by `bridge.documents`: it imports nothing of the bridge, and limits itself before it reads a
byte. The output starts with ``+`` if the document has more text, otherwise with ``=``. Exit codes: 1 unreadable, 3
needs a password.

Zip contents are read in pieces, as they may unpack to more than fits into memory; XML with a document type is rejected,
because entities can make it endless.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import zipfile
from collections.abc import Callable
from xml.parsers import expat

with contextlib.suppress(ImportError):  # not on Windows
    import resource

MEMORY = 600_000_000
LOCKED = 3
_BLANKS = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n"}
_PIECE = 65_536
_MOST_XML = 100_000_000  # bytes, unpacked
_MOST_CELLS = 20_000


class _LimitReached(Exception):
    """The text is as long as allowed."""


class _Text:
    """The text so far, up to *most* bytes."""

    def __init__(self, most: int) -> None:
        self.pieces: list[str] = []
        self.is_cut = False
        self._room = most

    def add(self, words: str) -> None:
        size = len(words.encode(errors="replace"))
        if size > self._room:
            self.pieces.append(words.encode(errors="replace")[: self._room].decode(errors="ignore"))
            self.is_cut = True
            raise _LimitReached
        self._room -= size
        self.pieces.append(words)


def _pdf(content: bytes, text: _Text, pages: int) -> None:
    import pypdf  # noqa: PLC0415 - the extra

    reader = pypdf.PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit(LOCKED)
    for number, page in enumerate(reader.pages):
        if number >= pages:
            text.is_cut = True
            return
        if number:
            text.add("\n\n")
        text.add((page.extract_text() or "").strip())


def _parsed(
    archive: zipfile.ZipFile,
    name: str,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    data: Callable[[str], None],
) -> None:
    """Parse an XML file of *archive* with callbacks, which get names without their namespace. Raises ValueError."""

    def refuse(*_doctype: object) -> None:
        raise ValueError("a document type")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: start(
        tag.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in attributes.items()}
    )
    parser.EndElementHandler = lambda tag: end(tag.rpartition(" ")[2])
    parser.CharacterDataHandler = data
    read = 0
    with archive.open(name) as file:
        while piece := file.read(_PIECE):
            read += len(piece)
            if read > _MOST_XML:
                raise ValueError("too large")
            parser.Parse(piece, False)
        parser.Parse(b"", True)


def _flowing(archive: zipfile.ZipFile, name: str, text: _Text, *, holds_text: frozenset[str]) -> None:
    """Read paragraphs and tables of Word, PowerPoint or OpenDocument; *holds_text* are the elements with text."""
    inside: list[str] = []
    cells: list[bool] = []  # for each open table, whether its row has cells

    def start(tag: str, attributes: dict[str, str]) -> None:
        inside.append(tag)
        match tag:
            case _ if tag in _BLANKS:
                text.add(_BLANKS[tag])
            case "s":
                text.add(" " * min(int(attributes.get("c", "1") or 1), 100))
            case "tbl" | "table":
                cells.append(False)
            case "tr" | "table-row" if cells:
                cells[-1] = False
            case "tc" | "table-cell" if cells:
                if cells[-1]:
                    text.add(" | ")
                cells[-1] = True

    def end(tag: str) -> None:
        if inside:
            inside.pop()
        match tag:
            case "p" | "h":
                text.add(" " if cells else "\n")
            case "tr" | "table-row":
                text.add("\n")
            case "tbl" | "table" if cells:
                cells.pop()

    def data(words: str) -> None:
        if holds_text & {*inside[-8:]} and not {"delText", "instrText"} & {*inside[-2:]}:
            text.add(words)

    _parsed(archive, name, start, end, data)


def _shared_strings(archive: zipfile.ZipFile) -> list[str]:
    """Read the strings that a workbook's cells refer to."""
    strings: list[list[str]] = []
    inside: list[str] = []

    def start(tag: str, _attributes: dict[str, str]) -> None:
        inside.append(tag)
        if tag == "si":
            if len(strings) > 10 * _MOST_CELLS:
                raise _LimitReached
            strings.append([])

    def end(_tag: str) -> None:
        inside.pop()

    def data(words: str) -> None:
        if strings and inside and inside[-1] == "t" and "rPh" not in inside:
            strings[-1].append(words)

    if "xl/sharedStrings.xml" in archive.namelist():
        with contextlib.suppress(_LimitReached):
            _parsed(archive, "xl/sharedStrings.xml", start, end, data)
    return ["".join(runs) for runs in strings]


def _sheet(archive: zipfile.ZipFile, name: str, text: _Text, strings: list[str]) -> None:
    """Read a sheet of a workbook, with tabs between cells."""
    row: list[str] = []
    value: list[str] = []
    kind = inside = ""
    cells = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal kind, inside
        inside = tag
        if tag == "c":
            kind = attributes.get("t", "")
            column = 0
            for letter in re.match(r"[A-Z]{0,3}", attributes.get("r", "") or "")[0]:  # type: ignore[index]
                column = 26 * column + ord(letter) - 64
            row.extend([""] * max(0, min(column, 200) - 1 - len(row)))
            value.clear()

    def end(tag: str) -> None:
        nonlocal inside, cells
        inside = ""
        if tag == "c":
            words = "".join(value)
            if kind == "s":
                words = strings[int(words)] if words.isdecimal() and int(words) < len(strings) else ""
            row.append(" ".join(words.split()))
            cells += 1
            if cells > _MOST_CELLS:
                text.is_cut = True
                raise _LimitReached
        elif tag == "row":
            if any(row):
                text.add("\t".join(row).rstrip() + "\n")
            row.clear()

    def data(words: str) -> None:
        if inside in {"v", "t"}:
            value.append(words)

    _parsed(archive, name, start, end, data)


def _office(content: bytes, kind: str, text: _Text, pages: int) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if "EncryptedPackage" in archive.namelist():
            sys.exit(LOCKED)
        match kind:
            case "docx":
                _flowing(archive, "word/document.xml", text, holds_text=frozenset({"t"}))
            case "pptx" | "xlsx":
                path, noun = ("ppt/slides/slide", "Slide") if kind == "pptx" else ("xl/worksheets/sheet", "Sheet")
                slides = (re.fullmatch(rf"{path}(\d+)\.xml", name) for name in archive.namelist())
                strings = _shared_strings(archive)
                for number, (_, name) in enumerate(sorted((int(match[1]), match[0]) for match in slides if match), 1):
                    if number > pages:
                        text.is_cut = True
                        return
                    text.add(f"{noun} {number}:\n")
                    if kind == "pptx":
                        _flowing(archive, name, text, holds_text=frozenset({"t"}))
                    else:
                        _sheet(archive, name, text, strings)
                    text.add("\n")
            case _:
                _flowing(archive, "content.xml", text, holds_text=frozenset({"p", "h"}))


def main() -> None:
    """Read the document."""
    kind, most, pages, seconds = sys.argv[1], *map(int, sys.argv[2:5])
    with contextlib.suppress(NameError, ValueError, OSError):  # write no files, and limit time and memory
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content, text = sys.stdin.buffer.read(), _Text(most)
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # OLE: how Office stores documents with a password
        sys.exit(LOCKED)
    with contextlib.suppress(_LimitReached):
        if kind == "pdf":
            _pdf(content, text, pages)
        else:
            _office(content, kind, text, pages)
    words = "".join(text.pieces).strip()
    sys.stdout.buffer.write((("+" if text.is_cut else "=") + words).encode(errors="replace"))


if __name__ == "__main__":
    main()
