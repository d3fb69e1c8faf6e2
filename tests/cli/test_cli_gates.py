"""Gates of `run`, `replay` and `report`, in configurations and commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.rows import sampled

from judgeharness_integrations.cli._step_summary import VARIABLE
from judgeharness_integrations.config import load_config
from judgeharness_integrations.schemas import schema
from judgeharness_integrations.verdictlog import write_log

Command = Callable[..., Any]
CONFIG = """
judges: [{{name: one, callable: "cli_judges:{judge}"}}]
cases: cases.csv
harness: {{perturbations: [none, position_swap], repetitions: 2, aggregation_rule: {rule}}}
out: results
execution: {{max_attempts: 1}}
{more}
"""


@pytest.fixture
def config(folder: Path) -> Callable[..., Path]:
    """Write a configuration of one judge, with more keys."""

    def write(more: str = "", *, judge: str = "good", rule: str = "swap_consensus") -> Path:
        path = folder / "run.yaml"
        path.write_text(CONFIG.format(judge=judge, rule=rule, more=more))
        return path

    return write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Forty graded cases, three quarters of them passed."""
    rows = [row for n in range(40) for row in sampled(["PASS" if n < 30 else "FAIL"] * 3, case_id=f"c{n}")]
    return write_log(rows, tmp_path / "log.csv")


def test_a_gate_that_fails_is_exit_code_1_and_stands_in_the_summary(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [accuracy>=0.9, coverage>=0.3], max_abstention: 0.6}")
    ran = command("run", path, "--json")
    assert ran.code == 1
    gates = ran.json["gates"]
    assert [(check["gate"], check["status"]) for check in gates["checks"]] == [
        ("accuracy>=0.9", "failed"),
        ("coverage>=0.3", "passed"),
        ("abstention<=0.6", "passed"),
    ]
    assert "accuracy>=0.9 (one · verdict): accuracy 1.000 [0.439, 1.000] over 3" in " ".join(ran.err.split())
    summary = json.loads((path.parent / "results" / "summary.json").read_text())
    assert summary == ran.json
    assert [error.message for error in Draft202012Validator(schema("run-1")).iter_errors(summary)] == []


@pytest.mark.slow
def test_the_command_adds_expressions_and_replaces_limits(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [accuracy>=0.3], max_abstention: 0.1, require_calibration: true}")
    assert command("run", path, "--json").code == 1
    ran = command(
        "run", path, "--json", "--fail-under", "coverage>=30%", "--max-abstention", "0.9", "--no-require-calibration"
    )
    assert ran.code == 0
    assert [check["gate"] for check in ran.json["gates"]["checks"]] == [
        "accuracy>=0.3",
        "coverage>=30%",
        "abstention<=0.9",
    ]
    points = command("run", path, "--point-estimates", "--fail-under", "accuracy>=1", "--no-require-calibration")
    assert points.code == 0
    assert "gates, on point estimates" in points.out
    assert "every gate passed" in points.out


def test_without_gates_there_are_none(command: Command, config: Any) -> None:
    ran = command("run", config(), "--json")
    assert (ran.code, ran.json["gates"]) == (0, None)


@pytest.mark.slow
def test_a_measurement_that_is_not_whole_goes_before_a_failed_gate(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [accuracy>=0.9]}", judge="broken_on_second")
    ran = command("run", path, "--json")
    assert ran.code == 3
    assert ran.json["gates"]["passed"] is False
    assert "FAILED" in ran.err
    assert command("report", path.parent / "results", "--fail-under", "accuracy>=0.9").code == 3
    assert command("report", path.parent / "results", "--fail-under", "coverage>=0.05").code == 3
    assert command("report", path.parent / "results").code == 0


