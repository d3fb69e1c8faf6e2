"""`judgeharness init`: what it writes runs offline, and with a model after one edit."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.extras import needs
from support.openai_server import OpenAIServer, Reply

from judgeharness_integrations.judging.config import build_judge, load_config
from judgeharness_integrations.verdictlog import read_log

Command = Callable[..., Any]
HOMES = ("none", "function", "langchain", "openevals", "adk")
FILES = {"config.yaml", "cases.csv", "scripted_judge.py"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name in ("scripted_judge", "my_judge"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def edited(text: str) -> str:
    """Do the one edit that the configuration asks for."""
    lines = text.splitlines()
    if "# judges:" in lines:
        lines = lines[lines.index("# judges:") :]
    taken = re.compile(r"^( *)# (?=judges:|cases:| +- name:|- name:| +\w+: |\w+: )")
    return "\n".join(taken.sub(r"\1", line) for line in lines) + "\n"


@pytest.mark.parametrize(
    ("answers", "abstained", "decided"),
    [("two", 1, {"A", "B"}), ("pass-fail", 1, {"PASS", "FAIL"}), ("score", 0, None)],
)
def test_what_is_written_runs_and_is_reported(
    command: Command, tmp_path: Path, answers: str, abstained: int, decided: set[str] | None
) -> None:
    made = command("init", "first", "--answers", answers)
    assert made.code == 0
    assert {path.name for path in (tmp_path / "first").iterdir()} == FILES
    following = made.out.splitlines()[-1]
    assert following == "next: judgeharness run first/config.yaml"
    assert command(*following.split()[2:]).code == 0
    summary = json.loads((tmp_path / "first/runs/first/summary.json").read_text())
    [criterion] = summary["judges"][0]["criteria"]
    assert (criterion["abstained"], criterion["decided"]) == (abstained, 3 - abstained)
    rows = read_log(tmp_path / "first/runs/first/verdicts.jsonl")
    assert all(row.gold is not None for row in rows)
    assert decided is None or {str(row.verdict) for row in rows if row.perturbation == "none"} == decided
    assert command("report", "first/runs/first", "--html", "report.html").code == 0
    assert "Canberra" in (tmp_path / "report.html").read_text() or "capital" in (tmp_path / "report.html").read_text()


def test_the_score_of_a_list_moves_with_its_format(command: Command, tmp_path: Path) -> None:
    command("init", "--answers", "score")
    assert command("run", "config.yaml").code == 0
    rows = read_log(tmp_path / "runs/first/verdicts.jsonl")
    assert {(row.perturbation, row.verdict) for row in rows if row.case_id == "planet"} == {
        ("none", 7.0),
        ("format_change", 3.0),
    }


def test_in_a_pipe_nothing_is_asked(command: Command, tmp_path: Path) -> None:
    made = command("init")
    assert (made.code, made.err) == (0, "")
    assert made.out.splitlines()[-1] == "next: judgeharness run config.yaml"
    assert load_config(tmp_path / "config.yaml").harness.shape == "pairwise"


@pytest.mark.parametrize("taken", sorted(FILES))
def test_nothing_is_overwritten(command: Command, tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    made = command("init")
    assert made.code == 2
    assert (
        made.err == f"error: {taken} exists and is not overwritten: give another folder, as judgeharness init first.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--judge", "adk", "--answers", "two"), "ADK's rubrics are passed or failed: give --answers pass-fail, or"),
        (("--model", " "), "--model is empty: give a model, as openai:gpt-4o-mini, or leave it out."),
        (("a_file",), "a_file is not a folder: give another one."),
        (("a_file/below",), "a_file/below cannot be written (Not a directory): give another folder."),
    ],
)
def test_an_error_is_one_sentence(command: Command, tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "a_file").write_text("")
    made = command("init", *arguments)
    assert made.code == 2
    assert made.err.startswith(f"error: {sentence}")
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]


def test_a_path_with_a_space_is_quoted(command: Command) -> None:
    assert command("init", "my judge").out.splitlines()[-1] == "next: judgeharness run 'my judge/config.yaml'"


@pytest.mark.parametrize(("labels", "least"), [(1, "2.5"), (50, "92.9"), (150, "97.6")])
def test_labels_say_what_they_can_show(command: Command, labels: int, least: str) -> None:
    made = command("init", "--labels", labels)
    assert f"at least {least} % of cases" in made.out
    assert f"{labels} label" in Path("config.yaml").read_text()


@pytest.mark.parametrize("answers", ["two", "score"])
def test_without_labels_the_next_command_to_get_some_runs(
    command: Command, monkeypatch: pytest.MonkeyPatch, answers: str
) -> None:
    [line] = re.findall(r"judgeharness (label .*) asks", command("init", "--answers", answers).out)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{'3' if answers == 'score' else 'a'}\n" * 3))
    assert command(*line.split()).code == 0


def test_what_a_person_reads_fits_80_columns(command: Command, tmp_path: Path) -> None:
    for home in HOMES:
        command("init", home, "--judge", home)
        written = (tmp_path / home / "config.yaml").read_text().splitlines()
        assert [line for line in written if len(line) > 80 and "evaluator_options" not in line] == []


# one edit


@pytest.mark.parametrize("answers", ["two", "pass-fail", "score"])
@pytest.mark.parametrize(
    "home",
    [
        "function",
        pytest.param("none", marks=[pytest.mark.slow, needs("langchain", "langchain_openai")]),
        pytest.param("langchain", marks=[pytest.mark.slow, needs("langchain_classic", "langchain_openai")]),
        pytest.param("openevals", marks=[pytest.mark.slow, needs("openevals", "langchain_openai")]),
        pytest.param("adk", marks=[pytest.mark.slow, needs("google.adk")]),
    ],
)
def test_the_edit_makes_a_configuration_whose_judge_can_be_built(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, answers: str
) -> None:
    if home == "adk" and answers != "pass-fail":
        pytest.skip("ADK's rubrics are passed or failed")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("GOOGLE_API_KEY", "test")
    assert command("init", "--judge", home, "--answers", answers).code == 0
    (tmp_path / "my_judge.py").write_text("def judge(case):\n    return 'A'\n")
    path = tmp_path / "config.yaml"
    path.write_text(edited(path.read_text()))
    config = load_config(path)
    names = [judge.name for judge in config.judges]
    assert names == {"function": ["scripted", "mine"], "adk": ["model"]}.get(home, ["scripted", "model"])
    assert build_judge(config, len(names) - 1).name == names[-1]


@pytest.mark.slow
@needs("langchain", "langchain_openai")
def test_a_model_is_asked_after_the_edit_beside_what_was_asked_before(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    openai_server: Callable[..., OpenAIServer],
) -> None:
    server = openai_server(lambda _: Reply.json({"reasoning": "It is shown first.", "verdict": "A"}))
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    command("init")
    assert command("run", "config.yaml").code == 0
    path = tmp_path / "config.yaml"
    path.write_text(edited(path.read_text()))
    asked = command("run", "config.yaml", "--new-run")
    assert asked.code == 0, asked.err
    rows = read_log(tmp_path / "runs/first/verdicts.jsonl")
    assert {row.judge for row in rows} == {"scripted", "model"}
    assert server.calls == 18


@pytest.mark.slow
@needs("google.adk")
def test_the_eval_set_of_adk_holds_the_cases(command: Command, tmp_path: Path) -> None:
    from judgeharness_adk.adapter import ADAPTER

    assert command("init", "--judge", "adk").code == 0
    assert ADAPTER.read_cases is not None
    cases = ADAPTER.read_cases(tmp_path / "cases.evalset.json")
    assert [case.case_id for case in cases] == ["capital#1", "river#1", "planet#1"]
    assert command("run", "config.yaml").code == 0  # the scripted judge, before the edit


def test_the_page_about_the_first_judge_shows_what_is_written(command: Command, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "first-judge.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    command("init", "first")
    assert shown in (tmp_path / "first" / "config.yaml").read_text()


def test_a_model_cannot_leave_its_line(command: Command, tmp_path: Path) -> None:
    command("init", "--model", 'x"\ncases: other.csv')
    path = tmp_path / "config.yaml"
    assert load_config(path).cases == "cases.csv"
    path.write_text(edited(path.read_text()))
    assert load_config(path).judges[1].model == 'x"\ncases: other.csv'


# on a terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def answered(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the command on a terminal on which somebody types lines."""

    def run(typed: str, *arguments: object) -> Any:
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
        return command("init", *arguments)

    return run


