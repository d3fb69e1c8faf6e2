"""Pairs of answers for the kill tests, and what their judge says of them: both follow from names alone."""

from __future__ import annotations

from hashlib import blake2b

from judgeharness_integrations import PairwiseCase

__all__ = ["Slot", "canonical_verdict", "pairs", "shown_verdict"]

Slot = tuple[str, str, int]  # case id, perturbation, repetition: what a request names

_SWAPPED = {"A": "B", "B": "A", "TIE": "TIE"}


def pairs(name: str, count: int) -> list[PairwiseCase]:
    """Return cases whose ids and texts begin with a name."""
    return [
        PairwiseCase(
            case_id=f"{name}.{n}",
            input=f"Question {n} of {name}?",
            output=f"First answer {n} of {name}.",
            output_b=f"Second answer {n} of {name}.",
        )
        for n in range(count)
    ]


def canonical_verdict(slot: Slot) -> str:
    """Return the verdict a row of this probe must hold.

    Of eight cases two are mostly A, two mostly B, two mostly a tie, one depends on the order shown and one on chance:
    every kind of decision occurs.
    """
    case_id, perturbation, _ = slot
    kind = _number(case_id) % 8
    noise = _number("/".join(map(str, slot)))
    if kind == 7 or noise % 6 == 0:
        return ("A", "B", "TIE")[noise // 6 % 3]
    if kind == 6:
        return "B" if perturbation == "position_swap" else "A"
    return ("A", "B", "TIE")[kind // 2]


def shown_verdict(slot: Slot) -> str:
    """Return the same as the judge says it, of the texts in the order it is shown."""
    verdict = canonical_verdict(slot)
    return _SWAPPED[verdict] if slot[1] == "position_swap" else verdict


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big")
