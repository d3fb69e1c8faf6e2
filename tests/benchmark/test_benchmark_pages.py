"""What docs/answers/benchmark.md shows is what its commands print."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from support.audited_pairs import label_as_people
from support.benchmark_roles import EXAMPLE, JUDGES
from support.doc_folder import folder_of_a_reader
from support.doc_pages import Block, blocks, commands

from judgeharness_integrations.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.untraced]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder_of_a_reader(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "96")
    monkeypatch.delitem(sys.modules, "house_of_docs", raising=False)
    return tmp_path


def printed_by(block: Block, folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    if block.note.startswith("people label:"):
        label_as_people(folder, *block.note.removeprefix("people label:").split())
    capfd.readouterr()
    for command in commands(block.text):
        sys.stdin = io.StringIO()
        assert main(command.arguments) == command.exit_code, command.arguments
    shown = capfd.readouterr()
    return shown.out + shown.err


def assert_shown(block: Block, printed: str) -> None:
    """Every line stands in what was printed, in that order; `...` is what is left out, a long line comes in parts."""
    place = 0
    for line in block.text.splitlines():
        if line and line != "...":
            found = printed.find(line, place)
            assert found >= 0, f"{block.name}: {line}\n{printed}"
            place = found + len(line)


@pytest.mark.parametrize("page", ["docs/answers/benchmark.md"])
def test_what_a_page_shows_is_what_is_printed(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    printed, compared, follows = "", 0, False
    for block in [block for block in blocks() if block.page == page]:
        if block.kind == "bash" and not block.not_run:
            printed, follows = printed_by(block, folder, capfd), True
        elif block.kind == "text" and follows:
            assert_shown(block, printed)
            compared += 1
        elif block.kind == "python":
            follows = False  # tests/test_docs.py compares what it prints
            if block.text.startswith("# my_judge.py\n"):
                (folder / "my_judge.py").write_text(block.text, encoding="utf-8")
    assert compared >= 1


def test_the_readme_of_the_example_ends_in_the_planted_order(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = (EXAMPLE / "README.md").read_text(encoding="utf-8").splitlines()
    called = commands("\n".join(line for line in lines if line.startswith("judgeharness ")))
    assert [command.arguments[1] for command in called] == ["generate", "judge", "rank"]
    for command in called:
        capfd.readouterr()
        assert main(command.arguments) == 0
    printed = capfd.readouterr().out
    places = [printed.index(f"{rank}     {name}") for rank, name in enumerate(JUDGES, start=1)]
    assert places == sorted(places)
    told = {path.name for path in EXAMPLE.glob("*.*")} - {"README.md"}
    assert all(f"`{name}`" in "\n".join(lines) for name in told | {"documents/", "documents_md/"})
