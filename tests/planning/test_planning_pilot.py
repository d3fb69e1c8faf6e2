"""What a pilot says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.rows import sampled

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.planning import pilot_of
from judgeharness_integrations.verdictlog import VerdictRow


def rows(table: dict[str, dict[str, list[object]]], **common: object) -> list[VerdictRow]:
    return [
        row
        for case_id, cells in table.items()
        for name, verdicts in cells.items()
        for row in sampled(verdicts, case_id=case_id, perturbation=name, **common)  # type: ignore[arg-type]
    ]


def test_a_pilot_of_labels() -> None:
    pilot = pilot_of(
        rows(
            {
                "c1": {"none": ["PASS", "PASS", None], "format_change": ["PASS", "FAIL"]},
                "c2": {"none": ["FAIL", "FAIL", "FAIL"], "format_change": ["FAIL", "FAIL"]},
                "c3": {"none": [None, None, None], "format_change": [None, None]},
            },
            judge="j",
            input_tokens=10,
            output_tokens=2,
        )
    )
    assert (pilot.judge, pilot.criterion, pilot.cases, pilot.perturbations, pilot.repetitions) == (
        "j",
        "verdict",
        2,
        2,
        3,
    )
    assert (pilot.samples, pilot.failed, pilot.labels, pilot.positive) == (9, 6, 2, "PASS")
    assert pilot.mean == pytest.approx((3 / 4 + 0) / 2)
    assert pilot.agreement == pytest.approx((1 / 2 + 1) / 2)
    assert pilot.tokens_per_call == 12
    assert pilot.components.cases > 0


@pytest.mark.slow
def test_a_pilot_of_scores_finds_planted_components() -> None:
    rng = np.random.default_rng(6)
    planted = rng.normal(5, 2, (300, 1, 1)) + rng.normal(0, 1, (300, 3, 1)) + rng.normal(0, 0.5, (300, 3, 3))
    pilot = pilot_of(rows({f"c{i}": {f"p{j}": list(cell) for j, cell in enumerate(c)} for i, c in enumerate(planted)}))
    parts = pilot.components
    assert (parts.cases, parts.perturbations, parts.repetitions) == pytest.approx((4, 1, 0.25), rel=0.2)
    assert (parts.notes, pilot.positive, pilot.labels, pilot.tokens_per_call) == ((), None, None, None)


def test_what_a_pilot_cannot_tell_is_said_and_counted_cautiously() -> None:
    one = pilot_of(rows({f"c{n}": {"none": [n, n + n % 5 - 2]} for n in range(30)}))
    assert one.components.notes == (
        "the pilot has one perturbation a case: that more of them differ is not in these numbers",
    )
    once = pilot_of(rows({f"c{n}": {"none": [n], "other": [n + n % 5 - 2]} for n in range(30)}))
    assert once.components.notes[0].startswith("every perturbation was asked once")
    assert once.components.perturbations == pytest.approx(one.components.repetitions)
    assert once.components.repetitions is None
    assert one.components.perturbations is None
    assert (once.components.split, once.components.repeated, one.components.repeated) == (True, False, True)
    single = pilot_of(rows({f"c{n}": {"none": [n]} for n in range(30)}))
    assert single.components.notes == ("every case was asked once: all variance is counted as that between cases",)
    assert single.components.cases == pytest.approx(np.var(range(30), ddof=1))
    assert (single.agreement, single.components.split) == (None, False)
    assert (single.components.perturbations, single.components.repetitions) == (None, None)
    flat = pilot_of(rows({"c1": {"none": ["A", "A"]}, "c2": {"none": ["A", "A"]}}))
    assert "shows no variance at all" in flat.components.notes[0]
    clipped = pilot_of(rows({"c1": {"none": [1, 9]}, "c2": {"none": [1, 9]}}))
    assert clipped.components.notes[0] == "the variance between cases came out negative and counts as 0"


@pytest.mark.parametrize(
    ("verdicts", "positive"),
    [("AABB", "A"), (["FAIL", "PASS"] * 2, "PASS"), (["x", "y", "y", "z"], "y"), (["y", "x"] * 2, "x")],
)
def test_the_positive_label(verdicts: list[str], positive: str) -> None:
    assert pilot_of(rows({f"c{n}": {"none": [one]} for n, one in enumerate(verdicts)})).positive == positive


def test_a_case_asked_in_several_runs_is_one_case() -> None:
    pilot = pilot_of([*sampled(["A"], run="r1"), *sampled(["B"], run="r2"), *sampled(["B"], case_id="c2")])
    assert (pilot.cases, pilot.repetitions) == (2, 2)


def test_one_case_is_no_pilot() -> None:
    with pytest.raises(UsageError, match="at least two cases with a verdict"):
        pilot_of([*sampled(["A", "B"]), *sampled([None], case_id="c2")])


def test_a_pilot_that_stopped_early_says_nothing_of_variances() -> None:
    stopped = rows({f"c{n}": {"none": [n, n + 1]} for n in range(30)}, attributes={"planned_samples": 6})
    with pytest.raises(UsageError, match="the pilot stopped asking early"):
        pilot_of(stopped)


def test_other_labels_stand_by_their_share() -> None:
    verdicts = ["PASS", "x", "x", "x", "y", "y", "z", "w"]
    pilot = pilot_of(rows({f"c{n}": {"none": [one, one]} for n, one in enumerate(verdicts)}))
    assert pilot.others == pytest.approx({"x": 3 / 7, "y": 2 / 7, "w": 2 / 7})  # the rest are the last
    assert pilot_of(rows({f"c{n}": {"none": [n]} for n in range(9)})).others == {}


def test_scores_become_grades_where_a_rule_passes_them() -> None:
    pilot = pilot_of(rows({f"c{n}": {"none": [n, n + 1, None]} for n in range(9)}), pass_at=Fraction(5))
    assert (pilot.positive, pilot.mean) == ("PASS", pytest.approx((4 * 2 + 1) / 18))


@pytest.mark.slow
def test_clusters_of_cases_and_how_alike_they_are() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (40, 1)) + rng.normal(0, 1, (40, 6))
    table = [
        row
        for place, cluster in enumerate(values)
        for number, value in enumerate(cluster)
        for row in sampled([float(value)], case_id=f"c{place}-{number}", attributes={"cluster": place})
    ]
    found = pilot_of(table).clusters
    assert found is not None
    assert (found.count, found.size, found.correlation) == (40, 6.0, pytest.approx(0.5, abs=0.12))
    alone = pilot_of([*table, *sampled([0.5], case_id="c")]).clusters
    assert alone is not None
    assert alone.count == 41
    one = pilot_of([row for row in table if row.attributes["cluster"] == 0]).clusters
    assert one is not None
    assert (one.count, one.size, one.correlation) == (1, 6.0, 1.0)
    flat = pilot_of([replace(row, verdict=1.0) for row in table]).clusters
    assert flat is not None
    assert flat.correlation == 1.0
    assert pilot_of(rows({f"c{n}": {"none": [n]} for n in range(9)})).clusters is None
