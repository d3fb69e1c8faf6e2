"""What is asked about a pair, and what is right: criteria, gold and columns. Pure."""

from __future__ import annotations

from typing import Final

from judgeharness_integrations.benchmark.pair import Pair

__all__ = ["FLAWED", "NONE", "SCORE", "SOUND", "TURN", "TYPE", "VERDICT", "attributes_of", "gold_of", "turn_label"]

VERDICT: Final = "verdict"
TURN: Final = "turn"
TYPE: Final = "type"
SCORE: Final = "score"
FLAWED: Final = "flawed"
SOUND: Final = "sound"
NONE: Final = "none"  # the turn and the type of a conversation without a flaw


def turn_label(number: int) -> str:
    """Return the label of a turn, 1-based: turns are names, not numbers to be averaged."""
    return f"turn {number}"


def gold_of(pair: Pair) -> dict[str, str]:
    """Return the right answer about each criterion of a pair."""
    conditions = pair.conditions
    return {VERDICT: conditions.better, TURN: turn_label(conditions.flawed_round), TYPE: conditions.failure_type}


def attributes_of(pair: Pair) -> dict[str, str | float]:
    """Return what is known of a pair: what it was drawn with, and who wrote it."""
    conditions = pair.conditions
    return {
        "domain": conditions.domain,
        "failure_type": conditions.failure_type,
        "behaviour": conditions.behaviour,
        "n_rounds": conditions.n_rounds,
        "flawed_round": conditions.flawed_round,
        "better": conditions.better,
        "generator": pair.generator,
    }
