"""The scanner's rules, by code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judgeharness_integrations._errors import UnknownNameError

from ..inspection import Rule
from .answers import FAILURE_AS_VERDICT, FIRST_MATCH, RETRY_ON_VERDICT
from .numbers import HIDDEN_DISTRIBUTION, SINGLE_SAMPLE, UNCALIBRATED_AGGREGATION
from .setup import BIAS_WARNING, CACHE_OVER_REPEATS, REMOVED_API, SAME_MODEL, TEMPERATURE_ZERO, UNREAD_BLOCK
from .undecided import UNDECIDED_PASSES

__all__ = ["RULES", "codes_matching", "rule_of"]

RULES: Mapping[str, Rule] = {
    rule.code: rule
    for rule in (
        BIAS_WARNING,
        SINGLE_SAMPLE,
        UNCALIBRATED_AGGREGATION,
        HIDDEN_DISTRIBUTION,
        RETRY_ON_VERDICT,
        FIRST_MATCH,
        CACHE_OVER_REPEATS,
        TEMPERATURE_ZERO,
        SAME_MODEL,
        REMOVED_API,
        UNREAD_BLOCK,
        FAILURE_AS_VERDICT,
        UNDECIDED_PASSES,
    )
}


def rule_of(code: str) -> Rule:
    """Return the rule of a code.

    Raises:
        UnknownNameError: there is none; the nearest is offered.

    """
    if code.upper() not in RULES:
        raise UnknownNameError("rule", code, RULES)
    return RULES[code.upper()]


def codes_matching(given: Iterable[str]) -> frozenset[str]:
    """Return the codes that codes and prefixes (`JH0`, `ALL`) stand for.

    Raises:
        UnknownNameError: one of them stands for no rule.

    """
    found: set[str] = set()
    for code in given:
        prefix = "" if code.upper() == "ALL" else code.upper()
        mine = {known for known in RULES if known.startswith(prefix)}
        if not mine:
            raise UnknownNameError("rule", code, RULES)
        found |= mine
    return frozenset(found)
