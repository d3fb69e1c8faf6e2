"""The alternative annotator test: may a judge stand in for human annotators?

The alternative annotator test: may a judge stand in for human annotators? Calderon, Reichart, Dror 2025, "The
Alternative Annotator Test for LLM-as-a-Judge".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations._errors import UsageError

from .alttestreport import AltTest, AltTestReport, AnnotatorTest, Scope, epsilon_fits, turnouts
from .closeness import Ballots, Closeness, Replies, ScoreLike, closeness, scores_of
from .humans import Ceiling, ceilings, constant_advantages, fellows
from .hypothesis import (
    FEWEST_CLUSTERS,
    Advantage,
    Tested,
    WinningRate,
    advantage,
    benjamini_yekutieli,
    clustered_test,
    rho_difference,
    t_test,
    tango_test,
    too_few,
    winning_rate,
)
from .panel import Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "AltTest",
    "AltTestReport",
    "Decisions",
    "Setting",
    "alt_test",
    "annotator_tests",
    "candidate_tests",
    "caveats",
    "untold_by_cluster",
]


@dataclass(frozen=True, eq=False)
class Decisions:
    """A test of all tested annotators with its step-up decisions and adjusted p-values (NaN where undefined).

    The step-up is over those the test counts.
    """

    tested: Tested
    rejected: NDArray[np.bool_]
    adjusted: NDArray[np.float64]

    @classmethod
    def of(cls, tested: Tested, q: float) -> Decisions:
        """Decide at level q."""
        rejected, adjusted = np.zeros(len(tested.p), bool), np.full(len(tested.p), np.nan)
        rejected[tested.counted], adjusted[tested.counted] = benjamini_yekutieli(tested.p[tested.counted], q)
        return cls(tested, rejected, adjusted)

    @property
    def omega(self) -> float | None:
        """The share of rejections, None when nobody is tested."""
        counted = self.tested.counted
        return float(self.rejected[counted].mean()) if counted.any() else None


def _defined(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def annotator_tests(
    found: Advantage, names: Sequence[str], own: Decisions, tango: Decisions | None, clustered: Decisions | None
) -> tuple[AnnotatorTest, ...]:
    """Return the tests of every tested annotator; None stands for those that do not apply."""
    tally = found.tally.take(found.tested)
    columns = {
        "annotator": [names[place] for place in found.tested.tolist()],
        "n": tally.n.tolist(),
        "rho_f": ((tally.tie + tally.candidate) / tally.n).tolist(),
        "rho_h": ((tally.tie + tally.human) / tally.n).tolist(),
        "n_candidate_win": tally.candidate.tolist(),
        "n_tie": tally.tie.tolist(),
        "n_human_win": tally.human.tolist(),
        "t": _defined(own.tested.statistic),
        "p": _defined(own.tested.p),
        "p_adjusted": _defined(own.adjusted),
        "rejected": own.rejected.tolist(),
        **_beside("tango", tango, len(found.tested)),
        **_beside("clustered", clustered, len(found.tested)),
    }
    columns |= {"clustered_t": columns.pop("clustered_statistic"), **_clusters(clustered, len(found.tested))}
    del columns["tango_statistic"]
    return tuple(AnnotatorTest(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def _beside(name: str, decisions: Decisions | None, m: int) -> dict[str, list[float | bool | None]]:
    """Return the columns of a test beside the t-test."""
    if decisions is None:
        return {f"{name}_{part}": [None] * m for part in ("statistic", "p", "p_adjusted", "rejected")}
    tested = decisions.tested
    decided = zip(decisions.rejected.tolist(), tested.counted.tolist(), strict=True)
    return {
        f"{name}_statistic": _defined(tested.statistic),
        f"{name}_p": _defined(tested.p),
        f"{name}_p_adjusted": _defined(decisions.adjusted),
        f"{name}_rejected": [rejected if counted else None for rejected, counted in decided],
    }


def _clusters(decisions: Decisions | None, m: int) -> dict[str, list[float | None]]:
    """Return how many clusters each annotator has."""
    tested = None if decisions is None else decisions.tested
    if tested is None or tested.clusters is None or tested.effective is None:
        return {"clusters": [None] * m, "effective_clusters": [None] * m}
    return {"clusters": tested.clusters.tolist(), "effective_clusters": tested.effective.tolist()}


_MANY_TIES = 0.5
_PASSES = 0.5
_FEW = 30


def caveats(
    found: Advantage,
    rate: WinningRate,
    own: Decisions,
    beside: tuple[Decisions | None, Decisions | None],
    cluster: str | None,
) -> Iterator[str]:
    """Yield the warnings of one test of tested annotators.

    Args:
        found: the comparisons.
        rate: rho and the rates beside it.
        own: what the t-test of the paper decided.
        beside: what Tango's test and the cluster-robust test decided; None where they do not apply.
        cluster: the column of the clusters.

    """
    tango, clustered = beside
    if rate.tie_rate >= _MANY_TIES:
        wins = "there is no other comparison"
        if rate.decisive_rate is not None:
            wins = f"of the others the candidate wins {100 * rate.decisive_rate:.0f} %"
        yield (
            f"{100 * rate.tie_rate:.0f} % of the comparisons are ties, which both sides win, so rho and omega are high "
            f"for any candidate; {wins}"
        )
    fewest = int(found.tally.n[found.tested].min())
    if fewest < _FEW:
        yield f"an annotator has {fewest} instances: below {_FEW} the t-test rejects too often, see Tango's test"
    alone = found.tally.n[found.tested] == 1
    for which, cause in ((alone, "one instance shows no spread"), (~alone, "d is epsilon throughout")):
        if undefined := int(np.isnan(own.tested.p[which]).sum()):
            yield f"{undefined} of {len(found.tested)} p-values are undefined ({cause}): not rejected"
    if tango is not None and _passes(tango) != _passes(own):
        yield "omega by the t-test and omega by Tango's test lie on two sides of .5: too close to the edge to tell"
    if clustered is not None and not untold_by_cluster(clustered, cluster):
        yield from _by_cluster(own, clustered, cluster)


def _passes(decisions: Decisions) -> bool:
    return decisions.omega is not None and decisions.omega >= _PASSES


def _by_cluster(own: Decisions, clustered: Decisions, cluster: str | None) -> Iterator[str]:
    """Yield what clustering changes, and whom it leaves out."""
    if _passes(own) != _passes(clustered):
        yield f"omega and omega clustered by {cluster} lie on two sides of .5"
    left_out = int((~clustered.tested.counted).sum())
    if left_out:
        yield (
            f"clustered by {cluster}, {left_out} of {len(own.rejected)} annotators are left out: their clusters weigh "
            f"as much as fewer than {FEWEST_CLUSTERS} of equal size"
        )


def untold_by_cluster(clustered: Decisions, cluster: str | None) -> str | None:
    """Return why the cluster-robust test tells nothing of tested annotators; None where it does."""
    tested = clustered.tested
    assert tested.clusters is not None  # noqa: S101 - it is the cluster-robust test
    assert tested.effective is not None  # noqa: S101 - likewise
    if not tested.counted.any():
        most = int(tested.effective.argmax())
        few = too_few(int(tested.clusters[most]), float(tested.effective[most]))
        return f"an annotator's instances come from few clusters ({cluster}): {few}"
    if np.isnan(tested.p).all():
        return f"the wins do not vary between the clusters of {cluster}, so that nothing can be tested"
    return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What every test of one call shares."""

    annotators: tuple[str, ...]
    epsilons: tuple[float, ...]
    multiplicative: bool
    q: float
    min_instances: int
    clusters: NDArray[np.intp] | None
    cluster_name: str | None


