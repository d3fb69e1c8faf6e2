"""`judgeharness run`, end to end with functions as judges."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.cli import _asking
from judgeharness_integrations.verdictlog import read_log

Command = Callable[..., Any]
YAML = """
judges:
  - {name: good, callable: "cli_judges:good", model: gpt-4o}
  - {name: first, callable: "cli_judges:first"}
cases: cases.csv
harness: {perturbations: [none, position_swap], repetitions: 2, aggregation_rule: swap_consensus}
out: results
"""
TOML = """
cases = "cases.csv"
out = "results"
judges = [
  { name = "good", callable = "cli_judges:good", model = "gpt-4o" },
  { name = "first", callable = "cli_judges:first" },
]
[harness]
perturbations = ["none", "position_swap"]
repetitions = 2
aggregation_rule = "swap_consensus"
"""
JSON = json.dumps(
    {
        "judges": [
            {"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"},
            {"name": "first", "callable": "cli_judges:first"},
        ],
        "cases": "cases.csv",
        "out": "results",
        "harness": {
            "perturbations": ["none", "position_swap"],
            "repetitions": 2,
            "aggregation_rule": "swap_consensus",
        },
    }
)


FILES = ["results.jsonl", "run.json", "summary.json", "verdicts.jsonl", "verdicts.sqlite"]


@pytest.mark.parametrize(("name", "text"), [("run.yaml", YAML), ("run.toml", TOML), ("run.json", JSON)])
def test_two_judges_end_to_end(command: Command, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    ran = command("run", folder / name, "--json")
    assert ran.code == 0
    out = folder / "results"
    assert sorted(path.name for path in out.iterdir()) == FILES
    summary = json.loads((out / "summary.json").read_text())
    assert ran.json == summary
    assert "calibration" in ran.err  # the plan
    assert (summary["schema"], summary["state"], summary["rule_fixed"]) == ("judgeharness.run/1", "complete", "before")
    assert (summary["judged_cases"], summary["not_graded_cases"], summary["attempts_spent"]) == (6, 0, 24)
    good, first = summary["judges"]
    assert (good["judge"], good["model"], good["plan"]["calls"]) == ("good", "gpt-4o", 12)
    measured = good["criteria"][0]
    assert (measured["decided"], measured["correct"], measured["accuracy"]) == (3, 3, 1.0)
    assert measured["verdicts"] == [{"verdict": "A", "count": 2}, {"verdict": "B", "count": 1}]
    assert first["criteria"][0]["abstained"] == 3
    assert first["criteria"][0]["accuracy"] is None
    assert (first["identity"]["model"], len(first["identity"]["source"])) == (None, 16)

    rows = read_log(out / "verdicts.jsonl")
    assert len(rows) == 24
    assert {row.run for row in rows} == {summary["run"]}
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert sorted((one["judge"], one["case_id"]) for one in results) == [
        (judge, case) for judge in ("first", "good") for case in ("c1", "c2", "c3")
    ]
    assert {one["schema"] for one in results} == {"judgeharness.result/1"}


@pytest.mark.slow
def test_the_summary_equals_a_replay_of_the_log(command: Command, configure: Command, folder: Path) -> None:
    summary = command("run", configure("good", "first"), "--out", folder / "out", "--json").json
    again = command("replay", folder / "out" / "verdicts.jsonl", "--rule", "swap_consensus", "--json").json
    for judge, entry in zip(summary["judges"], again["judges"], strict=True):
        assert {name: judge["criteria"][0][name] for name in entry} == entry


def test_text_shows_plan_cost_and_measurement(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", "first", execution={"max_calls": 100, "max_attempts": 1}), "--yes")
    assert ran.code == 0
    assert "total" in ran.out
    assert "upper limit: 100 calls" in ran.out
    assert "100.0 of 3" in ran.out
    assert "good: not calibrated: " in ran.out
    assert "state: complete" in ran.out
    assert (folder / "judgeharness-out" / "summary.json").exists()


def test_scores_and_several_criteria(command: Command, configure: Command, folder: Path) -> None:
    harness = {"perturbations": ["none", "whitespace"], "repetitions": 2, "aggregation_rule": "median"}
    (folder / "golds.jsonl").write_text('{"case_id": "c", "output": "two words", "gold": {"tone": 3, "facts": 5}}\n')
    path = configure("score", harness=harness | {"on_unfit": "skip"}, cases="golds.jsonl")
    ran = command("run", path, "--out", folder / "out")
    assert ran.code == 0
    assert "score · tone" in ran.out
    assert "off by 1.00" in ran.out
    entries = json.loads((folder / "out" / "summary.json").read_text())["judges"][0]["criteria"]
    assert [(one["criterion"], one["mean_absolute_error"]) for one in entries] == [("tone", 1.0), ("facts", 0.0)]
    assert entries[0]["verdicts"] == [{"verdict": 4, "count": 1}]


@pytest.mark.slow
def test_cases_that_ended_not_graded_give_exit_code_3(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", "broken_on_second"), "--out", folder / "out", "--json")
    assert ran.code == 3
    assert "1 of 6 cases ended not_graded" in ran.err
    judge = ran.json["judges"][1]
    assert (judge["not_graded_cases"], judge["criteria"][0]["not_graded"], judge["criteria"][0]["decided"]) == (1, 1, 2)


def test_a_judge_that_never_answers(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("broken"), "--out", folder / "out")
    assert ran.code == 3
    assert "3 of 3 cases ended not_graded" in ran.err
    outcomes = {row.outcome for row in read_log(folder / "out" / "verdicts.jsonl")}
    assert outcomes == {"error"}


@pytest.mark.slow
def test_max_calls_is_for_all_judges_together(command: Command, configure: Command, folder: Path) -> None:
    ran = command("run", configure("good", "first"), "--out", folder / "out", "--max-calls", 11)
    assert ran.code == 2
    assert "the plan is 12 calls, more than max_calls=11: nothing was asked." in ran.err
    assert not (folder / "out").exists()
    assert command("run", configure("good", "first"), "--out", folder / "out", "--max-calls", 12).code == 0


@pytest.mark.slow
def test_retries_count_against_max_calls(command: Command, configure: Command, folder: Path) -> None:
    (folder / "cli_flaky.py").write_text(
        "asked = []\n"
        "def flaky(case):\n"
        "    asked.append(case)\n"
        "    if len(asked) == 1:\n"
        "        raise TimeoutError('once')\n"
        "    return 'A' if 'good' in case.output else 'B'\n"
    )
    judges = [{"name": "flaky", "callable": "cli_flaky:flaky"}, {"name": "good", "callable": "cli_judges:good"}]
    ran = command(
        "run",
        configure(judges=judges, execution={"max_calls": 12, "max_concurrency": 1}),
        "--out",
        folder / "out",
        "--json",
    )
    sys.modules.pop("cli_flaky")
    assert ran.code == 3
    assert (ran.json["state"], ran.json["attempts_spent"]) == ("budget_exhausted", 12)
    flaky, good = ran.json["judges"]
    assert (flaky["not_graded_cases"], good["not_graded_cases"]) == (0, 1)
    assert good["criteria"][0]["cases"] == 3


@pytest.mark.slow
def test_judges_after_the_budget_are_not_graded(command: Command, configure: Command, folder: Path) -> None:
    (folder / "cli_failing.py").write_text("def failing(case):\n    raise TimeoutError('always')\n")
    judges = [{"name": "failing", "callable": "cli_failing:failing"}, {"name": "good", "callable": "cli_judges:good"}]
    execution = {"max_calls": 12, "max_attempts": 20, "max_concurrency": 12}
    ran = command("run", configure(judges=judges, execution=execution), "--out", folder / "out", "--json")
    sys.modules.pop("cli_failing")
    assert ran.code == 3
    assert ran.json["judges"][1]["criteria"] == [
        ran.json["judges"][1]["criteria"][0] | {"criterion": "verdict", "cases": 3, "not_graded": 3, "coverage": 0.0}
    ]
    counts = ("judged_cases", "not_graded_cases", "not_asked_cases")
    judges = [{name: judge[name] for name in counts} for judge in ran.json["judges"]]
    assert {name: sum(judge[name] for judge in judges) for name in counts} == {name: ran.json[name] for name in counts}
    assert ran.json["not_graded_cases"] == 6
    assert judges[1] == {"judged_cases": 0, "not_graded_cases": 3, "not_asked_cases": 3}
    assert (ran.json["usage"]["attempts"] or 0) <= ran.json["attempts_spent"] == 12


def test_an_out_folder_is_not_overwritten_unasked(command: Command, configure: Command, folder: Path) -> None:
    path = configure("good")
    out = folder / "out"
    out.mkdir()
    (out / "verdicts.jsonl").write_text("mine")
    ran = command("run", path, "--out", out)
    assert ran.code == 2
    assert "is not empty" in ran.err
    assert [file.read_text() for file in out.iterdir()] == ["mine"]
    assert command("run", path, "--out", out, "--overwrite").code == 0
    assert len(read_log(out / "verdicts.jsonl")) == 6


def test_an_empty_out_folder_is_fine_and_a_file_is_not(command: Command, configure: Command, folder: Path) -> None:
    (folder / "empty").mkdir()
    assert command("run", configure("good"), "--out", folder / "empty").code == 0
    ran = command("run", configure("good"), "--out", folder / "cases.csv")
    assert ran.code == 2
    assert "is not a folder" in ran.err


def test_calibration_on_labels(command: Command, configure: Command, folder: Path) -> None:
    path = configure("good", calibration={"labels": "cases.csv", "name": "people", "source": "human"})
    ran = command("run", path, "--out", folder / "out")
    assert ran.code == 0
    assert "good: calibration on people is valid" in ran.out
    assert "precision 100.0 %" in ran.out
    judge = json.loads((folder / "out" / "summary.json").read_text())["judges"][0]
    assert judge["plan"]["calibration_calls"] == 6
    assert judge["calibration"]["status"] == "valid"
    assert judge["calibration"]["criteria"]["verdict"]["n"] == 3


def test_labels_of_a_configuration_say_where_they_come_from(command: Command, configure: Command) -> None:
    ran = command("run", configure("good", calibration={"labels": "cases.csv", "name": "people"}))
    said = "calibration: say where the labels come from: source: human (people gave them), executable (checks that ran)"
    assert (ran.code, said in ran.err) == (2, True), ran.err


@pytest.mark.slow
def test_a_run_counts_its_judges_as_candidates_as_the_command_does(
    command: Command, configure: Command, folder: Path
) -> None:
    labels = {"labels": "cases.csv", "name": "people", "source": "human"}
    path = configure("good", "first", calibration=labels)
    assert command("run", path, "--out", folder / "out").code == 0
    judges = json.loads((folder / "out" / "summary.json").read_text())["judges"]
    assert [one["calibration_report"]["candidates"] for one in judges] == [2, 2]
    ledger = folder / "cases.candidates.jsonl"
    known = [json.loads(line)["candidate"] for line in ledger.read_text().splitlines()]
    asked = ("--labels", folder / "cases.csv", "--source", "human", "--out", folder / "cal.json", "--judge", "good")
    assert command("calibrate", path, *asked, "--yes").code == 0
    assert command("run", path, "--out", folder / "out").code == 0  # goes on; nobody is counted twice
    assert [json.loads(line)["candidate"] for line in ledger.read_text().splitlines()] == known
    assert len(set(known)) == 2
    elsewhere = configure("good", calibration=labels | {"ledger": "other.jsonl"})
    assert command("run", elsewhere, "--out", folder / "new").code == 0
    assert (folder / "other.jsonl").read_text().count("\n") == 1


def test_labels_of_a_model_calibrate_nothing(command: Command, configure: Command, folder: Path) -> None:
    labels = {"labels": "cases.csv", "name": "machine", "source": "model:gpt-5"}
    ran = command("run", configure("good", calibration=labels), "--out", folder / "out")
    assert ran.code == 0
    assert "good: agreement with gpt-5 on machine" in ran.out
    assert "precision 100.0 %" in ran.out
    assert "calibrated" not in ran.out + ran.err
    assert "valid" not in ran.out + ran.err
    (judge,) = json.loads((folder / "out" / "summary.json").read_text())["judges"]
    assert judge["calibration"]["word"] == "agreement with gpt-5"


def test_a_saved_agreement_with_a_model_may_expire(command: Command, configure: Command, folder: Path) -> None:
    judges = [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"}]
    labels, saved = folder / "cases.csv", folder / "cal.json"
    measured = command(
        *("calibrate", configure(judges=judges), "--labels", labels, "--out", saved, "--source", "model:gpt-5")
    )
    assert "agreement with gpt-5 on cases" in measured.out
    assert "calibrated" not in measured.out
    judges[0]["model"] = "gpt-4o-mini"
    other = command("run", configure(judges=judges, calibration="cal.json"), "--out", folder / "other")
    assert "good: agreement with gpt-5 on cases is expired: model changed" in other.out
    assert "calibrated" not in other.out


@pytest.mark.slow
def test_a_saved_calibration_is_valid_only_for_its_configuration(
    command: Command, configure: Command, folder: Path
) -> None:
    judges = [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"}]
    labels, saved = folder / "cases.csv", folder / "cal.json"
    assert (
        command("calibrate", "--source", "human", configure(judges=judges), "--labels", labels, "--out", saved).code
        == 0
    )
    same = command("run", configure(judges=judges, calibration="cal.json"), "--out", folder / "same", "--json").json
    assert same["judges"][0]["calibration"]["status"] == "valid"
    judges[0]["model"] = "gpt-4o-mini"
    other = command("run", configure(judges=judges, calibration="cal.json"), "--out", folder / "other")
    assert "good: calibration on cases is expired: model changed" in other.out


@pytest.mark.slow
def test_a_saved_calibration_of_a_function_without_a_model_holds_for_its_source(
    command: Command, configure: Command, folder: Path
) -> None:
    command(
        "calibrate",
        "--source",
        "human",
        configure("good"),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "cal.json",
    )
    for name, status in (("good", "valid"), ("first", "expired")):
        judges = [{"name": "good", "callable": f"cli_judges:{name}"}]
        ran = command("run", configure(judges=judges, calibration="cal.json"), "--out", folder / name, "--json").json
        (judge,) = ran["judges"]
        assert judge["calibration"]["status"] == status
        assert [text for text in judge["warnings"] if "is not used" in text] == (
            [] if status == "valid" else ["the calibration on cases is not used: expired: source changed"]
        )


def test_a_saved_calibration_of_what_has_no_source_is_unverifiable(
    command: Command, configure: Command, folder: Path
) -> None:
    (folder / "cli_lambda.py").write_text("good = lambda case: 'A'\n")
    judges = [{"name": "good", "callable": "cli_lambda:good"}]
    command(
        "calibrate",
        "--source",
        "human",
        configure(judges=judges),
        "--labels",
        folder / "cases.csv",
        "--out",
        folder / "cal.json",
    )
    ran = command("run", configure(judges=judges, calibration="cal.json"), "--out", folder / "out")
    assert "is unverifiable" in ran.out
    assert "a lambda has no name" in ran.out


def test_skipped_perturbations_are_reported(command: Command, configure: Command, folder: Path) -> None:
    harness = {"perturbations": ["none", "slot_names"], "repetitions": 1, "aggregation_rule": "majority"}
    ran = command("run", configure("good", harness=harness | {"on_unfit": "skip"}), "--out", folder / "out")
    assert "good: slot_names did not fit 3 cases and was skipped" in ran.out


def test_warnings_of_a_judge_reach_the_summary(command: Command, configure: Command, folder: Path) -> None:
    (folder / "cli_warning.py").write_text(
        "from judgeharness_integrations.judging.judge import Answer, Judgment\n"
        "def warned(case):\n"
        "    answers, facts = (Answer(verdict='A'),), {'warning': 'cache'}\n"
        "    return Judgment(answers=answers, facts=facts, input_tokens=3, output_tokens=1)\n"
    )
    judges = [{"name": "warned", "callable": "cli_warning:warned"}]
    ran = command("run", configure(judges=judges), "--out", folder / "out")
    sys.modules.pop("cli_warning")
    assert "warned: warning: cache" in ran.out
    assert "tokens 18 + 6" in ran.out


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def isatty(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("code", [0, 2])
def test_a_terminal_is_asked_first(
    command: Command, configure: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    answer = code == 0
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(_asking.typer, "confirm", confirm)
    monkeypatch.setattr(_asking, "sys", type("Sys", (), {"stdin": Terminal(sys.stdin), "stdout": Terminal(sys.stdout)}))
    ran = command("run", configure("good"), "--out", folder / "out")
    assert asked == ["Make 6 calls?"]
    assert ran.code == code
    assert (folder / "out").exists() == answer
    assert command("run", configure("good"), "--out", folder / "yes", "--yes").code == 0
    assert command("run", configure("good"), "--out", folder / "yes").code == 0  # nothing is left to be asked
    assert len(asked) == 1


def test_saved_calibrations_load(command: Command, configure: Command, folder: Path) -> None:
    saved = folder / "deep" / "cal.json"
    ran = command(
        "calibrate", "--source", "human", configure("good"), "--labels", folder / "cases.csv", "--out", saved, "--json"
    )
    assert ran.json == json.loads(saved.read_text())
    assert CalibrationReport.load(saved).criteria["verdict"].n == 3
