"""What an alternative annotator test is about and what it says, and its JSON (`judgeharness.alttest/1`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judgeharness_integrations._lazy import Rendered
from judgeharness_integrations.verdictlog.encoding import listed

from .humans import Ceiling, Fellow
from .hypothesis import RhoDifference
from .panel import Panel

_GUIDANCE = ((0.2, "experts"), (0.15, "skilled annotators"), (0.1, "a crowd"))
_SAME = 1e-9
_NAMED = 10  # raters named in one sentence


@dataclass(frozen=True, kw_only=True)
class Turnout:
    """What one rater gave: `answered` + `missing` items are all items.

    Of the missing ones, `undecided` had repeated answers the rule left open. `failed` counts answers without a verdict,
    `folded` items answered more than once.
    """

    rater: str
    role: str
    answered: int
    missing: int
    failed: int
    undecided: int
    folded: int


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What the result is about, and what it is not.

    `kept` counts, by candidate, the instances with two human labels and the candidate's, out of `items`;
    `epsilon_fits` says which annotators each epsilon used is advised for (None: none; advice is of additive epsilons,
    not of `multiplicative` ones). `ceilings` is about the scores and epsilons at which no candidate passed.
    """

    kind: str
    items: int
    items_with_two_humans: int
    kept: Mapping[str, int]
    humans: tuple[str, ...]
    panel: str
    cluster: str | None
    clusters: int | None
    rule: str
    raters: tuple[Turnout, ...]
    fellows: tuple[Fellow, ...]
    epsilon_fits: Mapping[str, str | None]
    multiplicative: bool
    ceilings: tuple[Ceiling, ...]
    copies: tuple[str, ...] = ()

    @property
    def outlying(self) -> tuple[str, ...]:
        """The annotators whose AP or mean kappa leaves the interval of the others."""
        return tuple(one.annotator for one in self.fellows if one.outlying)

    def sentences(self) -> list[str]:
        """Return the scope as sentences, each from a fact of this run."""
        panel = f"this panel of {len(self.humans)} humans alone; who they were: {self.panel}"
        found = [
            f"this holds for this task, these {self.items} items and {panel}",
            f"{self.items_with_two_humans} of {self.items} items hold two human answers or more; of them "
            + ", ".join(f"{name} answered {count}" for name, count in self.kept.items()),
        ]
        if not self.multiplicative:
            used = ", ".join(f"{epsilon} ({fit})" if fit else epsilon for epsilon, fit in self.epsilon_fits.items())
            found.append(
                "additive epsilons are advised as .2 where the humans are experts, .15 for skilled annotators, .1 for "
                f"a crowd; used here: {used}"
            )
        found += self._of_raters()
        found += self._of_fellows()
        found += _ceiling_sentences(self.ceilings)
        found += self.copies
        found.append(
            "items are taken as independent: name the column of their texts or authors as cluster if not"
            if self.cluster is None
            else f"the {self.items} items come from {self.clusters} clusters ({self.cluster}); the t-test of the paper "
            "and Tango's test take items as independent all the same"
        )
        return found

    def _of_raters(self) -> list[str]:
        lost = [one for one in self.raters if one.failed or one.folded]
        found = [
            f"{one.rater} answered {one.answered} of {self.items} items; {', '.join(self._lost(one))}"
            for one in lost[:_NAMED]
        ]
        if rest := lost[_NAMED:]:
            failed, folded, undecided = (
                sum(getattr(one, name) for one in rest) for name in ("failed", "folded", "undecided")
            )
            found.append(
                f"{len(rest)} more: {failed} answers without a verdict, {folded} items folded, {undecided} undecided"
            )
        return found

    def _lost(self, one: Turnout) -> Iterator[str]:
        if one.failed:
            yield f"{one.failed} answers without a verdict"
        if one.folded:
            yield (
                f"{one.folded} items answered several times (repetitions, perturbations and runs alike) are folded by "
                f"{self.rule}, {one.undecided} of them left undecided"
            )

    def _of_fellows(self) -> list[str]:
        if any(one.outlying is None for one in self.fellows):
            return [f"with {len(self.fellows)} annotators it cannot be told well whether one of them stands apart"]
        apart = [f"{one.annotator} ({', '.join(one.outlying)})" for one in self.fellows if one.outlying]
        if not apart:
            return []
        chance = f"{0.05 * len(self.fellows):.2g} of {len(self.fellows)} by chance"
        named = f"{listed(apart, _NAMED)}; read their labels before relying on this panel ({chance})"
        return [f"outside the 95 % prediction interval of the other annotators: {named}"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        own = ("kind", "items", "items_with_two_humans", "panel", "cluster", "clusters", "rule")
        return {
            **{name: getattr(self, name) for name in own},
            "copies": list(self.copies),
            "kept": dict(self.kept),
            "humans": list(self.humans),
            "raters": [asdict(one) for one in self.raters],
            "outlying": list(self.outlying),
            "fellows": [{**asdict(one), "outlying": _listed(one.outlying)} for one in self.fellows],
            "epsilon_fits": dict(self.epsilon_fits),
            "ceilings": [{**asdict(one), "hopeless": one.hopeless} for one in self.ceilings],
            "sentences": self.sentences(),
        }


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _ceiling_sentences(ceilings: Sequence[Ceiling]) -> Iterator[str]:
    """Yield a sentence for each score at which a candidate could pass, and for each hopeless epsilon."""
    for score in dict.fromkeys(one.score for one in ceilings):
        could = [one for one in ceilings if one.score == score and not one.hopeless]
        if could:
            least, redraws = min(one.passes for one in could), could[0].redraws
            share = f"at least {100 * least:.0f} % of {redraws}" if least < 1 else f"all of {redraws}"
            epsilons = ", ".join(f"{one.epsilon:g}" for one in could)
            yield (
                f"at epsilon {epsilons} ({score}) no candidate passed although one could: the best possible answers "
                f"pass in {share} redrawn panels"
            )
        yield from (_hopeless(one) for one in ceilings if one.score == score and one.hopeless)


def _hopeless(one: Ceiling) -> str:
    cause = "the humans disagree so much that" if one.epsilon else "a candidate has to be better than the humans, and"
    return (
        f"at epsilon {one.epsilon:g} ({one.score}) {cause} even the best possible answers pass in only "
        f"{100 * one.passes:.0f} % of {one.redraws} redrawn panels; {_remedy(one)}"
    )


def _remedy(one: Ceiling) -> str:
    """Return what would let the best possible answers pass."""
    panel = "annotators who label every item"
    epsilon = None if one.epsilon_needed is None else f"from epsilon {one.epsilon_needed:g}"
    size = None if one.annotators_needed is None else f"with {one.annotators_needed} {panel}"
    if epsilon and size:
        return f"they would {epsilon}, or {size}"
    if epsilon:
        return f"they would {epsilon}; no panel of up to 30 {panel} would do"
    if size:
        return f"they would {size}; no epsilon up to .5 would do"
    return f"neither an epsilon up to .5 nor a panel of up to 30 {panel} would do"


def epsilon_fits(epsilons: Sequence[float], *, multiplicative: bool) -> dict[str, str | None]:
    """Return, by epsilon used, which annotators the authors of the test advise it for; None: none of them.

    Their advice is of additive epsilons.
    """
    return {
        f"{epsilon:g}": next(
            (who for value, who in _GUIDANCE if abs(value - epsilon) < _SAME and not multiplicative), None
        )
        for epsilon in epsilons
    }


def turnouts(panel: Panel, humans: Sequence[str], candidates: Sequence[str]) -> tuple[Turnout, ...]:
    """Return what every rater that takes part gave."""
    answered = np.bincount(panel.rater, minlength=len(panel.raters)).tolist()
    count = dict(zip(panel.raters, answered, strict=True))
    roles = [(name, "human") for name in humans] + [(name, "candidate") for name in candidates]
    return tuple(
        Turnout(
            rater=name,
            role=role,
            answered=count[name],
            missing=len(panel.items) - count[name],
            failed=panel.failed.get(name, 0),
            undecided=panel.undecided.get(name, 0),
            folded=panel.folded.get(name, 0),
        )
        for name, role in roles
    )


@dataclass(frozen=True, kw_only=True)
class AnnotatorTest:
    """The candidate against one human over `n` instances.

    `rho_f` and `rho_h` are the shares of instances where candidate and human are at least as close to the others as
    the other one is. `t` may be infinite (d constant); a p-value is None where it is undefined, which is never a
    rejection. Tango's score test and the cluster-robust t-test stand beside the t-test of the paper, each with its own
    step-up decision; None where they do not apply. The instances come from `clusters`, which weigh as much as
    `effective_clusters` of one size; an annotator with fewer than 5 of those is not tested by cluster.
    """

    annotator: str
    n: int
    rho_f: float
    rho_h: float
    n_candidate_win: int
    n_tie: int
    n_human_win: int
    t: float | None
    p: float | None
    p_adjusted: float | None
    rejected: bool
    tango_p: float | None
    tango_p_adjusted: float | None
    tango_rejected: bool | None
    clusters: int | None
    effective_clusters: float | None
    clustered_t: float | None
    clustered_p: float | None
    clustered_p_adjusted: float | None
    clustered_rejected: bool | None


@dataclass(frozen=True, kw_only=True)
class AltTest:
    """One candidate under one score and epsilon.

    `omega` is the share of the `m_tested` annotators for whom H0 is rejected, `passed` is omega >= .5; both are None
    when nobody could be tested, and `reason` says why. `rho`, `rho_human`, `tie_rate` and `decisive_rate` are as in
    `WinningRate`. `omega_tango` and `omega_clustered` are the same share by the tests beside the t-test;
    `clustered_reason` and `interval_reason` say why there is none although clusters are named, and no interval of rho.
    """

    candidate: str
    score: str
    epsilon: float
    multiplicative: bool
    omega: float | None
    rho: float | None
    rho_human: float | None
    passed: bool | None
    m_tested: int
    skipped: tuple[str, ...]
    tie_rate: float | None
    annotators: tuple[AnnotatorTest, ...]
    n_rejected: int
    n_instances: int
    rho_interval: tuple[float, float] | None
    decisive_rate: float | None
    omega_tango: float | None
    omega_clustered: float | None
    clustered_reason: str | None
    interval_reason: str | None
    reason: str | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AltTestReport(Rendered):
    """The test of every candidate, score and epsilon, candidates compared by rho, and the scope of all of it.

    `constants` are the tests of an annotator who always gives the humans' commonest answer, of numbers their median;
    `beside_constants` compares each candidate with it, by rho.
    """

    candidates: tuple[AltTest, ...]
    comparisons: tuple[RhoDifference, ...]
    scope: Scope
    q: float
    min_instances: int
    constants: tuple[AltTest, ...] = ()
    beside_constants: tuple[RhoDifference, ...] = ()

    def controls(self) -> list[str]:
        """Return what an annotator who reads nothing comes to, and which candidates are not better than that."""
        return list(_constant_sentences(self.constants, self.beside_constants))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; an infinite t is null, and its p is 0 or 1."""
        return {
            "schema": "judgeharness.alttest/1",
            "q": self.q,
            "min_instances": self.min_instances,
            "candidates": [_plain(asdict(one)) for one in self.candidates],
            "comparisons": [_plain(asdict(one)) for one in self.comparisons],
            "constants": [_plain(asdict(one)) for one in self.constants],
            "beside_constants": [_plain(asdict(one)) for one in self.beside_constants],
            "scope": self.scope.to_dict(),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isinf(value) else value


def _constant_sentences(constants: Sequence[AltTest], beside: Sequence[RhoDifference]) -> Iterator[str]:
    """Yield what the constant annotator comes to under each score, and which candidates are not better than it."""
    for score in dict.fromkeys(test.score for test in constants):
        tests = [test for test in constants if test.score == score]
        first = tests[0]
        if first.rho is None:
            continue
        passing = ", ".join(f"{test.epsilon:g}" for test in tests if test.passed)
        found = f"passes at epsilon {passing}" if passing else "does not pass"
        mine = [one for one in beside if one.score == score]
        better = ", ".join(one.first for one in mine if _better(one))
        yield (
            f"an annotator who reads nothing, {first.candidate} ({score}): rho {first.rho:.3f}, {found}"
            + (f"; better than it by rho: {better}" if better else "")
        )
        yield from (_worthless(one) for one in mine if one.difference is not None and not _better(one))


def _better(one: RhoDifference) -> bool:
    return one.interval is not None and one.interval[0] > 0


def _worthless(one: RhoDifference) -> str:
    difference = one.difference or 0.0
    word = "not shown to be better than" if difference > 0 else "not better than"
    ends = "no interval" if one.interval is None else f"[{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]"
    return (
        f"{one.first}: {word} {one.second}, which reads nothing: rho {difference:+.3f} {ends} on the same "
        f"{one.instances} instances ({one.score})"
    )
