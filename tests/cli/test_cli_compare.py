"""`judgeharness compare`: runs, logs, files and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.rows import sampled

from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import write_log

Command = Callable[..., Any]
P, F = "PASS", "FAIL"


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Two logs of 40 cases; in the second, 16 that passed fail."""
    paths = []
    for name, failing in (("a", 0), ("b", 16)):
        rows = [
            row
            for i in range(40)
            for row in sampled([F if i < failing else P] * 3, case_id=f"c{i:02}", run=name, judge="house")
        ]
        paths.append(write_log(rows, tmp_path / f"{name}.csv"))
    return paths[0], paths[1]


def test_the_answer_comes_first_and_the_flips_follow(command: Command, logs: tuple[Path, Path]) -> None:
    ran = command("compare", *logs, "--rule", "majority")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Worse: rate of PASS 100.0 % -> 60.0 % of 40: -40.0 points [-55.4, -26.3]"
    assert lines[2] == f"next: judgeharness report {logs[1]} --rule majority --html report.html"
    assert "rate of PASS 100.0 % -> 60.0 % of 40: -40.0 points" in ran.out
    assert "16 flipped, least likely under noise first" in ran.out
    assert "and 6 more: --all lists them" in ran.out
    assert "{PASS: 3}" in ran.out
    assert "\x1b" not in ran.out
    everything = command("compare", *logs, "--rule", "majority", "--all").out
    assert "c15" in everything
    assert "more: --all" not in everything


def test_json_is_the_report_and_nothing_else(command: Command, logs: tuple[Path, Path]) -> None:
    ran = command("compare", *logs, "--rule", "majority", "--json", "--detect", "0.2", "--seed", "3")
    assert (ran.code, ran.err) == (0, "")
    assert list(Draft202012Validator(schema("comparison-1")).iter_errors(ran.json)) == []
    assert (ran.json["answer"], ran.json["seed"]) == ("worse", 3)
    assert ran.json["criteria"][0]["cases_needed"]["detect"] == 0.2
    again = command("compare", *logs, "--rule", "majority", "--json", "--detect", "0.2", "--seed", "3")
    assert again.out == ran.out


@pytest.mark.slow
def test_a_gate_fails_only_when_it_was_asked_for(command: Command, logs: tuple[Path, Path]) -> None:
    a, b = logs
    rule = ("--rule", "majority")
    assert command("compare", a, b, *rule).code == 0
    assert command("compare", a, b, *rule, "--fail-on", "worse").code == 1
    assert command("compare", b, a, *rule, "--fail-on", "worse").code == 0
    assert command("compare", b, a, *rule, "--fail-on", "changed").code == 1
    assert command("compare", a, a, *rule, "--fail-on", "changed").code == 0


def test_a_judge_that_is_down_does_not_pass_for_no_worse(command: Command, tmp_path: Path) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("case_id,verdict,gold\n" + "".join(f"c{n},PASS,PASS\n" for n in range(60)))
    after.write_text("case_id,verdict,gold\n" + "".join(f"c{n},{'PASS' if n < 3 else ''},PASS\n" for n in range(60)))
    ran = command("compare", before, after, "--rule", "majority", "--fail-on", "worse")
    assert (ran.out.partition(":")[0], ran.code) == ("Cannot tell", 1)


def two_judges(path: Path, *, judges: str = "jk", cases: int = 40, criteria: str = "x") -> Path:
    """Write judges who are right about every case and criterion."""
    rows = (f"{judge},c{n},{name},PASS\n" for judge in judges for n in range(cases) for name in criteria)
    path.write_text("judge,case_id,criterion,verdict\n" + "".join(rows))
    return path


@pytest.mark.parametrize(("runs", "asked", "said"), [
    (({}, {"judges": "j"}), "worse", "judges of the first run missing from the second: 1 (k); ask them"),
    (({}, {"judges": "j"}), "changed", "judges of the first run missing from the second: 1 (k); ask them"),
    (({"criteria": "xy"}, {}), "worse", "criteria of the first run missing from the second: 2 (j, y; k, y); ask about"),
    (({}, {"cases": 19}), "worse", "k, x: 21 of 40 cases of the first run are missing from the second; ask them"),
])  # fmt: skip
def test_a_gate_fails_where_much_of_the_first_run_is_missing(
    command: Command, tmp_path: Path, runs: tuple[dict[str, Any], dict[str, Any]], asked: str, said: str
) -> None:
    sides = [two_judges(tmp_path / f"{place}.csv", **run) for place, run in enumerate(runs)]
    ran = command("compare", *sides, "--rule", "majority", "--fail-on", asked)
    assert (ran.code, f"--fail-on {asked}: {said}" in ran.err) == (1, True)