def candidate_tests(found: Advantage, setting: Setting) -> list[AltTest]:
    """Return the tests of one candidate and score, one an epsilon."""
    rate = winning_rate(found, setting.clusters)
    skipped = np.setdiff1d(np.arange(len(setting.annotators)), found.tested)
    names = tuple(setting.annotators[place] for place in skipped.tolist())
    return [_test(found, rate, epsilon, names, setting) for epsilon in setting.epsilons]


def _test(
    found: Advantage, rate: WinningRate | None, epsilon: float, skipped: tuple[str, ...], setting: Setting
) -> AltTest:
    own, tango, clustered = _decided(found, epsilon, setting)
    rejected = int(own.rejected.sum())
    untold = None if clustered is None or rate is None else untold_by_cluster(clustered, setting.cluster_name)
    return AltTest(
        candidate=found.candidate,
        score=found.score,
        epsilon=epsilon,
        multiplicative=setting.multiplicative,
        omega=own.omega,
        rho=None if rate is None else rate.rho,
        rho_human=None if rate is None else rate.rho_human,
        passed=None if rate is None else 2 * rejected >= len(found.tested),
        m_tested=len(found.tested),
        skipped=skipped,
        tie_rate=None if rate is None else rate.tie_rate,
        annotators=annotator_tests(found, setting.annotators, own, tango, clustered),
        n_rejected=rejected,
        n_instances=found.kept,
        rho_interval=None if rate is None else rate.interval,
        decisive_rate=None if rate is None else rate.decisive_rate,
        omega_tango=None if tango is None else tango.omega,
        omega_clustered=None if clustered is None or untold else clustered.omega,
        clustered_reason=untold,
        interval_reason=None if rate is None else rate.reason,
        reason=_untestable(found, setting) if rate is None else None,
        warnings=() if rate is None else tuple(caveats(found, rate, own, (tango, clustered), setting.cluster_name)),
    )