def test_four_questions_are_asked(answered: Callable[..., Any], tmp_path: Path) -> None:
    made = answered("2\nlangchain\nanthropic:claude-sonnet-4-5\n50\n")
    assert made.code == 0
    config = (tmp_path / "config.yaml").read_text()
    assert "labeled_criteria" in config
    assert '"anthropic:claude-sonnet-4-5"' in config
    assert "50 labels" in config
    assert made.err.count("?") == 4


def test_enter_takes_the_defaults(answered: Callable[..., Any], tmp_path: Path) -> None:
    assert answered("\n\n\n\n").code == 0
    config = (tmp_path / "config.yaml").read_text()
    assert "PairwiseJudge" in config
    assert '"openai:gpt-4o-mini"' in config


def test_what_is_given_is_not_asked(answered: Callable[..., Any]) -> None:
    made = answered("", "--answers", "two", "--judge", "none", "--model", "openai:gpt-5", "--labels", "0")
    assert (made.code, made.err) == (0, "")


def test_a_function_is_not_asked_for_its_model(answered: Callable[..., Any], tmp_path: Path) -> None:
    made = answered("score\nfunction\n0\n")
    assert made.code == 0
    assert "model" not in made.err
    assert "a number from 1 to 10" in (tmp_path / "config.yaml").read_text()


def test_adk_is_offered_where_it_fits(answered: Callable[..., Any], tmp_path: Path) -> None:
    made = answered("two\nadk\nnone\n\n\n")
    assert made.code == 0
    assert "Google ADK" not in made.err
    assert "Give a number from 1 to 4." in made.err
    shown = answered("\n0\n", "adk", "--judge", "adk").err
    assert "What does your judge answer?" not in shown
    assert "gemini-2.5-flash" in shown


def test_a_wrong_answer_is_asked_again(answered: Callable[..., Any]) -> None:
    made = answered("4\n1\n\n\nmany\n12345678\n7\n")
    assert "Give a number from 1 to 3." in made.err
    assert made.err.count("Give a number, 0 for none.") == 2
    assert "7 labels" in made.out


def test_an_end_of_input_writes_nothing(answered: Callable[..., Any], tmp_path: Path) -> None:
    assert answered("1\n").code == 130
    assert list(tmp_path.iterdir()) == []