def relabelled(folder: Path, differing: int) -> list[Path]:
    """Write a judge that is always right, and one whose further PASSes, and labels with them, are wrong."""
    golds = ["PASS" if n < 20 else "FAIL" for n in range(40)]
    given = ["PASS" if n < 20 + differing else gold for n, gold in enumerate(golds)]
    sides = {"a.csv": (golds, golds), "b.csv": (["PASS"] * (20 + differing) + ["FAIL"] * (20 - differing), given)}
    for name, (verdicts, labels) in sides.items():
        rows = (f"c{n},{one},{label}\n" for n, (one, label) in enumerate(zip(verdicts, labels, strict=True)))
        (folder / name).write_text("case_id,verdict,gold\n" + "".join(rows))
    return [folder / name for name in sides]


@pytest.mark.parametrize(("differing", "options", "code"), [
    (20, (), 1),
    (5, (), 1),
    (4, (), 0),
    (5, ("--measure", "rate"), 0),
])  # fmt: skip
def test_a_gate_fails_where_labels_follow_the_judge(
    command: Command, tmp_path: Path, differing: int, options: tuple[str, ...], code: int
) -> None:
    ran = command("compare", *relabelled(tmp_path, differing), "--rule", "majority", "--fail-on", "worse", *options)
    said = f"gold labels of {differing} of 40 cases differ between the runs; compare them under the same labels"
    assert (ran.code, said in ran.err) == (code, code == 1)


@pytest.mark.parametrize(("before", "after", "options"), [
    ({}, {"judges": "j"}, ("--judge", "j")),
    ({"criteria": "xy"}, {}, ("--criterion", "x")),
    ({}, {"cases": 20}, ()),
    ({"judges": "j"}, {}, ()),
])  # fmt: skip
def test_a_gate_fails_over_nothing_that_was_left_out_on_purpose_or_is_new(
    command: Command, tmp_path: Path, before: dict[str, Any], after: dict[str, Any], options: tuple[str, ...]
) -> None:
    sides = (two_judges(tmp_path / "a.csv", **before), two_judges(tmp_path / "b.csv", **after))
    ran = command("compare", *sides, "--rule", "majority", "--fail-on", "changed", *options)
    assert (ran.code, ran.err) == (0, "")


def test_markdown_and_html_are_written(command: Command, logs: tuple[Path, Path], tmp_path: Path) -> None:
    page, text = tmp_path / "page.html", tmp_path / "text.md"
    command("compare", *logs, "--rule", "majority", "--html", page, "--markdown", text)
    assert page.read_text().startswith("<!doctype html>")
    assert text.read_text().startswith("## Worse: rate of PASS ")
    shown = command("compare", *logs, "--rule", "majority", "--markdown", "-").out
    assert shown == text.read_text()


@pytest.mark.slow
def test_runs_and_judges_of_one_log(command: Command, logs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = (path.read_text() for path in logs)
    both = tmp_path / "both.csv"
    both.write_text(a + b.split("\n", 1)[1])
    rule = ("--rule", "majority")
    ran = command("compare", both, both, *rule, "--run-a", "a", "--run-b", "b", "--json")
    assert (ran.json["answer"], ran.json["before"]["run"], ran.json["after"]["run"]) == ("worse", "a", "b")
    assert "choose one with --run-a" in command("compare", both, both, *rule).err
    assert "choose one with --run-b" in command("compare", both, both, *rule, "--run-a", "a").err
    judges = tmp_path / "judges.csv"
    judges.write_text(a + b.split("\n", 1)[1].replace(",house,", ",new,").replace(",b,", ",a,"))
    ran = command("compare", judges, judges, *rule, "--judge-a", "house", "--judge-b", "new", "--json")
    assert (ran.json["answer"], ran.json["criteria"][0]["judge_after"]) == ("worse", "new")
    assert ran.json["judged"]["question"] == "same answers"


def test_scores_with_tolerance_and_labels(command: Command, tmp_path: Path) -> None:
    paths = []
    for name, more in (("a", 0), ("b", 2)):
        rows = [row for i in range(12) for row in sampled([i % 5 + more] * 2, case_id=f"c{i}")]
        paths.append(write_log(rows, tmp_path / f"{name}.csv"))
    near = command("compare", *paths, "--rule", "median", "--tolerance", "2", "--json").json["criteria"][0]
    far = command("compare", *paths, "--rule", "median", "--json", "--criterion", "verdict").json["criteria"][0]
    assert (len(near["flips"]), len(far["flips"])) == (0, 12)
    labels = command("compare", *paths, "--rule", "majority", "--labels", "--json").json["criteria"][0]
    assert (labels["kind"], labels["main"]["measure"]) == ("labels", "label_shares")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give one, as --rule majority"),
        (("--rule", "majority", "--judge", "nobody"), "unknown judge of both runs 'nobody'"),
        (("--rule", "majority", "--judge-a", "house"), "naming both: --judge-a and --judge-b"),
        (("--rule", "majority", "--run-a", "zzz"), "unknown run 'zzz'"),
        (("--rule", "majority", "--min-valid", "9"), None),
        (("--rule", "majority", "--json", "--markdown", "-"), "write Markdown to a file"),
        (("--rule", "majority", "--html", "no/such/folder/page.html"), "give another --html"),
        (("--rule", "majority", "--alpha", "2"), "alpha must lie between 0 and 1"),
    ],
)
def test_wrong_usage_is_one_sentence(
    command: Command, logs: tuple[Path, Path], arguments: tuple[str, ...], sentence: str | None
) -> None:
    ran = command("compare", *logs, *arguments)
    if sentence is None:
        assert "no case was graded before" in ran.out
        return
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_folders_of_runs_are_compared_and_taken_over_answers_are_told(
    command: Command, configure: Callable[..., Path], folder: Path
) -> None:
    first, second = folder / "first", folder / "second"
    repeated = {
        "harness": {"perturbations": ["none", "position_swap"], "repetitions": 2, "aggregation_rule": "swap_consensus"}
    }
    command("run", configure("good", **repeated), "--out", first, "--yes")
    command("run", configure("first", **repeated), "--out", second, "--yes")
    ran = command("compare", first, second, "--json")
    assert ran.code == 0
    (criterion,) = ran.json["criteria"]
    assert (criterion["judge"], criterion["judge_after"], criterion["cases"]) == ("good", "first", 3)
    assert criterion["main"]["measure"] == "right_of_labelled"
    assert {t["after"] for t in criterion["transitions"]} == {"ABSTAIN"}
    assert [d["part"] for d in ran.json["configuration"]][:1] == ["judge"]
    assert "leave out --run-a" in command("compare", first, second, "--run-a", "x").err


