"""The alternative annotator test: may a judge stand in for human annotators?

Calderon, Reichart, Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.agreement.alttest.advantage import Advantage, advantage
from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies
from judgeharness_integrations.agreement.alttest.candidatetest import Setting, candidate_tests
from judgeharness_integrations.agreement.alttest.ceiling import Ceiling, ceilings
from judgeharness_integrations.agreement.alttest.closeness import Closeness
from judgeharness_integrations.agreement.alttest.constant import constant_advantages
from judgeharness_integrations.agreement.alttest.fellows import fellows
from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport
from judgeharness_integrations.agreement.alttest.scope import Scope, epsilon_fits, turnouts
from judgeharness_integrations.agreement.alttest.scores import ScoreLike, closeness, scores_of
from judgeharness_integrations.agreement.alttest.winningrate import rho_difference
from judgeharness_integrations.agreement.panels.panel import Panel

__all__ = ["AltTest", "AltTestReport", "alt_test"]

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
