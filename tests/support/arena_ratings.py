"""Ratings of `arena-rank` in a process of its own: JAX starts threads, which tests that fork cannot have.

Reads JSON from standard input, {"values": pairs x judges, null where a judge was not asked}; writes the ratings of
judges and pairs as a JSON list.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Rate once."""
    import jax.numpy as jnp
    import numpy as np
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    values = np.array(json.load(sys.stdin)["values"], np.float64)
    judges = values.shape[1]
    pairs, players = np.nonzero(~np.isnan(values))
    ones = jnp.ones(len(pairs))
    data = PairDataset(
        competitors=[str(number) for number in range(sum(values.shape))],
        pairs=jnp.array(np.column_stack([players, judges + pairs])),
        outcomes=jnp.array(values[pairs, players]),
        counts=ones,
        weights=ones,
        opt_weights=ones,
    )
    model = BradleyTerry(sum(values.shape), init_rating=1500.0, ftol=1e-14, gtol=1e-12)
    json.dump(np.asarray(model.compute_ratings_and_cis(data)["ratings"]).tolist(), sys.stdout)


if __name__ == "__main__":
    main()
