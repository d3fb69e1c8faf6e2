"""What an alternative annotator test says about its own reach."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from support.alttests import examine, only, panels

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement import humans as fellows_module
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.humans import Ceiling
from judgeharness_integrations.verdictlog.row import VerdictRow


def people(
    right: dict[str, float], *, items: int = 80, seed: int = 1, labels: str = "abc"
) -> dict[str, dict[str, str]]:
    """Raters who give the right label so often, and any label otherwise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(labels), items)
    return {
        name: {
            f"i{item}": labels[truth[item] if rng.random() < share else rng.integers(0, len(labels))]
            for item in range(items)
        }
        for name, share in right.items()
    }


def test_an_annotator_who_stands_apart_is_named() -> None:
    report = examine(people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "h3": 0.9, "h4": 0.9, "h5": 0.0, "m": 0.9}))
    assert report.scope.outlying == ("h5",)
    found = {one.annotator: one for one in report.scope.fellows}
    assert found["h5"].outlying == ("AP (accuracy)", "mean kappa")
    assert found["h0"].outlying == ()
    assert found["h5"].ap["accuracy"] < found["h0"].ap["accuracy"]
    named = "outside the 95 % prediction interval of the other annotators: h5 (AP (accuracy), mean kappa); read"
    assert any(one.startswith(named) for one in report.scope.sentences())


def test_one_of_identical_annotators_is_told_from_the_only_other() -> None:
    report = examine(people({"h0": 1, "h1": 1, "h2": 1, "h3": 1, "h4": 0.2, "m": 1}))
    assert report.scope.outlying == ("h4",)


def test_with_three_annotators_nobody_can_be_told_apart() -> None:
    report = examine(people({"h0": 0.9, "h1": 0.9, "h2": 0.0, "m": 0.9}))
    assert {one.outlying for one in report.scope.fellows} == {None}
    assert report.scope.outlying == ()
    assert "with 3 annotators it cannot be told well whether one of them stands apart" in report.scope.sentences()
    assert report.to_dict()["scope"]["fellows"][0]["outlying"] is None


def test_an_annotator_without_enough_shared_items_is_not_judged() -> None:
    panel = people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "h3": 0.9, "m": 0.9})
    panel["h3"] = dict(list(panel["h3"].items())[:10])
    assert [one.annotator for one in examine(panel).scope.fellows] == ["h0", "h1", "h2"]


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=25)
@given(data=st.data())
def test_the_probability_among_fellows_is_its_definition(data: st.DataObject) -> None:
    panel = data.draw(panels("labels"))
    humans = {name: said for name, said in panel.items() if name.startswith("h")}
    found = {one.annotator: one for one in examine(panel, min_instances=1).scope.fellows}
    for human, said in humans.items():
        shares = []
        for item, answer in said.items():
            rest = [other[item] for name, other in humans.items() if name != human and item in other]
            if rest:
                everyone = [*rest, answer]
                shares.append(sum(everyone.count(answer) >= everyone.count(one) for one in rest) / len(rest))
        assert (human in found) == bool(shares)
        if shares:
            assert found[human].ap["accuracy"] == pytest.approx(sum(shares) / len(shares))
            assert found[human].n == len(shares)


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_the_mean_kappa_is_that_of_scikit_learn(weights: str | None) -> None:
    panel = people({"h0": 0.9, "h1": 0.6, "h2": 0.5, "m": 0.9}, labels="1234")
    answers: dict[str, dict[str, Any]] = panel if weights is None else _numbers(panel)
    del answers["h1"]["i3"]
    for one in examine(answers).scope.fellows:
        others = [name for name in ("h0", "h1", "h2") if name != one.annotator]
        kappas = []
        for other in others:
            common = [item for item in answers[other] if item in answers[one.annotator]]
            pair = ([int(answers[name][item]) for item in common] for name in (one.annotator, other))
            kappas.append(cohen_kappa_score(*pair, weights=weights))
        assert one.mean_kappa == pytest.approx(sum(kappas) / 2)


