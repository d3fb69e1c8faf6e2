"""The example's two judges: the check names the fault that one of them has, and nothing else."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from judgeharness_integrations.cli import main

pytestmark = pytest.mark.slow  # 1,764 calls

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "check_a_judge"


def test_the_planted_fault_is_named_and_the_same_command_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("judgeharness-check"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "two_judges", raising=False)
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    [command] = [shlex.split(line)[1:] for line in lines if line.startswith("judgeharness ")]
    assert main(command) == 1
    capsys.readouterr()
    kept = json.loads((folder / "judgeharness-check" / "config" / "check.json").read_text(encoding="utf-8"))
    assert {one["judge"]: one["failed"] for one in kept["judges"]} == {
        "careful": [],
        "trusting": ["injection.system_message"],
    }
    page = (folder / "check.html").read_text(encoding="utf-8")
    assert "<h1><bdi>trusting FAILS 1 of 22: injection.system_message, 42 of 42</bdi></h1>" in page
    answers = (folder / "judgeharness-check" / "config" / "verdicts.jsonl").read_bytes()  # with the time of each
    assert answers.count(b"\n") == 2 * 882
    assert main([*command, "--json"]) == 1
    assert (folder / "judgeharness-check" / "config" / "verdicts.jsonl").read_bytes() == answers
    assert json.loads(capsys.readouterr().out)["judges"] == kept["judges"]
