"""Every analysis of one study that applies, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.analyses import ANALYSES, Material
from judgeharness_integrations.ranking.report import RankReport

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.audit import AuditCurve
    from judgeharness_integrations.ranking.cascade import CascadeRow
    from judgeharness_integrations.ranking.classes.bias import ClassBias
    from judgeharness_integrations.ranking.classes.confusion import Confusion
    from judgeharness_integrations.ranking.comparing.against import Against
    from judgeharness_integrations.ranking.comparing.comparison import Comparison
    from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation
    from judgeharness_integrations.ranking.comparing.leaveout import LeftOut
    from judgeharness_integrations.ranking.comparing.scoregap import ScoreGap
    from judgeharness_integrations.ranking.comparing.stability import StabilityPoint
    from judgeharness_integrations.ranking.judges.pareto import ParetoPoint
    from judgeharness_integrations.ranking.judges.selfpreference import SelfPreference
    from judgeharness_integrations.ranking.judges.variants import Variant

__all__ = ["Portfolio", "portfolio_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Portfolio:
    """Results by analysis, empty where one does not apply or was not asked for; `absent`: analysis -> why not.

    `methods` correlates the rankings of the methods, `groups` that of each group with that of all pairs. `tokens` and
    `money` hold Elo against tokens and money a pair.
    """

    report: RankReport
    methods: tuple[RankCorrelation, ...] = ()
    groups: tuple[RankCorrelation, ...] = ()
    class_bias: tuple[ClassBias, ...] = ()
    confusions: tuple[Confusion, ...] = ()
    cascade: tuple[CascadeRow, ...] = ()
    audit: tuple[AuditCurve, ...] = ()
    tokens: tuple[ParetoPoint, ...] = ()
    money: tuple[ParetoPoint, ...] = ()
    self_preference: tuple[SelfPreference, ...] = ()
    variants: tuple[Variant, ...] = ()
    score_gaps: tuple[ScoreGap, ...] = ()
    robustness: tuple[Comparison, ...] = ()
    leave_one_out: tuple[LeftOut, ...] = ()
    stability: tuple[StabilityPoint, ...] = ()
    against: tuple[Against, ...] = ()
    absent: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def results(self) -> dict[str, tuple[Any, ...]]:
        """Analysis -> results, of those that have any."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("report", "absent")}
        return {name: results for name, results in found.items() if results}

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """`tokens`, `money` -> judges whose use is known, and that stand in neither for want of Elo."""
        missing = {
            name: tuple(
                one.judge
                for one in self.report.judges
                if one.elo is None and getattr(one.measures, measure) is not None
            )
            for name, measure in (("tokens", "tokens"), ("money", "cost"))
            if getattr(self, name)
        }
        return {name: judges for name, judges in missing.items() if judges}

    def to_dict(self) -> dict[str, Any]:
        """Return the analyses as JSON keeps them, the report not among them."""
        made = {name: [one.to_dict() for one in results] for name, results in self.results.items()}
        left_out = {name: list(judges) for name, judges in self.left_out.items()}
        return made | {"absent": dict(self.absent), "left_out": left_out}


def portfolio_of(
    material: Material, *, names: Collection[str] | None = None, tell: Callable[[str], object] | None = None
) -> Portfolio:
    """Run analyses.

    Args:
        material: what they are made of.
        names: which; all when None.
        tell: is called with the name of each before it runs.

    """
    results: dict[str, tuple[Any, ...]] = {}
    absent: dict[str, str] = {}
    for name, analysis in ANALYSES.items():
        if names is not None and name not in names:
            continue
        if tell is not None:
            tell(name)
        try:
            results[name] = analysis.make(material)
        except UsageError as error:
            absent[name] = str(error).rstrip(".")
            continue
        if not results[name]:
            absent[name] = analysis.needs
    return Portfolio(report=material.report, absent=MappingProxyType(absent), **results)