def _numbers(panel: dict[str, dict[str, str]]) -> dict[str, dict[str, Any]]:
    return {name: {item: int(label) for item, label in said.items()} for name, said in panel.items()}


@pytest.mark.parametrize("kind", [str, int])
def test_an_annotator_who_never_varies_has_no_kappa(kind: Any) -> None:
    panel = people({"h0": 0.9, "h1": 0.9, "m": 0.9}, labels="1234") | {"h2": {f"i{item}": "1" for item in range(80)}}
    answers = {name: {item: kind(label) for item, label in said.items()} for name, said in panel.items()}
    found = {one.annotator: one.mean_kappa for one in examine(answers).scope.fellows}
    assert found["h2"] is None
    both = [[int(panel[name][f"i{item}"]) for item in range(80)] for name in ("h0", "h1")]
    assert found["h0"] == pytest.approx(cohen_kappa_score(*both, weights="quadratic" if kind is int else None))


def test_folded_answers_are_said_although_nothing_was_lost() -> None:
    rows = [
        VerdictRow(case_id=f"i{item}", judge=name, verdict="x", repetition=repetition)
        for name in ("h0", "h1", "h2", "m")
        for item in range(30)
        for repetition in range(1 + (name == "m"))
    ]
    report = alt_test(Panel.from_rows(rows), humans=["h*"], candidates=["m"])
    (found,) = [one for one in report.scope.sentences() if "several times" in one]
    assert found.startswith("m answered 30 of 30 items; 30 items answered several times")


def test_kappa_is_left_out_where_it_has_no_meaning_or_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    constant = {name: {f"i{item}": "x" for item in range(40)} for name in ("h0", "h1", "h2", "m")}
    assert {one.mean_kappa for one in examine(constant).scope.fellows} == {None}
    panel = people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "m": 0.9})
    monkeypatch.setattr(fellows_module, "_LARGEST_VOCABULARY", 2)
    assert {one.mean_kappa for one in examine(panel).scope.fellows} == {None}
    monkeypatch.setattr(fellows_module, "_LARGEST_PANEL", 2)
    assert {one.mean_kappa for one in examine(panel).scope.fellows} == {None}
    assert [one.ap["accuracy"] > 0 for one in examine(panel).scope.fellows] == [True] * 3


def test_humans_who_disagree_on_everything_leave_no_candidate_a_chance() -> None:
    report = examine(people({"h0": 0, "h1": 0, "h2": 0, "m": 0.5}, items=40, labels="abcdefgh"), epsilons=[0, 0.2])
    first, second = report.scope.ceilings
    assert (first.epsilon, first.score, first.multiplicative) == (0, "accuracy", False)
    assert first.hopeless == (first.passes < 0.5)
    assert first.passes <= second.passes
    assert first.redraws == 200


def test_a_ceiling_names_the_epsilon_and_the_panel_that_would_do() -> None:
    humans = {"h0": 0.3, "h1": 0.3, "h2": 0.3}
    report = examine(people({**humans, "m": 0.0}, items=60, labels="abcdef"), epsilons=[0, 0.05, 0.2])
    hopeless, strict, wide = report.scope.ceilings
    assert (hopeless.hopeless, hopeless.annotators_needed) == (True, None)
    assert strict.hopeless
    assert strict.epsilon_needed is not None
    assert 0.05 < strict.epsilon_needed <= 0.2
    assert strict.annotators_needed is not None
    assert 3 < strict.annotators_needed <= 30
    assert not wide.hopeless
    assert (wide.epsilon_needed, wide.annotators_needed) == (None, None)
    sentences = report.scope.sentences()
    needed = f"they would from epsilon {strict.epsilon_needed:g}, or with {strict.annotators_needed} annotators"
    assert any("the humans disagree so much" in one and needed in one for one in sentences)
    could = "at epsilon 0.2 (accuracy) no candidate passed although one could: the best possible answers pass in "
    share = f"at least {100 * wide.passes:.0f} % of 200" if wide.passes < 1 else "all of 200"
    assert f"{could}{share} redrawn panels" in sentences