@pytest.mark.parametrize(
    ("more", "options", "sentence"),
    [
        (
            "gates: {fail_under: [acuracy>=0.9]}",
            (),
            "gates: unknown metric of a gate 'acuracy': did you mean 'accuracy'?",
        ),
        ("gates: {fail_under: [accuracy>=1]}", (), "can never pass"),
        ("gates: {max_abstention: 2}", (), "max_abstention is a share from 0 to 1"),
        ("gates: {max_abstension: 0.2}", (), "did you mean 'gates.max_abstention'?"),
        ("gates: {fail_under: accuracy>=0.9}", (), "gates.fail_under must be a list"),
        ("", ("--fail-under", "accuracy=0.9"), "is no gate: write METRIC OP VALUE"),
        ("", ("--max-abstention", "0"), "can never pass"),
    ],
)
def test_a_wrong_gate_is_found_before_the_first_call(
    command: Command, config: Any, more: str, options: tuple[str, ...], sentence: str
) -> None:
    path = config(more)
    ran = command("run", path, *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert not (path.parent / "results").exists()


def test_a_gate_about_nothing_is_a_usage_error_after_the_summary(command: Command, config: Any) -> None:
    ran = command("run", config(), "--fail-under", "pass_rate>=0.9")
    assert ran.code == 2
    assert "measured" in ran.out
    assert "is about nothing in this report: verdict of one holds the labels" in ran.err
    broken = config(judge="broken_on_second")
    ran = command("run", broken, "--new-run", "--fail-under", "pass_rate>=0.9")
    assert ran.code == 3
    assert "error: the gate pass_rate>=0.9 is about nothing" in ran.err


def test_a_gate_of_a_configuration_may_be_narrowed(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [{gate: accuracy>=0.3, judge: one, criterion: verdict}]}")
    assert command("run", path).code == 0
    gates = load_config(path).gates.asked()
    assert gates.fail_under[0].judge == "one"  # type: ignore[union-attr]
    wrong = config("gates: {fail_under: [{gate: accuracy>=0.3, judge: tow}]}")
    assert "unknown judge of the gate accuracy>=0.3 'tow'" in command("run", wrong).err


def test_a_rule_of_ones_own_is_checked_too(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [coverage>=0.3]}", rule="cli_judges:first_row")
    assert command("run", path).code == 0


@pytest.mark.slow
def test_a_run_appends_to_the_summary_of_a_github_step(
    command: Command, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "step.md"
    monkeypatch.setenv(VARIABLE, str(summary))
    path = config()
    assert command("run", path, "--no-step-summary").code == 0
    assert not summary.exists()
    assert command("run", path).code == 0
    assert "Gates" not in summary.read_text()
    assert command("run", path, "--fail-under", "accuracy>=0.9").code == 1
    assert summary.read_text().count("## LLM judges") == 2
    assert "Gates: ❌" in summary.read_text()
    assert command("run", path, "--fail-under", "pass_rate>=0.9").code == 2
    assert summary.read_text().count("## LLM judges") == 3


def test_a_run_whose_files_cannot_be_read_back_needs_them_for_gates_alone(
    command: Command, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations._errors import ConfigError
    from judgeharness_integrations.cli import _run_gates

    def damaged(*_: object) -> None:
        raise ConfigError("results.jsonl: line 1 is damaged.")

    monkeypatch.setattr(_run_gates, "read_report", damaged)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "step.md"))
    ran = command("run", config())
    assert ran.code == 0
    assert "the step summary is not written: results.jsonl: line 1 is damaged." in ran.err
    assert command("run", config(), "--fail-under", "accuracy>=0.9").code == 2


def test_a_replay_has_gates_and_says_that_its_rule_came_late(command: Command, log: Path) -> None:
    assert command("replay", log, "--rule", "majority").code == 0
    passed = command("replay", log, "--rule", "majority", "--fail-under", "pass_rate>=0.5")
    assert passed.code == 0
    assert "exploratory: the rule was chosen after the samples" in " ".join(passed.out.split())
    failed = command("replay", log, "--rule", "majority", "--min-consistency", "0.99", "--json")
    assert failed.code == 1
    assert failed.json["gates"]["checks"][0]["gate"] == "consistency>=0.99"
    assert "FAILED" in failed.err
    assert [error.message for error in Draft202012Validator(schema("replay-1")).iter_errors(failed.json)] == []
    assert "gates" not in command("replay", log, "--rule", "majority", "--json").json
    assert command("replay", log, "--rule", "majority", "--require-calibration").code == 1
    assert command("replay", log, "--rule", "majority", "--fail-under", "elo>=0.5").code == 2


def test_gates_of_a_log_decide_alone(command: Command, tmp_path: Path) -> None:
    rows = [row for n in range(40) for row in sampled(["PASS" if n else None] * 3, case_id=f"c{n}")]
    log = write_log(rows, tmp_path / "log.csv")
    assert command("report", log, "--rule", "majority", "--fail-under", "pass_rate>=0.8").code == 0
    assert command("report", log, "--rule", "majority", "--fail-under", "pass_rate>=0.95").code == 1
