"""The ADK agent of `examples/`, evaluated offline by the real command in a copy of its folder."""

from __future__ import annotations

import contextlib
import csv
import shutil
import subprocess
import sys
from pathlib import Path

from support.adk_offline import isolated_adk, known_warnings, process_environment

__all__ = ["copy_example", "evaluate_example", "evaluate_example_here", "fill_sheet"]

_EXAMPLES = Path(__file__).parents[2] / "examples"
_COMMAND = ("eval", "examples/adk_agent", "examples/adk_agent/weather.test.json", "--print_detailed_results")


def copy_example(folder: Path) -> Path:
    """Copy the example to where the README has it, and return the agent's folder."""
    return Path(shutil.copytree(_EXAMPLES / "adk_agent", folder / "examples" / "adk_agent"))


def evaluate_example(folder: Path, *, expected_code: int = 1) -> str:
    """Run the README's `adk eval` in a folder that holds a copy, and return what it printed."""
    done = subprocess.run(  # noqa: S603 - the command is ADK's
        [sys.executable, str(Path(sys.executable).with_name("adk")), *_COMMAND],
        env=process_environment(folder / "home", {}),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == expected_code, done.stderr
    return done.stdout


def evaluate_example_here(folder: Path) -> None:
    """Do the same in this process, which has imported ADK: for those to whom its results matter, not its words."""
    from click.testing import CliRunner
    from google.adk.cli.cli_tools_click import main

    with isolated_adk(folder), contextlib.chdir(folder), known_warnings():
        result = CliRunner().invoke(main, _COMMAND, catch_exceptions=False)
    assert result.exit_code == 1, result.stderr


def fill_sheet(sheet: Path, to: Path) -> Path:
    """Label a sheet of the example's as people would: a guess says nothing about what to wear."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        guessed = line["criterion"] == "says_what_to_wear" and "may want" in line["output"]
        line["gold"] = "FAIL" if guessed else "PASS"
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return to
