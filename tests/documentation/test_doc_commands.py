"""Every bash block of the README and of docs/ is run and prints what stands below it, or says why not."""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.audited_pairs import label_as_people
from support.doc_folder import fill_sheet, folder_of_a_reader, runs_to_compare
from support.doc_pages import Block, Command, blocks, commands

from judgeharness_integrations.cli import main

pytestmark = pytest.mark.slow  # some draw, or start a process

README = {  # what a block of the README, which carries no comments, is told by -> why it is not run
    r"^pip install|^python3 -m venv": "it installs; what follows is run on the page of docs/ about it",
    r"^export JUDGEHARNESS_LOG=postgresql": "it needs a PostgreSQL; tests/durability has one",
    r"--engine ray": "tests/ray_executor starts a cluster",
    r"^judgeharness \w+ LOG\b": "it is a synopsis: LOG is yours",
}
PLUGIN = "judgeharness_integrations.testing.pytest_plugin"


def reason(block: Block) -> str:
    """Why a block is not run, empty when it is."""
    if block.page == "README.md":
        return next((why for told, why in README.items() if re.search(told, block.text, re.MULTILINE)), "")
    return block.not_run


def pages_with_commands() -> list[str]:
    return sorted({block.page for block in blocks("bash") if not reason(block)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder_of_a_reader(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("house_of_docs", "house_judge", "my_judges"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def write_files_of(page: str, folder: Path) -> None:
    """Write the Python blocks that begin with the name of a test file, or of a judge."""
    for block in blocks("python"):
        if block.page == page and (name := re.match(r"# ((?:test_\w+|conftest|my_judge)\.py)\n", block.text)):
            (folder / name[1]).write_text(block.text, encoding="utf-8")


def run_pytest(command: Command, folder: Path) -> int:
    installed = {point.value for point in importlib.metadata.entry_points(group="pytest11")}
    plugin = () if PLUGIN in installed else ("-p", PLUGIN)
    line = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *command.arguments]
    return subprocess.run(line, cwd=folder, env=os.environ | command.environment, check=False).returncode  # noqa: S603 - a line of our own pages


def run(command: Command, folder: Path) -> int:
    return main(command.arguments) if command.program == "judgeharness" else run_pytest(command, folder)


@pytest.mark.untraced
@pytest.mark.parametrize("page", list(pages_with_commands()))
def test_commands_of_a_page_end_as_it_says(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_files_of(page, folder)
    for block in blocks("bash"):
        if block.page != page or reason(block):
            continue
        for name in block.note.removeprefix("people fill:").split() if block.note.startswith("people fill:") else ():
            fill_sheet(folder / name)
        if block.note.startswith("people label:"):
            label_as_people(folder, *block.note.removeprefix("people label:").split())
        if block.note.startswith("compared:"):
            runs_to_compare(folder, *block.note.removeprefix("compared:").split())
            capfd.readouterr()
        output = ""
        for command in commands(block.text):
            monkeypatch.setattr(sys, "stdin", io.StringIO("p\nf\nf\n" * 20))  # what an annotator types
            code = run(command, folder)
            printed = capfd.readouterr()
            assert code == command.exit_code, f"{block.name}: {' '.join(command.arguments)}\n{printed.out}{printed.err}"
            assert printed.out or printed.err
            output += printed.out + printed.err
            if "--sheet" in command.arguments and "people fill" not in block.note and "--from-sheet" in block.text:
                fill_sheet(folder / command.arguments[command.arguments.index("--sheet") + 1])
        assert block.unprinted(output) == [], f"{block.name}: {output}"


def test_a_block_that_is_not_run_has_a_reason_and_needs_one() -> None:
    for block in blocks("bash"):
        if not reason(block):
            commands(block.text)  # raises where something else than the command is called
        elif block.page != "README.md":
            assert len(block.not_run) > len("needs"), block.name
    assert sum(not reason(block) for block in blocks("bash")) > 20
