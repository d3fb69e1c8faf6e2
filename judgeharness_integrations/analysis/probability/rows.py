"""Rows of a log, read for what is measured of probabilities: answers beside labels, repeats, and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.cases import gold_of
from judgeharness_integrations.analysis.aggregation.clusters import CLUSTER, Clusters
from judgeharness_integrations.analysis.aggregation.grouping import by_case
from judgeharness_integrations.analysis.aggregation.probabilities import averaged
from judgeharness_integrations.analysis.calibration.items import read_golds, read_score
from judgeharness_integrations.analysis.probability.forecasts import Forecasts, labelled_answers
from judgeharness_integrations.analysis.probability.forms import AnswerChange, RetestBand, answer_change, retest_band
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_probe, verdict_text, voting

_NONE: Final = "none"
_Place: TypeAlias = tuple[str, str]  # run and case


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The cases of one judge and criterion with probabilities and a label, and how many lack the one or the other."""

    forecasts: Forecasts
    places: tuple[_Place, ...]
    unlabelled: int
    unanswered: int


def mean_answers(
    rows: Sequence[VerdictRow], *, votes: Collection[str] | None = None
) -> dict[_Place, dict[str, float] | None]:
    """Return (run, case) -> the mean of its probabilities over orders and wordings; see `averaged`.

    Args:
        rows: of one judge and criterion; those of probes and of the retest do not vote.
        votes: the perturbations that do; all others when None.

    """
    cases = by_case(voting(rows))
    return {
        place: averaged(row for row in group if votes is None or row.perturbation in votes)
        for place, group in cases.items()
    }


def labelled_rows(
    rows: Sequence[VerdictRow],
    *,
    votes: Collection[str] | None = None,
    labels: Mapping[str, Mapping[str, float]] | None = None,
    clusters: str = CLUSTER,
) -> LabelledRows | None:
    """Return the labelled cases of one judge and criterion, each with the mean of its probabilities; None without any.

    Args:
        rows: of one judge and criterion.
        votes: see `mean_answers`.
        labels: case -> option -> share of the people who chose it; gold labels of the rows for other cases.
        clusters: the column that says which cases belong together.

    Raises:
        UsageError: a label is none of the options, or a case has two gold labels.

    """
    soft, answers = labels or {}, mean_answers(rows, votes=votes)
    options = tuple(dict.fromkeys(name for answer in answers.values() for name in answer or ()))
    golds = {place: gold_of(group) for place, group in by_case(rows).items() if place[1] not in soft}
    read = _options_of({gold for gold in golds.values() if gold is not None}, options) if options else {}
    said = {place: read.get(gold) for place, gold in golds.items() if gold is not None}
    given = {place: soft.get(place[1]) or said.get(place) for place in answers}
    taken = {place: (answer, label) for place, answer in answers.items() if answer and (label := given[place])}
    if not taken:
        return None
    belongs = Clusters.of_rows(rows, clusters)
    return LabelledRows(
        forecasts=labelled_answers(
            [answer for answer, _ in taken.values()],
            [label for _, label in taken.values()],
            options=options,
            clusters=[belongs.of(case_id) for _, case_id in taken],
        ),
        places=tuple(taken),
        unlabelled=sum(label is None for label in given.values()),
        unanswered=sum(not answer for answer in answers.values()),
    )


def _options_of(golds: Iterable[Verdict], options: Sequence[str]) -> dict[Verdict, str]:
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
