"""What there is to analyse beside the ranking itself, and why an analysis does not apply."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import VerdictRow

from .comparing import LEAST_JUDGES, Against, Comparison, RankCorrelation, correlate
from .families import (
    ClassBias,
    Confusion,
    ParetoPoint,
    SelfPreference,
    Variant,
    class_bias,
    confusions,
    pareto,
    self_preference,
    variants,
)
from .firmness import LeftOut, StabilityPoint, leave_one_out, robustness, stability
from .judgetable import pairwise_criterion
from .pointwise import ScoreGap, score_gaps
from .rating import METHODS, RankReport
from .studying import AuditCurve, CascadeRow, RankStudy, audit_curve, cascade, curate

_MOST_VALUES = 20  # of a column that divides pairs into kinds


@dataclass(frozen=True, kw_only=True, eq=False)
class Material:
    """What analyses are made of.

    `pointwise`: the same judges' scores of single answers, where those are in a log of their own; `scores`: single
    answers with columns `pair` and `side`, where neither log is one of scores, and `unscored`: why there are none;
    `against`: a comparison with another log; `audit`: a column of audit labels, which leaves no pair out; `seed`,
    `draws`: of the stability under fewer matches.
    """

    found: RankStudy
    report: RankReport
    pointwise: RankStudy | None = None
    scores: Sequence[VerdictRow] = ()
    unscored: str = ""
    against: Against | None = None
    audit: str | None = None
    seed: int = 0
    draws: int = 50


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """How results are made, () where nothing applies, and what is missing then."""

    make: Callable[[Material], tuple[Any, ...]]
    needs: str


def _methods(material: Material) -> tuple[RankCorrelation, ...]:
    rated = {name: scores for name in METHODS if (scores := material.found.rating.scores(name))}
    return tuple(correlate(rated[x], rated[y], labels=(x, y)) for x, y in combinations(rated, 2))


def _groups(material: Material) -> tuple[RankCorrelation, ...]:
    method, found = material.found.request.method, material.found
    every = found.rating.scores(method)
    return tuple(
        correlate(every, group.scores(method), labels=("all", name), group=name)
        for name, group in found.groups.items()
        if every and group.scores(method)
    )


def _class_bias(material: Material) -> tuple[ClassBias, ...]:
    found = material.found
    return tuple(one for name in found.criteria for one in class_bias(found.decisions, name, by=found.request.by))


def _confusions(material: Material) -> tuple[Confusion, ...]:
    found = material.found
    return tuple(one for name in found.criteria for one in confusions(found.decisions, name, by=found.request.by))


def _cascade(material: Material) -> tuple[CascadeRow, ...]:
    found = material.found
    chosen = [found.request.by] if found.request.by else []
    for name, values in found.matrix.columns.items():
        if name not in chosen and 1 < len({value for value in values if value is not None}) <= _MOST_VALUES:
            chosen.append(name)
    return cascade(found.curation, chosen)


def _audit(material: Material) -> tuple[AuditCurve, ...]:
    column = material.audit or material.found.request.flagged
    if column is None:
        return ()
    curves = tuple(one for one in audit_curve(curate(material.found.matrix), column) if one.points)
    if not curves:
        raise UsageError(f"no pair that has a difficulty has a label in column {column!r}")
    return curves


def _tokens(material: Material) -> tuple[ParetoPoint, ...]:
    return _front(material.report, {one.judge: one.measures.tokens for one in material.report.judges})


def _money(material: Material) -> tuple[ParetoPoint, ...]:
    return _front(material.report, {one.judge: one.measures.cost for one in material.report.judges})


def _front(report: RankReport, spent: Mapping[str, float | None]) -> tuple[ParetoPoint, ...]:
    rated = {one.judge: one.elo for one in report.judges if one.elo is not None}
    known = {judge: x for judge, x in spent.items() if x is not None}
    if known and not rated.keys() & known.keys():
        raise UsageError("no judge whose use is known has Elo")
    return pareto({judge: (x, rated[judge]) for judge, x in known.items() if judge in rated})


def _self_preference(material: Material) -> tuple[SelfPreference, ...]:
    decisions = material.found.decisions
    pairwise = pairwise_criterion(decisions)
    return () if pairwise is None else self_preference(decisions, pairwise.criterion, material.found.request.facts)


def _variants(material: Material) -> tuple[Variant, ...]:
    judges = material.report.judges
    return variants(
        material.found.matrix,
        {one.judge: one.elo for one in judges if one.elo is not None},
        {one.judge: one.measures.tokens for one in judges},
    )


def _score_gaps(material: Material) -> tuple[ScoreGap, ...]:
    scored = material.found.scored or (material.pointwise.scored if material.pointwise else ()) or material.scores
    if not scored and material.unscored:
        raise UsageError(material.unscored)
    return score_gaps(scored) if scored else ()


def _robustness(material: Material) -> tuple[Comparison, ...]:
    found = material.found
    return robustness(
        found.decisions,
        found.criteria,
        share=found.request.cut,
        cut_ties=found.request.cut_ties,
        flagged=found.flagged,
        by=found.request.by,
        pointwise=None if material.pointwise is None else material.pointwise.decisions,
        eip_options=found.request.eip,
    )


def _leave_one_out(material: Material) -> tuple[LeftOut, ...]:
    found, request = material.found, material.found.request
    return leave_one_out(
        found.matrix.of_pairs(~found.curation.flagged),
        method=request.method,
        share=request.cut,
        cut_ties=request.cut_ties,
        eip_options=request.eip,
    )


def _stability(material: Material) -> tuple[StabilityPoint, ...]:
    found = material.found
    if sum(one.rank is not None for one in material.report.judges) < LEAST_JUDGES:
        raise UsageError(f"a rank correlation needs {LEAST_JUDGES} judges that are ranked")
    return stability(
        found.rating.matrix,
        method=found.request.method,
        draws=material.draws,
        seed=material.seed,
        by=found.request.by,
        eip_options=found.request.eip,
    )


def _against(material: Material) -> tuple[Against, ...]:
    return () if material.against is None else (material.against,)


ANALYSES: Final[Mapping[str, Analysis]] = MappingProxyType(
    {
        "methods": Analysis(make=_methods, needs="fewer than two methods could be used"),
        "groups": Analysis(make=_groups, needs="no --by column"),
        "class_bias": Analysis(make=_class_bias, needs="no labels"),
        "confusions": Analysis(make=_confusions, needs="no labels"),
        "cascade": Analysis(make=_cascade, needs="no pairs"),
        "audit": Analysis(make=_audit, needs="no --flagged or --audit column"),
        "tokens": Analysis(make=_tokens, needs="the log holds no tokens"),
        "money": Analysis(make=_money, needs="no tokens in the log, or no prices in --judges-info"),
        "self_preference": Analysis(
            make=_self_preference,
            needs="no columns author and author_b, or no criterion that is a choice between A and B",
        ),
        "variants": Analysis(make=_variants, needs="no two judges are named model@variant of one model"),
        "score_gaps": Analysis(make=_score_gaps, needs="no scores of single answers"),
        "robustness": Analysis(make=_robustness, needs="nothing to compare"),
        "leave_one_out": Analysis(make=_leave_one_out, needs="too few judges"),
        "stability": Analysis(make=_stability, needs="too few matches"),
        "against": Analysis(make=_against, needs="no --against log"),
    }
)


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
