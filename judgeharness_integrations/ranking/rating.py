"""Judges rated by every method at once, and why one of them has nothing to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.ranking.arrays import Floats, Ints
from judgeharness_integrations.ranking.bradleyterry.conditionalfit import ConditionalFit, fit_conditional
from judgeharness_integrations.ranking.bradleyterry.connections import Connections, connections_of
from judgeharness_integrations.ranking.bradleyterry.jointfit import JointFit, fit_joint
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.eip import EipOptions, EipScores, eip

__all__ = ["METHODS", "Method", "Rating", "method_named", "rate"]

Method: TypeAlias = Literal["bradley-terry", "conditional", "eip"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

_NOBODY = "fewer than two judges can be compared: some pair has to tell them apart"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rating:
    """Informative credits and what the methods make of them.

    `matrix`: all judges, no unanimous pair. The fits are of the judges that can be rated together (see `Connections`)
    and of the pairs that tell those apart; None where a method cannot be used; `reasons`: method -> why.
    """

    matrix: Credits
    connections: Connections
    joint: JointFit | None = None
    conditional: ConditionalFit | None = None
    eip: EipScores | None = None
    reasons: Mapping[Method, str] = field(default_factory=dict)

    def scores(self, method: Method) -> dict[str, float]:
        """Return judge -> Elo (EIP: score) of the judges that the method rates; empty where it cannot be used."""
        if method == "eip":
            return {} if self.eip is None else _named(self.matrix.judges, self.eip.judges)
        fit = self.joint if method == "bradley-terry" else self.conditional
        return {} if fit is None else _named(fit.judges, fit.elo)

    @property
    def difficulty(self) -> Floats:
        """(pairs,) of `matrix`, on the judges' scale; infinite where all rated judges agree, NaN without any."""
        if self.joint is None:
            return np.full(len(self.matrix.pairs), np.nan)
        known = dict(zip(self.joint.pairs, self.joint.difficulty.tolist(), strict=True))
        rated = self.matrix.of_judges(self.joint.judges).values
        right = np.nan_to_num(rated, nan=0.0).sum(axis=1) > 0
        asked = ~np.isnan(rated).all(axis=1)
        beyond = np.where(asked, np.where(right, -np.inf, np.inf), np.nan)
        return np.array([known.get(pair, beyond[place]) for place, pair in enumerate(self.matrix.pairs)], np.float64)


def method_named(name: str) -> Method:
    """Return the method of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for method in METHODS:
        if method == name:
            return method
    raise UnknownNameError("method", name, METHODS)


def rate(
    matrix: Credits,
    *,
    methods: Sequence[Method] = METHODS,
    clusters: Ints | None = None,
    eip_options: EipOptions | None = None,
) -> Rating:
    """Rate judges by their credits; unanimous pairs are left out.

    Args:
        matrix: pairs x judges.
        methods: which to use.
        clusters: (pairs,) number of each pair's cluster, for the errors; each pair is one when None.
        eip_options: parameters of EIP.

    """
    informative = ~matrix.unanimous
    kept = matrix.of_pairs(informative)
    connections = connections_of(kept)
    rated = kept.of_judges(connections.judges("rated"))
    telling = ~rated.unanimous
    rated = rated.of_pairs(telling)
    mine = None if clusters is None else np.unique(clusters[informative][telling], return_inverse=True)[1]
    reasons: dict[Method, str] = {}
    joint = conditional = scores = None
    problem = _problem(connections)
    for method in methods:
        try:
            if method == "eip":
                scores = eip(kept, eip_options)
            elif problem is not None:
                reasons[method] = problem
            elif method == "bradley-terry":
                joint = fit_joint(rated, clusters=mine)
            else:
                conditional = fit_conditional(rated, clusters=mine)
        except UsageError as error:
            reasons[method] = str(error).rstrip(".")
    return Rating(
        matrix=kept, connections=connections, joint=joint, conditional=conditional, eip=scores, reasons=reasons
    )


def _problem(connections: Connections) -> str | None:
    apart = connections.judges("apart")
    if apart:
        return "the judges fall into groups that nothing compares, and one scale for all of them would mean nothing"
    return _NOBODY if len(connections.judges("rated")) < 2 else None  # noqa: PLR2004 - two are compared


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
