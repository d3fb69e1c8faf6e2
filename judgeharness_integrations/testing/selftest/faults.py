"""Faults planted in simulated judges, each at several strengths, and what a report is to call them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from judgeharness_integrations.testing.selftest.check import Check, Point, PowerCheck, grid
from judgeharness_integrations.testing.selftest.reports import NARROWEST, WIDEST, named
from judgeharness_integrations.verdictlog.probenames import PROBE_PROPERTIES

__all__ = ["FAULTS"]

_CASES = 50  # what `check` takes by default
_QUIET = {"noise": 0.1}  # a judge that says the same again of nearly every case
_COPY = "sentinel.copy"
_ATTACKS = tuple(name for name in PROBE_PROPERTIES if not name.startswith("sentinel."))


def _deciding(share: float) -> float:
    """Return how strong a bias is to decide a share of the cases."""
    return NARROWEST + share * (WIDEST - NARROWEST)


def _position(point: Point) -> dict[str, Any]:
    return {**_QUIET, "position": _deciding(point["share"])}


def _names(point: Point) -> dict[str, Any]:
    return {**_QUIET, "names": {"Ada": _deciding(point["share"])}}


def _length(point: Point) -> dict[str, Any]:
    return {**_QUIET, "length": point["length"]}


def _all_attacks(point: Point) -> dict[str, Any]:
    return {**_QUIET, "obeys": dict.fromkeys(_ATTACKS, point["obeys"])}


def _copies(_: Point) -> dict[str, Any]:
    return {**_QUIET, "copies": True}


def _fault(
    name: str,
    parameter: str,
    strengths: Sequence[float],
    properties: Collection[str],
    *,
    kind: str = "pairwise",
    fast: int = 1,
    **more: Any,
) -> PowerCheck:
    """Return the check of a fault that is a number of the simulated judge."""
    fixed = {**_QUIET, "kind": kind, **more}
    return PowerCheck(
        name=f"fault: {name}{'' if kind == 'pairwise' else f', {kind}'}",
        points=grid(n=(_CASES,), **{parameter: strengths}),
        simulate=named(lambda point: {**fixed, parameter: point[parameter]}, properties),
        declared=2,
        fast=fast,
    )


def _obeying(
    name: str, strengths: Sequence[float], *, kind: str = "pairwise", fast: int = 1, **more: Any
) -> PowerCheck:
    """Return the check of a judge that does what a probe is after, with this chance."""
    fixed = {**_QUIET, "kind": kind, **more}
    return PowerCheck(
        name=f"fault: {name}{'' if kind == 'pairwise' else f', {kind}'}",
        points=grid(n=(_CASES,), obeys=strengths),
        simulate=named(lambda point: {**fixed, "obeys": {name: point["obeys"]}}, (name,)),
        declared=2,
        fast=fast,
    )


_WORDING = ("paraphrase", "prompt_variant")
FAULTS: tuple[Check, ...] = (
    PowerCheck(
        name="fault: position",
        points=grid(n=(_CASES,), share=(0.1, 0.25, 0.5)),
        simulate=named(_position, ("position",), (_COPY,)),
        declared=2,
        note="`share` of the cases go to the first slot; so do equal answers, which sentinel.copy names as well",
    ),
    PowerCheck(
        name="fault: names",
        points=grid(n=(_CASES,), share=(0.1, 0.25, 0.5)),
        simulate=named(_names, ("names",)),
        declared=2,
        note="`share` of the cases go to one of two people",
    ),
    _fault("format", "formatting", (1, 2, 4), ("format",)),
    _fault("format", "formatting", (0.5, 1, 2), ("format",), kind="scores", fast=0),
    _fault("wording", "wording", (1, 2, 4), _WORDING),
    _fault("repetition", "noise", (1, 2, 4), ("repetition",)),
    _fault("repetition", "noise", (1, 2, 4), ("repetition",), kind="graded", fast=0),
    _fault("repetition", "noise", (0.5, 1, 2), ("repetition",), kind="scores", fast=0),
    _fault("unread answers", "garbage", (0.2, 0.35, 0.5), ("parse_rate",)),
    _fault("refusals", "refusal", (0.2, 0.35, 0.5), ("refusals",)),
    PowerCheck(
        name="fault: repetitions that are copies",
        points=grid(n=(10, _CASES)),
        simulate=named(_copies, ("collapse",)),
        declared=2,
    ),
    *(_obeying(name, (0.1, 0.25, 0.5), fast=0) for name in _ATTACKS),
    PowerCheck(
        name="fault: every attack at once",
        points=grid(n=(_CASES,), obeys=(0.2, 0.4, 0.6)),
        simulate=named(_all_attacks, _ATTACKS),
        declared=2,
        note="named are all of them; the fast version plants the attacks together, the full one each alone as well",
    ),
    _obeying("injection.own_format", (0.2, 0.4, 0.8), kind="graded"),
    _obeying("injection.own_format", (0.1, 0.3, 0.6), kind="scores"),
    PowerCheck(
        name="fault: length",
        points=grid(n=(_CASES,), length=(0.25, 0.5, 1)),
        simulate=named(_length, ("verbosity",), _ATTACKS),
        declared=2,
        fast=0,
        note="what an answer gains by each doubling of its length; any payload makes it longer and may be named too",
    ),
    _obeying("sentinel.empty", (0.2, 0.4, 0.6)),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), fast=0),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), kind="graded", fast=0),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), kind="scores", fast=0),
    _obeying(_COPY, (0.2, 0.4, 0.6), ties=0.3),
)
