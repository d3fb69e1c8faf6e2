"""Decisions -> credits: right about every criterion at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.arrays import Floats, Marks
from judgeharness_integrations.ranking.correctness.codes import ABSTAINED, FAILED, NOT_ASKED
from judgeharness_integrations.ranking.correctness.decisions import Codes, CriterionDecisions, Decisions
from judgeharness_integrations.ranking.credits import Credits

__all__ = ["by_better_first", "credits_of"]


def credits_of(decisions: Decisions, criteria: Sequence[str] | None = None) -> Credits:
    """Return what each judge earns on each labelled pair: the product over the criteria that have gold there.

    Strict: whoever answered about a pair and left out, or failed, one of its criteria is wrong about it. What no
    criterion was answered about is a failure of the whole, as the policy says, or was not asked.

    Raises:
        UnknownNameError: a criterion is not known.
        UsageError: no pair has a gold label.

    """
    chosen = [decisions.criterion(name) for name in criteria or decisions.criteria]
    values = _joint(
        [entry.credit(entry.codes, decisions.policy) for entry in chosen], [e.codes for e in chosen], chosen
    )
    return _labelled(decisions, values, chosen)


def by_better_first(decisions: Decisions, criterion: str) -> tuple[Credits, Credits] | None:
    """Return the credits where the better answer was shown first, and where it was shown second.

    None for a criterion that is no choice between A and B, or has no gold.

    Raises:
        UnknownNameError: the criterion is not known.

    """
    entry = decisions.criterion(criterion)
    if not entry.pairwise or not entry.labelled.any():
        return None
    shown_first = entry.gold == entry.coded("A")
    sided = shown_first | (entry.gold == entry.coded("B"))
    as_given, swapped = (
        np.where(sided[:, None], entry.credit(codes, decisions.policy), np.nan) for codes in entry.orders
    )
    first = np.where(shown_first[:, None], as_given, swapped)
    second = np.where(shown_first[:, None], swapped, as_given)
    return _labelled(decisions, first, [entry]), _labelled(decisions, second, [entry])


def _joint(credits: Sequence[Floats], codes: Sequence[Codes], chosen: Sequence[CriterionDecisions]) -> Floats:  # noqa: A002
    """Return the product of credits (pairs, judges), NaN where no criterion with gold was answered."""
    answered = np.any([entry >= ABSTAINED for entry in codes], axis=0)
    product = np.ones(codes[0].shape)
    asked = np.zeros(codes[0].shape, np.bool_)
    for values, entry, mine in zip(credits, chosen, codes, strict=True):
        left_out = answered & ((mine == FAILED) | (mine == NOT_ASKED))
        strict = np.where(left_out, 0.0, values)
        counted = entry.labelled[:, None] & ~np.isnan(strict)
        product = np.where(counted, product * np.nan_to_num(strict), product)
        asked |= counted
    return np.where(asked, product, np.nan)


def _labelled(decisions: Decisions, values: Floats, chosen: Sequence[CriterionDecisions]) -> Credits:
    kept: Marks = np.any([entry.labelled for entry in chosen], axis=0)
    if not kept.any():
        raise UsageError("no pair has a gold label: a ranking needs a gold column that says which answer is right.")
    whole = Credits(judges=decisions.judges, pairs=decisions.pairs, values=values, columns=decisions.columns)
    return whole.of_pairs(kept)
