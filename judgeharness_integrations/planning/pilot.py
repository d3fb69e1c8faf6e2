"""A pilot: what an existing log says about variances, agreement and cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.copies import copied_cases
from judgeharness_integrations.aggregation.grouping import by_case, cluster_of, is_numeric
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.statistics import agreement
from judgeharness_integrations.aggregation.variance import VarianceSplit, variance_split
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.shifts import Shift, shifts_of
from judgeharness_integrations.planning.truths import ClusterSizes
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, voting

__all__ = ["Pilot", "pilot_of"]

_USUAL = ("PASS", "A")
_PAIR = 2
_MOST_OTHERS = 3
_ONE_CLUSTER = (
    "all cases of the pilot are one cluster: how alike those of another one are is not known, and they count as quite "
    "alike, so that no number of cases does: give a pilot of several clusters"
)


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """One judge and criterion of a log.

    `mean` is the mean over cases: of the score, or the share of `positive` (None for scores). `labels` is how many
    labels occur. `agreement` is the mean share of agreeing pairs of samples within a case. `failed` samples hold no
    verdict and count for nothing here. `tokens_per_call` is None where the log does not tell tokens. `shifts` are the
    perturbations that move the mean; what they move it by is no part of `components`, unless they exchange two answers.
    `others` are the labels that are not positive, each with its share of them. `clusters` is None where every case
    stands for itself (row attribute `cluster`).
    """

    judge: str
    criterion: str
    cases: int
    perturbations: int
    repetitions: int
    samples: int
    failed: int
    mean: float
    positive: str | None
    labels: int | None
    agreement: float | None
    components: Components
    tokens_per_call: float | None
    shifts: tuple[Shift, ...] = ()
    others: Mapping[str, float] = field(default_factory=dict)
    clusters: ClusterSizes | None = None


def pilot_of(rows: Sequence[VerdictRow], *, pass_at: Fraction | None = None) -> Pilot:
    """Return what the rows of one judge and criterion say.

    Args:
        rows: of one judge and criterion.
        pass_at: scores from it on count as PASS, others as FAIL.

    Raises:
        UsageError: they hold fewer than two cases with a verdict, or labels and numbers, or cases were stopped early.

    """
    rows = voting(rows)
    if samples_planned(rows):
        raise UsageError(
            "the pilot stopped asking early (curtail), and samples of no fixed size say nothing of variances: "
            "give one that was asked to the end."
        )
    if pass_at is not None and is_numeric(rows):
        rows = [replace(row, verdict=_grade(row.verdict, pass_at)) for row in rows]
    numeric = is_numeric(rows)
    answered = [replace(row, run="") for row in rows if row.ok]  # a case that was asked in several runs is one case
    groups = list(by_case(answered).values())
    if len(groups) < _PAIR:
        raise UsageError("a pilot needs at least two cases with a verdict: the variance between cases is most of it.")
    counts = _counts(answered)
    positive = None if numeric else _positive(counts)
    means = [_mean(_value(row, positive) for row in group) for group in groups]
    shifts = shifts_of(_by_perturbation(groups, positive), swaps={row.perturbation for row in answered if row.swapped})
    components, clusters = _components(_levelled(answered, positive, shifts), shifts), _clusters(groups, means)
    if clusters is not None and clusters.count == 1:
        components = replace(components, notes=(*components.notes, _ONE_CLUSTER))
    components = replace(components, notes=(*components.notes, *copied_cases(rows)))
    agreements = [agreement(_counts(group)) for group in groups]
    known = [value for value in agreements if value is not None]
    return Pilot(
        judge=rows[0].judge,
        criterion=rows[0].criterion,
        cases=len(groups),
        perturbations=max(len({row.perturbation for row in group}) for group in groups),
        repetitions=max(max(Counter(row.perturbation for row in group).values()) for group in groups),
        samples=len(answered),
        failed=len(rows) - len(answered),
        mean=_mean(means),
        positive=None if positive is None else verdict_text(positive),
        labels=None if numeric else len(counts),
        agreement=_mean(known) if known else None,
        components=components,
        tokens_per_call=_tokens(rows),
        shifts=shifts,
        others={} if positive is None else _others(counts, positive),
        clusters=clusters,
    )


def _grade(verdict: Verdict | None, pass_at: Fraction) -> Verdict | None:
    if verdict is None:
        return None
    return "PASS" if Fraction(verdict) >= pass_at else "FAIL"  # type: ignore[arg-type]  # a number


def _others(counts: Counter[Verdict], positive: Verdict) -> dict[str, float]:
    """Return the other labels by their share of what is not positive, the most frequent ones; the rest are the last."""
    ranked = sorted(
        ((verdict_text(label), count) for label, count in counts.items() if label != positive),
        key=lambda entry: (-entry[1], entry[0]),
    )
    total = sum(count for _, count in ranked)
    kept = {name: count / total for name, count in ranked[:_MOST_OTHERS]}
    if len(ranked) > _MOST_OTHERS:
        kept[ranked[_MOST_OTHERS - 1][0]] += sum(count for _, count in ranked[_MOST_OTHERS:]) / total
    return kept


def _clusters(groups: Sequence[Sequence[VerdictRow]], means: Sequence[float]) -> ClusterSizes | None:
    """Return the clusters of cases, and by one-way ANOVA how alike their means are; None without any shared one."""
    members: dict[object, list[float]] = {}
    for group, mean in zip(groups, means, strict=True):
        members.setdefault(cluster_of(group[0].case_id, group), []).append(mean)
    sizes, cases = [len(values) for values in members.values()], len(means)
    count = len(sizes)
    if count == cases:
        return None
    squares = sum(size * size for size in sizes)
    if count == 1:
        return ClusterSizes(count=1, size=float(cases), correlation=1.0)
    center = _mean(means)
    own = [_mean(values) for values in members.values()]
    between = sum(size * (mean - center) ** 2 for size, mean in zip(sizes, own, strict=True)) / (count - 1)
    inside = sum((value - mean) ** 2 for mean, values in zip(own, members.values(), strict=True) for value in values)
    inside /= cases - count
    usual = (cases - squares / cases) / (count - 1)
    spread = between + (usual - 1) * inside
    alike = (between - inside) / spread if spread else 1.0
    return ClusterSizes(count=count, size=squares / cases, correlation=min(1.0, max(0.0, alike)))


def _counts(rows: Iterable[VerdictRow]) -> Counter[Verdict]:
    return Counter(row.verdict for row in rows if row.verdict is not None)


def _positive(counts: Counter[Verdict]) -> Verdict:
    """Return PASS or A where they occur, else the most frequent label, the first of equals by name."""
    usual = [label for label in _USUAL if label in counts]
    return usual[0] if usual else min(counts, key=lambda label: (-counts[label], verdict_text(label)))


def _value(row: VerdictRow, positive: Verdict | None) -> float:
    return float(row.verdict) if positive is None else float(row.verdict == positive)  # type: ignore[arg-type]


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return math.fsum(values) / len(values)


def _by_perturbation(groups: Iterable[Sequence[VerdictRow]], positive: Verdict | None) -> dict[str, dict[str, float]]:
    """Return case -> perturbation -> mean."""
    means: dict[str, dict[str, float]] = {}
    for group in groups:
        values: dict[str, list[float]] = {}
        for row in group:
            values.setdefault(row.perturbation, []).append(_value(row, positive))
        means[group[0].case_id] = {name: _mean(said) for name, said in values.items()}
    return means


def _levelled(rows: Iterable[VerdictRow], positive: Verdict | None, shifts: Iterable[Shift]) -> list[VerdictRow]:
    """Return the rows with their values as verdicts, without what a perturbation moves all of them by."""
    moved = {one.perturbation: one.shifted - one.mean for one in shifts if not one.swap}
    return [replace(row, verdict=_value(row, positive) - moved.get(row.perturbation, 0.0)) for row in rows]


def _components(rows: Sequence[VerdictRow], shifts: Iterable[Shift]) -> Components:
    """Return the variance split; what cannot be told apart goes where repetitions do not help, which is cautious."""
    names = ", ".join(one.perturbation for one in shifts if not one.swap)
    notes = (f"what {names} moves the mean by is taken out of these variances",) if names else ()
    split = variance_split(rows)
    if split.between_cases is not None:
        return _of_split(split, notes)
    merged = variance_split([replace(row, perturbation="") for row in rows])
    if merged.between_cases is not None:
        note = "every perturbation was asked once: its variance cannot be told from that of repetitions, and holds both"
        return Components(
            cases=merged.between_cases,
            perturbations=merged.between_repetitions,
            repetitions=None,
            notes=(*notes, note),
        )
    # one sample a case: no more than the whole variance is known
    values = [_value(row, None) for row in rows]
    center = _mean(values)
    spread = math.fsum((value - center) ** 2 for value in values) / (len(values) - 1)
    note = "every case was asked once: all variance is counted as that between cases"
    return Components(cases=spread, perturbations=None, repetitions=None, notes=(note,))


def _of_split(split: VarianceSplit, told: Iterable[str]) -> Components:
    notes = [*told] + [f"the variance between {name} came out negative and counts as 0" for name in split.clipped]
    if not any((split.between_cases, split.between_perturbations, split.between_repetitions)):
        notes.append("every sample of the pilot says the same: it shows no variance at all")
    if split.between_perturbations is None:
        notes.append("the pilot has one perturbation a case: that more of them differ is not in these numbers")
    return Components(
        cases=split.between_cases or 0.0,
        perturbations=split.between_perturbations,
        repetitions=split.between_repetitions,
        notes=tuple(notes),
    )


def _tokens(rows: Sequence[VerdictRow]) -> float | None:
    """Return the mean tokens of the calls that tell them; they stand on a call's first row."""
    told = [
        (row.input_tokens or 0) + (row.output_tokens or 0)
        for row in rows
        if row.input_tokens is not None or row.output_tokens is not None
    ]
    return _mean(told) if told else None
