"""Rows of a log, read for what is measured of probabilities: answers beside labels, repeats, and changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.cases import gold_of
from judgeharness_integrations.analysis.aggregation.clusters import CLUSTER, Clusters
from judgeharness_integrations.analysis.aggregation.grouping import by_case
from judgeharness_integrations.analysis.aggregation.probabilities import averaged
from judgeharness_integrations.analysis.calibration.items import read_golds, read_score
from judgeharness_integrations.analysis.probability.forecasts import Forecasts, forecasts
from judgeharness_integrations.analysis.probability.forms import AnswerChange, RetestBand, answer_change, retest_band
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_probe, verdict_text, voting

_NONE: Final = "none"
_NOTHING: Final = "no case has probabilities and a label: label cases that a decision model was asked about."


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The cases of one judge and criterion with probabilities and a label, and how many lack the one or the other."""

    forecasts: Forecasts
    case_ids: tuple[str, ...]
    unlabelled: int
    unanswered: int


def labelled_rows(
    rows: Sequence[VerdictRow], *, labels: Mapping[str, Mapping[str, float]] | None = None, clusters: str = CLUSTER
) -> LabelledRows:
    """Return the labelled cases of one judge and criterion, each with the mean of its probabilities.

    The mean is over orders and wordings, as `averaged` makes it; probes and the retest do not vote.

    Args:
        rows: of one judge and criterion.
        labels: case -> option -> share of the people who chose it; gold labels of the rows for other cases.
        clusters: the column that says which cases belong together.

    Raises:
        UsageError: no case has both, a label is none of the options, or a case has two gold labels.

    """
    rows, soft = voting(rows), labels or {}
    cases = by_case(rows)
    answers = {key: averaged(group) for key, group in cases.items()}
    options = tuple(dict.fromkeys(name for answer in answers.values() for name in answer or ()))
    if not options:
        raise UsageError(_NOTHING)
    golds = {key: gold for key, group in cases.items() if (gold := gold_of(group)) is not None}
    read = _options_of(golds.values(), options)
    given = {key: soft.get(key[1]) or (read[golds[key]] if key in golds else None) for key in cases}
    taken = [(key, answer, label) for key in cases if (answer := answers[key]) and (label := given[key]) is not None]
    if not taken:
        raise UsageError(_NOTHING)
    belongs = Clusters.of_rows(rows, clusters)
    return LabelledRows(
        forecasts=forecasts(
            [answer for _, answer, _ in taken],
            [label for *_, label in taken],
            options=options,
            clusters=[belongs.of(case_id) for (_, case_id), *_ in taken],
        ),
        case_ids=tuple(case_id for (_, case_id), *_ in taken),
        unlabelled=sum(label is None for label in given.values()),
        unanswered=sum(not answer for answer in answers.values()),
    )


def _options_of(golds: Collection[Verdict], options: Sequence[str]) -> dict[Verdict, str]:
    """Return which option each gold label is: `yes` is PASS, 3 the level "3".

    Raises:
        UsageError: a label is none of them.

    """
    levels: dict[Verdict, str] = {score: name for name in options if (score := read_score(name)) is not None}
    names = levels if len(levels) == len(options) else dict[Verdict, str](zip(options, options, strict=True))
    found: dict[Verdict, str] = {}
    for gold, label in read_golds(golds, names).items():
        if label is None or label not in names:
            raise UsageError(
                f"the label {verdict_text(gold)!r:.60} is none of the options {', '.join(options)[:200]}: label the "
                "cases with these."
            )
        found[gold] = names[label]
    return found


def rows_band(rows: Sequence[VerdictRow], *, clusters: str = CLUSTER) -> RetestBand | None:
    """Return how far answers of one judge and criterion move when the very same is asked again.

    Repeats are the repetitions of one perturbation, and `retest` of the unperturbed question. None where nothing was
    asked twice.

    Args:
        rows: of one judge and criterion.
        clusters: the column that says which cases belong together.

    """
    asked = {key: same for key, same in _by_question(rows).items() if len(same) > 1}
    if not asked:
        return None
    belongs = Clusters.of_rows(rows, clusters)
    return retest_band(list(asked.values()), clusters=[belongs.of(case_id) for _, case_id, _ in asked])


def rows_changes(rows: Sequence[VerdictRow], *, clusters: str = CLUSTER) -> dict[str, AnswerChange]:
    """Return perturbation -> how far it moves the answers of one judge and criterion, beyond the retest band.

    The first answer under a perturbation is compared with the first one to the unperturbed question, in cases that have
    both. Probabilities in rows are mapped back already. Probes are not looked at.

    Args:
        rows: of one judge and criterion.
        clusters: the column that says which cases belong together.

    """
    asked, band = _by_question(rows), rows_band(rows, clusters=clusters)
    belongs = Clusters.of_rows(rows, clusters)
    changed: dict[str, list[tuple[str, str]]] = {}
    for run, case_id, perturbation in asked:
        if perturbation != _NONE and (run, case_id, _NONE) in asked:
            changed.setdefault(perturbation, []).append((run, case_id))
    return {
        name: answer_change(
            [asked[(*case, _NONE)][0] for case in cases],
            [asked[(*case, name)][0] for case in cases],
            band=band,
            clusters=[belongs.of(case_id) for _, case_id in cases],
        )
        for name, cases in changed.items()
    }


def _by_question(rows: Sequence[VerdictRow]) -> dict[tuple[str, str, str], list[Mapping[str, float]]]:
    """Return (run, case, perturbation) -> answers in order; the retest asks the unperturbed question again."""
    found: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for row in sorted(rows, key=lambda row: (row.perturbation == RETEST, row.repetition)):
        if row.probabilities is not None and (row.perturbation == RETEST or not is_probe(row.perturbation)):
            name = _NONE if row.perturbation == RETEST else row.perturbation
            found.setdefault((row.run, row.case_id, name), []).append(row.probabilities)
    return found
