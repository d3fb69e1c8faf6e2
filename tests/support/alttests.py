"""The alternative annotator test as it is written, instance by instance, and panels to run it on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport

LABELS = ("a", "b", "c")
CANDIDATES = ("m1", "m2")
Annotations = Mapping[str, Mapping[str, Any]]


def examine(annotations: Annotations, **options: Any) -> AltTestReport:
    """Run the test; raters named m... are candidates, others humans."""
    candidates = [name for name in annotations if name.startswith("m")]
    humans = [name for name in annotations if name not in candidates]
    return alt_test(Panel.from_annotations(annotations), **{"humans": humans, "candidates": candidates} | options)


def only(report: AltTestReport) -> AltTest:
    """Return the only test of a report."""
    (test,) = report.candidates
    return test


def wins(human: int, tie: int, candidate: int) -> dict[str, dict[str, str]]:
    """A panel of three humans and a candidate; `h0` wins, ties and loses as often as said, by accuracy.

    `h1` and `h2` always say x.
    """
    size = human + tie + candidate
    first = ["x" if item < human + tie else "z" for item in range(size)]
    judge = ["y" if item < human else "x" for item in range(size)]
    said = {"h0": first, "h1": ["x"] * size, "h2": ["x"] * size, "m": judge}
    return {name: {f"i{item}": answer for item, answer in enumerate(answers)} for name, answers in said.items()}


def _mean(values: Iterable[Any]) -> Any:
    found = list(values)
    return sum(found) / len(found)


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 1.0


def _labels_of(annotations: Annotations) -> frozenset[str]:
    return frozenset(label for said in annotations.values() for answer in said.values() for label in answer)


def _score(name: str, everything: frozenset[str]) -> Callable[[Any, Sequence[Any]], Any]:
    """S(prediction, R) as it is published: a mean of floats, over the others in the order of their names."""

    def macro(one: frozenset[str], other: frozenset[str]) -> float:
        return (_jaccard(one, other) + _jaccard(everything - one, everything - other)) / 2

    def agreed(one: frozenset[str], other: frozenset[str]) -> float:
        return (len(everything) - len(one ^ other)) / len(everything) if everything else 0.0

    def over_sets(part: Callable[[frozenset[str], frozenset[str]], float]) -> Callable[[Any, Sequence[Any]], Any]:
        return lambda one, others: np.mean([part(frozenset(one), frozenset(other)) for other in others])

    return {
        "accuracy": lambda one, others: np.mean([one == other for other in others]),
        "neg_rmse": lambda one, others: -np.sqrt(np.mean([(one - other) ** 2 for other in others])),
        "jaccard": over_sets(_jaccard),
        "macro_jaccard": over_sets(macro),
        "hamming": over_sets(agreed),
    }[name]


def reference(
    annotations: Annotations, candidate: str, *, score: str, epsilon: float, multiplicative: bool, least: int, q: float
) -> dict[str, Any]:
    """Steps 1 to 5 of the test, one after the other."""
    humans = [name for name in annotations if name not in CANDIDATES]
    close = _score(score, _labels_of(annotations) if score not in ("accuracy", "neg_rmse") else frozenset())
    kept = [i for i in annotations[candidate] if sum(i in annotations[h] for h in humans) >= 2]
    rows = []
    for human in humans:
        pairs = []
        for item in (item for item in kept if item in annotations[human]):
            rest = [
                annotations[other][item] for other in sorted(humans) if other != human and item in annotations[other]
            ]
            mine, theirs = close(annotations[human][item], rest), close(annotations[candidate][item], rest)
            pairs.append((int(theirs >= mine), int(mine >= theirs)))
        if len(pairs) >= least:
            rows.append((human, pairs, _p(pairs, epsilon, multiplicative=multiplicative)))
    p = [row[2] for row in rows]
    rejected = [False] * len(p)
    if p:
        filled = [1.0 if math.isnan(value) else value for value in p]
        rejected = [bool(one) for one in multipletests(filled, alpha=q, method="fdr_by")[0]]
    return {
        "annotators": [row[0] for row in rows],
        "p": p,
        "rejected": rejected,
        "omega": _mean(map(int, rejected)) if rows else None,
        "rho": _mean(_mean(f for f, _ in row[1]) for row in rows) if rows else None,
        "rho_human": _mean(_mean(h for _, h in row[1]) for row in rows) if rows else None,
    }


def _p(pairs: Sequence[tuple[int, int]], epsilon: float, *, multiplicative: bool) -> float:
    exact = Fraction(str(epsilon))
    weight, expected = (1 - exact, Fraction(0)) if multiplicative else (Fraction(1), exact)
    d = [weight * human - candidate for candidate, human in pairs]
    if len(d) < 2:
        return math.nan
    if len(set(d)) == 1:
        return math.nan if d[0] == expected else float(d[0] > expected)
    return float(stats.ttest_1samp([float(one) for one in d], float(expected), alternative="less").pvalue)


def _answers(kind: str) -> st.SearchStrategy[Any]:
    if kind == "labels":
        return st.sampled_from(LABELS)
    if kind == "numbers":
        return st.integers(0, 12).map(lambda tenths: tenths / 10)
    return st.lists(st.sampled_from(LABELS), unique=True, max_size=3).map(sorted)


@st.composite
def panels(draw: st.DrawFn, kind: str) -> dict[str, dict[str, Any]]:
    """3 to 8 humans and two candidates about a few items, cells missing."""
    names = [f"h{number}" for number in range(draw(st.integers(3, 8)))] + list(CANDIDATES)
    items = [f"i{number}" for number in range(draw(st.integers(2, 10)))]
    cell = st.one_of(st.none(), _answers(kind), _answers(kind), _answers(kind))
    panel = {name: {item: value for item in items if (value := draw(cell)) is not None} for name in names}
    for name in names:  # everybody says something, so that the rater exists
        panel[name].setdefault(items[0], draw(_answers(kind)))
    return panel
