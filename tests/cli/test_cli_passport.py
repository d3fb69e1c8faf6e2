"""`judgeharness passport`: asked of a configuration, read off a log, and checked by its canary."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.planted_probabilities_judge import PlantedJudge, planted_cases

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations.analysis.probability.measuring import question_passports
from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.verdictlog import VerdictRow, write_log
from judgeharness_integrations.verdictlog.encoding import TEXT_COLUMN

Command = Callable[..., Any]
JUDGE = """
from support.planted_probabilities_judge import PlantedJudge

steady = PlantedJudge(noise=0.1)
moved = PlantedJudge(noise=0.1, shift=2.0, seed=5)
other = PlantedJudge(noise=0.1, model="planted-2")
alias = PlantedJudge(noise=0.1, resolved="planted-9")
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose judge is planted, and 200 labelled cases."""
    (tmp_path / "planted_passports.py").write_text(JUDGE)
    lines = [json.dumps({"case_id": c.case_id, "output": c.output, "gold": c.gold}) for c in planted_cases(200)]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines) + "\n")
    return configured(tmp_path, "steady")


def configured(folder: Path, name: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(
        f"judges: [{{name: planted, callable: 'planted_passports:{name}'}}]\ncases: cases.jsonl\n"
        "harness: {shape: labels}\n"
    )
    return path


def test_a_passport_is_taken_printed_and_saved(command: Command, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "passport.json"
    ran = command("passport", config, "--source", "human", "--out", out)
    assert ran.code == 0, ran.err
    assert "passport of planted: answers to 1 of 1 question are certified" in ran.out
    assert "correct: the same question in other forms" in ran.out
    passport = Passport.load(out)
    assert passport.granted
    assert passport.parts is not None
    (answers,) = tmp_path.glob("passport-*.sqlite")
    rows = tmp_path / "elsewhere" / "rows.csv"  # where nobody has looked at these labels
    rows.parent.mkdir()
    assert command("log", "export", "--out", rows, "--log", answers).code == 0
    told = command("passport", "--log", rows, "--source", "human", "--json")
    assert told.json["questions"] == passport.to_dict()["questions"]


def test_its_canary_is_quiet_for_the_same_model_and_alarms_for_another(
    command: Command, config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "passport.json"
    assert command("passport", config, "--source", "human", "--out", out).code == 0
    quiet = command("passport", config, "--check", out)
    assert quiet.code == 0, quiet.err
    assert "nothing shows that planted has moved" in quiet.out
    codes = [command("passport", configured(tmp_path, "moved"), "--check", out, "--json") for _ in range(3)]
    assert codes[-1].code == 1
    assert codes[-1].json["questions"]["correct"]["alarm"] is not None
    canary = Passport.load(out).canary
    assert canary is not None
    assert len(canary.rounds) == 6


def test_labels_need_their_source(command: Command, config: Path) -> None:
    ran = command("passport", config)
    assert ran.code == 2
    assert "--source" in ran.err


def test_a_log_without_probabilities_is_no_passport(command: Command, tmp_path: Path) -> None:
    path = write_log([VerdictRow(case_id="c", verdict="A")], tmp_path / "log.csv")
    ran = command("passport", "--log", path)
    assert ran.code == 2
    assert "no answer holds probabilities" in ran.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give a configuration whose judge is to be asked, or --log"),
        (("CONFIG", "--log", "x.csv"), "x.csv"),
        (("--log", "x.csv", "--check", "p.json"), "which no log can"),
        (("CONFIG", "--check", "p.json", "--out", "q.json"), "leave --out away"),
        (("CONFIG", "--labels", "golds.csv"), "--labels go with --log"),
        (("CONFIG", "--agreement", "2"), "agreement must lie between 0 and 1"),
        (("CONFIG", "--judge", "other"), "unknown judge 'other'"),
        (("CONFIG", "--source", "human", "--max-calls", "3"), "more than max_calls=3: nothing was asked"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    command: Command, config: Path, arguments: tuple[str, ...], problem: str
) -> None:
    ran = command("passport", *(config if one == "CONFIG" else one for one in arguments))
    assert ran.code == 2
    assert problem in ran.err


def test_several_judges_have_to_be_chosen_from(command: Command, config: Path) -> None:
    text = config.read_text().replace("judges: [", "judges: [{name: other, callable: 'planted_passports:moved'}, ")
    config.write_text(text)
    ran = command("passport", config)
    assert ran.code == 2
    assert "has 2 judges: choose one with --judge" in ran.err


def test_answers_of_an_interrupted_passport_are_not_paid_twice(command: Command, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "passport.json"
    config.write_text(config.read_text() + "execution: {budget: {calls: 100}}\n")
    first = command("passport", config, "--source", "human", "--out", out)
    assert first.code == 2
    assert "the same again goes on" in first.err
    assert not out.exists()
    config.write_text(config.read_text().replace("execution: {budget: {calls: 100}}\n", ""))
    again = command("passport", config, "--source", "human", "--out", out)
    assert again.code == 0, again.err
    assert Passport.load(out).granted


def test_a_log_of_the_same_stem_is_not_touched(command: Command, config: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.sqlite"
    mine.write_bytes(b"a log of a run")
    assert command("passport", config, "--source", "human", "--out", tmp_path / "mine.json").code == 0
    assert mine.read_bytes() == b"a log of a run"
    assert command("passport", config, "--source", "human", "--out", tmp_path / "odd.sqlite").code == 0
    assert Passport.load(tmp_path / "odd.sqlite").granted


@pytest.mark.slow
def test_another_judge_or_other_cases_begin_an_interrupted_passport_anew(
    command: Command, config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "passport.json"
    config.write_text(config.read_text() + "execution: {budget: {calls: 100}}\n")
    assert command("passport", config, "--source", "human", "--out", out).code == 2
    other = command("passport", configured(tmp_path, "other"), "--source", "human", "--out", out)
    assert other.code in {0, 1}, other.err
    assert Passport.load(out).models == ("planted-2",)


def test_keys_of_runs_are_named(command: Command, config: Path) -> None:
    config.write_text(
        "judges: [{name: planted, callable: 'planted_passports:steady'}]\ncases: cases.jsonl\n"
        "harness: {perturbations: [none], repetitions: 3, aggregation_rule: majority, seed: 4}\n"
        "execution: {engine: local}\ngates: {max_abstention: 0.2}\nlog: runs.sqlite\n"
    )
    ran = command("passport", config, "--source", "human")
    assert (
        f"a passport has no use for these keys of {config}: gates, log, harness.perturbations, harness.repetitions, "
        "harness.aggregation_rule, harness.seed, execution.engine."
    ) in ran.err


@pytest.mark.slow
def test_judges_are_counted_among_the_candidates_on_their_labels(
    command: Command, config: Path, tmp_path: Path
) -> None:
    taken = [
        command("passport", one, "--source", "human", "--json", *more)
        for one, more in (
            (config, ()),
            (config, ()),
            (configured(tmp_path, "other"), ()),
            (config, ("--seed", 1)),
            (config, ("--candidates", 7)),
        )
    ]
    assert [one.json["candidates"] for one in taken] == [1, 1, 2, 3, 7]
    assert (tmp_path / "cases.candidates.jsonl").exists()


def answers(count: int, gold: Callable[[int], str | None], *, run: str = "", again: bool = False) -> list[VerdictRow]:
    """Rows as of a log that was exported from elsewhere: a probability a case, of one in ten `again`, and no more."""
    shares = [(7 * number % 100) / 100 for number in range(count)]
    return [
        VerdictRow(
            case_id=f"c{number}",
            run=run,
            perturbation=perturbation,
            verdict="PASS" if share > 0.5 else "FAIL",
            probabilities={"PASS": share, "FAIL": round(1 - share, 2)},
            gold=gold(number),
            asked_at="2026-10-01T00:00:00+00:00",
        )
        for number, share in enumerate(shares)
        for perturbation in ("none", *(["retest"] if again and number % 10 == 0 else []))
    ]


def test_any_log_of_probabilities_is_read_with_labels_of_its_own_of_a_file_or_without(
    command: Command, tmp_path: Path
) -> None:
    def gold(number: int) -> str:
        return "PASS" if 7 * number % 100 > 50 else "FAIL"

    own, bare = tmp_path / "own" / "log.csv", tmp_path / "bare" / "log.jsonl"
    for path, rows in ((own, answers(200, gold, again=True)), (bare, answers(200, lambda _: None, again=True))):
        path.parent.mkdir()
        write_log(rows, path)
    golds = tmp_path / "golds" / "golds.csv"
    golds.parent.mkdir()
    golds.write_text("case_id,gold\n" + "".join(f"c{n},{gold(n)}\n" for n in range(200)))
    first = command("passport", "--log", own, "--source", "human", "--json")
    second = command("passport", "--log", bare, "--labels", golds, "--source", "human", "--json")
    assert (first.code, second.code) == (0, 0), second.err
    assert first.json["questions"] == second.json["questions"]
    assert second.json["questions"][0]["noise"]["n"] == 20
    assert second.json["name"] == "golds"
    assert second.json["measured_at"] == "2026-10-01T00:00:00+00:00"
    assert "labels of " in second.err
    without = command("passport", "--log", bare, "--json")
    assert (without.code, without.json["questions"][0]["trust"], without.json["population"]) == (0, None, None)


def people(number: int) -> list[str]:
    """Ten annotators, as many of whom pass a case as the judge says is probable."""
    passes = (7 * number % 100) // 10
    return ["PASS"] * passes + ["FAIL"] * (10 - passes)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [False, True])
def test_labels_of_several_annotators_are_shares(command: Command, tmp_path: Path, *, rows: bool) -> None:
    log, golds = write_log(answers(200, lambda _: None), tmp_path / "log.jsonl"), tmp_path / "golds.jsonl"
    said = [(f"c{number}", people(number)) for number in range(200)]
    lines = [{"case_id": case, "gold": labels} for case, labels in said]
    if rows:
        lines = [{"case_id": c, "judge": f"p{p}", "verdict": one} for c, labels in said for p, one in enumerate(labels)]
    golds.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    asked = ("passport", "--log", log, "--labels", golds, "--source", "human")
    found = command(*asked, "--json").json
    assert (found["consensus"], found["excluded_ties"]) == ("shares of 10 annotators", 0)
    (trust,) = (one["trust"] for one in found["questions"])
    assert trust["labelled"] == 200
    assert trust["ece_raw"] == pytest.approx(0.045, abs=0.01)  # of .07, .14 ... beside shares of ten
    assert "labels are shares of 10 annotators" in command(*asked).out


def test_a_decision_is_right_where_most_annotators_gave_it() -> None:
    said = [0.8 + number % 3 / 20 if number % 2 else 0.2 - number % 3 / 20 for number in range(200)]
    answered = [{"PASS": share, "FAIL": 1 - share} for share in said]
    rows = [replace(row, probabilities=one) for row, one in zip(answers(200, lambda _: None), answered, strict=True)]
    shares = {row.case_id: {"": one} for row, one in zip(rows, answered, strict=True)}
    (question,) = question_passports(rows, shares=shares)
    assert question.certified, question.trust


@pytest.mark.slow
def test_cases_with_the_labels_of_several_annotators_are_shares(command: Command, config: Path, tmp_path: Path) -> None:
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    lines = [case | {"gold": [*4 * [case["gold"]], "FAIL"]} for case in cases]
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = command("passport", config, "--source", "human", "--json").json
    assert found["consensus"] == "shares of 5 annotators"
    assert found["questions"][0]["trust"]["labelled"] == 200
    assert found["population"] is not None


def test_copies_of_a_case_are_no_further_labels(command: Command, tmp_path: Path) -> None:
    rows = [
        replace(row, case_id=f"{row.case_id}-{copy}", attributes={TEXT_COLUMN: row.case_id})
        for row in answers(20, lambda number: "PASS" if number % 2 else "FAIL")
        for copy in range(10)
    ]
    told = command("passport", "--log", write_log(rows, tmp_path / "log.jsonl"), "--source", "human", "--json")
    assert told.json["questions"][0]["trust"]["labelled"] == 20
    assert "180 of 200 cases ask word for word what another case does" in told.err


def test_a_check_is_a_document_of_its_own(command: Command, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "passport.json"
    assert command("passport", config, "--source", "human", "--out", out).code == 0
    before = out.read_text()
    ran = command("passport", configured(tmp_path, "alias"), "--check", out, "--json")
    assert (ran.code, ran.json["schema"], ran.json["alarm"]) == (1, "judgeharness.canary/1", True)
    assert "these from planted-9" in ran.json["elsewhere"]
    told = command("passport", configured(tmp_path, "alias"), "--check", out)
    assert "planted is another model" in told.out
    assert out.read_text() == before


def test_the_log_of_a_run_and_its_configuration_make_a_passport_for_that_judge(
    command: Command, config: Path, tmp_path: Path
) -> None:
    config.write_text(
        "judges: [{name: planted, callable: 'planted_passports:steady'}]\ncases: cases.jsonl\n"
        "harness: {perturbations: [none], repetitions: 1, aggregation_rule: majority}\n"
    )
    assert command("run", config, "--out", tmp_path / "run", "--yes").code == 0
    out = tmp_path / "passport.json"
    taken = command("passport", config, "--log", tmp_path / "run", "--source", "human", "--out", out)
    assert taken.code == 0, taken.err
    passport = Passport.load(out)
    case = AnswerCase(case_id="new", output="6.5")
    assert JudgeHarness.under(passport).evaluate(PlantedJudge(noise=0.1), case).status == "decided"
    moved = JudgeHarness.under(passport).evaluate(PlantedJudge(model="planted-2"), case)
    assert moved.reason == "the passport on run is expired: model changed"
    other = config.read_text().replace("repetitions: 1", "repetitions: 2")
    (tmp_path / "twice.yaml").write_text(other)
    refused = command("passport", tmp_path / "twice.yaml", "--log", tmp_path / "run", "--source", "human")
    assert "the log was not run with" in refused.err
