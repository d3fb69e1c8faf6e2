"""Results of cases -> what each judge and criterion comes to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from judgeharness_integrations.aggregation.grouping import cluster_of
from judgeharness_integrations.aggregation.statistics import pair_disagreement
from judgeharness_integrations.calibration.controls import Controls, controls_of, longer_of
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.certifying.applying import withheld_of
from judgeharness_integrations.design import Design
from judgeharness_integrations.replay.judgefold import JudgeFold
from judgeharness_integrations.replay.report import JudgeReplay
from judgeharness_integrations.reporting.runs.designs import design_key
from judgeharness_integrations.reporting.runs.goldlabels import gold_of
from judgeharness_integrations.reporting.runs.summary import CriterionSummary, FlipRate
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.statistics.clusters import cluster_degrees
from judgeharness_integrations.statistics.means import Estimate, estimate, z_quantile
from judgeharness_integrations.statistics.proportions import wilson_of
from judgeharness_integrations.statistics.tally import clustered_wilson
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["accuracy_of", "careful_interval", "clusters_of", "columns_of", "positive_of", "summaries"]

_UNCHANGED = "none"
_MOST_SHARES = 20
_POSITIVES = (("PASS", frozenset({"PASS", "FAIL"})), ("A", frozenset({"A", "B", "TIE"})))


def summaries(
    results: Iterable[HarnessResult],
    *,
    planned: Mapping[str, int] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> list[CriterionSummary]:
    """Return what each judge and criterion comes to, in order of appearance; designs are never mixed.

    Args:
        results: measurements of cases, by any judges under any designs.
        planned: judge -> cases that were to be asked; those without a result count as not graded, under the judge's
            first design.
        texts: case -> field -> text of what was judged, as far as that is known.

    """
    listed = tuple(results)
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in listed:
        groups.setdefault((result.judge, design_key(result.design)), []).append(result)
    missing = {judge: count - sum(one.judge == judge for one in listed) for judge, count in (planned or {}).items()}
    return [
        summary
        for group in groups.values()
        for summary in _of_judge(group, len(group) + max(missing.pop(group[0].judge, 0), 0), texts or {})
    ]


def positive_of(measured: Sequence[CriterionResult]) -> str | None:
    """Return the label that a pass rate is of: PASS against FAIL, A against B and TIE; None for other verdicts."""
    given = {verdict for one in measured for verdict in _labels(one)}
    return next((positive for positive, labels in _POSITIVES if given and given <= labels), None)


def _labels(measured: CriterionResult) -> Iterator[Verdict]:
    """Yield the labels among samples and decision: scores that a rule turns into PASS or FAIL are none."""
    if not measured.numeric:
        yield from measured.sample_distribution
    if measured.status == "decided" and isinstance(measured.verdict, str):
        yield measured.verdict


def _of_judge(
    results: Sequence[HarnessResult], planned: int, texts: Mapping[str, Mapping[str, str]]
) -> Iterator[CriterionSummary]:
    names = dict.fromkeys(name for result in results for name in result.criteria)
    for replay in _replays(results, names, planned):
        pairs = [
            (result, result.criteria[replay.criterion]) for result in results if replay.criterion in result.criteria
        ]
        controls = _controls(pairs, texts)
        yield replace(_summary(pairs, results[0].design, replay), controls=controls)


def _replays(results: Sequence[HarnessResult], names: Iterable[str], planned: int) -> Iterator[JudgeReplay]:
    first = results[0]
    scales = {name: c.tolerance for one in results for name, c in one.criteria.items() if c.tolerance is not None}
    fold = JudgeFold(
        judge=first.judge,
        rule=first.design.rule,
        criteria=names,
        min_valid=first.design.min_valid,
        tolerance=first.design.tolerance,
        tolerances=scales,
    )
    for result in results:
        if result.rows:
            planned_samples = max(measured.planned for measured in result.criteria.values())
            fold.add(result.rows, planned=planned_samples, withheld=withheld_of(result))
    return fold.finish(planned_cases=planned)


def _summary(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]], design: Design, replay: JudgeReplay
) -> CriterionSummary:
    measured = [one for _, one in pairs]
    decided = Counter(one.verdict for one in measured if one.status == "decided" and one.verdict is not None)
    positive = positive_of(measured)
    missing = [False] * (replay.cases - len(measured))
    compared = [one for one in measured if one.valid > 1 or one.planned <= 1]  # one of several agrees with itself
    clusters = clusters_of(pairs, missing=len(missing))
    outcomes: Counter[str] = Counter()
    for one in measured:
        outcomes.update(one.outcomes)
    return CriterionSummary(
        judge=replay.judge,
        criterion=replay.criterion,
        design=design,
        replay=replay,
        cases=replay.cases,
        verdicts=dict(decided.most_common()),
        positive=positive,
        positive_rate=None
        if positive is None
        else Rate.over([*(one.verdict == positive for one in measured), *missing], clusters),
        coverage=Rate.over([*(one.status == "decided" for one in measured), *missing], clusters),
        abstention=Rate.over([*(one.status == "abstained" for one in measured), *missing], clusters),
        accuracy=accuracy_of(pairs, clusters),
        mean_score=_mean_score(measured, clusters) if replay.kind == "numbers" else None,
        consistency_rate=_mean(one.consistency_rate for one in compared),
        chance_consistency=_mean(one.chance_consistency for one in compared),
        agreement=_mean(one.agreement for one in measured),
        flips=tuple(_flips(measured, clusters)),
        outcomes=dict(outcomes),
        planned=sum(one.planned for one in measured),
        noise=_noise(measured, clusters),
        shares={
            label: rate
            for label, _ in decided.most_common(_MOST_SHARES)
            if not is_number(label)
            and (rate := Rate.over([*(one.verdict == label for one in measured), *missing], clusters)) is not None
        },
        repeated=len(pairs) - len({result.case_id for result, _ in pairs}),
    )


def clusters_of(pairs: Sequence[tuple[HarnessResult, CriterionResult]], *, missing: int = 0) -> list[Hashable]:
    """Return which cluster each case is in (see `cluster_of`), then the missing cases, each in one of its own."""
    found = [cluster_of(result.case_id, result.rows) for result, _ in pairs]
    return [*found, *(("missing", number) for number in range(missing))]


def accuracy_of(pairs: Sequence[tuple[HarnessResult, CriterionResult]], clusters: Sequence[Hashable]) -> Rate | None:
    """Return the share of right decisions, of labels among decided cases with a gold label; scores are never right."""
    labelled = [
        (measured.verdict == gold, cluster)
        for (result, measured), cluster in zip(pairs, clusters, strict=False)
        if measured.status == "decided" and not is_number(measured.verdict)
        if (gold := gold_of(result, measured.criterion)) is not None
        if not is_number(gold)  # a score is neither the right label nor a wrong one
    ]
    return Rate.over([hit for hit, _ in labelled], [cluster for _, cluster in labelled])


def _controls(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]], texts: Mapping[str, Mapping[str, str]]
) -> Controls | None:
    """Return the controls of decided cases with gold; of labels, where decisions are labels."""
    found = [
        (gold, measured.verdict, cluster, longer_of(texts.get(result.case_id, {}), columns_of(result)))
        for (result, measured), cluster in zip(pairs, clusters_of(pairs), strict=True)
        if measured.status == "decided" and measured.verdict is not None
        if (gold := gold_of(result, measured.criterion)) is not None
        if is_number(gold) is is_number(measured.verdict)
    ]
    if not found or len({is_number(gold) for gold, *_ in found}) > 1:
        return None
    golds, verdicts, clusters, longer = zip(*found, strict=True)
    return controls_of(golds, verdicts, clusters, longer=longer)


def columns_of(result: HarnessResult) -> Mapping[str, str | float]:
    """Return what the log says of a case beside verdicts."""
    return result.rows[0].attributes if result.rows else {}


def _mean_score(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> Estimate | None:
    scored = [
        (float(one.verdict), cluster)
        for one, cluster in zip(measured, clusters, strict=False)
        if isinstance(one.verdict, (int, float)) and is_number(one.verdict)
    ]
    if not scored:
        return None
    mean = math.fsum(score for score, _ in scored) / len(scored)
    return estimate(mean, [score - mean for score, _ in scored], [cluster for _, cluster in scored])


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _flips(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> Iterator[FlipRate]:
    rates: dict[str, list[tuple[float, Hashable]]] = {}
    for one, cluster in zip(measured, clusters, strict=False):
        for part in one.perturbations:
            if part.flip_rate is not None:
                rates.setdefault(part.name, []).append((part.flip_rate, cluster))
    for name, found in rates.items():
        yield _mean_flip(name, found)


def _noise(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> FlipRate | None:
    """Return how often two samples of the unchanged case differ, over the cases that have a flip rate."""
    found: list[tuple[float, Hashable]] = []
    for one, cluster in zip(measured, clusters, strict=False):
        if any(part.flip_rate is not None for part in one.perturbations):
            given = next(part.sample_distribution for part in one.perturbations if part.name == _UNCHANGED)
            if (samples := sum(given.values())) > 1:  # of all pairs, those of a sample with itself never differ
                apart = pair_disagreement(given, given, tolerance=one.tolerance) or 0.0
                found.append((apart * samples / (samples - 1), cluster))
    return _mean_flip(_UNCHANGED, found) if found else None


def _mean_flip(name: str, found: Sequence[tuple[float, Hashable]]) -> FlipRate:
    value = math.fsum(rate for rate, _ in found) / len(found)
    low, high = careful_interval(value, [cluster for _, cluster in found])
    return FlipRate(perturbation=name, value=value, low=low, high=high, cases=len(found))


def careful_interval(value: float, clusters: Sequence[Hashable]) -> tuple[float, float]:
    """Return Wilson's interval of a mean of shares as if each were yes or no, which vary most, and clusters copies."""
    sizes = Counter(clusters)
    if len(sizes) == len(clusters):
        return wilson_of(value, len(clusters), z_quantile())
    if len(sizes) == 1:
        return 0.0, 1.0
    degrees = cluster_degrees(sizes.values())
    return clustered_wilson(value, degrees + 1, degrees)
