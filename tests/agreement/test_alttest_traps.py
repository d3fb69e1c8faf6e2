"""What goes wrong in hand-written alternative annotator tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.alttests import examine, only, wins

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.agreement import Panel, read_panel
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.hypothesis import Tally, t_test, tango_test
from judgeharness_integrations.verdictlog.row import VerdictRow

PANEL = Path(__file__).parents[1] / "data" / "panel.csv.gz"
SETS = [["a"], ["a", "b"], ["b", "c"], ["a", "c"], ["c"], []]


def same(answers: list[Any], *raters: str) -> dict[str, dict[str, Any]]:
    """Raters who all say the same."""
    return {name: {f"i{item}": answer for item, answer in enumerate(answers)} for name in raters}


@pytest.mark.parametrize("multiplicative", [False, True])
@pytest.mark.parametrize(
    ("counts", "epsilon", "p"),
    [
        ((0, 40, 0), 0, None),
        ((0, 40, 0), 0.2, 0.0),
        ((0, 0, 40), 0, 0.0),
        ((40, 0, 0), 0.2, 1.0),
        ((40, 0, 0), 1, None),
    ],
)
def test_a_constant_difference_decides_by_itself_or_not_at_all(
    counts: tuple[int, int, int], epsilon: float, p: float | None, *, multiplicative: bool
) -> None:
    report = examine(wins(*counts), epsilons=epsilon, multiplicative=multiplicative)
    row = only(report).annotators[0]
    assert (row.n_human_win, row.n_tie, row.n_candidate_win) == counts
    assert row.p == p
    assert row.rejected == (p == 0)
    assert report.to_dict()["candidates"][0]["annotators"][0]["t"] is None
    json.dumps(report.to_dict(), allow_nan=False)


def test_an_undefined_p_is_never_a_rejection_but_counts_among_the_annotators() -> None:
    test = only(examine(same(["x"] * 40, "h0", "h1", "h2", "m"), epsilons=0))
    assert [row.p for row in test.annotators] == [None, None, None]
    assert [row.p_adjusted for row in test.annotators] == [None, None, None]
    assert (test.omega, test.passed, test.m_tested) == (0.0, False, 3)
    assert any("3 of 3 p-values are undefined" in warning for warning in test.warnings)


def test_constancy_is_exact_where_rounding_would_leave_a_spread() -> None:
    # with epsilon .1 every difference is -.1, whose mean over 30 items is not -.1 in floating point
    assert sum([-0.1] * 30) / 30 != -0.1
    test = only(examine(wins(0, 30, 0), epsilons=0.1, multiplicative=True))
    assert test.annotators[0].p == 0.0


def test_one_instance_has_no_spread_and_decides_nothing() -> None:
    test = only(examine(wins(0, 0, 1), min_instances=1))
    assert [row.p for row in test.annotators] == [None, None, None]
    assert test.rho_interval is None


def test_nobody_testable_is_said_and_not_divided_by() -> None:
    report = examine(wins(5, 10, 5))
    test = only(report)
    assert (test.omega, test.passed, test.rho, test.rho_human, test.tie_rate) == (None, None, None, None, None)
    assert (test.m_tested, test.skipped, test.annotators) == (0, ("h0", "h1", "h2"), ())
    assert test.reason is not None
    assert test.reason.startswith(
        "not testable: no annotator shares 30 instances with m and another human (at most 20)"
    )
    assert report.scope.ceilings == ()
    assert report.scope.fellows == ()


def test_a_skipped_annotator_still_counts_among_the_others() -> None:
    panel = wins(0, 40, 0)
    panel["h3"] = {f"i{item}": "y" for item in range(29)}
    panel["m"] = {f"i{item}": "y" for item in range(40)}
    test = only(examine(panel))
    assert test.skipped == ("h3",)
    assert test.m_tested == 3
    for_h0 = test.annotators[0]
    assert (for_h0.n_human_win, for_h0.n_tie) == (40, 0)
    panel["h4"] = {f"i{item}": "y" for item in range(29)}  # now two of the others agree with the candidate
    for_h0 = only(examine(panel)).annotators[0]
    assert (for_h0.n_human_win, for_h0.n_tie) == (11, 29)


def test_an_instance_with_one_human_label_or_without_the_candidate_is_left_out() -> None:
    panel = wins(0, 40, 0)
    panel["h0"]["alone"] = "x"
    panel["m"]["alone"] = "x"
    del panel["m"]["i0"]
    test = only(examine(panel))
    assert test.n_instances == 39
    assert [row.n for row in test.annotators] == [39, 39, 39]


def test_labels_of_different_types_are_refused() -> None:
    panel: dict[str, dict[str, Any]] = same(["1"] * 40, "h0", "h1", "h2")
    with pytest.raises(UsageError, match="use one kind, or read numbers as labels"):
        examine(panel | same([1] * 40, "m"))


def test_multiplicative_epsilon_of_one_divides_by_nothing() -> None:
    test = only(examine(wins(10, 10, 20), epsilons=1, multiplicative=True))
    assert test.annotators[0].p is not None
    assert test.annotators[0].p < 0.001


def test_ties_are_counted_and_warned_of() -> None:
    test = only(examine(wins(4, 40, 6)))
    assert test.rho is not None
    assert test.rho_human is not None
    assert test.tie_rate is not None
    assert test.rho + test.rho_human == pytest.approx(1 + test.tie_rate)
    assert any("ties, which both sides win" in warning for warning in test.warnings)
    everything = only(examine(same(["x"] * 40, "h0", "h1", "h2", "m")))
    assert (everything.rho, everything.tie_rate, everything.decisive_rate) == (1.0, 1.0, None)
    assert any("there is no other comparison" in warning for warning in everything.warnings)


def test_the_decisive_rate_leaves_ties_out() -> None:
    panel = wins(10, 20, 30)
    panel["h1"] = {f"i{item}": "x" for item in range(10)}  # so that only h0 is tested
    panel["h2"] = {f"i{item}": "x" for item in range(10, 60)}
    test = only(examine(panel, min_instances=60))
    assert [row.annotator for row in test.annotators] == ["h0"]
    assert test.decisive_rate == pytest.approx(30 / 40)


def test_few_instances_are_warned_of_since_the_t_test_is_not_exact_there() -> None:
    test = only(examine(wins(5, 10, 5), min_instances=10))
    assert any("20 instances: below 30 the t-test rejects too often" in warning for warning in test.warnings)


def test_a_multiplicative_epsilon_has_no_test_of_tango() -> None:
    test = only(examine(wins(5, 20, 10), multiplicative=True))
    assert test.omega_tango is None
    assert {(row.tango_p, row.tango_rejected) for row in test.annotators} == {(None, None)}


def test_two_empty_sets_are_equal() -> None:
    panel: dict[str, dict[str, Any]] = same([[]] * 30, "h0", "h1", "m") | same([["a"]] * 30, "h2")
    test = only(examine(panel, scores="jaccard"))
    assert [row.n_tie for row in test.annotators] == [30, 30, 0]
    assert test.annotators[2].n_candidate_win == 30


def test_macro_jaccard_is_the_published_one() -> None:
    # against 100000, 100001 scores (1/2 + 4/5)/2 = .65 and 110001 (1/3 + 3/5)/2; by labels both differ from Hamming
    universe = ["a", "b", "c", "d", "e", "f"]
    panel = same([["a"]] * 30, "h0", "h1") | same([["a", "f"]] * 30, "h2") | same([["a", "b", "f"]] * 30, "m")
    panel["h3"] = {"other": universe}

    def published(prediction: frozenset[str], annotations: list[frozenset[str]]) -> float:
        shares = []
        for one in annotations:
            marked = len(prediction & one) / len(prediction | one)
            unmarked = (6 - len(prediction | one)) / (6 - len(prediction & one))
            shares.append((marked + unmarked) / 2)
        return sum(shares) / len(shares)

    assert published(frozenset("af"), [frozenset("a")]) == pytest.approx(0.65)
    report = examine(panel, scores=["macro_jaccard", published])
    named, function = report.candidates
    assert named.annotators == function.annotators


@pytest.mark.parametrize(
    ("values", "candidate", "sign"),
    [((3, 4, 4), 5, 0), ((0.1, 0.2, 0.2), 0.3, 1), ((3, 4, 4), 4, 1), ((4, 4, 4), 5, -1), ((1e9, 3, 3), 3, 1)],
)
def test_numbers_as_far_from_the_mean_of_the_others_are_ties_but_for_published_rounding(
    values: tuple[float, ...], candidate: float, sign: int
) -> None:
    # .3 - .2 is a little less than .2 - .1
    panel = {f"h{place}": {f"i{item}": value for item in range(30)} for place, value in enumerate(values)}
    row = only(examine(panel | same([candidate] * 30, "m"))).annotators[0]
    assert (row.n_human_win, row.n_tie, row.n_candidate_win) == (30 * (sign < 0), 30 * (sign == 0), 30 * (sign > 0))


def test_fewer_than_three_humans_are_refused() -> None:
    panel = wins(10, 20, 10)
    with pytest.raises(UsageError, match="three humans with labels at least, not 2"):
        alt_test(Panel.from_annotations(panel), humans=["h0", "h1"], candidates=["m"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"candidates": []}, "there is no candidate: name at least one"),
        ({"candidates": ["h0"]}, "'h0' is named twice"),
        ({"epsilons": [0.1, 1.2]}, "an epsilon is a number from 0 to 1, not 1.2"),
        ({"epsilons": []}, "an epsilon is a number from 0 to 1, not none"),
        ({"epsilons": -0.1}, "an epsilon is a number from 0 to 1, not -0.1"),
        ({"q": 1}, "q is a number between 0 and 1"),
        ({"min_instances": 0}, "min_instances is a whole number of at least 1, not 0"),
        ({"min_instances": True}, "min_instances is a whole number of at least 1, not True"),
        ({"scores": "neg_rmse"}, "score 'neg_rmse' is of numbers, and these answers are labels: use accuracy"),
        ({"scores": ["jaccard"]}, "score 'jaccard' is of sets of labels, and these answers are labels: use accuracy"),
        ({"scores": [3]}, "a score is a name or a function"),
        ({"scores": [lambda *_: 1.0, lambda *_: 0.0]}, "two scores are named '<lambda>'"),
        ({"scores": lambda *_: float("nan")}, "score '<lambda>' returned nan for '.': return a number"),
        ({"scores": lambda *_: "close"}, "score '<lambda>' returned 'close' for '.': return a number"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        examine(wins(10, 20, 10), **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scores": "acuracy"}, "unknown score 'acuracy': did you mean 'accuracy'"),
        ({"candidates": ["n"]}, "unknown candidate 'n'"),
        ({"humans": ["h0", "h1", "h9"]}, "unknown human 'h9'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnknownNameError, match=sentence):
        examine(wins(10, 20, 10), **options)


@pytest.mark.parametrize(
    ("answers", "score"), [(["x", "y", "z"], "accuracy"), ([1, 2.5, 3], "neg_rmse"), (SETS, "jaccard")]
)
def test_the_usual_score_of_a_kind_is_the_default(answers: list[Any], score: str) -> None:
    assert only(examine(same(answers * 10, "h0", "h1", "h2", "m"))).score == score


def test_one_function_given_twice_is_one_score() -> None:
    def equal(prediction: str, annotations: list[str]) -> float:
        return annotations.count(prediction) / len(annotations)

    report = examine(wins(10, 20, 10), scores=[equal, equal, "accuracy"])
    assert [one.score for one in report.candidates] == ["equal", "accuracy"]
    assert report.candidates[0].annotators == report.candidates[1].annotators


def test_a_callable_object_is_reported_by_its_class() -> None:
    class Equal:
        def __call__(self, prediction: str, annotations: list[str]) -> float:
            return annotations.count(prediction) / len(annotations)

    assert only(examine(wins(10, 20, 10), scores=Equal())).score == "Equal"


def test_a_function_is_not_asked_about_an_item_of_one_human() -> None:
    panel = wins(0, 40, 0)
    panel["h0"]["alone"] = "x"
    seen: list[int] = []

    def counted(prediction: str, annotations: list[str]) -> float:
        seen.append(len(annotations))
        return annotations.count(prediction) / len(annotations)

    assert only(examine(panel, scores=counted)).n_instances == 40
    assert set(seen) == {2}


def test_an_annotator_of_one_instance_has_an_undefined_p_for_its_own_reason() -> None:
    panel = wins(5, 20, 5) | {"h3": {"i0": "x"}}
    test = only(examine(panel, min_instances=1))
    assert "1 of 4 p-values are undefined (one instance shows no spread): not rejected" in test.warnings
    assert not any("d is epsilon" in warning for warning in test.warnings)


def test_ids_that_do_not_match_are_said_with_one_of_each() -> None:
    panel = wins(5, 20, 5)
    panel["m"] = {item.replace("i", "item_"): said for item, said in panel["m"].items()}
    test = only(examine(panel))
    assert test.reason == (
        "not testable: m answered none of the humans' items, which are named as 'i0' while its own are as 'item_0': "
        "give both the same ids."
    )
    panel["m"]["i0"] = "x"
    assert (only(examine(panel)).reason or "").startswith("not testable: no annotator shares 30 instances")


def test_a_candidate_without_any_answer_is_not_testable() -> None:
    rows = [
        VerdictRow(case_id=f"i{item}", judge=name, verdict="x") for name in ("h0", "h1", "h2") for item in range(30)
    ]
    rows.append(VerdictRow(case_id="i0", judge="m", verdict=None, outcome="refused"))
    test = only(alt_test(Panel.from_rows(rows), humans=["h*"], candidates=["m"]))
    assert (test.reason or "").startswith("not testable: no annotator shares 30 instances with m and another human")
    assert "(--min-instances)" in (test.reason or "")


def test_near_the_edge_the_t_test_and_tangos_may_decide_for_all_annotators_otherwise() -> None:
    # Benjamini-Yekutieli steps up: the largest p decides about every other
    human, tie, candidate = np.array([[18, 12, 17], [18, 10, 19], [18, 14, 15], [20, 5, 22], [19, 11, 17]]).T
    tally = Tally(human=human, tie=tie, candidate=candidate)
    edge = [0.05 * k / (5 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5)) for k in range(1, 6)]
    p_t, p_tango = np.sort(t_test(tally, 0.3, multiplicative=False).p), np.sort(tango_test(tally, 0.3).p)
    assert (p_t > edge).all()
    assert p_tango[0] > edge[0]
    assert p_tango[-1] <= edge[-1]
    report = alt_test(
        read_panel(PANEL), humans=["annotator_*"], candidates=["middling"], scores="hamming", epsilons=0.3
    )
    test = only(report)
    assert (test.omega, test.omega_tango) == (0.0, 1.0)
    assert any("lie on two sides of .5" in warning for warning in test.warnings)


def test_humans_who_are_everybody_leave_no_candidate_and_a_named_candidate_is_no_human() -> None:
    panel = Panel.from_annotations(wins(5, 20, 5))
    with pytest.raises(UsageError, match=r"the humans took everybody"):
        alt_test(panel, humans=["*"], candidates=["gpt*"])
    report = alt_test(panel, humans=["*"], candidates=["m"])
    assert report.scope.humans == ("h0", "h1", "h2")
    with pytest.raises(UsageError, match="'m' is named twice, as a human and as a candidate"):
        alt_test(panel, humans=["h*, m"], candidates=["m"])
