"""The shell completes commands and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from judgeharness_integrations.cli import main

BASH = Path("/bin/bash")


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what bash offers at the end of a line, as it asks for it."""
    words = line.split(" ")
    for name, value in {
        "_JUDGEHARNESS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    return capsys.readouterr().out.split()


def test_commands_and_options_are_offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert {"rank", "replay", "report", "run", "runs"} <= set(completed("judgeharness r", monkeypatch, capsys))
    assert "--fail-under" in completed("judgeharness report --fail", monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.skipif(not BASH.exists(), reason="no bash")
def test_the_script_is_one_that_bash_takes() -> None:
    line = f"'{Path(sys.executable).with_name('judgeharness')}' --show-completion bash; echo code $?"
    shown = subprocess.run(  # noqa: S603 - our own command
        [str(BASH), "-c", line], capture_output=True, text=True, check=False, timeout=110, env=dict(os.environ)
    ).stdout
    script, _, code = shown.rpartition("code ")
    assert code == "0\n"
    assert "complete -o default -F _judgeharness_completion judgeharness" in script
    assert subprocess.run([str(BASH), "-n"], input=script, text=True, check=False, timeout=60).returncode == 0  # noqa: S603
