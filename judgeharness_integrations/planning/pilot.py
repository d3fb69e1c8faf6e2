"""A pilot: what an existing log says about variances, agreement and cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_case, is_numeric
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.statistics import agreement
from judgeharness_integrations.aggregation.variance import VarianceSplit, variance_split
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.shifts import Shift, shifts_of
from judgeharness_integrations.verdictlog.probenames import voting
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["Pilot", "pilot_of"]

_USUAL = ("PASS", "A")
_PAIR = 2


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """One judge and criterion of a log.

    `mean` is the mean over cases: of the score, or the share of `positive` (None for scores). `labels` is how many
    labels occur. `agreement` is the mean share of agreeing pairs of samples within a case. `failed` samples hold no
    verdict and count for nothing here. `tokens_per_call` is None where the log does not tell tokens. `shifts` are the
    perturbations that move the mean; what they move it by is no part of `components`, unless they exchange two answers.
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


def pilot_of(rows: Sequence[VerdictRow]) -> Pilot:
    """Return what the rows of one judge and criterion say.

    Raises:
        UsageError: they hold fewer than two cases with a verdict, or labels and numbers, or cases were stopped early.

    """
    rows = voting(rows)
    if samples_planned(rows):
        raise UsageError(
            "the pilot stopped asking early (curtail), and samples of no fixed size say nothing of variances: "
            "give one that was asked to the end."
        )
    numeric = is_numeric(rows)
    answered = [replace(row, run="") for row in rows if row.ok]  # a case that was asked in several runs is one case
    groups = list(by_case(answered).values())
    if len(groups) < _PAIR:
        raise UsageError("a pilot needs at least two cases with a verdict: the variance between cases is most of it.")
    counts = _counts(answered)
    positive = None if numeric else _positive(counts)
    means = [_mean(_value(row, positive) for row in group) for group in groups]
    shifts = shifts_of(_by_perturbation(groups, positive), swaps={row.perturbation for row in answered if row.swapped})
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
        components=_components(_levelled(answered, positive, shifts), shifts),
        tokens_per_call=_tokens(rows),
        shifts=shifts,
    )


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
