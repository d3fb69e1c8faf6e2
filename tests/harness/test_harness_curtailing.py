from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import PlanError
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.execution import Budget
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.verdictlog import MemoryLog, SqlLog

if TYPE_CHECKING:
    from pathlib import Path

DESIGNS: dict[str, tuple[list[str], int, str]] = {
    "majority": (["none"], 7, "majority"),
    "two perturbations": (["none", "format_change"], 3, "supermajority(2/3)"),
    "unanimity": (["none", "format_change"], 3, "abstain_on_disagreement"),
    "orders": (["none", "position_swap"], 3, "swap_consensus"),
    "net": (["none", "position_swap"], 3, "net_preference"),
}


@dataclass
class Noisy:
    """A judge of fixed noise: what it answers, and when, depends on nothing but the probe."""

    name: str = "noisy"
    identity: JudgeIdentity | None = field(default_factory=lambda: JudgeIdentity(name="noisy"))
    criteria: tuple[Criterion, ...] | None = None
    answers: tuple[str, ...] = ("verdict",)
    asked: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    async def judge(self, probe: Probe) -> Judgment:
        place = (probe.case_id, probe.perturbation.name, probe.repetition)
        self.asked[place] += 1
        noise = random.Random(repr(place))  # noqa: S311
        await asyncio.sleep(noise.random() * 0.002)  # later probes often answer first
        if noise.random() < 0.1:
            raise ValueError("nobody home")
        labels = ("A", "B", "TIE") if isinstance(probe.case, PairwiseCase) else ("PASS", "FAIL")
        weights = (7, 2, 1)[: len(labels)]
        given = [Answer(criterion=name, verdict=noise.choices(labels, weights)[0]) for name in self.answers]
        return Judgment(answers=tuple(given))


def cases(design: str, count: int = 40) -> list[Any]:
    pair = "position_swap" in DESIGNS[design][0]
    kind: Any = PairwiseCase if pair else AnswerCase
    more = {"output_b": "or not"} if pair else {}
    return [kind(case_id=f"c{n}", input="q", output="It is **so**.", **more) for n in range(count)]


def harness(design: str, **options: Any) -> JudgeHarness:
    perturbations, repetitions, rule = DESIGNS[design]
    given = {"perturbations": perturbations, "repetitions": repetitions, "aggregation_rule": rule, "observers": ()}
    return JudgeHarness(**(given | options))


@pytest.mark.sampled(2)
@pytest.mark.untraced
@pytest.mark.parametrize("design", sorted(DESIGNS))
@pytest.mark.parametrize("concurrency", [1, 16])
def test_decisions_are_those_of_all_samples_and_calls_are_fewer(design: str, concurrency: int) -> None:
    full, short = Noisy(), Noisy()
    whole = {r.case_id: r for r in harness(design).evaluate_many(full, cases(design))}
    stopped = list(harness(design, curtail=True, max_concurrency=concurrency).evaluate_many(short, cases(design)))
    assert {r.case_id: (r.status, r.verdict) for r in stopped} == {k: (r.status, r.verdict) for k, r in whole.items()}
    assert sum(short.asked.values()) < sum(full.asked.values())
    for result in stopped:
        assert result.only.planned == len(whole[result.case_id].rows)
        assert result.only.censored == (len(result.rows) < result.only.planned)
        rows = {(row.perturbation, row.repetition): row.verdict for row in whole[result.case_id].rows}
        assert [row.verdict for row in result.rows] == [rows[row.perturbation, row.repetition] for row in result.rows]
        swaps = [row.swapped for row in result.rows]  # one order asked after the other, whoever answered first
        assert design != "orders" or abs(swaps.count(True) - swaps.count(False)) <= 1
        assert {row.attributes["planned_samples"] for row in result.rows} == {result.only.planned}
    assert any(result.only.censored for result in stopped)


