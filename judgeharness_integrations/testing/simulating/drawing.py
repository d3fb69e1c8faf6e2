"""Chance by name: what is drawn for a call depends on what it is about, not on when it is asked."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Keys = NDArray[np.uint64]
    Floats = NDArray[np.float64]

__all__ = ["joined", "key", "normals", "part_key", "uniforms"]

_BITS = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def key(*parts: object) -> int:
    """Return 64 bits that stand for these parts."""
    return int.from_bytes(
        blake2b("\x1f".join(map(str, parts)).encode(errors="surrogatepass"), digest_size=8).digest(), "big"
    )


@lru_cache(maxsize=4096)
def part_key(part: str) -> int:
    """Return 64 bits that stand for a part of many keys."""
    return key(part)


def joined(first: int, second: int) -> int:
    """Return 64 bits that stand for both."""
    return (first + second) & _BITS


def uniforms(keys: Keys, counter: NDArray[np.uint64] | int = 0) -> Floats:
    """Return a number in (0, 1) for each key (n,) and counter: the finaliser of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mixed = keys + (np.asarray(counter, dtype=np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
        mixed ^= mixed >> np.uint64(31)
    drawn: Floats = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return drawn


def normals(keys: Keys, counter: NDArray[np.uint64] | int = 0) -> Floats:
    """Return a standard normal number for each key (n,) and counter."""
    from scipy.special import ndtri  # noqa: PLC0415 - takes a quarter of a second

    drawn: Floats = ndtri(uniforms(keys, counter))
    return drawn
