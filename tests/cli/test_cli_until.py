"""`run --until` from its first call to the commands that read its folder: order, what is kept, what is refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.gates.gate import parse_expression
from judgeharness_integrations.cli._asking import unmeasurable
from judgeharness_integrations.cli._command import GATE_FAILED, NOT_GRADED, OK, USAGE
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, read_log, write_log
from judgeharness_integrations.verdictlog.runfolder import ended_early, marked

Command = Callable[..., Any]
GRADERS = """
import asyncio
from pathlib import Path

async def grade(case):
    with Path("asked").open("a") as file:
        file.write(case.case_id + "\\n")
    await asyncio.sleep(0.002 * (int(case.case_id[1:]) % 7))
    return "PASS" if case.output == "good" else "FAIL"
"""
CONFIG: dict[str, Any] = {
    "judges": [{"name": "one", "callable": "until_graders:grade"}],
    "cases": "many.csv",
    "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
    "out": "results",
}


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with 300 cases, of which the first hundred pass and half of the others, and their judge."""
    lines = [f"c{n},q{n},{'good' if n < 100 or n % 2 else 'bad'},{'k' if n < 150 else n}" for n in range(300)]
    (folder / "many.csv").write_text("\n".join(["case_id,input,output,kind", *lines, ""]))
    (folder / "until_graders.py").write_text(GRADERS)
    monkeypatch.chdir(folder)
    yield folder
    sys.modules.pop("until_graders", None)


def configured(place: Path, **changes: Any) -> Path:
    path = place / "run.yaml"
    path.write_text(json.dumps({**CONFIG, **changes, "harness": CONFIG["harness"] | changes.get("harness", {})}))
    return path


def ids(path: Path) -> set[str]:
    return {json.loads(line)["case_id"] for line in path.read_text().splitlines()}


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_going_on_with_a_stopped_run_keeps_every_case_it_asked(command: Command, place: Path) -> None:
    path, results = configured(place), place / "results"
    ran = command("run", path, "--yes", "--json", "--until", "pass_rate>=0.5")
    (check,) = ran.json["gates"]["checks"]
    first = ids(results / "results.jsonl")
    assert check["n"] < len(first) == ran.json["judged_cases"] < 300
    again = command("run", path, "--yes", "--json", "--until", "pass_rate>=0.5")
    second = ids(results / "results.jsonl")
    assert first <= second == ids(results / "verdicts.jsonl")
    assert (
        again.json["judged_cases"] == len(second) <= len(first) + 8
    )  # a case may be opened before the last is weighed
    assert again.json["gates"]["checks"] == ran.json["gates"]["checks"]
    assert len((place / "asked").read_text().splitlines()) == len(second)


def test_a_report_of_a_stopped_run_gives_the_number_and_the_evidence_of_its_own_gate(
    command: Command, place: Path
) -> None:
    ran = command("run", configured(place), "--yes", "--json", "--until", "pass_rate>=0.5")
    assert ran.json["gates"]["checks"][0]["looked"] < ran.json["judged_cases"]
    gate = ("--json", "--fail-under", "pass_rate>=0.5", "--sequential")
    for reader in (("report", "--no-step-summary"), ("replay", "--rule", "majority")):
        told = command(*reader, place / "results", *gate)
        for name in ("n", "looked", "p_anytime"):
            assert told.json["gates"]["checks"][0][name] == ran.json["gates"]["checks"][0][name]


