"""Bradley-Terry with clustered errors: a million matches, and other people's libraries on a tenth of them.

`fit_s`: 100 judges x 10,000 pairs, ratings of judges and pairs with cluster-robust errors, the best of several; it and
`peak_mb` are of a process that does nothing else. At 100 x 1,000 the same matches go to `choix` (spectral iteration;
ratings alone) and to `arena-rank` after a first run that compiles it; ours to theirs is a ratio taken in one process.
Their data are prepared before the clock starts, ours is not.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _measuring import Target, report, spread, wall_s

from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.rating import Rating, rate

JUDGES = 100
MANY, FEW = 10_000, 1_000
REPEATS = 3


def drawn(pairs: int) -> Credits:
    """Draw credits under the Rasch model: abilities and difficulties are standard normal."""
    generator = np.random.default_rng(1)
    logits = generator.standard_normal(JUDGES) - generator.standard_normal((pairs, 1))
    values = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float64)
    return Credits(judges=tuple(map(str, range(JUDGES))), pairs=tuple(map(str, range(pairs))), values=values)


def times(run: Callable[[], object]) -> list[float]:
    """Return the wall seconds of several runs."""
    return [wall_s(run) for _ in range(REPEATS)]


def rated(matrix: Credits) -> Rating:
    """Rate as published, with errors of both gauges, the check of connections included."""
    found = rate(matrix, methods=("bradley-terry",))
    assert found.joint is not None
    assert np.isfinite(found.joint.se).all()  # errors are worked out when they are asked for
    assert np.isfinite(found.joint.se_published).all()
    return found


def fit_alone() -> None:
    """Rate a million matches and print seconds and the peak of this process."""
    matrix = drawn(MANY)
    walls = times(lambda: rated(matrix))
    conditional = wall_s(lambda: rate(matrix, methods=("conditional",)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(*walls, conditional, peak)


def fitted_elsewhere() -> dict[str, Any]:
    """Measure the fit in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--alone"], capture_output=True, text=True, check=True)  # noqa: S603
    *walls, conditional, peak = map(float, done.stdout.split())
    return {
        "matches": JUDGES * MANY,
        "fit_wall_s": spread(walls, 3),
        "fit_s": round(min(walls), 3),
        "conditional_s": round(conditional, 3),
        "peak_mb": round(peak, 1),
    }


def choix_run(matrix: Credits) -> Callable[[], Any]:
    """Return what fits the same matches with choix's spectral iteration; its Newton takes ten times as long."""
    import choix

    pairs, players = np.nonzero(matrix.seen)
    won = matrix.values[pairs, players] == 1
    judge, pair = players.tolist(), (pairs + JUDGES).tolist()
    games = [(one, two) if right else (two, one) for one, two, right in zip(judge, pair, won.tolist(), strict=True)]
    count = JUDGES + len(matrix.pairs)
    return lambda: choix.ilsr_pairwise(count, games, alpha=0.0, max_iter=1000)


def arena_run(matrix: Credits) -> Callable[[], Any]:
    """Return what fits the same matches with arena-rank, ratings and its own errors."""
    import jax.numpy as jnp
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    pairs, players = np.nonzero(matrix.seen)
    ones = jnp.ones(len(pairs))
    data = PairDataset(
        competitors=[*matrix.judges, *(f"pair {name}" for name in matrix.pairs)],
        pairs=jnp.array(np.column_stack([players, JUDGES + pairs])),
        outcomes=jnp.array(matrix.values[pairs, players]),
        counts=ones,
        weights=ones,
        opt_weights=ones,
    )

    def run() -> Any:
        found = BradleyTerry(JUDGES + len(matrix.pairs)).compute_ratings_and_cis(data)
        return np.asarray(found["ratings"]), np.asarray(found["variances"])

    return run


def compared() -> dict[str, Any]:
    """Measure ours and theirs at 100 x 1,000, in this process."""
    matrix = drawn(FEW)
    informative = matrix.of_pairs(~matrix.unanimous)
    ours = min(times(lambda: rated(matrix)))
    choix = min(times(choix_run(informative)))
    run = arena_run(informative)
    run()  # compiles
    arena = min(times(run))
    return {
        "small_matches": JUDGES * FEW,
        "small_s": round(ours, 4),
        "choix_s": round(choix, 3),
        "arena_warm_s": round(arena, 3),
        "ours_to_choix": round(ours / choix, 4),
        "ours_to_arena_warm": round(ours / arena, 4),
    }


def main() -> int:
    """Print the measurements as JSON."""
    if "--alone" in sys.argv:
        fit_alone()
        return 0
    warnings.simplefilter("ignore")  # theirs
    result = {"benchmark": "rank", **fitted_elsewhere(), **compared()}
    targets = [
        Target("fit_s", 5.0),
        Target("peak_mb", 1024.0),
        Target("ours_to_choix", 1.0),
        Target("ours_to_arena_warm", 1.0),
    ]
    return report(result, targets)


if __name__ == "__main__":
    sys.exit(main())
