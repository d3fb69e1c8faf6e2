"""What stands beside the properties: how consistent a judge is, and how often it is right."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations.analysis.calibration.controls import Controls, controls_of, label_controls, longer_of
from judgeharness_integrations.analysis.checking.properties.samples import Samples, percent
from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson
from judgeharness_integrations.verdictlog.row import VerdictRow, is_number, verdict_text

_CONSISTENT: Final = 0.6
_COIN: Final = 0.5
_AS_IT_IS: Final = frozenset({"none", "position_swap"})


def facts_of(samples: Samples, *, longer: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Return what is known of a criterion, None what is not.

    `consistency` is the share of cases with the same verdict in both orders, or the agreement of repetitions
    (`consistency_of` says which); `right_of_labelled` is the share of right samples, those that failed being wrong, of
    the cases as they are in either order, its mean over the cases with a gold label. `controls` are judges that read
    nothing, on the same cases and samples; of scores, on the mean score of each case.

    Args:
        samples: of one criterion.
        longer: case -> the longer of its two answers, A or B; by columns of the log without.

    """
    orders, repeated = list(_orders(samples)), list(_repeated(samples))
    same = orders or repeated
    labelled = _labelled(samples)
    right = [_share(samples, rows) for rows in labelled.values()]
    controls = _controls(samples, labelled, longer)
    return {
        "criterion": samples.criterion,
        "consistency": sum(same) / len(same) if same else None,
        "consistency_of": "orders" if orders else "repetitions" if repeated else None,
        "consistency_cases": len(same),
        "right_of_labelled": sum(right) / len(right) if right else None,
        "right_of_labelled_interval": clopper_pearson(sum(right), len(right)) if right else None,
        "labelled_cases": len(right),
        "controls": controls,
    }


def consistent_but_wrong(fact: Mapping[str, Any]) -> str | None:
    """Return the warning that consistent is not right, for a judge that is clearly wrong more often than not."""
    interval, consistency = fact["right_of_labelled_interval"], fact["consistency"]
    if interval is None or consistency is None or consistency <= _CONSISTENT or interval[1] >= _COIN:
        return None
    again = f"{percent(consistency)} of {fact['consistency_cases']} cases get the same verdict again"
    right = f"{percent(fact['right_of_labelled'])} of {fact['labelled_cases']} agree with gold"
    return f"{fact['criterion']}: {again}, but {right}: consistent is not right"


def _orders(samples: Samples) -> Iterator[float]:
    """Yield the share of pairs with the same verdict of each case; a failed sample is equal to nothing."""
    cases: dict[str, tuple[list[VerdictRow], list[VerdictRow]]] = {}
    for row in samples.rows:
        if row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, ([], []))[row.swapped].append(row)
    for shown, swapped in cases.values():
        if shown and swapped:
            yield _agreeing(samples, [(first, second) for first in shown for second in swapped])


def _repeated(samples: Samples) -> Iterator[float]:
    for rows in samples.unchanged.values():
        if len(rows) > 1:
            yield _agreeing(samples, [(one, other) for place, one in enumerate(rows) for other in rows[:place]])


def _agreeing(samples: Samples, pairs: Sequence[tuple[VerdictRow, VerdictRow]]) -> float:
    return sum(one.ok and not samples.differ(one.verdict, other.verdict) for one, other in pairs) / len(pairs)


def _labelled(samples: Samples) -> dict[str, list[VerdictRow]]:
    """Return case -> its samples with a gold label, of the cases as they are."""
    cases: dict[str, list[VerdictRow]] = {}
    for row in samples.rows:
        if row.gold is not None and row.perturbation in _AS_IT_IS:
            cases.setdefault(row.case_id, []).append(row)
    return cases


def _share(samples: Samples, rows: Sequence[VerdictRow]) -> float:
    return sum(row.ok and not samples.differ(row.verdict, row.gold) for row in rows) / len(rows)


def _controls(
    samples: Samples, labelled: Mapping[str, Sequence[VerdictRow]], longer: Mapping[str, str | None] | None
) -> Controls | None:
    if samples.kind == "scores":
        means = [
            (rows[0].gold, statistics.fmean(scores))
            for rows in labelled.values()
            if is_number(rows[0].gold)
            if (scores := [row.verdict for row in rows if isinstance(row.verdict, (int, float))])
        ]
        golds, decided = zip(*means, strict=True) if means else ((), ())
        return controls_of(golds, decided, range(len(means)))
    listed = [rows for rows in labelled.values() if not is_number(rows[0].gold)]
    named = [verdict_text(rows[0].gold) for rows in listed]
    said = {verdict_text(row.verdict) for rows in listed for row in rows if row.verdict is not None}
    return label_controls(
        named,
        [_share(samples, rows) for rows in listed],
        range(len(listed)),
        labels=frozenset({*named, *said}),
        longer=[
            longer_of({}, rows[0].attributes) if longer is None else longer.get(rows[0].case_id) for rows in listed
        ],
        first=[sum(row.gold == "AB"[row.swapped] for row in rows) / len(rows) for rows in listed],
        of="labelled",
    )


def not_better_than_a_control(fact: Mapping[str, Any]) -> str | None:
    """Return that a judge is not shown to be better than one that reads nothing; None where it is, and without gold."""
    controls: Controls | None = fact["controls"]
    return None if controls is None or controls.beaten else f"{fact['criterion']}: {controls.sentence}"
