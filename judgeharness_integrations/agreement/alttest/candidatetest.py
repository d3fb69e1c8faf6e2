"""The tests of one candidate under one score: at every epsilon, against every annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Advantage
from judgeharness_integrations.agreement.alttest.caveats import caveats, untold_by_cluster
from judgeharness_integrations.agreement.alttest.decisions import Decisions, annotator_tests
from judgeharness_integrations.agreement.alttest.hypothesis import clustered_test, t_test, tango_test
from judgeharness_integrations.agreement.alttest.report import AltTest
from judgeharness_integrations.agreement.alttest.winningrate import WinningRate, winning_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Setting", "candidate_tests"]


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
