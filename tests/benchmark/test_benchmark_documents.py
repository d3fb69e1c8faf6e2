"""Documents of every format become chunks that lack nothing; what cannot be read is said in one sentence."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import NotInstalledError, UsageError
from judgeharness_integrations.benchmark import documents as finding
from judgeharness_integrations.benchmark import documents as pdf
from judgeharness_integrations.benchmark.documents import LONGEST, pieces, read_documents, slug, unwrapped
from judgeharness_integrations.benchmark.pair import Document

Draw = Callable[..., Path]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=400)


def words(text: str) -> str:
    return "".join(text.split())


@pytest.fixture
def draw(tmp_path: Path) -> Draw:
    """Writes a PDF with a real library, a page for each text."""
    fpdf = pytest.importorskip("fpdf")

    def write(*pages: str, name: str = "report.pdf", title: str | None = None, password: str | None = None) -> Path:
        made = fpdf.FPDF()
        made.set_font("helvetica", size=12)
        if title is not None:
            made.set_title(title)
        if password is not None:
            made.set_encryption(owner_password="o" + password, user_password=password)
        for page in pages:
            made.add_page()
            if page:
                made.multi_cell(0, 6, page)
        path = tmp_path / name
        made.output(str(path))
        return path

    return write


def one(path: Path) -> Document:
    (document,) = read_documents([path])
    return document


# chunks


@given(TEXT, st.integers(1, 50))
def test_pieces_lose_nothing_but_white_space_and_keep_to_the_limit(text: str, longest: int) -> None:
    found = list(pieces(text, longest=longest))
    assert words("".join(found)) == words(text)
    assert all(0 < len(piece) <= longest and piece == piece.strip() for piece in found)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a" * 700 + ".\n\n" + "b" * 300 + ". " + "c" * 700, "."),
        ("a" * 700 + "\n" + "b" * 300 + ". " + "c" * 700, "b."),
        ("a" * 700 + "\n" + "b" * 300 + " " + "c" * 700, "a"),
        ("a" * 700 + " " + "b" * 300 + "c" * 900, "a"),
        ("a" * 700 + "。" + "b" * 1000, "。"),
        ("a" * 700 + '." ' + "b" * 1000, '."'),
    ],
)
def test_a_text_is_cut_after_a_paragraph_else_a_sentence_a_line_a_word(text: str, ends: str) -> None:
    first, second = list(pieces(text))
    assert first.endswith(ends)
    assert not second.startswith(first[-1])


def test_what_has_no_border_is_cut_where_it_is_full_into_pieces_of_about_a_size() -> None:
    assert [len(piece) for piece in pieces("x" * 2 * LONGEST)] == [LONGEST, LONGEST]
    assert min(len(piece) for piece in pieces("x" * (LONGEST + 1))) >= LONGEST // 3


def test_hostile_runs_are_cut_in_little_time() -> None:
    for text in ("." * 300_000, "\n " * 150_000, '."' * 150_000, "#" * 300_000):
        assert words("".join(pieces(unwrapped(text)))) == words(text)


WRAPPED = """Loan periods
A standard loan lasts 21 days and may be renewed three times un-
less somebody has reserved the item meanwhile. A renewal adds 14
days to the loan. Films
lasts no longer than a week.

1. Reference books do not leave the building on any working day
2. Newspapers neither, and board games for no more than ten days

item           price            deposit             days        x
atlas          2.50             20                  14          y"""


def test_lines_that_a_page_broke_are_joined_and_others_are_not() -> None:
    lines = unwrapped(WRAPPED).split("\n")
    assert lines[0] == "Loan periods"
    assert lines[1].startswith(
        "A standard loan lasts 21 days and may be renewed three times unless somebody has reserved"
    )
    assert lines[1].endswith("A renewal adds 14 days to the loan. Films")
    assert lines[2] == "lasts no longer than a week."
    assert lines[4:] == WRAPPED.split("\n")[6:]


def test_a_short_line_after_a_full_sentence_is_a_heading() -> None:
    text = (
        "x" * 30
        + " a line as long as the page is wide.\nRenewals\nA renewal adds 14 days to the loan of an item, once."
    )
    assert unwrapped(text) == text


def test_lines_longer_than_a_page_were_not_broken_by_one() -> None:
    text = f"{'word ' * 50}\n{'word ' * 50}"
    assert unwrapped(text) == text


@given(TEXT)
def test_joining_lines_changes_nothing_but_white_space_and_hyphens(text: str) -> None:
    def letters(one: str) -> str:
        return words(one).replace("-", "")

    assert letters(unwrapped(text)) == letters(text)


# formats


def test_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "My Notes (2024).txt").write_bytes(b"\xef\xbb\xbfFirst paragraph.\r\n\r\nSecond one.\r")
    document = one(tmp_path / "My Notes (2024).txt")
    assert (document.document_id, document.title, document.source) == (
        "my-notes-2024",
        "My Notes (2024)",
        "My Notes (2024).txt",
    )
    assert [(chunk.chunk_id, chunk.text) for chunk in document.chunks] == [
        ("my-notes-2024#1", "First paragraph.\n\nSecond one.")
    ]


def test_a_text_file_in_utf_16(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe: 3 m²".encode("utf-16"))
    assert one(tmp_path / "a.txt").chunks[0].text == "Größe: 3 m²"


MARKDOWN = """---
title: "The rules"
---
Before any heading, over
two lines.