@pytest.mark.parametrize(("preset", "calls"), [("cheap", 4), ("standard", 6)])
def test_a_steady_judge_of_a_pair_is_asked_four_times_where_that_is_wanted(preset: str, calls: int) -> None:
    asked: list[tuple[str, str]] = []

    def judge(case: PairwiseCase) -> str:
        asked.append((case.output, case.output_b))
        return "A" if case.output == "It is **so**." else "B"

    design = getattr(JudgeHarness, preset)("pairwise", observers=(), max_concurrency=1)
    [result] = design.evaluate_many(judge, cases("orders", 1))
    assert (result.verdict, len(asked)) == ("A", calls)


def test_the_seed_and_the_case_pick_which_order_is_asked_first() -> None:
    def begun(seed: int) -> list[bool]:
        first: dict[str, bool] = {}

        def judge(case: PairwiseCase) -> str:
            first.setdefault(case.case_id, case.output == "or not")
            return "TIE"

        list(JudgeHarness.cheap("pairwise", seed=seed, observers=()).evaluate_many(judge, cases("orders", 40)))
        return [first[f"c{n}"] for n in range(40)]

    assert begun(1) == begun(1) != begun(2)
    assert 8 < sum(begun(1)) < 32


def test_a_report_of_a_stopped_case_says_so() -> None:
    result = harness("majority", curtail=True).evaluate(lambda _: "PASS", AnswerCase(case_id="c", output="x"))
    assert result.usage.calls == 4
    assert "stopped early: 4 of 7 planned samples" in result.report()


@pytest.mark.slow
def test_a_run_that_was_cut_off_stops_where_it_would_have(tmp_path: Path) -> None:
    whole = Noisy()
    expected = {r.case_id: r for r in harness("majority", curtail=True).evaluate_many(whole, cases("majority"))}
    judge, states = Noisy(), Counter[str]()
    with SqlLog(tmp_path / "log.sqlite") as log:
        for calls in (0, 7, 20, 1, 13, 1000):
            budget = Budget(max_calls=calls)
            one = harness("majority", curtail=True, log=log, run="r", budget=budget, max_concurrency=3)
            results = {r.case_id: r for r in one.evaluate_many(judge, cases("majority"))}
            assert results.keys() == expected.keys()
            states.update(result.state for result in results.values())
            for case_id, result in results.items():
                if result.state == "complete":
                    assert result.only.status == expected[case_id].only.status
    assert {k: (r.only, len(r.rows)) for k, r in results.items()} == {
        k: (r.only, len(r.rows)) for k, r in expected.items()
    }
    assert judge.asked == whole.asked
    assert states["budget_exhausted"] > 0


@pytest.mark.slow
def test_a_case_goes_on_until_every_criterion_is_settled() -> None:
    criteria = (Criterion(name="clear"), Criterion(name="true"))
    options: dict[str, Any] = {"criteria": criteria, "answers": ("clear", "true")}
    full, short = Noisy(**options), Noisy(**options)
    whole = {r.case_id: r for r in harness("majority").evaluate_many(full, cases("majority"))}
    for result in harness("majority", curtail=True).evaluate_many(short, cases("majority")):
        for name, measured in result.criteria.items():
            expected = whole[result.case_id].criteria[name]
            assert (measured.status, measured.verdict) == (expected.status, expected.verdict)
    assert sum(short.asked.values()) < sum(full.asked.values())


def test_a_judge_that_names_criteria_as_it_likes_is_asked_everything() -> None:
    judge = Noisy(answers=("clear", "true"))
    results = list(harness("majority", curtail=True).evaluate_many(judge, cases("majority", 5)))
    assert sum(judge.asked.values()) == 5 * 7
    assert not any(measured.censored for result in results for measured in result.criteria.values())


@pytest.mark.parametrize("rule", ["mean", "trimmed_mean(0.2)"])
def test_a_rule_that_needs_every_score_cannot_be_cut_short(rule: str) -> None:
    with pytest.raises(PlanError, match="leave curtail out"):
        harness("majority", aggregation_rule=rule, curtail=True)


def test_a_log_in_memory_holds_what_was_asked() -> None:
    log = MemoryLog()
    results = list(harness("majority", curtail=True, log=log).evaluate_many(Noisy(), cases("majority")))
    assert len(log) == sum(len(result.rows) for result in results)
