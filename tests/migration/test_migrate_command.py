"""`judgeharness migrate`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("libcst")

from judgeharness_integrations.cli import main
from judgeharness_integrations.cli.scan import write_file
from judgeharness_integrations.migration import modules as sources
from judgeharness_integrations.migration.discovery import ScannedTree
from judgeharness_integrations.migration.modules import Source

JUDGE = 'from langchain.evaluation import load_evaluator\n\njudge = load_evaluator("pairwise_string", llm=llm)\n'
BY_HAND = JUDGE.replace('"pairwise_string"', "kind")
CONFIG = {"criteria": {"final_response_match_v2": {"threshold": 0.5}}}


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("suite.py")
    path.write_text(JUDGE, encoding="utf-8")
    return path


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["migrate", *arguments, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_it_shows_a_diff_and_the_calls_and_writes_nothing(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", ".", "--level", "measured", "--cases", "200"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("--- a/suite.py\n+++ b/suite.py\n@@ -1,3 +1,5 @@\n+from judgeharness_integrations import ")
    assert '\n+judge = harness_evaluator(load_evaluator("pairwise_string", llm=llm), JudgeHarness.standard(' in shown
    row = next(line for line in shown.splitlines() if line.startswith("suite.py"))
    assert row.split() == ["suite.py", "1", "1", "->", "6", "0", "0"]
    assert "200 cases, each judged once by each of these judges: 200 calls before, 1,200 after, 1,000 more." in shown
    assert shown.endswith("Nothing was written; add --write.\n")
    assert suite.read_text(encoding="utf-8") == JUDGE


def test_write_writes_once_and_check_tells(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "suite.py", "--check"]) == 1
    assert suite.read_text(encoding="utf-8") == JUDGE
    assert main(["migrate", "suite.py", "--write"]) == 0
    assert "1 of 1 file written." in capsys.readouterr().out
    written = suite.read_text(encoding="utf-8")
    assert 'JudgeHarness.single("pairwise")' in written
    assert main(["migrate", "suite.py", "--check"]) == 0
    assert "1 judge in 1 of 1 file: 0 to change, 0 by hand, 1 harnessed already (1 call a case).\n" in (
        shown := capsys.readouterr().out
    )
    assert "Nothing to write." in shown
    assert main(["migrate", "suite.py", "--write"]) == 0
    assert suite.read_text(encoding="utf-8") == written
    assert [path.name for path in suite.absolute().parent.iterdir()] == ["suite.py"]


def test_the_table_is_json_too(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("hand.py").write_text(BY_HAND, encoding="utf-8")
    Path("broken.py").write_text("from langchain.evaluation import load_evaluator as (\n", encoding="utf-8")
    document = as_json(capsys, ".", "--level", "measured", "--cases", "10")
    assert document["schema"] == "judgeharness.migrate/1"
    assert document["files_read"] == 2
    by_name = {one["path"]: one for one in document["files"]}
    assert by_name["suite.py"]["changes"] == [
        {
            "line": 3,
            "framework": "langchain",
            "kind": "pairwise_string",
            "action": "wrapped",
            "calls_before": 1,
            "calls_after": 6,
        }
    ]
    assert by_name["hand.py"]["by_hand"][0]["line"] == 3
    assert by_name["suite.py"]["diff"].startswith("--- a/suite.py")
    assert document["totals"] == {
        "files_changed": 1,
        "judges_changed": 1,
        "by_hand": 1,
        "already_harnessed": 0,
        "calls_a_case_before": 1,
        "calls_a_case_after": 6,
        "judges_with_unknown_calls": 0,
        "cases": 10,
        "extra_calls": 50,
    }
    assert document["unreadable"][0]["line"] == 1
    assert document["written"] == []
    assert as_json(capsys, "suite.py", "--write")["written"] == ["suite.py"]


def test_judges_left_to_their_author_and_files_that_cannot_be_read_are_named(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.write_text(BY_HAND, encoding="utf-8")
    Path("broken.py").write_text("from langchain.evaluation import load_evaluator as (\n", encoding="utf-8")
    assert main(["migrate", "."]) == 0
    shown = capsys.readouterr().out
    assert "by hand: suite.py:3 unknown: which evaluator it is, only running the code tells: wrap it where" in shown
    assert "not read: broken.py:1: it cannot be parsed as Python 3." in shown
    assert "1 judge in 1 of 1 file: 0 to change, 1 by hand" in shown


def test_unknown_calls_are_counted_apart(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(
        "from judgeharness_integrations import JudgeHarness\nx = JudgeHarness.single(shape())\n", encoding="utf-8"
    )
    assert main(["migrate", ".", "--level", "measured"]) == 0
    shown = capsys.readouterr().out
    assert "0 -> 0 (+ 1 unknown)" in shown
    assert "the calls of 1 judge are unknown." in shown


def test_a_config_says_what_is_not_quite_the_same(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.rename("agent.py").write_text("root_agent = None\n", encoding="utf-8")
    Path("test_config.json").write_text(json.dumps(CONFIG, indent=1), encoding="utf-8")
    assert main(["migrate", ".", "--write"]) == 0
    shown = capsys.readouterr().out
    assert "note: test_config.json: ADK folded the samples of a verdict by majority" in shown
    assert "which now fails the eval: of a judge whose answers cannot be read ADK said NOT_EVALUATED" in shown
    assert "1 judge in 2 of 2 files: 1 to change" in shown
    assert "judgeharness_adk.register()" in Path("agent.py").read_text(encoding="utf-8")
    assert main(["migrate", ".", "--check"]) == 0


def test_what_an_app_has_to_do_is_no_judge(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.unlink()
    Path("test_config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    assert main(["migrate", "."]) == 0
    shown = capsys.readouterr().out
    assert "by hand: test_config.json:1 register" in shown
    assert "1 judge in 1 of 1 file: 1 to change, 1 by hand (1 app to register, no judge), 0 harnessed" in shown
    row = next(line for line in shown.splitlines() if line.startswith("test_config.json"))
    assert row.split()[-2:] == ["1", "0"]
    document = as_json(capsys, ".")
    assert document["totals"]["by_hand"] == len(document["files"][0]["by_hand"]) == 1


def test_on_a_terminal_the_diff_has_colours_and_nothing_that_steers_it(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.write_text(f"{JUDGE}\ntext = '\x1b]0;owned\x07'\n", encoding="utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["migrate", "."]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[32m+from judgeharness_integrations import JudgeHarness" in shown
    assert "\x1b]0;" not in shown
    assert "\ufffd]0;owned\ufffd" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing"], "missing does not exist: name a file or a folder."),
        (["suite.py", "--level", "mesured"], "'mesured' is not one of 'single', 'measured'"),
        (["suite.py", "--write", "--check"], "--check writes nothing: leave out --check or --write."),
        (["suite.py", "--cases", "0"], "--cases"),
    ],
)
def test_wrong_usage_is_one_sentence(
    suite: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["migrate", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_the_only_file_that_cannot_be_parsed_is_an_error(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text("from langchain.evaluation import load_evaluator as (\n", encoding="utf-8")
    assert main(["migrate", "suite.py"]) == 2
    assert "suite.py:1: it cannot be parsed as Python 3." in capsys.readouterr().err


def test_without_libcst_the_pip_line_is_named(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert main(["migrate", "suite.py"]) == 2
    assert "pip install '.[migration]'" in capsys.readouterr().err


def test_without_libcst_nothing_is_imported_that_needs_it(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith(("libcst", "judgeharness_integrations.migration.rew"))]:
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises
    monkeypatch.delitem(sys.modules, "judgeharness_integrations.cli.scan", raising=False)
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert main(["migrate", "suite.py"]) == 2
    assert "pip install '.[migration]'" in capsys.readouterr().err


@pytest.mark.slow
def test_what_harnessed_judges_cost_is_said(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = JUDGE.replace("load_evaluator\n", "load_evaluator, load_evaluators\n")
    suite.write_text(
        f'{loaded}both = load_evaluators(["qa", "criteria"], llm=llm)\n'
        'three = [load_evaluator("criteria", criteria=one, llm=llm) for one in ("a", "b", "c")]\n',
        encoding="utf-8",
    )
    for level, before, after in (("single", "6 calls", 6), ("measured", "6 calls", 36)):
        assert main(["migrate", ".", "--level", level, "--write"]) == 0
        assert f"those to change: {before} a case before, {after} after." in capsys.readouterr().out
        assert main(["migrate", ".", "--level", level]) == 0
        shown = capsys.readouterr().out
        assert (
            f"4 judges in 1 of 1 file: 0 to change, 0 by hand, 4 harnessed already ({after} calls a case).\n" in shown
        )
        assert "before" not in shown


@pytest.mark.parametrize(
    ("harness", "said"),
    [
        ('JudgeHarness.quick("pairwise")', " (2 calls a case)"),
        ('JudgeHarness.standard("pairwise", repetitions=2)', " (4 calls a case)"),
        ('JudgeHarness.standard("pairwise", perturbations=["none"])', " (3 calls a case)"),
        ('JudgeHarness.standard("pairwise", repetitions=often)', ""),
        ('JudgeHarness.standard("pairwise", perturbations=those)', ""),
        ("JudgeHarness.standard(shape)", ""),
        ('JudgeHarness.standard("pairwise", **options)', ""),
        ("harness", ""),
    ],
)
def test_a_harness_costs_what_its_design_says_or_nothing_is_said(
    suite: Path, capsys: pytest.CaptureFixture[str], harness: str, said: str
) -> None:
    suite.write_text(
        "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langchain import harness_evaluator\n"
        + JUDGE.replace("load_evaluator(", "harness_evaluator(load_evaluator(").replace("llm)", f"llm), {harness})"),
        encoding="utf-8",
    )
    assert main(["migrate", "."]) == 0
    assert f"1 harnessed already{said}.\n" in capsys.readouterr().out


def test_encoding_byte_order_mark_line_endings_and_permissions_stay(suite: Path) -> None:
    dos = "\ufeff# Grüße\r\n" + JUDGE.replace("\n", "\r\n")
    suite.write_bytes(dos.encode())
    suite.chmod(0o750)
    latin = Path("latin.py")
    latin.write_bytes(f"# -*- coding: latin-1 -*-\n# Grüße\n{JUDGE}".encode("latin-1"))
    assert main(["migrate", ".", "--write"]) == 0
    written = suite.read_bytes()
    assert written.startswith(dos.encode()[: len("\ufeff# Grüße\r\n".encode())])
    assert written.count(b"\r\n") == written.count(b"\n") == dos.count("\n") + 2
    assert stat.S_IMODE(suite.stat().st_mode) == 0o750
    assert "# Grüße\n".encode("latin-1") in latin.read_bytes()
    assert b"harness_evaluator(" in latin.read_bytes()


def test_a_link_stays_a_link(suite: Path) -> None:
    Path("link.py").symlink_to(suite)
    assert main(["migrate", "link.py", "--write"]) == 0
    assert Path("link.py").is_symlink()
    assert "harness_evaluator(" in suite.read_text(encoding="utf-8")


def test_a_file_that_changed_meanwhile_is_left_alone(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Source.read

    def read_and_edit(path: Path, *, tree: ScannedTree | None = None) -> Source:
        source = read(path, tree=tree)
        if tree is not None:
            path.write_text("# mine\n", encoding="utf-8")
        return source

    monkeypatch.setattr(Source, "read", read_and_edit)
    assert main(["migrate", "suite.py", "--write"]) == 2
    shown = capsys.readouterr().out
    assert (
        "not written: suite.py: it has changed since it was read, so it stays as it is: run the command again." in shown
    )
    assert "0 of 1 file written." in shown
    assert suite.read_text(encoding="utf-8") == "# mine\n"


def test_a_write_that_fails_leaves_the_old_file_and_no_other(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert write_file(Source.read(suite), "new") == (
        "it cannot be written (No space left on device), so it stays as it is."
    )
    assert [path.name for path in suite.absolute().parent.iterdir()] == ["suite.py"]
    assert suite.read_text(encoding="utf-8") == JUDGE


def test_a_text_the_encoding_cannot_hold_is_refused(suite: Path) -> None:
    suite.write_bytes(f"# -*- coding: ascii -*-\n{JUDGE}".encode())
    assert write_file(Source.read(suite), "Grüße") == (
        "its encoding ascii cannot hold the new text, so it stays as it is."
    )


def test_a_file_that_would_stay_bare_is_reported(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations.migration.rewriting import pythonfile

    monkeypatch.setattr(pythonfile, "is_harnessed", lambda view, site: False)
    assert main(["migrate", ".", "--write"]) == 0
    assert "not rewritten: suite.py: pairwise_string would still be asked without a harness" in capsys.readouterr().out
    assert suite.read_text(encoding="utf-8") == JUDGE


def test_folders_can_be_left_out(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old").mkdir()
    suite.rename("old/suite.py")
    assert as_json(capsys, ".", "--exclude", "old")["files"] == []


def test_a_diff_can_be_applied(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(JUDGE.rstrip("\n"), encoding="utf-8")
    [one] = as_json(capsys, "suite.py")["files"]
    assert one["diff"].count("\\ No newline at end of file") == 2
    assert one["diff"].endswith("\\ No newline at end of file\n")