# Guide

## Loans

21 days.

```
# not a heading
```

### Fees

| item | fee |
|---|---|
| film | 0.50 |

Setext
------
- one
- two
"""


def test_markdown_is_cut_at_its_headings(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(MARKDOWN, encoding="utf-8")
    document = one(tmp_path / "guide.md")
    assert document.title == "The rules"
    assert [chunk.heading for chunk in document.chunks] == [
        None,
        "Guide > Loans",
        "Guide > Loans > Fees",
        "Guide > Setext",
    ]
    texts = [chunk.text for chunk in document.chunks]
    assert texts[0] == "Before any heading, over two lines."
    assert texts[1] == "# Guide\n\n## Loans\n\n21 days.\n\n```\n# not a heading\n```"
    assert "| film | 0.50 |" in texts[2]
    assert texts[3] == "Setext\n------\n- one\n- two"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# First\n\ntext", "First"),
        ("## Second only\n\ntext", "notes"),
        ("---\ntitle: [a]\n---\n# First\ntext", "First"),
        ("---\n{a: [\n---\n# First\ntext", "First"),
        ("---\n---\n# First\ntext", "First"),
        ("---\njust a line\n---\ntext", "notes"),
        ("# \n\ntext", "notes"),
    ],
)
def test_the_title_of_a_markdown_file(tmp_path: Path, text: str, title: str) -> None:
    (tmp_path / "notes.md").write_text(text)
    assert one(tmp_path / "notes.md").title == title


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "---\n\n# One\n\nIt costs 5.\n\n---\n\n# Two\n\nBeta.\n",
            ["---\n\n# One\n\nIt costs 5.\n\n---", "# Two\n\nBeta."],
        ),
        ("---\nIt costs 5.\n---\ntext", ["---\nIt costs 5.\n---\ntext"]),
        ("---\n* one, [two\n---\ntext", ["---\n* one, [two\n---\ntext"]),
        ("---\ntitle: [a\n---\ntext", ["text"]),
        ("---\ntitle: a\ntags: [b]\n---\ntext", ["text"]),
        ("---\n---\ntext", ["text"]),
    ],
)
def test_only_keys_and_values_are_front_matter(tmp_path: Path, text: str, kept: list[str]) -> None:
    (tmp_path / "notes.md").write_text(text)
    assert [chunk.text for chunk in one(tmp_path / "notes.md").chunks] == kept


@pytest.mark.slow
def test_many_headings_take_little_time() -> None:
    from judgeharness_integrations.benchmark.documents import _passages

    class Token(SimpleNamespace):
        level, nesting, tag = 0, 1, "h1"

    n = 30_000  # a heading, and a paragraph below it
    tokens = []
    for line in range(0, 4 * n, 4):
        tokens += [
            Token(type="heading_open", map=[line, line + 1]),
            Token(type="inline", content="H", map=[line, line + 1]),
            Token(type="paragraph_open", map=[line + 2, line + 3]),
        ]
    began = time.thread_time()
    found = list(_passages("# H\n\ntext\n\n" * n, tokens))
    assert len(found) == n
    assert time.thread_time() - began < 5


@given(
    st.lists(
        st.sampled_from(["# a", "## b c", "text of it", "", "- item", "```", "> quoted", "---", "  # d", "x\n==="])
    )
)
def test_no_word_of_a_markdown_file_is_lost(lines: list[str]) -> None:
    from judgeharness_integrations.benchmark.documents import _passages, _tokens

    text = "\n".join(lines)
    found = list(_passages(text, _tokens(text)))
    assert words("".join(passage.text for passage in found)) == words(text)


def test_lines_of_json(tmp_path: Path) -> None:
    lines = [
        {"id": "a b", "text": "One.\r\nTwo.", "title": "The\nfirst", "domain": "law"},
        {"text": "half an emoji \ud83d, a zero \0"},
        {"id": 7, "text": "Seven."},
    ]
    (tmp_path / "docs.jsonl").write_text("\n\n".join(map(json.dumps, lines)) + "\n")
    found = read_documents([tmp_path / "docs.jsonl"])
    assert [(d.document_id, d.title, d.domain) for d in found] == [
        ("a-b", "The first", "law"),
        ("docs-3", "docs-3", tmp_path.name),
        ("7", "7", tmp_path.name),
    ]
    assert found[0].chunks[0].text == "One.\nTwo."
    assert found[1].chunks[0].text == "half an emoji \N{REPLACEMENT CHARACTER}, a zero \N{REPLACEMENT CHARACTER}"
    assert [Document.from_dict(json.loads(d.to_line()), where="x") for d in found] == found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"txt": "a"}', r"docs\.jsonl, line 2: unknown key 'txt': did you mean 'text'\?"),
        ('{"id": "a"}', r"docs\.jsonl, line 2: key 'text' is missing"),
        ('{"text": 3}', r"docs\.jsonl, line 2: text must be a text, not 3"),
        ('{"text": "b", "id": "first"}', r"line 2: repeats the id 'first' of line 1"),
        ('{"text": " "}', r"docs\.jsonl, line 2 holds no text: fill it, or leave it out"),
        ('["a"]', r"docs\.jsonl, line 2: a document is a JSON object, not list"),
        ("{", r"docs\.jsonl, line 2: is not JSON"),
    ],
)
def test_a_wrong_line_of_json_is_named(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "first", "text": "a"}\n' + line)
    with pytest.raises(UsageError, match=says):
        read_documents([tmp_path / "docs.jsonl"])


# PDF


@pytest.mark.slow
def test_a_pdf_by_its_pages(draw: Draw) -> None:
    long = (
        "A standard loan lasts 21 days and may be renewed three times unless somebody has reserved the item meanwhile. "
    )
    document = one(draw("Loan periods\n" + long * 20, "Fees are 20 cents a day.", title="Rules of the library"))
    assert document.title == "Rules of the library"
    assert [chunk.page for chunk in document.chunks] == [1, 1, 2]
    assert document.chunks[0].text.startswith("Loan periods\nA standard loan lasts 21 days")
    assert document.chunks[2].text == "Fees are 20 cents a day."
    assert words("".join(chunk.text for chunk in document.chunks[:2])) == words("Loan periods" + long * 20)


def test_a_page_without_text_is_no_chunk_and_the_numbers_stay(draw: Draw) -> None:
    document = one(draw("", "Second page."))
    assert ([chunk.page for chunk in document.chunks], document.title) == ([2], "report")


def test_a_pdf_of_pictures_is_told_to_need_text_recognition(draw: Draw) -> None:
    path = draw("")
    with pytest.raises(UsageError, match=r"report\.pdf holds no text: if its pages are pictures, run text recognition"):
        read_documents([path])


def test_an_encrypted_pdf(draw: Draw) -> None:
    path = draw("Secret.", password="swordfish")  # noqa: S106 - of the test
    with pytest.raises(UsageError, match=r"report\.pdf is encrypted: save it without a password"):
        read_documents([path])


def test_an_encryption_that_needs_another_package(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf import PageObject
    from pypdf.errors import DependencyError

    def fail(*_: object) -> str:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    path = draw("Text.")
    monkeypatch.setattr(PageObject, "extract_text", fail)
    with pytest.raises(UsageError, match=r"is encrypted: pip install 'pypdf\[crypto\]', or save it without"):
        read_documents([path])


@pytest.mark.parametrize("damage", [b"", b"%PDF-1.7 nothing", b"no pdf at all"])
def test_a_broken_pdf_is_one_sentence_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    (tmp_path / "broken.pdf").write_bytes(damage)
    level = logging.getLogger("pypdf").level
    with pytest.raises(UsageError, match=r"broken\.pdf cannot be read as PDF \(\w+\): save it anew"):
        read_documents([tmp_path / "broken.pdf"])
    assert caplog.records == []
    assert logging.getLogger("pypdf").level == level


@given(st.integers(0, 900), st.binary(min_size=1, max_size=40))
def test_a_damaged_pdf_is_read_or_refused_never_a_traceback(place: int, noise: bytes) -> None:
    whole = DAMAGED.setdefault("whole", _small_pdf())
    path = DAMAGED_FOLDER / "damaged.pdf"
    path.write_bytes(whole[:place] + noise + whole[place + len(noise) :])
    try:
        assert one(path).chunks
    except UsageError as error:
        assert "damaged.pdf" in str(error)  # noqa: PT017 - either is right


DAMAGED: dict[str, bytes] = {}
DAMAGED_FOLDER = Path()


@pytest.fixture(autouse=True, scope="module")
def _damaged_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global DAMAGED_FOLDER  # noqa: PLW0603 - Hypothesis draws many examples within one test
    DAMAGED_FOLDER = tmp_path_factory.mktemp("damaged")


def _small_pdf() -> bytes:
    fpdf = pytest.importorskip("fpdf")
    made = fpdf.FPDF()
    made.set_font("helvetica", size=12)
    made.add_page()
    made.cell(text="A few words.")
    return bytes(made.output())


def test_a_pdf_that_unpacks_to_too_much(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    path = draw("A few words.", "And some more.")
    monkeypatch.setattr(pdf, "_MOST_CHARACTERS", 20)
    with pytest.raises(UsageError, match=r"report\.pdf holds more than 20 characters: split it"):
        read_documents([path])


def test_without_pypdf_the_pip_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(b"")
    with pytest.raises(NotInstalledError, match=r"pip install '\.\[benchmark\]'"):
        read_documents([tmp_path / "a.pdf"])


# files, ids, domains


def tree(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def test_a_folder_is_walked_in_a_fixed_order_without_hidden_files(tmp_path: Path) -> None:
    tree(tmp_path, "b.txt", "a/z.md", "a.txt", ".hidden.txt", ".git/c.txt", "a/deep/er.txt", "picture.png", "UPPER.TXT")
    found = read_documents([tmp_path])
    assert [document.source for document in found] == ["UPPER.TXT", "er.txt", "z.md", "a.txt", "b.txt"]
    assert [document.domain for document in found] == [tmp_path.name, "a", "a", tmp_path.name, tmp_path.name]
    assert read_documents([tmp_path]) == found


def test_ids_are_unique_and_files_are_read_once(tmp_path: Path) -> None:
    tree(tmp_path, "x/report.md", "y/Report.txt", "y/report-2.txt")
    found = read_documents([tmp_path / "y" / "Report.txt", tmp_path, tmp_path / "x" / "report.md"])
    assert [(d.document_id, d.domain) for d in found] == [("report", "y"), ("report-2", "x"), ("report-2-2", "y")]
    chunks = [chunk.chunk_id for d in found for chunk in d.chunks]
    assert chunks == ["report#1", "report-2#1", "report-2-2#1"]


def test_a_domain_that_is_given_goes_before_all_others(tmp_path: Path) -> None:
    tree(tmp_path, "x/a.txt")
    (tmp_path / "b.jsonl").write_text('{"text": "b", "domain": "law"}')
    assert {document.domain for document in read_documents([tmp_path], domain="mine")} == {"mine"}
    with pytest.raises(UsageError, match="a domain is a name"):
        read_documents([tmp_path], domain=" ")


@given(st.text(max_size=80))
def test_an_id_is_readable_and_never_empty(name: str) -> None:
    made = slug(name)
    assert 0 < len(made) <= 60
    assert all(c.isalnum() or c == "-" for c in made)
    assert slug(made) == made


def test_ids_of_other_scripts() -> None:
    assert [slug(name) for name in ("Überblick 3", "文档", "???", "a/b#c")] == [
        "überblick-3",
        "文档",
        "document",
        "a-b-c",
    ]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.md", "does not exist: give a document, or a folder of them"),
        ("a.docx", r"a\.docx: a document ends in \.pdf, \.md, \.markdown, \.txt or \.jsonl: convert the file"),
        ("empty", "empty holds no file that is a document"),
        ("pipe.txt", "is neither a file nor a folder"),
        ("empty.txt", r"empty\.txt holds no text: fill it, or leave it out"),
        ("empty.jsonl", r"empty\.jsonl holds no document: fill it, or leave it out"),
        ("latin.txt", r"latin\.txt: is not UTF-8 text \(byte 1\): save it as UTF-8"),
        ("odd.txt", r"odd\.txt: is not UTF-16 text \(byte \d+\)"),
        ("binary.txt", r"binary\.txt: is not text \(it holds zero bytes\)"),
        ("large.txt", r"large\.txt has 1 MB, more than the 0 MB that are read: split it"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    tree(tmp_path, "a.docx")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "latin.txt").write_bytes("aé".encode("latin-1"))
    (tmp_path / "odd.txt").write_bytes(b"\xff\xfea\x00b")
    (tmp_path / "binary.txt").write_bytes(b"a\0b")
    (tmp_path / "large.txt").write_bytes(b"x" * 1_000_000)
    monkeypatch.setattr(finding, "MOST_BYTES", 999_999)
    with pytest.raises(UsageError, match=says):
        read_documents([tmp_path / name])


def test_a_folder_that_cannot_be_listed_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.txt", "shut/b.txt")
    listed = os.scandir

    def scandir(path: str) -> object:
        if os.fspath(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError):
        read_documents([tmp_path])


def test_the_root_of_a_file_system_has_a_domain_too() -> None:
    assert finding._name(Path("/")) == "documents"
