"""Which hypotheses are rejected, and the tests of every annotator side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Advantage
from judgeharness_integrations.agreement.alttest.hypothesis import Tested, benjamini_yekutieli
from judgeharness_integrations.agreement.alttest.report import AnnotatorTest

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Decisions", "annotator_tests"]


@dataclass(frozen=True, eq=False)
class Decisions:
    """A test of all tested annotators with its step-up decisions and adjusted p-values (NaN where undefined).

    The step-up is over those the test counts.
    """

    tested: Tested
    rejected: NDArray[np.bool_]
    adjusted: NDArray[np.float64]

    @classmethod
    def of(cls, tested: Tested, q: float) -> Decisions:
        """Decide at level q."""
        rejected, adjusted = np.zeros(len(tested.p), bool), np.full(len(tested.p), np.nan)
        rejected[tested.counted], adjusted[tested.counted] = benjamini_yekutieli(tested.p[tested.counted], q)
        return cls(tested, rejected, adjusted)

    @property
    def omega(self) -> float | None:
        """The share of rejections, None when nobody is tested."""
        counted = self.tested.counted
        return float(self.rejected[counted].mean()) if counted.any() else None


def _defined(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def annotator_tests(
    found: Advantage, names: Sequence[str], own: Decisions, tango: Decisions | None, clustered: Decisions | None
) -> tuple[AnnotatorTest, ...]:
    """Return the tests of every tested annotator; None stands for those that do not apply."""
    tally = found.tally.take(found.tested)
    columns = {
        "annotator": [names[place] for place in found.tested.tolist()],
        "n": tally.n.tolist(),
        "rho_f": ((tally.tie + tally.candidate) / tally.n).tolist(),
        "rho_h": ((tally.tie + tally.human) / tally.n).tolist(),
        "n_candidate_win": tally.candidate.tolist(),
        "n_tie": tally.tie.tolist(),
        "n_human_win": tally.human.tolist(),
        "t": _defined(own.tested.statistic),
        "p": _defined(own.tested.p),
        "p_adjusted": _defined(own.adjusted),
        "rejected": own.rejected.tolist(),
        **_beside("tango", tango, len(found.tested)),
        **_beside("clustered", clustered, len(found.tested)),
    }
    columns |= {"clustered_t": columns.pop("clustered_statistic"), **_clusters(clustered, len(found.tested))}
    del columns["tango_statistic"]
    return tuple(AnnotatorTest(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def _beside(name: str, decisions: Decisions | None, m: int) -> dict[str, list[float | bool | None]]:
    """Return the columns of a test beside the t-test."""
    if decisions is None:
        return {f"{name}_{part}": [None] * m for part in ("statistic", "p", "p_adjusted", "rejected")}
    tested = decisions.tested
    decided = zip(decisions.rejected.tolist(), tested.counted.tolist(), strict=True)
    return {
        f"{name}_statistic": _defined(tested.statistic),
        f"{name}_p": _defined(tested.p),
        f"{name}_p_adjusted": _defined(decisions.adjusted),
        f"{name}_rejected": [rejected if counted else None for rejected, counted in decided],
    }


def _clusters(decisions: Decisions | None, m: int) -> dict[str, list[float | None]]:
    """Return how many clusters each annotator has."""
    tested = None if decisions is None else decisions.tested
    if tested is None or tested.clusters is None or tested.effective is None:
        return {"clusters": [None] * m, "effective_clusters": [None] * m}
    return {"clusters": tested.clusters.tolist(), "effective_clusters": tested.effective.tolist()}