@pytest.mark.slow
def test_a_report_of_a_stopped_run_has_no_other_interval_of_the_gated_number_than_its_gate(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = place / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = command("run", configured(place), "--yes", "--json", "--until", "pass_rate>=0.5", "--until", "coverage>=0.5")
    checks = {check["gate"]: check for check in ran.json["gates"]["checks"]}
    gated, covered = checks["pass_rate>=0.5"], checks["coverage>=0.5"]
    assert covered["n"] < ran.json["judged_cases"]
    reader = ("report", "results", "--no-step-summary")
    told = command(*reader, "--markdown", "report.md", "--html", "report.html")
    (criterion,) = command(*reader, "--json").json["judges"][0]["criteria"]
    for name, check in (("positive_rate", gated), ("coverage", covered)):
        assert criterion[name] == {key: check[key] for key in ("value", "low", "high", "n")}
    ends = [f"{100 * gated[name]:.1f}" for name in ("low", "high")]
    shown = f"{gated['value']:.3f} [{gated['low']:.3f}, {gated['high']:.3f}]"
    sentence = f"pass_rate {shown} is of the {gated['n']} cases its gate looked at"
    assert f"[{', '.join(ends)}]" in told.out
    assert sentence in words(told.out)
    for markdown in ("report.md", summary.name):
        told = (place / markdown).read_text()
        assert f" of {gated['n']}<br>&#91;{', '.join(ends)}&#93; |" in told
    page = (place / "report.html").read_text()
    assert sentence in page
    assert f"of {gated['n']} cases its gate looked at" in page
    other = command("report", "results/verdicts.jsonl", "--rule", "strict_majority", "--json", "--no-step-summary").json
    assert other["judges"][0]["criteria"][0]["positive_rate"] == criterion["positive_rate"]  # its own sequence
    own = command("report", "results/verdicts.jsonl", "--rule", "majority", "--json", "--no-step-summary").json
    assert own["judges"][0]["criteria"][0]["positive_rate"] == criterion["positive_rate"]


@pytest.mark.slow
def test_a_mean_score_and_other_rates_of_a_stopped_run_are_their_gates(command: Command, place: Path) -> None:
    (place / "until_graders.py").write_text(
        "def grade(case):\n    return 4 if case.output == 'good' else 3\n\n"
        "def name(case):\n    return 'red' if case.output == 'good' else 'blue'\n"
    )
    score = configured(place, harness={"aggregation_rule": "median"})
    ran = command("run", score, "--yes", "--json", "--until", "mean_score>=3.2", "--scale", "1:5")
    (check,) = ran.json["gates"]["checks"]
    (criterion,) = command("report", "results", "--json", "--no-step-summary").json["judges"][0]["criteria"]
    assert criterion["mean_score"] == {key: check[key] for key in ("value", "low", "high", "n")}
    judges = [{"name": name, "callable": "until_graders:name"} for name in ("one", "two")]
    named = configured(place, judges=judges, out="named")
    gates = ("--until", "rate(red)>=0.5", "--until", "not_graded<=0.5")
    ran = command("run", named, "--yes", "--json", *gates)
    check = next(one for one in ran.json["gates"]["checks"] if one["gate"].startswith("rate"))
    told = command("report", "named", "--no-step-summary").out
    assert f"red {100 * check['value']:.1f}" in told
    assert f"[{100 * check['low']:.1f}, {100 * check['high']:.1f}]" in told
    assert "not_graded is of" not in words(told)


@pytest.mark.slow
def test_the_order_is_drawn_once_a_run_and_kept_with_it(command: Command, place: Path) -> None:
    path = configured(place)
    asked = ("run", path, "--yes", "--json", "--until", "pass_rate>=0.5")
    first, other = command(*asked), command(*asked, "--out", "other")
    seeds = [ran.json["gates"]["order"]["seed"] for ran in (first, other)]
    assert seeds[0] != seeds[1]
    assert f"cases are asked in random order, drawn by the seed {seeds[0]};" in words(first.err)
    assert command("run", path, "--yes", "--json").json["gates"] is None  # the rest, and the seed is kept all the same
    again = command(*asked)
    assert again.json["gates"]["order"]["seed"] == seeds[0]
    assert again.json["gates"]["order"] | {"asked": None} == {
        "seed": seeds[0], "cases": 300, "clusters": 300, "asked": None
    }  # fmt: skip
    assert again.json["judged_cases"] == 300
    given = configured(place, harness={"seed": 7})
    assert command("run", given, *asked[2:], "--out", "given").json["gates"]["order"]["seed"] == 7
    assert [error.message for error in Draft202012Validator(schema("run-1")).iter_errors(again.json)] == []


@pytest.mark.slow
def test_a_new_run_that_takes_answers_over_draws_no_other_order_of_them(command: Command, place: Path) -> None:
    path = configured(place, judges=[{**CONFIG["judges"][0], "model": "grader-1"}])  # without one, all is asked anew
    asked = ("run", path, "--yes", "--json", "--until", "pass_rate>=0.66")
    first, again = command(*asked), command(*asked, "--new-run")
    assert again.json["run"] != first.json["run"]
    assert again.json["gates"]["order"]["seed"] == first.json["gates"]["order"]["seed"]
    assert again.json["gates"]["checks"] == first.json["gates"]["checks"]
    calls = (place / "asked").read_text().splitlines()
    assert len(calls) == len(set(calls)) >= first.json["judged_cases"]


@pytest.mark.slow
def test_other_cases_in_one_log_are_another_look_and_said_so(command: Command, place: Path) -> None:
    path = configured(place)
    asked = ("run", path, "--yes", "--json", "--until", "pass_rate>=0.5")
    first = command(*asked)
    assert "other cases" not in words(first.err + command(*asked).err)
    many = (place / "many.csv").read_text()
    (place / "many.csv").write_text(many + "c300,q300,good,300\n")
    assert "undo the change, or start a new run with --new-run" in words(command(*asked).err)
    added = words(command(*asked, "--new-run").err)
    assert "the log holds a run --until of other cases, in an order of its own: added or changed cases" in added
    assert "passes one of them in up to 5 % instead of 2.5 %" in added
    (place / "many.csv").write_text(many + "c301,q301,good,301\n")
    again = words(command(*asked, "--new-run").err)
    assert "runs --until of 2 other sets of cases" in again
    assert "in up to 7.5 % instead of 2.5 %" in again


@pytest.mark.slow
def test_a_run_cut_off_in_the_order_of_its_file_is_no_random_sample(command: Command, place: Path) -> None:
    path, gate = configured(place), ("--fail-under", "pass_rate>=0.8", "--sequential")
    cut_off = command("run", path, "--yes", "--budget-calls", 90, *gate, "--json")
    assert cut_off.code == NOT_GRADED
    (check,) = cut_off.json["gates"]["checks"]
    assert (check["status"], "210 of 300 cases have no answer" in check["reason"]) == ("not_measured", True)
    for source in ("results", "results/verdicts.jsonl", "results/verdicts.sqlite"):
        replayed = command("replay", source, "--rule", "majority", *gate)
        assert (replayed.code, "NOT MEASURED" in replayed.out) == (GATE_FAILED, True), source
        assert "continue the run to its end, or ask with run --until" in words(replayed.out)
    reported = command("report", "results", *gate, "--no-step-summary")
    assert (reported.code, "NOT MEASURED" in reported.out) == (NOT_GRADED, True)
    other = command("replay", "results/verdicts.jsonl", "--rule", "majority", *gate, "--run", "other")
    assert other.code == USAGE


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", ["results", "results/verdicts.jsonl", "results/verdicts.sqlite"])
def test_a_replay_of_a_run_cut_off_counts_the_cases_that_were_never_asked(
    command: Command, place: Path, source: str
) -> None:
    """The first ninety pass, and nobody knows of the others: what was planned is what counts, as in the report."""
    gate = ("--fail-under", "pass_rate>=0.5")
    assert command("run", configured(place), "--yes", "--budget-calls", 90).code == NOT_GRADED
    replayed = command("replay", source, "--rule", "majority", *gate, "--json")
    reported = command("report", "results", *gate, "--no-step-summary", "--json")
    (entry,), (check,) = replayed.json["judges"], replayed.json["gates"]["checks"]
    assert (entry["cases"], entry["decided"], entry["not_graded"], entry["coverage"]) == (300, 90, 210, 0.3)
    assert (check["status"], check["value"]) == ("failed", 0.3)
    assert check["value"] == reported.json["gates"]["checks"][0]["value"]
    assert "one: 210 of 300 cases were never asked: not graded" in command("replay", source, "--rule", "majority").out


@pytest.mark.slow
def test_a_database_apart_from_its_folder_knows_how_its_run_ended(command: Command, place: Path) -> None:
    gate = ("--fail-under", "pass_rate>=0.8", "--sequential")
    path = configured(place)
    assert command("run", path, "--yes", "--budget-calls", 90, "--log", "cut.sqlite").code == NOT_GRADED
    assert (
        command("run", path, "--yes", "--log", "ended.db", "--until", "accuracy<=0.1", "--out", "other").code == USAGE
    )
    assert command("run", path, "--yes", "--log", "ended.db", "--until", "pass_rate>=0.5", "--out", "other").code == OK
    for told in (
        command("replay", "cut.sqlite", "--rule", "majority", *gate),
        command("report", "cut.sqlite", "--rule", "majority", *gate, "--no-step-summary"),
    ):
        assert (told.code in {GATE_FAILED, NOT_GRADED}, "210 of 300 cases have no answer" in words(told.out)) == (
            True,
            True,
        )
    for told in (
        command("replay", "ended.db", "--rule", "majority", "--fail-under", "pass_rate>=0.5"),
        command("report", "ended.db", "--rule", "majority", "--fail-under", "pass_rate>=0.5", "--no-step-summary"),
    ):
        assert (told.code, "the run was asked until its own gate is settled" in words(told.out)) == (GATE_FAILED, True)


def test_a_log_apart_from_its_folder_says_that_nobody_knows_whether_it_is_all(command: Command, place: Path) -> None:
    """The first ninety of three hundred all pass, and rows of earlier versions do not say that there were more."""
    assert command("run", configured(place), "--yes", "--budget-calls", 90).code == NOT_GRADED
    rows = read_log(place / "results" / "verdicts.jsonl")
    write_log([replace(row, attributes={}) for row in rows], place / "apart.jsonl")
    asked = ("apart.jsonl", "--rule", "majority", "--fail-under", "pass_rate>=0.8", "--sequential")
    for told in (command("replay", *asked), command("report", *asked, "--no-step-summary")):
        assert "nothing here says how many cases were to be asked, nor whether a gate ended it" in words(told.out)


@pytest.mark.slow
def test_cases_asked_before_in_file_order_are_no_evidence_of_a_stopped_run(command: Command, place: Path) -> None:
    """The first ninety all pass, of all two thirds do."""
    path = configured(place, harness={"seed": 3})
    assert command("run", path, "--yes", "--budget-calls", 90).code == NOT_GRADED
    ran = command("run", path, "--yes", "--json", "--until", "pass_rate>=0.5")
    assert ran.code == OK
    asked = ran.json["gates"]["order"]["asked"]["one"]
    assert asked < ran.json["judged_cases"]
    reported = command("report", "results", "--fail-under", "pass_rate>=0.5", "--sequential", "--no-step-summary")
    looked = ran.json["gates"]["checks"][0]["looked"]
    assert looked <= asked
    assert f"over {looked} cases" in words(reported.out)


@pytest.mark.slow
def test_a_replay_of_a_stopped_run_says_so_and_has_no_gate_on_a_fixed_number(command: Command, place: Path) -> None:
    path = configured(place)
    assert command("run", path, "--yes", "--until", "pass_rate>=0.5").code == OK
    sentence = "was asked until its own gate is settled, and an interval over a fixed number of cases is not valid"
    for source in ("results", "results/verdicts.jsonl"):
        asked = ("replay", source, "--rule", "majority")
        assert f"the run {sentence}" in words(command(*asked).out)
        for gate in (("--fail-under", "pass_rate>=0.2"), ("--min-consistency", 0.1), ("--max-abstention", 0.9)):
            ran = command(*asked, *gate)
            assert (ran.code, "NOT MEASURED" in ran.out, sentence in words(ran.out)) == (GATE_FAILED, True, True)
        replayed = command(*asked, "--fail-under", "pass_rate>=0.4", "--sequential", "--json")
        assert (replayed.code, replayed.json["stopped"]) == (OK, True)
        assert [error.message for error in Draft202012Validator(schema("replay-1")).iter_errors(replayed.json)] == []
    assert command("run", path, "--yes").code == OK
    whole = command("replay", "results", "--rule", "majority", "--json", "--fail-under", "pass_rate>=0.2")
    assert (whole.code, "stopped" in whole.json) == (OK, False)


@pytest.mark.slow
def test_a_report_of_a_stopped_run_says_so_before_its_intervals(command: Command, place: Path) -> None:
    path = configured(place)
    command("run", path, "--yes", "--until", "pass_rate>=0.5")
    sentence = "was asked until its own gate is settled, and an interval over a fixed number of cases is not valid"
    shown = words(command("report", "results", "--no-step-summary").out)
    assert 0 < shown.find(sentence) < shown.index("% of cases")
    for format_ in ("--html", "--markdown"):
        assert sentence in words(command("report", "results", "--no-step-summary", format_, "-").out)
    reported = command("report", "results", "--no-step-summary", "--json").json
    assert [judge["alerts"][0] for judge in reported["judges"]] == [f"the run {sentence}"]
    command("run", path, "--yes")
    assert sentence not in words(command("report", "results", "--no-step-summary").out)


@pytest.mark.slow
def test_a_comparison_of_a_stopped_run_says_so(command: Command, place: Path) -> None:
    path = configured(place)
    command("run", path, "--yes", "--out", "whole")
    command("run", path, "--yes", "--out", "stopped", "--until", "pass_rate>=0.5")
    shown = command("compare", "whole", "stopped", "--permutations", 20)
    assert "the run after was asked until its own gate is settled" in words(shown.out)
    assert "is not valid: compare with --sequential" in words(shown.out)
    compared = command("compare", "stopped", "whole", "--sequential", "--json")
    assert compared.json["stopped"] == ["before"]
    told = words(command("compare", "stopped", "whole", "--sequential").out)
    assert "is not valid; those of differences here hold at every look" in told
    assert command("compare", "whole", "whole", "--json", "--permutations", 20).json["stopped"] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("gate", "harness", "reason"), [
    ("accuracy>=0.8", {}, "no case holds a gold label"),
    ("consistency>=0.8", {}, "one sample a case agrees with itself"),
    ("agreement>=0.8", {"repetitions": 3, "curtail": True}, "early stopping shows more agreement"),
    ("flip_rate(format_change)<=0.2", {}, "perturbation format_change is not asked, only none"),
    ("position_flip<=0.2", {}, "perturbation position_swap is not asked, only none"),
    ("mean_score>=5", {}, "rule majority decides labels, which have no mean"),
    ("pass_rate>=0.5", {"aggregation_rule": "median"}, "rule median decides scores, which have no labels"),
    ("precision>=0.5", {}, "is of a calibration, which no further case changes"),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused_before_the_first_call(
    command: Command, place: Path, gate: str, harness: dict[str, Any], reason: str
) -> None:
    scale = ("--scale", "1:10") if gate.startswith("mean") else ()
    ran = command("run", configured(place, harness=harness), "--yes", "--until", gate, *scale)
    assert (ran.code, reason in words(ran.err)) == (USAGE, True), ran.err
    assert not (place / "asked").exists()
    assert not (place / "results" / "results.jsonl").exists()


@pytest.mark.slow
def test_clusters_of_unequal_size_are_refused_before_the_first_call(command: Command, place: Path) -> None:
    (place / "many.csv").write_text((place / "many.csv").read_text().replace(",kind\n", ",cluster\n", 1))
    ran = command("run", configured(place), "--yes", "--until", "pass_rate>=0.5")
    assert (ran.code, "clusters hold from 1 to 150 cases" in words(ran.err)) == (USAGE, True)
    assert not (place / "asked").exists()
    seeded = configured(place, harness={"seed": 2})
    suite = command("run", seeded, "--yes", "--json", "--until", "pass_rate>=0.5", "--about", "suite")
    assert suite.code == OK, suite.err
    assert suite.json["gates"]["order"]["clusters"] == 151
    again = command("report", "results", "--fail-under", "pass_rate>=0.5", "--sequential", "--no-step-summary")
    assert (again.code, "which cases the clusters hold that were not asked" in words(again.out)) == (GATE_FAILED, True)


@pytest.mark.slow
def test_after_a_stop_among_clusters_the_advice_leads_somewhere(command: Command, place: Path) -> None:
    lines = (place / "many.csv").read_text().replace(",kind\n", ",cluster\n", 1).splitlines()
    clustered = [lines[0], *(f"{line.rsplit(',', 1)[0]},g{n // 3}" for n, line in enumerate(lines[1:]))]
    (place / "many.csv").write_text("\n".join([*clustered, ""]))
    path = configured(place)
    command("run", path, "--yes", "--until", "pass_rate>=0.5")
    asked = ("report", "results", "--fail-under", "pass_rate>=0.5", "--sequential", "--no-step-summary")
    first = command(*asked)
    assert (first.code, "ask the cases that are left, with run and without --until" in words(first.out)) == (
        GATE_FAILED,
        True,
    )
    assert "ask with run --until" not in words(first.out)
    assert "every gate passed" in command("report", "results", "--no-step-summary").out
    command("run", path, "--yes")
    assert command(*asked).code == OK


@pytest.mark.slow
def test_every_reader_of_the_log_of_a_stopped_run_says_that_it_was(command: Command, place: Path) -> None:
    command("run", configured(place), "--yes", "--until", "pass_rate>=0.5")
    count = len(ids(place / "results" / "results.jsonl"))
    labels = place / "labels.csv"
    labels.write_text(
        "case_id,gold\n" + "".join(f"c{n},{'PASS' if n < 130 or n % 2 else 'FAIL'}\n" for n in range(300))
    )
    said = "the run was asked until its own gate is settled, and an interval over a fixed number of cases is not valid"
    for source in ("results", "results/verdicts.jsonl", "results/verdicts.sqlite"):
        measured = ("--labels", labels, "--source", "human")
        calibrated = ("calibrate", "--log", source, "--rule", "majority", *measured, "--ledger", "ledger.jsonl")
        corrected = ("corrected-rate", source, "--rule", "majority", "--gold", labels)
        refused = command("certify", source, *measured)
        assert (refused.code, said in refused.err) == (USAGE, True), source
        for asked in (calibrated, corrected):
            assert said in words(command(*asked).out), asked
            ran = command(*asked, "--json")
            assert said in words(ran.err + " ".join(ran.json.get("notes", ()))), asked
        assert "chosen: nothing" in command(*corrected, "--labels-are", "random").out
        kept = command(*calibrated, "--out", "kept.json")
        assert (kept.code, "and neither is a saved calibration" in kept.err) == (USAGE, True), source
        other = ("--run", "other")
        assert command(*calibrated, *other).code == USAGE
    reported = command("report", "results/verdicts.jsonl", "--rule", "majority", "--json", "--no-step-summary")
    assert (reported.json["gates"]["stopped"], reported.json["judges"][0]["cases"]) == (True, count)
    assert reported.json["gates_of"] == "run"
    gated = ("report", "results/verdicts.jsonl", "--rule", "majority", "--fail-under", "pass_rate>=0.3")
    fixed = command(*gated, "--no-step-summary", "--judge", "one")
    assert (fixed.code, said in words(fixed.out)) == (GATE_FAILED, True)
    compared = command("compare", *["results/verdicts.jsonl"] * 2, "--rule", "majority", "--json")
    assert compared.json["stopped"] == ["before", "after"]


@pytest.mark.slow
def test_a_run_cut_off_is_not_compared_sequentially(command: Command, place: Path) -> None:
    path = configured(place)
    command("run", path, "--yes", "--budget-calls", 90)
    command("run", path, "--yes", "--out", "whole")
    for cut in ("results", "results/verdicts.jsonl"):
        for sides in ((cut, "whole/verdicts.jsonl"), ("whole/verdicts.jsonl", cut)):
            refused = command("compare", *sides, "--rule", "majority", "--sequential")
            if cut.endswith("jsonl"):
                assert "210 of 300 cases have no answer, and those that have one are not drawn" in words(refused.err)
            assert refused.code == USAGE
    assert "210 of 300" in words(command("compare", "results", "whole", "--sequential").err)
    assert command("compare", "results", "whole").code == OK
    log = command("report", "results/verdicts.jsonl", "--rule", "majority", "--json", "--no-step-summary")
    assert log.json["judges"][0]["not_asked"] == 210


@pytest.mark.slow
def test_a_run_cut_off_is_measured_and_saved_as_no_calibration(command: Command, place: Path) -> None:
    command("run", configured(place), "--yes", "--budget-calls", 90)
    labels = place / "labels.csv"
    labels.write_text("case_id,gold\n" + "".join(f"c{n},{'PASS' if n % 2 else 'FAIL'}\n" for n in range(300)))
    for source in ("results", "results/verdicts.jsonl"):
        asked = ("calibrate", "--log", source, "--rule", "majority", "--labels", labels, "--source", "human")
        assert command(*asked).code == OK
        refused = command(*asked, "--out", "kept.json")
        assert (refused.code, "continue the run to its end" in refused.err) == (USAGE, True), source


def test_labels_that_a_judge_declares_and_cases_with_gold_are_measurable() -> None:
    from judgeharness_integrations.judging.cases import AnswerCase, Criterion

    design = Design(perturbations=("none", "format_change"), repetitions=2, rule=rule("majority"))
    plain, labelled = (AnswerCase(case_id="c", input="q", output="a", gold=gold) for gold in (None, "yes"))
    own = AnswerCase(case_id="c", input="q", output="a", criteria=(Criterion(name="tone"),))
    declared, free = Criterion(name="verdict", labels=("yes", "no")), Criterion(name="other")
    for gate, case, criteria, reason in (
        ("accuracy>=0.5", labelled, (), ""),
        ("pass_rate>=0.5", plain, (declared,), "no criterion of the judge has the label PASS, only yes, no"),
        ("rate(yes)>=0.5", plain, (declared,), ""),
        ("rate(maybe)>=0.5", plain, (declared, free), ""),
        ("rate(maybe)>=0.5", own, (declared,), ""),
        ("flip_rate(format_change)<=0.5", plain, (), ""),
        ("consistency>=0.5", plain, (), ""),
    ):
        assert unmeasurable(parse_expression(gate), design, [case], criteria) == reason, gate


@pytest.mark.slow
def test_the_seed_is_written_before_the_first_call(command: Command, place: Path) -> None:
    """Whoever is interrupted and looks again looks at the same order."""
    path = configured(place)
    cut = command("run", path, "--yes", "--json", "--until", "pass_rate>=0.66", "--budget-calls", 5)
    assert cut.code == NOT_GRADED
    again = command("run", path, "--yes", "--json", "--until", "pass_rate>=0.66")
    assert cut.json["gates"]["order"]["seed"] == again.json["gates"]["order"]["seed"]
    seed = re.search(r"drawn by the seed (\d+)", words(again.err))
    assert seed is not None
    assert int(seed[1]) == again.json["gates"]["order"]["seed"]


@pytest.mark.slow
@pytest.mark.parametrize("named", [None, "mine.sqlite"])
def test_the_log_of_a_stopped_run_knows_the_stop_in_every_command(
    command: Command, place: Path, named: str | None
) -> None:
    path = configured(place, **({} if named is None else {"log": f"results/{named}"}))
    ran = command("run", path, "--yes", "--until", "pass_rate>=0.5")
    assert ran.code == OK, ran.err
    log = place / "results" / (named or "verdicts.sqlite")
    assert log.is_file()
    gold = place / "gold.csv"
    gold.write_text(
        "\n".join(["case_id,gold", *(f"c{n},{'PASS' if n < 100 or n % 2 else 'FAIL'}" for n in range(300))])
    )
    asked = {
        "replay": ("replay", log, "--rule", "majority"),
        "report": ("report", log, "--rule", "majority", "--no-step-summary"),
        "compare": ("compare", log, place / "results", "--rule", "majority"),
        "calibrate": ("calibrate", "--log", log, "--rule", "majority", "--labels", gold, "--source", "human"),
    }
    outputs = {name: words((one := command(*arguments)).out + one.err) for name, arguments in asked.items()}
    assert {name: "was asked until its own gate is settled" in text for name, text in outputs.items()} == dict.fromkeys(
        asked, True
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.jsonl.gz"])
def test_rows_copied_out_of_the_folder_know_that_a_gate_ended_their_run(
    command: Command, place: Path, name: str
) -> None:
    assert command("run", configured(place), "--yes", "--until", "pass_rate>=0.5").code == OK
    rows = read_log(place / "results" / "verdicts.jsonl")
    assert {row.attributes["planned_cases"] for row in rows} == {300}
    copied = write_log(rows, place / name)
    for ran in (
        command("replay", copied, "--rule", "majority", "--fail-under", "pass_rate>=0.5"),
        command("report", copied, "--rule", "majority", "--fail-under", "pass_rate>=0.5", "--no-step-summary"),
    ):
        assert ran.code == GATE_FAILED
        assert "was asked until its own gate is settled, and an interval over a fixed number of cases" in words(ran.out)


@pytest.mark.slow
def test_rows_copied_out_of_the_folder_know_of_cases_that_a_budget_left_out(command: Command, place: Path) -> None:
    assert command("run", configured(place), "--yes", "--budget-calls", 120).code == NOT_GRADED
    rows = read_log(place / "results" / "verdicts.jsonl")
    assert {row.attributes["ended_by"] for row in rows} == {"budget_exhausted"}
    copied = write_log(rows, place / "rows.jsonl")
    gate = ("--fail-under", "pass_rate>=0.4")
    ran = command("replay", copied, "--rule", "majority", *gate)
    assert (ran.code, "180 of 300 are not decided and count as not PASS" in words(ran.out)) == (GATE_FAILED, True)
    assert command("run", configured(place), "--yes").code == OK
    rows = read_log(place / "results" / "verdicts.jsonl")
    assert all("planned_cases" not in row.attributes for row in rows)
    whole = command("replay", write_log(rows, place / "whole.jsonl"), "--rule", "majority", *gate)
    assert "nothing here says how many cases were to be asked" in words(whole.out)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "ended_by"),
    [(("--until", "pass_rate>=0.5"), {"gate"}), (("--budget-calls", 120), {"budget_exhausted"}), ((), {None})],
)
@pytest.mark.parametrize("run", [(), ("--run", "first")])
def test_rows_exported_from_the_log_of_a_run_that_ended_early_say_so(
    command: Command, place: Path, options: tuple[Any, ...], ended_by: set[str | None], run: tuple[str, ...]
) -> None:
    command("run", configured(place), "--yes", *options)
    log, exported = place / "results" / "verdicts.sqlite", place / "exported.jsonl"
    with SqlLog(log, create=False) as database:
        database.add([VerdictRow(case_id="c0", verdict="PASS", run="of others")])
        (name,) = (one for one in database.run_ids() if one != "of others")
    chosen = (run[0], name) if run else ()
    assert command("log", "export", "--log", log, "--out", exported, *chosen).code == OK
    rows = [row for row in read_log(exported) if row.run == name]
    assert {row.attributes.get("ended_by") for row in rows} == ended_by
    assert [row.attributes for row in rows] == [
        row.attributes for row in read_log(place / "results" / "verdicts.jsonl")
    ]


def test_marks_of_other_runs_say_nothing(place: Path) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS", run=run) for run in ("r1", "r2") for n in range(3)]
    assert list(marked(rows, {"judge": 3}, ended_by="gate")) == rows
    told = list(marked(rows, {"judge": 5}, ended_by="interrupted"))
    log = write_log(told, place / "rows.jsonl")
    assert ended_early(log, None) is None
    assert ended_early(log, "none") is None
    found = ended_early(log, "r1")
    assert found is not None
    assert (found.asked, found.planned, found.by_gate) == ({"judge": 3}, {"judge": 5}, False)
