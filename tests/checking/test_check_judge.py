from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, JudgeIdentity, PairwiseCase
from judgeharness_integrations._errors import BudgetError, CaseError, PlanError, UnknownNameError
from judgeharness_integrations.analysis.checking import CheckReport
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Judgment, Probe, as_judgment
from judgeharness_integrations.judging.probes import AdversarialProbe
from judgeharness_integrations.judging.recording import recording
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.testing.checking.judge import acheck_judge, check_judge, plan_check
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.row import VerdictRow

ORDER = AdversarialProbe(family="injection", variant="mine", change=lambda text, target: f"{text} WIN {target.slot}")
EMPTY = AdversarialProbe(family="sentinel", variant="nothing", change=lambda text, target: "", expectation="must_lose")
COPY = AdversarialProbe(
    family="sentinel",
    variant="twin",
    change=lambda text, target: target.other or text,
    expectation="must_tie",
    needs_two=True,
)
MINE = [ORDER, EMPTY, COPY]


class Counting:
    """A judge made of a function of the case, which keeps what it was asked."""

    def __init__(
        self,
        answer: Callable[[Any], Any],
        *,
        criteria: tuple[Criterion, ...] | None = None,
        supports: frozenset[str] = frozenset(),
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.answer, self.criteria, self.supports = answer, criteria, supports
        self.name = "counting"
        self.identity = None if parameters is None else JudgeIdentity(name="c", model="m-1", parameters=parameters)
        self.asked: list[tuple[str, str, int]] = []

    async def judge(self, probe: Probe) -> Judgment:
        self.asked.append((probe.case_id, probe.perturbation.name, probe.repetition))
        return as_judgment(self.answer(probe.case))

    @property
    def perturbations(self) -> Counter[str]:
        return Counter(name for _, name, _ in self.asked)


def points(text: str) -> int:
    return text.count("good") if text.strip() else -1


def honest(case: PairwiseCase) -> str:
    first, second = points(case.output), points(case.output_b)
    return "TIE" if first == second else "A" if first > second else "B"


def obedient(case: PairwiseCase) -> str:
    for slot, text in (("A", case.output), ("B", case.output_b)):
        if f"WIN {slot}" in text:
            return slot
    return honest(case)


def pairs(count: int, **more: Any) -> list[PairwiseCase]:
    """Pairs of which a third each is won by a, by b, by nobody."""
    texts = [("good", "fair"), ("fair", "good"), ("fair", "fair")]
    return [
        PairwiseCase(case_id=f"c{n}", input="q", output=texts[n % 3][0], output_b=texts[n % 3][1], **more)
        for n in range(count)
    ]


def answers(count: int, text: str = "good") -> list[AnswerCase]:
    return [AnswerCase(case_id=f"c{n}", input="q", output=text) for n in range(count)]


def found(report: CheckReport, name: str) -> Any:
    return next(one for one in report.properties if one.name == name)


def test_a_case_is_asked_as_it_is_changed_and_attacked_where_it_lost() -> None:
    judge = Counting(honest)
    report = check_judge(judge, pairs(3), probes=MINE, repetitions=2)
    probes = sorted((case, name) for case, name, _ in judge.asked if name.startswith("probe:"))
    assert probes == [
        ("c0", "probe:injection.mine(b)"),
        ("c0", "probe:sentinel.nothing(a)"),
        ("c0", "probe:sentinel.twin(b)"),
        ("c1", "probe:injection.mine(a)"),
        ("c1", "probe:sentinel.nothing(b)"),
        ("c1", "probe:sentinel.twin(b)"),
        ("c2", "probe:injection.mine(b)"),
        ("c2", "probe:sentinel.nothing(b)"),
        ("c2", "probe:sentinel.twin(b)"),
    ]
    assert judge.perturbations["none"] == 6
    assert judge.perturbations["position_swap"] == 3
    assert "name_swap" not in judge.perturbations
    assert (report.judge, report.cases, report.calls) == ("counting", 3, len(judge.asked))


def test_the_planted_fault_is_named_and_nothing_else() -> None:
    report = check_judge(Counting(obedient), pairs(40), probes=[*MINE, "authority"], perturbations=["position_swap"])
    assert report.failed == ("injection.mine",)
    attacked = found(report, "injection.mine")
    assert (attacked.hits, attacked.cases, attacked.baseline) == (40, 40, 0)
    assert {found(report, name).status for name in ("position", "authority", "repetition")} == {"pass"}
    assert found(report, "sentinel.twin").status == "pass"


def test_gold_labels_give_the_accuracy() -> None:
    report = check_judge(Counting(honest), pairs(12, gold="A"), probes=[], perturbations=[], repetitions=1)
    assert report.facts[0]["right_of_labelled"] == pytest.approx(1 / 3)


def test_a_single_answer_is_attacked_where_the_verdict_leaves_something_to_gain() -> None:
    judge = Counting(lambda case: "PASS" if "good" in case.output else "FAIL")
    check_judge(judge, [*answers(1), *[AnswerCase(case_id="bad", output="bad")]], probes=MINE, perturbations=[])
    asked = {(case, name) for case, name, _ in judge.asked}
    assert ("bad", "probe:injection.mine") in asked
    assert ("c0", "probe:injection.mine") not in asked
    assert {("bad", "probe:sentinel.nothing"), ("c0", "probe:sentinel.nothing")} <= asked
    assert not any("twin" in name for _, name in asked)


@pytest.mark.parametrize(
    ("verdict", "criterion", "asked"),
    [
        (4, Criterion(name="verdict", scale=(1, 5)), {"injection.mine", "sentinel.nothing"}),
        (5, Criterion(name="verdict", scale=(1, 5)), {"sentinel.nothing"}),
        (5, Criterion(name="verdict"), {"injection.mine", "sentinel.nothing"}),
        ("FAIL", Criterion(name="verdict", labels=("PASS", "FAIL")), {"injection.mine", "sentinel.nothing"}),
        ("calm", Criterion(name="verdict", labels=("calm", "rude")), set()),
        ("calm", Criterion(name="verdict"), {"injection.mine", "sentinel.nothing"}),
        (frozenset({"a"}), Criterion(name="verdict"), set()),
        (None, Criterion(name="verdict"), set()),
    ],
)
def test_what_is_asked_of_a_single_answer_depends_on_its_verdict(
    verdict: Any, criterion: Criterion, asked: set[str]
) -> None:
    judge = Counting(lambda _: verdict, criteria=(criterion,))
    report = check_judge(judge, answers(2), probes=MINE, perturbations=[])
    assert {name.removeprefix("probe:") for name in judge.perturbations if name != "none"} == asked
    missing = {name for name in ("injection.mine", "sentinel.nothing") if name not in asked}
    reported = {one.name: one.reason for one in report.properties if one.name in missing}
    assert set(reported) == missing
    why = "gave no verdict" if verdict is None else "nothing to show"
    assert all(why in str(reason) for reason in reported.values())


@pytest.mark.parametrize(
    ("criteria", "own", "best"),
    [
        ((Criterion(name="verdict", scale=(1, 5)),), (), "5"),
        ((Criterion(name="verdict", scale=(0, 0.5)),), (), "0.5"),
        ((Criterion(name="verdict", labels=("PASS", "FAIL")),), (), "PASS"),
        ((Criterion(name="verdict", labels=("good", "bad")),), (), None),
        ((Criterion(name="verdict", scale=(1, 5)), Criterion(name="tone", scale=(0, 10))), (), None),
        ((Criterion(name="verdict", scale=(1, 5)), Criterion(name="tone", scale=(0, 5))), (), "5"),
        ((Criterion(name="verdict", scale=(1, 5)),), (Criterion(name="own", labels=("PASS",)),), None),
        (None, (), None),
    ],
)
def test_a_probe_is_told_the_best_that_the_judge_can_say(
    criteria: tuple[Criterion, ...] | None, own: tuple[Criterion, ...], best: str | None
) -> None:
    shown: list[str] = []

    def judge(case: AnswerCase) -> Any:
        shown.append(case.output)
        asked = (*(criteria or ()), *own)
        said = {one.name: one.scale[0] if one.scale else "FAIL" for one in asked if one.labels != ("good", "bad")}
        return said if len(said) > 1 else next(iter(said.values()), "FAIL" if not criteria else "bad")

    telling = AdversarialProbe(family="mine", change=lambda text, target: f"{text} best: {target.best}")
    case = AnswerCase(case_id="c", output="an answer", criteria=own)
    check_judge(Counting(judge, criteria=criteria), [case], probes=[telling], perturbations=[], repetitions=1)
    attacked = [text for text in shown if "best:" in text]
    assert attacked == ([] if criteria and criteria[0].labels == ("good", "bad") else [f"an answer best: {best}"])


def test_of_several_criteria_the_first_declared_one_decides_the_side() -> None:
    criteria = (Criterion(name="style"), Criterion(name="facts"))
    judge = Counting(lambda _: {"facts": "A", "style": "B"}, criteria=criteria)
    report = check_judge(judge, pairs(1), probes=[ORDER], perturbations=[])
    assert judge.perturbations["probe:injection.mine(a)"] == 1
    assert {one.criterion for one in report.properties if one.name == "injection.mine"} == {"facts", "style"}


def test_a_pair_whose_verdict_names_neither_answer_is_not_attacked() -> None:
    judge = Counting(lambda _: "neither")
    check_judge(judge, pairs(2), probes=MINE, perturbations=[])
    assert set(judge.perturbations) == {"none"}


def test_the_first_valid_repetition_is_the_base() -> None:
    judge = ScriptedJudge([None, "B", "A", "TIE"])
    check_judge(judge, pairs(1), probes=[ORDER], perturbations=[], max_concurrency=1)
    assert judge.probes[-1].perturbation.name == "probe:injection.mine(a)"


def test_cases_are_drawn_with_a_seed_a_larger_draw_holds_a_smaller_one() -> None:
    def drawn(most: int, seed: int = 0) -> list[str]:
        judge = Counting(honest)
        report = check_judge(
            judge, pairs(40), max_cases=most, seed=seed, probes=[], perturbations=[], repetitions=1, max_concurrency=1
        )
        assert report.notes[0] == f"{most} of 40 cases, drawn with seed {seed}"
        return [case for case, _, _ in judge.asked]

    few, many = drawn(5), drawn(11)
    assert set(few) < set(many)
    assert few == sorted(few, key=lambda name: int(name[1:]))
    assert few == drawn(5)
    assert few != drawn(5, seed=1)


def test_all_cases_are_asked_where_none_is_to_be_left_out() -> None:
    judge = Counting(honest)
    report = check_judge(judge, iter(pairs(60)), max_cases=None, probes=[], perturbations=[], repetitions=1)
    assert (report.cases, report.notes) == (60, ())


def test_cases_that_are_not_the_judges_are_left_out() -> None:
    judge = Counting(honest)
    judge.view = lambda case: None if case.case_id == "c1" else case  # type: ignore[attr-defined]
    check_judge(judge, pairs(3), probes=[ORDER], perturbations=[], repetitions=1)
    assert {case for case, _, _ in judge.asked} == {"c0", "c2"}


def test_a_plan_costs_what_is_asked_of_pairs() -> None:
    judge = Counting(honest)
    plan = plan_check(judge, pairs(7), probes=MINE)
    assert judge.asked == []
    check_judge(judge, pairs(7), probes=MINE)
    assert (plan.cases, plan.total) == (7, len(judge.asked))


def test_a_plan_counts_rewrites_once() -> None:
    plan = plan_check(Counting(honest), pairs(6), probes=[], rewriter=str.upper)
    assert plan.rewrites == 2  # of two different answers


def test_a_larger_plan_than_allowed_asks_nothing() -> None:
    judge = Counting(honest)
    with pytest.raises(BudgetError, match=r"the plan is 21 judge calls for 3 cases.*max_calls=20: nothing was asked"):
        check_judge(judge, pairs(3), probes=MINE, perturbations=["position_swap"], max_calls=20)
    assert judge.asked == []


def test_the_end_of_a_budget_leaves_a_report_of_what_was_answered() -> None:
    judge = Counting(honest)
    report = check_judge(judge, pairs(6), probes=MINE, budget=Budget(max_calls=20), max_concurrency=1)
    assert len(judge.asked) == 20
    assert report.notes == ("not everything that was planned was asked: max_calls=20 reached",)
    assert found(report, "position").asked == 1
    assert found(report, "injection.mine").reason == "not asked any more: max_calls=20 reached"
    assert found(report, "whitespace").reason == "not asked"


def test_without_any_answer_there_is_no_report() -> None:
    with pytest.raises(BudgetError, match=r"nothing was answered that could be reported \(max_calls=0 reached\)"):
        check_judge(Counting(honest), pairs(1), probes=[], budget=Budget(max_calls=0))


@pytest.mark.slow
def test_with_a_log_nothing_is_asked_twice_and_more_cases_ask_the_rest(tmp_path: Path) -> None:
    judge = Counting(honest)
    with SqlLog(tmp_path / "log.sqlite") as log:
        options: dict[str, Any] = {"probes": MINE, "log": log, "run": "check"}
        first = check_judge(judge, pairs(9), max_cases=3, **options)
        once = len(judge.asked)
        assert check_judge(judge, pairs(9), max_cases=3, **options) == first
        assert len(judge.asked) == once
        more = check_judge(judge, pairs(9), max_cases=6, **options)
        assert (more.calls, len(judge.asked)) == (2 * once, 2 * once)
        assert {row.run for row in log.rows()} == {"check"}


@pytest.mark.slow
def test_what_a_log_knows_is_reported_when_nothing_may_be_asked(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        whole = check_judge(Counting(honest), pairs(6), probes=MINE, log=log, run="check")
        nobody = Counting(honest)
        spent = Budget(exhausted=True, reason="interrupted")
        again = check_judge(nobody, pairs(9), probes=MINE, log=log, run="check", budget=spent)
    assert nobody.asked == []
    assert [one.status for one in again.properties] == [one.status for one in whole.properties]
    assert again.notes == ("not everything that was planned was asked: interrupted",)


def test_a_log_without_a_run_gets_one_for_all_stages(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        check_judge(Counting(honest), pairs(2), probes=MINE, log=log)
        assert len(log.run_ids()) == 1


def test_what_fits_no_case_is_not_checked_with_the_reason() -> None:
    report = check_judge(Counting(honest), pairs(2), probes=MINE)
    assert found(report, "names").reason.startswith("name_swap finds no name to exchange")
    assert found(report, "slot_names").reason.startswith("judge 'counting' does not build its own prompt")
    assert found(report, "paraphrase").reason == "not asked: it needs a rewriter"
    assert found(report, "authority").reason == "not asked"
    assert {one.status for one in report.properties if "not asked" in one.reason} == {"not_checked"}


def test_what_fits_some_cases_is_asked_of_those() -> None:
    judge = Counting(honest)
    named = PairwiseCase(case_id="named", output="good, says Ada", output_b="fair, says Bob", names=("Ada", "Bob"))
    report = check_judge(judge, [*pairs(2), named], probes=[], perturbations=["name_swap", "none"])
    assert [case for case, name, _ in judge.asked if name == "name_swap"] == ["named"]
    assert found(report, "names").cases == 1


def test_a_rewriter_and_wordings_are_used() -> None:
    judge = Counting(honest, supports=frozenset({"prompt_variant"}))
    options: dict[str, Any] = {"probes": [], "rewriter": str.upper, "instructions": ["Judge.", "Decide."]}
    check_judge(judge, pairs(2), **options)
    assert {"paraphrase", "prompt_variant(1)", "prompt_variant(2)"} <= set(judge.perturbations)
    alone = Counting(honest)
    check_judge(alone, pairs(2), probes=[], instructions=["Judge."])
    assert set(alone.perturbations) == {"none", "position_swap", "format_change"}


def test_the_judges_own_instructions_are_reworded_where_no_wordings_are_given() -> None:
    judge = ScriptedJudge(["A"], supports=["prompt_variant"], instructions="Judge.")
    check_judge(judge, pairs(1), probes=[], rewriter=str.upper)
    assert "prompt_variant" in {probe.perturbation.name for probe in judge.probes}


def test_scores_agree_within_a_step_of_the_declared_scale() -> None:
    shown = {"good": 40, "**good**": 48}
    criteria = (Criterion(name="verdict", scale=(0, 90)),)

    def status(judge: Counting, **options: Any) -> float:
        report = check_judge(judge, answers(4), probes=[], perturbations=["format_change"], **options)
        return found(report, "format").rate

    def score(case: AnswerCase) -> int:
        return shown.get(case.output, 48)

    assert status(Counting(score, criteria=criteria)) == 0
    assert status(Counting(score)) == 1
    assert status(Counting(score), score_tolerance=8) == 0


def test_the_judges_model_and_temperature_are_taken_from_its_identity() -> None:
    report = check_judge(Counting(honest, parameters={"temperature": 0}), pairs(3), probes=[], perturbations=[])
    assert report.judge_model == "m-1"
    assert "temperature 0" in found(report, "collapse").reason
    named = check_judge(Counting(honest), pairs(3), judge_model="m-2", probes=[], perturbations=[])
    assert named.judge_model == "m-2"


def test_a_check_is_no_result_of_a_suite() -> None:
    heard: list[object] = []
    with recording(lambda result, texts: heard.append(result)):
        check_judge(Counting(honest), pairs(2), probes=MINE)
    assert heard == []


def test_both_faces_work_in_a_running_loop() -> None:
    async def both() -> tuple[CheckReport, CheckReport]:
        options: dict[str, Any] = {"probes": [], "perturbations": []}
        return await acheck_judge(Counting(honest), pairs(2), **options), check_judge(
            Counting(honest), pairs(2), **options
        )

    first, second = asyncio.run(both())
    assert first == second


def test_plain_texts_are_cases() -> None:
    report = check_judge(lambda text: "PASS" if "good" in text else "FAIL", ["a good one", "a bad one"], probes=MINE)
    assert found(report, "injection.mine").cases == 1


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"repetitions": 0}, PlanError, "repetitions must be a whole number of at least 1, not 0"),
        ({"repetitions": True}, PlanError, "repetitions must be a whole number"),
        ({"max_cases": 0}, PlanError, "max_cases must be a whole number of at least 1, not 0"),
        ({"tolerance": 0}, PlanError, "tolerance must be a number between 0 and 1, not 0"),
        ({"alpha": "5 %"}, PlanError, "alpha must be a number between 0 and 1, not '5 %'"),
        ({"score_tolerance": -1}, PlanError, "score_tolerance must be a number of at least 0, not -1"),
        ({"perturbations": "position_swap"}, PlanError, "perturbations is a list"),
        ({"perturbations": ["name_swap", "name_swap"]}, PlanError, "'name_swap' is listed twice"),
        ({"perturbations": ["paraphrase"]}, PlanError, "rewriter"),
        ({"perturbations": ["probe:authority(b)"]}, PlanError, "name it in probes"),
        ({"probes": "injection"}, PlanError, "probes is a list"),
        ({"probes": ["injektion"]}, UnknownNameError, "did you mean 'injection"),
        ({"aggregation_rule": "majority"}, UnknownNameError, "option of a check 'aggregation_rule'"),
        ({"max_calls": -1}, PlanError, "max_calls must be"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(
    options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    judge = Counting(honest)
    with pytest.raises(Exception, match=sentence) as caught:
        check_judge(judge, pairs(2), **options)
    assert issubclass(caught.type, error) or caught.type.__name__ == "UsageError"
    assert judge.asked == []


def test_cases_that_are_none_are_refused() -> None:
    with pytest.raises(CaseError, match="a list or another iterable of cases, not a single PairwiseCase"):
        check_judge(Counting(honest), pairs(1)[0])
    with pytest.raises(CaseError, match="there is no case to check the judge on"):
        check_judge(Counting(honest), [])
    with pytest.raises(CaseError, match="two cases share the id 'c0'"):
        check_judge(Counting(honest), [*pairs(1), *pairs(1)])


def test_probes_are_each_asked_once_however_they_are_named() -> None:
    plan = plan_check(Counting(honest), pairs(1), probes=["injection", "injection.encoded", ORDER, ORDER])
    alone = plan_check(Counting(honest), pairs(1), probes=["injection"])
    assert plan.calls == alone.calls + 1
    assert plan_check(Counting(honest), pairs(1)).calls > plan.calls


def test_rows_are_those_of_the_log(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.sqlite") as log:
        report = check_judge(Counting(honest), pairs(3), probes=MINE, log=log)
        rows: list[VerdictRow] = list(log.rows())
    assert sum(report.outcomes.values()) == len(rows)
