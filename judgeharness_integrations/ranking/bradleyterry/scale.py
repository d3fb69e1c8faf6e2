"""Logits as Elo points."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import special

from judgeharness_integrations.ranking.arrays import Floats

__all__ = ["ELO_MEAN", "ELO_POINTS", "published_elo"]

ELO_MEAN: Final = 1500.0
ELO_POINTS: Final = 400 / math.log(10)  # of a logit


def published_elo(strengths: Floats) -> Floats:
    """Return Elo with the mean strength of all players at 1: 400 log10(p) + 1500, of log-strengths (players,)."""
    centre = np.asarray(special.logsumexp(strengths)) - math.log(len(strengths))
    return np.asarray(ELO_MEAN + ELO_POINTS * (strengths - centre), np.float64)
