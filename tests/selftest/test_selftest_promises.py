"""What a workflow promises against what its studies delivered: kept, broken, or not told by so few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from judgeharness_integrations.testing.selftest import PromiseCheck, run_selftest

POINTS = ({"n": 10}, {"n": 20})


def check(*shares: float, undefined: float = 0.0, **options: Any) -> PromiseCheck:
    """Return a workflow whose studies deliver exactly these shares, one a point; some promise nothing."""
    points = POINTS[: len(shares)]

    def simulate(point: Any, studies: int, _: np.random.Generator) -> Any:
        none = round(undefined * studies)
        happened = np.arange(studies - none) < round(shares[points.index(point)] * (studies - none))
        return np.concatenate([happened, np.full(none, np.nan)])

    plain: dict[str, Any] = {"name": "planted", "promise": "it holds", "share": 0.8, "at_least": True}
    return PromiseCheck(**plain | {"points": points, "simulate": simulate} | options)


def found_by(one: PromiseCheck, *, full: bool = False) -> Any:
    [found] = run_selftest([one], full=full).checks
    return found


@pytest.mark.parametrize(
    ("share", "at_least", "verdict"),
    [
        (0.85, True, "kept"),
        (0.8, True, "kept"),
        (0.75, True, "not told"),
        (0.7, True, "broken"),
        (0.75, False, "kept"),
        (0.85, False, "not told"),
        (0.9, False, "broken"),
    ],
)
def test_what_is_delivered_is_held_to_the_promise_by_a_binomial_test(
    share: float,
    at_least: bool,  # noqa: FBT001 - a parameter of the test
    verdict: str,
) -> None:
    report = run_selftest([check(share, at_least=at_least)])
    [found] = report.checks
    [point] = found.points
    side: Any = "less" if at_least else "greater"
    known = binomtest(round(share * 400), 400, 0.8, alternative=side)
    assert (found.verdict, point.verdict, report.passed) == (verdict, verdict, verdict != "broken")
    assert point.p is not None
    assert point.p == pytest.approx(known.pvalue)
    assert (point.p <= 0.001) == (verdict == "broken")
    ends = binomtest(round(share * 400), 400).proportion_ci(method="exact")
    assert (point.low, point.high) == (pytest.approx(ends.low), pytest.approx(ends.high))
    assert (found.promise, found.at_least, point.promised, found.kind) == ("it holds", at_least, 0.8, "promises")


def test_the_same_share_is_told_by_more_studies() -> None:
    short = check(0.77)
    assert (found_by(short).verdict, found_by(short, full=True).verdict) == ("not told", "broken")
    assert found_by(short, full=True).points[0].replicates == 4000


def test_so_few_studies_that_luck_could_show_the_best_of_them_tell_nothing_but_a_clear_break() -> None:
    few = {"fast_replicates": 13}
    assert [found_by(check(share, **few)).verdict for share in (1.0, 0.2)] == ["not told", "broken"]
    assert found_by(check(1.0, fast_replicates=14)).verdict == "kept"
    rare = {"at_least": False, "share": 0.025}
    assert [found_by(check(0.0, fast_replicates=n, **rare)).verdict for n in (118, 119)] == ["not told", "kept"]


def test_one_broken_point_breaks_the_workflow_and_every_point_short_of_it_is_named() -> None:
    found = found_by(check(0.78, 0.5))
    assert (found.verdict, str(found.worst), found.mean) == ("broken", "n=20", pytest.approx(0.64))
    assert found.reason == (
        "not told: 0.7800 [0.7362, 0.8196] of 400 studies at n=10, promised at least 0.8; "
        "broken: 0.5000 [0.4499, 0.5501] of 400 studies at n=20, promised at least 0.8"
    )
    assert found_by(check(0.9, 0.85)).reason == ""
    assert found_by(check(0.9, at_least=False)).reason.endswith("promised at most 0.8")


def test_studies_in_which_nothing_is_promised_do_not_count() -> None:
    found = found_by(check(0.9, undefined=0.25))
    assert (found.verdict, found.points[0].undefined, found.points[0].rate) == ("kept", 100, 0.9)
    none = found_by(check(0.9, undefined=1.0))
    assert (none.verdict, none.mean, none.points[0].p) == ("not told", None, None)
    assert none.reason == "nothing was promised in 400 studies at n=10"


def test_a_promise_may_differ_by_point() -> None:
    found = found_by(check(0.85, 0.85, share=lambda point: 0.8 if point["n"] == 10 else 0.95))
    assert [(point.promised, point.verdict) for point in found.points] == [(0.8, "kept"), (0.95, "broken")]


def test_the_document_says_what_was_promised_and_delivered() -> None:
    report = run_selftest([check(0.9, 0.5)]).to_dict()
    [document] = report["checks"]
    assert (report["passed"], document["kind"], document["promise"], document["at_least"]) == (
        False,
        "promises",
        "it holds",
        True,
    )
    assert [(point["promised"], point["rate"], point["verdict"]) for point in document["points"]] == [
        (0.8, 0.9, "kept"),
        (0.8, 0.5, "broken"),
    ]
    assert document["points"][0]["low"] < 0.9 < document["points"][0]["high"]
    assert document["points"][1]["p"] < 1e-9
