"""The checks of the conformance suite: plain functions of a bench that raise an AssertionError with one sentence."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from judgeharness_integrations.judging.bench import Bench
from judgeharness_integrations.testing.checks.results import (
    check_cache_safety,
    check_calibration,
    check_callbacks_and_tags,
    check_cancellation,
    check_equality_with_bare,
    check_failures_are_outcomes,
    check_json,
    check_original_frame,
    check_repeated_use,
    check_running_loop,
    check_tie_is_no_abstention,
)

__all__ = ["CHECKS"]

CHECKS: Mapping[str, Callable[[Bench], None]] = MappingProxyType(
    {
        "original_frame": check_original_frame,
        "tie_is_no_abstention": check_tie_is_no_abstention,
        "failures_are_outcomes": check_failures_are_outcomes,
        "cache_safety": check_cache_safety,
        "callbacks_and_tags": check_callbacks_and_tags,
        "cancellation": check_cancellation,
        "running_loop": check_running_loop,
        "repeated_use": check_repeated_use,
        "calibration": check_calibration,
        "json": check_json,
        "equality_with_bare": check_equality_with_bare,
    }
)
