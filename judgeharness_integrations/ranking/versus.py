"""The same judges on pairs of another generator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.comparing.against import Against, against
from judgeharness_integrations.ranking.comparing.changes import Fit, changes_of, own_sets
from judgeharness_integrations.ranking.rating import Method
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.ranking.studying import RankStudy, study
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["versus"]

_AUTHORS = ("author", "author_b")


def versus(found: RankStudy, rows: Iterable[VerdictRow], *, labels: tuple[str, str]) -> Against:
    """Rate the judges of a study that another log holds too, on the pairs of each log, and compare.

    Curation and rating are done anew for these judges alone, both times as the study was asked to, without groups.

    Args:
        found: the study.
        rows: the other log.
        labels: what the two are called.

    Raises:
        UsageError: the logs have fewer than two judges in common, or those cannot be rated on one of them.

    """
    rows = list(rows)
    theirs = {row.judge for row in rows}
    shared = tuple(judge for judge in found.matrix.judges if judge in theirs)
    if len(shared) < 2:  # noqa: PLR2004 - two are compared
        raise UsageError(
            f"{labels[0]} and {labels[1]} have {len(shared)} judges in common, and two are needed: name them alike."
        )
    policy = found.decisions.policy
    request = replace(found.request, judges=shared, by=None, rule=found.request.rule or policy.rule, ties=policy.ties)
    mine = found if shared == found.matrix.judges else _rated(found.scored or found.rows, request, labels[0])
    other = _rated(rows, request, labels[1])
    authors = _authors(mine), _authors(other)
    fits = _fits(mine, other, request.method)
    return against(
        mine.rating.scores(request.method),
        other.rating.scores(request.method),
        labels=labels,
        generators=authors,
        judges=shared,
        changes=() if fits is None else changes_of(*fits),
        own_sets=() if fits is None else own_sets(*fits, labels=labels, generators=authors, judges=shared),
    )


def _fits(mine: RankStudy, other: RankStudy, method: Method) -> tuple[Fit, Fit] | None:
    """Return what both were rated by; None for a method without errors."""
    if method == "eip":
        return None
    one, two = (
        study.rating.joint if method == "bradley-terry" else study.rating.conditional for study in (mine, other)
    )
    return None if one is None or two is None else (one, two)


def _rated(rows: Iterable[VerdictRow], request: RankRequest, label: str) -> RankStudy:
    try:
        found = study(rows, request)
    except UsageError as error:
        raise UsageError(f"{label}: {error}") from error
    if not found.rating.scores(request.method):
        raise UsageError(f"{label}: {found.rating.reasons[request.method]}.")
    return found


def _authors(found: RankStudy) -> set[str]:
    """Return who wrote the answers, as far as the log says."""
    return {str(value) for column in _AUTHORS for value in found.decisions.columns.get(column, ()) if value is not None}
