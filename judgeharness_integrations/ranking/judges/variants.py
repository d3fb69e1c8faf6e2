"""Prompt or model: judges named `model@variant` against their base prompt, for the tokens they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.judges.names import model_and_variant
from judgeharness_integrations.ranking.judges.paireddifference import PairedDifference, paired_difference
from judgeharness_integrations.ranking.judges.pareto import pareto
from judgeharness_integrations.ranking.judges.plainrecord import plain_record
from judgeharness_integrations.statistics.multiplicity import step_up

__all__ = ["Variant", "variants"]

_BASE = "base"
_COMPARED = 2


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One prompt of a model; `variant` is empty for the model's bare name.

    `accuracy`: mean credit over `pairs`. `difference`: accuracy minus that of the base over the `pairs_compared` both
    were asked about, with its 95 % interval and p-value; see `PairedDifference`. `p_adjusted` over all variants
    (Benjamini-Hochberg). `on_front`: no variant of any model is as accurate for fewer tokens; `step`: its place on that
    front, from the fewest tokens. The base itself has no difference.
    """

    judge: str
    model: str
    variant: str
    is_base: bool
    pairs: int
    accuracy: float | None
    elo: float | None
    tokens: float | None
    pairs_compared: int
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    on_front: bool
    step: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the variant as JSON keeps it."""
        return plain_record(self)


def variants(
    matrix: Credits, elo: Mapping[str, float | None], tokens: Mapping[str, float | None]
) -> tuple[Variant, ...]:
    """Return the variants of every model that has several, the base first.

    The base of a model is the judge of its bare name, else `model@base`, else its first judge.

    Args:
        matrix: pairs x judges.
        elo: judge -> Elo, of those that are rated.
        tokens: judge -> mean tokens a pair.

    """
    bases = _bases(matrix.judges)
    chosen = matrix.of_judges(tuple(bases))
    credit = dict(zip(chosen.judges, chosen.values.T, strict=True))
    compared = {
        judge: None if judge == base else paired_difference(credit[judge], credit[base])
        for judge, base in bases.items()
    }
    adjusted = _adjusted(compared)
    accuracy = {judge: _mean(values) for judge, values in credit.items()}
    steps = _steps(accuracy, tokens)
    return tuple(
        Variant(
            judge=judge,
            model=model_and_variant(judge)[0],
            variant=model_and_variant(judge)[1],
            is_base=judge == base,
            pairs=int(np.sum(~np.isnan(credit[judge]))),
            accuracy=accuracy[judge],
            elo=elo.get(judge),
            tokens=tokens.get(judge),
            p_adjusted=adjusted[judge],
            on_front=judge in steps,
            step=steps.get(judge),
            **_of(compared[judge]),
        )
        for judge, base in bases.items()
    )


def _bases(judges: Sequence[str]) -> dict[str, str]:
    """Return judge -> base of its model, model by model, of models with several judges."""
    models: dict[str, list[str]] = {}
    for judge in judges:
        models.setdefault(model_and_variant(judge)[0], []).append(judge)
    bases: dict[str, str] = {}
    for model, mine in models.items():
        if len(mine) < _COMPARED:
            continue
        base = next((name for name in (model, f"{model}@{_BASE}") if name in mine), mine[0])
        bases |= dict.fromkeys([base, *mine], base)
    return bases


def _adjusted(compared: Mapping[str, PairedDifference | None]) -> dict[str, float | None]:
    p = np.array([np.nan if one is None or one.p is None else one.p for one in compared.values()], np.float64)
    values = step_up(p).tolist()
    return {judge: None if np.isnan(value) else value for judge, value in zip(compared, values, strict=True)}


def _mean(values: Floats) -> float | None:
    asked = values[~np.isnan(values)]
    return float(asked.mean()) if len(asked) else None


def _steps(accuracy: Mapping[str, float | None], tokens: Mapping[str, float | None]) -> dict[str, int]:
    points: dict[str, tuple[float, float]] = {}
    for judge, y in accuracy.items():
        x = tokens.get(judge)
        if x is not None and y is not None:
            points[judge] = (x, y)
    front = [point.judge for point in pareto(points) if point.on_front]
    return {judge: step for step, judge in enumerate(front)}


def _of(found: PairedDifference | None) -> dict[str, Any]:
    return {
        "pairs_compared": 0 if found is None else found.n,
        "difference": None if found is None else found.mean,
        "ci95": None if found is None else found.ci95,
        "p": None if found is None else found.p,
    }
