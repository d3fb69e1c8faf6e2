"""Which cases of a report are a random sample, as a sequential gate needs one: the whole suite, or a drawn part."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.aggregation.grouping import named_cluster
from judgeharness_integrations.gates.criterioncases import CriterionCases
from judgeharness_integrations.gates.report import About, AskingOrder
from judgeharness_integrations.reporting.runs.report import NOT_DRAWN, RunReport
from judgeharness_integrations.reporting.runs.summarising import clusters_of, summaries
from judgeharness_integrations.sequential.clusters import unequal_clusters
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

if TYPE_CHECKING:
    from judgeharness_integrations.result import HarnessResult

__all__ = ["ABOUT_SUITE", "Sample", "sample_of", "shuffled", "within"]

ABOUT_SUITE: Final = "gate about this suite (--about suite), or ask equally many cases a cluster"
_ASK_AGAIN: Final = "ask with run --until, which knows every case of the suite and asks nothing twice"

_TAKEN_FOR_WHOLE: Final = (
    "nothing here says how many cases were to be asked, nor whether a gate ended it, as the folder of a run does: "
    "these are taken for all of them"
)
_TOLD_AT_ITS_END: Final = (
    "what the run's own gates said stands in its report (leave these gates out); for others ask the cases that are "
    "left, with run and without --until"
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Results in random order with their clusters, and units of the suite; `missing` says why there is no sample.

    `size` is None of gates about a population. `note` says what is taken for granted of the sample.
    """

    results: Sequence[HarnessResult] = ()
    clusters: Sequence[Hashable] = ()
    size: int | None = None
    missing: str = ""
    note: str = ""


def shuffled(names: Sequence[Hashable], *, seed: int) -> list[int]:
    """Return the places of units in a random order: by a digest of the seed and their names.

    A unit keeps its place among others when some are added, and the order knows nothing of any answer. Whoever names
    the units must not know the seed.
    """
    keys = [
        hashlib.blake2b(f"{seed}\0{name!r}".encode(errors=LONE_SURROGATES), digest_size=16).digest() for name in names
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)


def sample_of(cases: CriterionCases, *, about: About, report: RunReport) -> Sample:
    """Return the cases that were asked, if they are a random sample of all.

    Args:
        cases: of a judge and criterion.
        about: the population, or this suite.
        report: theirs; where the run's own gates stopped it, its cases were asked in random order.

    """
    results, own = [*(result for result, _ in cases.pairs), *cases.others], report.gates
    if own is None or not own.stopped:
        found = _whole(results, cases.summary.cases, about)
        found = found if report.of_known_size else replace(found, note=_TAKEN_FOR_WHOLE)
    elif own.order is None:
        found = _of_unknown_order(results, about)
    else:
        found = _drawn(results, own.order, cases.summary.judge, about)
    unequal = unequal_clusters(found.clusters) if about == "population" else ""
    return Sample(missing=f"{unequal}: {ABOUT_SUITE}") if unequal else found


def _whole(results: Sequence[HarnessResult], planned: int, about: About) -> Sample:
    unasked = planned - sum(bool(result.rows) for result in results)
    if unasked:
        return Sample(missing=f"{unasked} of {planned} cases {NOT_DRAWN}: continue the run to its end, or {_ASK_AGAIN}")
    clusters = _clusters(results)
    return Sample(results=results, clusters=clusters, size=len(set(clusters)) if about == "suite" else None)


def _of_unknown_order(results: Sequence[HarnessResult], about: About) -> Sample:
    if about == "suite":
        return Sample(missing=f"how many cases the suite holds was not noted: {_ASK_AGAIN}")
    asked = [result for result in results if result.rows]
    return Sample(results=asked, clusters=_clusters(asked))


def _drawn(results: Sequence[HarnessResult], order: AskingOrder, judge: str, about: About) -> Sample:
    """Return the cases up to the first without an answer: which answer was late may depend on the answer."""
    clusters = _clusters(results)
    if order.clusters < order.cases or any(named_cluster(result.rows) is not None for result in results):
        return Sample(missing=f"which cases the clusters hold that were not asked is not known: {_TOLD_AT_ITS_END}")
    asked = order.asked.get(judge, 0)
    if asked > len(results):
        return Sample(
            missing=f"{asked - len(results)} of the {asked} cases that were asked have no result: {_ASK_AGAIN}"
        )
    drawn = [results[place] for place in shuffled(clusters, seed=order.seed)[:asked]]
    whole = next((place for place, result in enumerate(drawn) if not result.rows), len(drawn))
    looked = drawn[:whole]
    size = order.cases if about == "suite" else None
    return Sample(results=looked, clusters=_clusters(looked), size=size)


def _clusters(results: Sequence[HarnessResult]) -> list[Hashable]:
    pairs: list[Any] = [(result, None) for result in results]
    return clusters_of(pairs)


def within(cases: CriterionCases, case_ids: frozenset[str]) -> CriterionCases | None:
    """Return the part of the cases that was looked at; None where none of them is about the criterion."""
    pairs = tuple(pair for pair in cases.pairs if pair[0].case_id in case_ids)
    others = tuple(result for result in cases.others if result.case_id in case_ids)
    if len(pairs) + len(others) == cases.summary.cases:
        return cases
    found = summaries([*(result for result, _ in pairs), *others])
    summary = next((one for one in found if one.criterion == cases.summary.criterion), None)
    return None if summary is None else replace(cases, pairs=pairs, others=others, summary=summary)
