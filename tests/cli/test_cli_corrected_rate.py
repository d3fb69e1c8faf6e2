"""`judgeharness corrected-rate`: gold in a log, a saved calibration, and counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
COUNTS = ("--passed", 400, "--of", 1000, "--sensitivity", "180/200", "--specificity", "140/200")
LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"


def rows_of(**changes: Any) -> list[VerdictRow]:
    """300 cases of three answers, right four times in five; gold on a fifth of them; one in ten fails twice."""
    rng = np.random.default_rng(2)
    rows = []
    for case in range(300):
        truth = bool(rng.random() < 0.6)
        for repetition in range(3):
            verdict = "PASS" if truth ^ bool(rng.random() < 0.2) else "FAIL"
            failed = case % 10 == 3 and repetition
            rows.append(
                VerdictRow(
                    case_id=f"c{case}",
                    verdict=None if failed else verdict,
                    outcome="unparsed" if failed else "ok",
                    repetition=repetition,
                    gold=("PASS" if truth else "FAIL") if case % 5 == case // 10 % 5 else None,
                    attributes={"document": f"d{case // 6}"} if case % 7 else {},
                )
            )
    return [replace(row, **changes) for row in rows]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(rows_of(), tmp_path / "log.jsonl")


def test_counts_print_every_estimate_with_its_denominators_and_mark_the_chosen_one(command: Command) -> None:
    ran = command("corrected-rate", *COUNTS, "--labels-are", "other-mix")
    assert (ran.code, ran.err) == (0, "")
    assert "judged the positive label: 0.400 [0.370, 0.431] (400/1000)" in ran.out
    assert "labelled items: 400, sensitivity 0.900 [0.851, 0.934] (180/200), specificity 0.700" in ran.out
    chosen = next(line for line in ran.out.splitlines() if line.startswith("*"))
    assert chosen.split()[1:] == [
        *(
            "Rogan-Gladen,",
            "Lee",
            "and",
            "Fieller",
            "unlabelled",
            "same",
            "errors",
            "0.167",
            "[0.056,",
            "0.263]",
            "0.0522",
        ),
    ]
    rates = {"labels alone": "all", "PPI++": "all", "Tenenbein": "all", "Rogan-Gladen, delta interval": "unlabelled"}
    for name, items in rates.items():
        assert re.search(rf"{re.escape(name)} +{items} ", ran.out), name
    assert "chosen (*): Rogan-Gladen, Lee and Fieller; it assumes that the judge's sensitivity" in ran.out
    assert "from 400/1000 judged positive, sensitivity 180/200, specificity 140/200" in ran.out


def test_nothing_is_chosen_where_nothing_is_declared(command: Command) -> None:
    ran = command("corrected-rate", *COUNTS)
    assert ran.code == 0
    assert "chosen: nothing" in ran.out
    assert "note: nothing is chosen: declare whether the labels are a random sample" in ran.out
    assert not any(line.startswith("*") for line in ran.out.splitlines())


def test_nothing_is_chosen_where_a_column_tells_the_labelled_items_from_all_others(
    command: Command, tmp_path: Path
) -> None:
    rows = [replace(row, attributes={"kind": "hard" if row.gold is None else "easy"}) for row in rows_of()]
    log = write_log(rows, tmp_path / "log.jsonl")
    ran = command("corrected-rate", log, "--rule", "majority", "--labels-are", "random", "--json")
    assert ran.json["chosen"] is None


def test_a_correction_outside_0_to_1_is_printed_as_that(command: Command) -> None:
    counts = ("--passed", 4, "--of", 200, "--sensitivity", "45/50", "--specificity", "45/50")
    ran = command("corrected-rate", *counts, "--labels-are", "other_mix")
    chosen = next(line for line in ran.out.splitlines() if line.startswith("*"))
    assert chosen.rstrip().endswith(" outside  outside [0, 1]  0.0599")
    assert ran.out.count("(-0.100)") == 2
    assert "note: the correction lies outside [0, 1]" in ran.out


def test_a_correction_outside_0_to_1_breaks_no_word_at_80_columns(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    counts = ("--passed", 50, "--of", 1000, "--sensitivity", "180/200", "--specificity", "140/200")
    ran = command("corrected-rate", *counts, "--labels-are", "other-mix")
    table = ran.out[ran.out.index("estimates") : ran.out.index("chosen (*)")]
    assert {"estimator", "Tenenbein", "unlabelled", "Rogan-Gladen,"} <= set(table.split())


def test_json_is_the_report(command: Command) -> None:
    document = command("corrected-rate", *COUNTS, "--labels-are", "other-mix", "--positive", "good", "--json").json
    assert document["schema"] == "judgeharness.corrected_rate/1"
    assert (document["labels_are"], document["chosen"], document["positive"]) == ("other_mix", "rogan_gladen", "good")
    assert document["judged"]["successes"] == 400
    best = next(one for one in document["estimates"] if one["chosen"])
    assert best["items"] == "unlabelled"
    assert (best["low"], best["high"]) == pytest.approx((0.05635072, 0.26273303), abs=1e-8)
    assert document["judge"] is None


@pytest.mark.slow
def test_a_log_is_corrected_by_its_gold(command: Command, log: Path) -> None:
    ran = command("corrected-rate", log, "--rule", "abstain_on_disagreement", "--labels-are", "random")
    assert ran.code == 0
    assert "judge: judge, criterion verdict" in ran.out
    assert "rule: abstain_on_disagreement\nrule chosen after the samples: exploratory" in ran.out
    assert "abstained or not graded count as not PASS" in ran.out
    assert "labelled items: 60, sensitivity" in ran.out
    assert "chosen (*): Tenenbein; it assumes that the labelled items are a random sample of the items" in ran.out
    assert "\nPPI++: lambda 0." in ran.out
    assert "Rogan-Gladen, delta interval: no interval: it holds from 10 items of each kind on" in ran.out
    document = command("corrected-rate", log, "--rule", "majority", "--labels-are", "random", "--json").json
    assert (document["items"], document["labelled"], document["judged"]["trials"]) == (300, 60, 300)
    assert (document["rule"], document["rule_fixed"], document["criterion"]) == ("majority", "after", "verdict")
    assert document["undecided"] == 30  # two of three failed: not graded, not PASS, not left out
    other = command("corrected-rate", log, "--rule", "majority", "--labels-are", "other-mix", "--json").json
    assert (other["items"], other["judged"]["trials"]) == (240, 240)


@pytest.mark.slow
@pytest.mark.untraced
def test_the_positive_label_is_asked_for_and_may_be_any(command: Command, log: Path) -> None:
    asked = ("corrected-rate", log, "--rule", "majority", "--labels-are", "random", "--json")
    passed, failed = command(*asked).json, command(*asked, "--positive", "FAIL").json
    assert (passed["positive"], failed["positive"]) == ("PASS", "FAIL")
    assert passed["judged"]["successes"] + failed["judged"]["successes"] == 300 - 30
    one = [row for row in read_log(LLMBAR) if row.judge == "GPT-4/CoT"]
    pairs = (
        "corrected-rate",
        write_log(one, log.with_name("pairs.csv.gz")),
        "--rule",
        "swap_consensus",
        "--judge",
        "GPT-4/CoT",
    )
    ran = command(*pairs)
    assert ran.code == 2
    assert "name the label whose rate is asked for with --positive" in ran.err
    assert "judged A: 0.442" in command(*pairs, "--positive", "A").out


@pytest.mark.slow
def test_other_words_for_pass_and_fail_are_understood(command: Command, log: Path, tmp_path: Path) -> None:
    words = {"PASS": "yes", "FAIL": "no", None: None}
    said = [replace(row, gold=words[row.gold]) for row in rows_of()]  # type: ignore[index]
    asked = ("--rule", "majority", "--labels-are", "random", "--json")
    ours = command("corrected-rate", write_log(said, tmp_path / "words.jsonl"), *asked).json
    assert ours == command("corrected-rate", log, *asked).json


@pytest.mark.slow
def test_a_column_says_what_belongs_together(command: Command, log: Path) -> None:
    asked = ("corrected-rate", log, "--rule", "majority", "--labels-are", "random")
    ran = command(*asked, "--cluster", "document")
    assert "in 93 clusters with the labelled ones" in ran.out  # 50 documents, and 43 cases that name none
    assert ran.out.count("its intervals take items for independent, which they are not") == 1
    ran = command(*asked, "--cluster", "documents")
    assert ran.code == 2
    assert "unknown column 'documents': did you mean 'document'?" in ran.err


@pytest.mark.slow
def test_no_interval_for_independent_items_is_chosen_of_items_that_belong_together(
    command: Command, log: Path, tmp_path: Path
) -> None:
    asked = ("--rule", "majority", "--labels-are", "other-mix")
    assert "chosen (*): Rogan-Gladen" in command("corrected-rate", log, *asked).out
    told = command("corrected-rate", log, *asked, "--cluster", "document").out
    assert "chosen: nothing" in told
    assert "nothing can be chosen: its intervals take items for independent, which they are not" in told
    together = [replace(row, attributes={"cluster": int(row.case_id[1:]) // 20}) for row in rows_of()]
    clustered = write_log(together, tmp_path / "clustered.jsonl")
    for labelled, corrected in ((log, clustered), (clustered, log)):
        told = command("corrected-rate", corrected, *asked, "--calibration", calibrated(command, labelled)).out
        assert "chosen: nothing" in told
        assert "note: nothing can be chosen: the intervals take items for independent, which they are not" in told


@pytest.mark.slow
def test_cases_that_are_counted_twice_are_no_random_sample_of_others(command: Command, log: Path) -> None:
    saved = calibrated(command, log)
    asked = ("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--labels-are", "random")
    told = command(*asked).out
    assert "chosen: nothing" in told
    assert "note: nothing can be chosen: labelled cases are counted among the others, too" in told


@pytest.mark.slow
def test_a_case_of_two_runs_is_one_cluster(command: Command, tmp_path: Path) -> None:
    rows = [replace(row, run=run) for run in ("r1", "r2") for row in rows_of()]
    document = command(
        *("corrected-rate", write_log(rows, tmp_path / "runs.jsonl"), "--rule", "majority"),
        *("--labels-are", "random", "--json"),
    ).json
    assert (document["items"], document["clusters"]) == (600, 300)


def calibrated(command: Command, log: Path, *options: object) -> Path:
    saved = log.parent / "cal.json"
    ran = command(
        "calibrate",
        "--source",
        "human",
        "--log",
        log,
        "--rule",
        "majority",
        "--out",
        saved,
        "--name",
        "people",
        *options,
    )
    assert ran.code == 0, ran.err
    return saved


@pytest.mark.slow
def test_a_saved_calibration_gives_sensitivity_and_specificity(command: Command, log: Path) -> None:
    saved = calibrated(command, log)
    asked = ("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--labels-are", "other-mix")
    document = command(*asked, "--json").json
    measured = CalibrationReport.load(saved).criteria["verdict"]
    assert measured.sensitivity is not None
    assert measured.specificity is not None
    assert document["sensitivity"]["successes"] == measured.sensitivity.successes
    assert document["specificity"]["trials"] == measured.specificity.trials
    assert (document["items"], document["chosen"], document["calibration"]) == (300, "rogan_gladen", "people")
    assert document["undecided"] == 30
    ran = command(*asked)
    assert "note: a log has no fingerprint, the calibration on people has no fingerprint either" in ran.out
    assert "cannot be compared" in ran.out
    assert "note: 60 cases of the log are among those it was calibrated on" in ran.out
    assert "note: 60 gold labels in the log were not used" in ran.out


@pytest.mark.slow
def test_what_may_differ_from_the_calibration_is_said(command: Command, log: Path) -> None:
    saved = calibrated(command, log, "--source", "model:o3")
    report = CalibrationReport.load(saved)
    replace(report, judge="other", parts={"rule": "majority"}, design=None, items=()).save(saved)
    target = write_log(rows_of(gold=None), log.parent / "target.jsonl")
    ran = command("corrected-rate", target, "--rule", "majority", "--calibration", saved)
    assert "has the fingerprint " in ran.out
    assert "note: the calibration is of judge 'other', the log of 'judge'" in ran.out
    assert "note: the calibration does not say its perturbations, repetitions: they may be others" in ran.out
    assert "note: the labels are those of o3, not people's" in ran.out
    assert "among those" not in ran.out
    assert "not used" not in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("parts", [None, {"rule": "majority"}])
def test_a_calibration_of_another_rule_is_refused(command: Command, log: Path, parts: dict[str, str] | None) -> None:
    """Its errors would be used for decisions that err otherwise: .28 came out where .66 is right."""
    saved = calibrated(command, log)
    report = CalibrationReport.load(saved)
    assert report.design == {"rule": "majority", "perturbations": ["none"], "repetitions": 3}
    replace(report, design=None if parts else report.design, parts=parts).save(saved)
    ran = command("corrected-rate", log, "--rule", "abstain_on_disagreement", "--calibration", saved)
    assert (ran.code, ran.out) == (2, "")
    assert "was measured with rule majority, whose errors are not those of abstain_on_disagreement" in ran.err
    replace(report, design=None).save(saved)
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved)
    assert "the calibration does not say its rule, perturbations, repetitions: they may be others" in ran.out


@pytest.mark.slow
def test_another_number_of_repetitions_than_calibrated_is_said(command: Command, log: Path) -> None:
    saved = calibrated(command, log)
    once = write_log([row for row in rows_of() if not row.repetition], log.parent / "once.jsonl")
    ran = command("corrected-rate", once, "--rule", "majority", "--calibration", saved)
    assert "note: repetitions 3 before, 1 now" in ran.out


@pytest.mark.slow
def test_labels_made_after_the_run_are_joined_from_a_file(command: Command, log: Path) -> None:
    bare = write_log(rows_of(gold=None), log.parent / "bare.jsonl")
    known = {row.case_id: row.gold for row in rows_of() if row.gold}
    gold = log.parent / "gold.csv"
    gold.write_text("case_id,gold\n" + "".join(f"{case},{label}\n" for case, label in known.items()) + "zz,PASS\n")
    asked = ("--rule", "majority", "--labels-are", "random")
    by_column = command("corrected-rate", log, *asked, "--json").json
    by_file = command("corrected-rate", bare, *asked, "--gold", gold, "--json").json
    assert by_file["estimates"] == by_column["estimates"]
    ran = command("corrected-rate", bare, *asked, "--gold", gold)
    assert f"note: labels of {gold}: 60 of 300 cases of the log are labelled" in ran.out
    assert "note: labelled cases that the log does not hold, and count for nothing: 1 (zz)" in ran.out
    ran = command("corrected-rate", bare, *asked, "--gold", gold, "--calibration", "x.json")
    assert "labels come from --gold or from --calibration: leave out one of them." in ran.err
    assert "--gold goes with a LOG" in command("corrected-rate", *COUNTS, "--gold", gold).err
    scored = write_log([VerdictRow(case_id=case, verdict=8, gold=8) for case in known], log.parent / "num.csv")
    ran = command("corrected-rate", scored, "--rule", "median(pass_at=7)", "--labels-are", "random")
    assert "write gold as PASS and FAIL" in ran.err


def test_counts_beyond_what_can_be_held_are_refused(command: Command) -> None:
    many = ("--passed", 999999999999, "--of", 999999999999, "--sensitivity", "1/1", "--specificity", "1/1")
    ran = command("corrected-rate", *many)
    assert (ran.code, ran.err.count("\n"), "give counts of fewer items" in ran.err) == (2, 1, True)


@pytest.mark.slow
def test_an_old_calibration_without_sensitivity_is_enough(command: Command, log: Path) -> None:
    saved = calibrated(command, log)
    asked = ("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--json")
    new = command(*asked).json
    document = json.loads(saved.read_text())
    for name in ("sensitivity", "specificity", "ac1", "per_class", "risk_coverage", "undefined", "clusters"):
        del document["criteria"]["verdict"][name]
    saved.write_text(json.dumps(document))
    assert command(*asked).json == new


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--positive", "FAIL"), "is about the rate of 'PASS', not of 'FAIL'"),
        (("--cluster", "document"), "--cluster goes with gold labels in LOG"),
        (("--calibration", "missing.json"), "missing.json cannot be read"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(
    command: Command, log: Path, options: tuple[object, ...], sentence: str
) -> None:
    saved = calibrated(command, log)
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved, *options)
    assert ran.code == 2
    assert sentence in ran.err


@pytest.mark.slow
def test_a_calibration_of_something_else_is_refused(command: Command, log: Path) -> None:
    saved = calibrated(command, log)
    other = write_log(rows_of(criterion="tone"), log.parent / "tone.jsonl")
    ran = command("corrected-rate", other, "--rule", "majority", "--calibration", saved)
    assert (ran.code, "unknown criterion of" in ran.err) == (2, True)
    pairs = write_log([VerdictRow(case_id="c", verdict="A")], log.parent / "pairs.jsonl")
    ran = command("corrected-rate", pairs, "--rule", "majority", "--calibration", saved)
    assert "is about 'PASS', but the decisions are A: they cannot be compared." in ran.err
    nothing = write_log([VerdictRow(case_id="c", verdict=None, outcome="error")], log.parent / "none.jsonl")
    ran = command("corrected-rate", nothing, "--rule", "majority", "--calibration", saved)
    assert (ran.code, "judged PASS: 0.000 [0.000, 0.793] (0/1)" in ran.out) == (0, True)


@pytest.mark.slow
def test_a_calibration_without_a_positive_label_is_refused(command: Command, log: Path) -> None:
    pairs = [VerdictRow(case_id=f"c{n}", verdict="AB"[n % 2], gold="A") for n in range(6)]
    saved = calibrated(command, write_log(pairs, log.parent / "pairs.jsonl"))
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved)
    assert "has no positive label: calibrate with --positive" in ran.err
    scores = write_log([VerdictRow(case_id=f"c{n}", verdict=n, gold=n + 1) for n in range(6)], log.parent / "s.jsonl")
    command("calibrate", "--source", "human", "--log", scores, "--rule", "median", "--out", saved)
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved)
    assert "measures scores: calibrate with --positive" in ran.err


def test_scores_need_a_threshold(command: Command, log: Path) -> None:
    scores = [VerdictRow(case_id=f"c{n}", verdict=n % 9, gold="PASS" if n % 2 else None) for n in range(30)]
    path = write_log(scores, log.parent / "scores.jsonl")
    ran = command("corrected-rate", path, "--rule", "median")
    assert "scores, which have no rate: give it a threshold" in ran.err
    ran = command("corrected-rate", path, "--rule", "median(pass_at=4)", "--labels-are", "random")
    assert (ran.code, "judged PASS" in ran.out) == (0, True)


@pytest.mark.slow
def test_numbers_may_be_labels(command: Command, log: Path) -> None:
    digits = [VerdictRow(case_id=f"c{n}", verdict=n % 2, gold=n % 2 if n < 10 else None) for n in range(30)]
    asked = ("corrected-rate", write_log(digits, log.parent / "digits.csv"), "--rule", "majority", "--positive", "1")
    assert "use median, mean" in command(*asked).err
    ran = command(*asked, "--labels")
    assert (ran.code, "judged 1: 0.500 [0.332, 0.668] (15/30)" in ran.out) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give LOG with --rule, or all of --passed, --of, --sensitivity and --specificity."),
        (COUNTS[:6], "give LOG with --rule, or all of"),
        ((*COUNTS, "--rule", "majority"), "--rule goes with a LOG"),
        ((*COUNTS, "--labels"), "--labels goes with a LOG"),
        ((*COUNTS[:4], "--sensitivity", "0.9", "--specificity", "1/2"), "--sensitivity is a count"),
        ((*COUNTS[:6], "--specificity", "\x1b[31m"), "--specificity is a count"),
        ((*COUNTS[:6], "--specificity", "3/2"), "3 of 2 is no count"),
        ((*COUNTS, "--labels-are", "randm"), "did you mean 'random'?"),
        ((LLMBAR,), "LOG needs --rule"),
        ((LLMBAR, *COUNTS[:4]), "leave out --passed, --of."),
        pytest.param(
            *((LLMBAR, "--rule", "majority"), "holds 65 judges: choose one with --judge."), marks=pytest.mark.untraced
        ),
    ],
)
def test_wrong_use_is_one_sentence(command: Command, arguments: tuple[object, ...], sentence: str) -> None:
    ran = command("corrected-rate", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err


def test_a_misspelt_judge_is_one_sentence(command: Command, tmp_path: Path) -> None:
    rows = [*rows_of(judge="GPT-4/CoT"), *rows_of(judge="GPT-4/Vanilla")]
    log = write_log(rows, tmp_path / "two.jsonl")
    test_wrong_use_is_one_sentence(
        command, (log, "--rule", "majority", "--judge", "GPT-4/COT"), "did you mean 'GPT-4/CoT'?"
    )


@pytest.mark.slow
def test_several_criteria_and_no_gold_are_refused(command: Command, log: Path) -> None:
    rows = [*rows_of(gold=None), *rows_of(criterion="tone", gold=None)]
    path = write_log(rows, log.parent / "two.jsonl")
    ran = command("corrected-rate", path, "--rule", "majority")
    assert "holds 2 criteria: choose one with --criterion." in ran.err
    ran = command("corrected-rate", path, "--rule", "majority", "--criterion", "tone")
    assert "no row carries a gold label: give labels as --gold FILE (case_id, gold), or --calibration FILE." in ran.err


@pytest.mark.slow
def test_hostile_names_cannot_steer_the_terminal(command: Command, log: Path) -> None:
    hostile = "\x1b[31mjudge\x07"
    ran = command(
        *("corrected-rate", write_log(rows_of(judge=hostile), log.parent / "hostile.jsonl"), "--rule", "majority"),
        *("--labels-are", "random"),
    )
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out


def answers(folder: Path, name: str, *, passes: float, length: int, gold: bool, cases: int = 120) -> Path:
    """A log of a judge that is right nine times in ten, on cases of about one length."""
    rng = np.random.default_rng(8)
    rows = []
    for case in range(cases):
        said = "PASS" if case < passes * cases else "FAIL"
        truth = said if rng.random() < 0.9 else {"PASS": "FAIL", "FAIL": "PASS"}[said]
        facts: dict[str, str | float] = {"length": length + case % 7, "kind": name}
        rows.append(VerdictRow(case_id=f"{name}{case}", verdict=said, gold=truth if gold else None, attributes=facts))
    return write_log(rows, folder / f"{name}.jsonl")


@pytest.mark.parametrize(("labels_are", "chosen"), [("random", None), ("other-mix", "rogan_gladen")])
def test_labels_of_easy_cases_elsewhere_are_no_sample_of_the_log(
    command: Command, tmp_path: Path, labels_are: str, chosen: str | None
) -> None:
    saved = calibrated(command, answers(tmp_path, "easy", passes=0.5, length=10, gold=True))
    log = answers(tmp_path, "hard", passes=0.5, length=1000, gold=False)
    asked = ("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--labels-are", labels_are)
    document = command(*asked, "--json").json
    assert document["chosen"] == chosen
    (unlike,) = [one for one in document["notes"] if "are not like the labelled ones in lengths" in one]
    assert ("nothing is chosen: " in unlike) == (chosen is None)
    assert "note: kind is easy in all cases with a label and hard in all others" in command(*asked).out


def test_labels_on_one_kind_of_verdict_elsewhere_are_said(command: Command, tmp_path: Path) -> None:
    saved = calibrated(command, answers(tmp_path, "easy", passes=0.9, length=10, gold=True))
    log = answers(tmp_path, "other", passes=0.4, length=10, gold=False)
    asked = ("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--labels-are")
    told = command(*asked, "other-mix").out
    assert "the correction holds only if the labelled items were chosen without looking at the judge's" in told
    assert "these labels are hardly a random sample: " in command(*asked, "random").out


def test_a_calibration_of_an_earlier_version_says_nothing_of_its_cases(command: Command, tmp_path: Path) -> None:
    saved = calibrated(command, answers(tmp_path, "easy", passes=0.5, length=10, gold=True))
    document = json.loads(saved.read_text())
    document["population"] = None
    saved.write_text(json.dumps(document))
    log = answers(tmp_path, "hard", passes=0.5, length=1000, gold=False)
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved, "--labels-are", "other-mix")
    assert "are not like the labelled ones" not in ran.out
