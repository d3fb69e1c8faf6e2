"""`judgeharness plan`: what a precision takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
RATINGS = Path(__file__).parent.parent / "data" / "gpt4_ratings_mt_bench.csv.gz"
LLMBAR = RATINGS.with_name("llmbar.csv.gz")

SAMPLES = "samples (perturbations x repetitions)"


def pilot(folder: Path, **common: Any) -> Path:
    path = folder / "pilot.csv"
    rows = [
        VerdictRow(case_id=f"c{n}", perturbation=name, repetition=r, verdict="PASS" if answer else "FAIL", **common)
        for n in range(30)
        for p, name in enumerate(("none", "format_change"))
        for r in range(3)
        for answer in [n % 3 > 0 if (n + p + r) % 5 else n % 2 > 0]
    ]
    write_log(rows, path)
    return path


def test_without_anything_cases_and_labels_are_told(command: Command) -> None:
    ran = command("plan")
    assert ran.out.splitlines()[:2] == [
        f"263 cases x 1 x 1 {SAMPLES}, 263 calls: the cheapest design for a 95 % interval no wider than 0.1",
        "next: judgeharness plan --pilot LOG --width 0.1",
    ]
    assert "gates that are looked at" not in ran.out
    assert "of both systems" in command("plan", "--difference", 0.1, "--all").out
    assert ran.code == 0
    assert "95 % interval of decisions under majority no wider than 0.1, in 80 % of studies\n" in ran.out
    assert "note: no pilot: a rate of 0.8 is assumed" in ran.out
    assert (
        "floor: none of these designs takes fewer than 263 cases; a pilot with repetitions may show that fewer do"
        in ran.out
    )
    assert "labels: 263 for a 95 % interval 0.1 wide at a rate of 0.8" in ran.out
    assert "cheapest" in ran.out


@pytest.mark.slow
def test_a_pilot_gives_a_grid_with_prices(command: Command, tmp_path: Path) -> None:
    log = pilot(tmp_path, input_tokens=100, output_tokens=20)
    ran = command("plan", "--pilot", log, "--price", 0.01, "--cases", 400, "--all")
    assert "pilot: judge, verdict: 180 samples of 30 cases, 0 failed; share of PASS" in ran.out
    assert "tokens" in ran.out
    assert "price" in ran.out
    assert "majority of N samples" in ran.out
    assert "a tie counting half, %" in ran.out
    assert "the fewest cases that reach it, for each design" in ran.out
    assert "most precise within the limits: 1 x 1 samples (perturbations x repetitions) of 400 cases" in ran.out
    assert "no wider than 0.1, in 80 % of studies, the pilot's uncertainty included" in ran.out
    assert "where the variance is (share of PASS; 180 samples; levels: case 30, prompt 2" in " ".join(ran.out.split())
    document = command("plan", "--pilot", log, "--price", 0.01, "--cases", 400, "--json").json
    assert document["schema"] == "judgeharness.plan/1"
    one = document["designs"][0]
    assert (one["price"], one["tokens"]) == (pytest.approx(one["calls"] * 0.01), one["calls"] * 120)
    assert document["cheapest"] in document["designs"]
    assert document["pilot"]["agreement"] < 1


def test_what_early_stopping_takes_is_said_of_a_steady_judge_and_of_the_pilot(command: Command, tmp_path: Path) -> None:
    log = pilot(tmp_path)
    said = " ".join(command("plan", "--pilot", log, "--rule", "supermajority(2/3)").out.split())
    found = command("plan", "--pilot", log, "--rule", "supermajority(2/3)", "--json").json["early_stopping"]
    assert (found["planned"], found["steady"], found["cases"]) == (6, 4, 30)
    saved = 100 * (1 - found["expected"] / 6)
    assert (
        "early stopping (curtail: true): of 6 samples a case supermajority(2/3) takes 4 of a steady judge, "
        f"{found['expected']:.2f} expected over 30 pilot cases ({saved:.1f} % of the calls saved); "
        "decisions are those of all samples"
    ) in said


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "said"), [(100, True), (1500, True), (5000, False)])
def test_prompts_that_caches_are_too_large_for_are_told(
    command: Command,
    tmp_path: Path,
    tokens: int,
    said: bool,  # noqa: FBT001
) -> None:
    shown = " ".join(command("plan", "--pilot", pilot(tmp_path, input_tokens=tokens)).out.split())
    told = (
        f"prompt cache: the pilot's prompts have {tokens} tokens, and most providers cache none below 1024, Gemini "
        "none below 4096: their repetitions may be read at the full price"
    )
    assert (told in shown) == said


@pytest.mark.slow
def test_prompts_that_were_read_from_a_cache_are_not_called_too_short(command: Command, tmp_path: Path) -> None:
    path = pilot(tmp_path, input_tokens=1500)
    rows = [replace(row, cached_input_tokens=1024 * (row.repetition > 0)) for row in read_log(path)]
    assert "prompt cache" not in command("plan", "--pilot", write_log(rows, path)).out


@pytest.mark.slow
def test_a_perturbation_that_shifts_the_rate_is_said_first(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "shifted.csv"
    rows = [
        VerdictRow(case_id=f"c{n}", perturbation=name, repetition=r, verdict="PASS" if passes else "FAIL")
        for n in range(40)
        for r in range(2)
        for name, passes in (("none", n % 5 != r), ("format_change", n % 8 == r))
    ]
    write_log(rows, path)
    ran = command("plan", "--pilot", path, "--width", 0.2)
    assert ran.out.splitlines()[1].startswith(
        "warning: format_change moves the share of PASS from 0.80 (none) to 0.12 (exact sign test over 40 cases, p "
    )
    assert ": find out why before you average over it\n" in ran.out
    marked = [line.split() for line in ran.out.splitlines() if line.endswith("cheapest")]
    assert [line[0] for line in marked] == ["1"]
    assert ran.out.count("averages a shift") == 10
    assert re.match(rf"\d+ cases x 1 x \d+ {re.escape(SAMPLES)}, \d+ calls: the cheapest design for a 95 % ", ran.out)
    assert (
        "no design is marked: those within the limits average"
        in command("plan", "--pilot", path, "--width", 0.2, "--perturbations", 2).out
    )
    write_log([replace(row, swapped=row.perturbation != "none") for row in rows], path)
    out = command("plan", "--pilot", path).out
    assert out.splitlines()[1].startswith("note: format_change moves the share of PASS")
    assert "that is position bias, which asking in both orders balances" in out


@pytest.mark.slow
def test_what_a_pilot_did_not_measure_is_null(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    write_log(
        [VerdictRow(case_id=f"c{n}", repetition=r, verdict=n + r * (n % 3)) for n in range(9) for r in (0, 1)], path
    )
    document = command("plan", "--pilot", path, "--json").json
    assert (document["components"]["perturbations"], document["components"]["split"]) == (None, True)
    assert {one["perturbations"] for one in document["designs"]} == {1}
    assert "between perturbations not measured" in command("plan", "--pilot", path).out


@pytest.mark.parametrize("options", [("--rule", "mean", "--variance", "0,0,0")])
def test_without_variance_no_design_is_printed(command: Command, options: tuple[Any, ...]) -> None:
    ran = command("plan", *options, "--cases", 20)
    assert ran.code == 0
    assert "no design: without variance two cases would reach any goal" in ran.out
    assert "the fewest cases" not in ran.out
    assert "floor" not in ran.out
    assert "most precise" not in ran.out
    assert "labels: " in ran.out


def test_scores_of_a_real_judge(command: Command) -> None:
    ran = command("plan", "--pilot", RATINGS, "--width", 0.5)
    assert "mean score 3.489" in ran.out
    assert "between repetitions 0.2573" in ran.out
    assert "labels: 263 for a 95 % interval 0.1 wide" in ran.out  # a share has no width of half a point
    assert "majority" not in ran.out


@pytest.mark.slow
def test_differences_are_those_that_compare_finds(command: Command) -> None:
    asked = ("plan", "--variance", "0.1,0.02,0.05", "--difference", 0.05)
    found = command(*asked)
    assert (
        "difference of 0.05 between two systems of decisions under majority, found by compare, in 80 % of studies "
        "(same cases, correlation 0.5 assumed: of what is said of a case in the long run; 1 x 1 takes " in found.out
    )
    assert "correlation 0.9 assumed" in command(*asked, "--correlation", 0.9).out
    sure, half = (command(*asked, *more, "--json").json for more in (("--assurance", 0.95), ("--expected",)))
    assert sure["fewest_cases"] > half["fewest_cases"]
    assert (sure["goal"]["assurance"], half["goal"]["assurance"]) == (0.95, None)
    assert "expected: in 80 % of studies, if what is planned with is right" in command(*asked, "--expected").out


def test_an_expected_width_is_called_so(command: Command) -> None:
    ran = command("plan", "--expected")
    assert "no wider than 0.1, expected, met in about half of the studies" in ran.out
    assert "labels: 245 for" in ran.out


@pytest.mark.slow
def test_prompts_of_one_judge_are_chosen_by_a_pattern(command: Command) -> None:
    ran = command("plan", "--pilot", LLMBAR, "--judge", "GPT-4/*", "--budget", 400)
    assert "pilot: GPT-4/*, verdict: 12566 samples of 419 cases" in ran.out
    assert [line.split()[-1] for line in ran.out.splitlines() if line.startswith("case x prompt ")] == ["10.7"]
    assert "note: negative and counted as 0: order, prompt x order" in ran.out
    assert "best split of 400 calls for the mean of all samples: 200 cases x 2 prompts x 1 order x 1 sample," in ran.out
    assert "unknown judge 'nobody*'" in command("plan", "--pilot", LLMBAR, "--judge", "nobody*").err


@pytest.mark.slow
def test_what_cannot_be_told_apart_is_noted(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "confounded.csv"
    rows = [
        VerdictRow(case_id=f"c{n}", perturbation=name, swapped=name != "none", repetition=r, verdict=(n * 7 + r) % 5)
        for n in range(9)
        for name in ("none", "flip")
        for r in range(2)
    ]
    write_log(rows, path)
    assert "note: order cannot be told from the others in this log" in command("plan", "--pilot", path).out


def test_a_configuration_gives_cases_and_design_and_is_never_asked(
    command: Command, configure: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JudgeHarness, "__init__", lambda *_, **__: pytest.fail("a harness was made"))
    path = configure("good", execution={"max_calls": 5})
    ran = command("plan", path, "--variance", "0.1,0.02,0.05", "--perturbations", 2)
    assert "as configured: 2 x 1 samples (perturbations x repetitions) of 3 cases, 6 calls: width" in ran.out
    assert "no design within the limits reaches the goal" in ran.out
    assert "advice: 5 calls for 3 cases are fewer than two samples a case: ask each case once, which" in ran.out
    assert "advice: 1 call is too few for any interval" in command("plan", "--budget", 1).out
    document = command("plan", path, "--cases", 50, "--budget", 900, "--json").json
    assert (document["limits"]["cases"], document["limits"]["calls"]) == (50, 900)


@pytest.mark.slow
def test_presets_and_temperatures_are_read(command: Command, tmp_path: Path) -> None:
    judge = {"name": "j", "adapter": "langchain", "evaluator": "LabelJudge", "model": "m"}

    def written(*options: dict[str, Any]) -> Path:
        path = tmp_path / "preset.json"
        judges = [judge | {"name": f"j{n}", "model_options": one} for n, one in enumerate(options)]
        path.write_text(json.dumps({"judges": judges, "harness": {"shape": "labels", "repetitions": 5}}))
        return path

    ran = command("plan", written({"temperature": 0}), "--cases", 30)
    assert "as configured: 2 x 5 samples" in ran.out
    assert "advice: the judge's temperature is 0: repetitions measure nothing" in ran.out
    assert "temperature is" not in command("plan", written({"temperature": 0}, {"temperature": 1})).out
    assert "temperature is" not in command("plan", written({})).out
    assert f"next: judgeharness run {tmp_path / 'preset.json'}\n" in command("plan", written({})).out


def test_labels_advise(command: Command) -> None:
    assert "advice: there are no labels: a harness can only say" in command("plan", "--labels", "none").out
    assert "label 263 items first" in command("plan", "--labels", "none").out
    assert "run the check on every case" in command("plan", "--labels", "executable").out
    assert "advice" not in command("plan", "--labels", "human").out
    assert command("plan", "--labels", "model").code == 2


@pytest.mark.slow
def test_labels_of_a_corrected_rate(command: Command) -> None:
    asked = ("plan", "--sensitivity", 0.9, "--rate", 0.6)
    found = command(*asked, "--specificity", 0.8, "--cases", 5000).out
    assert "labelled positives and" in found
    assert "on 5000 judged cases (judged rate 0.620)" in found
    assert "it takes at least" in command(*asked, "--specificity", 0.8, "--cases", 100).out
    assert "no labels help" in command(*asked, "--specificity", 0.1, "--cases", 100).out


def test_what_takes_too_much_is_said(command: Command) -> None:
    out = command("plan", "--width", 1e-6, "--variance", "0,0,0.1", "--cases", 9).out
    assert "no design within the limits reaches the goal" in out
    assert "labels: more than 10000000" in out
    assert "each of these designs takes more than 10 million cases" in command("plan", "--width", 1e-6).out
    assert "(- %)" in command("plan", "--variance", "0,0,0").out
    assert "as configured" not in command("plan", "--cases", 1).out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--width", ".1", "--difference", ".1"), "give --width or --difference, not both"),
        (("--variance", "1,2,3", "--pilot", "x.csv"), "give --pilot or --variance, not both"),
        (("--judge", "j"), "--judge and --criterion choose rows of a pilot: give --pilot LOG."),
        (("--sensitivity", ".9"), "a corrected rate needs both --sensitivity and --specificity."),
        (("--sensitivity", ".9", "--specificity", ".8"), "needs the number of judged cases: give --cases, or a"),
        (("--variance", "1,2"), "--variance is three numbers, CASES,PERTURBATIONS,REPETITIONS, not '1,2'."),
        (("--variance", "a,b,c"), "--variance is three numbers"),
        (("--variance", "1,-2,3"), "a variance is a number of at least 0, not -2."),
        (("--width", "0"), "a wanted width must be above 0, not 0."),
        (("--difference", "nan"), "a wanted difference must be above 0, not nan."),
        (("--rate", "1.5"), "rate must lie between 0 and 1, not 1.5."),
        (("--cases", "0"), "cases must be a whole number of at least 1, not 0."),
        (("--budget", "0"), "budget must be a whole number of at least 1, not 0."),
        (("--perturbations", "0"), "perturbations must be a whole number of at least 1, not 0."),
        (("--price", "-1"), "price must be a number of at least 0, not -1."),
        (("--pilot", "none.csv"), "none.csv"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(command: Command, options: tuple[str, ...], sentence: str) -> None:
    ran = command("plan", *options)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_a_pilot_of_several_judges_or_criteria_needs_a_choice(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "pilot.csv"
    rows = [
        VerdictRow(case_id=f"c{n}", judge=judge, criterion=criterion, repetition=r, verdict=n % 4 + r)
        for judge in ("a", "b")
        for criterion in ("x", "y")
        for n in range(4)
        for r in range(2)
    ]
    write_log(rows, log)
    assert (
        "holds 2 judges: choose one with --judge, or its prompts with a pattern." in command("plan", "--pilot", log).err
    )
    assert "holds 2 criteria: choose one with --criterion." in command("plan", "--pilot", log, "--judge", "a").err
    assert "pilot: a, x: 8 samples" in command("plan", "--pilot", log, "--judge", "a", "--criterion", "x").out
    assert "unknown judge 'c'" in command("plan", "--pilot", log, "--judge", "c").err


@pytest.mark.slow
def test_a_pilot_of_one_cluster_says_what_it_cannot(command: Command, folder: Path) -> None:
    lines = [f"c{n},{'PASS' if n % 3 else 'FAIL'},none,{r},k" for n in range(30) for r in range(2)]
    (folder / "one.csv").write_text("\n".join(["case_id,verdict,perturbation,repetition,cluster", *lines, ""]))
    told = " ".join(command("plan", "--pilot", folder / "one.csv").out.split())
    assert "all cases of the pilot are one cluster" in told
    assert "1 1 - - - out of reach" in told
    assert "no design reaches the goal" in told
    assert "limits" not in told


@pytest.mark.parametrize("goal", ["--width", "--difference"])
def test_no_share_is_known_to_1_only(command: Command, goal: str) -> None:
    ran = command("plan", goal, 1)
    assert ran.code == 2
    assert f"a {goal.removeprefix('--')} must be below 1, not 1." in ran.err
    assert command("plan", "--variance", "4,1,1", "--rule", "median", goal, 1).code == 0


def test_a_pilot_of_one_sample_a_case_says_that_pairing_counts_for_nothing(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    write_log([VerdictRow(case_id=f"c{n}", verdict="PASS" if n < 25 else "FAIL") for n in range(60)], path)
    ran = command("plan", "--pilot", path, "--difference", 0.17)
    assert "found by compare, in at least 80 % of studies, the pilot's uncertainty included" in ran.out
    assert "(same cases, taken to be uncorrelated; in up to 94 % at the correlation asked for" in ran.out
    assert "note: one sample a case does not show how much of a verdict is noise" in ran.out


@pytest.mark.slow
def test_a_difference_between_uncorrelated_systems_names_no_other_number(command: Command) -> None:
    ran = command("plan", "--variance", "0.1,0.02,0.05", "--difference", 0.05, "--correlation", 0)
    assert "(same cases, correlation 0 assumed)" in ran.out


@pytest.mark.slow
def test_a_pilot_of_one_sample_promises_the_least_and_says_the_most(command: Command, tmp_path: Path) -> None:
    rows = [VerdictRow(case_id=f"s{n}", verdict="FAIL" if n % 5 else "PASS") for n in range(60)]
    log = write_log(rows, tmp_path / "single.csv")
    told = " ".join(command("plan", "--pilot", log, "--difference", 0.15, "--cases", 2000).out.split())
    assert "in at least 80 % of studies" in told
    assert "% at the correlation asked for, if no verdict is noise" in told
    expected = command("plan", "--pilot", log, "--width", 0.3, "--expected", "--cases", 2000).out
    assert "expected if the pilot is right, met in .22 to .66 of studies" in " ".join(expected.split())
    alone = command("plan", "--pilot", log, "--difference", 0.15, "--cases", 2000, "--correlation", 0).out
    assert "taken to be uncorrelated)" in " ".join(alone.split())