def _decided(
    found: Advantage, epsilon: float, setting: Setting
) -> tuple[Decisions, Decisions | None, Decisions | None]:
    """Return the decisions of the t-test, of Tango's test and of the cluster-robust test."""
    tally, multiplicative = found.tally.take(found.tested), setting.multiplicative
    own = Decisions.of(t_test(tally, epsilon, multiplicative=multiplicative), setting.q)
    tango = None if multiplicative else Decisions.of(tango_test(tally, epsilon), setting.q)
    if setting.clusters is None:
        return own, tango, None
    robust = clustered_test(found, setting.clusters, epsilon, multiplicative=multiplicative)
    return own, tango, Decisions.of(robust, setting.q)


def _untestable(found: Advantage, setting: Setting) -> str:
    if found.strangers:
        human, candidate = (f"{name!r:.40}" for name in found.strangers)
        return (
            f"not testable: {found.candidate} answered none of the humans' items, which are named as {human} while its "
            f"own are as {candidate}: give both the same ids."
        )
    return (
        f"not testable: no annotator shares {setting.min_instances} instances with {found.candidate} and another human "
        f"(at most {int(found.tally.n.max())}): collect more, or ask for fewer (--min-instances)."
    )


_LEAST_HUMANS = 3


def alt_test(
    panel: Panel,
    *,
    humans: Sequence[str],
    candidates: Sequence[str],
    scores: ScoreLike | Iterable[ScoreLike] | None = None,
    epsilons: float | Iterable[float] = (0.2,),
    multiplicative: bool = False,
    q: float = 0.05,
    min_instances: int = 30,
    panel_description: str = "unknown",
    seed: int = 0,
) -> AltTestReport:
    """Test whether each candidate may stand in for the humans.

    For every human, H0 says that the candidate is worse than the human by epsilon or more at agreeing with the
    remaining humans; omega is the share of humans for whom it is rejected, and a candidate passes with omega >= .5.
    Where the panel was read with a cluster column, a cluster-robust test stands beside the paper's.

    Args:
        panel: the answers.
        humans: names or globs of the human raters, three at least.
        candidates: names or globs of the judges to test; a glob never takes a human.
        scores: `accuracy`, `neg_rmse`, `jaccard`, `macro_jaccard`, `hamming`, or functions (prediction, annotations)
            -> number, of which a larger one is closer; by default accuracy for labels, neg_rmse for numbers and
            jaccard for sets of labels.
        epsilons: from 0 to 1; how much worse a candidate may be, since it is so much cheaper.
        multiplicative: epsilon as a share of the human's advantage probability, not as a difference.
        q: level of the false discovery rate (Benjamini-Yekutieli).
        min_instances: instances an annotator needs to be tested; others still count among the remaining humans.
        panel_description: who the humans were.
        seed: of the redrawn panels that tell whether any candidate could pass.

    Raises:
        UsageError: fewer than three humans, no candidate, or a score, epsilon or q that cannot be used.
        UnknownNameError: no such rater or score.

    """
    steps = _epsilons(epsilons)
    _check(q, min_instances)
    people, judges = panel.roles(humans=humans, candidates=candidates)
    if not judges:
        raise UsageError("there is no candidate: name at least one.")
    ballots = Ballots.of(panel, people)
    _check_humans(len(np.unique(ballots.annotator)))
    setting = Setting(
        annotators=people,
        epsilons=steps,
        multiplicative=multiplicative,
        q=q,
        min_instances=min_instances,
        clusters=panel.clusters,
        cluster_name=panel.cluster_name,
    )
    return _report(
        panel, ballots, judges, setting, scores=scores_of(scores, panel.kind), description=panel_description, seed=seed
    )


