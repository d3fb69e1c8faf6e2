"""Published judges: the position-biased ones are named, and consistency is not taken for being right."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from judgeharness_integrations.analysis.aggregation.grouping import by_judge
from judgeharness_integrations.analysis.checking import CheckReport, check_rows
from judgeharness_integrations.analysis.statistics.proportions import above_test
from judgeharness_integrations.verdictlog import read_log

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[1] / "data"
GOLDEN: dict[str, dict[str, int]] = json.loads((DATA / "golden" / "llmbar_aggregate.json").read_text())


@pytest.fixture(scope="module")
def reports() -> dict[str, CheckReport]:
    return {judge: check_rows(rows) for judge, rows in by_judge(read_log(DATA / "llmbar.csv.gz")).items()}


def test_consistency_and_accuracy_are_those_of_record(reports: dict[str, CheckReport]) -> None:
    for judge, known in GOLDEN.items():
        (fact,) = reports[judge].facts
        right = (known["correct_order1"] + known["correct_order2"]) / (2 * known["n"])
        assert fact["right_of_labelled"] == pytest.approx(right)
        unread = min(known["none_order1"], known["none_order2"])  # of record, two failed answers are equal
        assert known["equal"] - unread <= round(fact["consistency"] * known["n"], 6) <= known["equal"]
        assert fact["labelled_cases"] == known["n"]


def test_most_llama2_and_chatgpt_judges_are_consistent_and_wrong(reports: dict[str, CheckReport]) -> None:
    # LLaMA2 and ChatGPT without ChatGPT-0301; right in a single order, in either, in both or by majority: 17 each time
    family = [judge for judge in reports if judge.startswith(("LLaMA2/", "ChatGPT/"))]
    facts = {judge: reports[judge].facts[0] for judge in family}
    wrong = [judge for judge, fact in facts.items() if fact["consistency"] > 0.6 and fact["right_of_labelled"] < 0.5]
    assert (len(family), len(wrong)) == (22, 17)
    warned = {judge for judge in family if any("consistent is not right" in note for note in reports[judge].notes)}
    assert warned
    assert warned <= set(wrong)


def test_the_position_biased_judges_are_named_and_the_even_ones_are_not(reports: dict[str, CheckReport]) -> None:
    for judge, known in GOLDEN.items():
        lean = abs(known["always_first"] - known["always_second"]) / known["n"]
        leaning = max(known["always_first"], known["always_second"])
        p = 2 * above_test(leaning, known["always_first"] + known["always_second"], 0.5)
        if lean > 0.1 and p < 1e-6:
            assert "position" in reports[judge].failed, judge
        if p > 0.05:
            assert "position" not in reports[judge].failed, judge
    (position,) = (check for check in reports["GPT-4/Swap_CoT"].properties if check.name == "position")
    assert (position.status, position.effect) == ("pass", 0.0)
    assert sum("position" in report.failed for report in reports.values()) == len(named(reports))


def named(reports: dict[str, CheckReport]) -> list[str]:
    return list(chain.from_iterable(report.failed for report in reports.values()))
