"""Credits of judges on pairs, drawn from the Rasch model or given as nested lists; and golden values."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from scipy import special

from judgeharness_integrations.analysis.ranking.correctness import Credits

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parents[1] / "data"


def credits_from(values: Any) -> Credits:
    """Credits of pairs x judges; None or NaN where a judge was not asked. Judges are j0, j1 ..., pairs p0, p1 ..."""
    table = np.array([[np.nan if cell is None else cell for cell in row] for row in values], np.float64)
    return Credits(
        judges=tuple(f"j{place}" for place in range(table.shape[1])),
        pairs=tuple(f"p{place}" for place in range(len(table))),
        values=table,
    )


def rasch_credits(
    generator: np.random.Generator, ability: Any, pairs: int, missing: float = 0.0, ties: float = 0.0
) -> Credits:
    """Draw credits under the Rasch model: difficulties are standard normal, some cells missing, some of them ties."""
    ability = np.asarray(ability, np.float64)
    chance = special.expit(ability - generator.standard_normal((pairs, 1)))
    values = (generator.random(chance.shape) < chance).astype(np.float64)
    values[generator.random(chance.shape) < ties] = 0.5
    values[generator.random(chance.shape) < missing] = np.nan
    return credits_from(values)


@st.composite
def small_credits(
    draw: st.DrawFn, *, cells: Sequence[float | None] = (0.0, 1.0), judges: int = 5, pairs: int = 8
) -> Credits:
    """Small credits of any cells, at least two judges and two pairs."""
    width = draw(st.integers(2, judges))
    row = st.lists(st.sampled_from(cells), min_size=width, max_size=width)
    return credits_from(draw(st.lists(row, min_size=2, max_size=pairs)))


@st.composite
def rateable_credits(draw: st.DrawFn, *, cells: Sequence[float | None], judges: int = 5, pairs: int = 6) -> Credits:
    """Small credits without unanimous pairs in which each judge beats the next, and the last the first."""
    width = draw(st.integers(2, judges))
    row = st.lists(st.sampled_from(cells), min_size=width, max_size=width)
    rows = draw(st.lists(row, max_size=pairs))
    for judge in range(width):
        rows.append(draw(row))
        rows[-1][judge], rows[-1][(judge + 1) % width] = 1.0, 0.0
    matrix = credits_from(draw(st.permutations(rows)))
    return matrix.of_pairs(~matrix.unanimous)


@cache
def golden(name: str) -> Any:
    """Golden values of `tests/data/golden`."""
    return json.loads((DATA / "golden" / f"{name}.json").read_text())
