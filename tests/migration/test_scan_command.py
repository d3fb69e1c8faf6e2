"""`judgeharness scan`, the real command in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from judgeharness_integrations.cli import main
from judgeharness_integrations.migration import modules as sources
from judgeharness_integrations.migration.rules import RULES

JUDGE = "from openevals import create_llm_as_judge\njudge = create_llm_as_judge(prompt='p')\n"
Ran = tuple[int, str, str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.py").write_text(JUDGE)

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main(["scan", *(str(argument) for argument in arguments)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_findings_are_lines_an_editor_can_open_and_the_exit_code_is_one(command: Callable[..., Ran]) -> None:
    code, out, err = command("suite.py")
    assert (code, err) == (1, "")
    found = "judge (llm_as_judge) is asked once about a case: wrap it in judgeharness_openevals.harness_judge."
    assert out.splitlines() == [
        f"suite.py:2:9 JH002 {found}",
        "1 finding in 1 of 1 file; 1 judge found, 0 of them harnessed",
        "next: judgeharness migrate suite.py",
    ]


def test_what_is_found_of_one_call_is_one_line(command: Callable[..., Ran]) -> None:
    Path("suite.py").write_text(JUDGE.replace("'p'", "'Avoid position bias.'"))
    first, last, _ = command("suite.py")[1].splitlines()
    assert first.startswith("suite.py:2:9 JH001, JH002 ")
    assert first.count("(llm_as_judge)") == 2
    assert last.startswith("2 findings at 1 place in 1 of 1 file; ")


@pytest.mark.slow
def test_the_next_step_is_one_that_helps(command: Callable[..., Ran]) -> None:
    asked = "text = OpenAI().responses.create(input='Judge the answer: ' + x).output_text"
    judge = f"from openai import OpenAI\ndef judge(x):\n    {asked}\n    return text == 'yes'\n"
    Path("hand.py").write_text(judge, encoding="utf-8")
    step = command("hand.py")[1].splitlines()[-1]
    assert step.startswith("next: hand.py:3: make it a function of a case that returns a verdict, and call JudgeH")
    assert command()[1].endswith("next: judgeharness migrate .\n")  # suite.py beside it is wrapped
    Path("test_config.json").write_text('{"criteria": {"final_response_match_v2": 0.5}}', encoding="utf-8")
    assert command("test_config.json")[1].endswith("next: judgeharness migrate test_config.json\n")
    Path("test_config.json").write_text('{"criteria": {"safety_v1": 0.5}}', encoding="utf-8")
    assert "\nnext: test_config.json:1: nothing; read it as one sample, or" in command("test_config.json")[1]
    for path in (Path("hand.py"), Path("test_config.json")):
        assert main(["migrate", str(path), "--check"]) == 0  # it has nothing to write


def test_without_a_path_the_working_directory_is_scanned(command: Callable[..., Ran]) -> None:
    assert command()[1].startswith("suite.py:2:9 JH002")


def test_a_clean_file_exits_with_zero_and_proposes_nothing(command: Callable[..., Ran]) -> None:
    Path("clean.py").write_text("x = 1\n")
    assert command("clean.py") == (0, "0 findings in 0 of 1 file; 0 judges found, 0 of them harnessed\n", "")


@pytest.mark.slow
def test_exit_zero_select_ignore_and_exclude(command: Callable[..., Ran]) -> None:
    assert command("--exit-zero")[0] == 0
    assert command("--select", "JH003,JH004")[0] == 0
    assert command("--ignore", "JH002")[0] == 0
    assert command("--exclude", "suite.py")[1].startswith("0 findings in 0 of 0 files")
    assert command("--select", "JH002", "--ignore", "JH003")[0] == 1


def test_pyproject_is_read_and_options_win(command: Callable[..., Ran]) -> None:
    Path("pyproject.toml").write_text('[tool.judgeharness.scan]\nignore = ["JH002"]\n')
    assert command()[0] == 0
    assert command("--select", "JH002")[0] == 1


def test_what_comments_hide_is_counted(command: Callable[..., Ran]) -> None:
    Path("suite.py").write_text(JUDGE.replace("'p')", "'p')  # noqa: JH002"))
    assert command()[1].startswith(
        "0 findings in 0 of 1 file; 1 judge found, 0 of them harnessed; 1 finding suppressed by noqa"
    )


def test_json_is_versioned_and_nothing_else_is_printed(command: Callable[..., Ran]) -> None:
    code, out, _ = command("--format", "json")
    document = json.loads(out)
    assert code == 1
    assert document["schema"] == "judgeharness.scan/1"
    (found,) = document["findings"]
    assert (found["code"], found["path"], found["line"], found["judge"]) == (
        "JH002",
        "suite.py",
        2,
        "openevals/llm_as_judge",
    )


def test_sarif_describes_every_rule_and_places_every_finding(command: Callable[..., Ran]) -> None:
    Path("two words.py").write_text(JUDGE)
    _, out, _ = command("--format", "sarif", "two words.py", Path("suite.py").absolute())
    (run,) = json.loads(out)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert run["tool"]["driver"]["rules"][1]["name"] == "SingleSampleVerdict"
    uris = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert sorted(uris) == [Path("suite.py").absolute().as_uri(), "two%20words.py"]
    assert all(run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])


def test_statistics_count_instead_of_listing(command: Callable[..., Ran]) -> None:
    code, out, _ = command("--statistics")
    assert code == 1
    assert "JH002  single-sample verdict         1" in out
    assert "suite.py:2" not in out
    Path("suite.py").write_text("x = 1\n")
    assert command("--statistics")[1].startswith("0 findings")


def test_a_terminal_is_shown_the_source_line(command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    Path("test_config.json").write_text('{"criteria": {"safety_v1": 1}}\n')
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    _, out, _ = command()
    assert "judge = create_llm_as_judge(prompt='p')" in out
    assert "2:9" in out
    assert '"criteria"' in out


def test_unreadable_files_are_warned_about_and_end_the_command_only_alone(command: Callable[..., Ran]) -> None:
    Path("broken.py").write_text("judge = create_llm_as_judge(\n")
    code, out, err = command()
    assert (code, "1 finding in 1 of 1 file" in out) == (1, True)
    assert err.startswith("warning: broken.py:")
    code, out, err = command("broken.py")
    assert (code, out) == (2, "")
    assert err.startswith("error: broken.py:")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("run.yaml", "judge: x\n", "run.yaml: it is neither Python nor a config of ADK: it was not read."),
        ("a.json", '{"a": 1}', "a.json: it is no config of ADK (an object with criteria): it was not read."),
        ("syntax.py", "x = 1\ndef f(:\n", "syntax.py:2: it cannot be parsed as Python 3."),
        ("null.py", "x = 1\0\n", "null.py"),
    ],
)
def test_a_named_file_that_is_not_read_does_not_look_clean(
    command: Callable[..., Ran], name: str, content: str, says: str
) -> None:
    Path(name).write_text(content)
    code, out, err = command(name)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {says}")
    code, out, err = command(name, "suite.py")
    assert (code, "1 finding in 1 of 1 file" in out) == (1, True)
    assert err.startswith(f"warning: {says}")
    assert command(".")[2] == ""
    assert main(["migrate", name]) == 2


def test_a_named_file_that_nests_too_deeply_is_not_read(
    command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_deep(_: str) -> None:
        raise RecursionError

    Path("deep.py").write_text("x = 1\n")
    monkeypatch.setattr("ast.parse", too_deep)
    assert command("deep.py") == (2, "", "error: deep.py: it cannot be parsed as Python 3.\n")


def test_a_named_file_with_an_odd_escape_is_read(command: Callable[..., Ran]) -> None:
    Path("odd.py").write_text("x = '\\d'\n")
    assert command("odd.py")[0] == 0
    Path("latin.py").write_bytes(b"x = '\xff'\n")
    assert command("latin.py")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "error: nowhere does not exist: name a file or a folder."),
        (["--select", "JX"], "error: unknown rule 'JX'"),
        (["--format", "xml"], "error: Invalid value for '--format'"),
        (["--explain", "JH099"], "error: unknown rule 'JH099'"),
    ],
)
def test_wrong_usage_is_one_sentence(command: Callable[..., Ran], arguments: list[str], says: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(says)


def test_rules_are_listed_and_explained(command: Callable[..., Ran]) -> None:
    code, out, _ = command("--list")
    assert (code, out.splitlines()[2]) == (0, "JH003 uncalibrated aggregation")
    assert len(out.splitlines()) == len(RULES)
    code, out, _ = command("--explain", "jh003")
    assert (code, out.splitlines()[0]) == (0, "JH003 uncalibrated aggregation")


def test_without_libcst_the_pip_line_is_named(command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda _: None)
    for arguments in ([], ["--list"], ["--explain", "JH001"]):
        code, _, err = command(*arguments)
        assert (code, "pip install '.[migration]'" in err) == (2, True)


def test_without_libcst_nothing_is_imported_that_needs_it(
    command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith(("libcst", "judgeharness_integrations.migration.rules"))]:
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises
    monkeypatch.delitem(sys.modules, "judgeharness_integrations.cli.scan", raising=False)
    monkeypatch.setattr(sources, "find_spec", lambda _: None)
    code, _, err = command()
    assert (code, "pip install '.[migration]'" in err) == (2, True)


def test_progress_is_shown_on_a_terminal_only(command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        Path(f"m{number}.py").write_text("x = 1\n")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "10 of 13 files" in command()[2]
