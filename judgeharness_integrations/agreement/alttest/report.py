"""What an alternative annotator test found, and its JSON (`judgeharness.alttest/1`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeharness_integrations._rendering import Rendered
from judgeharness_integrations.agreement.alttest.scope import Scope
from judgeharness_integrations.agreement.alttest.winningrate import RhoDifference

__all__ = ["AltTest", "AltTestReport", "AnnotatorTest"]


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
