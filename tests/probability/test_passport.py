"""A passport: taken by asking, kept as JSON, checked by its canary, and obeyed by a harness."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.planted_probabilities_judge import PlantedJudge, planted_cases

from judgeharness_integrations import Criterion, JudgeHarness
from judgeharness_integrations._errors import CaseError, ConfigError, NotGradedError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.probability.measuring import Bars, question_passports
from judgeharness_integrations.analysis.probability.passport import ASK, Canary, Passport, PassportRule
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.judging.functionsource import imported_rule
from judgeharness_integrations.judging.passport import PassportOffice, checked_passport
from judgeharness_integrations.reporting.checks import canary_section, passport_section
from judgeharness_integrations.reporting.sections import section_markdown
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import VerdictRow

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CASES = planted_cases(300)


@pytest.fixture(scope="module")
def passport() -> Passport:
    """Of a judge that is twice as sure as it should be."""
    judge = PlantedJudge(temperature=0.5, noise=0.2, wordings={"two_way_choice": 4.0})
    return PassportOffice(judge, CASES, clock=lambda: NOW).take()


def test_a_judge_is_asked_in_every_form_about_fifty_cases_and_plainly_about_the_others() -> None:
    office = PassportOffice(PlantedJudge(), CASES)
    assert office.calls == 50 * 5 + 250
    assert [len(cases) for _, cases in office.parts] == [50, 250]


def test_an_overconfident_judge_gets_a_temperature_and_a_threshold(passport: Passport) -> None:
    trust = passport.of().trust
    assert trust is not None
    assert trust.map is not None
    assert 1.15 < trust.map.temperature < 2.8  # 2, but for what rounding hides
    assert trust.ece_raw is not None
    assert trust.ece is not None
    assert trust.ece < trust.ece_raw
    assert trust.threshold is not None
    assert trust.covered is not None
    assert 0.5 < trust.covered <= 1
    assert passport.granted


def test_a_wording_that_contradicts_is_bounded_from_below_and_one_that_does_not_is_not(passport: Passport) -> None:
    forms = {form.form: form for form in passport.of().forms}
    assert set(forms) == {"negated", "two_way_choice", "irrelevant_sentence"}
    assert (forms["two_way_choice"].bound.low or 0) > 0.01
    assert forms["negated"].bound.low == 0
    assert forms["irrelevant_sentence"].bound.low == 0


def test_it_acts_on_sure_answers_and_asks_about_others(passport: Passport) -> None:
    assert passport.act({"PASS": 0.999, "FAIL": 0.001}) == "PASS"
    assert passport.act({"PASS": 0.001, "FAIL": 0.999}, "correct") == "FAIL"
    assert passport.act({"PASS": 0.6, "FAIL": 0.4}) == ASK
    with pytest.raises(UnknownNameError, match="question"):
        passport.act({"PASS": 0.6, "FAIL": 0.4}, "helpful")
    with pytest.raises(UsageError, match="none of the options"):
        passport.act({"A": 0.6, "B": 0.4})


def test_several_questions_have_to_be_named(passport: Passport) -> None:
    two = replace(passport, questions=(*passport.questions, replace(passport.of(), criterion="kind")))
    with pytest.raises(UsageError, match="holds 2 questions: name one of correct, kind"):
        two.act({"PASS": 0.6, "FAIL": 0.4})


def test_it_is_saved_and_read_again(passport: Passport, tmp_path: Path) -> None:
    path = passport.save(tmp_path / "passport.json")
    assert Passport.load(path) == passport
    assert json.loads(path.read_text())["schema"] == "judgeharness.passport/1"
    broken = passport.to_dict()
    assert Passport.from_dict(broken) == passport
    broken["questions"][0]["trust"]["map"]["temperature"] = -1
    with pytest.raises((ConfigError, UsageError), match="temperature"):
        Passport.from_dict(broken)
    with pytest.raises(ConfigError, match="damaged"):
        Passport.from_dict({**passport.to_dict(), "questions": [{}]})


@pytest.mark.parametrize(
    ("key", "value"),
    [("threshold", float("nan")), ("threshold", -1), ("threshold", 2), ("map", None), ("agreement", 5), ("level", 0)],
)
def test_a_damaged_threshold_certifies_nothing(passport: Passport, key: str, value: Any) -> None:
    broken = passport.to_dict()
    broken["questions"][0]["trust"][key] = value
    with pytest.raises(ConfigError, match="damaged"):
        Passport.from_dict(json.loads(json.dumps(broken)))


@pytest.mark.parametrize("times", [0, 2])
def test_no_question_and_one_that_stands_twice_are_damage(passport: Passport, times: int) -> None:
    broken = passport.to_dict()
    broken["questions"] = broken["questions"] * times
    with pytest.raises(ConfigError, match="no question, or one twice"):
        Passport.from_dict(broken)


def test_a_map_of_other_options_is_damage(passport: Passport) -> None:
    broken = passport.to_dict()
    broken["questions"][0]["options"] = ["A", "B"]
    with pytest.raises(ConfigError, match="the map is of other options"):
        Passport.from_dict(broken)


def test_a_harness_decides_as_it_says(passport: Passport) -> None:
    judge = PlantedJudge(temperature=0.5, noise=0.2)
    harness = JudgeHarness.under(passport, clock=lambda: NOW)
    results = list(harness.evaluate_many(judge, planted_cases(200, labelled=0, seed=9)))
    decided = [result for result in results if result.status == "decided"]
    assert 80 < len(decided) < 200
    assert {result.status for result in results} == {"decided", "abstained"}
    assert all("certified from" in result.reason for result in decided)
    assert harness.design.rule.name == f"passport({passport.digest})"


def test_a_log_is_replayed_under_it_by_its_file(passport: Passport, tmp_path: Path) -> None:
    passport.save(tmp_path / "passport.json")
    chosen = imported_rule("passport.json", folder=tmp_path, where="--rule")
    assert chosen == passport.rule()
    assert isinstance(chosen.function, PassportRule)
    assert chosen.function.now is not None
    rows = JudgeHarness.under(passport, clock=lambda: NOW).evaluate(PlantedJudge(temperature=0.5), CASES[0]).rows
    again = replay(rows, chosen)
    assert [one.cases for one in again.judges] == [1]


def test_another_model_or_an_old_passport_decides_nothing(passport: Passport, tmp_path: Path) -> None:
    path = passport.save(tmp_path / "passport.json")
    case = planted_cases(1, labelled=0)[0]
    other = JudgeHarness.under(path, clock=lambda: NOW).evaluate(PlantedJudge(model="planted-2"), case)
    assert (other.status, other.reason) == ("abstained", "the passport on labels is expired: model changed")
    late = JudgeHarness.under(path, clock=lambda: NOW + timedelta(days=60)).evaluate(PlantedJudge(), case)
    assert "60 days old" in late.reason


def test_another_rule_does_not_expire_it_and_other_perturbations_do(passport: Passport) -> None:
    case = planted_cases(1, labelled=0)[0]
    options: dict[str, Any] = {"repetitions": 1, "passport": passport, "clock": lambda: NOW}
    same = JudgeHarness(perturbations=["none"], aggregation_rule="strict_majority", **options)
    assert "is expired" not in same.evaluate(PlantedJudge(temperature=0.5), case).reason
    more = JudgeHarness(perturbations=["none", "negated"], aggregation_rule="majority", **options)
    assert "perturbations changed" in more.evaluate(PlantedJudge(temperature=0.5), case).reason


def test_questions_it_does_not_know_and_answers_without_probabilities_are_not_graded(passport: Passport) -> None:
    rule = passport.rule(now=NOW)
    row = VerdictRow(
        case_id="c",
        judge="planted",
        verdict="PASS",
        criterion="kind",
        model="planted-1",
        probabilities={"PASS": 0.9, "FAIL": 0.1},
    )
    assert rule.decide([row]).reason == "the passport on labels holds no question 'kind'"
    failed = VerdictRow(case_id="c", judge="planted", verdict=None, outcome="refused", criterion="correct")
    known = replace(row, criterion="correct")
    assert rule.decide([known, failed]).reason == "1 of 2 samples failed, and the passport is of all of them"
    assert "reads probabilities" in rule.decide([replace(row, criterion="correct", probabilities=None)]).reason


@pytest.mark.parametrize("judge", [PlantedJudge(constant=0.9), PlantedJudge(constant=0.99)])
def test_a_constant_judge_is_certified_nothing_however_common_its_label(judge: PlantedJudge) -> None:
    cases = [replace(case, gold="PASS" if number % 50 else "FAIL") for number, case in enumerate(CASES)]
    taken = PassportOffice(judge, cases).take()
    assert not taken.granted
    trust = taken.of().trust
    assert trust is not None
    assert "skill over the base rate" in str(trust.refusal)


def test_a_shuffled_judge_is_certified_nothing() -> None:
    golds = [case.gold for case in CASES]
    shuffled = [replace(case, gold=gold) for case, gold in zip(CASES, [*golds[7:], *golds[:7]], strict=True)]
    assert not PassportOffice(PlantedJudge(), shuffled).take().granted


def test_few_labels_are_refused_with_how_many_would_do() -> None:
    trust = PassportOffice(PlantedJudge(), planted_cases(60, labelled=20)).take().of().trust
    assert trust is not None
    assert trust.refusal == "20 independent labels tell too little: label 30 cases or more"
    assert trust.labels_needed == 30


def test_a_judge_near_the_bar_is_refused_with_how_many_labels_would_do() -> None:
    trust = PassportOffice(PlantedJudge(), planted_cases(100, spread=2.0), bars=Bars(agreement=0.97)).take().of().trust
    assert trust is not None
    assert trust.threshold is None
    assert "is not shown" in str(trust.refusal) or "needed to certify" in str(trust.refusal)


def test_labels_drawn_by_what_the_judge_said_certify_nothing() -> None:
    cases = [replace(case, gold=case.gold if float(case.output) > 0 else None) for case in CASES]
    trust = PassportOffice(PlantedJudge(), cases).take().of().trust
    assert trust is not None
    assert "were selected by what the judge decided" in str(trust.refusal)


def test_without_labels_there_are_forms_and_no_trust() -> None:
    question = PassportOffice(PlantedJudge(), planted_cases(30, labelled=0)).take().of()
    assert question.trust is None
    assert "no case has a label" in question.decide({"PASS": 1.0, "FAIL": 0.0}).reason
    assert [form.form for form in question.forms] == ["irrelevant_sentence", "negated", "two_way_choice"]


def test_scores_have_forms_and_no_threshold() -> None:
    levels = {"1": 0.3, "2": 0.4, "3": 0.3}
    rows = [
        VerdictRow(case_id=f"c{n}", verdict=2.0, gold=2, probabilities=levels, perturbation=name)
        for n in range(5)
        for name in ("none", "retest", "option_order")
    ]
    question = question_passports(rows)[0]
    assert question.trust is not None
    assert question.trust.threshold is None
    assert question.noise is not None
    assert question.noise.identical.value == 1


def test_rows_without_probabilities_get_no_passport() -> None:
    with pytest.raises(UsageError, match="no answer holds probabilities"):
        question_passports([VerdictRow(case_id="c", verdict="A")])
    with pytest.raises(CaseError, match="give about 50"):
        PassportOffice(PlantedJudge(), [])
    with pytest.raises(UsageError, match="agreement must lie between 0 and 1"):
        Bars(agreement=1.0)


def test_nothing_asked_twice_is_no_measure_of_forms() -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", probabilities={"A": 0.9, "B": 0.1}) for n in range(3)]
    question = question_passports(rows)[0]
    assert (question.noise, question.forms) == (None, ())
    other = [replace(row, perturbation="option_order") for row in rows]
    assert question_passports([*rows, *other])[0].forms == ()
    assert "nothing was asked twice" in shown_question(question)


def shown_question(question: object) -> str:
    passport = Passport(
        name="labels",
        judge="j",
        source="human",
        consensus="single labels",
        excluded_ties=0,
        measured_at=NOW.isoformat(),
        questions=(question,),  # type: ignore[arg-type]
    )
    return section_markdown(passport_section(passport))


def test_the_canary_of_an_unchanged_noisy_model_is_silent_and_a_moved_one_is_named(passport: Passport) -> None:
    looked = passport
    for day in range(5):
        judge = PlantedJudge(temperature=0.5, noise=0.2, seed=day + 1)
        looked, check = checked_passport(looked, judge, CASES, clock=lambda: NOW)
    assert not check.alarm
    assert looked.canary is not None
    assert len(looked.canary.rounds) == 7
    moved = PlantedJudge(temperature=0.5, noise=0.2, shift=1.0, seed=99)
    for _ in range(3):
        looked, check = checked_passport(looked, moved, CASES)
    assert check.moved == ("correct",)
    assert "planted has moved: correct" in section_markdown(canary_section(check))


def test_a_model_that_always_answers_the_same_adds_no_evidence() -> None:
    taken = PassportOffice(PlantedJudge(), planted_cases(30)).take()
    _, check = checked_passport(taken, PlantedJudge(), planted_cases(30))
    assert not check.questions["correct"].varied
    text = section_markdown(canary_section(check))
    assert "nothing shows that planted has moved" in text
    assert "no answer ever changed" in text


def test_a_judge_that_says_it_is_another_adds_no_round(passport: Passport) -> None:
    with pytest.raises(UsageError, match=r"not that of the passport \(model changed\): take a new passport"):
        checked_passport(passport, PlantedJudge(model="planted-2"), CASES)


def test_frozen_states_have_to_be_there_as_they_were(passport: Passport) -> None:
    judge = PlantedJudge()
    with pytest.raises(UsageError, match="case 'c0' is a frozen state"):
        checked_passport(passport, judge, CASES[1:])
    with pytest.raises(UsageError, match="case 'c0' is not what it was"):
        checked_passport(passport, judge, [replace(CASES[0], output="0.0"), *CASES[1:]])
    without = PassportOffice(judge, CASES[:30], frozen=0).take()
    assert without.canary is None
    with pytest.raises(UsageError, match="has no canary"):
        checked_passport(without, judge, CASES)


def test_a_judge_that_is_down_gets_no_passport() -> None:
    judge = ScriptedJudge([PermissionError("no key")] * 20, criteria=None)
    with pytest.raises(NotGradedError, match="PermissionError"):
        PassportOffice(judge, CASES[:30]).take()


def test_the_report_opens_with_what_is_certified(passport: Passport) -> None:
    text = section_markdown(passport_section(passport))
    first = text.splitlines()[0]
    assert "passport of planted: answers to 1 of 1 question are certified; one of two wordings is off by" in first
    assert "canary: 20 frozen states, 2 rounds of answers so far" in text
    assert "300 labels in 300 clusters: skill over the base rate" in text


def test_a_refusal_says_how_many_labels_would_do() -> None:
    taken = PassportOffice(PlantedJudge(), planted_cases(60, labelled=20), frozen=0).take()
    text = section_markdown(passport_section(taken))
    assert "no answer is certified: 20 independent labels tell too little" in text
    assert "about 30 labels would do" in text
    bare = section_markdown(passport_section(PassportOffice(PlantedJudge(), planted_cases(30, labelled=0)).take()))
    assert "none of 30 cases has a label" in bare


def test_a_canary_without_a_round_of_a_question_has_none() -> None:
    assert Canary(states={}, rounds=()).criteria == ()


def test_a_canary_that_says_nothing_is_no_quiet_one(passport: Passport) -> None:
    silent = ScriptedJudge(["PASS"], criteria=PlantedJudge.criteria)
    with pytest.raises(NotGradedError, match="answered 0 of 20 frozen states about 'correct'"):
        checked_passport(passport, silent, CASES)
    renamed = ScriptedJudge(["PASS"], criteria=(Criterion(name="kind", labels=("PASS", "FAIL")),))
    with pytest.raises(NotGradedError, match="about 'correct'"):
        checked_passport(passport, renamed, CASES)


def test_labels_of_the_surest_answers_alone_certify_nothing() -> None:
    source = random.Random(4)  # noqa: S311 - cases, no secret
    rows = []
    for number in range(400):
        sure, gold = source.uniform(0.5, 1), source.choice(["PASS", "FAIL"])
        right = source.random() < (0.99 if sure > 0.9 else 0.5)
        share = sure if right == (gold == "PASS") else 1 - sure
        verdict = "PASS" if share >= 0.5 else "FAIL"
        shares = {"PASS": share, "FAIL": 1 - share}
        known = gold if sure > 0.9 else None
        rows.append(VerdictRow(case_id=f"c{number}", verdict=verdict, probabilities=shares, gold=known))
    (question,) = question_passports(rows)
    assert question.trust is not None
    assert question.trust.threshold is None
    assert "were selected by what the judge decided" in str(question.trust.refusal)
    assert "without a label are judged" in str(question.trust.refusal)


def test_a_log_of_another_judge_is_not_decided_and_other_forms_are_not_averaged(passport: Passport) -> None:
    sure: dict[str, Any] = {"criterion": "correct", "verdict": "PASS", "probabilities": {"PASS": 1.0, "FAIL": 0.0}}
    mine = VerdictRow(case_id="c", judge="planted", model="planted-1", **sure)
    assert passport.rule(now=NOW).decide([mine]).status == "decided"
    other = passport.rule(now=NOW).decide([replace(mine, judge="other")])
    assert (other.status, other.reason) == ("abstained", "the passport on labels is of 'planted' and not of 'other'")
    negated = replace(mine, perturbation="negated", verdict="FAIL", probabilities={"PASS": 0.0, "FAIL": 1.0})
    assert passport.rule(now=NOW).decide([mine, negated]).verdict == "PASS"
    assert "averaged over none" in passport.rule(now=NOW).decide([negated]).reason
    both = replace(passport, design={"perturbations": ["none", "position_swap"]})
    assert "averaged over none, position_swap" in both.rule(now=NOW).decide([mine]).reason
    read_off_a_log = replace(passport, design=None, parts=None)
    assert read_off_a_log.rule(now=NOW).decide([mine, negated]).verdict == "PASS"


def test_labels_of_a_score_are_said_to_certify_nothing() -> None:
    facts: dict[str, Any] = {"criterion": "tone", "verdict": 2.0, "probabilities": {"1": 0.5, "3": 0.5}}
    (question,) = question_passports([VerdictRow(case_id=f"c{n}", gold=2 if n else None, **facts) for n in range(40)])
    assert question.trust is not None
    assert (question.trust.labelled, question.trust.clusters, question.trust.threshold) == (39, 39, None)
    assert "levels of a score, of which none is certified" in str(question.trust.refusal)
    assert "levels of a score" in question.decide({"1": 0.0, "3": 1.0}).reason


def test_labels_of_a_model_are_called_so(passport: Passport) -> None:
    told = section_markdown(passport_section(replace(passport, source="model:gpt")))
    assert "the labels are those of gpt, a model: what is certified is agreement with it" in told
    assert "a model: what is certified" not in section_markdown(passport_section(passport))


def test_how_many_cases_are_formed_and_frozen_is_checked(passport: Passport) -> None:
    for wrong in ({"formed": 0}, {"formed": -1}, {"frozen": -5}):
        with pytest.raises(UsageError, match="formed must be 1 or more and frozen 0 or more"):
            PassportOffice(PlantedJudge(), CASES, **wrong)
    with pytest.raises(UsageError, match="has no canary"):
        checked_passport(replace(passport, canary=Canary(states={}, rounds=())), PlantedJudge(), CASES)