def test_many_criteria_are_told_shortly(command: Command, tmp_path: Path) -> None:
    rows = [row for n in range(5) for i in range(9) for row in sampled([P, P], case_id=f"c{i}", criterion=f"q{n}")]
    log = write_log(rows, tmp_path / "many.csv")
    assert "more: --all" in command("compare", log, log, "--rule", "majority").out
    assert "details of each criterion" not in command("compare", log, log, "--rule", "majority", "--all").out


def test_names_cannot_steer_the_terminal(command: Command, tmp_path: Path) -> None:
    facts = {"judge": "\x1b[2J", "criterion": "[bold]"}
    rows, flipped = (
        [row for i in range(9) for row in sampled([verdict], case_id=f"\x1b[31m{i}", **facts)] for verdict in (P, F)
    )
    paths = [write_log(rows, tmp_path / "a.jsonl"), write_log(flipped, tmp_path / "b.jsonl")]
    out = command("compare", *paths, "--rule", "majority").out
    assert "\x1b" not in out
    assert "\n[2J, [bold]: 9 flipped" in out


def test_configurations_that_differ_are_told_first(command: Command, tmp_path: Path) -> None:
    paths = []
    for model in ("gpt-4", "gpt-5"):
        rows = [row for i in range(9) for row in sampled([P, P], case_id=f"c{i}", model=model)]
        paths.append(write_log(rows, tmp_path / f"{model}.csv"))
    lines = command("compare", *paths, "--rule", "majority").out.splitlines()
    assert lines[2] == "- the configurations differ in model: a change may be the harness's"
    assert lines[lines.index("configurations differ: a change may be the harness's") + 1] == (
        "- judge: model gpt-4 before, gpt-5 now"
    )


@pytest.mark.slow
def test_two_judges_on_one_case_file_judged_the_same_answers(command: Command, folder: Path) -> None:
    def ran(out: str, judge: str, model: str) -> Path:
        config = {
            "judges": [{"name": judge, "callable": f"cli_judges:{judge}", "model": model}],
            "cases": "cases.csv",
            "harness": {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"},
        }
        (folder / "run.json").write_text(json.dumps(config))
        found = command("run", folder / "run.json", "--out", folder / out, "--yes")
        sys.modules.pop("cli_judges", None)
        assert found.code == 0, found.err
        return folder / out

    before, after = ran("a", "good", "gpt-4o"), ran("b", "first", "gpt-4o-mini")
    judged = command("compare", before, after, "--json").json["judged"]
    assert (judged["question"], judged["same"], judged["unknown"]) == ("same answers", 3, 0)
    (folder / "cases.csv").write_text((folder / "cases.csv").read_text().replace("good one", "a good one"))
    judged = command("compare", before, ran("c", "first", "gpt-4o-mini"), "--json").json["judged"]
    assert (judged["question"], judged["same"], judged["unknown"]) == ("unknown", 0, 3)
