"""Gates of `run`, `replay` and `report`, in configurations and commands."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.rows import sampled

from judgeharness_integrations.cli._output import VARIABLE
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]


def words(text: str) -> str:
    return " ".join(text.split())


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


@pytest.mark.slow
def test_a_gate_that_fails_is_exit_code_1_and_stands_in_the_summary(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [accuracy>=0.9, coverage>=0.25], max_abstention: 0.75}")
    ran = command("run", path, "--json")
    assert ran.code == 1
    gates = ran.json["gates"]
    assert [(check["gate"], check["status"]) for check in gates["checks"]] == [
        ("accuracy>=0.9", "failed"),
        ("coverage>=0.25", "passed"),
        ("abstention<=0.75", "passed"),
    ]
    assert "accuracy>=0.9 (one · verdict): 1.000 [0.292, 1.000] over 3" in " ".join(ran.err.split())
    summary = json.loads((path.parent / "results" / "summary.json").read_text())
    assert summary == ran.json
    assert [error.message for error in Draft202012Validator(schema("run-1")).iter_errors(summary)] == []


@pytest.mark.slow
def test_the_command_adds_expressions_and_replaces_limits(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [accuracy>=0.25], max_abstention: 0.1, require_calibration: true}")
    assert command("run", path, "--json").code == 1
    ran = command(
        "run", path, "--json", "--fail-under", "coverage>=25%", "--max-abstention", "0.9", "--no-require-calibration"
    )
    assert ran.code == 0
    assert [check["gate"] for check in ran.json["gates"]["checks"]] == [
        "accuracy>=0.25",
        "coverage>=25%",
        "abstention<=0.9",
    ]
    points = command("run", path, "--point-estimates", "--fail-under", "accuracy>=1", "--no-require-calibration")
    assert points.code == 0
    assert "gates: every gate passed" in points.out
    assert "on point estimates" in points.out


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


@pytest.mark.slow
def test_a_gate_about_nothing_is_a_usage_error_after_the_summary(command: Command, config: Any) -> None:
    ran = command("run", config(), "--fail-under", "pass_rate>=0.9")
    assert ran.code == 2
    assert "measured" in ran.out
    assert "is about nothing in this report: verdict of one holds the labels" in ran.err
    broken = config(judge="broken_on_second")
    ran = command("run", broken, "--new-run", "--fail-under", "pass_rate>=0.9")
    assert ran.code == 3
    assert "error: the gate pass_rate>=0.9 is about nothing" in ran.err


@pytest.mark.slow
def test_a_gate_of_a_configuration_may_be_narrowed(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [{gate: accuracy>=0.25, judge: one, criterion: verdict}]}")
    assert command("run", path).code == 0
    gates = load_config(path).gates.asked()
    assert gates.fail_under[0].judge == "one"  # type: ignore[union-attr]
    wrong = config("gates: {fail_under: [{gate: accuracy>=0.25, judge: tow}]}")
    assert "unknown judge of the gate accuracy>=0.25 'tow'" in command("run", wrong).err


@pytest.mark.slow
def test_a_rule_of_ones_own_is_checked_too(command: Command, config: Any) -> None:
    path = config("gates: {fail_under: [coverage>=0.25]}", rule="cli_judges:first_row")
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
    assert "### gates" not in summary.read_text()
    assert command("run", path, "--fail-under", "accuracy>=0.9").code == 1
    assert summary.read_text().count("<summary>how to read it</summary>") == 2
    assert "### gates: 1 of 1 gate checks did not pass" in summary.read_text()
    assert command("run", path, "--fail-under", "pass_rate>=0.9").code == 2
    assert summary.read_text().count("<summary>how to read it</summary>") == 3


@pytest.mark.slow
def test_a_run_whose_files_cannot_be_read_back_needs_them_for_gates_alone(
    command: Command, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations._errors import ConfigError
    from judgeharness_integrations.cli import _asking as _run_gates

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


MANY = "case_id,input,output\n" + "".join(f"c{n},q{n},{'bad' if n % 10 == 0 else 'good'}\n" for n in range(200))
GRADED = """
judges: [{name: one, callable: "graders:grade"}]
cases: many.csv
harness: {perturbations: [none], repetitions: 2, aggregation_rule: majority, seed: 1}
out: results
"""


@pytest.fixture
def many(folder: Path) -> Path:
    """A configuration of 200 graded cases, nine in ten of which pass."""
    (folder / "many.csv").write_text(MANY)
    (folder / "graders.py").write_text("def grade(case):\n    return 'PASS' if case.output == 'good' else 'FAIL'\n")
    path = folder / "graded.yaml"
    path.write_text(GRADED)
    return path


@pytest.mark.slow
def test_a_run_asks_until_its_gate_is_settled(command: Command, many: Path) -> None:
    ran = command("run", many, "--yes", "--json", "--until", "pass_rate>=0.7")
    assert ran.code == 0
    (check,) = ran.json["gates"]["checks"]
    assert (check["status"], ran.json["gates"]["stopped"], ran.json["gates"]["sequential"]) == (
        "passed",
        True,
        "population",
    )
    assert check["n"] <= ran.json["judged_cases"] < 150
    assert (ran.json["state"], ran.json["not_asked_cases"], ran.json["not_graded_cases"]) == ("complete", 0, 0)
    assert f"one: {ran.json['judged_cases']} of 200 cases asked, settled after {check['n']} cases" in ran.err
    assert [error.message for error in Draft202012Validator(schema("run-1")).iter_errors(ran.json)] == []
    again = command("run", many, "--yes", "--json", "--until", "pass_rate>=0.7")
    assert again.json["gates"]["checks"] == ran.json["gates"]["checks"]
    results = many.parent / "results"
    refused = command("report", results, "--fail-under", "pass_rate>=0.5", "--no-step-summary")
    assert (refused.code, "NOT MEASURED" in refused.out) == (1, True)
    assert "gate with --sequential, or on a run that asked every case" in " ".join(refused.out.split())
    assert command("report", results, "--fail-under", "pass_rate>=0.6", "--sequential", "--no-step-summary").code == 0
    shown = command("report", results, "--no-step-summary")
    assert "sequential, about the population of the cases, with 95 % confidence sequences" in " ".join(
        shown.out.split()
    )


@pytest.mark.slow
def test_unsettled_at_the_end_is_exit_code_1(command: Command, many: Path) -> None:
    ran = command("run", many, "--yes", "--json", "--until", "pass_rate>=0.9")
    assert (ran.code, ran.json["judged_cases"], ran.json["gates"]["checks"][0]["status"]) == (1, 200, "failed")
    exact = command("run", many, "--yes", "--json", "--until", "pass_rate>=0.9", "--about", "suite")
    assert (exact.code, exact.json["gates"]["sequential"]) == (0, "suite")


def test_a_run_until_its_gate_is_settled_has_no_other_gate(command: Command, many: Path) -> None:
    for options in (("--fail-under", "coverage>=0.5"), ("--max-abstention", 0.5), ("--point-estimates",)):
        ran = command("run", many, "--yes", "--until", "pass_rate>=0.7", *options)
        assert (ran.code, "has no other gates" in " ".join(ran.err.split())) == (2, True)
    wrong = command("run", many, "--yes", "--until", "precision>=0.7")
    assert (wrong.code, "of a calibration" in wrong.err) == (2, True)


def test_a_replay_gates_sequentially(command: Command, log: Path) -> None:
    gate = ("--rule", "majority", "--fail-under", "pass_rate>=0.5")
    ran = command("replay", log, *gate, "--sequential", "--json")
    assert (ran.code, ran.json["gates"]["sequential"]) == (0, "population")
    assert command("replay", log, "--rule", "majority", "--fail-under", "pass_rate>=0.7", "--sequential").code == 1
    assert command("replay", log, *gate, "--sequential", "--scale", "1").code == 2


def test_options_of_sequential_gates_are_refused_where_none_is(command: Command, log: Path, many: Path) -> None:
    gate = ("--fail-under", "pass_rate>=0.5")
    for asked in (("replay", log, "--rule", "majority"), ("report", log, "--rule", "majority"), ("run", many, "--yes")):
        for options, named in (
            (("--about", "suite"), "--about counts"),
            (("--scale", "1:5"), "--scale counts"),
            (("--about", "suite", "--scale", "1:5"), "--about and --scale count"),
        ):
            for gates in ((), gate):
                ran = command(*asked, *options, *gates)
                assert (ran.code, f"{named} for sequential gates alone: add --sequential." in words(ran.err)) == (
                    2,
                    True,
                ), (asked, options, ran.err)
        bare = command(*asked, "--sequential")
        assert (bare.code, "--sequential says how gates look at cases: give a gate" in words(bare.err)) == (2, True)
    assert not (many.parent / "results").exists()
    compared = command("compare", log, log, "--rule", "majority", "--scale", "1:5")
    assert (compared.code, "--scale counts for a sequential comparison alone" in words(compared.err)) == (2, True)


@pytest.mark.slow
def test_a_bar_that_no_evidence_reaches_is_refused_with_advice_that_works(command: Command, many: Path) -> None:
    asked = ("run", many, "--yes", "--json", "--until", "coverage>=1")
    refused = command(*asked)
    assert (refused.code, "--point-estimates" in refused.err) == (2, False)
    assert "as coverage>=0.95, or gate about this suite" in words(refused.err)
    exact = command(*asked, "--about", "suite")
    assert (exact.code, exact.json["gates"]["checks"][0]["status"]) == (0, "passed")
    # one bad case of 200 is among the first 195 with .975: from there on it is settled, and calls in flight are kept
    assert 195 <= exact.json["judged_cases"] <= 200


def test_the_advice_about_more_cases_names_its_price(command: Command, log: Path) -> None:
    ran = command("replay", log, "--rule", "majority", "--fail-under", "pass_rate>=0.7")
    assert "judges exactly at the bar then pass in 3 to 7 % of runs" in " ".join(ran.out.split())


@pytest.fixture
def coins(tmp_path: Path) -> tuple[Path, str]:
    """A log of forty coins and a judge that is right in 90 of 100 cases, and the name of the luckiest coin."""
    dice = random.Random(11)  # noqa: S311 - planted judges
    golds = [dice.choice(["PASS", "FAIL"]) for _ in range(100)]
    said = {f"coin {n}": [dice.choice(["PASS", "FAIL"]) for _ in golds] for n in range(40)}
    wrong = {"PASS": "FAIL", "FAIL": "PASS"}
    said["good"] = [gold if n % 10 else wrong[gold] for n, gold in enumerate(golds)]
    rows = [
        VerdictRow(case_id=f"c{n}", judge=name, verdict=verdict, gold=golds[n])
        for name, verdicts in said.items()
        for n, verdict in enumerate(verdicts)
    ]
    right = {name: sum(map(str.__eq__, verdicts, golds)) for name, verdicts in said.items() if name != "good"}
    return write_log(rows, tmp_path / "coins.csv"), max(right, key=right.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["report", "replay"])
def test_the_luckiest_of_forty_coins_passes_no_gate_on_accuracy(
    command: Command, coins: tuple[Path, str], reader: str
) -> None:
    log, luckiest = coins
    rows = [replace(row, judge="alone") for row in read_log(log) if row.judge == luckiest]
    alone = write_log(rows, log.with_name("alone.csv"))
    gate = ("--rule", "majority", "--fail-under", "accuracy>0.5", "--json")
    assert command(reader, alone, *gate).json["gates"]["passed"] is True
    for chosen in (("--judge", luckiest), ()):
        checks = command(reader, log, *gate, *chosen).json["gates"]["checks"]
        statuses = {check["judge"]: check["status"] for check in checks}
        assert statuses[luckiest] == "failed"
        assert set(statuses.values()) <= {"failed", "passed"}
        assert all("one of 41 judges on these labels" in check["reason"] for check in checks)
        assert {round(check["confidence"], 5) for check in checks} == {round(0.95 ** (1 / 41), 5)}
    (good,) = command(reader, log, *gate, "--judge", "good").json["gates"]["checks"]
    assert good["status"] == "passed"
    sequential = command(reader, log, *gate, "--judge", "good", "--sequential").json["gates"]["checks"][0]["reason"]
    assert "one of 41 judges on these labels: the level holds for all of them together" in sequential


def renamed(rows: list[VerdictRow], how: str, luckiest: str) -> tuple[list[VerdictRow], tuple[str, ...]]:
    """The coins as runs, criteria or renamed cases of one judge, and what chooses the luckiest of them."""
    found = []
    for row in rows:
        digest = {"text_digest": row.case_id} if how == "cases" else {}
        case_id = f"{row.judge} {row.case_id}" if how == "cases" else row.case_id
        run, criterion = ("r", row.judge) if how == "criteria" else (row.judge, row.criterion)
        found.append(replace(row, judge="one", run=run, criterion=criterion, case_id=case_id, attributes=digest))
    return found, ("--run", "r") if how == "criteria" else ("--run", luckiest)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reader", ["report", "replay"])
@pytest.mark.parametrize("how", ["runs", "criteria", "cases"])
def test_the_luckiest_of_forty_runs_criteria_or_renamed_cases_passes_no_gate_on_accuracy(
    command: Command, coins: tuple[Path, str], reader: str, how: str
) -> None:
    log, luckiest = coins
    rows, chosen = renamed(read_log(log), how, luckiest)
    held = write_log(rows, log.with_name(f"{how}.csv"))
    if (how, reader) == ("criteria", "replay"):
        chosen = (*chosen, "--criterion", luckiest)
    ran = command(reader, held, "--rule", "majority", *chosen, "--fail-under", "accuracy>0.5", "--json")
    assert ran.code == 1
    [check] = [one for one in ran.json["gates"]["checks"] if how != "criteria" or one["criterion"] == luckiest]
    assert check["status"] == "failed"
    assert "one of 41 candidates (judges, runs, criteria) on these labels" in check["reason"]
    assert round(check["confidence"], 5) == round(0.95 ** (1 / 41), 5)
    if how == "runs":
        options = ("--rule", "majority", "--source", "human", *chosen)
        calibrated = command("calibrate", "--log", held, *options, "--out", log.with_name("c.json"), "--json")
        assert calibrated.json["candidates"] == 41


def test_other_questions_are_no_candidates_unless_the_same_labels_decide(
    command: Command, coins: tuple[Path, str]
) -> None:
    log, luckiest = coins
    rows = [replace(row, judge="one") for row in read_log(log) if row.judge == luckiest]
    others = [replace(row, criterion="other", gold={"A": "B", "B": "A"}.get(str(row.gold))) for row in rows]
    own = [replace(row, run="r/calibration") for row in rows]
    held = write_log([*[replace(row, run="r") for row in [*rows, *others]], *own], log.with_name("questions.csv"))
    gate = ("report", held, "--rule", "majority", "--run", "r", "--fail-under", "accuracy>0.5", "--json")
    for check in command(*gate).json["gates"]["checks"]:
        assert (check["confidence"], "on these labels" in check["reason"]) == (0.95, False)


@pytest.mark.slow
def test_judges_of_other_cases_are_no_candidates(command: Command, coins: tuple[Path, str]) -> None:
    log, _ = coins
    rows = [row for row in read_log(log) if row.judge == "good"]
    apart = [replace(row, case_id=f"other {row.case_id}", judge="elsewhere") for row in rows]
    unlabelled = [replace(row, judge="unlabelled", gold=None) for row in rows]
    both = write_log([*rows, *apart, *unlabelled], log.with_name("both.csv"))
    gate = ("report", both, "--rule", "majority", "--fail-under", "accuracy>0.5", "--json")
    for chosen in (("--judge", "good"), ()):
        for check in command(*gate, *chosen).json["gates"]["checks"]:
            assert (check["confidence"], "judges on these labels" in check["reason"]) == (0.95, False)


@pytest.mark.slow
def test_a_judge_chosen_from_a_run_is_one_of_its_judges(command: Command, config: Callable[..., Path]) -> None:
    path = config()
    both = path.read_text().replace("judges: [", 'judges: [{name: two, callable: "cli_judges:good"}, ')
    path.write_text(both)
    command("run", path, "--yes")
    gate = ("report", path.parent / "results", "--judge", "one", "--fail-under", "accuracy>0.1", "--json")
    (check,) = command(*gate).json["gates"]["checks"]
    assert "one of 2 judges on these labels" in check["reason"]