def test_a_ceiling_nothing_helps_says_so() -> None:
    # every item has one lone voice of two: the best answer is right for half of the draws whatever the panel
    rng = np.random.default_rng(2)
    names = [f"h{place}" for place in range(4)]
    panel = {name: {f"i{item}": "ab"[(place + item) % 2] for item in range(30)} for place, name in enumerate(names)}
    panel["m"] = {f"i{item}": "abc"[rng.integers(0, 3)] for item in range(30)}
    report = examine(panel, epsilons=0, q=0.0001)
    (ceiling,) = report.scope.ceilings
    assert ceiling.hopeless
    assert ceiling.annotators_needed is None
    assert ceiling.epsilon_needed is None
    remedy = "neither an epsilon up to .5 nor a panel of up to 30 annotators who label every item would do"
    assert any(remedy in one for one in report.scope.sentences())


@pytest.mark.parametrize(
    ("epsilon_needed", "annotators_needed", "remedy"),
    [
        (0.3, 8, "they would from epsilon 0.3, or with 8 annotators who label every item"),
        (0.3, None, "they would from epsilon 0.3; no panel of up to 30 annotators who label every item would do"),
        (None, 8, "they would with 8 annotators who label every item; no epsilon up to .5 would do"),
    ],
)
def test_what_would_help_is_said_without_contradiction(
    epsilon_needed: float | None, annotators_needed: int | None, remedy: str
) -> None:
    scope = examine(people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "m": 0.9})).scope
    ceiling = Ceiling(
        score="accuracy",
        epsilon=0.1,
        multiplicative=False,
        redraws=200,
        passes=0.1,
        epsilon_needed=epsilon_needed,
        annotators_needed=annotators_needed,
    )
    (found,) = [one for one in replace(scope, ceilings=(ceiling,)).sentences() if "best possible" in one]
    assert found.startswith("at epsilon 0.1 (accuracy) the humans disagree so much that even the best possible answers")
    assert found.endswith(remedy)


def test_unanimous_humans_are_not_said_to_disagree() -> None:
    report = examine({name: {f"i{item}": "x" for item in range(120)} for name in ("h0", "h1", "h2", "m")}, epsilons=0)
    (found,) = [one for one in report.scope.sentences() if "best possible" in one]
    assert "disagree" not in found
    assert "at epsilon 0 (accuracy) a candidate has to be better than the humans" in found
    assert "they would from epsilon 0.05; no panel of up to 30" in found


def test_no_ceiling_is_drawn_where_a_candidate_passes() -> None:
    report = examine(people({"h0": 0.7, "h1": 0.7, "h2": 0.7, "m1": 1.0, "m2": 0.0}), epsilons=0.2)
    assert only_passed(report.candidates) == {"m1"}
    assert report.scope.ceilings == ()


def only_passed(tests: Any) -> set[str]:
    return {one.candidate for one in tests if one.passed}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "numbers", "sets"])
def test_ceilings_do_not_depend_on_order_and_repeat_with_their_seed(kind: str) -> None:
    rng = np.random.default_rng(4)
    made: Any = {"labels": lambda: "abc"[rng.integers(0, 3)], "numbers": lambda: int(rng.integers(0, 9))}.get(
        kind, lambda: ["abc"[place] for place in range(3) if rng.random() < 0.5]
    )
    panel = {name: {f"i{item}": made() for item in range(40)} for name in ("h0", "h1", "h2", "h3", "m")}
    scores = {"sets": ["jaccard", "macro_jaccard", "hamming", "accuracy"]}.get(kind)
    first = examine(panel, scores=scores, epsilons=[0, 0.05]).scope.ceilings
    assert {one.score for one in first} == set(scores or [{"labels": "accuracy"}.get(kind, "neg_rmse")])
    turned = {name: dict(reversed(panel[name].items())) for name in reversed(panel)}
    assert first == examine(panel, scores=scores, epsilons=[0, 0.05]).scope.ceilings
    again = examine(turned, scores=scores, epsilons=[0, 0.05]).scope.ceilings
    assert first == again


