"""A passport at work: what its folder keeps, whose answers it decides, and when it no longer holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.planted_probabilities_judge import PlantedJudge, planted_cases

from judgeharness_integrations import AnswerCase, HarnessResult, JudgeHarness
from judgeharness_integrations._errors import ConfigError, PlanError, UsageError
from judgeharness_integrations.analysis.probability.measuring import Bars
from judgeharness_integrations.analysis.probability.passport import ASK, Passport, PassportRule
from judgeharness_integrations.analysis.result import boundary
from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.analysis.runs.folder import passport_of_run, rule_of_run
from judgeharness_integrations.analysis.runs.reading import read_report
from judgeharness_integrations.judging.passport import PassportOffice, checked_passport
from judgeharness_integrations.reporting.checks import canary_section, passport_section
from judgeharness_integrations.reporting.sections import section_markdown
from judgeharness_integrations.reporting.text import headline
from judgeharness_integrations.verdictlog import VerdictRow, read_log

Command = Callable[..., Any]
NOW = datetime(2026, 11, 1, tzinfo=UTC)
SURE = {"PASS": 0.999, "FAIL": 0.001}
ROW = VerdictRow(
    case_id="c", judge="planted", criterion="correct", verdict="PASS", model="planted-1", probabilities=SURE
)
ELSEWHERE = "the passport on labels is expired: its answers came from planted-1, these from planted-2"


@pytest.fixture(scope="module")
def passport() -> Passport:
    """Of a judge that is as sure as it should be, on 300 labels."""
    return PassportOffice(PlantedJudge(noise=0.1), planted_cases(300), clock=lambda: NOW).take()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, passport: Passport) -> Path:
    """A run of 60 new cases under a passport of today."""
    root = tmp_path_factory.mktemp("run")
    replace(passport, measured_at=datetime.now(UTC).isoformat()).save(root / "passport.json")
    (root / "planted_runs.py").write_text(
        "from support.planted_probabilities_judge import PlantedJudge\njudge = PlantedJudge(noise=0.1)\n"
    )
    cases = planted_cases(60, labelled=0, seed=9)
    (root / "cases.jsonl").write_text(
        "".join(json.dumps({"case_id": c.case_id, "output": c.output}) + "\n" for c in cases)
    )
    (root / "run.yaml").write_text(
        "judges: [{name: planted, callable: 'planted_runs:judge'}]\ncases: cases.jsonl\nharness: {shape: labels}\n"
        "passport: passport.json\n"
    )
    from judgeharness_integrations.cli.app import main

    assert main(["run", str(root / "run.yaml"), "--out", str(root / "out"), "--yes"]) == 0
    return root / "out"


def test_answers_of_another_model_under_the_same_name_are_not_decided(passport: Passport) -> None:
    assert passport.models == ("planted-1",)
    case = AnswerCase(case_id="sure", output="6.5")
    harness = JudgeHarness.under(passport, clock=lambda: NOW)
    assert harness.evaluate(PlantedJudge(), case).status == "decided"
    moved = harness.evaluate(PlantedJudge(resolved="planted-2"), case)
    assert (moved.status, moved.reason) == ("abstained", ELSEWHERE)
    report = section_markdown(_section([moved]))
    assert "these from planted-2: those decisions abstain" in report


def _section(results: list[HarnessResult]) -> Any:
    from judgeharness_integrations.reporting.runsection import report_section

    return report_section(run_report(results, source="here"))


def test_an_alias_that_resolves_elsewhere_is_named_by_the_canary_and_is_no_round(passport: Passport) -> None:
    looked, check = checked_passport(passport, PlantedJudge(resolved="planted-2"), planted_cases(300))
    assert looked == passport
    assert check.alarm
    assert check.to_dict()["questions"] == {}
    told = section_markdown(canary_section(check))
    assert "planted is another model" in told
    assert "these from planted-2: take a new one" in told


def test_answers_of_several_models_certify_none_of_them() -> None:
    judges = (PlantedJudge(), PlantedJudge(resolved="planted-2"))
    office = PassportOffice(judges[0], planted_cases(300))
    rows = [
        row
        for place, case in enumerate(planted_cases(300))
        for row in JudgeHarness.single("labels").evaluate(judges[place % 2], case).rows
    ]
    trust = office.measured(rows).of().trust
    assert trust is not None
    assert "the answers came from 2 models (planted-1, planted-2)" in str(trust.refusal)


def test_a_log_is_decided_as_long_as_the_passport_holds(passport: Passport) -> None:
    rule = passport.rule()
    assert "the answers do not say when they were asked" in rule.decide([ROW]).reason
    assert passport.rule(now=NOW).decide([ROW]).status == "decided"
    assert passport.rule(now=NOW).decide([replace(ROW, asked_at="yesterday")]).status == "decided"
    for days, told in ((40, "40 days before these answers, allowed 30"), (-40, "40 days after these answers")):
        asked = replace(ROW, asked_at=(NOW + timedelta(days=days)).isoformat())
        assert told in passport.rule(now=NOW).decide([asked]).reason
    unnamed = passport.rule(now=NOW).decide([replace(ROW, model=None)])
    assert "these from a model that is not named" in unnamed.reason


@pytest.mark.parametrize("shares", [{"PASS": 5.0, "FAIL": 0.0}, {"PASS": 0.0, "FAIL": 0.0}, {"PASS": float("nan")}])
def test_rows_whose_probabilities_are_none_are_not_graded(passport: Passport, shares: dict[str, float]) -> None:
    decision = passport.rule(now=NOW).decide([replace(ROW, probabilities=shares)])
    assert (decision.status, decision.reason[:30]) == ("not_graded", "a passport reads probabilities")


def test_a_harness_takes_no_passport_for_a_rule(passport: Passport) -> None:
    with pytest.raises(PlanError, match="give passport=, in a configuration the key passport, not a rule"):
        JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule=passport.rule(now=NOW))


def test_a_question_with_other_options_is_not_graded(passport: Passport) -> None:
    other = passport.rule(now=NOW).decide([replace(ROW, probabilities={"PASS": 0.9, "FAIL": 0.0, "TIE": 0.1})])
    assert (other.status, other.reason) == (
        "not_graded",
        "the passport on labels is of other options than this question",
    )


@pytest.mark.parametrize(
    ("shares", "problem"),
    [
        ({"PASS": float("nan"), "FAIL": 0.0}, "a number from 0 to 1"),
        ({"PASS": 9.0, "FAIL": 1.0}, "a number from 0 to 1"),
        ({"PASS": 1.0, "FAIL": 1.0}, "must sum to 1, not 2"),
        ({"PASS": 1.0}, "at least two options"),
        ({"PASS": "1", "FAIL": 0.0}, "a number from 0 to 1"),
        ({"PASS": True, "FAIL": False}, "a number from 0 to 1"),
        ({"PASS": 1.0, "FAIL": 0.0, "TIE": 0.0}, "none of the options"),
        ([0.9, 0.1], "an object of option and probability"),
        (None, "no probabilities to decide by"),
    ],
)
def test_it_does_not_act_on_what_is_no_answer(passport: Passport, shares: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        passport.act(shares)


def test_it_asks_about_answers_of_another_model_and_when_it_is_too_old(passport: Passport) -> None:
    assert passport.act(SURE) == "PASS"
    assert passport.act(SURE, model="planted-1", now=NOW) == "PASS"
    assert passport.act(SURE, model="planted-2") == ASK
    assert passport.act(SURE, now=NOW + timedelta(days=31)) == ASK


@pytest.mark.slow
def test_each_of_several_candidates_is_tested_at_a_part_of_the_level() -> None:
    cases = planted_cases(300)
    one, ten = (PassportOffice(PlantedJudge(), cases, bars=Bars(candidates=count)).take() for count in (1, 10))
    assert (one.candidates, ten.candidates) == (1, 10)
    first, tenth = one.of().trust, ten.of().trust
    assert first is not None
    assert tenth is not None
    assert tenth.level == pytest.approx(first.level / 10)
    assert first.brier_skill is not None
    assert tenth.brier_skill is not None
    assert (tenth.brier_skill.low or 0) < (first.brier_skill.low or 0)
    told = section_markdown(passport_section(ten))
    assert "one of 10 candidates on these labels: each is tested at a level of 0.1 / 10" in told
    assert "candidates" not in section_markdown(passport_section(one))


def test_it_knows_what_its_labelled_cases_are_like(passport: Passport) -> None:
    known = passport.population
    assert known is not None
    assert known.cases == 300
    assert set(known.criteria["correct"].decisions) == {"PASS", "FAIL", "ABSTAIN"}
    assert PassportOffice(PlantedJudge(), planted_cases(30, labelled=0)).take().population is None


def test_a_run_of_other_cases_than_the_labelled_ones_is_told(passport: Passport) -> None:
    harness = JudgeHarness.under(passport, clock=lambda: NOW)
    alike = list(harness.evaluate_many(PlantedJudge(noise=0.1), planted_cases(150, labelled=0, seed=5)))
    close = [AnswerCase(case_id=f"c{n}", output=f"{n / 300}") for n in range(150)]
    shifted = list(harness.evaluate_many(PlantedJudge(noise=0.1), close))
    assert not [one for one in _warnings(alike) if "shifted" in one]
    (told,) = [one for one in _warnings(shifted) if "shifted" in one]
    assert told.startswith("the passport on labels is shifted: this run's cases are not like the labelled ones")
    (few,) = [one for one in _warnings(alike[:5]) if "passport" in one]
    assert "was not measured: the run's cases are too few" in few


def _warnings(results: list[HarnessResult]) -> tuple[str, ...]:
    return run_report(results, source="here").judges[0].warnings


def test_a_result_under_a_passport_says_what_is_certified_and_comes_back(passport: Passport) -> None:
    case = AnswerCase(case_id="sure", output="6.5")
    result = JudgeHarness.under(passport, clock=lambda: NOW).evaluate(PlantedJudge(), case)
    assert not result.informal
    assert not [one for one in boundary(result) if "uncalibrated" in one]
    document = json.loads(json.dumps(result.to_dict(rows=True)))
    assert document["passport"]["status"] == "valid"
    again = HarnessResult.from_dict(document)
    assert (again.verdict, again.reason, again.design.passport) == (
        result.verdict,
        result.reason,
        result.design.passport,
    )
    with pytest.raises(ConfigError, match="its 'passport_report' is missing"):
        HarnessResult.from_dict({**document, "passport_report": None})
    other = {**document, "passport": {**document["passport"], "digest": "0" * 16}}
    with pytest.raises(ConfigError, match="another one than decided"):
        HarnessResult.from_dict(other)


def test_a_result_says_why_a_passport_certifies_nothing(passport: Passport) -> None:
    case = AnswerCase(case_id="sure", output="6.5")
    told: dict[str, str] = {}
    for name, one in {
        "old": passport,
        "model": replace(passport, source="model:gpt"),
        "refused": PassportOffice(PlantedJudge(), planted_cases(60, labelled=20), clock=lambda: NOW).take(),
    }.items():
        clock = NOW + timedelta(days=60 if name == "old" else 0)
        result = JudgeHarness.under(one, clock=lambda at=clock: at).evaluate(PlantedJudge(), case)  # type: ignore[misc]
        told[name] = "; ".join(boundary(result))
    assert not [one for one in _warnings([result]) if "passport" in one]  # which promises nothing of the refused one
    assert "uncertified: the passport on labels is expired: 60 days old" in told["old"]
    assert "the labels of the passport on labels are a model's" in told["model"]
    assert "correct is uncertified: the passport on labels certifies no answer to it" in told["refused"]


def test_a_runs_folder_is_reported_by_the_passport_it_keeps(folder: Path) -> None:
    report = read_report(folder)
    decided = [one for one in report.results if one.status == "decided"]
    assert 10 < len(decided) < 60
    assert all("certified from" in one.reason for one in decided)
    (folder.parent / "passport.json").rename(folder.parent / "gone.json")
    try:
        assert [one.verdict for one in read_report(folder).results] == [one.verdict for one in report.results]
    finally:
        (folder.parent / "gone.json").rename(folder.parent / "passport.json")


@pytest.mark.slow
def test_a_runs_folder_is_replayed_by_the_passport_it_keeps(folder: Path, command: Command) -> None:
    name = json.loads((folder / "summary.json").read_text())["rule"]
    told = command("replay", folder, "--rule", name, "--json")
    assert told.code == 0, told.err
    by_file = command("replay", folder, "--rule", folder.parent / "passport.json", "--json")
    assert by_file.json["judges"] == told.json["judges"]
    assert told.json["judges"][0]["decided"] == sum(one.status == "decided" for one in read_report(folder).results)
    assert told.json["rule_fixed"] == "before"
    rows = read_log(folder / "verdicts.jsonl")
    kept = rule_of_run(folder, {"planted": rows})
    assert kept is not None
    assert kept[0].name == name
    assert passport_of_run(folder, "passport(0000000000000000)") is None
    assert passport_of_run(folder.parent, name) is None


def test_a_run_under_a_passport_that_does_not_hold_says_so_before_it_asks(folder: Path, command: Command) -> None:
    old = Passport.load(folder.parent / "passport.json")
    replace(old, measured_at="2026-01-01T00:00:00+00:00").save(folder.parent / "old.json")
    text = (folder.parent / "run.yaml").read_text().replace("passport.json", "old.json")
    (folder.parent / "old.yaml").write_text(text)
    ran = command("run", folder.parent / "old.yaml", "--out", folder.parent / "old", "--yes")
    assert "every decision it is about will abstain" in " ".join(ran.out.split())
    report = read_report(folder.parent / "old")
    assert {one.status for one in report.results} == {"abstained"}
    assert "days old, allowed 30 days: its decisions abstain" in " ".join(report.judges[0].warnings)
    (folder.parent / "old.json").unlink()


def test_headlines_name_the_passport_what_it_promises_and_why_it_does_not(passport: Passport) -> None:
    case = AnswerCase(case_id="sure", output="6.5")

    def told(given: Passport, now: datetime = NOW) -> str:
        result = JudgeHarness.under(given, clock=lambda: now).evaluate(PlantedJudge(), case)
        assert f"calibration_source: none ({headline(result, 'correct').split(' · ')[-1]})" in str(result)
        return headline(result, "correct")

    (question,) = passport.questions
    assert told(passport).endswith("passport on labels: decisions agree with people at least 90 % of the time")
    assert "decisions agree with gpt at least 90 %" in told(replace(passport, source="model:gpt"))
    refused = replace(passport, questions=(replace(question, trust=None),))
    assert told(refused).endswith("the passport on labels certifies no answer to it")
    assert "passport expired: 60 days old" in told(passport, NOW + timedelta(days=60))


def test_a_passport_of_answers_without_a_model_decides_none_that_name_one(passport: Passport) -> None:
    unnamed = replace(passport, models=())
    decided = PassportRule(unnamed, now=NOW)([replace(ROW, model=None)])
    other = PassportRule(unnamed, now=NOW)([replace(ROW, model="planted-2")])
    assert (decided.status, other.status) == ("decided", "abstained")
    assert "its answers did not name their model, these came from planted-2" in other.reason
    assert (unnamed.act(SURE), unnamed.act(SURE, model="planted-2")) == ("PASS", ASK)
