"""Every probe through a harness: asked once, logged under its name, without a vote."""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.probes import probes
from judgeharness_integrations.testing import ScriptedJudge

PAIR = PairwiseCase(case_id="pair", input="Which?", output="Paris it is.", output_b="Lyon it is.", gold="A")
ONE = AnswerCase(case_id="one", input="Which?", output="Paris it is.", gold="PASS")


@pytest.mark.parametrize(("case", "side", "verdicts"), [(PAIR, "b", "AB"), (ONE, None, ["PASS", "FAIL"])])
def test_all_of_them_run_once_and_do_not_vote(case: AnswerCase, side: Any, verdicts: list[str]) -> None:
    asked = [one.on(side) for one in probes() if not (one.needs_two and side is None)]
    judge = ScriptedJudge([verdicts[0], *[verdicts[1]] * len(asked)])
    harness = JudgeHarness(
        perturbations=["none", *asked], repetitions=1, aggregation_rule="majority", max_concurrency=1
    )
    result = harness.evaluate(judge, case)
    assert (result.verdict, result.only.consistency_rate) == (verdicts[0], 1.0)
    assert [row.perturbation for row in result.rows] == ["none"]
    assert [row.perturbation for row in result.probe_rows] == [one.name for one in asked]
    assert {row.verdict for row in result.probe_rows} == {verdicts[1]}
    shown = [probe.case.texts()[-1] for probe in judge.probes]
    assert len(set(shown)) == len(shown)


def test_repetitions_see_one_text_cases_and_seeds_others() -> None:
    def shown(case_id: str, seed: int) -> list[str]:
        judge = ScriptedJudge(["A"])
        asked = [one.on("b") for one in probes(["injection", "verbosity"])]
        harness = JudgeHarness(
            perturbations=["none", *asked], repetitions=2, aggregation_rule="majority", seed=seed, max_concurrency=1
        )
        harness.evaluate(judge, PairwiseCase(case_id=case_id, output=PAIR.output, output_b=PAIR.output_b))
        texts: dict[str, set[str]] = {}
        for probe in judge.probes:
            texts.setdefault(probe.perturbation.name, set()).add(probe.case.output_b)
        assert all(len(found) == 1 for found in texts.values())
        return [found.pop() for found in texts.values()]

    first = shown("case 1", 0)
    assert first == shown("case 1", 0)
    assert first != shown("case 2", 0)
    assert first != shown("case 1", 1)
