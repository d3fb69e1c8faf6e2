"""Judges of one name that are not one judge."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from judgeharness_integrations.reporting.runs.designs import design_key
from judgeharness_integrations.result import HarnessResult

__all__ = ["told_apart"]

_DIGITS = 6  # of a fingerprint: enough to tell a suite's judges apart


def told_apart(results: Iterable[HarnessResult]) -> list[HarnessResult]:
    """Return results whose judges share a name and a design but are not one under names that say which is which.

    A suite has many judges under one default name: two criteria of one chain, a raw and a normalised score. Numbers of
    different questions or scales are never pooled; those of different designs are told apart anyway. Judges without a
    fingerprint keep their name.
    """
    listed = list(results)
    known: dict[tuple[str, Hashable], set[str]] = {}
    for result in listed:
        if result.fingerprint is not None:
            known.setdefault((result.judge, design_key(result.design)), set()).add(result.fingerprint)
    several = {judge for (judge, _), fingerprints in known.items() if len(fingerprints) > 1}
    return [
        replace(result, judge=f"{result.judge} [{result.fingerprint[:_DIGITS]}]")
        if result.fingerprint is not None and result.judge in several
        else result
        for result in listed
    ]
