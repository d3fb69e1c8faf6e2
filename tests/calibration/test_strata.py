"""Precision and recall by stratum, and the test of whether the pooled numbers hold for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from support.measured import calibration

from judgeharness_integrations.analysis.calibration import CalibrationReport, Judged, measure_calibration
from judgeharness_integrations.analysis.calibration.measure import stratified
from judgeharness_integrations.analysis.calibration.population import column_text
from judgeharness_integrations.analysis.calibration.strata import Strata
from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.terminal import section_lines
from judgeharness_integrations.verdictlog import VerdictRow


def pairs(right: int, wrong: int, **more: Any) -> list[Judged]:
    """Decisions about pairs."""
    return [
        Judged(gold="A" if n % 2 else "B", verdict="A" if n % 2 else "B", status="decided", **more)
        for n in range(right)
    ] + [Judged(gold="A", verdict="B", status="decided", **more) for _ in range(wrong)]


def by_stratum(items: list[Judged], strata: Sequence[str | None]) -> Strata:
    found = stratified(measure_calibration(items), items, strata, "subset").strata
    assert found is not None
    return found


def test_strata_are_rated_like_the_whole() -> None:
    items, strata = [*pairs(45, 5), *pairs(20, 30)], ["easy"] * 50 + ["hard"] * 50
    found = by_stratum(items, [*strata[:-1], None])
    alone = measure_calibration(pairs(45, 5))
    assert [(one.stratum, one.n) for one in found.listed] == [("easy", 50), ("hard", 49)]
    assert (found.listed[0].precision, found.listed[0].recall) == (alone.precision, alone.recall)
    assert found.missing == 1
    p = chi2_contingency(np.array([[45, 5], [20, 29]]), correction=False)[1]
    assert found.p["precision"] == pytest.approx(2 * p)  # Holm, of two equal ones
    assert found.sentence.startswith(
        "the pooled numbers do not hold for every subset: precision from 0.408 (hard) to 0.900 (easy) (p "
    )
    assert list(found.lines())[2] == "1 labelled cases say nothing in subset"


def test_columns_together_tell_where_one_value_ends() -> None:
    first, second, plain = (
        column_text([VerdictRow(case_id="c", verdict="A", attributes=cells)], "area, level")
        for cells in ({"area": "a, b", "level": "c"}, {"area": "a", "level": "b, c"}, {"area": "a", "level": 3})
    )
    assert (first, second, plain) == ('"a, b", c', 'a, "b, c"', "a, 3")
    quoted = VerdictRow(case_id="c", verdict="A", attributes={"area": '"a', "level": 'b"'})
    assert column_text([quoted], "area, level") == r'"\"a", "b\""'
    assert column_text([quoted], "area") == '"a'


def test_a_very_long_name_of_a_stratum_is_cut_wherever_it_is_shown() -> None:
    long = "x" * 500
    found = by_stratum([*pairs(45, 5), *pairs(20, 30)], [long] * 50 + ["hard"] * 50)
    (first, *_), shown = found.lines(), "x" * 59 + "…"
    assert first.startswith(f"subset {shown}: n=50, precision 0.900 [")
    assert f"to 0.900 ({shown}) (p " in found.sentence


def test_equal_strata_say_no_more_than_that() -> None:
    found = by_stratum([*pairs(40, 10), *pairs(41, 9)], ["one"] * 50 + ["two"] * 50)
    assert found.sentence == ""
    assert list(found.lines())[-1] == "the same in every subset? precision p 1.000, recall p 1.000"


def test_one_of_two_may_not_hold() -> None:
    abstained = [Judged(gold="A", verdict="ABSTAIN", status="abstained") for _ in range(40)]
    found = by_stratum([*pairs(40, 2), *pairs(40, 2), *abstained], ["one"] * 42 + ["two"] * 82)
    assert found.sentence.startswith("the pooled number does not hold for every subset: recall from 0.488 (two)")


def test_columns_that_nobody_named_are_told_where_pooled_rates_do_not_hold() -> None:
    items = [*pairs(95, 5), *pairs(60, 40)]
    others: dict[str, list[str | None]] = {
        "level": ["easy"] * 100 + ["hard"] * 100,
        "even": [str(n % 2) for n in range(200)],
        "constant": ["x"] * 200,
    }
    measured = stratified(measure_calibration(items), items, [], None, others=others)
    assert measured.strata is None
    assert [one.column for one in measured.columns] == ["level", "even"]
    alone = by_stratum(items, others["level"])
    for name in ("precision", "recall"):
        p = alone.p[name]
        assert p is not None
        assert measured.columns[0].p[name] == pytest.approx(1 - (1 - p) ** 2)  # Sidak, of two columns
    assert measured.told_strata == measured.columns[:1]
    assert measured.uneven.startswith("the pooled numbers do not hold for every level: precision from 0.600 (hard)")
    saved = calibration(criteria={"verdict": measured})
    assert CalibrationReport.from_dict(json.loads(json.dumps(saved.to_dict()))) == saved
    shown = "\n".join(section_lines(calibration_section(saved)))
    assert ("level hard: n=100" in shown, "even 1" in shown) == (True, False)


def test_one_stratum_cannot_be_tested() -> None:
    found = by_stratum(pairs(40, 10), ["one"] * 50)
    assert found.p == {"precision": None, "recall": None}
    assert list(found.lines())[-1] == "the same in every subset? precision p not tested, recall p not tested"


def test_clusters_within_strata_are_worth_less() -> None:
    def items(size: int) -> tuple[list[Judged], Sequence[str | None]]:
        made = [*pairs(85, 15), *pairs(65, 35)]
        return [replace(one, cluster=f"k{n // size}") for n, one in enumerate(made)], ["one"] * 100 + ["two"] * 100

    alone, fives = (by_stratum(*items(size)) for size in (1, 5))
    assert alone.sentence
    assert not fives.sentence
    assert (fives.p["precision"] or 0) > (alone.p["precision"] or 0)


def test_words_for_pass_and_fail_are_read_in_strata_too() -> None:
    items = [Judged(gold="yes", verdict="PASS", status="decided"), Judged(gold="no", verdict="FAIL", status="decided")]
    found = by_stratum(items * 10, ["one"] * 20)
    assert found.listed[0].precision is not None
    assert found.listed[0].precision.value == 1.0


def test_scores_have_no_strata_to_compare() -> None:
    items = [Judged(gold=3, verdict=4, status="decided"), Judged(gold=2, verdict=2, status="decided")]
    found = by_stratum(items, ["one", "two"])
    assert found.listed == ()
    assert list(found.lines()) == [
        "by subset: scores have no precision and recall; give the rule a threshold (pass_at) or read the errors"
    ]


def test_strata_are_saved_and_shown() -> None:
    items = [*pairs(45, 5), *pairs(20, 30)]
    strata: Sequence[str | None] = ["easy"] * 50 + ["hard"] * 50
    kept = stratified(measure_calibration(items), items, strata, "subset")
    report = replace(calibration(), criteria={"verdict": kept})
    assert CalibrationReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert kept.strata is not None
    assert Strata.from_dict(asdict(kept.strata)) == kept.strata
    text = "\n".join(section_lines(calibration_section(report)))
    assert "subset easy: n=50, precision 0.900" in text
    assert "the pooled numbers do not hold for every subset" in text


def test_of_very_many_strata_the_largest_are_printed() -> None:
    items, strata = pairs(60, 0), [f"s{n % 30}" for n in range(60)]
    report = replace(
        calibration(), criteria={"verdict": stratified(measure_calibration(items), items, list(strata), "subset")}
    )
    lines = list(section_lines(calibration_section(report)))
    assert sum(line.startswith("- subset s") for line in lines) == 20
    assert "- and 10 more, in the JSON" in lines