def _report(
    panel: Panel,
    ballots: Ballots,
    candidates: Sequence[str],
    setting: Setting,
    *,
    scores: Mapping[str, ScoreLike],
    description: str,
    seed: int,
) -> AltTestReport:
    least = setting.min_instances
    measures = {name: closeness(score, ballots) for name, score in scores.items()}
    found = _advantages(panel, ballots, measures, candidates, least)
    constants = constant_advantages(ballots, measures, min_instances=least)
    by_candidate = [one for of_score in zip(*found.values(), strict=True) for one in of_score]
    tests = tuple(test for one in by_candidate for test in candidate_tests(one, setting))
    pairs = [pair for advantages in found.values() for pair in combinations(advantages, 2)]
    standings = {name: one.standing for name, one in measures.items()}
    scope = Scope(
        kind=panel.kind,
        items=len(panel.items),
        items_with_two_humans=int((ballots.votes > 1).sum()),
        kept={one.candidate: one.kept for one in by_candidate},
        humans=ballots.annotators,
        panel=description,
        cluster=panel.cluster_name,
        clusters=None if panel.clusters is None else len(np.unique(panel.clusters)),
        copies=panel.copied,
        rule=panel.rule,
        raters=turnouts(panel, ballots.annotators, candidates),
        fellows=fellows(ballots, standings, min_instances=least),
        epsilon_fits=epsilon_fits(setting.epsilons, multiplicative=setting.multiplicative),
        multiplicative=setting.multiplicative,
        ceilings=_ceilings(ballots, scores, tests, setting, seed),
    )
    return AltTestReport(
        candidates=tests,
        comparisons=tuple(rho_difference(*pair, min_instances=least, clusters=panel.clusters) for pair in pairs),
        constants=tuple(test for one in constants.values() for test in candidate_tests(one, setting)),
        beside_constants=tuple(
            rho_difference(one, constants[one.score], min_instances=least, clusters=panel.clusters)
            for one in by_candidate
        ),
        scope=scope,
        q=setting.q,
        min_instances=least,
    )


def _check_humans(answering: int) -> None:
    if answering < _LEAST_HUMANS:
        raise UsageError(
            f"the test needs three humans with labels at least, not {answering}: with fewer, measure agreement with "
            "`judgeharness agreement kappa`."
        )


def _epsilons(given: float | Iterable[float]) -> tuple[float, ...]:
    steps = tuple(dict.fromkeys(float(step) for step in (given if isinstance(given, Iterable) else [given])))
    if not steps or not all(0 <= step <= 1 for step in steps):
        wrong = next((step for step in steps if not 0 <= step <= 1), "none")
        raise UsageError(f"an epsilon is a number from 0 to 1, not {wrong}.")
    return steps


def _check(q: float, min_instances: int) -> None:
    if not 0 < q < 1:
        raise UsageError(f"q is a number between 0 and 1, such as 0.05, not {q}.")
    if isinstance(min_instances, bool) or not isinstance(min_instances, int) or min_instances < 1:
        raise UsageError(f"min_instances is a whole number of at least 1, not {min_instances!r}.")


def _advantages(
    panel: Panel, ballots: Ballots, measures: Mapping[str, Closeness], candidates: Sequence[str], min_instances: int
) -> dict[str, list[Advantage]]:
    """Return, by score, the comparisons of every candidate."""
    replies = {name: Replies.of(panel, name) for name in candidates}
    return {
        score: [
            advantage(ballots, measure, replies[name], candidate=name, score=score, min_instances=min_instances)
            for name in candidates
        ]
        for score, measure in measures.items()
    }


def _ceilings(
    ballots: Ballots, scores: Mapping[str, ScoreLike], tests: Sequence[AltTest], setting: Setting, seed: int
) -> tuple[Ceiling, ...]:
    """Return whether any candidate could pass, for every named score and epsilon at which none did."""
    found: list[Ceiling] = []
    for name, score in scores.items():
        if not isinstance(score, str):
            continue  # what the best answer is under somebody's function is not known
        passed = {test.epsilon: False for test in tests if test.score == name and test.passed is not None}
        passed |= {test.epsilon: True for test in tests if test.score == name and test.passed}
        found += ceilings(
            ballots,
            partial(closeness, score),
            score=name,
            epsilons=tuple(epsilon for epsilon, whether in passed.items() if not whether),
            multiplicative=setting.multiplicative,
            q=setting.q,
            min_instances=setting.min_instances,
            seed=seed,
        )
    return tuple(found)