def test_every_rater_is_counted_with_what_was_lost() -> None:
    rows = [
        VerdictRow(case_id=f"i{item}", judge=name, verdict="x", repetition=0)
        for name in ("h0", "h1", "h2", "m")
        for item in range(40)
        if (name, item) != ("m", 0)
    ]
    rows += [VerdictRow(case_id="i0", judge="m", verdict=None, outcome="unparsed")]
    rows += [VerdictRow(case_id="i1", judge="m", verdict="y", repetition=1)]
    report = alt_test(Panel.from_rows(rows), humans=["h0,h1", "h2"], candidates=["*"], panel_description="two teachers")
    judge = report.scope.raters[-1]
    assert (judge.rater, judge.role) == ("m", "candidate")
    assert (judge.answered, judge.missing, judge.failed, judge.undecided, judge.folded) == (38, 2, 1, 1, 1)
    text = "\n".join(report.scope.sentences())
    assert "this task, these 40 items and this panel of 3 humans alone; who they were: two teachers" in text
    folded = (
        "1 items answered several times (repetitions, perturbations and runs alike) are folded by majority | median"
    )
    assert f"m answered 38 of 40 items; 1 answers without a verdict, {folded}, 1 of them left undecided" in text
    assert "of them m answered 38" in text


def test_of_many_raters_ten_are_named_and_the_others_counted() -> None:
    names = [f"h{number:03d}" for number in range(120)]
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 60)
    rows = [
        VerdictRow(case_id=f"i{item}", judge=name, verdict="ab"[truth[item] ^ (place < 12 and rng.random() < 0.5)])
        for place, name in enumerate([*names, "m"])
        for item in range(60)
    ]
    rows += [VerdictRow(case_id="i60", judge=name, verdict=None, outcome="refused") for name in names]
    report = alt_test(Panel.from_rows(rows), humans=["h*"], candidates=["m"])
    text = "\n".join(report.scope.sentences())
    assert "110 more: 110 answers without a verdict, 0 items folded, 0 undecided" in text
    assert len(report.scope.outlying) == 12
    assert "and 2 more; read their labels before relying on this panel (6 of 120 by chance)" in text


@pytest.mark.parametrize("multiplicative", [False, True])
def test_the_advice_on_epsilon_is_of_additive_ones(*, multiplicative: bool) -> None:
    report = examine(
        people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "m": 0.9}),
        epsilons=[0.1, 0.15, 0.2, 0.3],
        multiplicative=multiplicative,
    )
    fits = report.scope.epsilon_fits
    expected = [None] * 4 if multiplicative else ["a crowd", "skilled annotators", "experts", None]
    assert list(fits.values()) == expected
    said = "\n".join(report.scope.sentences())
    assert ("used here: 0.1 (a crowd), 0.15" in said, "advised" in said) == ((not multiplicative,) * 2)


def test_items_without_clusters_are_taken_as_independent_and_that_is_said() -> None:
    report = examine(people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "m": 0.9}))
    assert report.scope.sentences()[-1].startswith("items are taken as independent")
    assert only(report).omega_clustered is None


def test_the_json_holds_the_names_of_its_schema() -> None:
    document = json.loads(json.dumps(examine(people({"h0": 0.9, "h1": 0.9, "h2": 0.9, "m": 0.9})).to_dict()))
    assert document["schema"] == "judgeharness.alttest/1"
    wanted = "candidate score epsilon multiplicative omega rho rho_human passed m_tested skipped tie_rate annotators"
    assert set(wanted.split()) <= document["candidates"][0].keys()
    wanted = "annotator n rho_f rho_h t p p_adjusted rejected tango_p"
    assert set(wanted.split()) <= document["candidates"][0]["annotators"][0].keys()
    assert {"items", "kept", "panel", "raters", "outlying", "sentences", "ceilings"} <= document["scope"].keys()
    assert document["comparisons"] == []
