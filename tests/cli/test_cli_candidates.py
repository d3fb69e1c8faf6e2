"""`calibrate` with several candidates, a held-back part, and labels selected by verdict."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
SOURCE = ("--source", "human")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """200 cases, a judge that is right on four of five, and two files of labels: a third of all, or of the passed."""
    dice = random.Random(4)  # noqa: S311 - no secret
    rows, drawn, passed = [], ["case_id,gold"], ["case_id,gold"]
    for n in range(200):
        gold = "PASS" if dice.random() < 0.7 else "FAIL"
        said = gold if dice.random() < 0.8 else ("FAIL" if gold == "PASS" else "PASS")
        rows += sampled([said, said, "PASS"], case_id=f"c{n}")
        drawn += [f"c{n},{gold}"] if n % 3 == 0 else []
        passed += [f"c{n},{gold}"] if n % 2 and said == "PASS" else []
    (tmp_path / "drawn.csv").write_text("\n".join(drawn) + "\n")
    (tmp_path / "passed.csv").write_text("\n".join(passed) + "\n")
    return write_log(rows, tmp_path / "log.jsonl")


def test_cases_of_one_source_are_held_back_together(command: Command, tmp_path: Path) -> None:
    sources = {f"c{n}": f"page {n // 5}" for n in range(40)}
    rows = [
        row
        for case_id, source in sources.items()
        for row in sampled(["PASS"], case_id=case_id, gold="PASS", attributes={"cluster": source})
    ]
    log, out = write_log(rows, tmp_path / "log.jsonl"), tmp_path / "cal.json"
    asked = ("calibrate", "--log", log, "--rule", "majority", *SOURCE, "--holdout", 0.5, "--final", "--out", out)
    assert command(*asked).code == 0
    held = {sources[item.case_id] for item in CalibrationReport.load(out).items}
    assert len(held) == 4


UNLIKE = (
    "the cases here without a label are not like the labelled ones in lengths in length (45 to 64: 100 % of 60 "
    "labelled cases, 0 % of 60 here, p <.001); "
)
DRAW = ": label a random sample of the cases"


def short_alone(path: Path, said: tuple[str, str] = ("PASS", "FAIL"), judges: tuple[str, ...] = ("judge",)) -> Path:
    """120 cases, of which the short half has labels."""
    rows = [
        row
        for place, judge in enumerate(judges)
        for n in range(120)
        for row in sampled(
            [said[(n + place) % 3 == 0]],
            case_id=f"c{n}",
            judge=judge,
            gold=said[n % 3 == 0] if n < 60 else None,
            attributes={"length": 60.0 if n < 60 else 600.0},
        )
    ]
    return write_log(rows, path)


def test_labels_on_other_cases_than_the_rest_are_said_to_be_that(command: Command, tmp_path: Path) -> None:
    log = short_alone(tmp_path / "log.jsonl")
    measured = command("calibrate", "--log", log, "--rule", "majority", *SOURCE)
    what = "what is measured holds for cases like the labelled ones alone"
    assert f"{UNLIKE}{what}{DRAW}" in measured.out.splitlines()


def test_no_rate_is_recommended_on_labels_of_other_cases_than_the_rest(command: Command, tmp_path: Path) -> None:
    asked = ("corrected-rate", short_alone(tmp_path / "log.jsonl"), "--rule", "majority", "--json", "--labels-are")
    corrected = command(*asked, "random").json
    assert corrected["chosen"] is None
    note = f"{UNLIKE}these labels are hardly a random sample of the items{DRAW}"
    assert corrected["notes"][0] == f"nothing is chosen: {note}"
    assert corrected["notes"].count(note) == 0
    assert not any("worth as much" in one or "adds nothing" in one for one in corrected["notes"])
    elsewhere = command(*asked, "other-mix").json
    assert elsewhere["chosen"] == "rogan_gladen"
    assert elsewhere["notes"][0] == note


def test_no_rate_is_recommended_on_a_calibration_of_other_cases(command: Command, tmp_path: Path) -> None:
    log, saved = short_alone(tmp_path / "log.jsonl"), tmp_path / "cal.json"
    command("calibrate", "--log", log, "--rule", "majority", *SOURCE, "--out", saved)
    long = write_log([row for row in read_log(log) if row.gold is None], tmp_path / "long.jsonl")
    asked = ("corrected-rate", long, "--rule", "majority", "--calibration", saved, "--json", "--labels-are")
    shifted = command(*asked, "random").json
    assert shifted["chosen"] is None
    note = f"{UNLIKE}these labels are hardly a random sample of the items{DRAW}"
    assert shifted["notes"][0] == f"nothing is chosen: {note}"
    elsewhere = command(*asked, "other-mix").json
    assert (elsewhere["chosen"], elsewhere["notes"][0]) == ("rogan_gladen", note)


def test_a_column_that_tells_labelled_cases_from_all_others_is_said(command: Command, tmp_path: Path) -> None:
    rows = [
        replace(row, attributes={"stratum": "easy" if row.gold else "hard"})
        for row in read_log(short_alone(tmp_path / "log.jsonl"))
    ]
    log = write_log(rows, tmp_path / "easy.jsonl")
    told = "stratum is easy in all cases with a label and hard in all others: it holds for easy alone"
    assert told in command("calibrate", "--log", log, "--rule", "majority", *SOURCE).out.splitlines()
    assert told in command("certify", log, "--rule", "majority", *SOURCE).out.splitlines()
    corrected = command("corrected-rate", log, "--rule", "majority", "--labels-are", "random", "--json").json
    assert any(note.startswith(f"nothing is chosen: {told}; leave the column out") for note in corrected["notes"])


def test_a_report_on_labels_of_other_cases_than_the_rest_says_so_first(command: Command, tmp_path: Path) -> None:
    ran = command("report", short_alone(tmp_path / "log.jsonl"), "--rule", "majority", "--json").json
    assert ran["judges"][0]["alerts"] == [f"{UNLIKE}accuracy on them is not that of the run{DRAW}"]


def test_a_replay_on_labels_of_other_cases_than_the_rest_says_so_before_the_numbers(
    command: Command, tmp_path: Path
) -> None:
    told = f"judge: {UNLIKE}accuracy on them is not that of the run{DRAW}"
    log = short_alone(tmp_path / "log.jsonl")
    lines = command("replay", log, "--rule", "majority").out.splitlines()
    assert lines.index(told) < lines.index("decisions")
    assert told in command("replay", log, "--rule", "majority", "--json").err.splitlines()


def test_a_comparison_on_labels_of_other_cases_than_the_rest_says_so(command: Command, tmp_path: Path) -> None:
    log, other = short_alone(tmp_path / "log.jsonl"), short_alone(tmp_path / "other.jsonl")
    ran = command("compare", log, other, "--rule", "majority", "--json").json
    sentence = f"judge: {UNLIKE}accuracy on them is not that of the run{DRAW}"
    assert ran["apart"] == [f"before, {sentence}", f"after, {sentence}"]
    assert f"- before, {sentence}" in command("compare", log, other, "--rule", "majority").out.splitlines()


def test_a_ranking_on_labels_of_other_pairs_than_the_rest_says_so_once(command: Command, tmp_path: Path) -> None:
    log = short_alone(tmp_path / "log.jsonl", said=("A", "B"), judges=("one", "other"))
    ran = command("rank", log, "--rule", "one_order", "--json").json
    assert ran["apart"] == [f"one, other: {UNLIKE}what is right of them is not what is right of all pairs{DRAW}"]
    assert "one, other: the cases here without a label" in command("rank", log, "--rule", "one_order").out


def calibrate(command: Command, log: Path, *options: object, labels: str = "drawn", rule: str = "majority") -> Any:
    return command(
        "calibrate", "--log", log, "--labels", log.parent / f"{labels}.csv", "--rule", rule, *SOURCE, *options
    )


def test_where_labels_come_from_has_to_be_said(command: Command, log: Path, tmp_path: Path) -> None:
    sentence = (
        "error: say where the labels come from: --source human (people gave them), executable (checks that ran) or "
        "model:<name> (another model's answers).\n"
    )
    labels = ("--labels", tmp_path / "drawn.csv")
    for asked in (("calibrate", "--log", log, "--rule", "majority", *labels), ("certify", log, *labels)):
        ran = command(*asked)
        assert (ran.code, ran.out, ran.err) == (2, "", sentence)


@pytest.mark.slow
def test_labels_on_passed_cases_are_found_and_cannot_correct_a_rate(
    command: Command, log: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "cal.json"
    ran = calibrate(command, log, "--out", saved, labels="passed")
    assert ran.code == 0
    assert "the labelled cases were selected by what the judge decided: none of " in ran.out
    assert "withheld: recall, sensitivity, specificity" in ran.out
    assert re.search(r"precision +0\.", ran.out)
    report = CalibrationReport.load(saved)
    assert report.criteria["verdict"].recall is None
    assert report.criteria["verdict"].undefined["recall"].startswith("withheld, as the labelled cases were selected")
    refused = command("corrected-rate", log, "--rule", "majority", "--calibration", saved)
    assert refused.code == 2
    assert "cannot correct a rate: the labelled cases were selected by what the judge decided" in refused.err
    corrected = command(
        *("corrected-rate", log, "--rule", "majority", "--gold", tmp_path / "passed.csv"),
        *("--labels-are", "random", "--json"),
    ).json
    assert (corrected["chosen"], corrected["sensitivity"]) == (None, None)
    fair = calibrate(command, log, "--json").json["criteria"]["verdict"]
    assert fair["selection"]["p"] > 0.01
    assert fair["recall"] is not None


@pytest.mark.slow
def test_candidates_are_counted_beside_the_labels(command: Command, log: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "drawn.candidates.jsonl"
    first = calibrate(command, log, "--json").json
    assert (first["candidates"], first["confidence"]) == (1, 0.95)
    assert calibrate(command, log, "--json").json["candidates"] == 1
    second = calibrate(command, log, "--json", rule="strict_majority").json
    assert second["candidates"] == 2
    assert second["confidence"] == pytest.approx(0.95**0.5)
    assert second["criteria"]["verdict"]["plain"]["precision"][0] == first["criteria"]["verdict"]["precision"]["low"]
    assert second["criteria"]["verdict"]["precision"]["low"] < first["criteria"]["verdict"]["precision"]["low"]
    assert len(ledger.read_text().splitlines()) == 2
    stated = calibrate(command, log, "--json", "--candidates", 20)
    assert stated.json["candidates"] == 20
    calibrate(command, log, "--candidates", 20, "--out", tmp_path / "cal.json")
    checked = command("calibrate", "--log", log, "--rule", "majority", "--check", tmp_path / "cal.json")
    assert "chosen from 20 candidates, by chance too: tests at 0.05 / 20" in checked.out
    fewer = calibrate(command, log, "--candidates", 1)
    assert "and its neighbours know 2 candidates on these labels, more than --candidates 1" in fewer.err
    assert (
        "candidates measured on these labels: 2; intervals hold for all of them together (each at 97.47 %)" in fewer.out
    )
    labels = tmp_path / "drawn.csv"
    labels.write_text(labels.read_text() + "c1,PASS\n")
    changed = calibrate(command, log, "--json")
    assert changed.json["candidates"] == 1
    assert "knows 2 candidates on other labels of this file, before it was changed" in changed.err
    assert not {"judge", "majority", "PASS"} & set(ledger.read_text().split('"'))


@pytest.mark.slow
def test_every_judge_of_a_log_that_decided_about_its_labels_is_a_candidate(command: Command, tmp_path: Path) -> None:
    dice = random.Random(7)  # noqa: S311 - no secret
    golds = {f"c{n}": dice.choice(["PASS", "FAIL"]) for n in range(60)}
    rows = [
        VerdictRow(case_id=case_id, judge=f"coin {k}", verdict=dice.choice(["PASS", "FAIL"]), gold=gold)
        for k in range(40)
        for case_id, gold in golds.items()
    ] + [VerdictRow(case_id="d", judge="of other cases", verdict="PASS", gold="PASS")]
    right = Counter(row.judge for row in rows if row.verdict == row.gold)
    asked = ("--source", "human", "--judge", right.most_common(1)[0][0], "--json")
    log = write_log(rows, tmp_path / "log.jsonl")
    ran = command("calibrate", "--log", log, "--rule", "majority", *asked)
    assert ran.json["candidates"] == 40
    assert ran.json["criteria"]["verdict"]["balanced_accuracy"]["low"] < 0.5
    assert "40 judges, runs and criteria of the log are decided by these labels" in ran.err
    assert command("certify", log, *asked).json["candidates"] == 40
    said = command("calibrate", "--log", log, "--rule", "majority", *asked, "--candidates", 3)
    assert (said.json["candidates"], "runs and criteria of the log" in said.err) == (3, False)


@pytest.mark.slow
def test_one_part_is_chosen_on_and_the_other_is_reported(command: Command, log: Path, tmp_path: Path) -> None:
    for rule in ("majority", "strict_majority"):
        ran = calibrate(command, log, "--holdout", 0.5, rule=rule)
        assert "held back: these are the others, to choose on" in ran.out
    refused = calibrate(command, log, "--holdout", 0.5, "--out", tmp_path / "cal.json")
    assert refused.code == 2
    assert "numbers are for choosing, and are not saved" in refused.err
    final = calibrate(command, log, "--holdout", 0.5, "--final", "--out", tmp_path / "cal.json")
    assert "candidates measured on these labels: 1\n" in final.out
    saved = CalibrationReport.load(tmp_path / "cal.json")
    assert (saved.part, saved.holdout, saved.candidates, saved.criteria["verdict"].n) == ("held_back", 0.5, 1, 34)
    assert len(saved.items) == 34
    checked = command("calibrate", "--log", log, "--rule", "majority", "--check", tmp_path / "cal.json")
    assert checked.code == 0
    assert "candidates" not in checked.out
    again = calibrate(command, log, "--holdout", 0.5, "--final", "--json", rule="strict_majority").json
    assert again["candidates"] == 2
    assert calibrate(command, log, "--final").err.startswith("error: --final measures the chosen candidate on the part")


def test_candidates_with_logs_of_their_own_are_counted_by_their_labels(command: Command, tmp_path: Path) -> None:
    counts = []
    for judge in range(3):
        rows = [
            row
            for n in range(30)
            for row in sampled(
                ["PASS" if n % (judge + 2) else "FAIL"], case_id=f"c{n}", gold="PASS" if n % 2 else "FAIL"
            )
        ]
        log = write_log(rows, tmp_path / f"judge{judge}.csv")
        told = command("calibrate", "--log", log, "--rule", "majority", *SOURCE, "--json")
        counts.append((told.json["candidates"], told.err))
    assert counts == [(1, ""), (2, ""), (3, "")]


@pytest.mark.slow
def test_a_copy_of_the_label_file_beside_it_starts_nothing_anew(command: Command, log: Path, tmp_path: Path) -> None:
    calibrate(command, log)
    (tmp_path / "copy.csv").write_text((tmp_path / "drawn.csv").read_text())
    second = calibrate(command, log, "--json", labels="copy", rule="strict_majority")
    assert second.json["candidates"] == 2
    told = f"{tmp_path / 'drawn.candidates.jsonl'} knows candidates on the same labels: they count, too."
    assert told in second.err.splitlines()


@pytest.mark.slow
def test_the_same_labels_in_the_log_start_nothing_anew(command: Command, log: Path, tmp_path: Path) -> None:
    calibrate(command, log)
    golds = dict(line.split(",") for line in (tmp_path / "drawn.csv").read_text().split())
    inside = write_log([replace(row, gold=golds.get(row.case_id)) for row in read_log(log)], tmp_path / "inside.jsonl")
    asked = ("--log", inside, "--rule", "strict_majority", *SOURCE, "--json")
    assert command("calibrate", *asked).json["candidates"] == 2
    assert command("certify", inside, "--rule", "supermajority(2/3)", *SOURCE, "--json").json["candidates"] == 3


@pytest.mark.slow
def test_a_copied_label_file_elsewhere_is_known_by_the_log_it_is_used_on(
    command: Command, log: Path, tmp_path: Path
) -> None:
    elsewhere = [tmp_path / name / "gold.csv" for name in "ab"]
    for copy, candidates in zip(elsewhere, (1, 2), strict=True):
        copy.parent.mkdir()
        copy.write_text((tmp_path / "drawn.csv").read_text())
        asked = ("--log", log, "--labels", copy, "--rule", ("majority", "strict_majority")[candidates - 1], *SOURCE)
        assert command("calibrate", *asked, "--json").json["candidates"] == candidates
        assert copy.with_name("gold.candidates.jsonl").exists()
    assert len((tmp_path / "candidates.jsonl").read_text().splitlines()) == 2


@pytest.mark.slow
def test_a_named_ledger_alone_is_written_and_its_neighbours_are_read(
    command: Command, log: Path, tmp_path: Path
) -> None:
    calibrate(command, log)
    named = tmp_path / "kept" / "ledger.jsonl"
    second = calibrate(command, log, "--json", "--ledger", named, rule="strict_majority")
    assert second.json["candidates"] == 2
    assert [len(path.read_text().splitlines()) for path in (named, tmp_path / "drawn.candidates.jsonl")] == [1, 1]


@pytest.mark.slow
def test_a_configured_judge_is_asked_about_its_part_alone(
    command: Command, configure: Callable[..., Path], folder: Path
) -> None:
    config = configure("good", harness={"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"})
    asked = ("calibrate", config, "--labels", folder / "cases.csv", *SOURCE, "--yes", "--json")
    whole = command(*asked, "--out", folder / "cal.json").json
    part = command(*asked, "--holdout", 0.5).json
    held = command(*asked, "--holdout", 0.5, "--final", "--out", folder / "held.json").json
    sizes = [len(one["items"]) for one in (whole, part, held)]
    assert sizes[0] == sizes[1] + sizes[2]
    assert [one["candidates"] for one in (whole, part, held)] == [1, 1, 1]
    other = configure("good", harness={"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"})
    second = command("calibrate", other, *asked[2:], "--out", folder / "cal2.json")
    assert second.json["candidates"] == 2
    ledger = (folder / "cases.candidates.jsonl").read_text()
    assert all(json.loads(line)["schema"] == "judgeharness.label_candidates/1" for line in ledger.splitlines())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--candidates", 0), "0 candidates: give how many were tried"),
        (("--holdout", 1.5), "--holdout is the share of labelled cases to hold back"),
        (("--holdout", 0.001, "--final", "--ledger", "{folder}/drawn.csv"), "which is read: give another --ledger"),
        (("--ledger", "{folder}/other.txt"), "other.txt is no ledger of candidates: give another --ledger"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    command: Command, log: Path, tmp_path: Path, options: tuple[object, ...], sentence: str
) -> None:
    (tmp_path / "other.txt").write_text("a letter\n")
    ran = calibrate(command, log, *(str(one).format(folder=tmp_path) for one in options))
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert not (tmp_path / "drawn.candidates.jsonl").exists()


@pytest.mark.slow
def test_a_part_without_a_case_of_the_log_is_refused_and_odd_lines_are_told(
    command: Command, log: Path, tmp_path: Path
) -> None:
    calibrate(command, log)
    with (tmp_path / "drawn.candidates.jsonl").open("a") as ledger:
        ledger.write("half a line\n")
    assert "1 lines of " in calibrate(command, log).err
    few = tmp_path / "few.csv"
    few.write_text("case_id,gold\nc0,PASS\nelsewhere,PASS\n")
    codes = [calibrate(command, log, "--holdout", 0.5, *final, labels="few") for final in ((), ("--final",))]
    assert sorted(ran.code for ran in codes) == [0, 2]
    assert any("no case of the log is in this part of the labels" in ran.err for ran in codes)


@pytest.mark.parametrize("candidates", [0, -3, 1_000_001, 10**21])
def test_a_number_of_candidates_nobody_tried_is_refused(command: Command, tmp_path: Path, candidates: int) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS", gold="PASS", attributes={"cluster": n // 2}) for n in range(8)]
    log = write_log(rows, tmp_path / "log.jsonl")
    ran = command("calibrate", "--log", log, "--rule", "majority", "--source", "human", "--candidates", candidates)
    assert ran.code == 2
    assert f"error: {candidates} candidates: give how many were tried" in ran.err


@pytest.mark.parametrize(("differ", "candidates"), [(1, 2), (30, 1)])
def test_a_criterion_with_the_labels_of_another_is_a_candidate(
    command: Command, tmp_path: Path, differ: int, candidates: int
) -> None:
    labels = ("PASS", "FAIL")
    rows = [
        row
        for n in range(60)
        for name, changed in (("good", False), ("fine", n < differ))
        for row in sampled(["PASS"], case_id=f"c{n}", criterion=name, gold=labels[(n + changed) % 2])
    ]
    ran = command(
        "calibrate", "--log", write_log(rows, tmp_path / "log.jsonl"), "--rule", "majority", *SOURCE, "--json"
    )
    assert ran.json["candidates"] == candidates
