"""Which pairs a judge is asked about: a seeded uniform subset that stays as it is when others join."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from judgeharness_integrations._errors import UsageError

__all__ = ["chosen_pairs", "drawn_order"]


def drawn_order(names: Iterable[str], *, key: str) -> list[str]:
    """Return the names in an order drawn for the key: that of two names does not depend on which others there are."""

    def drawn(name: str) -> tuple[bytes, str]:
        return hashlib.blake2b(f"{key}|{name}".encode(errors="surrogatepass"), digest_size=16).digest(), name

    return sorted(names, key=drawn)


def chosen_pairs(pair_ids: Sequence[str], *, judge: str, fraction: float, seed: int) -> list[str]:
    """Return the pairs a judge is asked about, in the order given: a fraction of them, at least one.

    Each judge has a subset of its own, drawn uniformly, so that together they cover more pairs. It is the beginning of
    one drawn order: a larger fraction only adds pairs, and other judges change nothing.

    Raises:
        UsageError: the fraction is not above 0 and at most 1.

    """
    if not 0 < fraction <= 1:
        raise UsageError(f"a fraction is above 0 and at most 1, not {fraction:g}.")
    count = max(1, round(fraction * len(pair_ids)))
    kept = set(drawn_order(pair_ids, key=f"cells|{seed}|{judge}")[:count])
    return [pair_id for pair_id in pair_ids if pair_id in kept]
